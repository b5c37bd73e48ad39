"""Offers one object for look-ups in all tables."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.tables.rows import (
    Architecture,
    Cudnn,
    DriverBranch,
    DriverFloor,
    ForwardCompatibility,
    Framework,
    GpuRow,
    Library,
    NvidiaWheel,
    PipLibrary,
    PtxIsa,
    Row,
    TensorFlowRelease,
    Toolkit,
    Trap,
)
from doctor.tables.store import Store, refreshed_folder, remembered
from doctor.tables.versions import dotted

if TYPE_CHECKING:
    from pathlib import Path

    from doctor.tables import drivers, gpus, libraries, packages, releases, tensorflow
else:  # imported at the first look-up
    drivers = lazy.module("doctor.tables.drivers")
    gpus = lazy.module("doctor.tables.gpus")
    libraries = lazy.module("doctor.tables.libraries")
    packages = lazy.module("doctor.tables.packages")
    releases = lazy.module("doctor.tables.releases")
    tensorflow = lazy.module("doctor.tables.tensorflow")


class Tables:
    """The compatibility tables in one folder. A file is read when one of its rows is first needed.

    Any look-up raises doctor.tables.store.TableError (a ValueError) if its file is missing or damaged.
    """

    def __init__(self, folder: Path | None = None, refreshed: Path | None = None) -> None:
        """Use the tables in `folder`; None means the tables that ship with the tool."""
        self.store = Store(folder, refreshed)
        self.answers = self.store.answers

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def bundled() -> Tables:
        """Return the bundled tables, overridden by the user's refreshed tables if these are newer.

        TFGPU_DOCTOR_TABLES may name the folder for refreshed tables. If it is set but empty, no refreshed
        tables are used.
        """
        refreshed = None if os.environ.get("TFGPU_DOCTOR_TABLES") == "" else refreshed_folder()
        return Tables(None, refreshed)

    @functools.cached_property
    def date(self) -> str:
        """The day on which the TensorFlow table in use was generated ("2026-11-21")."""
        for table in (tensorflow.TABLE, "cuda"):
            if self.store.has(table):
                date = self.store.date(table)
                if date is not None:
                    return date
        return "unknown"

    # --- TensorFlow ------------------------------------------------------------------------------

    def tensorflow(
        self, version: str, package: str | None = None, platform: str = "linux-x86_64"
    ) -> TensorFlowRelease | None:
        """Return one release, or None if there is no such release. If no package is given, return the CUDA
        build with that version if there is one (tensorflow is preferred to tensorflow-gpu), otherwise the CPU
        build. "2.3" means the newest patch release of 2.3.
        """
        return tensorflow.pick(self.store, version, package, platform)

    def releases(
        self, platform: str | None = "linux-x86_64", package: str | None = None
    ) -> tuple[TensorFlowRelease, ...]:
        """Return all releases for a platform (None: every platform), oldest first."""
        return releases.everything(self.store, platform, package)

    def versions(self, package: str, platform: str | None = None) -> tuple[str, ...]:
        """Return the versions of a package for a platform (None: any), oldest first."""
        return releases.versions(self.store, platform, package)

    def gpu_builds(
        self, platform: str = "linux-x86_64", packages: Sequence[str] = ("tensorflow", "tensorflow-gpu")
    ) -> Iterator[TensorFlowRelease]:
        """Return the GPU builds for a platform, newest first, one per version. If several packages have a
        version, the one that is first in `packages` counts. Yanked releases are left out."""
        return releases.newest_first(self.store, platform, packages)

    def build_opening(self, soname: str, platform: str | None = None) -> tuple[TensorFlowRelease, ...]:
        """Return the builds that load this SONAME or DLL, oldest first."""
        return releases.opening(self.store, soname, platform)

    # --- driver and CUDA -------------------------------------------------------------------------

    def driver_floor(self, cuda: str, platform: str = "linux") -> DriverFloor | None:
        """Return the oldest driver that works with a CUDA runtime. From CUDA 11 on, minor-version
        compatibility gives one oldest driver for the whole major version; before that, it is the driver that
        was released with the toolkit. `platform`: linux, windows or wsl (a Windows driver)."""
        return drivers.driver_floor(self.store, cuda, platform)

    def driver_cuda(self, driver: str, platform: str = "linux") -> str | None:
        """Return the highest CUDA version that a driver supports, or None if its branch is older or newer
        than the branches in the table."""
        row = drivers.branch(self.store, driver, platform)
        return None if row is None else row.cuda

    def driver_branch(self, driver: str, platform: str = "linux") -> DriverBranch | None:
        """Return the branch of a driver ("535.183.01", "R535"), or None if it is older or newer than the
        branches in the table."""
        return drivers.branch(self.store, driver, platform)

    def driver_branches(self) -> tuple[DriverBranch, ...]:
        """Return every driver branch, oldest first."""
        return drivers.branches(self.store)

    def toolkit(self, cuda: str) -> Toolkit | None:
        """Return the row for a CUDA toolkit release: "12.5", "12.5.1", "12.5 Update 1"."""
        return drivers.toolkit(self.store, cuda)

    def toolkits(self) -> tuple[Toolkit, ...]:
        """Return every CUDA toolkit release, oldest first."""
        return drivers.toolkits(self.store)

    @remembered
    def ptx(self, isa: str) -> PtxIsa | None:
        """Return the row for a PTX ISA version ("8.5")."""
        return next((row for row in drivers.ptx_isas(self.store) if dotted(row.isa) == dotted(isa)), None)

    def forward_compatibility(self) -> tuple[ForwardCompatibility, ...]:
        """Return the cuda-compat packages."""
        return drivers.forward(self.store)

    # --- libraries -------------------------------------------------------------------------------

    def cudnn(self, version: str, cuda_major: str | None = None) -> Cudnn | None:
        """Return a cuDNN release; "9" or "8.9" means the newest release with that number. `cuda_major` ("12")
        chooses among its builds."""
        return libraries.cudnn(self.store, version, cuda_major)

    def cudnns(self) -> tuple[Cudnn, ...]:
        """Return every cuDNN release, oldest first."""
        return libraries.cudnns(self.store)

    def compiled_cudnn(self) -> tuple[Row, ...]:
        """Return the minor versions of cuDNN with which TensorFlow releases were compiled, as far as
        documents mention them."""
        return libraries.compiled_cudnn(self.store)

    def pip_library(self, soname: str, cuda_major: str | None = None) -> PipLibrary | None:
        """Return the nvidia-* package that contains this SONAME, and its folder in site-packages, or None if
        no package does.

        libcusolver.so.11 is in the packages of CUDA 11 and of CUDA 12. `cuda_major` ("11") decides between
        them; the default is 12.
        """
        return packages.pip_library(self.store, soname, cuda_major)

    def pip_libraries(self, soname: str) -> tuple[PipLibrary, ...]:
        """Return every nvidia-* package that contains this SONAME, sorted by name."""
        return packages.pip_libraries(self.store, soname)

    def nvidia_wheels(self, package: str | None = None) -> tuple[NvidiaWheel, ...]:
        """Return the nvidia-* wheels in the tables, for all packages or for one."""
        return packages.wheels(self.store, package)

    def frameworks(self, package: str | None = None) -> tuple[Framework, ...]:
        """Return releases of torch, JAX, CuPy and ONNX Runtime, and of the packages with which they install
        CUDA, oldest first."""
        return packages.frameworks(self.store, package)

    @remembered
    def library(self, soname: str) -> Library | None:
        """Return the row for a SONAME or DLL name in the catalogue of libraries. Upper and lower case do not
        matter."""
        return libraries.library(self.store, soname)

    def libraries(self) -> tuple[Library, ...]:
        """Return the catalogue of library names."""
        return libraries.libraries(self.store)

    # --- GPUs ------------------------------------------------------------------------------------

    def gpu(self, name_or_pci_or_capability: str) -> tuple[GpuRow, ...]:
        """Return the GPUs that a string can mean: a name as people or nvidia-smi write it, an architecture
        ("Ampere"), a PCI id ("10de:2484") or a compute capability ("8.6", "sm_86"). The result has several
        GPUs if the name is ambiguous, and none if it is unknown."""
        return gpus.find(self.store, name_or_pci_or_capability)

    def capability(self, gpu_name: str) -> str | None:
        """Return the compute capability of a GPU, or None if it is unknown or the name is ambiguous."""
        return gpus.capability(self.store, gpu_name)

    @remembered
    def architecture(self, capability: str) -> Architecture | None:
        """Return the architecture with a compute capability."""
        return next(
            (row for row in drivers.architectures(self.store) if capability in row.capabilities), None
        )

    def architectures(self) -> tuple[Architecture, ...]:
        """Return every GPU architecture, oldest first."""
        return drivers.architectures(self.store)

    # --- traps -----------------------------------------------------------------------------------

    def traps(self) -> tuple[Trap, ...]:
        """Return the known traps."""
        return libraries.traps(self.store)
