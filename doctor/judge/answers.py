"""Helpers for compatibility questions: the answer on which all builds agree, versions as numbers, and the
symptoms of a missing GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.facts import PROSE

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.compat import Answer


NO_DEVICE_SEEN = (
    "gpu-list-empty",
    "cpu-only-listed",
    "gpu-not-used",
    "uses-cpu",
    "gpu-not-found",
    "no-known-devices",
    "no-gpu-said",
)
"""Symptoms which show that TensorFlow has no GPU, for any reason."""


def minor_release(version: str) -> tuple[int, ...]:
    """Return the major and minor version as numbers: (2, 15) for "2.15.1"."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def agreed(answers: Sequence[Answer]) -> Answer | None:
    """Return the answer if all builds agree, otherwise None."""
    verdicts = {answer.verdict for answer in answers}
    return answers[-1] if len(verdicts) == 1 else None


def is_fit(answer: Answer | None) -> bool | None:
    """Whether the answer says that a part fits, or None if that is unknown or there is no answer."""
    return None if answer is None or answer.verdict == "unknown" else answer.verdict != "no"


def span(versions: Sequence[str]) -> str:
    """Return sorted versions as a range ("3.8 to 3.11"), or the version if there is only one."""
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def capability_number(capability: str) -> tuple[int, int]:
    """Return a compute capability as numbers: (9, 0) for "9.0a"."""
    first, _, second = capability.rstrip("af").partition(".")
    return int(first), int(second or 0)


def release_rank(case: Case) -> int:
    """Return how reliably the TensorFlow release is known: the rank of its fact, or PROSE if it is
    unknown."""
    return case.tensorflow.rank if case.tensorflow is not None else PROSE
