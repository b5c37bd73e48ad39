"""Applies the effects of the printed commands to a machine that is a folder. The machine is then as it would
be after a person followed the steps.

Exports and pipes run in a real shell, and the Python code of a step runs as it is printed. The module itself
makes the changes to files that an installer, a driver package or a container runtime would make.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from packaging.requirements import Requirement

from doctor.backports import removeprefix
from doctor.devices.visibility import Device, interpret
from doctor.findings import Finding, Step
from doctor.tables import Tables, TensorFlowRelease, dotted
from tests.probe.machines import BUILDS, MODERN, Folder

PLATFORM = "linux-x86_64"
NEWEST = {"": "570.86.10", "470": "470.256.02", "580": "580.65.06", "535": "535.183.01", "550": "550.54.14"}
"""By branch: the driver version in a package of that branch. "": the version that the distribution chooses by
default."""
LIB = "/usr/lib/x86_64-linux-gnu"


def lay_out(machine: Folder, build: TensorFlowRelease) -> None:
    """Put a TensorFlow release into site-packages as its wheel would, in place of any other release."""
    folders = tuple(m[1] for entry in build.runpath if (m := re.search(r"nvidia/([\w-]+)/lib", entry)))
    remove_tensorflow(machine)
    known = BUILDS.get(build.version)
    try:
        BUILDS[build.version] = (build.cuda or "", build.cudnn or "", folders)
        machine.tensorflow(build.version, build.package)
    finally:
        if known is not None:
            BUILDS[build.version] = known
        else:
            del BUILDS[build.version]


def remove_tensorflow(machine: Folder) -> None:
    """Do what `pip uninstall` does, and also remove files that other packages left in the same folder."""
    site = machine.root / machine.site.lstrip("/")
    for old in (*site.glob("tensorflow*.dist-info"), site / "tensorflow", site / "tensorflow_core"):
        if old.is_dir():
            shutil.rmtree(old)


def bring(machine: Folder, package: str, specifiers: list[str], tables: Tables) -> None:
    """Install the newest NVIDIA wheel that all specifiers allow, with the files that the tables list for
    it."""
    wanted = Requirement(f"{package}{','.join(specifiers)}").specifier
    wheels = [wheel for wheel in tables.nvidia_wheels(package) if wanted.contains(wheel.version)]
    if package.startswith("nvidia-cuda-nvcc-"):
        compiler(machine, f"{machine.site}/nvidia/cuda_nvcc")
    if not wheels:  # no wheel that contains a library
        fits = [v for v in ("12.9.86", "12.5.82", "12.3.107", "11.8.89") if wanted.contains(v)]
        machine.package(package, fits[0])
        return
    wheel = max(wheels, key=lambda one: dotted(one.version))
    for old in (machine.root / machine.site.lstrip("/")).glob(f"{package.replace('-', '_')}-*.dist-info"):
        shutil.rmtree(old)
    machine.package(package, wheel.version)
    for name in wheel.libraries:
        row = tables.pip_library(name, package.rpartition("cu")[2])
        if row is not None and row.package == package:
            machine.library(f"{machine.site}/{row.folder}/{name}", runpath="$ORIGIN")
        elif name.startswith("libcudnn_"):
            machine.library(f"{machine.site}/nvidia/cudnn/lib/{name}", runpath="$ORIGIN")


def install(machine: Folder, requirements: list[str], tables: Tables) -> None:
    """Do what pip does: install each package and the requirements of its extra."""
    bounds: dict[str, list[str]] = {}
    for requirement in map(Requirement, requirements):
        if requirement.name in ("tensorflow", "tensorflow-gpu"):
            build = tables.tensorflow(str(requirement.specifier).lstrip("="), requirement.name, PLATFORM)
            assert build is not None, requirement
            lay_out(machine, build)
            extra = build.extras["and-cuda"] if "and-cuda" in requirement.extras else {}
            for package, specifier in extra.items():
                bounds.setdefault(package, []).append(specifier.partition(";")[0])
        elif requirement.name.startswith("nvidia-"):
            bounds.setdefault(requirement.name, []).append(str(requirement.specifier))
        elif requirement.name != "pip":
            site = machine.root / machine.site.lstrip("/")
            for old in site.glob(f"{requirement.name.replace('-', '_')}-*.dist-info"):
                shutil.rmtree(old)
            known = ("1.0", "1.26.4", "2.8.0", "2.17.1", "3.20.3")
            fits = [version for version in known if requirement.specifier.contains(version)]
            machine.package(requirement.name, fits[-1])
    for package, specifiers in bounds.items():
        if package.startswith("nvidia-"):
            bring(machine, package, [s for s in specifiers if s], tables)


def asked_of(words: list[str]) -> list[str]:
    """Return the requirements in a pip or uv command."""
    after = words[words.index("install") + 1 :]
    values = {at + 1 for at, word in enumerate(after) if word in ("--python", "-r", "--index-url")}
    return [w for at, w in enumerate(after) if at not in values and not w.startswith("-") and "/" not in w]


# --- the driver and its surroundings


def user_driver(machine: Folder, version: str) -> None:
    for old in (machine.root / LIB.lstrip("/")).glob("lib*.so*"):
        if old.name.startswith(("libcuda.so", "libnvidia-ml.so")):
            old.unlink()
    machine.user_driver(version)


def start_again(machine: Folder) -> None:
    """Restart the machine: the kernel module then has the same version as the libraries, is bound to the GPU,
    and answers."""
    new_boot(machine)
    found = sorted((machine.root / LIB.lstrip("/")).glob("libcuda.so.*.*"))
    if not found:
        return
    version = removeprefix(found[-1].name, "libcuda.so.")
    for old in ("proc/modules", "proc/driver/nvidia/version"):
        (machine.root / old).unlink() if (machine.root / old).exists() else None
    machine.write("/proc/modules", "ext4 983040 1 - Live 0x0\n").kernel_module(version)
    for device in (machine.root / "sys/bus/pci/devices").iterdir():
        if (device / "vendor").read_text().strip() == "0x10de" and (device / "class").read_text().startswith(
            "0x03"
        ):
            (device / "driver").unlink() if (device / "driver").is_symlink() else None
            (device / "driver").symlink_to("../../../bus/pci/drivers/nvidia")
    answer_again(machine)


BOOT = "Nov 21 09:00:00 host kernel: [    0.000000] Linux version 5.15.0-105-generic (buildd@x) #115\n"


def new_boot(machine: Folder) -> None:
    """Empty the kernel log: after a restart, its lines would belong to an earlier boot, even those about a
    GPU that was reset."""
    log = machine.root / "var/log/kern.log"
    if log.exists():
        log.write_text(log.read_text() + BOOT)


def answer_again(machine: Folder) -> None:
    """Remove the driver's recorded answers, which are out of date: only the files show the present state."""
    machine.record.pop("answers", None)
    machine.record.pop("denied", None)


