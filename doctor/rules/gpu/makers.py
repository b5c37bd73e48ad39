"""The maker of the graphics device that a report describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import PROSE, OtherGpu

if TYPE_CHECKING:
    from doctor.case import Case


def only_another_makers(case: Case) -> bool:
    """Whether a report names a graphics device from a maker other than NVIDIA, and shows no NVIDIA device.

    False if a plugin uses that device.
    """
    facts = case.facts
    others = facts.of(OtherGpu)
    driver = case.driver is not None and case.driver.rank < PROSE
    return (
        facts.kind == "report"
        and bool(others)
        and not (case.gpus or driver or case.registered or facts.has("plugin-device", "smi-works"))
    )
