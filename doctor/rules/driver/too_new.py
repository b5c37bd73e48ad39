"""driver-too-new: the driver's branch no longer supports this GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import DriverVersion, Gpu
from doctor.findings import Finding
from doctor.remedies import commands
from doctor.rules.driver.signs import unserved_gpus
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "driver-too-new",
    "The NVIDIA driver's branch no longer supports this GPU",
    explains=("driver-not-loaded", "gpu-absent", "gpu-bad-state", "device-permission", "driver-missing"),
    needs=("driver-legacy", DriverVersion, Gpu),
)
def driver_too_new(case: Case) -> Iterator[Finding]:
    """The driver's branch no longer supports this GPU.

    ## What it means
    Some driver branches drop old GPU architectures: R495 dropped Kepler, R590 dropped Maxwell, Pascal and
    Volta. A newer driver installs without an error, but its kernel module ignores the GPU.

    ## What you see
    `NVRM: The NVIDIA … GPU installed in this system is supported through the NVIDIA 470.xx Legacy drivers` in
    the kernel log; nvidia-smi finds no devices after a driver upgrade.

    ## What to do
    Install the last branch that supports the GPU, and pin it.
    """
    printed = case.facts.symptoms("driver-legacy")
    dropped = unserved_gpus(case, "last driver branch")
    if registered(case) or not (printed or dropped):
        return
    branch = (printed[0].get("branch") or printed[0].get("b2")) if printed else ""
    text = (
        f"{dropped[0][1].reason[0].upper()}{dropped[0][1].reason[1:]}."
        if dropped
        else f"The kernel module ignores this GPU and says that the GPU needs the driver branch {branch}."
    )
    yield found(
        "driver-too-new",
        text,
        [*printed[:2], case.driver, *(gpu for gpu, _ in dropped[:1])],
        confidence="certain" if printed or case.facts.kind == "machine" else "likely",
        tables=[row for _, answer in dropped[:1] for row in answer.rows],
        steps=commands.driver_install(case, replacing=True),
        verify=run("nvidia-smi"),
    )