def under_variables(machine: Folder) -> None:
    """Update the GPUs that libcuda lists, from those that NVML listed and the variables that are set now."""
    parts = answers(machine)
    devices = (parts.get("nvml") or {}).get("devices")
    if not devices:
        answer_again(machine)
        return
    value = machine.record["env"].get("CUDA_VISIBLE_DEVICES")  # type: ignore[attr-defined]
    known = [Device(one["index"], one["name"], one["uuid"], one["bus_id"]) for one in devices]
    shown = interpret(value, known, parts["nvml"].get("driver")).shown
    listed = [_of_libcuda(number, devices[device.index]) for number, device in enumerate(shown)]
    none = {} if listed else {"failed": "cuInit", "error": "CUDA_ERROR_NO_DEVICE"}
    parts["cuda"] = {"cuda": parts["cuda"]["cuda"], "files": [], "devices": listed, **none}
    machine.answered(parts)


def _of_libcuda(number: int, device: dict[str, Any]) -> dict[str, object]:
    major, minor = map(int, device["capability"].split("."))
    more = {"memory": device["memory"][0], "major": major, "minor": minor, "multiprocessors": 46}
    return {"index": number, "name": device["name"], "bus_id": device["bus_id"], **more}


def answers(machine: Folder) -> dict[str, Any]:
    """Return the recorded answers of NVML and libcuda, by name."""
    recorded = machine.record.get("answers") or {"driver": {"out": ""}}
    lines = recorded["driver"]["out"].splitlines()  # type: ignore[index]
    return {one["part"]: one["answer"] for one in map(json.loads, lines)}


