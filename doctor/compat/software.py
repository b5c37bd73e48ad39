"""Checks whether a build runs on a driver, with a CUDA toolkit, and with a cuDNN version."""

from __future__ import annotations

from doctor.compat.answer import Answer
from doctor.tables import Cudnn, DriverFloor, Library, Row, Tables, TensorFlowRelease, Toolkit, dotted
from doctor.tables.ordering import order
from doctor.tables.ranges import within
from doctor.tables.versions import minor


def cuda_of(build: TensorFlowRelease, tables: Tables) -> tuple[str | None, tuple[Row, ...]]:
    """Return the CUDA version for which a build was made, and the rows that show it.

    If the build does not declare its CUDA version (2.22.0rc0 and later), it is the first CUDA release with
    the libcudart that the build loads, or None if that is also unknown.
    """
    if build.cuda is not None:
        return build.cuda, (build,)
    for name in build.libraries:
        row = tables.library(name)
        if row is not None and row.data.get("library") == "cudart" and row.first is not None:
            return row.first, (build, row)
    return None, (build,)


def driver_minimum(
    build: TensorFlowRelease, tables: Tables, platform: str = "linux", capabilities: tuple[str, ...] = ()
) -> Answer:
    """Return the oldest driver on which the build runs: an answer "yes" whose last row is a DriverFloor, or
    an answer "unknown".

    `answer.rows[-1].driver` is the number. It is the highest of: the driver that the CUDA runtime needs; for
    each of `capabilities` the first driver that supports the GPU; and, if the GPU needs PTX, the first driver
    that compiles that PTX. platform: linux, windows or wsl.
    """
    if build.gpu is False:
        return Answer("yes", f"{build.requirement} is a CPU build and needs no driver", (build,))
    cuda, rows = cuda_of(build, tables)
    floor = None if cuda is None else tables.driver_floor(cuda, platform)
    if cuda is None or floor is None:
        return Answer("unknown", f"it is not known which driver {build.requirement} needs", rows)
    floors = [floor]
    for capability in capabilities:
        floors += _floors_of_gpu(build, capability, tables, platform)
    highest = max(floors, key=lambda row: dotted(row.driver))
    if highest is floor:
        why = f"{build.requirement} is built for CUDA {cuda}, which needs driver {floor.driver} or newer"
    else:
        why = f"{build.requirement} needs driver {highest.driver} or newer, because {highest.ref}"
    return Answer("yes", why, (*rows, *(row for row in floors if row is not highest), highest))


def _floors_of_gpu(
    build: TensorFlowRelease, capability: str, tables: Tables, platform: str
) -> list[DriverFloor]:
    """Return the oldest drivers that a GPU requires: for its architecture, and for PTX that it needs."""
    from doctor.compat.gpu import code_for
    from doctor.compat.situation import Situation, applies

    floors = [first_driver(capability, tables, platform)]
    kernels = build.compute_capabilities
    code = None if kernels is None else code_for(capability, kernels.compiled, kernels.ptx)
    if kernels is not None and code is not None and code.kind == "jit":
        for isa in (tables.ptx(version) for version in kernels.ptx_isa.get(code.target, ())):
            if isa is not None:
                why = (
                    f"the build's kernels for compute capability {capability} are PTX ISA {isa.isa}, which"
                    f" came with CUDA {isa.cuda}"
                )
                floors.append(_floor_of_cuda(isa.cuda, "ptx", why, isa, tables, platform))
    situation = Situation(platform=build.platform, capabilities=(capability,))
    for trap in tables.traps():
        bound = trap.data["when"].get("driver_cuda", "")
        if bound.startswith("<") and applies(trap, build, situation, tables, without=("driver_cuda",)):
            floors.append(_floor_of_cuda(bound.lstrip("<"), "ptx", trap.reason, trap, tables, platform))
    return [row for row in floors if row is not None]


def first_driver(capability: str, tables: Tables, platform: str = "linux") -> DriverFloor | None:
    """Return the first driver that supports GPUs of a compute capability, or None if the tables do not
    contain it."""
    architecture = tables.architecture(capability)
    if architecture is None or architecture.first_cuda is None:
        return None
    name = f"{architecture.name} (compute capability {capability})"
    why = f"support for {name} came with CUDA {architecture.first_cuda}"
    return _floor_of_cuda(architecture.first_cuda, "architecture", why, architecture, tables, platform)


