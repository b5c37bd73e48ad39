"""Makes machines as folders: each method adds the files that a component has on real machines.

The shared objects are skeletons (headers, no code): they contain what a search for libraries reads, and
nothing that could run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from doctor.diagnose import diagnose
from doctor.facts import Facts
from doctor.findings import Diagnosis
from doctor.probe import examine
from doctor.probe.machine import RECORD, Machine
from doctor.tables import Tables
from scripts.machines.skeleton import skeleton

# SONAMEs by CUDA release, from NVIDIA's packages of these releases
CUDA: dict[str, tuple[str, ...]] = {
    "10.0": (
        "cudart.so.10.0",
        "cublas.so.10.0",
        "cufft.so.10.0",
        "curand.so.10.0",
        "cusolver.so.10.0",
        "cusparse.so.10.0",
        "cupti.so.10.0",
    ),
    "10.1": (
        "cudart.so.10.1",
        "cublas.so.10",
        "cufft.so.10",
        "curand.so.10",
        "cusolver.so.10",
        "cusparse.so.10",
        "cupti.so.10.1",
    ),
    "11.2": (
        "cudart.so.11.0",
        "cublas.so.11",
        "cublasLt.so.11",
        "cufft.so.10",
        "curand.so.10",
        "cusolver.so.11",
        "cusparse.so.11",
        "cupti.so.11.2",
    ),
    "11.8": (
        "cudart.so.11.0",
        "cublas.so.11",
        "cublasLt.so.11",
        "cufft.so.10",
        "curand.so.10",
        "cusolver.so.11",
        "cusparse.so.11",
        "cupti.so.11.8",
    ),
    **dict.fromkeys(
        ("12.2", "12.5"),
        (
            "cudart.so.12",
            "cublas.so.12",
            "cublasLt.so.12",
            "cufft.so.11",
            "curand.so.10",
            "cusolver.so.11",
            "cusparse.so.12",
            "cupti.so.12",
            "nvJitLink.so.12",
        ),
    ),
    "13.0": (
        "cudart.so.13",
        "cublas.so.13",
        "cublasLt.so.13",
        "cufft.so.12",
        "curand.so.10",
        "cusolver.so.12",
        "cusparse.so.12",
        "cupti.so.13",
        "nvJitLink.so.13",
    ),
}
NEEDS = {
    "cublas": ("cublasLt",),
    "cusolver": ("cublas", "cusparse", "nvJitLink"),
    "cusparse": ("nvJitLink",),
}
WHEEL_FOLDERS = {
    "cudart": "cuda_runtime",
    "cublas": "cublas",
    "cublasLt": "cublas",
    "cufft": "cufft",
    "curand": "curand",
    "cusolver": "cusolver",
    "cusparse": "cusparse",
    "cupti": "cuda_cupti",
    "nvJitLink": "nvjitlink",
    "cudnn": "cudnn",
}
# What build_info.py of the releases says (CUDA, cuDNN), and the folders in the RUNPATH of their library
BUILDS = {
    "1.15.0": ("10", "7", ()),
    "2.10.0": ("11.2", "8", ()),
    "2.13.1": ("11.8", "8", ()),
    "2.15.1": ("12.2", "8", ("cuda_runtime", "cublas", "cudnn", "cufft", "cusolver", "cusparse")),
    "2.16.1": ("12.3", "8", ("cuda_runtime",)),
    "2.18.1": ("12.5.1", "9", ("cublas", "cudnn", "cufft", "cusolver", "cusparse", "cuda_runtime")),
    "2.21.0": ("12.5.1", "9", ("nccl", "cuda_cupti", "cublas", "cudnn", "cufft", "cusparse", "cuda_runtime")),
}
CUDNN_PARTS = {
    "7": (), "8": ("ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train"),
    "9": ("ops", "cnn", "adv", "graph", "heuristic", "engines_precompiled", "engines_runtime_compiled"),
}  # fmt: skip
MODERN = "fpu sse sse2 ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm avx avx2 bmi1 bmi2 f16c fma abm movbe"


def open_to_others(folder: Path) -> None:
    """Let every user read a test's folder and enter the folders above it that belong to this test run."""
    for place in (folder, *folder.parents):
        if place.stat().st_uid == os.geteuid() and "pytest-of-" in str(place):
            place.chmod(place.stat().st_mode | 0o055)