def freed(machine: Folder) -> None:
    """End the processes on every GPU: CUDA starts, and lists the GPUs."""
    parts = answers(machine)
    for device in parts["nvml"]["devices"]:
        total = device["memory"][0]
        device.update(memory=[total, 300 << 20, total - (300 << 20)], processes=[])
    machine.answered(parts)
    under_variables(machine)


def compiler(machine: Folder, home: str) -> None:
    """Install XLA's compiler tools as an nvcc package does."""
    machine.write(f"{home}/bin/ptxas", "").write(f"{home}/nvvm/libdevice/libdevice.10.bc", "BC")


def renamed(machine: Folder, right: str, wrong: str) -> None:
    """Give a variable another name."""
    machine.env(**{right: machine.record["env"].pop(wrong)})  # type: ignore[attr-defined]


def pass_in(machine: Folder) -> None:
    """Add to a container what a container runtime adds if the user asks for the GPU."""
    stated = machine.root / "proc/driver/nvidia/version"
    if not stated.exists():  # under Docker Desktop, it is the driver of Windows
        machine.write("/dev/dxg", "")
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            machine.library(f"{LIB}/{name}")
        return
    version = stated.read_text().split("  ")[1].split()[0]
    machine.nodes()
    user_driver(machine, version)
    machine.env(LD_LIBRARY_PATH="")


def nvidia_image(machine: Folder) -> None:
    """Start NVIDIA's own image on an Arm server."""
    from tests.probe.test_unusual_machines import nvidia_build

    remove_tensorflow(machine)
    nvidia_build(machine)  # type: ignore[arg-type]


def discrete(machine: Folder) -> None:
    """Turn on the NVIDIA GPU of a hybrid laptop, and restart the machine."""
    for path in (
        "etc/prime-discrete",
        "etc/prime/current_type",
        "proc/acpi/bbswitch",
        "etc/supergfxd.conf",
        "sys/kernel/debug/vgaswitcheroo/switch",
        "etc/udev/rules.d/50-remove-nvidia.rules",
    ):
        (machine.root / path).unlink() if (machine.root / path).exists() else None
    machine.gpu() if not (machine.root / "sys/bus/pci/devices/0000:01:00.0").exists() else None
    state = machine.root / "sys/bus/pci/devices/0000:01:00.0/power_state"
    state.write_text("D0\n") if state.exists() else None
    start_again(machine)


def without_linux_driver(machine: Folder) -> None:
    for path in (machine.root / LIB.lstrip("/")).glob("libcuda.so*"):
        path.unlink()
    for path in (machine.root / LIB.lstrip("/")).glob("libnvidia-ml.so*"):
        path.unlink()


def windows_driver(machine: Folder) -> None:
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        machine.library(f"/usr/lib/wsl/lib/{name}")
    machine.in_loader_cache("/usr/lib/wsl/lib")


def without_compat(machine: Folder) -> None:
    for path in (machine.root / "usr/local").glob("cuda*/compat"):
        shutil.rmtree(path)


def fabric_manager(machine: Folder) -> None:
    machine.write("/usr/bin/nv-fabricmanager", "")
    place = machine.root / "etc/systemd/system/multi-user.target.wants/nvidia-fabricmanager.service"
    if not place.is_symlink():
        machine.link("/" + str(place.relative_to(machine.root)), "/usr/lib/x")