def _floor_of_cuda(
    cuda: str, rule: str, why: str, row: Row, tables: Tables, platform: str
) -> DriverFloor | None:
    """Return the driver that came with a CUDA version as the oldest driver. why: why that CUDA version is
    needed."""
    toolkit = tables.toolkit(cuda)
    driver = None if toolkit is None else (toolkit.linux if platform == "linux" else toolkit.windows)
    if driver is None:
        return None
    return DriverFloor(why, row.source, row.data, cuda=cuda, platform=platform, driver=driver, rule=rule)


def runs_on_driver(build: TensorFlowRelease, driver: str, tables: Tables, platform: str = "linux") -> Answer:
    """Whether the CUDA runtime of a build starts on a driver. A newer driver always runs an older CUDA
    version.

    platform: linux, windows or wsl; under WSL2 the driver is the Windows driver.
    """
    minimum = driver_minimum(build, tables, platform)
    floor = minimum.rows[-1]
    if not isinstance(floor, DriverFloor):
        return minimum
    try:
        number = dotted(driver)
    except ValueError:
        return Answer("unknown", f"{driver!r} is not a driver version", minimum.rows)
    own = _own_driver(build, tables, platform)
    lowest = dotted(floor.driver)
    if len(number) < len(lowest) and number == lowest[: len(number)]:
        why = (
            f"branch {driver} contains {floor.driver}, the oldest driver for CUDA {floor.cuda}; it is not"
            " known which release of that branch is installed"
            if len(number) == 1
            else f"{driver} is only the beginning of a driver's version: it is not known whether the driver"
            f" is {floor.driver} or newer, which CUDA {floor.cuda} needs"
        )
        return Answer("unknown", why, minimum.rows)
    if number >= dotted(floor.driver):
        return Answer(
            "yes", f"driver {driver} is {floor.driver} or newer, which CUDA {floor.cuda} needs", minimum.rows
        )
    if own is not None and number >= dotted(own[1]):
        return Answer("yes", f"driver {driver} came with CUDA {own[0].cuda} or is newer", (build, own[0]))
    return Answer(
        "no", f"driver {driver} is older than {floor.driver}, the oldest for CUDA {floor.cuda}", minimum.rows
    )


def _own_driver(build: TensorFlowRelease, tables: Tables, platform: str) -> tuple[Toolkit, str] | None:
    """Return the CUDA toolkit for which the build was made, and the driver that was released with that
    toolkit, or None if unknown. That driver can be older than the minimum for the CUDA major version:
    450.51.05 runs CUDA 11.0."""
    cuda, _ = cuda_of(build, tables)
    row = None if cuda is None or build.cuda is None else tables.toolkit(minor(cuda))
    driver = None if row is None else (row.linux if platform == "linux" else row.windows)
    return None if row is None or driver is None else (row, driver)


def required(build: TensorFlowRelease, tables: Tables) -> tuple[str, ...]:
    """Return the libraries without which the build registers no GPU: as read from the wheel, otherwise those
    that the table of libraries does not mark as optional."""
    if build.libraries_required:
        return build.libraries_required
    return tuple(
        name
        for name in build.libraries
        if (row := tables.library(name)) is None or not row.data.get("optional")
    )


def runs_with_cuda(build: TensorFlowRelease, cuda: str, tables: Tables) -> Answer:
    """Whether a CUDA toolkit of this version contains the libraries that the build loads, judged by the
    libraries' names."""
    if build.gpu is False:
        return Answer("yes", f"{build.requirement} is a CPU build and loads no CUDA library", (build,))
    names = required(build, tables)
    rows = [row for row in (tables.library(name) for name in names) if row is not None and _is_cuda(row)]
    if not rows:
        return Answer("unknown", f"it is not known which CUDA libraries {build.requirement} loads", (build,))
    try:
        here = dotted(minor(cuda))
    except ValueError:
        return Answer("unknown", f"{cuda!r} is not a CUDA version", (build,))
    missing = [row for row in rows if not _holds(row, here)]
    if missing:
        return Answer(
            "no",
            f"CUDA {cuda} does not contain {', '.join(row.soname for row in missing)}, which"
            f" {build.requirement} loads: " + _where(missing),
            (build, *missing),
        )
    evidence = (build, *rows)
    if build.cuda is not None and here < dotted(minor(build.cuda)):
        return Answer(
            "unknown",
            f"CUDA {cuda} contains every library that {build.requirement} loads, but this TensorFlow was"
            f" built for CUDA {build.cuda}: NVIDIA supports newer libraries, but not older ones",
            evidence,
        )
    return Answer("yes", f"CUDA {cuda} contains every CUDA library that {build.requirement} loads", evidence)


