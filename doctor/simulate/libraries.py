"""Finds the CUDA libraries that an environment's TensorFlow loads. The simulated machine provides exactly
these."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from doctor.backports import removeprefix
from doctor.facts import normalised
from doctor.folders import expanded
from doctor.simulate.compilation import SIMULATED, CallError, stem_of
from doctor.simulate.machine import Libraries
from doctor.tables import Tables, TensorFlowRelease, dotted
from doctor.tables.versions import minor
from doctor.values import dataclass

NEWEST = ("12.5", "9")  # used if no TensorFlow is found: the CUDA and cuDNN of 2.18 to 2.21
# The last release of each cuDNN major version. Every TensorFlow for that major version accepts it, because a
# build requires the cuDNN minor version that it was compiled with, or a later one.
_CUDNN_RELEASES = {"7": "7.6.5", "8": "8.9.7", "9": "9.10.2"}
_DRIVER = frozenset({"libcuda", "libnvidia-ml"})  # the machine has them for every TensorFlow
# The number in a library's file name, where it differs from the CUDA major version (CUDA Toolkit release
# notes, component versions).
_NUMBERS = {
    "11": {"libcudart": "11.0", "libcufft": "10", "libcurand": "10"},
    "12": {"libcufft": "11", "libcurand": "10", "libcusolver": "11"},
    "13": {"libcufft": "12", "libcurand": "10", "libcusolver": "12"},
}


@dataclass(frozen=True)
class TensorFlowBuild:
    """A TensorFlow installation: its distribution, version and folder."""

    package: str
    version: str
    site_packages: Path

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def find_interpreter(named: str | None, command: Sequence[str]) -> Path | None:
    """Return the Python interpreter whose TensorFlow will run: the requested interpreter, otherwise the
    command's own, otherwise the one in use.

    named: an interpreter or an environment's folder. Raises CallError if it is neither, or if this user may
    not read or run it.
    """
    if named is not None:
        path = expanded(named)
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_folder = False
        except OSError as problem:
            raise CallError(f"{named} cannot be examined: {problem.strerror}") from problem
        inside = [path / "bin" / name for name in ("python", "python3")] if is_folder else [path]
        for candidate in inside:
            if os.access(candidate, os.X_OK):
                return candidate.absolute()
        there = next((candidate for candidate in inside if os.path.lexists(candidate)), None)
        if there is not None:
            raise CallError(f"{there} is not a program that this user may run")
        raise CallError(f"{named} is neither a Python interpreter nor the folder of an environment")
    found = shutil.which(command[0]) if command else None
    if found and (sibling := _interpreter_beside(Path(found))):
        return sibling
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        python = Path(os.environ.get(variable, ""), "bin", "python")
        if os.environ.get(variable) and os.access(python, os.X_OK):
            return python
    found = shutil.which("python3") or shutil.which("python")
    return Path(found) if found else None


def _interpreter_beside(program: Path) -> Path | None:
    """Return the command itself if it is a Python interpreter, otherwise the interpreter in the environment
    whose bin folder contains the command."""
    if re.fullmatch(r"python(\d(\.\d+)?)?", program.name):
        return program.absolute()
    python = program.parent / "python"
    in_environment = (program.parent.parent / "pyvenv.cfg").exists()
    return python.absolute() if in_environment and os.access(python, os.X_OK) else None


def find_tensorflow(python: Path) -> TensorFlowBuild | None:
    """Return the TensorFlow build that this interpreter would import, as its metadata shows; nothing is
    imported or run."""
    prefix = python.parent.parent
    for site in sorted(prefix.glob("lib*/python3*/*-packages")):
        for info in sorted(site.glob("t*[ef][nf]*.dist-info")):
            match = re.fullmatch(
                r"(tensorflow|tensorflow_gpu|tensorflow_cpu|tf_nightly|tf_nightly_gpu)-(.+)\.dist-info",
                info.name,
            )
            if match:
                return TensorFlowBuild(normalised(match[1]), match[2], site)
    return None


def has_nccl_inside(build: TensorFlowBuild) -> bool:
    """Whether NCCL is linked into this TensorFlow release (2.12 to 2.18), so that a simulation cannot replace
    it."""
    import mmap

    for name in (
        "libtensorflow_framework.so.2",
        "libtensorflow_cc.so.2",
        "python/_pywrap_tensorflow_internal.so",
    ):
        path = build.site_packages / "tensorflow" / name
        try:
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if data.find(b"nccl_archive/src/") >= 0:
                    return True
        except (OSError, ValueError):
            continue
    return False


def libraries_of(build: TensorFlowBuild | None, tables: Tables) -> Libraries:
    """The libraries that a TensorFlow build loads: from the table of releases, otherwise from the build's
    build_info.py, otherwise those of the newest CUDA and cuDNN."""
    row = tables.tensorflow(build.version, build.package) if build else None
    if row is not None and row.libraries and row.version == (build.version if build else ""):
        sonames = tuple(name for name in row.libraries if stem_of(name) in SIMULATED - _DRIVER)
        cuda, cudnn = row.cuda or NEWEST[0], row.cudnn or NEWEST[1]
    else:
        cuda, cudnn = _stated_versions(build) if build else NEWEST
        sonames = sonames_for(cuda, cudnn)
    versions = (removeprefix(name, "libcudnn.so.") for name in sonames if name.startswith("libcudnn.so."))
    release = next(versions, cudnn).split(".")[0]
    return Libraries(sonames, cuda, _CUDNN_RELEASES.get(release, f"{release}.0.0"), _ptxas_of(row, tables))


def _ptxas_of(row: TensorFlowRelease | None, tables: Tables) -> str:
    """The CUDA release of the ptxas that pip installs with a build: the release that the build's extra pins,
    or the newest of the major version if the extra has a range; "" if the extra does not include ptxas."""
    pins = row.extras.get("and-cuda", {}) if row is not None else {}
    package, pin = next(((name, pin) for name, pin in pins.items() if "-nvcc-" in name), ("", ""))
    if pin.startswith("=="):
        return minor(removeprefix(pin, "=="))
    major = package.rpartition("cu")[2]
    releases = [kit.cuda for kit in tables.toolkits() if package and kit.cuda.startswith(f"{major}.")]
    return minor(max(releases, key=dotted)) if releases else ""


def sonames_for(cuda: str, cudnn: str) -> tuple[str, ...]:
    """Return the file names of the libraries in a CUDA release and a cuDNN release: libcudart.so.12, …,
    libcudnn.so.9 for ("12.5.1", "9")."""
    major = cuda.split(".")[0]
    numbers = _NUMBERS.get(major, {})
    cuda_stems = sorted(SIMULATED - _DRIVER - {"libcudnn", "libnccl"})
    names = [f"{stem}.so.{numbers.get(stem, major)}" for stem in cuda_stems]
    return (*names, f"libcudnn.so.{cudnn.split('.')[0]}", "libnccl.so.2")


def _stated_versions(build: TensorFlowBuild) -> tuple[str, str]:
    """The CUDA and cuDNN versions in tensorflow/python/platform/build_info.py, which is read as text."""
    try:
        text = (build.site_packages / "tensorflow/python/platform/build_info.py").read_text(encoding="utf-8")
    except OSError:
        return NEWEST
    cuda = re.search(r"'cuda_version', '(\d[\d.]*)'", text)
    cudnn = re.search(r"'cudnn_version', '(\d[\d.]*)'", text)
    return (cuda[1] if cuda else NEWEST[0], cudnn[1] if cudnn else NEWEST[1])