def fabric_package(machine: Folder, branch: str) -> None:
    text = (
        f"Package: nvidia-fabricmanager-{branch}\nStatus: install ok installed\nVersion: {NEWEST[branch]}-1\n"
    )
    machine.write("/var/lib/dpkg/status", text).write("/usr/bin/nv-fabricmanager", "")


def configured(machine: Folder) -> None:
    """Run ldconfig, with the folders that the distribution and the files in ld.so.conf.d name."""
    named = [p.read_text() for p in sorted((machine.root / "etc/ld.so.conf.d").glob("*.conf"))]
    before = machine.root / "etc/ld.so.conf"
    old = (
        [line for line in before.read_text().splitlines() if line.startswith("/")] if before.exists() else []
    )
    folders = [line for text in named for line in text.splitlines() if line.strip()]
    machine.in_loader_cache(*dict.fromkeys((*old, *folders)))
    ldconfig = shutil.which("ldconfig", path=f"{os.environ['PATH']}:/sbin:/usr/sbin")
    assert ldconfig is not None
    subprocess.run(
        [ldconfig, "-r", machine.root, "-N"], check=True, timeout=60, capture_output=True
    )  # the links


# --- files that say how a program is started


def edited(machine: Folder, path: str, change: Callable[[str], str]) -> None:
    file = machine.root / path.lstrip("/")
    file.write_text(change(file.read_text()))


def without_variable(machine: Folder, path: str) -> None:
    """Remove the setting of CUDA_VISIBLE_DEVICES: a line, an entry in a line of a systemd unit, or a member
    in a JSON file."""

    def drop(node: object) -> object:
        if isinstance(node, dict):
            return {key: drop(value) for key, value in node.items() if key != "CUDA_VISIBLE_DEVICES"}
        return [drop(item) for item in node] if isinstance(node, list) else node

    def change(text: str) -> str:
        return (
            json.dumps(drop(json.loads(text)))
            if text[0] == "{"
            else re.sub(r" ?CUDA_VISIBLE_DEVICES=\S*", "", text)
        )

    edited(machine, path, change)


def without_line(machine: Folder, path: str, number: str) -> None:
    edited(
        machine,
        path,
        lambda text: "".join(line for n, line in enumerate(text.splitlines(True), 1) if n != int(number)),
    )


def load(machine: Folder, names: list[str]) -> None:
    """Do what `module load` does for each name. A module may load other modules."""
    from tests.probe.test_starts import TOOLKIT

    for name in names:
        assert [*machine.root.rglob(f"{name}"), *machine.root.rglob(f"{name}.lua")], name
    machine.env(LD_LIBRARY_PATH=TOOLKIT)


def conda_compiler(machine: Folder, version: str) -> None:
    """Do what conda does to install NVIDIA's cuda-nvcc."""
    compiler(machine, machine.prefix)
    machine.write(f"{machine.prefix}/conda-meta/cuda-nvcc-{version}.140-0.json", "{}")


def conda_install(machine: Folder, wanted: list[str]) -> None:
    """Do what conda does to install cudatoolkit and cudnn."""
    lib = f"{machine.prefix}/lib"
    for requirement in wanted:
        name, _, version = requirement.partition("=")
        if name == "cudnn":
            full = {"7.6": "7.6.5", "8.1": "8.1.1", "8.9": "8.9.7"}[version]
            for old in (machine.root / lib.lstrip("/")).glob("libcudnn*"):
                old.unlink()
            for old in (machine.root / f"{machine.prefix}/conda-meta".lstrip("/")).glob("cudnn-*"):
                old.unlink()
            machine.cudnn(full, lib).write(f"{machine.prefix}/conda-meta/cudnn-{full}-h1.json", "{}")
        else:
            assert name == "cudatoolkit", requirement


def first_process(machine: Folder, command: str) -> None:
    """Start the container with another command."""
    machine.write("/proc/1/cmdline", "\0".join(shlex.split(command.replace("…", "train.py"))))


