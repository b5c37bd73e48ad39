"""The base class of every fact, the facts that say that something is absent or could not be examined, and the
ranks that decide between contradictory values."""

from __future__ import annotations

import re

from doctor.values import dataclass

EVIDENCE_LIMIT = 400
"""The maximum number of characters to keep of a quoted line: enough for every decisive message, but limited
because of hostile input."""

# `rank` of a fact for which a case may have several values: the lowest rank wins.
MEASURED = 0  # a program printed the value, or a probe read it
FORM = 1  # a field of a report form states the value
PROSE = 2  # a sentence or a command states the value
INFERRED = 3  # the value follows from something else
OF_WORKING_RUN = 4  # somebody writes that TensorFlow works with this version; other facts take precedence

DECIDING = ("python", "python packages", "tensorflow", "libraries")
DECIDING_OF_DRIVER = ("libcuda", "nvidia driver", "driver libraries", "device nodes")
"""What the probes must have examined before a machine counts as healthy (values of `Unreadable.what`).
DECIDING_OF_DRIVER counts only if the driver did not answer."""
HOSTS_DRIVER, RUNNING_KERNEL = "the host's driver", "the running kernel"
"""`source.where` of an `Unreadable` for something that files alone cannot show: an image gets a driver only
when it runs, and the files of a stopped machine have no running kernel."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact comes from.

    where: a report's name, a file of the machine, a package, or a call ("libcuda.so.1: cuInit"). line: the
    line number in `where`, from 1, or None if there are no lines. text: the line or value itself, as seen
    (cut at EVIDENCE_LIMIT characters).
    """

    where: str
    line: int | None = None
    text: str = ""

    def __str__(self) -> str:
        return self.where if self.line is None else f"{self.where}:{self.line}"


@dataclass(frozen=True, slots=True)
class Fact:
    """One observation. source: where it was observed."""

    source: Source


@dataclass(frozen=True, slots=True)
class Absent(Fact):
    """Something that was searched for and is absent. what: its name in the probes ("nvidia kernel module",
    "tensorflow")."""

    what: str


@dataclass(frozen=True, slots=True)
class Unreadable(Fact):
    """Something that could not be examined. what: as in Absent; reason: why (permission, time-out)."""

    what: str
    reason: str


def normalised(name: str) -> str:
    """Return the normalised name of a Python distribution, for comparison (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def in_words(name: str) -> str:
    """Return the name of a fact's type for people: "tensorflow version" for "TensorFlowVersion". The names of
    symptoms and of variables stay as they are."""
    if name.isupper():
        return name
    return re.sub("[A-Z]", lambda c: f" {c[0].lower()}", name.replace("TensorFlow", "Tensorflow")).strip()