def runs_with_cudnn(
    build: TensorFlowRelease, cudnn: str, tables: Tables, capabilities: tuple[str, ...] = ()
) -> Answer:
    """Whether the build accepts this cuDNN version, and whether that version has kernels for these GPUs.

    The major version must be that of the SONAME; from cuDNN 7 on the minor version must be that of the build
    or newer (TensorFlow, xla/stream_executor/cuda/cuda_dnn.cc: "needs to have matching major version and
    equal or higher minor version").
    """
    if build.gpu is False:
        return Answer("yes", f"{build.requirement} is a CPU build and loads no cuDNN", (build,))
    if build.cudnn is None:
        return Answer("unknown", f"it is not known which cuDNN {build.requirement} loads", (build,))
    try:
        here, wanted = dotted(cudnn), dotted(build.cudnn)
    except ValueError:
        return Answer("unknown", f"{cudnn!r} is not a cuDNN version", (build,))
    if here[0] != wanted[0]:
        return Answer("no", f"{build.requirement} loads cuDNN {wanted[0]}, not {here[0]}", (build,))
    compiled = compiled_cudnn(build, tables)
    if compiled is not None and "." in cudnn and here[:2] < dotted(compiled[0])[:2]:
        return Answer("no", f"{build.requirement} was compiled with cuDNN {compiled[0]}; {cudnn} is older",
                      (build, compiled[1]))  # fmt: skip
    answer = cudnn_serves_gpu(cudnn, capabilities, tables, cuda_major(build, tables))
    if answer.verdict == "no":
        return Answer("no", answer.reason, (build, *answer.rows))
    last = None if compiled is not None else _last_minor(here[0], tables)
    if last is not None and here[:2] >= dotted(last.version)[:2]:
        why = (
            f"cuDNN {'.'.join(map(str, here[:2]))} is the last release of cuDNN {here[0]}, so"
            f" {build.requirement} was not compiled with a newer release"
        )
        return Answer("yes", why, (build, last, *answer.rows))
    if compiled is None:
        why = (
            f"cuDNN {cudnn} has the major version that {build.requirement} loads; it is not known with which"
            " minor version this TensorFlow was compiled"
        )
        return Answer("unknown", why, (build, *answer.rows))
    return Answer("yes", f"{build.requirement} works with cuDNN {wanted[0]} from {compiled[0]} on",
                  (build, compiled[1], *answer.rows))  # fmt: skip


def _last_minor(major: int, tables: Tables) -> Cudnn | None:
    """Return the last cuDNN release of a major version that gets no more releases; otherwise None. Also None
    before cuDNN 7, where a newer minor version did not work."""
    rows = tables.cudnns()
    closed = major >= 7 and any(dotted(row.version)[0] > major for row in rows)
    return (
        max((row for row in rows if dotted(row.version)[0] == major), key=lambda row: dotted(row.version))
        if closed
        else None
    )


def cuda_major(build: TensorFlowRelease, tables: Tables) -> str | None:
    """Return the CUDA major version of a build as text ("12")."""
    cuda, _ = cuda_of(build, tables)
    return None if cuda is None else str(dotted(cuda)[0])


def compiled_cudnn(build: TensorFlowRelease, tables: Tables) -> tuple[str, Row] | None:
    """Return the cuDNN minor version with which a build was compiled and the table row that gives it, or None
    if no row does."""
    if not build.of_wheel:  # a self-made build is compiled with any cuDNN
        return None
    for row in tables.compiled_cudnn():
        if build.package in row.data["packages"] and within(build.version, row.data["versions"], order):
            return row.data["cudnn"], row
    return None