def archives(machine: Folder, cuda: str, cudnn: str) -> None:
    """Unpack NVIDIA's archives, and put their folders on the loader's search path."""
    lib = f"/usr/local/cuda-{cuda}/lib64"
    machine.toolkit(cuda).cudnn({"7": "7.6.5", "8": "8.9.7", "9": "9.13.0"}[cudnn], lib).env(
        LD_LIBRARY_PATH=lib
    )


Effect = Callable[[Folder], None]
EFFECTS: tuple[tuple[str, Effect], ...] = (
    (r"sudo ubuntu-drivers install", lambda m: user_driver(m, NEWEST[""])),
    (r"sudo reboot|sudo dkms autoinstall && sudo modprobe nvidia\b|.*[Rr]estart the machine", start_again),
    (r"echo [\w:.]+ \| sudo tee /sys/bus/pci/drivers/nvidia/bind", start_again),
    (r"sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm", answer_again),
    (r"sudo nvidia-modprobe", lambda m: (m.nodes(), answer_again(m), None)[-1]),
    (r"docker run --rm --gpus all nvcr.io/nvidia/tensorflow", lambda m: nvidia_image(m)),
    (
        (
            r"docker run .*--gpus all|podman run .*--device nvidia.com/gpu|Give the pod|Start the container"
            r" (?:with|again|anew)|.*lxc config device add"
        ),
        pass_in,
    ),
    (
        (
            r"sudo prime-select nvidia|echo ON \| sudo tee|supergfxctl -m Hybrid|sudo envycontrol -s"
            r" hybrid|Switch the GPU on"
        ),
        discrete,
    ),
    (r"sudo apt remove --purge '\^nvidia", without_linux_driver),
    (r"sudo apt update && sudo apt install -y python3\.\d+-venv", lambda m: None),
    (r"Remove driver \S+ with the package manager", without_linux_driver),
    (r"Install an NVIDIA driver .* on Windows", windows_driver),
    (r"sudo apt remove 'cuda-compat", without_compat),
    (r"sudo systemctl enable --now nvidia-fabricmanager", fabric_manager),
    (r"sudo ldconfig", configured),
    (r"Install cuDNN 8[. ,]", lambda m: (m.cudnn("8.9.7", LIB), None)[-1]),
    (r"Switch the machine off and on again|Start that program again; reset the GPU", start_again),
    (r"End your own processes that hold it", freed),
    (r"Use a system or an image with glibc", lambda m: on_glibc(m)),
    (
        r"sudo chmod a\+rw /dev/",
        lambda m: ([p.chmod(0o666) for p in (m.root / "dev").glob("nvidia*")], answer_again(m))[-1],
    ),
    (r"sudo snap connect \w+:opengl", lambda m: (user_driver(m, m.version), None)[-1]),
    (r"sudo akmods --force|Use the GPU inside the virtual machine, or return it to the host", start_again),
    (r"Run the program on a machine or node that has an NVIDIA GPU", lambda m: (m.gpu().driver(), None)[-1]),
    (
        r"In a virtual machine, set the CPU type to host",
        lambda m: (m.write("/proc/cpuinfo", f"flags\t\t: {MODERN}\n"), None)[-1],
    ),
)


def add_to_group(machine: Folder, group: str) -> None:
    if (machine.root / "etc/group").exists():
        edited(machine, "/etc/group", lambda text: re.sub(rf"(?m)^({group}:.*)", r"\1,u", text))
    answer_again(machine)


