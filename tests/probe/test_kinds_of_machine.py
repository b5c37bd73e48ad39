"""Tests machines other than desktops: machines whose GPU is not on a PCI bus, containers, laptops, servers.
The folders contain the same files as such machines: the files in NVIDIA's packages for Jetson Linux 35 and
36, the mounts of nvidia-container-cli and CDI, and the settings files of prime-select, supergfxctl and
similar programs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.backports import removesuffix
from doctor.facts import Absent, DriverVersion, Gpu, Unreadable
from scripts.machines.skeleton import skeleton
from tests.probe.machines import Folder
from tests.probe.test_verdicts import codes, with_wheels
from tests.sampling import sampled

LIB = "/usr/lib/x86_64-linux-gnu"
WSL_KERNEL = "5.15.153.1-microsoft-standard-WSL2\n"


def ready(machine: Folder) -> Folder:
    """Add TensorFlow 2.15.1 with its CUDA wheels."""
    return with_wheels(machine, "2.15.1")


def host_with_driver(machine: Folder) -> Folder:
    """Add the parts of a host with a working driver that every container sees: kernel modules and the PCI
    bus, but no libraries."""
    machine.gpu().write("/proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 1 2 nvidia_uvm, Live 0x0\n")
    line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n"
    return machine.write("/proc/driver/nvidia/version", line)


def docker_desktop(machine: Folder) -> Folder:
    machine.write("/proc/sys/kernel/osrelease", WSL_KERNEL).write("/.dockerenv", "").write("/dev/dxg", "")
    for name, real in (
        ("libcuda.so.1", "libcuda.so.1.1"),
        ("libnvidia-ml.so.1", None),
        ("libdxcore.so", None),
    ):
        machine.library(f"{LIB}/{real or name}", soname=name)
        if real:
            machine.link(f"{LIB}/{name}", real)
    return ready(machine)


def wsl(machine: Folder) -> Folder:
    machine.write("/proc/sys/kernel/osrelease", WSL_KERNEL).write("/dev/dxg", "")
    for name in ("libcuda.so.1.1", "libnvidia-ml.so.1"):
        machine.library(
            f"/usr/lib/wsl/lib/{name}", soname=removesuffix(name, ".1") if name.endswith("1.1") else name
        )
    machine.link("/usr/lib/wsl/lib/libcuda.so.1", "libcuda.so.1.1")
    return ready(machine).in_loader_cache("/usr/lib/wsl/lib")


def unknown_model(machine: Folder) -> Folder:
    return ready(machine.gpu("ffff").driver())


def pod(machine: Folder) -> Folder:
    host_with_driver(machine).write("/run/secrets/kubernetes.io/serviceaccount/namespace", "ml\n")
    return ready(machine.write("/etc/hosts", "# Kubernetes-managed hosts file.\n127.0.0.1 localhost\n"))


def apptainer(machine: Folder) -> Folder:
    host_with_driver(machine).nodes().write("/.singularity.d/runscript", "#!/bin/sh\n")
    return ready(machine)


def lxc(machine: Folder) -> Folder:
    return ready(
        host_with_driver(machine).write("/run/systemd/container", "lxc\n").write("/dev/lxd/sock", "")
    )


def nspawn(machine: Folder) -> Folder:
    return ready(host_with_driver(machine).write("/run/host/container-manager", "systemd-nspawn"))


def podman(machine: Folder) -> Folder:
    return ready(host_with_driver(machine).write("/run/.containerenv", 'engine="podman-5.0.3"\n'))


def snap(machine: Folder) -> Folder:
    """A strictly confined snap: the files of the host are under hostfs, and its device nodes exist."""
    host_with_driver(machine).nodes().write("/var/lib/snapd/hostfs/usr/bin/nvidia-smi", "")
    return ready(machine).env(SNAP_NAME="jupyter")


def divided(machine: Folder, *compute: str) -> Folder:
    """An A100 in MIG mode with two GPU instances. compute: the compute instances in each GPU instance."""
    machine.gpu("20b0").driver()
    for gi in ("gi1", "gi2"):
        folder = f"/proc/driver/nvidia/capabilities/gpu0/mig/{gi}"
        machine.write(f"{folder}/access", "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
        for ci in compute:
            machine.write(f"{folder}/{ci}/access", "DeviceFileMinor: 13\n")
    return ready(machine)


def containerd(machine: Folder) -> Folder:
    """A container that nerdctl started. Only its layered root file system shows that it is a container."""
    mounts = "overlay / overlay rw,lowerdir=/var/lib/containerd/1/fs,upperdir=/2/fs,workdir=/2/work 0 0\n"
    return ready(host_with_driver(machine).write("/proc/mounts", mounts))


def docker(machine: Folder) -> Folder:
    return ready(host_with_driver(machine).write("/.dockerenv", ""))


def given(machine: Folder, folder: str = LIB) -> Folder:
    """Add what a runtime passes into a container: device nodes and the driver's libraries."""
    return machine.nodes().user_driver("550.54.14", folder)