OF_TEGRA = ("5.3", "6.2", "7.2", "8.7", "11.0")
"""Compute capabilities of NVIDIA's Jetson boards (CUDA GPU Compute Capability, Jetson); the wheels in the
tables are for other GPUs."""


def cudnn_serves_gpu(
    cudnn: str, capabilities: tuple[str, ...], tables: Tables, cuda: str | None = None
) -> Answer:
    """Whether a cuDNN release has kernels for GPUs with these compute capabilities. cuda: the CUDA major
    version for which that cuDNN is built ("12")."""
    row = tables.cudnn(cudnn, cuda)
    if row is None:
        return Answer("unknown", f"cuDNN {cudnn} is not in the tables")
    return row_serves_gpu(row, capabilities)


def row_serves_gpu(row: Cudnn, capabilities: tuple[str, ...]) -> Answer:
    """Whether the cuDNN release in this table row has kernels for GPUs with these compute capabilities."""
    if not capabilities:
        return Answer("yes", f"cuDNN {row.version} has kernels for GPUs, and no GPU is stated", (row,))
    from doctor.compat.gpu import code_for

    for capability in capabilities:
        if row.lowest is not None and dotted(capability) < dotted(row.lowest):
            return Answer(
                "no",
                f"cuDNN {row.version} has no kernels for compute capability {capability}: its kernels start"
                f" at {row.lowest}",
                (row,),
            )
        code = code_for(capability, row.capabilities, row.data.get("ptx") or ()) if row.capabilities else None
        if row.capabilities and code is None and capability in OF_TEGRA:
            return Answer(
                "unknown",
                f"NVIDIA builds a separate cuDNN {row.version} for its Jetson boards, which is not in the"
                " tables",
            )
        if row.capabilities and code is None:
            return Answer(
                "no", f"cuDNN {row.version} has no kernels for compute capability {capability}", (row,)
            )
        if code is not None and code.kind == "jit":
            return Answer(
                "unknown",
                f"cuDNN {row.version} has no machine code for compute capability {capability}, only "
                f"PTX for {code.target} in part of its libraries",
                (row,),
            )
    return Answer("yes", f"cuDNN {row.version} has kernels for {', '.join(capabilities)}", (row,))


def accepted_cudnn(build: TensorFlowRelease, tables: Tables, capabilities: tuple[str, ...] = ()) -> str:
    """Return the cuDNN releases that a build accepts and that have kernels for the GPUs, as text: "8", "8.6
    or a later 8", "8, up to 8.7", "8.1 to 8.7". build: a build that loads cuDNN. The upper bound comes from
    the tables' cuDNN rows for the build's CUDA."""
    major = str(build.cudnn).split(".", 1)[0]
    compiled = compiled_cudnn(build, tables)
    first = major if compiled is None else minor(compiled[0])
    cuda = cuda_major(build, tables)
    rows = sorted(
        (r for r in tables.cudnns() if r.version.split(".")[0] == major and (cuda is None or cuda in r.cuda)),
        key=lambda row: dotted(row.version),
    )
    serving = [row for row in rows if row_serves_gpu(row, capabilities).verdict != "no"]
    if serving and serving[-1] is not rows[-1]:
        last = minor(serving[-1].version)
        return last if last == first else f"{first}, up to {last}" if first == major else f"{first} to {last}"
    return first if first == major else f"{first} or a later {major}"


def _is_cuda(row: Library) -> bool:
    return row.data.get("product") == "CUDA" and row.first is not None


def _holds(row: Library, cuda: tuple[int, ...]) -> bool:
    return dotted(str(row.first)) <= cuda and (row.last is None or cuda <= dotted(row.last))


def _where(rows: list[Library]) -> str:
    """Return a clause that says which CUDA releases contain these libraries, grouped by release."""
    spans: dict[str, list[str]] = {}
    for row in rows:
        spans.setdefault(_span(row), []).append(row.soname)
    if len(spans) == 1 and len(rows) > 1:
        return f"they are in CUDA {next(iter(spans))}"
    return "; ".join(
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} in CUDA {span}"
        for span, names in spans.items()
    )


def _span(row: Library) -> str:
    """Return the CUDA releases that contain a library, as text."""
    if row.last is None:
        return f"{row.first} and later"
    return f"{row.first}" if row.first == row.last else f"{row.first} to {row.last}"
