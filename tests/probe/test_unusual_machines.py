"""Tests real kinds of machines that look broken but are not: unusual folders for libraries and environments,
several Python installations and drivers, immutable systems, hosted notebooks and clusters. Then tests broken
machines that look healthy. Each machine has the layout that its maker documents.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from doctor.diagnose import diagnose
from doctor.probe.interpreter import NoPythonError
from doctor.probe.machine import Machine
from doctor.tables import Tables
from scripts.machines.skeleton import skeleton
from tests.probe.machines import CUDA, Folder
from tests.probe.test_files_alone import WHEEL, Disk
from tests.probe.test_kinds_of_machine import containerd, docker, given, host_with_driver, nspawn, pod, podman
from tests.probe.test_verdicts import LIB, codes
from tests.sampling import sampled

if TYPE_CHECKING:
    from typing import TypeAlias

VERSION = "550.54.14"
KERNEL = "5.15.0-105-generic"
Make: TypeAlias = "Callable[[Disk], Folder]"


def released(machine: Disk, name: str, more: str = "") -> Disk:
    machine.write("/etc/os-release", f'NAME="{name}"\n{more}')
    return machine


def rpm(machine: Disk, name: str = "Fedora Linux") -> Disk:
    """Libraries and a driver in /usr/lib64."""
    machine.without(LIB)
    machine.library(
        "/usr/lib64/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.28", "GLIBC_2.34")
    )
    machine.link("/lib64", "usr/lib64")
    machine.gpu().kernel_module(VERSION).user_driver(VERSION, "/usr/lib64")
    return released(machine, name)


def usr_lib(machine: Disk, name: str) -> Disk:
    """Libraries only in /usr/lib: Arch, Void."""
    machine.without(LIB)
    machine.library(
        "/usr/lib/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.28", "GLIBC_2.39")
    )
    for link in ("/lib64", "/usr/lib64", "/lib"):
        machine.link(link, "lib" if link.startswith("/usr") else "usr/lib")
    machine.gpu().kernel_module(VERSION).user_driver(VERSION, "/usr/lib")
    return released(machine, name)


def silverblue(machine: Disk) -> Disk:
    rpm(machine).write("/proc/sys/kernel/osrelease", "6.14.0-63.fc42.x86_64\n")
    machine.write("/usr/lib/modules/6.14.0-63.fc42.x86_64/extra/nvidia/nvidia.ko.xz", "")
    machine.link("/home", "var/home").write("/run/ostree-booted", "")
    (machine.root / "var/home/u").mkdir(parents=True)
    return machine.venv("/var/home/u/tf").wheels()


def clear_linux(machine: Disk) -> Disk:
    machine.without(LIB)
    machine.library(
        "/usr/lib64/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.28", "GLIBC_2.39")
    )
    machine.gpu().kernel_module(VERSION).user_driver(VERSION, "/opt/nvidia/lib64")
    released(machine, "Clear Linux OS").venv("/home/u/tf").wheels()
    return machine.in_loader_cache("/opt/nvidia/lib64", "/usr/lib64")  # type: ignore[return-value]


def gentoo(machine: Disk, *, cudnn: bool = True) -> Disk:
    rpm(machine, "Gentoo").venv("/home/u/tf").build("2.15.1", "12.2", "8")
    machine.toolkit("12.2", "/opt/cuda")
    if cudnn:
        machine.cudnn("8.9.7", "/opt/cuda/targets/x86_64-linux/lib")
    machine.write("/etc/env.d/99cuda", "LDPATH=/opt/cuda/lib64:/opt/cuda/targets/x86_64-linux/lib\n")
    machine.in_loader_cache("/opt/cuda/lib64", "/opt/cuda/targets/x86_64-linux/lib", "/usr/lib64")
    return machine


def gke(machine: Disk, *, named: bool = True) -> Disk:
    """A node with Container-Optimized OS, whose driver is mounted at /usr/local/nvidia."""
    pod(machine).nodes().user_driver(VERSION, "/usr/local/nvidia/lib64")
    machine.write("/usr/local/nvidia/bin/nvidia-smi", "")
    path = "LD_LIBRARY_PATH=/usr/local/nvidia/lib64" if named else "TERM=xterm"
    machine.write("/proc/1/environ", f"{path}\0KUBERNETES_SERVICE_HOST=10.0.0.1\0VIRTUAL_ENV=/opt/venv\0")
    return machine


def bottlerocket(machine: Disk) -> Disk:
    """The host's libraries are in lib64, the image's libraries in Debian's folders. NVIDIA's container
    toolkit runs ldconfig."""
    pod(machine).nodes().user_driver(VERSION, "/usr/lib64")
    return machine.in_loader_cache("/usr/lib64", LIB)  # type: ignore[return-value]


def databricks(machine: Disk) -> Disk:
    machine.gpu("1eb8").driver(VERSION)
    machine.write("/databricks/python3/bin/python3.11", skeleton(needed=("libc.so.6",)))
    machine.write("/databricks/python3/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.0\n")
    machine.write("/usr/bin/python3.11", skeleton(needed=("libc.so.6",)))
    machine.prefix, machine.site = "/databricks/python3", "/databricks/python3/lib/python3.11/site-packages"
    machine.wheels()
    prefix = "/local_disk0/.ephemeral_nfs/envs/pythonEnv-0a1b"
    machine.write(f"{prefix}/pyvenv.cfg", "home = /databricks/python3/bin\nversion = 3.11.0\n")
    machine.write(f"{prefix}/lib/python3.11/site-packages/_sites.pth", machine.site + "\n")
    machine.link(f"{prefix}/bin/python", "/databricks/python3/bin/python3.11")
    return machine


def sagemaker(machine: Disk) -> Disk:
    """TensorFlow from pip in conda's base environment, which is not activated. The loader's cache contains
    the image's libraries."""
    docker(machine)
    shutil.rmtree(machine.root / "opt/venv")
    given(machine).write("/opt/ml/input/config/resourceconfig.json", "{}")
    machine.conda("3.11", "/opt/conda").write("/opt/conda/bin/python", skeleton(needed=("libc.so.6",)))
    machine.build("2.15.1", "12.2", "8").toolkit("12.2").cudnn("8.9.7", LIB)
    return machine.in_loader_cache("/usr/local/cuda-12.2/lib64", LIB)  # type: ignore[return-value]