def laptop(machine: Folder, *, bound: bool = False, power: str = "D0") -> Folder:
    """A laptop with an Intel GPU and the NVIDIA driver's libraries. Its NVIDIA GPU may be on the bus, and may
    be bound to a driver."""
    machine.pci("0000:00:02.0", "8086", "9a49", "030000", "i915").gpu("2520", "nvidia" if bound else None)
    machine.write("/sys/bus/pci/devices/0000:01:00.0/power_state", f"{power}\n")
    return ready(machine.driver() if bound else machine.user_driver("550.54.14"))


def off_the_bus(machine: Folder) -> Folder:
    machine.pci("0000:00:02.0", "8086", "9a49", "030000", "i915")
    return ready(machine.user_driver("550.54.14"))


def nvswitch(machine: Folder) -> Folder:
    machine.gpu("20b2").driver().pci("0000:c4:00.0", "10de", "1af1", "068000", "nvidia-nvswitch")
    return ready(machine.write("/var/lib/dpkg/status", ""))


def fabric_manager(machine: Folder) -> Folder:
    machine.write("/usr/bin/nv-fabricmanager", "")
    return machine.link(
        "/etc/systemd/system/multi-user.target.wants/nvidia-fabricmanager.service", "/usr/lib/x"
    )


SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.14              Driver Version: 550.54.14      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:01:00.0 Off |                   On |
| N/A   32C    P0             43W /  400W |       0MiB /  40960MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+
| MIG devices:                                                                            |
|  No MIG devices found                                                                   |
+-----------------------------------------------------------------------------------------+
"""


HEALTHY: dict[str, Callable[[Folder], Folder]] = {
    "Docker Desktop on WSL2": docker_desktop,
    "WSL2 from its files alone": wsl,
    "a GPU that no list of models holds": unknown_model,
    "a pod with a GPU": lambda m: given(pod(m)),
    "docker with a GPU": lambda m: given(docker(m)),
    "containerd with a GPU": lambda m: given(containerd(m)),
    "a live system with a layered root": (
        lambda m: given(containerd(m)).write("/usr/lib/modules/6.1.0/kernel/nvidia.ko", "")
    ),
    "podman with CDI": lambda m: given(podman(m)),
    "LXC with a GPU": lambda m: given(lxc(m)),
    "nspawn with a GPU": lambda m: given(nspawn(m)),
    "Apptainer with --nv": lambda m: (
        apptainer(m)
        .user_driver("550.54.14", "/.singularity.d/libs")
        .env(LD_LIBRARY_PATH="/.singularity.d/libs")
    ),
    "a container that shows no bus": lambda m: _without_bus(given(docker(m))),
    "a snap with the opengl interface": (
        lambda m: given(snap(m), "/var/lib/snapd/lib/gl").env(LD_LIBRARY_PATH="/var/lib/snapd/lib/gl")
    ),
    "MIG instances": lambda m: divided(m, "ci0"),
    "MIG mode in an old output, instances since": (
        lambda m: divided(m, "ci0").write("/var/log/nvidia-smi.log", SMI)
    ),
    "MIG off, as nvidia-smi said": (
        lambda m: _with_folder(ready(m.gpu("20b0").driver())).write(
            "/var/log/nvidia-smi.log", SMI.replace(" Enabled |", "Disabled |")
        )
    ),
    "MIG off in the manager's configuration": (
        lambda m: _with_folder(ready(m.gpu("20b0").driver())).write(
            "/etc/systemd/system/nvidia-mig-manager.service.d/override.conf",
            '[Service]\nEnvironment="MIG_PARTED_SELECTED_CONFIG=all-disabled"\n',
        )
    ),
    "a GPU that could be divided": lambda m: _with_folder(ready(m.gpu("20b0").driver())),
    "a hybrid laptop whose GPU sleeps": (
        lambda m: laptop(m, bound=True, power="D3cold").write("/etc/prime-discrete", "on-demand\n")
    ),
    "NVSwitch with its fabric manager": lambda m: fabric_manager(nvswitch(m)),
    "nodes that are made at need": lambda m: _without_nodes(
        ready(m.gpu().driver()).write("/usr/bin/nvidia-modprobe", "")
    ),
    "a toolkit's stub behind the driver's library": (
        lambda m: ready(m.gpu().driver()).library("/usr/local/cuda/lib64/stubs/libcuda.so.1")
    ),
}


def _with_folder(machine: Folder) -> Folder:
    (machine.root / "proc/driver/nvidia/capabilities/gpu0/mig").mkdir(parents=True)
    return machine


def _without_bus(machine: Folder) -> Folder:
    import shutil

    shutil.rmtree(machine.root / "sys")
    return machine


def _without_nodes(machine: Folder) -> Folder:
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        (machine.root / "dev" / name).unlink()
    return machine


def test_an_overlay_root_with_its_own_kernel_is_not_a_container(tmp_path: Path) -> None:
    machine = containerd(Folder(tmp_path)).nodes().write("/usr/lib/modules/6.1.0/kernel/nvidia.ko", "")
    assert machine.diagnosis().verdict.code == "driver-libcuda-missing"


@pytest.mark.parametrize("name", sampled(HEALTHY, 6))
def test_a_healthy_machine_of_any_kind_is_not_called_broken(name: str, tmp_path: Path) -> None:
    diagnosis = HEALTHY[name](Folder(tmp_path / "healthy")).diagnosis()
    assert diagnosis.verdict.code == "healthy", codes(diagnosis)


FAULTS: dict[str, tuple[str, str, Callable[[Folder], Folder]]] = {
    "docker without --gpus": ("container-no-gpu", "docker run --rm --gpus all", docker),
    "Docker Desktop without --gpus": (
        "container-no-gpu",
        "docker run --rm --gpus all",
        lambda m: ready(m.write("/proc/sys/kernel/osrelease", WSL_KERNEL).write("/.dockerenv", "")),
    ),
    "a pod without a GPU": ("container-no-gpu", "nvidia.com/gpu", pod),
    "containerd without a GPU": ("container-no-gpu", "--gpus all", containerd),
    "podman without CDI": ("container-no-gpu", "podman run --rm --device nvidia.com/gpu=all", podman),
    "LXC without a GPU": ("container-no-gpu", "lxc config device add", lxc),
    "LXC with libraries that the host's upgrade left behind": (
        "driver-library-mismatch",
        "--no-kernel-module",
        lambda m: lxc(m).nodes().user_driver("550.40.07"),
    ),
    "nspawn without a GPU": ("container-no-gpu", "systemd-nspawn --bind=/dev/nvidia0", nspawn),
    "Apptainer without --nv": ("container-no-gpu", "--nv", apptainer),
    "a snap without the opengl interface": ("container-no-gpu", "sudo snap connect jupyter:opengl", snap),
    "GPU instances without a compute instance": (
        "gpu-reserved",
        "sudo nvidia-smi mig -i 0 -gi 1,2 -cci",
        divided,
    ),
    "MIG mode without an instance, as nvidia-smi said": (
        "gpu-reserved",
        "sudo nvidia-smi mig -i 0 -cgi 0 -C",
        lambda m: _with_folder(ready(m.gpu("20b0").driver())).write("/var/log/nvidia-smi.log", SMI),
    ),
    "MIG mode without an instance, as nvidia-smi -q said": (
        "gpu-reserved",
        "sudo nvidia-smi mig -i 0 -cgi 0 -C",
        lambda m: _with_folder(ready(m.gpu("20b0").driver())).write(
            "/root/nvidia-smi-q.txt",
            "GPU 00000000:01:00.0\n    MIG Mode\n        Current                           : Enabled\n"
            "        Pending                           : Enabled\n",
        ),
    ),
    "MIG instances that were not made": (
        "gpu-reserved",
        "sudo nvidia-smi mig -i 0 -cgi 0 -C",
        lambda m: _with_folder(ready(m.gpu("20b0").driver())).write(
            "/etc/systemd/system/nvidia-mig-manager.service.d/override.conf",
            '[Service]\nEnvironment="MIG_PARTED_SELECTED_CONFIG=all-1g.5gb"\n',
        ),
    ),
    "a stub for the driver in a container": (
        "container-no-gpu",
        "docker run",
        lambda m: (
            docker(m)
            .library("/usr/local/cuda/lib64/stubs/libcuda.so.1")
            .env(LD_LIBRARY_PATH="/usr/local/cuda/lib64/stubs")
        ),
    ),
    "a stub for the driver on a host": (
        "driver-missing",
        "",
        lambda m: (
            ready(m.gpu(driver=None))
            .library("/usr/local/cuda/lib64/stubs/libcuda.so.1")
            .env(LD_LIBRARY_PATH="/usr/local/cuda/lib64/stubs")
        ),
    ),
    "a stub before the driver's library": (
        "library-path",
        "grep -v stubs",
        lambda m: (
            ready(m.gpu().driver())
            .library("/usr/local/cuda/lib64/stubs/libcuda.so.1")
            .env(LD_LIBRARY_PATH="/usr/local/cuda/lib64/stubs")
        ),
    ),
    "a pod without nvidia-uvm": (
        "device-permission",
        "nvidia.com/gpu",
        lambda m: _without(given(pod(m)), "nvidia-uvm"),
    ),
    "a container without nvidiactl": (
        "device-permission",
        "--device",
        lambda m: _without(given(docker(m)), "nvidiactl"),
    ),
    "prime-select intel": (
        "gpu-powered-off",
        "prime-select nvidia",
        lambda m: off_the_bus(m).write("/etc/prime-discrete", "off\n"),
    ),
    "prime-select intel, GPU on the bus": (
        "gpu-powered-off",
        "prime-select nvidia",
        lambda m: laptop(m).write("/etc/prime-discrete", "intel\n"),
    ),
    "SUSEPrime": (
        "gpu-powered-off",
        "prime-select nvidia",
        lambda m: off_the_bus(m).write("/etc/prime/current_type", "intel\n"),
    ),
    "bbswitch": (
        "gpu-powered-off",
        "/proc/acpi/bbswitch",
        lambda m: laptop(m).write("/proc/acpi/bbswitch", "0000:01:00.0 OFF\n"),
    ),
    "supergfxctl": (
        "gpu-powered-off",
        "supergfxctl -m Hybrid",
        lambda m: off_the_bus(m).write("/etc/supergfxd.conf", json.dumps({"mode": "Integrated"})),
    ),
    "EnvyControl": (
        "gpu-powered-off",
        "envycontrol -s hybrid",
        lambda m: (
            off_the_bus(m)
            .write("/var/cache/envycontrol/cache.json", "{}")
            .write(
                "/etc/udev/rules.d/50-remove-nvidia.rules",
                'ACTION=="add", SUBSYSTEM=="pci", ATTR{vendor}=="0x10de", ATTR{class}=="0x03[0-9]*",'
                ' ATTR{power/control}="auto", ATTR{remove}="1"\n',
            )
        ),
    ),
    "vgaswitcheroo": (
        "gpu-powered-off",
        "vgaswitcheroo",
        lambda m: laptop(m).write(
            "/sys/kernel/debug/vgaswitcheroo/switch", "0:IGD:+:Pwr:0000:00:02.0\n1:DIS: :Off:0000:01:00.0\n"
        ),
    ),
    "a GPU in D3cold that no driver wakes": ("gpu-powered-off", "", lambda m: laptop(m, power="D3cold")),
    "a GPU kept for a virtual machine": (
        "gpu-reserved",
        "lspci -k",
        lambda m: ready(m.gpu(driver="vfio-pci").user_driver("550.54.14")),
    ),
    "a driver that has dropped Kepler": (
        "driver-too-new",
        "",
        lambda m: ready(m.gpu("102d").driver("550.54.14")),
    ),
    "NVSwitch without a fabric manager": ("gpu-bad-state", "nvidia-fabricmanager-550", nvswitch),
    "NVSwitch with a fabric manager that is stopped": (
        "gpu-bad-state",
        "systemctl enable --now nvidia-fabricmanager",
        lambda m: nvswitch(m).write("/usr/bin/nv-fabricmanager", ""),
    ),
    "NVSwitch with the fabric manager of another driver": (
        "gpu-bad-state",
        "nvidia-fabricmanager-550",
        lambda m: fabric_manager(nvswitch(m)).write(
            "/var/lib/dpkg/status",
            "Package: nvidia-fabricmanager-535\nStatus: install ok installed\nPriority: optional\nVersion:"
            " 535.161.08-1\n",
        ),
    ),
    "NVSwitch whose fabric manager kept its version in a driver update, on RPM's system": (
        "gpu-bad-state",
        "nvidia-fabricmanager",
        lambda m: fabric_manager(nvswitch(m)).write(
            "/var/log/fabricmanager.log",
            "[Oct 21 2026 21:00:41] [INFO] [tid 4120] Fabric Manager version 550.54.14 is running with\n"
            "[Nov 17 2026 03:12:55] [INFO] [tid 3877] Fabric Manager version 535.161.08 is running with\n",
        ),
    ),
}


def _without(machine: Folder, node: str) -> Folder:
    (machine.root / "dev" / node).unlink()
    return machine


@pytest.mark.parametrize("name", sampled(FAULTS, 9))
def test_the_fault_is_named_with_the_cure_of_its_kind(name: str, tmp_path: Path) -> None:
    code, cure, make = FAULTS[name]
    diagnosis = make(Folder(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == code, codes(diagnosis)
    texts = [step.text for step in diagnosis.verdict.prescription]
    assert any(cure in text for text in texts), texts
    assert not any("apt install libnvidia" in text for text in texts)
    assert "the text" not in diagnosis.verdict.explanation.lower()


def test_a_bus_that_lists_no_device_counts_as_unreadable(tmp_path: Path) -> None:
    machine = Folder(tmp_path / "sandbox")
    _without_bus(machine)
    (machine.root / "sys/bus/pci/devices").mkdir(parents=True)
    facts = ready(machine).facts()
    assert facts.absent("nvidia gpu") is None
    assert "nvidia gpu" in {fact.what for fact in facts.of(Unreadable)}


def test_a_library_of_wsl_has_no_version_in_its_name(tmp_path: Path) -> None:
    facts = docker_desktop(Folder(tmp_path / "wsl")).facts()
    assert not facts.of(DriverVersion)


# --- Jetson


def jetson(root: Path, chip: str, folder: str, node: str, *, release: bool = True) -> Folder:
    """A Jetson board: Arm, no PCI GPU, and libcuda.so.1.1 in its own folder, which ld.so.conf.d names."""
    machine = Folder(root)
    del machine.record["processor"]
    arm = "/usr/lib/aarch64-linux-gnu"
    machine.write(
        f"{arm}/libc.so.6", skeleton(soname="libc.so.6", machine=183, gives=("GLIBC_2.17", "GLIBC_2.35"))
    )
    machine.write("/bin/sh", skeleton(machine=183))
    (machine.root / "usr/lib/x86_64-linux-gnu/libc.so.6").unlink()
    machine.write(f"{arm}/{folder}/libcuda.so.1.1", skeleton(soname="libcuda.so.1", machine=183))
    machine.link(f"{arm}/{folder}/libcuda.so.1", "libcuda.so.1.1").write(node, "")
    machine.write("/proc/device-tree/compatible", f"nvidia,p3737-0000+p3701-0005\0nvidia,{chip}\0")
    machine.write("/proc/modules", "nvgpu 2654208 20 - Live 0x0\n")
    if release:
        machine.write(
            "/etc/nv_tegra_release",
            "# R36 (release), REVISION: 3.0, GCID: 36191598, BOARD: generic, EABI: aarch64\n",
        )
    return machine.env(LD_LIBRARY_PATH=f"{arm}/{folder}")


BOARDS = {
    "JetPack 5": ("tegra194", "tegra", "/dev/nvhost-gpu", "7.2"),
    "JetPack 6": ("tegra234", "nvidia", "/dev/nvgpu/igpu0/power", "8.7"),
}


@pytest.mark.parametrize("name", BOARDS)
def test_a_jetson_has_a_gpu_and_a_driver_without_pci_and_module(name: str, tmp_path: Path) -> None:
    chip, folder, node, capability = BOARDS[name]
    facts = jetson(tmp_path / "board", chip, folder, node).facts()
    assert {fact.what for fact in facts.of(Absent)} <= {"nvml", "python", "tensorflow", "cuda", "cudnn"}
    assert [gpu.compute_capability for gpu in facts.of(Gpu)] == [capability]
    assert not facts.of(DriverVersion)


def test_a_container_on_a_jetson_needs_its_own_runtime(tmp_path: Path) -> None:
    machine = jetson(tmp_path / "board", "tegra234", "nvidia", "/dev/nvmap", release=False).write(
        "/.dockerenv", ""
    )
    for path in (machine.root / "usr/lib/aarch64-linux-gnu/nvidia").iterdir():
        path.unlink()
    diagnosis = machine.diagnosis()
    assert "container-no-gpu" in codes(diagnosis)
    steps = next(f for f in diagnosis.findings if f.code == "container-no-gpu").prescription
    assert "--runtime nvidia" in steps[0].text


@pytest.mark.parametrize("path", ["/bin/sh", "/opt/venv/bin/python3", "/usr/lib/aarch64-linux-gnu/libc.so.6"])
def test_the_processor_is_that_of_the_files(path: str, tmp_path: Path) -> None:
    from doctor.probe.machine import Machine

    file = tmp_path / path.lstrip("/")
    file.parent.mkdir(parents=True)
    assert Machine.at(tmp_path).processor in (
        "",
        "aarch64",
    )  # only the name of the folder can reveal it
    file.write_bytes(skeleton(machine=183))
    assert Machine.at(tmp_path).processor == "aarch64"


def test_a_part_of_cudnn_that_needs_a_missing_system_library_is_broken(tmp_path: Path) -> None:
    """A small image has no libz, and the parts of cuDNN are loaded only when a convolution runs."""
    machine = ready(Folder(tmp_path).working_gpu())
    folder = "/opt/venv/lib/python3.11/site-packages/nvidia/cudnn/lib"
    for part in ("ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train"):
        machine.library(f"{folder}/libcudnn_{part}.so.8", needed=("libz.so.1",))
    verdict = machine.diagnosis().findings[0]
    assert verdict.code == "library-broken"
    assert "libz.so.1" in verdict.explanation
    assert any("zlib1g" in step.text for step in verdict.prescription)


def test_cudnn_can_use_a_library_that_python_has_loaded(tmp_path: Path) -> None:
    """Python's own zlib module loads libz from a store that cuDNN does not search (NixOS)."""
    machine = ready(Folder(tmp_path).working_gpu())
    folder = "/opt/venv/lib/python3.11/site-packages/nvidia/cudnn/lib"
    machine.library(f"{folder}/libcudnn_ops_infer.so.8", needed=("libz.so.1",))
    machine.library("/store/zlib/lib/libz.so.1")
    module = "/opt/venv/lib/python3.11/lib-dynload/zlib.cpython-311-x86_64-linux-gnu.so"
    machine.library(module, needed=("libz.so.1",), runpath="/store/zlib/lib")
    assert machine.diagnosis().verdict.code == "healthy"


