"""What the printed commands do, done to a machine that is a folder: what a person would see after following them.

Exports and pipes run in a real shell, the Python of a step runs as it is printed; what an installer, a driver's package
or a container's runtime would change is laid out as it leaves it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Callable

import pytest
from packaging.requirements import Requirement

from doctor.backports import removeprefix
from doctor.findings import Finding
from doctor.tables import Tables, TensorFlowRelease, dotted
from tests.probe.machines import BUILDS, Folder

PLATFORM = "linux-x86_64"
NEWEST = {"": "570.86.10", "470": "470.256.02", "580": "580.65.06", "535": "535.183.01", "550": "550.54.14"}
"""By branch: the driver that a package of it brings; "": what the distribution chooses by itself."""
LIB = "/usr/lib/x86_64-linux-gnu"


def lay_out(machine: Folder, build: TensorFlowRelease) -> None:
    """A release as its wheel lies in site-packages; in place of another one."""
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
    """pip's uninstall, and the folder with what other distributions left in it."""
    site = machine.root / machine.site.lstrip("/")
    for old in (*site.glob("tensorflow*.dist-info"), site / "tensorflow", site / "tensorflow_core"):
        if old.is_dir():
            shutil.rmtree(old)


def bring(machine: Folder, package: str, specifiers: list[str], tables: Tables) -> None:
    """The newest wheel of NVIDIA's that all the specifiers allow, with the files that the tables know of it."""
    wanted = Requirement(f"{package}{','.join(specifiers)}").specifier
    wheels = [wheel for wheel in tables.nvidia_wheels(package) if wanted.contains(wheel.version)]
    if not wheels:  # none with a library
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
    """pip's work: each package with what its extra asks for."""
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
            fits = [v for v in ("1.0", "1.26.4", "2.17.1", "3.20.3") if requirement.specifier.contains(v)]
            machine.package(requirement.name, fits[-1])
    for package, specifiers in bounds.items():
        if package.startswith("nvidia-"):
            bring(machine, package, [s for s in specifiers if s], tables)


def asked_of(words: list[str]) -> list[str]:
    """The requirements of a call of pip or uv."""
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
    """A restart: the kernel's module is that of the libraries, bound to the GPU, and answers."""
    found = sorted((machine.root / LIB.lstrip("/")).glob("libcuda.so.*.*"))
    if not found:
        return
    version = removeprefix(found[-1].name, "libcuda.so.")
    for old in ("proc/modules", "proc/driver/nvidia/version"):
        (machine.root / old).unlink() if (machine.root / old).exists() else None
    machine.write("/proc/modules", "ext4 983040 1 - Live 0x0\n").kernel_module(version)
    for device in (machine.root / "sys/bus/pci/devices").iterdir():
        if (device / "vendor").read_text().strip() == "0x10de" and (device / "class").read_text().startswith("0x03"):
            (device / "driver").unlink() if (device / "driver").is_symlink() else None
            (device / "driver").symlink_to("../../../bus/pci/drivers/nvidia")
    answer_again(machine)


def answer_again(machine: Folder) -> None:
    """What was recorded of the driver is of the time before: the files alone tell what is there now."""
    machine.record.pop("answers", None)
    machine.record.pop("denied", None)


def pass_in(machine: Folder) -> None:
    """What a runtime that was asked for the GPU puts into a container."""
    stated = machine.root / "proc/driver/nvidia/version"
    if not stated.exists():  # under Docker Desktop it is the driver of Windows
        machine.write("/dev/dxg", "")
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            machine.library(f"{LIB}/{name}")
        return
    version = stated.read_text().split("Module  ")[1].split()[0]
    machine.nodes()
    user_driver(machine, version)
    machine.env(LD_LIBRARY_PATH="")


def discrete(machine: Folder) -> None:
    """A hybrid laptop's NVIDIA GPU is on, and the machine started again."""
    for path in ("etc/prime-discrete", "etc/prime/current_type", "proc/acpi/bbswitch", "etc/supergfxd.conf",
                 "sys/kernel/debug/vgaswitcheroo/switch", "etc/udev/rules.d/50-remove-nvidia.rules"):  # fmt: skip
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
    text = f"Package: nvidia-fabricmanager-{branch}\nStatus: install ok installed\nVersion: {NEWEST[branch]}-1\n"
    machine.write("/var/lib/dpkg/status", text).write("/usr/bin/nv-fabricmanager", "")