def colab(machine: Disk, *, gpu: bool = True) -> Disk:
    machine.system_python("3.12", "/usr/local/lib/python3.12/dist-packages").write("/.dockerenv", "")
    machine.write("/content/sample_data/README.md", "").wheels()
    if gpu:
        machine.gpu("1eb8").kernel_module(VERSION).user_driver(VERSION, "/usr/lib64-nvidia")
    machine.write(
        "/proc/1/environ", "LD_LIBRARY_PATH=/usr/lib64-nvidia\0COLAB_GPU=1\0PATH=/usr/local/bin:/usr/bin\0"
    )
    machine.write("/proc/1/cmdline", "/usr/bin/dumb-init\0--\0/datalab/run.sh")
    return machine


def kaggle(machine: Disk) -> Disk:
    machine.system_python("3.11", "/usr/local/lib/python3.11/dist-packages").write("/.dockerenv", "")
    machine.gpu("15f8").kernel_module(VERSION).user_driver(VERSION, "/usr/local/nvidia/lib64")
    path = "/usr/local/cuda/lib64:/usr/local/nvidia/lib:/usr/local/nvidia/lib64"
    machine.write("/proc/1/environ", f"LD_LIBRARY_PATH={path}\0PATH=/usr/local/bin:/usr/bin\0")
    return machine.wheels()


def lambda_stack(machine: Disk) -> Disk:
    """Debian packages: TensorFlow in the system's dist-packages, and its own CUDA and cuDNN in Debian's
    folder."""
    machine.gpu("20b0").driver(VERSION)
    machine.system_python("3.10", "/usr/lib/python3/dist-packages").build("2.15.1", "12.2", "8")
    for name in CUDA["12.2"]:
        machine.cuda_library(LIB, name, "12.2")
    return machine.cudnn("8.9.7", LIB)  # type: ignore[return-value]


def runpod(machine: Disk) -> Disk:
    docker(machine)
    shutil.rmtree(machine.root / "opt/venv")
    given(machine).write("/proc/1/environ", "RUNPOD_POD_ID=abc\0PATH=/usr/bin\0").write("/usr/bin/sshd", "")
    return machine.venv("/workspace/venv").wheels()


def eessi(machine: Disk) -> Disk:
    """Software on a network file system with its own loader. The driver of the host is linked into
    host_injections."""
    machine.gpu("2330").driver("550.54.14")
    root = "/cvmfs/software.eessi.io/versions/2023.06/software/linux/x86_64/intel/skylake_avx512/software"
    lent = "/cvmfs/software.eessi.io/host_injections/2023.06/compat/linux/x86_64/lib"
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        machine.link(f"{lent}/{name}", f"{LIB}/{name}")
    home = f"{root}/TensorFlow/2.15.1-foss-2023a-CUDA-12.1.1"
    for name in CUDA["12.2"]:
        machine.cuda_library(f"{root}/CUDA/12.1.1/lib64", name, "12.2")
    machine.cudnn("8.9.7", f"{root}/cuDNN/8.9.7.29-CUDA-12.1.1/lib64")
    machine.venv("/home/u/tf")
    machine.site = f"{home}/lib/python3.11/site-packages"
    machine.build("2.15.1", "12.1", "8")
    rpath = f"{root}/CUDA/12.1.1/lib64:{root}/cuDNN/8.9.7.29-CUDA-12.1.1/lib64:{lent}"
    machine.library(f"{machine.site}/tensorflow/libtensorflow_framework.so.2", runpath=f"$ORIGIN:{rpath}")
    machine.write("/home/u/.bashrc", f"export PYTHONPATH={machine.site}\n")
    return machine


def two_libcudas(machine: Disk, first: str = VERSION) -> Disk:
    """An upgrade left a library of the older driver. A link decides which library is used."""
    machine.gpu().kernel_module(VERSION).user_driver(VERSION)
    machine.library(f"{LIB}/libcuda.so.535.161.08", soname="libcuda.so.1")
    if first != VERSION:
        machine.without(f"{LIB}/libcuda.so.1").link(f"{LIB}/libcuda.so.1", f"libcuda.so.{first}")
    return machine.venv("/home/u/tf").wheels()


def multiarch(machine: Disk) -> Disk:
    """32-bit libraries for games, also in the loader's cache."""
    machine.gpu().driver(VERSION)
    narrow = bytearray(skeleton(soname="libcuda.so.1", machine=3))
    narrow[4] = 1
    machine.write("/usr/lib/i386-linux-gnu/libcuda.so.1", bytes(narrow))
    machine.venv("/home/u/tf").wheels()
    return machine.in_loader_cache("/usr/lib/i386-linux-gnu", LIB)  # type: ignore[return-value]


def split_usr(machine: Disk) -> Disk:
    """/lib64 and /usr/lib64 are different folders; the C library is in the first, the driver in the
    second."""
    machine.without(LIB)
    machine.library("/lib64/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.28", "GLIBC_2.34"))
    machine.gpu().kernel_module(VERSION).user_driver(VERSION, "/usr/lib64")
    return machine.venv("/opt/tf").wheels()


