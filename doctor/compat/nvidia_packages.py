"""CUDA and cuDNN from NVIDIA's own packages, each requested by name, for a build that has no extra and-cuda
or whose extra pip cannot install.

TensorFlow 2.5 to 2.13 for Linux have no extra, and search for libraries only beside
libtensorflow_framework.so.2 (RUNPATH `$ORIGIN/`): each library needs a link in TensorFlow's own folder. There
NVIDIA's libraries also find one another, because each has `$ORIGIN` in its own RUNPATH. The versions of the
packages are those that the last TensorFlow for the same CUDA major pins in its extra. A build also runs with
a newer minor release of its CUDA (CUDA Compatibility guide, "Minor Version Compatibility"); the tables of
wheels show that the libraries have the names under which the build loads them.
"""

from __future__ import annotations

from doctor.compat.installed import required
from doctor.compat.situation import Situation, traps_of
from doctor.compat.software import cuda_major
from doctor.tables import Tables, TensorFlowRelease
from doctor.tables.ordering import is_final, order
from doctor.tables.store import remembered
from doctor.values import dataclass

BESIDE = "$ORIGIN/"
"""The RUNPATH entry for the folder that contains the library itself."""
FOLDER = "tensorflow"
"""The folder of libtensorflow_framework.so.2 under site-packages (the wheels of 2.5 and later)."""

COMPILER_FOUND = "2.14"
"""The first release that finds XLA's compiler (ptxas, libdevice) in pip's package
(doctor.probe.compiler). Keras's optimizers compile with XLA by default since 2.11
(keras/src/optimizers/optimizer.py: jit_compile=True)."""


@dataclass(frozen=True, slots=True)
class Packages:
    """NVIDIA's packages for a build. requirements: for pip ("nvidia-cublas-cu11==11.11.3.6"); rows: the table
    rows that support them; folders: each library and its folder under site-packages; cuda, cudnn: the
    versions that the packages contain; pinned_by: the release whose extra pins the versions."""

    requirements: tuple[str, ...]
    rows: tuple[str, ...]
    folders: tuple[tuple[str, str], ...]
    cuda: str
    cudnn: str
    pinned_by: TensorFlowRelease


def packages_for(build: TensorFlowRelease, situation: Situation, tables: Tables) -> Packages | None:
    """Return the packages that contain every library that a build needs, or None if the build's own extra
    installs the libraries, or if no packages contain all of them."""
    if situation.platform != "linux-x86_64" or not build.gpu:
        return None
    if build.extras.get("and-cuda"):
        # on some Pythons pip cannot install the extra because of TensorRT, which no GPU device needs
        extra = traps_of(build, situation, tables, "extra")
        if not any(trap.verdict == "no" and "python" in trap.data["when"] for trap in extra):
            return None
    elif BESIDE not in build.runpath:
        return None
    return _found(tables, build)


@remembered
def _found(tables: Tables, build: TensorFlowRelease) -> Packages | None:
    """Return the packages that contain every library that a build needs, or None if none do."""
    major = cuda_major(build, tables)
    donor = build if build.extras.get("and-cuda") else _last_with_pins(tables, major)
    if donor is None:
        return None
    pins = donor.extras["and-cuda"]
    rows = [tables.pip_library(name, major) for name in required(build, tables)]
    if not rows or any(row is None or not pins.get(row.package, "").startswith("==") for row in rows):
        return None
    held = [row for row in rows if row is not None]
    versions = {row.package: pins[row.package].partition(";")[0] for row in held}
    wheels = {
        (row.package, f"=={wheel.version}"): wheel
        for row in held
        for wheel in tables.nvidia_wheels(row.package)
    }
    for row in held:  # the pinned release itself has to contain the library
        wheel = wheels.get((row.package, versions[row.package]))
        if wheel is None or row.soname not in wheel.libraries:
            return None
    folders = [(row.soname, row.folder) for row in held]
    for row in held:
        if row.soname.startswith("libcudnn."):  # cuDNN loads its own parts from the folder where it was found
            parts = wheels[row.package, versions[row.package]].libraries
            folders += [(name, row.folder) for name in parts if name.startswith("libcudnn_")]
    if order(build.version) >= order(COMPILER_FOUND):
        compiler = f"nvidia-cuda-nvcc-cu{major}"
        if compiler in pins:
            versions[compiler] = pins[compiler].partition(";")[0]
    return Packages(
        tuple(f"{package}{pin}" for package, pin in versions.items()),
        (donor.ref, *dict.fromkeys(row.ref for row in held)),
        tuple(folders),
        _short(next(pin for package, pin in versions.items() if "cuda-runtime" in package)),
        _short(next(pin for package, pin in versions.items() if "cudnn" in package)),
        donor,
    )


@remembered
def _last_with_pins(tables: Tables, major: str | None) -> TensorFlowRelease | None:
    """Return the newest release for a CUDA major version that has the extra and-cuda, or None if there is
    none."""
    for build in tables.gpu_builds("linux-x86_64", ("tensorflow",)):
        if is_final(build.version) and build.extras.get("and-cuda") and cuda_major(build, tables) == major:
            return build
    return None


def _short(pin: str) -> str:
    """Return the first two numbers of the version in a pin: "11.8" for "==11.8.89"."""
    return ".".join(pin.lstrip("=").split(".")[:2])
