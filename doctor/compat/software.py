"""Finds out which driver, CUDA and cuDNN a build needs."""

from __future__ import annotations

from doctor.compat.answer import Answer
from doctor.tables import Cudnn, DriverFloor, Row, Tables, TensorFlowRelease, dotted
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
    or a later 8.x", "8, up to 8.7", "8.1 to 8.7". build: a build that loads cuDNN. The upper bound comes from
    the tables' cuDNN rows for the build's CUDA."""
    major = str(build.cudnn).split(".", 1)[0]
    compiled = compiled_cudnn(build, tables)
    first = major if compiled is None else minor(compiled[0])
    cuda = cuda_major(build, tables)
    every = tables.cudnns() if capabilities else ()  # without a GPU, there is no upper bound
    rows = sorted(
        (r for r in every if r.version.split(".")[0] == major and (cuda is None or cuda in r.cuda)),
        key=lambda row: dotted(row.version),
    )
    serving = [row for row in rows if row_serves_gpu(row, capabilities).verdict != "no"]
    if serving and serving[-1] is not rows[-1]:
        last = minor(serving[-1].version)
        return last if last == first else f"{first}, up to {last}" if first == major else f"{first} to {last}"
    return first if first == major else f"{first} or a later {major}.x"
