"""The types of table rows. A row is immutable and states where its values were read: `ref` cites the row,
`source` names the document and section, or the wheel. `data` is the row as it is in its file. A field whose
value is unknown is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from doctor.values import dataclass, field

PLATFORMS = ("linux-x86_64", "linux-aarch64", "windows-amd64", "macos-arm64", "macos-x86_64")
"""The platforms for which TensorFlow wheels exist."""


@dataclass(frozen=True, slots=True)
class Row:
    """Any row of any table."""

    ref: str
    source: str
    data: Mapping[str, Any] = field(hash=False, compare=False, repr=False)


R = TypeVar("R", bound=Row)


def made(
    kind: type[R], raw: Mapping[str, Any], about: str, *, source: str | None = None, **columns: Any
) -> R:
    """Return a row of type `kind`, made from a row in the table file. Its citation is "`about`, from SOURCE".

    Each field gets the value with the same name in the file (a list becomes a tuple). `columns` has the
    values for fields that have another name or form in the file, `source` the text of its source if the file
    has another form.
    """
    own = [name for name in kind.__slots__ if name not in Row.__slots__]
    values = {name: raw[name] for name in own if raw.get(name) is not None}
    values.update(columns)
    tupled = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    source = raw["source"] if source is None else source
    ref = f"{about}, from {source}" if source else about
    return kind(ref=ref, source=source, data=raw, **tupled)


@dataclass(frozen=True, slots=True)
class ComputeCapabilities:
    """The GPU code in a build. compiled: compute capabilities with machine code ("8.0"). ptx: the targets of
    PTX ("9.0", "9.0a"; code for a target with a suffix does not run on later GPUs). ptx_isa: for each target,
    the PTX ISA versions that were found, in ascending order.
    """

    compiled: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    ptx_isa: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @property
    def lowest(self) -> str | None:
        """The lowest capability with machine code, or with PTX if there is no machine code."""
        every = [*self.compiled] or [target for target in self.ptx if target[-1].isdigit()]
        return min(every, key=lambda c: tuple(int(p) for p in c.split(".")), default=None)


@dataclass(frozen=True, slots=True)
class TensorFlowRelease(Row):
    """One release of one package on one platform, as read from its wheels.

    gpu: whether it was built with CUDA. cuda, cudnn: the versions that it was built for (from the SONAMEs if
    build_info is wrong). libraries: every SONAME or DLL that it loads. libraries_required: the libraries
    without which it registers no GPU. pip_libraries_missed: the required libraries whose pip folder is not in
    the build's RUNPATH. extras: maps the name of an extra to {requirement name: version specifier}. of_wheel:
    whether the row was read from a wheel; False if the values come from the build_info.py of another build
    (doctor.tables.own_builds).
    """

    package: str
    version: str
    platform: str
    gpu: bool | None = None
    cuda: str | None = None
    cudnn: str | None = None
    pythons: tuple[str, ...] = ()
    glibc: str | None = None
    glibc_by_python: Mapping[str, str] = field(default_factory=dict, hash=False)
    compute_capabilities: ComputeCapabilities | None = None
    libraries: tuple[str, ...] = ()
    libraries_required: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    pip_libraries_found: tuple[str, ...] | None = None
    pip_libraries_missed: tuple[str, ...] | None = None
    requires_python: str | None = None
    requires: tuple[str, ...] = ()
    extras: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    yanked: bool = False
    of_wheel: bool = True

    @property
    def requirement(self) -> str:
        """The release as a requirement for pip: tensorflow-gpu==1.14.0."""
        return f"{self.package}=={self.version}"

    @property
    def brought(self) -> str:
        """The CUDA and cuDNN that the extra and-cuda installs, as far as known: "CUDA 12.5 and cuDNN 9", or
        "CUDA 12.5 or a later 12.x and cuDNN 9" if the extra (METADATA) also accepts later libraries."""
        later = any(">" in specifier for specifier in self.extras.get("and-cuda", {}).values())
        cuda = self.cuda or ""
        if cuda and later:
            cuda += f" or a later {cuda.partition('.')[0]}.x"
        return f"CUDA {cuda} and cuDNN {self.cudnn or ''}".replace("  ", " ").strip()


@dataclass(frozen=True, slots=True)
class Toolkit(Row):
    """A CUDA toolkit release, and the driver version that was released with it (None if NVIDIA publishes
    none)."""

    cuda: str
    update: int = 0
    linux: str | None = None
    windows: str | None = None


@dataclass(frozen=True, slots=True)
class DriverFloor(Row):
    """The lowest driver version with which a CUDA runtime starts. `rule`: minor-version (applies to a whole
    CUDA major version) or toolkit."""

    cuda: str
    platform: str
    driver: str
    rule: str


@dataclass(frozen=True, slots=True)
class DriverBranch(Row):
    """A driver branch ("535"): the highest CUDA version and the compute capabilities that it supports."""

    branch: str
    cuda: str
    first_linux: str | None = None
    first_windows: str | None = None


@dataclass(frozen=True, slots=True)
class PtxIsa(Row):
    """A PTX ISA version and the CUDA version of the first driver that can compile it."""

    isa: str
    cuda: str


@dataclass(frozen=True, slots=True)
class Architecture(Row):
    """A GPU architecture: its compute capabilities, the first and last CUDA toolkits that support it, and the
    last driver branch that does (None: still supported). kernel_modules: the only kind of the driver's kernel
    modules on Linux that supports it, "open" or "closed"; "" if both do."""

    name: str
    capabilities: tuple[str, ...]
    first_cuda: str | None = None
    last_cuda: str | None = None
    last_driver: str | None = None
    kernel_modules: str = ""


@dataclass(frozen=True, slots=True)
class ForwardCompatibility(Row):
    """A cuda-compat package: its CUDA version, and the driver branches on which it works."""

    cuda: str
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuRow(Row):
    """A GPU, with its PCI id if it has one. `capability` is None if the name alone does not determine it.

    memory_mib: all memory sizes with which cards of this name were sold; empty if no source gives them.
    multiprocessors: the number of multiprocessors; None if no source gives it, or if cards with this name
    differ.
    """

    name: str
    capability: str | None
    chip: str | None = None
    pci_id: str | None = None
    kind: str = "desktop"
    memory_mib: tuple[int, ...] = ()
    multiprocessors: int | None = None


@dataclass(frozen=True, slots=True)
class Cudnn(Row):
    """A cuDNN release: the CUDA major versions that it supports, and the compute capabilities of its
    kernels."""

    version: str
    cuda: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    lowest: str | None = None
    package: str | None = None


@dataclass(frozen=True, slots=True)
class NvidiaWheel(Row):
    """A wheel of an nvidia-* package: its libraries and their folders."""

    package: str
    version: str
    folder: str | None = None
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Framework(Row):
    """A release of another GPU framework, or of a package that installs CUDA for such a framework, with its
    requirements on Linux.

    requires, extras: the requirements in METADATA; their markers keep only the conditions on the Python
    version. pythons: the Python versions with wheels; empty if one wheel supports every Python version that
    requires_python allows.
    """

    package: str
    version: str
    pythons: tuple[str, ...] = ()
    requires_python: str | None = None
    requires: tuple[str, ...] = ()
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class PipLibrary(Row):
    """The nvidia-* package that contains a SONAME: `package`, the `folder` in site-packages, and the first
    and last release that contain it."""

    soname: str
    package: str
    folder: str
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class Library(Row):
    """A CUDA library, by SONAME or DLL name: its component, and the toolkit releases (or cuDNN majors) that
    contain it."""

    soname: str
    component: str
    first: str | None = None
    last: str | None = None
    platform: str = "linux"


@dataclass(frozen=True, slots=True)
class Trap(Row):
    """A known trap: the affected releases, the conditions, what happens, and what to do."""

    name: str
    title: str
    verdict: str
    reason: str
    cure: str = ""