def several_gpus(machine: Disk, *others: tuple[str, str | None]) -> Disk:
    """A GeForce RTX 3070 with its driver, and other GPUs, each given as (PCI id, kernel driver)."""
    machine.gpu().driver(VERSION)
    for number, (device, driver) in enumerate(others, 2):
        machine.pci(f"0000:0{number}:00.0", "10de", device, "030000", driver)
    return machine.venv("/home/u/tf").wheels()


def several_pythons(machine: Disk) -> Disk:
    machine.gpu().driver(VERSION)
    machine.system_python("3.12", "/usr/lib/python3/dist-packages").package("numpy", "1.26.4")
    machine.conda("3.9", "/home/u/miniconda3").package("requests", "2.31.0")
    machine.venv("/home/u/empty").package("pip", "24.0")
    machine.record["env"] = {}
    return machine.venv("/home/u/work/tf").wheels()


def conda_environment(machine: Disk) -> Disk:
    machine.gpu().driver(VERSION)
    machine.conda("3.12", "/home/u/miniforge3").package("conda", "24.1.0")
    machine.conda("3.11", "/home/u/miniforge3/envs/tf")
    return machine.wheels()


def ngc(machine: Disk, compat: str | None = None) -> Disk:
    """NVIDIA's image: its compat folder is on the search path, but linked only if the entrypoint finds that
    it is needed."""
    docker(machine)
    shutil.rmtree(machine.root / "opt/venv")
    given(machine).write("/proc/1/cmdline", "/bin/bash\0/opt/nvidia/nvidia_entrypoint.sh")
    path = "/usr/local/cuda/compat/lib:/usr/local/nvidia/lib:/usr/local/nvidia/lib64"
    machine.write("/proc/1/environ", f"LD_LIBRARY_PATH={path}\0PATH=/usr/bin\0")
    real = compat or "555.42.02"
    machine.library(f"/usr/local/cuda/compat/lib.real/libcuda.so.{real}", soname="libcuda.so.1")
    machine.link("/usr/local/cuda/compat/lib.real/libcuda.so.1", f"libcuda.so.{real}")
    if compat:
        machine.link("/usr/local/cuda/compat/lib", "lib.real")
    machine.system_python("3.10", "/usr/local/lib/python3.10/dist-packages").build("2.15.1", "12.2", "8")
    machine.toolkit("12.2").cudnn("8.9.7", LIB)
    return machine.in_loader_cache("/usr/local/cuda-12.2/lib64", LIB)  # type: ignore[return-value]


def flatpak(machine: Disk, *, extension: bool = True) -> Disk:
    host_with_driver(machine).nodes().write("/.flatpak-info", "[Application]\nname=com.visualstudio.code\n")
    machine.venv("/home/u/tf").wheels()
    gl = f"{LIB}/GL/nvidia-550-54-14/lib"
    if extension:
        machine.user_driver(VERSION, gl)
    return machine.in_loader_cache(gl, LIB)  # type: ignore[return-value]


def distrobox(machine: Disk, *, nvidia: bool = True) -> Disk:
    """A podman container with the whole /dev of the host; --nvidia links the driver's libraries into it."""
    podman(machine).nodes().write("/run/host/etc/os-release", "NAME=Fedora\n")
    if nvidia:
        machine.user_driver(VERSION)
    return machine


def arm_server(machine: Disk, cuda: bool) -> Disk:
    """An Arm server with a T4G. TensorFlow's PyPI wheel for Arm has no CUDA support, but NVIDIA's own build
    does."""
    arm = "/usr/lib/aarch64-linux-gnu"
    machine.arch = 183
    machine.without(LIB).library(f"{arm}/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.35"))
    machine.write("/bin/sh", skeleton(machine=183)).write("/proc/cpuinfo", "Features\t: fp asimd\n")
    del machine.record["processor"]
    machine.gpu("1eb4").kernel_module(VERSION).user_driver(VERSION, arm)
    line = f"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  {VERSION}  Release Build\n"
    machine.write("/proc/driver/nvidia/version", line)
    machine.system_python("3.10", "/usr/local/lib/python3.10/dist-packages")
    if not cuda:
        machine.tensorflow("2.18.1", gpu=False)
        return machine
    return nvidia_build(machine)


def nvidia_build(machine: Disk) -> Disk:
    arm = "/usr/lib/aarch64-linux-gnu"
    machine.build("2.15.0", "12.3", "8", as_version="2.15.0+nv24.3")
    for name in CUDA["12.5"]:
        machine.cuda_library("/usr/local/cuda-12.3/targets/sbsa-linux/lib", name, "12.5")
    machine.cudnn("8.9.7", arm)
    machine.write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    machine.write("/etc/ld.so.conf.d/988_cuda-12.conf", "/usr/local/cuda-12.3/targets/sbsa-linux/lib\n")
    return machine


def vgpu(machine: Disk) -> Disk:
    machine.gpu("2237").driver("535.183.06").write(
        "/etc/nvidia/gridd.conf", "ServerAddress=\nFeatureType=4\n"
    )
    return machine.venv("/home/u/tf").wheels()


def controller(machine: Disk) -> Disk:
    """A data-centre GPU in a virtual machine: a 3D controller without a display, at an address that the host
    chooses."""
    machine.pci("0000:00:1e.0", "10de", "1eb8", "030200", "nvidia").pci(
        "0000:00:03.0", "1d0f", "1111", "030000"
    )
    machine.driver(VERSION)
    return machine.venv("/home/u/tf").wheels()


def open_module(machine: Disk) -> Disk:
    machine.gpu("2b85").driver("570.86.16").venv("/home/u/tf").wheels()
    line = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.16  Release Build  (dvs)\n"
    return machine.write("/proc/driver/nvidia/version", line)  # type: ignore[return-value]


