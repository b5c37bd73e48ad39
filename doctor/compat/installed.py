"""Answers whether a build runs with an installed driver, CUDA or cuDNN."""

from __future__ import annotations

from doctor.compat.answer import Answer
from doctor.compat.software import compiled_cudnn, cuda_major, cuda_of, driver_minimum, row_serves_gpu
from doctor.tables import Cudnn, DriverFloor, Library, Tables, TensorFlowRelease, Toolkit, dotted
from doctor.tables.versions import minor


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


def cudnn_serves_gpu(
    cudnn: str, capabilities: tuple[str, ...], tables: Tables, cuda: str | None = None
) -> Answer:
    """Whether a cuDNN release has kernels for GPUs with these compute capabilities. cuda: the CUDA major
    version for which that cuDNN is built ("12")."""
    row = tables.cudnn(cudnn, cuda)
    if row is None:
        return Answer("unknown", f"cuDNN {cudnn} is not in the tables")
    return row_serves_gpu(row, capabilities)


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