class Folder:
    """A Linux machine in a folder: x86-64, Ubuntu 22.04, without a GPU or Python until these are added."""

    def __init__(self, root: Path, *, glibc: str = "2.35") -> None:
        self.root = root
        self.record: dict[str, object] = {
            "name": root.name,
            "env": {},
            "system": "linux",
            "processor": "x86_64",
        }
        self.write("/etc/os-release", 'NAME="Ubuntu"\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\n')
        self.write("/proc/sys/kernel/osrelease", "5.15.0-105-generic\n")
        self.write("/proc/cpuinfo", f"processor\t: 0\nflags\t\t: {MODERN}\n")
        self.write("/proc/modules", "ext4 983040 1 - Live 0x0\n")
        self.write("/dev/null", "")
        (root / "sys/bus/pci/devices").mkdir(parents=True)
        self.pci("0000:00:00.0", "8086", "1237", "060000")
        versions = tuple(f"GLIBC_2.{n}" for n in range(2, int(glibc.split(".")[1]) + 1))
        self.library("/usr/lib/x86_64-linux-gnu/libc.so.6", soname="libc.so.6", gives=versions)

    # --- pieces

    def write(self, path: str, content: str | bytes) -> Folder:
        """Write a file."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return self

    def link(self, path: str, target: str) -> Folder:
        """Make a symbolic link."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
        return self

    def library(
        self, path: str, *, soname: str | None = None, needed: tuple[str, ...] = (), **more: object
    ) -> Folder:
        """Write a skeleton of a shared object."""
        name = soname or Path(path).name
        content = skeleton(soname=name, needed=(*needed, "libc.so.6"), **more)  # type: ignore[arg-type]
        return self.write(path, content)

    def env(self, **variables: str) -> Folder:
        """Set environment variables."""
        self.record["env"] = {**self.record["env"], **variables}  # type: ignore[dict-item]
        return self

    def pci(self, bus: str, vendor: str, device: str, pci_class: str, driver: str | None = None) -> Folder:
        """Add a PCI device."""
        folder = f"/sys/bus/pci/devices/{bus}"
        for name, value in (("vendor", vendor), ("device", device), ("class", pci_class)):
            self.write(f"{folder}/{name}", f"0x{value}\n")
        if driver:
            self.link(f"{folder}/driver", f"../../../bus/pci/drivers/{driver}")
        return self

    # --- hardware and driver

    def gpu(self, device: str = "2484", driver: str | None = "nvidia") -> Folder:
        """Add an NVIDIA GPU to the bus. 2484 is a GeForce RTX 3070."""
        return self.pci("0000:01:00.0", "10de", device, "030000", driver)

    def kernel_module(self, version: str) -> Folder:
        """Add a loaded kernel module with its /proc files and device nodes."""
        modules = (self.root / "proc/modules").read_text()
        self.write("/proc/modules", modules + "nvidia_uvm 1 0 - Live 0x0\nnvidia 1 2 nvidia_uvm, Live 0x0\n")
        line = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Thu Feb 22 01:44:30 UTC 2024\n"
        self.write("/proc/driver/nvidia/version", line + "GCC version:  gcc version 12.3.0\n")
        return self.nodes()

    def nodes(self) -> Folder:
        """Add device nodes (plain files here)."""
        for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
            self.write(f"/dev/{name}", "")
        return self

    def user_driver(self, version: str, folder: str = "/usr/lib/x86_64-linux-gnu") -> Folder:
        """Add the driver's user-space libraries."""
        for name in ("libcuda.so", "libnvidia-ml.so"):
            self.library(f"{folder}/{name}.{version}", soname=f"{name}.1")
            self.link(f"{folder}/{name}.1", f"{name}.{version}")
        return self

    def driver(self, version: str = "550.54.14") -> Folder:
        """Add a working driver."""
        return self.kernel_module(version).user_driver(version)

    def answers(
        self,
        *,
        cuda: str = "12.4",
        capability: str = "8.6",
        name: str = "NVIDIA GeForce RTX 3070",
        cuinit: str = "",
        driver: str = "",
        used_mib: Sequence[int] = (300,),
        named: bool = True,
    ) -> Folder:
        """Add the recorded answers of NVML and libcuda. used_mib: the memory in use on each GPU, which has 8
        GiB. If it is more than a display needs, a process uses it; NVML lists the process if `named`."""
        major, minor = (int(n) for n in capability.split("."))
        number = int(cuda.split(".")[0]) * 1000 + int(cuda.split(".")[1]) * 10
        nvml_devices, devices = [], []
        for index, used in enumerate(used_mib):
            bus = f"0000:0{index + 1}:00.0"
            devices.append(
                {
                    "index": index,
                    "name": name,
                    "bus_id": bus,
                    "memory": 8 << 30,
                    "major": major,
                    "minor": minor,
                    "multiprocessors": 46,
                }
            )
            nvml_devices.append(
                {
                    "index": index,
                    "name": name,
                    "uuid": f"GPU-00000000-0000-0000-0000-00000000000{index + 1}",
                    "bus_id": f"0000{bus}",
                    "memory": [8 << 30, used << 20, (8 << 30) - (used << 20)],
                    "capability": capability,
                    "compute_mode": 0,
                    "processes": [[4000 + index, (used - 300) << 20, "python"]]
                    if named and used > 900
                    else [],
                }
            )
        libcuda: dict[str, object] = {"cuda": number, "devices": devices, "files": []}
        if cuinit:
            libcuda = {"cuda": number, "devices": [], "files": [], "failed": "cuInit", "error": cuinit}
        nvml = {"files": [], "driver": driver or self.version, "devices": nvml_devices}
        return self.answered({"nvml": nvml, "cuda": libcuda})

    def answered(self, parts: Mapping[str, object]) -> Folder:
        """Add the recorded output of the process that queried NVML and libcuda."""
        out = "\n".join(json.dumps({"part": part, "answer": answer}) for part, answer in parts.items())
        self.record["answers"] = {"driver": {"status": 0, "out": out}}
        return self

    @property
    def version(self) -> str:
        """The version of the kernel module."""
        text = (self.root / "proc/driver/nvidia/version").read_text()
        return text.split("Kernel Module  ")[1].split()[0]

    def working_gpu(self, version: str = "550.54.14", **more: str) -> Folder:
        """Add a GPU, its driver, and their answers."""
        return self.gpu().driver(version).answers(**more)  # type: ignore[arg-type]

    # --- Python and TensorFlow

    def python(self, version: str = "3.11", prefix: str = "/opt/venv") -> Folder:
        """Add a virtual environment that is in use."""
        self.prefix, self.site = prefix, f"{prefix}/lib/python{version}/site-packages"
        self.write(
            f"{prefix}/pyvenv.cfg",
            f"home = /usr/bin\nversion = {version}.9\ninclude-system-site-packages = false\n",
        )
        self.write(f"{prefix}/bin/python", skeleton(needed=("libc.so.6",)))
        (self.root / self.site.lstrip("/")).mkdir(parents=True)
        return self.env(VIRTUAL_ENV=prefix)

    def conda(self, version: str = "3.10", prefix: str = "/opt/conda") -> Folder:
        """Add a conda environment that is in use. Its python has an RPATH to the lib folder of the
        environment."""
        self.prefix, self.site = prefix, f"{prefix}/lib/python{version}/site-packages"
        self.write(f"{prefix}/conda-meta/python-{version}.12-hd12c33a_0_cpython.json", "{}")
        self.write(f"{prefix}/bin/python", skeleton(needed=("libc.so.6",), rpath="$ORIGIN/../lib"))
        (self.root / self.site.lstrip("/")).mkdir(parents=True)
        return self.env(CONDA_PREFIX=prefix)

    def package(self, name: str, version: str, metadata: str = "", record: str = "") -> Folder:
        """Add the dist-info folder of a Python package."""
        info = f"{self.site}/{name.replace('-', '_')}-{version}.dist-info"
        self.write(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}\n"
        )
        self.write(f"{info}/INSTALLER", "pip\n")
        return self.write(f"{info}/RECORD", record)

    def tensorflow(
        self,
        release: str,
        package: str = "tensorflow",
        *,
        gpu: bool = True,
        glibc: str = "2.17",
        conda: bool = False,
        **more: str,
    ) -> Folder:
        """Add TensorFlow with the files that its wheel installs. A build from conda has an RPATH to the
        environment's lib folder instead."""
        cuda, cudnn, folders = BUILDS[release]
        core = f"{self.site}/tensorflow_core" if release.startswith("1.15") else f"{self.site}/tensorflow"
        self.write(
            f"{self.site}/tensorflow/__init__.py",
            "raise RuntimeError('the doctor never imports TensorFlow')\n",
        )
        self.write(f"{core}/python/__init__.py", "")
        if release.startswith("1."):
            info = f"is_cuda_build = {gpu}\n" + (
                f"cuda_version_number = '{cuda}'\ncudnn_version_number = '{cudnn}'\n" if gpu else ""
            )
        else:
            pairs = [
                ("is_cuda_build", gpu),
                *([("cuda_version", cuda), ("cudnn_version", cudnn)] if gpu else []),
            ]
            info = f"import collections\n\nbuild_info = collections.OrderedDict({pairs!r})\n"
        self.write(f"{core}/python/platform/build_info.py", info)
        major = release.split(".")[0]
        runpath = ":".join(["$ORIGIN/", *(f"$ORIGIN/../nvidia/{folder}/lib" for folder in folders)])
        where = {"rpath": "$ORIGIN/../../../.."} if conda else {"runpath": runpath}
        self.library(
            f"{core}/libtensorflow_framework.so.{major}", **where, wants=(("libc.so.6", f"GLIBC_{glibc}"),)
        )
        import base64
        import hashlib

        digest = base64.urlsafe_b64encode(hashlib.sha256(info.encode()).digest()).rstrip(b"=").decode()
        line = f"{Path(core).name}/python/platform/build_info.py,sha256={digest},{len(info)}\n"
        return self.package(package, release, more.get("metadata", ""), line)

    # --- CUDA and cuDNN

    def cuda_wheels(self, release: str = "12.5", *, without: tuple[str, ...] = ()) -> Folder:
        """Add NVIDIA's wheels for one CUDA release."""
        major = release.split(".")[0]
        for name in CUDA[release]:
            stem = name.partition(".so")[0]
            if stem not in without:
                self.cuda_library(f"{self.site}/nvidia/{WHEEL_FOLDERS[stem]}/lib", name, release, wheel=True)
                folder = WHEEL_FOLDERS[stem].replace("_", "-")
                self.package(
                    f"nvidia-{folder}-cu{major}",
                    f"{release}.82" if folder == "cuda-runtime" else f"{release}.3",
                )
        return self

    def cuda_library(self, folder: str, name: str, release: str, *, wheel: bool = False) -> Folder:
        """Add one CUDA library, with the libraries that it needs."""
        others = {n.partition(".so")[0]: f"lib{n}" for n in CUDA[release]}
        stem = name.partition(".so")[0]
        needed = tuple(others[n] for n in NEEDS.get(stem, ()) if n in others)
        dirs = dict.fromkeys(f"$ORIGIN/../../{WHEEL_FOLDERS[n]}/lib" for n in NEEDS.get(stem, ()))
        runpath = ":".join(["$ORIGIN", *dirs]) if wheel else "$ORIGIN"
        return self.library(f"{folder}/lib{name}", needed=needed, runpath=runpath)

    def cudnn_wheel(self, version: str) -> Folder:
        """Add NVIDIA's cuDNN wheel for CUDA 12."""
        self.package("nvidia-cudnn-cu12", version)
        return self.cudnn(version, f"{self.site}/nvidia/cudnn/lib", plain=True)

    def cudnn(self, version: str, folder: str, *, plain: bool = False) -> Folder:
        """Add cuDNN with its parts."""
        major = version.split(".")[0]
        for part in ("", *(f"_{name}" for name in CUDNN_PARTS[major])):
            real = f"libcudnn{part}.so.{major if plain else version}"
            self.library(f"{folder}/{real}", soname=f"libcudnn{part}.so.{major}", runpath="$ORIGIN")
            if not plain:
                self.link(f"{folder}/libcudnn{part}.so.{major}", real)
        return self

    def toolkit(self, release: str, home: str | None = None) -> Folder:
        """Add a CUDA toolkit with the same layout as NVIDIA's packages."""
        home = home or f"/usr/local/cuda-{release}"
        for name in CUDA[release]:
            self.cuda_library(f"{home}/lib64", name, release)
        if release.startswith("10."):
            return self.write(f"{home}/version.txt", f"CUDA Version {release}.130\n")
        return self.write(
            f"{home}/version.json", json.dumps({"cuda": {"name": "CUDA SDK", "version": f"{release}.0"}})
        )

    def in_loader_cache(self, *folders: str) -> Folder:
        """Run the real ldconfig on the folder, with these folders in ld.so.conf."""
        self.write("/etc/ld.so.conf", "\n".join(folders) + "\n")
        ldconfig = shutil.which("ldconfig", path=f"{os.environ['PATH']}:/sbin:/usr/sbin")
        assert ldconfig is not None
        subprocess.run([ldconfig, "-r", self.root, "-X"], check=True, timeout=60, capture_output=True)
        return self

    # --- what comes of it

    def machine(self) -> Machine:
        """Return the machine as `--root` would read it."""
        self.write(f"/{RECORD}", json.dumps(self.record))
        return Machine.at(self.root)

    def facts(self, python: str | None = None) -> Facts:
        """Return the facts that the probes find."""
        return examine(self.machine(), python)

    def diagnosis(self) -> Diagnosis:
        """Return the diagnosis from the facts that the probes find."""
        return diagnose(self.facts(), Tables.bundled())
