"""driver-too-old: the CUDA runtime in use needs a newer driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import PROSE, DriverVersion, Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands, cures
from doctor.remedies.fitness import installation, situation, usable
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import unserved_gpus
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.shell import run
from doctor.tables import dotted
from doctor.tables.versions import driver_at_least

if TYPE_CHECKING:
    from doctor import compat
    from doctor.case import Case
    from doctor.tables import DriverFloor


def driver_trap(case: Case) -> compat.Answer | None:
    """Return the answer for a known defect (a row of traps.json): this build has kernels for this GPU only as
    PTX, and the driver is too old to compile them. None if no such defect applies, or for a report."""
    if case.facts.kind != "machine" or case.driver is None or case.build is None:
        return None
    from doctor import compat

    for gpu in case.gpus:
        if gpu.compute_capability is None:
            continue
        here = situation(case, capabilities=(gpu.compute_capability,))
        for trap in compat.traps_of(case.build, here, case.tables):
            if (
                trap.data["aspect"] == "driver"
                and "driver_cuda" in trap.data["when"]
                and trap.verdict == "no"
            ):
                return compat.Answer("no", trap.reason, (trap, case.build), trap.cure)
    return None


def _is_below(driver: DriverVersion | None, floor: DriverFloor | None, case: Case) -> bool:
    """Whether a driver is too old for a row of the table of minimum drivers; False if either is unknown.

    For a toolkit, the table's minimum is the driver that came with the toolkit's last update, but the driver
    that came with its first release works too: the runtime only requires that the driver supports the same or
    a later CUDA minor release (cudart: cudaErrorInsufficientDriver)."""
    if driver is None or floor is None or driver_at_least(driver.version, floor.driver):
        return False
    first = case.tables.toolkit(floor.cuda) if floor.rule == "toolkit" else None
    made_with = first and (first.windows if floor.platform == "windows" else first.linux)
    return not (made_with and driver_at_least(driver.version, made_with))


def _newer_than_ptxas(case: Case, cuda: str) -> list[Step]:
    """Return the steps that install a driver as new as XLA's compiler: from the branch released with `cuda`
    ("12.3"), the compiler's CUDA version. If that branch no longer supports the GPU, return a step that says
    to keep the driver."""
    made_with = case.tables.toolkit(cuda)
    branch = ((made_with.linux if made_with else "") or "").split(".")[0]
    lasts = [row.last_driver for c in case.capabilities if (row := case.tables.architecture(c)) is not None]
    if branch and any(last and int(last) < int(branch) for last in lasts):
        return [
            manual("Keep the driver: no driver for this GPU supports a CUDA version as new as the compiler's")
        ]
    return commands.driver_install(case, minimum=branch)


@rule(
    "driver-too-old",
    "The NVIDIA driver is too old for the CUDA runtime in use",
    explains=("gpu-hidden", "ptx-jit-or-kernel-crash", "cudnn-init-oom", "gpu-bad-state", "device-not-found"),
    needs=(
        "driver-insufficient",
        "ptx-unsupported",
        "container-requirement",
        "driver-said-old",
        "driver-below-ptxas",
        DriverVersion,
    ),
)
def driver_too_old(case: Case) -> Iterator[Finding]:
    """The driver is older than the CUDA runtime needs.

    ## What it means
    Each CUDA runtime needs a minimum driver version. Before CUDA 11, each toolkit has its own minimum; since
    CUDA 11, there is one minimum for all minor versions of a major version (on Linux 450.80.02 for 11.x,
    525.60.13 for 12.x, 580.65.06 for 13.x). Kernels that exist only as PTX need a driver that supports that
    PTX version.

    ## What you see
    `CUDA driver version is insufficient for CUDA runtime version`, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, or the
    container runtime's `unsatisfied condition: cuda>=…`.

    ## What to do
    Upgrade the driver, or install a TensorFlow build for a CUDA version that the driver supports.
    """
    facts = case.facts
    said = facts.symptoms("driver-insufficient", "ptx-unsupported", "container-requirement")
    side = case.platform if case.platform in ("windows", "wsl") else "linux"
    driver = case.driver
    floors = [f for f in (case.tables.driver_floor(w, side) for w in case.wanted_cuda) if f is not None]
    floor = floors[0] if len({f.driver for f in floors}) == 1 else None

    trapped = driver_trap(case)
    if trapped is not None and not said and not registered(case):
        yield found(
            "driver-too-old",
            f"{trapped.reason[0].upper()}{trapped.reason[1:]}.",
            [driver, *case.gpus[:1], case.tensorflow],
            tables=trapped.rows,
            steps=commands.driver_install(case),
            verify=run("nvidia-smi"),
        )
        return
    with_cuda = case.build is None or case.build.gpu  # a build without CUDA needs no driver
    unserved = unserved_gpus(case, "came with CUDA") if with_cuda and not said else []
    # a driver older than the first CUDA for a card's architecture may still support it: a sign is needed
    refused = cuinit(case, "CUDA_ERROR_NO_DEVICE")
    signs = [*facts.symptoms("smi-no-devices", "gpu-not-driven")[:1], refused]
    if unserved and any(signs):
        gpu, answer = unserved[0]
        yield found(
            "driver-too-old",
            f"The driver does not know this GPU: {answer.reason}.",
            [driver, gpu, *signs],
            title="The NVIDIA driver is too old for this GPU",
            confidence="certain" if facts.kind == "machine" else "likely",
            tables=answer.rows,
            steps=commands.driver_install(case),
            verify=run("nvidia-smi"),
        )
        return
    too_low = _is_below(driver, floor, case)
    below = (
        too_low
        and driver is not None
        and driver.rank <= PROSE
        and case.build is not None
        and not registered(case)
    )
    blamed = [] if registered(case) else facts.symptoms("driver-said-old")
    slower = facts.symptoms("driver-below-ptxas")
    if slower and not said and not below:
        yield found(
            "driver-too-old",
            f"The driver supports CUDA {slower[0].get('offered')}, but XLA's compiler comes from CUDA"
            f" {slower[0].get('ptxas')}. Everything runs, but XLA compiles with one thread instead of"
            f" several, so the first steps take longer.",
            [*slower[:1], driver],
            title="The driver is older than XLA's compiler, which makes compilation slower",
            severity="warning",
            steps=_newer_than_ptxas(case, slower[0].get("ptxas")),
            verify=run("nvidia-smi"),
        )
        return
    if not said and not below and not blamed:
        return
    refused_anyway = facts.kind == "report" and facts.has("driver-insufficient") and not too_low
    if refused_anyway and floor is not None and driver is not None and case.build is not None:
        yield _another_runtime(case, driver, floor, said)
        return
    detail = ""
    if too_low and driver is not None and floor is not None:
        detail = f" CUDA {floor.cuda} needs driver {floor.driver} or later; this driver is {driver.version}."
    last = _last_branch(case)
    if last is not None and floor is not None and dotted(floor.driver)[0] > last:
        cure = cures.another_build(case)
        yield found(
            "driver-too-old",
            f"The CUDA runtime that TensorFlow uses needs a newer driver.{detail} R{last} is the last driver"
            " branch for this GPU, so only another TensorFlow release helps.",
            [*said[:3], driver, *case.gpus[:1]],
            confidence="certain" if said else "likely" if below else "possible",
            tables=[floor, case.build],
            steps=cure.steps,
            verify=cure.lists_gpus(case),
        )
        return
    steps = commands.driver_install(case)
    offered = case.driver_cuda.version if case.driver_cuda else None
    if offered is None and driver is not None:
        offered = case.tables.driver_cuda(driver.version, side)
    if offered:
        known = f" --driver {driver.version}" if driver and validated.version(driver.version) else ""
        steps.append(
            manual(
                f"Or keep the driver, which supports CUDA {offered}: "
                f"tfgpu-doctor plan{known} prints the TensorFlow release that fits"
            )
        )
    yield found(
        "driver-too-old",
        "The CUDA runtime that TensorFlow uses needs a newer driver." + detail,
        [*said[:3], driver, *blamed[:2]],
        confidence="certain" if said else "likely" if below else "possible",
        tables=[floor, case.build] if floor else [],
        steps=steps,
        verify=run("nvidia-smi"),
    )


def _last_branch(case: Case) -> int | None:
    """Return the last driver branch that supports every GPU of the case, or None if the newest one does."""
    rows = [case.tables.architecture(capability) for capability in case.capabilities]
    return min((int(row.last_driver) for row in rows if row is not None and row.last_driver), default=None)


def _another_runtime(
    case: Case, driver: DriverVersion, floor: DriverFloor, said: Sequence[Symptom]
) -> Finding:
    """Return the finding for a driver that CUDA calls insufficient although it is new enough for the CUDA of
    pip's build: the program then loads a newer runtime. conda's tensorflow-gpu, for example, does not always
    use the CUDA release of pip's (ContinuumIO/anaconda-issues 10224)."""
    steps = [shell(run("conda", "list", "cudatoolkit"), "shows the CUDA runtime of a conda environment")]
    if case.build is not None and usable(case, case.build):
        steps.append(
            shell(
                commands.pip(case, "install", *installation(case, case.build, bare=True).requirements),
                f"if it is newer than CUDA {floor.cuda}: replaces conda's TensorFlow, which you must remove"
                f" first; or install cudatoolkit={floor.cuda} with conda's build of TensorFlow for it",
            )
        )
    newer = commands.driver_install(case, minimum="")
    steps += commands.introduced("or install a driver that is new enough for that runtime: ", newer)
    return found(
        "driver-too-old",
        f"The CUDA runtime that TensorFlow loads needs a newer driver. Driver {driver.version} is new enough"
        f" for CUDA {floor.cuda}, for which pip's TensorFlow was made. So the program probably loads a newer"
        " runtime, such as that of a conda package, or an older copy of the driver's library.",
        [*said[:3], driver],
        tables=[floor, case.build],
        steps=steps,
        verify=commands.list_gpus(case),
    )