@pytest.mark.parametrize(("version", "library"), [("3.13", "python3.13t"), ("3.10", "pypy3.10")])
def test_a_python_without_tensorflow_wheels_is_reported(version: str, library: str, tmp_path: Path) -> None:
    machine = Folder(tmp_path).working_gpu().python(version)
    folder = tmp_path / "opt/venv/lib"
    (folder / f"python{version}").rename(folder / library)
    verdict = machine.diagnosis().verdict
    assert verdict.code == "tf-no-wheel"
    assert "default build" in verdict.explanation
    assert any("uv venv --python 3." in step.text for step in verdict.prescription)


def test_the_name_of_any_other_folder_says_nothing_about_the_python(tmp_path: Path) -> None:
    machine = Folder(tmp_path).working_gpu().python("3.11", "/home/u/pypy/python3.13t/venv")
    assert machine.diagnosis().verdict.code == "tf-not-installed"


def test_a_pypy_beside_the_usual_python_changes_nothing(tmp_path: Path) -> None:
    machine = ready(Folder(tmp_path).working_gpu())
    (tmp_path / "opt/venv/lib/pypy3.12").mkdir()
    (tmp_path / "opt/venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    assert machine.diagnosis().verdict.code == "healthy"


def test_flags_of_another_processor_say_nothing_about_avx(tmp_path: Path) -> None:
    machine = ready(Folder(tmp_path).working_gpu())
    machine.write("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd aes\nCPU implementer\t: 0x41\n")
    assert machine.diagnosis().verdict.code == "healthy"
