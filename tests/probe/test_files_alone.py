"""Tests machines that are known only from their files, without recorded variables and answers, such as a
mounted disk or an image.

The layouts are those of NVIDIA's packages for Jetson Linux 36, of nixpkgs, of TensorFlow's own images, of the
cuda-compat packages and of conda.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.facts import Absent, Facts, LibraryLoaded, LibraryNotLoaded
from doctor.findings import Diagnosis
from doctor.probe import examine
from doctor.probe.machine import Machine
from doctor.tables import Tables
from scripts.machines.skeleton import skeleton
from tests.probe.machines import BUILDS, CUDA, Folder
from tests.probe.test_could_not_look import close
from tests.probe.test_systems import with_interpreter
from tests.probe.test_verdicts import LIB, codes

ARM = "/usr/lib/aarch64-linux-gnu"
WHEEL = ("cublas", "cuda_runtime", "cudnn", "cufft", "curand", "cusolver", "cusparse")


class Disk(Folder):
    """The files of a Linux system and nothing else. arch: e_machine of its programs."""

    arch = 62

    def library(
        self, path: str, *, soname: str | None = None, needed: tuple[str, ...] = (), **more: object
    ) -> Disk:
        super().library(path, soname=soname, needed=needed, **{"machine": self.arch, **more})
        return self

    def without(self, *paths: str) -> Disk:
        for path in paths:
            place = self.root / path.lstrip("/")
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink()
        return self

    def system_python(self, version: str, site: str) -> Disk:
        self.prefix, self.site = "/usr", site
        self.write(f"/usr/bin/python{version}", skeleton(machine=self.arch, needed=("libc.so.6",)))
        self.link("/usr/bin/python3", f"python{version}")
        return self

    def venv(self, prefix: str, home: str = "/usr/bin") -> Disk:
        self.python("3.11", prefix)
        self.write(f"{prefix}/pyvenv.cfg", f"home = {home}\nversion = 3.11.4\n").without(
            f"{prefix}/bin/python"
        )
        self.write(f"{home}/python3.11", skeleton(machine=self.arch, needed=("libc.so.6",)))
        self.link(f"{prefix}/bin/python", f"{home}/python3.11")
        return self

    def build(
        self, version: str, cuda: str, cudnn: str, folders: tuple[str, ...] = (), *, as_version: str = ""
    ) -> Disk:
        known = dict(BUILDS)
        BUILDS[version] = (cuda, cudnn, folders)
        try:
            self.tensorflow(version)
        finally:
            BUILDS.clear()
            BUILDS.update(known)
        if as_version:
            info = self.root / f"{self.site}/tensorflow-{version}.dist-info".lstrip("/")
            info.rename(info.with_name(f"tensorflow-{as_version}.dist-info"))
        return self

    def wheels(self) -> Disk:
        """TensorFlow 2.17.1 from the package index, with its CUDA wheels."""
        self.build("2.17.1", "12.3.2", "8", WHEEL).cuda_wheels("12.2").cudnn_wheel("8.9.7.29")
        return self

    def facts(self, python: str | None = None) -> Facts:
        return examine(Machine.at(self.root), python)

    def diagnosis(self) -> Diagnosis:
        return diagnose(self.facts(), Tables.bundled())


def working(machine: Disk) -> Disk:
    machine.gpu().driver()
    return machine.venv("/home/u/tf").wheels()


# --- kinds


def jetson(machine: Disk) -> Disk:
    """JetPack 6: the nvgpu driver is for computing. nvidia.ko 540 with /dev/nvidia0 drives the display, and
    there is no nvidia-uvm."""
    machine.arch = 183
    machine.without(LIB).library(f"{ARM}/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.35"))
    machine.write("/bin/sh", skeleton(machine=183)).write("/proc/cpuinfo", "Features\t: fp asimd\n")
    machine.write("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, BOARD: generic, EABI: aarch64\n")
    machine.write("/proc/device-tree/compatible", "nvidia,p3768-0000\0nvidia,tegra234\0")
    machine.write("/proc/modules", "nvidia 1470464 7 - Live 0x0\nnvgpu 2654208 20 - Live 0x0\n")
    line = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build\n"
    machine.write("/proc/driver/nvidia/version", line)
    for name in ("nvidia0", "nvidiactl", "nvgpu/igpu0/power", "nvmap"):
        machine.write(f"/dev/{name}", "")
    machine.library(f"{ARM}/nvidia/libcuda.so.1.1", soname="libcuda.so.1")
    machine.link(f"{ARM}/nvidia/libcuda.so.1", "libcuda.so.1.1").library(f"{ARM}/nvidia/libnvidia-ml.so.1")
    cuda = "/usr/local/cuda-12.6/targets/aarch64-linux/lib"
    for name in CUDA["12.5"]:
        machine.cuda_library(cuda, name, "12.5")
    machine.cudnn("9.3.0", ARM).write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    machine.write("/etc/ld.so.conf.d/nvidia-tegra.conf", f"{ARM}/nvidia\n")
    machine.write("/etc/ld.so.conf.d/987_cuda-12.conf", f"{cuda} # of CUDA\n")
    machine.system_python("3.10", "/usr/local/lib/python3.10/dist-packages")
    return machine.build("2.16.1", "12.6", "9", as_version="2.16.1+nv24.8")


def nix_ld(machine: Disk) -> Disk:
    """A Python from uv on NixOS, which starts through nix-ld."""
    machine.without(LIB).write("/etc/os-release", 'NAME=NixOS\nID=nixos\nVERSION_ID="24.11"\n')
    store, libraries = "/nix/store/a-nvidia-x11/lib", "/nix/store/b-nix-ld/lib"
    machine.gpu().kernel_module("550.54.14").user_driver("550.54.14", store)
    machine.library(
        "/nix/store/c-glibc/lib/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.40")
    )
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        machine.link(f"{libraries}/{name}", f"{store}/{name}")
    machine.link(f"{libraries}/libc.so.6", "/nix/store/c-glibc/lib/libc.so.6")
    machine.link("/run/current-system/sw/share/nix-ld/lib", libraries)
    home = "/home/u/.local/share/uv/python/cpython-3.11/bin"
    machine.venv("/home/u/tf", home)
    machine.write(f"{home}/python3.11", with_interpreter("/lib64/ld-linux-x86-64.so.2"))
    return machine.wheels()


def conda(machine: Disk, *, script: bool = True) -> Disk:
    """CUDA from conda packages and TensorFlow from pip. TensorFlow finds CUDA only through variables that
    scripts in activate.d set."""
    machine.gpu().driver()
    machine.conda("3.10", "/home/u/mamba/envs/tf").write(
        "/home/u/mamba/envs/tf/bin/python", skeleton(needed=("libc.so.6",))
    )
    machine.build("2.15.1", "12.2", "8")
    for name in CUDA["12.2"]:
        machine.cuda_library(f"{machine.prefix}/lib", name, "12.2")
    machine.cudnn("8.9.4", f"{machine.prefix}/lib")
    if script:
        path = f"{machine.prefix}/etc/conda/activate.d/env_vars.sh"
        machine.write(path, "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib:$LD_LIBRARY_PATH\n")
    return machine


def in_container(machine: Disk, command: bytes) -> Disk:
    """The conda environment in a container. The first process has the environment on its PATH, but did not
    activate it."""
    conda(machine).write("/.dockerenv", "").write("/proc/1/cmdline", command)
    prefix = machine.prefix.encode()
    variables = (b"PATH=" + prefix + b"/bin:/usr/bin", b"HOME=/root", b"CONDA_PREFIX=" + prefix)
    machine.write("/proc/1/environ", b"\0".join(variables))
    return machine


def compat(machine: Disk, device: str, version: str, kernel: str, *, cache: bool = False) -> Disk:
    """A cuda-compat folder that the loader finds before the driver's own libcuda."""
    machine.gpu(device).driver(kernel)
    folder = "/usr/local/cuda-12.4/compat"
    machine.library(f"{folder}/libcuda.so.{version}", soname="libcuda.so.1")
    machine.link(f"{folder}/libcuda.so.1", f"libcuda.so.{version}")
    machine.venv("/home/u/tf").wheels()
    if cache:
        machine.in_loader_cache(folder)
    else:
        machine.write("/home/u/.bashrc", f"export LD_LIBRARY_PATH={folder}\n")
    return machine


