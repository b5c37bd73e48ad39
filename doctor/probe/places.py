"""Finds CUDA libraries on the disk in all usual places: wheels, conda, toolkits, system folders,
LD_LIBRARY_PATH.

Each place is one folder, which is listed without its subfolders, so the search takes milliseconds.
"""

from __future__ import annotations

import posixpath

from doctor import lazy
from doctor.probe import elf
from doctor.probe.inside import reason
from doctor.probe.interpreter import Environment
from doctor.probe.loader import Loader
from doctor.probe.machine import Machine
from doctor.values import dataclass

LIBRARY = lazy.compile(
    r"lib(?:cuda|cudart|cudnn|cublas|cublasLt|cufft|curand|cusolver|cusparse|cupti|nccl|nvinfer|nvrtc"
    r"|nvJitLink)"
    r"\.so(?:\.\d+)*"
)
FILES_LIMIT = 400
SYSTEM = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/lib/wsl/lib",
    "/usr/lib/cuda/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
)
TOOLKITS = (
    "/usr/local/cuda*",
    "/opt/cuda*",
    "/opt/nvidia/cuda*",
    "/usr/lib/cuda*",
    "/apps/cuda/*",
    "/opt/apps/cuda/*",
    "/home/*/cuda*",
    "/home/*/.local/cuda*",
    "/root/cuda*",
    "/data/cuda*",
    "/usr/local/lib/cuda*",
)
IN_TOOLKIT = (
    "lib64",
    "lib",
    "lib64/stubs",
    "compat",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "targets/aarch64-linux/lib",
    "extras/CUPTI/lib64",
)
HOMES = (
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_DIR",
    "CUDNN_PATH",
    "CUDNN_HOME",
    "EBROOTCUDA",
    "EBROOTCUDNN",
)
"""Environment variables that people and module systems set to a toolkit's folder."""


@dataclass(frozen=True, slots=True)
class Found:
    """A library file: the name by which the loader would find it, its path, the real file, its version, and
    the reason why the loader could not use it ("" if it could)."""

    name: str
    path: str
    real: str
    version: str | None = None
    problem: str = ""


def toolkits(machine: Machine) -> list[str]:
    """The folders of CUDA toolkits, each real folder once."""
    named = [machine.env[name] for name in HOMES if machine.env.get(name, "").startswith("/")]
    usual = [path for pattern in TOOLKITS for path in machine.glob(pattern)]
    return [machine.resolve(path) for path in machine.distinct_folders((*named, *usual))]


def folders(machine: Machine, environment: Environment, loader: Loader) -> list[str]:
    """The folders to list, the likeliest first; each real folder appears once."""
    wheels = [
        f"{base}/nvidia/{name}/lib"
        for base in environment.path
        for name in machine.names_seen(f"{base}/nvidia")
    ]
    tensorrt = [f"{base}/{name}" for base in environment.path for name in ("tensorrt_libs", "tensorrt")]
    own = [folder for folder, _ in loader.folders()]
    prefix = [f"{environment.prefix}/lib", f"{environment.prefix}/lib64"] if environment.prefix else []
    homes = [f"{home}/{part}" for home in toolkits(machine) for part in IN_TOOLKIT]
    cached = [
        posixpath.dirname(entry.path)
        for name, entries in loader.cache.items()
        if LIBRARY.fullmatch(name)
        for entry in entries
    ]
    return machine.distinct_folders((*wheels, *tensorrt, *own, *prefix, *cached, *homes, *SYSTEM))


def on_disk(machine: Machine, environment: Environment, loader: Loader) -> list[Found]:
    """CUDA libraries, one entry for each real file, under its SONAME if a file with that name exists."""
    found: dict[str, Found] = {}
    for folder in folders(machine, environment, loader):
        seen = machine.names_seen(folder)
        names = [name for name in seen if name.startswith("lib") and LIBRARY.fullmatch(name)]
        for name in sorted(names, key=len):
            path = f"{folder}/{name}"
            real = machine.resolve(path)
            if not machine.exists(real):
                continue  # a dangling link
            if real in found and not found[real].path.endswith(".so"):
                continue
            soname, problem = _soname(machine, real, loader)
            shown = soname if soname in names else name
            found[real] = Found(shown, f"{folder}/{shown}", real, _version(real), problem)
            if len(found) >= FILES_LIMIT:
                return list(found.values())
    return list(found.values())


def _soname(machine: Machine, path: str, loader: Loader) -> tuple[str | None, str]:
    """Return a file's DT_SONAME, and the reason why the loader could not use the file ("" if it could)."""
    try:
        header = elf.of(machine, path)
    except elf.NotElf as problem:
        return None, str(problem)
    except OSError as problem:
        return None, reason(problem)
    fault = loader.foreign(header)
    if not fault and header.missing_bytes:
        fault = f"truncated: {header.missing_bytes} bytes are missing"
    return header.soname, fault


def _version(real: str) -> str | None:
    """The version in a real file's name, if it is longer than in the SONAME: libcudart.so.12.5.82."""
    tail = posixpath.basename(real).partition(".so.")[2]
    return tail if tail.count(".") >= 2 else None
