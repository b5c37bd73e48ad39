"""The step for conda and mamba, which offer builds for CUDA only where they see a driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import validated
from doctor.findings import Step, shell
from doctor.shell import Export

if TYPE_CHECKING:
    from doctor.case import Case


def sees_a_driver(case: Case) -> list[Step]:
    """The step after which the solver chooses a build for CUDA although it sees no driver; [] if the report
    has no message about that. `__cuda` is conda's name for the CUDA version that the driver supports (conda's
    documentation, "Managing virtual packages")."""
    conda = case.facts.symptoms("conda-no-driver")
    if not conda:
        return []
    digits = conda[0].get("cuda")
    cuda = validated.cuda(f"{digits[:-1]}.{digits[-1:]}") or "12.0"
    return [
        shell(
            Export("CONDA_OVERRIDE_CUDA", cuda),
            f"lets conda and mamba choose the build for CUDA {cuda} although they see no driver here; then"
            " run the same installation again in this shell (in a Dockerfile: in the same RUN line). It is"
            " needed for this command only: the program itself needs the driver of a machine with a GPU",
        )
    ]