def configured(machine: Folder) -> None:
    """ldconfig, over what the files of ld.so.conf.d and the distribution name."""
    named = [p.read_text() for p in sorted((machine.root / "etc/ld.so.conf.d").glob("*.conf"))]
    before = machine.root / "etc/ld.so.conf"
    old = [line for line in before.read_text().splitlines() if line.startswith("/")] if before.exists() else []
    folders = [line for text in named for line in text.splitlines() if line.strip()]
    machine.in_loader_cache(*dict.fromkeys((*old, *folders)))


def archives(machine: Folder) -> None:
    """What NVIDIA's archives hold for TensorFlow 1.15, named to the loader."""
    machine.toolkit("10.0").cudnn("7.6.5", "/usr/local/cuda-10.0/lib64").env(LD_LIBRARY_PATH="/usr/local/cuda-10.0/lib64")


Effect = Callable[[Folder], None]
EFFECTS: tuple[tuple[str, Effect], ...] = (
    (r"sudo ubuntu-drivers install", lambda m: user_driver(m, NEWEST[""])),
    (r"sudo reboot|sudo dkms autoinstall && sudo modprobe nvidia\b|.*[Rr]estart the machine", start_again),
    (r"sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm", answer_again),
    (r"sudo nvidia-modprobe", lambda m: (m.nodes(), answer_again(m), None)[-1]),
    (r"docker run .*--gpus all|podman run .*--device nvidia.com/gpu|Give the pod|Start the container (?:with|anew)|.*lxc config device add",
     pass_in),
    (r"sudo prime-select nvidia|echo ON \| sudo tee|supergfxctl -m Hybrid|sudo envycontrol -s hybrid|Switch the GPU on", discrete),
    (r"sudo apt remove --purge '\^nvidia", without_linux_driver),
    (r"Install an NVIDIA driver .* on Windows", windows_driver),
    (r"sudo apt remove 'cuda-compat", without_compat),
    (r"sudo systemctl enable --now nvidia-fabricmanager", fabric_manager),
    (r"sudo ldconfig", configured),
    (r"Install the CUDA Toolkit 10.0 and cuDNN 7", lambda m: archives(m)),
    (r"Install cuDNN 8 ", lambda m: (m.cudnn("8.9.7", LIB), None)[-1]),
    (r"Rename /home/me/project/tensorflow.py", lambda m: (m.root / "home/me/project/tensorflow.py").unlink()),
)  # fmt: skip


def packages_of_apt(machine: Folder, words: list[str]) -> bool:
    """apt's work for NVIDIA's packages."""
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
    """Run a line for what it sets, or writes below the machine's folder."""
    env = {**json.loads(json.dumps(machine.record["env"])), "PATH": os.environ["PATH"]}
    for path in re.findall(r"(?<![\w.:$\"'{])/(?:opt|home|etc)/[\w./-]+", text) if "export " not in text[:7] else ():
        text = text.replace(path, f"{machine.root}{path}")
        (machine.root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    line = text.replace("sudo ", "").replace("&& ldconfig", "")
    shown = subprocess.run(["/bin/sh", "-c", f"{line} >&2\nenv -0"], env=env, capture_output=True, timeout=30, check=True)
    after = dict(pair.split("=", 1) for pair in shown.stdout.decode().split("\0") if "=" in pair)
    for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"):
        if name in after:
            machine.env(**{name: after[name]})
        else:
            machine.record["env"].pop(name, None)  # type: ignore[attr-defined]


def carry_out(machine: Folder, finding: Finding, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> int:
    """Do what the steps say, up to another way to the same; how many did something."""
    done = 0
    for step in finding.prescription:
        if (done and f"{step.why} {step.text}".lower().startswith("or ")) or step.text.startswith("Or "):
            break  # another way to the same
        effect = next((effect for pattern, effect in EFFECTS if re.match(pattern, step.text)), None)
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
            monkeypatch.setattr(sysconfig, "get_path", lambda _: str(machine.root / machine.site.lstrip("/")))
            try:
                exec(words[2], {})  # the very code that is printed
            finally:
                os.chdir(here)
        elif words[0] in ("export", "unset"):
            in_a_shell(machine, step.text)
            answer_again(machine)
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