def others_service(machine: Disk) -> Disk:
    """A service for another program, from which it hides the GPU."""
    machine.gpu().driver(VERSION).venv("/home/u/tf").wheels()
    unit = "[Service]\nEnvironment=CUDA_VISIBLE_DEVICES=\nExecStart=/usr/bin/indexer\n"
    return machine.write("/etc/systemd/system/indexer.service", unit)  # type: ignore[return-value]


def network_driver(machine: Disk) -> Disk:
    """A diskless node: the driver is on a network file system that ld.so.conf names, and no package manager
    knows of it."""
    machine.gpu("20b0").kernel_module(VERSION).user_driver(VERSION, "/nfs/nvidia/current/lib64")
    machine.write("/etc/ld.so.conf", "/nfs/nvidia/current/lib64\n").venv("/nfs/home/u/tf").wheels()
    return machine


def fedora_platlib(machine: Disk) -> Disk:
    """The compiled packages of the system's Python are in lib64."""
    rpm(machine).system_python("3.13", "/usr/local/lib64/python3.13/site-packages")
    return machine.wheels()


def newer_python_beside(machine: Disk) -> Disk:
    """RHEL: python3 is 3.9, and TensorFlow is installed for python3.11."""
    rpm(machine, "Red Hat Enterprise Linux").system_python("3.9", "/usr/lib/python3.9/site-packages").package(
        "rpm", "4.16"
    )
    machine.write("/usr/bin/python3.11", skeleton(needed=("libc.so.6",)))
    machine.site = "/usr/local/lib/python3.11/site-packages"
    return machine.wheels()


def alternatives(machine: Disk) -> Disk:
    """Debian's driver, with links by update-alternatives."""
    machine.gpu().kernel_module(VERSION).user_driver(VERSION, "/usr/lib/x86_64-linux-gnu/nvidia/current")
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        machine.link(f"/etc/alternatives/nvidia--{name}-x86_64-linux-gnu", f"{LIB}/nvidia/current/{name}")
        machine.link(f"{LIB}/{name}", f"/etc/alternatives/nvidia--{name}-x86_64-linux-gnu")
    return machine.venv("/home/u/tf").wheels()


def gvisor(machine: Disk) -> Disk:
    """A gVisor sandbox: there are device nodes and libraries, but the driver has no files in /proc."""
    machine.without("/proc/modules", "/sys").write("/.dockerenv", "").nodes().user_driver(VERSION)
    return machine.venv("/opt/tf").wheels()


def injected(machine: Disk) -> Disk:
    """CDI sets NVIDIA_VISIBLE_DEVICES=void so that the old hook does nothing, but the GPU is available."""
    given(pod(machine)).write("/proc/1/environ", "NVIDIA_VISIBLE_DEVICES=void\0VIRTUAL_ENV=/opt/venv\0")
    return machine


def visible(machine: Disk, value: str, *others: str) -> Disk:
    several_gpus(machine, *((device, "nvidia") for device in others))
    machine.write("/home/u/.bashrc", f"export CUDA_VISIBLE_DEVICES={value}\n")
    return machine


def compute_canada(machine: Disk, *, modules: bool = True) -> Disk:
    """A build from a cluster's own wheelhouse, whose libraries name their folders on a network file
    system."""
    machine.gpu("20b0").driver(VERSION).venv("/home/u/env")
    machine.build("2.15.1", "12.2", "8", as_version="2.15.1+computecanada")
    root = "/cvmfs/soft.computecanada.ca/easybuild/software/2023/x86-64-v3"
    for name in CUDA["12.2"] if modules else ():
        machine.cuda_library(f"{root}/Core/cudacore/12.2.2/lib64", name, "12.2")
    if modules:
        machine.cudnn("8.9.5", f"{root}/CUDA/cuda12.2/cudnn/8.9.5.29/lib64")
    path = f"$ORIGIN:{root}/Core/cudacore/12.2.2/lib64:{root}/CUDA/cuda12.2/cudnn/8.9.5.29/lib64"
    machine.library(f"{machine.site}/tensorflow/libtensorflow_framework.so.2", runpath=path)
    return machine


def nightly(machine: Disk) -> Disk:
    machine.gpu().driver(VERSION).venv("/home/u/tf").build("2.20.0", "12.5.1", "9", WHEEL).cuda_wheels("12.5")
    machine.cudnn_wheel("9.3.0.75")
    info = machine.root / f"{machine.site}/tensorflow-2.20.0.dist-info".lstrip("/")
    text = (
        (info / "METADATA")
        .read_text()
        .replace("Name: tensorflow", "Name: tf-nightly")
        .replace("2.20.0", "2.20.0.dev20250301")
    )
    (info / "METADATA").write_text(text)
    info.rename(info.with_name("tf_nightly-2.20.0.dev20250301.dist-info"))
    return machine


def runtime_pm(machine: Disk) -> Disk:
    """A hybrid laptop on which vgaswitcheroo lets the GPU sleep and wake by itself."""
    several_gpus(machine).write(
        "/sys/kernel/debug/vgaswitcheroo/switch", "0:IGD:+:Pwr:0000:00:02.0\n1:DIS: :DynOff:0000:01:00.0\n"
    )
    machine.write("/sys/bus/pci/devices/0000:01:00.0/power_state", "D3cold\n")
    return machine


def debian_cuda(machine: Disk) -> Disk:
    """The CUDA packages of a Linux distribution, in its library folder."""
    machine.gpu().driver(VERSION).venv("/home/u/tf").build("2.13.1", "11.8", "8")
    for name in CUDA["11.8"]:
        machine.cuda_library(LIB, name, "11.8")
    return machine.cudnn("8.9.2", LIB)  # type: ignore[return-value]