HEALTHY: dict[str, Callable[[Disk], Disk]] = {
    "a desktop": working,
    "a Jetson with JetPack 6 and NVIDIA's wheel": jetson,
    "NixOS with nix-ld": nix_ld,
    "conda with a script in activate.d": conda,
    "conda in a container that a shell activates": lambda m: in_container(m, b"/bin/bash\0-l"),
    "forward compatibility on a data-centre GPU": lambda m: compat(m, "20b0", "550.54.14", "535.183.01"),
    "the same driver's library in a compat folder": lambda m: compat(m, "2484", "550.54.14", "550.54.14"),
    "tensorflow-text of the same minor number": lambda m: text_beside(
        m, "2.17.0", "tensorflow<2.18,>=2.17.0"
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_is_not_called_broken(name: str, tmp_path: Path) -> None:
    diagnosis = HEALTHY[name](Disk(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == "healthy", codes(diagnosis)


def test_the_display_driver_of_a_jetson_needs_no_device_node_for_cuda(tmp_path: Path) -> None:
    machine = jetson(Disk(tmp_path / "board")).without("/dev/nvgpu")
    assert "device-permission" not in codes(machine.diagnosis())


# --- files at rest


def image(machine: Disk, *, stub: bool = False, marked: bool = False) -> Disk:
    """An exported official image of TensorFlow with -gpu in its tag: no /proc, no /sys, no driver."""
    machine.without("/proc", "/sys", "/dev")
    for name in ("proc", "sys", "dev"):
        (machine.root / name).mkdir()
    machine.system_python("3.11", "/usr/local/lib/python3.11/dist-packages")
    machine.toolkit("12.2").cudnn("8.9.4", LIB)
    machine.build("2.15.0", "12.2", "8")
    folders = ["/usr/local/cuda-12.2/lib64", LIB]
    if stub:  # as in its Dockerfile, so that programs can be linked
        machine.library("/usr/local/cuda-12.2/lib64/stubs/libcuda.so", soname="libcuda.so.1")
        machine.link("/usr/local/cuda-12.2/lib64/stubs/libcuda.so.1", "libcuda.so")
        folders.append("/usr/local/cuda-12.2/lib64/stubs")
    if marked:
        machine.write("/.dockerenv", "")
    machine.in_loader_cache(*folders)
    return machine


@pytest.mark.parametrize("stub", [False, True])
@pytest.mark.parametrize("marked", [False, True])
def test_no_driver_is_expected_in_an_image_that_is_not_running(
    stub: bool, marked: bool, tmp_path: Path
) -> None:
    machine = image(Disk(tmp_path / "image"), stub=stub, marked=marked)
    facts = machine.facts()
    assert not {fact.what for fact in facts.of(Absent)} & {
        "libcuda",
        "nvidia driver",
        "device nodes",
        "nvidia gpu",
    }
    assert "libcuda.so.1" not in {fact.name for fact in facts.of(LibraryNotLoaded)}
    diagnosis = machine.diagnosis()
    assert diagnosis.verdict.code == "undetermined", codes(diagnosis)
    assert facts.unexamined
    assert any("--gpus all" in step.text for step in diagnosis.verdict.prescription)
    assert "TensorFlow is installed" not in diagnosis.verdict.explanation


def test_a_part_that_the_image_itself_lacks_is_a_fault(tmp_path: Path) -> None:
    machine = image(Disk(tmp_path / "image"), marked=True)
    for path in (machine.root / LIB.lstrip("/")).glob("libcudnn*"):
        path.unlink()
    machine.in_loader_cache("/usr/local/cuda-12.2/lib64", LIB)
    assert machine.diagnosis().verdict.code == "cudnn-missing"


def test_a_disk_with_a_kernel_must_contain_its_driver(tmp_path: Path) -> None:
    machine = image(Disk(tmp_path / "disk")).write("/boot/vmlinuz-6.8.0", "")
    assert machine.facts().absent("libcuda") is not None
    machine.user_driver("550.54.14")
    diagnosis = machine.diagnosis()
    assert diagnosis.verdict.code == "undetermined", codes(diagnosis)
    assert "Start the system" in diagnosis.verdict.prescription[0].text


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({}, "driver-not-loaded"),
        ({"/etc/default/grub": "GRUB_DEFAULT='Advanced>Ubuntu, with Linux 6.8.9-gen'\n"}, "undetermined"),
        (
            {
                "/etc/default/grub": "GRUB_DEFAULT=saved\n",
                "/boot/grub2/grubenv": "saved_entry=a1-6.8.9-gen\n",
            },
            "undetermined",
        ),
        ({"/etc/default/grub": "GRUB_DEFAULT=windows\n"}, "undetermined"),
        ({"/lib/modules/6.8.10-gen/modules.dep": "video/nvidia.ko.zst: kernel/video.ko\n"}, "undetermined"),
        ({"/lib/modules/6.8.10-gen/weak-updates/nvidia/nvidia.ko": ""}, "undetermined"),
        ({"/lib/modules/6.8.10-gen/build/Makefile": "", "/usr/sbin/dkms": ""}, "undetermined"),
        ({"/boot/vmlinuz-6.8.10-gen": None}, "undetermined"),
        ({"/lib/modules/6.9.0-gone/updates/dkms/zfs.ko": "", "/boot": None}, "driver-not-loaded"),
    ],
)
def test_the_kernel_that_starts_next_from_a_disk_needs_its_module(
    files: dict[str, str | None], code: str, tmp_path: Path
) -> None:
    machine = image(Disk(tmp_path / "disk")).user_driver("550.54.14")
    for release in ("6.8.9-gen", "6.8.10-gen"):
        machine.write(f"/boot/vmlinuz-{release}", "").write(f"/lib/modules/{release}/modules.order", "")
    machine.write("/lib/modules/6.8.9-gen/updates/dkms/nvidia.ko.zst", "")
    for path, text in files.items():
        if text is None:
            machine.without(path)
        else:
            machine.write(path, text)
    verdict = machine.diagnosis().verdict
    assert verdict.code == code
    if code == "driver-not-loaded":
        assert "6.8.10-gen starts next" in verdict.explanation
        assert verdict.confidence == "likely"


def test_without_a_cache_the_loader_s_configuration_is_read(tmp_path: Path) -> None:
    machine = working(Disk(tmp_path / "copied")).library("/opt/site/libcudart.so.12")
    machine.write("/etc/ld.so.conf", "include ld.so.conf.d/*.conf\n# /opt/no\n")
    machine.write("/etc/ld.so.conf.d/a.conf", "include /etc/ld.so.conf\n/opt/site/\n").without(
        f"{machine.site}/nvidia/cuda_runtime/lib/libcudart.so.12"
    )
    opened = {fact.name: fact.path for fact in machine.facts().of(LibraryLoaded)}
    assert opened["libcudart.so.12"] == "/opt/site/libcudart.so.12"
    machine.in_loader_cache("/opt/other")
    assert "libcudart.so.12" not in {fact.name for fact in machine.facts().of(LibraryLoaded)}


# --- forward compatibility

UNFIT = {
    "a GeForce card": lambda m: compat(m, "2484", "550.54.14", "535.183.01"),
    "a GeForce card, by the loader's cache": lambda m: compat(
        m, "2484", "550.54.14", "535.183.01", cache=True
    ),
    "a driver newer than the package": lambda m: compat(m, "20b0", "535.104.05", "570.86.10"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_compat_library_that_does_not_fit_is_named(name: str, tmp_path: Path) -> None:
    diagnosis = UNFIT[name](Disk(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == "cuda-compat-package", codes(diagnosis)
    steps = [step.text for step in diagnosis.verdict.prescription]
    assert any("ldconfig" in text for text in steps) == ("cache" in name)
    assert any("LD_LIBRARY_PATH" in text for text in steps) == ("cache" not in name)


# --- add-ons


def text_beside(machine: Disk, version: str, requires: str, package: str = "tensorflow-text") -> Disk:
    working(machine).package(package, version, f"Requires-Dist: {requires}\n")
    return machine


OTHERS = {
    "as its metadata says": (
        "tensorflow-text",
        "2.13.0",
        'tensorflow (<2.14,>=2.13.0) ; platform_machine != "arm64"',
    ),
    "by its number": ("tensorflow-text", "2.13.0", "tensorflow-hub>=0.8.0"),
    "decision forests": ("tensorflow-decision-forests", "1.8.1", "tensorflow~=2.15.0"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_add_on_for_another_tensorflow_is_named(name: str, tmp_path: Path) -> None:
    package, version, requires = OTHERS[name]
    verdict = text_beside(Disk(tmp_path / "m"), version, requires, package).diagnosis().verdict
    assert (verdict.code, verdict.severity) == ("tf-addon-mismatch", "warning")
    assert f"{package} {version}" in verdict.explanation


@pytest.mark.parametrize("requires", ["tensorflow<2.14 ; extra == 'old'", "tensorflow<<2", "numpy<2"])
def test_an_add_on_that_does_not_state_its_tensorflow_is_not_blamed(requires: str, tmp_path: Path) -> None:
    machine = text_beside(Disk(tmp_path / "m"), "0.37.1", requires, "tensorflow-io")
    assert machine.diagnosis().verdict.code == "healthy"


# --- what sets the loader's path

CLOSED = ("/home/u/.bashrc", "/etc/environment", "/home/u/mamba/envs/tf/etc/conda/activate.d/env_vars.sh")


@pytest.mark.parametrize("path", CLOSED)
def test_an_unreadable_start_file_leaves_the_cause_undetermined(path: str, tmp_path: Path) -> None:
    machine = conda(Disk(tmp_path / "machine"), script=False)
    assert machine.diagnosis().verdict.code == "library-path"
    close(machine, path)
    diagnosis = machine.diagnosis()
    assert diagnosis.verdict.code == "undetermined", codes(diagnosis)
    assert path in diagnosis.verdict.explanation
    assert not [fact for fact in machine.facts().of(LibraryNotLoaded) if fact.cause == "absent"]


def test_an_unreadable_start_file_causes_no_doubt_if_every_library_is_found(tmp_path: Path) -> None:
    machine = working(Disk(tmp_path / "machine"))
    close(machine, "/home/u/.bashrc")
    assert machine.diagnosis().verdict.code == "healthy"


def test_a_conda_environment_gets_a_step_for_activate_d_and_not_for_the_whole_machine(tmp_path: Path) -> None:
    steps = conda(Disk(tmp_path / "machine"), script=False).diagnosis().verdict.prescription
    assert "etc/conda/activate.d" in steps[0].text
    assert steps[1].text == "conda activate /home/u/mamba/envs/tf"
    assert not any("ld.so.conf" in step.text or step.needs_root for step in steps)


def test_a_folder_in_a_home_folder_is_not_configured_for_the_whole_machine(tmp_path: Path) -> None:
    machine = Disk(tmp_path / "machine")
    machine.gpu().driver()
    machine.venv("/home/u/tf").build("2.15.1", "12.2", "8")
    machine.toolkit("12.2", "/home/u/cuda-12.2").cudnn("8.9.4", "/home/u/cuda-12.2/lib64")
    verdict = machine.diagnosis().verdict
    assert verdict.code == "library-path"
    assert not any(step.needs_root for step in verdict.prescription)


def test_a_container_whose_first_process_is_python_was_started_without_activation(tmp_path: Path) -> None:
    program = in_container(Disk(tmp_path / "machine"), b"python\0train.py")
    assert program.diagnosis().verdict.code == "library-path"
    shell = in_container(Disk(tmp_path / "other"), b"/bin/bash\0").diagnosis().verdict
    assert (shell.code, shell.severity) == ("healthy", "warning")


# --- files of a project and of the login


def apart(machine: Disk, prefix: str = "/home/u/project/.venv") -> Disk:
    """TensorFlow in a project's environment, and a CUDA toolkit that is not on the loader's search path."""
    machine.gpu().driver()
    machine.venv(prefix).build("2.15.1", "12.2", "8").toolkit("12.2", FAR)
    machine.cudnn("8.9.4", f"{FAR}/lib64")
    return machine


FAR = "/srv/software/cuda"
NAMED = f"{FAR}/lib64"
SAID = {
    "direnv": ("/home/u/project/.envrc", f"use flake\nexport LD_LIBRARY_PATH={NAMED}\n"),
    "a variable of mkShell": (
        "/home/u/project/shell.nix",
        f'# LD_LIBRARY_PATH = "/no";\nmkShell {{ LD_LIBRARY_PATH = "{NAMED}:${{pkgs.zlib}}/lib"; }}\n',
    ),
    "a hook of a flake": (
        "/home/u/project/flake.nix",
        (
            "mkShell { shellHook = ''\n  export"
            f" LD_LIBRARY_PATH={NAMED}:${{pkgs.zlib}}/lib:''${{LD_LIBRARY_PATH}}\n''; }}\n"
        ),
    ),
    "a list of makeLibraryPath": (
        "/home/u/project/default.nix",
        '{ LD_LIBRARY_PATH = with pkgs; lib.makeLibraryPath [ zlib "/srv/software/cuda64" ]; }\n',
    ),
    "pam_env": ("/etc/security/pam_env.conf", f"# A DEFAULT=b\nLD_LIBRARY_PATH DEFAULT={NAMED}\n"),
    "environment.d": ("/home/u/.config/environment.d/90-cuda.conf", f"LD_LIBRARY_PATH={NAMED}\n"),
}


@pytest.mark.parametrize("what", SAID)
def test_a_project_file_or_login_file_names_the_folder(what: str, tmp_path: Path) -> None:
    path, text = SAID[what]
    machine = apart(Disk(tmp_path / "machine")).link("/srv/software/cuda64/lib", NAMED)
    assert machine.diagnosis().verdict.code != "healthy"
    assert machine.write(path, text).diagnosis().verdict.code == "healthy"


def test_pixi_s_activation_is_part_of_its_environment(tmp_path: Path) -> None:
    machine = apart(Disk(tmp_path / "machine"), "/home/u/project/.pixi/envs/default")
    text = (
        f'[activation]\nLD_LIBRARY_PATH = "/no"\n[activation.env]\nLD_LIBRARY_PATH = "{NAMED}"  #'
        " here\n[tasks]\n"
    )
    assert machine.write("/home/u/project/pixi.toml", text).diagnosis().verdict.code == "healthy"


def test_a_file_in_a_home_folder_is_not_a_project_file(tmp_path: Path) -> None:
    machine = apart(Disk(tmp_path / "machine"), "/home/u/tf")
    machine.write("/home/u/.envrc", f"export LD_LIBRARY_PATH={NAMED}\n")
    assert machine.diagnosis().verdict.code != "healthy"


def test_the_cudnn_of_a_jetson_is_not_compared_with_wheels_for_other_machines() -> None:
    from doctor.compat import cudnn_serves_gpu

    tables = Tables.bundled()
    assert cudnn_serves_gpu("9.12.0.46", ("11.0",), tables, "13").verdict == "unknown"
    assert cudnn_serves_gpu("9.12.0.46", ("6.1",), tables, "12").verdict == "no"


# --- who may open what


def node_group(machine: Disk) -> int:
    """Allow only one group to use the GPU's device nodes. Returns the number of the group."""
    import os

    for path in (machine.root / "dev").glob("nvidia*"):
        if os.getuid() == 0:
            os.chown(path, 0, 1500)
        path.chmod(0o660)
    return (machine.root / "dev/nvidiactl").stat().st_gid


@pytest.mark.parametrize(("members", "code"), [("bob", "device-permission"), ("bob,u", "healthy")])
def test_device_nodes_of_a_group_are_closed_to_users_outside_it(
    members: str, code: str, tmp_path: Path
) -> None:
    machine = working(Disk(tmp_path / "m")).write("/etc/passwd", "u:x:4242:4242::/home/u:/bin/bash\n")
    machine.write("/etc/group", f"u:x:4242:\ngpuusers:x:{node_group(machine)}:{members}\n")
    assert machine.diagnosis().verdict.code == code


def test_a_group_without_a_name_is_not_trusted(tmp_path: Path) -> None:
    machine = working(Disk(tmp_path / "copied")).write("/etc/passwd", "u:x:4242:4242::/home/u:/bin/bash\n")
    node_group(machine)
    assert machine.write("/etc/group", "u:x:4242:\n").diagnosis().verdict.code == "healthy"


def test_a_library_that_nobody_may_read_is_named_also_by_an_administrator(tmp_path: Path) -> None:
    machine = Disk(tmp_path / "m").gpu().driver()
    machine.venv("/opt/tf").wheels()
    for path in (machine.root / f"{machine.site}/nvidia/cudnn/lib".lstrip("/")).glob("libcudnn.so*"):
        path.chmod(0)
    diagnosis = machine.diagnosis()
    assert diagnosis.verdict.code == "library-broken", codes(diagnosis)


def test_cuda_outside_the_usual_toolkit_folders_is_found(tmp_path: Path) -> None:
    machine = Disk(tmp_path / "m").gpu().driver()
    machine.venv("/home/u/tf").build("2.15.1", "12.2", "8")
    for name in CUDA["12.2"]:
        machine.cuda_library("/opt/site/lib", name, "12.2")
    machine.cudnn("8.9.4", "/opt/site/lib").in_loader_cache("/opt/site/lib", LIB)
    assert machine.diagnosis().verdict.code == "healthy"


# --- clusters


@pytest.mark.parametrize("lacking", ["", "libnvidia-ml.so.1", "libcuda.so.1"])
def test_a_machine_with_slurm_and_a_gpu_is_not_a_login_node(lacking: str, tmp_path: Path) -> None:
    machine = working(Disk(tmp_path / "m")).write("/usr/bin/sbatch", "")
    for path in machine.root.rglob(f"{lacking}*") if lacking else ():
        path.unlink()
    found = codes(machine.diagnosis())
    assert "gpu-absent" not in found
