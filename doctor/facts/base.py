"""The base of every fact, the two states other than "seen", and the ranks that decide between contradicting
values."""

from __future__ import annotations

import re

from doctor.values import dataclass

EVIDENCE_LIMIT = 400
"""The most characters of a quoted line that are kept: enough for every decisive message, bounded for hostile
input."""

# `rank` of a fact for which a case may have several values: the lowest wins.
MEASURED = 0  # a program printed it, or a probe read it
FORM = 1  # a field of a report form says so
PROSE = 2  # a sentence or a command says so
INFERRED = 3  # it follows from something else
OF_WORKING_RUN = 4  # a version with which somebody says it works: counts only if nothing else is stated

DECIDING = ("python", "python packages", "tensorflow", "libraries")
DECIDING_OF_DRIVER = ("libcuda", "nvidia driver", "driver libraries", "device nodes")
"""What the probes must have examined before a machine counts as healthy (values of `Unreadable.what`); the
driver's parts only if the driver did not answer."""
HOSTS_DRIVER, RUNNING_KERNEL = "the host's driver", "the running kernel"
"""`source.where` of an `Unreadable` that cannot be examined at rest: an image gets a driver when it runs, and
a stopped machine's files have no running kernel."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact comes from.

    where: a report's name, a file of the machine, a package, a call ("libcuda.so.1: cuInit"). line: 1-based
    line in `where`, None if there are no lines. text: the line or value itself, as seen (cut at
    EVIDENCE_LIMIT characters).
    """

    where: str
    line: int | None = None
    text: str = ""

    def __str__(self) -> str:
        return self.where if self.line is None else f"{self.where}:{self.line}"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was seen; `source` says where."""

    source: Source


@dataclass(frozen=True, slots=True)
class Absent(Fact):
    """Something that was searched for and is absent: `what` is a name from the probes ("nvidia kernel
    module", "tensorflow")."""

    what: str


@dataclass(frozen=True, slots=True)
class Unreadable(Fact):
    """Something that could not be examined: `what` as in Absent; `reason` says why (permission, time-out)."""

    what: str
    reason: str


def normalised(name: str) -> str:
    """A distribution's name in the form in which names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