def untidy_path(machine: Disk) -> Disk:
    machine.gpu().driver(VERSION).venv("/home/u/tf").build("2.15.1", "12.2", "8").toolkit("12.2").cudnn(
        "8.9.7", "/usr/local/cuda-12.2/lib64"
    )
    machine.link("/usr/local/cuda", "cuda-12.2")
    text = (
        "export CUDA_HOME=/usr/local/cuda/\nexport"
        " LD_LIBRARY_PATH=::${LD_LIBRARY_PATH}:$CUDA_HOME/lib64/:/gone::\n"
    )
    return machine.write("/home/u/.profile", text)  # type: ignore[return-value]


def stale_environment(machine: Disk) -> Disk:
    """An old environment whose Python was removed, beside the environment in use."""
    several_gpus(machine).link("/home/u/old/bin/python", "/usr/bin/python3.7")
    machine.write("/home/u/old/pyvenv.cfg", "home = /usr/bin\nversion = 3.7.3\n")
    return machine.write("/home/u/old/lib/python3.7/site-packages/six.py", "")  # type: ignore[return-value]


def easybuild(machine: Disk) -> Disk:
    """A module that EasyBuild made, in a folder on MODULEPATH. A job loads the module. It adds packages
    through PYTHONPATH, and libraries through other modules that it loads."""
    machine.gpu("20b0").driver(VERSION)
    software, release = "/apps/software", "2.15.1-foss-2023a-CUDA-12.1.1"
    python = f"{software}/Python/3.11.3"
    machine.write(f"{python}/bin/python3.11", skeleton(needed=("libc.so.6",)))
    machine.link(f"{python}/bin/python3", "python3.11").write(
        f"{python}/lib/python3.11/site-packages/six.py", ""
    )
    machine.site = f"{software}/TensorFlow/{release}/lib/python3.11/site-packages"
    machine.build("2.15.1", "12.1", "8")
    for name in CUDA["12.2"]:
        machine.cuda_library(f"{software}/CUDA/12.1.1/lib64", name, "12.2")
    machine.cudnn("8.9.2", f"{software}/cuDNN/8.9.2/lib64")
    for name, line in {
        "CUDA/12.1.1": f'prepend_path("LD_LIBRARY_PATH", "{software}/CUDA/12.1.1/lib64")',
        "cuDNN/8.9.2": f'prepend_path("LD_LIBRARY_PATH", "{software}/cuDNN/8.9.2/lib64")',
        f"TensorFlow/{release}": 'if not ( isloaded("CUDA/12.1.1") ) then\n    load("CUDA/12.1.1")\nend\n'
        f'load("cuDNN/8.9.2")\nprepend_path("PYTHONPATH", "{machine.site}")',
    }.items():
        machine.write(f"/apps/modules/all/{name}.lua", f"{line}\n")
    machine.write("/etc/profile.d/modules.sh", "export MODULEPATH=/apps/modules/all\n")
    job = f"#SBATCH --gres=gpu:1\nmodule load TensorFlow/{release}\npython3 train.py\n"
    return machine.write("/home/u/train.sbatch", f"#!/bin/bash\n{job}")  # type: ignore[return-value]


def by_hand(machine: Disk, *, prefixes: bool = False) -> Disk:
    """The same module, but no file loads it. prefixes: whether it adds its packages through EasyBuild's own
    environment variable for Python."""
    easybuild(machine).without("/home/u/train.sbatch")
    file = next((machine.root / "apps/modules/all/TensorFlow").iterdir())
    software = machine.site.partition("/lib/")[0]
    text = file.read_text() + 'depends_on("Python/3.11.3")\n'
    if prefixes:
        text = text.replace(f'"PYTHONPATH", "{machine.site}"', f'"EBPYTHONPREFIXES", "{software}"')
    file.write_text(text)
    python = f'prepend_path("PATH", "{software.rpartition("/TensorFlow")[0]}/Python/3.11.3/bin")\n'
    return machine.write("/apps/modules/all/Python/3.11.3.lua", python)  # type: ignore[return-value]


def cray(machine: Disk) -> Disk:
    """NVIDIA's HPC SDK from a module of the vendor, and the user's own cuDNN. A job uses both."""
    rpm(machine, "SLES")
    sdk = "/opt/nvidia/hpc_sdk/Linux_x86_64/23.9"
    for name in CUDA["12.2"]:
        part = (
            "math_libs" if name.startswith(("cublas", "cufft", "curand", "cusolver", "cusparse")) else "cuda"
        )
        machine.cuda_library(f"{sdk}/{part}/12.2/lib64", name, "12.2")
    machine.venv("/lustre/u/tf").build("2.15.1", "12.2", "8").cudnn("8.9.7", "/lustre/u/cudnn/lib")
    folders = "".join(
        f'prepend_path("LD_LIBRARY_PATH", "{sdk}/{part}/12.2/lib64")\n' for part in ("cuda", "math_libs")
    )
    machine.write("/opt/cray/pe/lmod/modulefiles/core/cudatoolkit/23.9_12.2.lua", folders)
    machine.write("/etc/profile.d/modules.sh", "export MODULEPATH=/opt/cray/pe/lmod/modulefiles/core\n")
    job = "export LD_LIBRARY_PATH=/lustre/u/cudnn/lib:$LD_LIBRARY_PATH\n/lustre/u/tf/bin/python t.py\n"
    text = f"#!/bin/bash\n#SBATCH -G 1\nmodule load cudatoolkit/23.9_12.2\n{job}"
    return machine.write("/home/u/job.slurm", text)  # type: ignore[return-value]


def newest_of_several(machine: Disk) -> Disk:
    """Ubuntu with a third-party Python beside its own. TensorFlow is installed for the former, in the user's
    folder."""
    machine.gpu().driver(VERSION).system_python("3.10", "/usr/lib/python3/dist-packages")
    machine.write("/usr/lib/python3/dist-packages/six.py", "")
    machine.write("/usr/bin/python3.12", skeleton(needed=("libc.so.6",)))
    machine.site = "/home/u/.local/lib/python3.12/site-packages"
    return machine.wheels()


