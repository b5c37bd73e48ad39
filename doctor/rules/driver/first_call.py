"""What cuInit answered, the first call to the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import CudaCallFailed

if TYPE_CHECKING:
    from doctor.case import Case


def cuinit(case: Case, *errors: str) -> CudaCallFailed | None:
    """Return the first failed cuInit call with one of these errors, or with any error if none is given; None
    if there is no such call."""
    return next(
        (
            c
            for c in case.facts.of(CudaCallFailed)
            if c.call == "cuInit" and (not errors or c.error in errors)
        ),
        None,
    )
