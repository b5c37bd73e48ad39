"""driver-too-old: the CUDA runtime in use needs a newer driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import PROSE, DriverVersion
from doctor.findings import Finding, manual
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.remedies.fitness import situation
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.shell import run
from doctor.tables.versions import driver_at_least

if TYPE_CHECKING:
    from doctor import compat
    from doctor.tables import DriverFloor


def driver_trap(picture: Picture) -> compat.Answer | None:
    """On a machine: kernels of this build that this GPU has only as PTX, which its driver is too old to compile."""
    if picture.facts.kind != "machine" or picture.driver is None or picture.build is None:
        return None
    from doctor import compat

    for gpu in picture.gpus:
        if gpu.compute_capability is None:
            continue
        here = situation(picture, capabilities=(gpu.compute_capability,))
        for trap in compat.traps_of(picture.build, here, picture.tables):
            if trap.data["aspect"] == "driver" and "driver_cuda" in trap.data["when"] and trap.verdict == "no":
                return compat.Answer("no", trap.reason, (trap, picture.build), trap.cure)
    return None


def _serves(driver: DriverVersion | None, floor: DriverFloor | None, picture: Picture) -> bool:
    """Whether a driver below a toolkit's floor, which is the driver of its last update, came with its first release.

    The runtime asks only that the driver's CUDA is its own minor release or a later one (cudart: cudaErrorInsufficientDriver).
    """
    first = picture.tables.toolkit(floor.cuda) if floor is not None and floor.rule == "toolkit" else None
    if driver is None or floor is None or first is None:
        return False
    made_with = first.windows if floor.platform == "windows" else first.linux
    return made_with is not None and driver_at_least(driver.version, made_with)


@rule(
    "driver-too-old",
    "The NVIDIA driver is too old for the CUDA runtime in use",
    explains=("gpu-hidden", "ptx-jit-or-kernel-crash", "cudnn-init-oom", "gpu-bad-state", "device-not-found"),
    needs=("driver-insufficient", "ptx-unsupported", "container-requirement", "driver-said-old", DriverVersion),
)
def driver_too_old(picture: Picture) -> Iterator[Finding]:
    """The driver is older than the CUDA runtime needs.

    ## What it means
    Each CUDA runtime needs a minimum driver: before CUDA 11 the toolkit's own, from 11 on one floor for all minor versions of a
    major (11.x from 450.80.02, 12.x from 525.60.13, 13.x from 580.65.06 on Linux). Kernels that exist only as PTX need a driver
    of that PTX version.

    ## How it shows
    `CUDA driver version is insufficient for CUDA runtime version`, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, the container runtime's
    `unsatisfied condition: cuda>=…`.

    ## What to do
    Upgrade the driver, or install a TensorFlow built for a CUDA that the driver serves.
    """
    facts = picture.facts
    said = facts.symptoms("driver-insufficient", "ptx-unsupported", "container-requirement")
    side = picture.platform if picture.platform in ("windows", "wsl") else "linux"
    driver = picture.driver
    floors = [f for f in (picture.tables.driver_floor(w, side) for w in picture.wanted_cuda) if f is not None]
    floor = floors[0] if len({f.driver for f in floors}) == 1 else None

    trapped = driver_trap(picture)
    if trapped is not None and not said and not registered(picture):
        yield found(
            "driver-too-old",
            f"{trapped.reason[0].upper()}{trapped.reason[1:]}.",
            [driver, *picture.gpus[:1], picture.tensorflow],
            tables=trapped.rows,
            steps=commands.driver_install(picture),
            verify=run("nvidia-smi"),
        )
        return
    below = (
        driver is not None
        and floor is not None
        and driver.rank <= PROSE
        and picture.build is not None
        and not driver_at_least(driver.version, floor.driver)
        and not _serves(driver, floor, picture)
        and not registered(picture)
    )
    blamed = [] if registered(picture) else facts.symptoms("driver-said-old")
    if not said and not below and not blamed:
        return
    detail = ""
    if (
        driver is not None
        and floor is not None
        and not driver_at_least(driver.version, floor.driver)
        and not _serves(driver, floor, picture)
    ):
        detail = f" CUDA {floor.cuda} needs driver {floor.driver} or later; this one is {driver.version}."
    steps = commands.driver_install(picture)
    offered = (
        picture.driver_cuda.version
        if picture.driver_cuda
        else picture.tables.driver_cuda(driver.version, side)
        if driver
        else None
    )
    known = f" --driver {driver.version}" if driver and validated.version(driver.version) else ""
    if offered:
        steps = [
            *steps,
            manual(
                f"Or keep the driver, which offers CUDA {offered}: "
                f"tfgpu-doctor plan{known} names the TensorFlow that fits"
            ),
        ]
    yield found(
        "driver-too-old",
        "The CUDA runtime that TensorFlow uses asks for a newer driver." + detail,
        [*said[:3], driver, *blamed[:2]],
        confidence="certain" if said else "likely" if below else "possible",
        tables=[floor, picture.build] if floor else [],
        steps=steps,
        verify=run("nvidia-smi"),
    )