def power(machine: Disk) -> Disk:
    """IBM POWER9 with the conda packages of Open-CE."""
    machine.arch = 21
    machine.without(LIB).library(
        "/usr/lib64/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.28")
    )
    machine.link("/lib64", "usr/lib64").write("/bin/sh", skeleton(machine=21))
    machine.write("/proc/cpuinfo", "cpu\t\t: POWER9, altivec supported\n")
    del machine.record["processor"]
    machine.pci("0004:04:00.0", "10de", "1db5", "030200", "nvidia").kernel_module("450.80.02")
    machine.user_driver("450.80.02", "/usr/lib64").conda("3.8", "/opt/opence/envs/tf")
    machine.write(f"{machine.prefix}/bin/python", skeleton(machine=21, rpath="$ORIGIN/../lib"))
    for name in CUDA["11.2"]:
        machine.cuda_library(f"{machine.prefix}/lib", name, "11.2")
    machine.cudnn("8.1.1", f"{machine.prefix}/lib").build("2.7.0", "11.2", "8")
    machine.library(f"{machine.site}/tensorflow/libtensorflow_framework.so.2", rpath="$ORIGIN/../../../..")
    return machine


def in_folder(machine: Disk, prefix: str) -> Disk:
    machine.gpu().driver(VERSION)
    return machine.venv(prefix).wheels()


def python_elsewhere(machine: Disk) -> Disk:
    """An environment whose interpreter is on a network file system that was not copied."""
    machine.gpu().driver(VERSION).venv("/home/u/tf").wheels()
    return machine.without("/usr/bin/python3.11")


HEALTHY: dict[str, Make] = {
    "the beginning of a UUID": lambda m: visible(m, "GPU-9f0").write(
        "/proc/driver/nvidia/gpus/0000:01:00.0/information", "GPU UUID: \t GPU-9F00-77\n"
    ),
    "a Python that lies elsewhere": python_elsewhere,
    "the newest of several Pythons": newest_of_several,
    "POWER9": power,
    "an environment of Hatch's": (
        lambda m: in_folder(m, "/home/u/.local/share/hatch/env/virtual/proj/a1b2c3/proj")
    ),
    "a Python of mise's": lambda m: in_folder(m, "/home/u/.local/share/mise/installs/python/3.11.9"),
    "EasyBuild's TensorFlow in a job": easybuild,
    "EasyBuild's TensorFlow that people load by hand": by_hand,
    "EasyBuild's TensorFlow beside the system's Python": (
        lambda m: by_hand(m).system_python("3.9", "/usr/lib64/python3.9/site-packages")
    ),
    "EasyBuild's TensorFlow by its own variable": lambda m: by_hand(m, prefixes=True),
    "a Cray": cray,
    "Fedora's lib64 for packages": fedora_platlib,
    "TensorFlow for the newer of two Pythons": newer_python_beside,
    "Debian's alternatives": alternatives,
    "gVisor": gvisor,
    "a pod with CDI": injected,
    "the last of four GPUs": lambda m: visible(m, "3", "2684", "2684", "2684"),
    "one GPU, and two named": lambda m: visible(m, "0,1"),
    "Compute Canada's wheel": compute_canada,
    "a nightly build": nightly,
    "a GPU that sleeps and wakes by itself": runtime_pm,
    "Debian's CUDA": debian_cuda,
    "an untidy path": untidy_path,
    "an old environment left over": stale_environment,
    "Silverblue": silverblue,
    "Clear Linux": clear_linux,
    "Void": lambda m: usr_lib(m, "void").venv("/home/u/tf").wheels(),
    "Arch": lambda m: usr_lib(m, "Arch Linux").venv("/home/u/tf").wheels(),
    "Gentoo": gentoo,
    "Rocky": lambda m: rpm(m, "Rocky Linux").venv("/opt/tf").wheels(),
    "a pod of GKE": gke,
    "a pod on Bottlerocket": bottlerocket,
    "Databricks": databricks,
    "SageMaker": sagemaker,
    "Colab": colab,
    "Kaggle": kaggle,
    "Lambda Stack": lambda_stack,
    "RunPod": runpod,
    "EESSI": eessi,
    "an older driver's library left over": two_libcudas,
    "32-bit libraries beside the driver's": multiarch,
    "a split /usr": split_usr,
    "a second GPU for a virtual machine": lambda m: several_gpus(m, ("2684", "vfio-pci")),
    "an old card for the screen": lambda m: several_gpus(m, ("1340", "nvidia")),
    "a second GPU that the driver has dropped": lambda m: several_gpus(m, ("1287", None)),
    "several Pythons": several_pythons,
    "conda's base and an environment": conda_environment,
    "NVIDIA's image on a driver that is new enough": ngc,
    "a Flatpak with the driver's extension": flatpak,
    "a distrobox with --nvidia": distrobox,
    "an Arm server with NVIDIA's build": lambda m: arm_server(m, True),
    "a virtual GPU": vgpu,
    "a GPU that is no display": controller,
    "open kernel modules": (
        lambda m: several_gpus(m).write(
            "/proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {VERSION}  Release Build  (dvs)\n",
        )
    ),
    "a service that is kept from the GPU": others_service,
    "a driver on a network file system": network_driver,
    "a GPU by its UUID": (
        lambda m: several_gpus(m).write(
            "/etc/environment", "CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6\n"
        )
    ),
}