def instances(machine: Folder, gpu: str, profiles: str) -> None:
    """Make GPU instances with these profiles, each with its compute instance."""
    for number, _ in enumerate(profiles.split(","), 1):
        folder = f"/proc/driver/nvidia/capabilities/gpu{gpu}/mig/gi{number}"
        machine.write(f"{folder}/access", "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
        machine.write(f"{folder}/ci0/access", "DeviceFileMinor: 13\n")


def compute_instances(machine: Folder, gpu: str, instances: str) -> None:
    for number in instances.split(","):
        machine.write(f"/proc/driver/nvidia/capabilities/gpu{gpu}/mig/gi{number}/ci0/access", "")


def on_glibc(machine: Folder) -> None:
    """Turn the machine into the same machine on a system with glibc."""
    (machine.root / "lib/ld-musl-x86_64.so.1").unlink()
    machine.write("/etc/os-release", 'NAME="Ubuntu"\nVERSION_ID="22.04"\n')
    machine.library(f"{LIB}/libc.so.6", soname="libc.so.6", gives=tuple(f"GLIBC_2.{n}" for n in range(2, 36)))


NAMED: tuple[tuple[str, Callable[..., object]], ...] = (
    (r"Rename (\S+)", lambda m, path: (m.root / path.lstrip("/")).unlink()),
    (r"Remove or correct the line that sets the variable in (/[^:, ]+)", without_variable),
    (r"Delete the same folders from the line that sets LD_LIBRARY_PATH in ([^:]+):(\d+)", without_line),
    (
        r"Put the same line at the end of (\S+)",
        lambda m, path: m.write(path, f'export LD_LIBRARY_PATH="{m.record["env"]["LD_LIBRARY_PATH"]}"\n'),
    ),
    (r"In the container, install the libraries of driver ([\d.]+),", user_driver),
    (r"module load (.+)", lambda m, names: load(m, names.split())),
    (
        r"In (\S+), add this line above the one that starts the program: (.+)",
        lambda m, path, line: edited(m, path, lambda t: t.replace("python ", f"{line}\npython ", 1)),
    ),
    (
        r"In (\S+), below \[Service\], add (.+)",
        lambda m, path, line: edited(m, path, lambda t: f"{t}{line}\n"),
    ),
    (
        r"Set (\w+)=(\S+) before you start the program, as it is set for the container's first process",
        lambda m, name, value: m.env(**{name: value}),
    ),
    (r"conda install -c nvidia cuda-nvcc=([\d.]+)", conda_compiler),
    (r"Write (CUDA_VISIBLE_DEVICES) in place of (\w+) where it is set", renamed),
    (r"conda install -c conda-forge (.+)", lambda m, wanted: conda_install(m, wanted.split())),
    (r"Install cuDNN 9\S* (?:or a later 9.x )?for CUDA 12", lambda m: (m.cudnn("9.5.0", LIB), configured(m))),
    (r"Install the CUDA Toolkit ([\d.]+) and cuDNN (\d)", archives),
    (r"sudo nvidia-smi mig -i (\d+) -gi ([\d,]+) -cci", compute_instances),
    (r"sudo nvidia-smi mig -i (\d+) -cgi ([\d,]+) -C", instances),
    (r"sudo usermod -aG (\w+) \"\$USER\"", add_to_group),
    (r"Start the container's program with (conda run .+)", first_process),
    (r"sudo mv (\S+) (\S+)", lambda m, old, new: (m.root / old.lstrip("/")).rename(m.root / new.lstrip("/"))),
)
"""The actions for steps that name something, by pattern."""


def packages_of_apt(machine: Folder, words: list[str]) -> bool:
    """Do what apt does to install NVIDIA's packages."""
    done = False
    for word in words[words.index("install") + 1 :]:
        name, _, branch = word.rpartition("-")
        if name in ("nvidia-driver", "libnvidia-compute"):
            user_driver(machine, NEWEST[branch])
            done = True
        elif name == "nvidia-fabricmanager":
            fabric_package(machine, branch)
            done = True
    return done


def in_a_shell(machine: Folder, text: str) -> None:
    """Run a line in a shell, and apply the variables that it sets and the files that it writes to the
    machine."""
    env = {**json.loads(json.dumps(machine.record["env"])), "PATH": os.environ["PATH"]}
    if "$(python" in text:  # the machine's Python is only a file; this one reads its packages
        programs = machine.root / "python-of-the-test"
        for name in ("python", "python3"):
            machine.write(f"/{programs.name}/{name}", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            (programs / name).chmod(0o755)
        env.update(PATH=f"{programs}:{env['PATH']}", PYTHONPATH=f"{machine.root}{machine.site}")
    if not text.startswith("export "):
        paths = r"(?<![\w.:$\"'{])/(?:opt|home|etc)/[\w./-]+"
        for path in re.findall(paths, text):
            (machine.root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        text = re.sub(paths, lambda match: f"{machine.root}{match[0]}", text)
    line = text.replace("sudo ", "").replace("&& ldconfig", "")
    shown = subprocess.run(
        ["/bin/sh", "-c", f"{line} >&2\nenv -0"], env=env, capture_output=True, timeout=30, check=True
    )
    after = dict(pair.split("=", 1) for pair in shown.stdout.decode().split("\0") if "=" in pair)
    for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "XLA_FLAGS"):
        if name in after:
            machine.env(**{name: after[name].replace(str(machine.root), "")})
        else:
            machine.record["env"].pop(name, None)  # type: ignore[attr-defined]


def another_way(step: Step) -> bool:
    """Whether this step begins an alternative way to the same result."""
    return f"{step.why} {step.text}".lower().startswith("or ") or step.text.startswith("Or ")


def each_way(finding: Finding) -> list[list[Step]]:
    """Return the alternatives that a prescription offers, each as a list of steps."""
    ways: list[list[Step]] = [[]]
    for step in finding.prescription:
        if another_way(step) and ways[-1]:
            ways.append([])
        ways[-1].append(step)
    return ways


def carry_out(machine: Folder, finding: Finding, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> int:
    """Carry out the steps up to the next alternative. Returns the number of steps that changed something."""
    done = 0
    for step in finding.prescription:
        if (done and another_way(step)) or step.text.startswith("Or "):
            break
        effect = next((effect for pattern, effect in EFFECTS if re.match(pattern, step.text)), None)
        if effect is None:
            named = ((change, re.match(pattern, step.text)) for pattern, change in NAMED)
            effect = next(
                (
                    lambda m, change=change, match=match: change(m, *match.groups())
                    for change, match in named
                    if match
                ),
                None,
            )
        if effect is not None:
            effect(machine)
            done += 1
            continue
        if step.kind != "shell":
            continue
        words = shlex.split(step.text)
        if words[1:3] == ["-m", "venv"] or words[:2] == ["uv", "venv"]:
            version = removeprefix(words[0], "python") if words[0] != "uv" else words[3]
            machine.python(version, "/opt/tf-gpu")
        elif words[:3] == ["sudo", "apt", "install"]:
            done += packages_of_apt(machine, words)
            continue
        elif "pip" in words and "uninstall" in words:
            remove_tensorflow(machine)
        elif "pip" in words and "install" in words:
            install(machine, asked_of(words), tables)
        elif words[1:2] == ["-c"] and "os.symlink" in words[2]:
            here = Path.cwd()
            package = machine.root / machine.site.lstrip("/") / "tensorflow" / "__init__.py"
            spec = importlib.util.spec_from_file_location("tensorflow", package)
            monkeypatch.setattr(importlib.util, "find_spec", lambda _, spec=spec: spec)
            try:
                exec(words[2], {})  # exactly the code that is printed
            finally:
                os.chdir(here)
        elif words[0] in ("export", "unset"):
            in_a_shell(machine, step.text)
            (under_variables if "VISIBLE_DEVICES" in step.text else answer_again)(machine)
        elif re.match(r"echo .*ld\.so\.conf\.d", step.text):
            in_a_shell(machine, step.text)
            configured(machine)
        elif words[0] == "mkdir":
            in_a_shell(machine, step.text)
        elif words[:2] == ["conda", "activate"]:
            for script in sorted((machine.root / words[2].lstrip("/")).glob("etc/conda/activate.d/*.sh")):
                machine.env(CONDA_PREFIX=words[2])
                in_a_shell(machine, f"export X=1; . {script}")
        else:
            continue
        done += 1
    return done
