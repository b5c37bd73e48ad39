"""The TensorFlow releases that a report may be about, if it does not state the release: what its log, its
Python and its CUDA leave over."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.tables.ordering import order
from doctor.tables.releases import published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doctor.case.case import Case
    from doctor.tables import TensorFlowRelease

_MARKS = (
    (r"tensorflow_core[/\\]", "1.15", "2.1"),
    (r"Not creating XLA devices, tf_xla_enable_xla_devices not set", "2.4", "2.4"),
    (r"(?<![\w/\\])tensorflow[/\\]stream_executor[/\\]platform[/\\]default[/\\]dso_loader", "1.14", "2.10"),
    (r"(?<![\w/\\])tensorflow[/\\]stream_executor[/\\]", "", "2.10"),
    (r"(?<![\w/\\])tensorflow[/\\]compiler[/\\]xla[/\\]stream_executor[/\\]", "2.11", "2.14"),
    (r"(?<![\w/\\])tensorflow[/\\]tsl[/\\]", "2.11", "2.14"),
    (r"(?<![\w/\\])external[/\\]local_(?:tsl|xla)[/\\]", "2.15", ""),
    (r"[/\\]tensorflow[/\\]contrib[/\\]", "", "1.15"),
    (r"cudaGetErrorString symbol not found", "1.14", ""),
)
"""Texts in a log or a traceback, with the first and the last minor release that prints them ("": the first or
last of all). The wheels of 1.15 to 2.1 have tensorflow_core; 2.5 prints the line about XLA devices only if
asked (VLOG(1) in tensorflow/compiler/jit/xla_cpu_device.cc). The source files' folders are those of the
recorded logs (2.12 to 2.20), and of the 5,300 labelled reports that state their release."""
_BEFORE = timedelta(days=120)
"""A log may come from a release candidate or a nightly build, this long before the final release."""
_SOURCE = lazy.compile("|".join(f"(?:{mark})" for mark, _, _ in _MARKS))


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def printing(case: Case) -> Callable[[TensorFlowRelease], bool]:
    """Return a function that says whether a release prints the messages of the report. It is true for every
    release if the case is about a machine."""
    bounds: set[tuple[str, str]] = set()
    day = log_day(case)
    if case.facts.kind == "report":
        for text in {fact.source.text for fact in case.facts}:
            if _SOURCE.search(text):
                bounds |= {(first, last) for mark, first, last in _MARKS if re.search(mark, text)}
    days = published(case.tables.store) if day is not None else {}
    low = max((_minor(first) for first, _ in bounds if first), default=())
    high = min((_minor(last) for _, last in bounds if last), default=())

    def prints(build: TensorFlowRelease) -> bool:
        minor = _minor(build.version)
        out = days.get(".".join(map(str, minor)))  # a minor version without a row bounds nothing
        if day is not None and out is not None and date.fromisoformat(out) - _BEFORE > day:
            return False
        return low <= minor and (not high or minor <= high)

    return prints


def log_day(case: Case) -> date | None:
    """Return the day on which the log in a report was written, or None if there is none."""
    if case.facts.kind != "report":
        return None
    for said in case.facts.symptoms("log-day"):
        try:
            return date.fromisoformat(said.get("day"))
        except ValueError:
            continue
    return None


def narrowed(
    builds: Sequence[TensorFlowRelease], *conditions: Callable[[TensorFlowRelease], bool]
) -> Sequence[TensorFlowRelease]:
    """Return the builds that fulfil the conditions. A condition that would leave none is ignored, because the
    report then mixes several releases."""
    for condition in conditions:
        builds = [build for build in builds if condition(build)] or builds
    return builds


def span(case: Case) -> tuple[str, str] | None:
    """Return the oldest and the newest release that the case may be about, or None if nothing bounds them.

    The installed CUDA counts only up to 10.2: nvidia-smi also shows a CUDA version, that of the driver, and
    people state it as theirs.
    """
    everything = [row for row in case.tables.releases(case.table_platform) if row.pythons]
    wanted = {build.version for build in case.builds}
    python = re.match(r"\d+\.\d+", case.python.version) if case.python is not None else None
    cuda = re.match(r"\d+\.\d+", case.cuda.version) if case.cuda is not None else None
    conditions: list[Callable[[TensorFlowRelease], bool]] = []
    if wanted:
        conditions.append(lambda row: row.version in wanted)
    conditions.append(printing(case))
    if python is not None:
        conditions.append(lambda row: python[0] in row.pythons)
    if cuda is not None and order(cuda[0]) < order("11"):
        conditions.append(lambda row: (row.cuda or "").startswith(cuda[0]))
    return _ends(everything, narrowed(everything, *conditions))


def _ends(
    everything: Sequence[TensorFlowRelease], left: Iterable[TensorFlowRelease]
) -> tuple[str, str] | None:
    versions = sorted({row.version for row in left}, key=order)
    whole = {row.version for row in everything}
    return (versions[0], versions[-1]) if versions and len(versions) < len(whole) else None