@pytest.mark.parametrize("name", sampled(HEALTHY, 10))
def test_a_healthy_machine_of_an_unusual_kind_is_not_called_broken(name: str, tmp_path: Path) -> None:
    diagnosis = HEALTHY[name](Disk(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == "healthy", (codes(diagnosis), diagnosis.verdict.explanation)


def conda_of_another_cuda(machine: Disk) -> Disk:
    machine.gpu().driver(VERSION)
    machine.conda("3.11", "/home/u/miniforge3/envs/tf").build(
        "2.15.1",
        "12.2",
        "8",
    )
    for name in CUDA["11.8"]:
        machine.cuda_library(f"{machine.prefix}/lib", name, "11.8")
    machine.cudnn("8.9.4", f"{machine.prefix}/lib")
    machine.library(f"{machine.site}/tensorflow/libtensorflow_framework.so.2", rpath="$ORIGIN/../../../..")
    return machine


def without_wheel(machine: Disk, name: str) -> Disk:
    several_gpus(machine)
    shutil.rmtree(machine.root / f"{machine.site}/nvidia/{name}".lstrip("/"))
    return machine


def narrow_driver(machine: Disk) -> Disk:
    """Only the 32-bit half of the driver's libraries was installed."""
    multiarch(machine)
    for path in (machine.root / LIB.lstrip("/")).glob("libcuda*"):
        path.unlink()
    return machine.in_loader_cache("/usr/lib/i386-linux-gnu", LIB)  # type: ignore[return-value]


def of_root_alone(machine: Disk) -> Disk:
    several_gpus(machine).write("/etc/passwd", "u:x:4242:4242::/home/u:/bin/bash\n").write(
        "/etc/group", "u:x:4242:\nroot:x:0:\n"
    )
    for path in (machine.root / "dev").glob("nvidia*"):
        path.chmod(0o600)
    return machine


def stubs_first(machine: Disk) -> Disk:
    several_gpus(machine).library("/usr/local/cuda/lib64/stubs/libcuda.so", soname="libcuda.so.1")
    machine.link("/usr/local/cuda/lib64/stubs/libcuda.so.1", "libcuda.so")
    machine.write("/home/u/.bashrc", "export LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs\n")
    return machine


def another_release_s_wheels(machine: Disk) -> Disk:
    machine.gpu().driver(VERSION).venv("/home/u/tf").build("2.17.1", "12.3.2", "8", WHEEL).cuda_wheels("11.8")
    return machine


def foreign_driver(machine: Disk) -> Disk:
    """A library from another driver comes first on the library path that a login sets."""
    several_gpus(machine).user_driver("470.82.01", "/opt/old-driver/lib")
    machine.write("/home/u/.bashrc", "export LD_LIBRARY_PATH=/opt/old-driver/lib\n")
    return machine


def stale_cache(machine: Disk) -> Disk:
    """The loader's cache names a toolkit that was removed."""
    untidy_path(machine).without("/home/u/.profile").in_loader_cache("/usr/local/cuda-12.2/lib64", LIB)
    return machine.without("/usr/local/cuda-12.2")


def libraries_without_nodes(machine: Disk) -> Disk:
    return pod(machine).user_driver(VERSION)  # type: ignore[return-value]


def unbounded(machine: Disk, release: str, package: str, version: str) -> Disk:
    """A TensorFlow release whose metadata sets no upper bounds, with a package that is too new for it."""
    machine.gpu().driver(VERSION).venv("/home/u/tf").build(release, "11.2", "8").toolkit("11.2")
    machine.cudnn("8.1.1", LIB).package(package, version)
    return machine.in_loader_cache("/usr/local/cuda-11.2/lib64", LIB)  # type: ignore[return-value]


def undriven(machine: Disk, device: str = "1db6", driver: str = VERSION) -> Disk:
    """A GPU that no driver controls, although the kernel module is loaded: it was unbound, or the module does
    not support it."""
    machine.gpu(device, None).pci("0000:02:00.0", "144d", "a808", "010802", "nvme").kernel_module(driver)
    (machine.root / "proc/driver/nvidia/gpus").mkdir()
    machine.user_driver(driver).write("/usr/bin/nvidia-modprobe", "")
    return machine.venv("/home/u/tf").wheels()  # type: ignore[attr-defined]


BROKEN: dict[str, tuple[str, Make]] = {
    "a GPU that is bound to no driver": ("driver-not-loaded", undriven),
    "a Blackwell GPU under the closed kernel modules": (
        "driver-not-loaded",
        lambda m: undriven(m, "2b85", "575.57.08"),
    ),
    "a Blackwell GPU under a driver that is older": ("driver-too-old", lambda m: undriven(m, "2b85")),
    "a protobuf that came later": (
        "python-dependency-conflict",
        lambda m: unbounded(m, "2.8.0", "protobuf", "4.21.1"),
    ),
    "a NumPy that came later": (
        "python-dependency-conflict",
        lambda m: unbounded(m, "2.8.0", "numpy", "2.0.1"),
    ),
    "a Keras that came later": (
        "python-dependency-conflict",
        lambda m: unbounded(m, "2.8.0", "keras", "2.15.0"),
    ),
    "wheels for another release of CUDA": ("cuda-version-mismatch|cuda-missing", another_release_s_wheels),
    "the library of another driver on the path": ("driver-library-mismatch", foreign_driver),
    "a cache that names what is gone": ("cuda-missing|library-broken", stale_cache),
    "the driver's libraries without nodes": ("container-no-gpu|device-permission", libraries_without_nodes),
    "a fifth GPU of four": ("gpu-hidden", lambda m: visible(m, "4", "2684", "2684", "2684")),
    "Compute Canada's wheel without its file system": (
        "cuda-missing|library-path",
        lambda m: compute_canada(m, modules=False),
    ),
    "a GPU with no driver beside one for a virtual machine": (
        "driver-missing|driver-not-loaded",
        lambda m: (
            m.gpu(driver=None).pci("0000:02:00.0", "10de", "2684", "030000", "vfio-pci")
            and m.venv("/home/u/tf").wheels()
        ),
    ),
    "Colab without a GPU": ("gpu-absent", lambda m: colab(m, gpu=False)),
    "a pod of GKE whose path lacks the driver": (
        "library-path|driver-libcuda-missing",
        lambda m: gke(m, named=False),
    ),
    "a pod of GKE that asked for no GPU": ("container-no-gpu", pod),
    "Void with nouveau": (
        "driver-not-loaded|driver-missing",
        lambda m: (
            usr_lib(m, "void")
            .without(
                "/proc/driver",
                "/dev/nvidia0",
                "/dev/nvidiactl",
                "/dev/nvidia-uvm",
                "/sys/bus/pci/devices/0000:01:00.0/driver",
            )
            .link("/sys/bus/pci/devices/0000:01:00.0/driver", "../../../bus/pci/drivers/nouveau")
            .write("/proc/modules", "nouveau 2506752 1 - Live 0x0\n")
            .venv("/home/u/tf")
            .wheels()
        ),
    ),
    "the library of the driver before": ("driver-library-mismatch", lambda m: two_libcudas(m, "535.161.08")),
    "Gentoo without cuDNN": ("cudnn-missing", lambda m: gentoo(m, cudnn=False)),
    "conda with the CUDA of another release": ("cuda-version-mismatch", conda_of_another_cuda),
    "wheels, and one is gone": ("cuda-missing|library-broken", lambda m: without_wheel(m, "cublas")),
    "the 32-bit half of a driver": ("driver-libcuda-missing|library-broken", narrow_driver),
    "nodes of root alone": ("device-permission", of_root_alone),
    "the UUID of a card that was replaced": (
        "gpu-hidden",
        lambda m: visible(m, "GPU-1a2b").write(
            "/proc/driver/nvidia/gpus/0000:01:00.0/information", "GPU UUID: \t GPU-9F00-77\n"
        ),
    ),
    "a container without any part of a driver that is older than needed": (
        "container-no-gpu",
        lambda m: containerd(m).write(
            "/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  450.80.02\n"
        ),
    ),
    "nspawn with the driver's programs and all nodes but nvidia-uvm": (
        "device-permission",
        lambda m: given(nspawn(m)).write("/usr/bin/nvidia-modprobe", "") and m.without("/dev/nvidia-uvm"),
    ),
    "a stub before the driver's library": ("library-path", stubs_first),
    "hidden in a login shell": (
        "gpu-hidden",
        lambda m: several_gpus(m).write("/home/u/.bashrc", "export CUDA_VISIBLE_DEVICES=-1\n"),
    ),
    "an older compat library in NVIDIA's image": ("cuda-compat-package", lambda m: ngc(m, "535.54.03")),
    "a Flatpak without the driver's extension": (
        "container-no-gpu|driver-libcuda-missing",
        lambda m: flatpak(m, extension=False),
    ),
    "a distrobox without --nvidia": (
        "container-no-gpu|driver-libcuda-missing",
        lambda m: distrobox(m, nvidia=False),
    ),
    "two GPUs for virtual machines": (
        "gpu-reserved",
        lambda m: (
            m.gpu(driver="vfio-pci")
            .pci("0000:02:00.0", "10de", "2684", "030000", "vfio-pci")
            .user_driver(VERSION)
            and m.venv("/home/u/tf").wheels()
        ),
    ),
    "an Arm server with PyPI's wheel": ("tf-cpu-only", lambda m: arm_server(m, False)),
    "an old GPU alone": (
        "gpu-arch-too-old",
        lambda m: m.gpu("1287").driver("470.256.02") and m.venv("/opt/tf").wheels(),
    ),
}


@pytest.mark.parametrize("name", sampled(BROKEN, 8))
def test_a_broken_machine_of_an_unusual_kind_is_not_called_healthy(name: str, tmp_path: Path) -> None:
    code, make = BROKEN[name]
    diagnosis = make(Disk(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code in code.split("|"), (codes(diagnosis), diagnosis.verdict.explanation)


def test_a_hidden_gpu_is_found_although_a_library_is_missing_too(tmp_path: Path) -> None:
    """Whoever mends only the library meets the other fault next."""
    machine = visible(Disk(tmp_path / "root"), "1")
    (tmp_path / "root" / machine.site.lstrip("/") / "nvidia/cufft/lib/libcufft.so.11").unlink()
    found = codes(diagnose(machine.facts(), Tables.bundled()))
    assert "gpu-hidden" in found, found
    assert {"cuda-missing", "library-path"} & set(found), found


def test_a_device_node_from_an_earlier_boot_leads_to_no_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root may make device nodes, so the test supplies the status of the node."""
    machine = given(nspawn(Disk(tmp_path / "machine")))
    machine.write("/proc/devices", "Character devices:\n195 nvidia\n507 nvidia-uvm\n")
    plain = Machine.status

    def status(self: Machine, path: str, *, follow: bool = True) -> object:
        node = SimpleNamespace(st_mode=stat.S_IFCHR | 0o666, st_rdev=os.makedev(major, 0), st_uid=0, st_gid=0)
        return node if path == "/dev/nvidia-uvm" else plain(self, path, follow=follow)

    monkeypatch.setattr(Machine, "status", status)
    for major, code in ((507, "healthy"), (511, "device-permission")):
        verdict = machine.diagnosis().verdict
        assert (verdict.code, "before the last restart" in verdict.explanation) == (code, major == 511)


def test_an_interpreter_that_is_a_link_out_of_the_copy_can_be_requested(tmp_path: Path) -> None:
    machine = python_elsewhere(Disk(tmp_path / "copy"))
    assert diagnose(machine.facts("/home/u/tf/bin/python"), Tables.bundled()).verdict.code == "healthy"
    with pytest.raises(NoPythonError):
        machine.facts("/home/u/gone/bin/python")
