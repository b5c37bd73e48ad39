"""Findings and prescriptions: what rules produce and everything after them reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING

from doctor.facts import Facts, Source

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from doctor.values import dataclass  # the same to everybody, and quick to define


SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("certain", "likely", "possible")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do.

    kind: "shell" (a command line that can be pasted), "python" (code for the program) or "manual".
    platform: linux, windows, wsl, macos, or "" where it is the same everywhere.
    needs_root: the command has to run as an administrator; tfgpu-doctor never runs such a step.
    why: one sentence.
    """

    kind: str
    text: str
    why: str = ""
    platform: str = ""
    needs_root: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ("shell", "python", "manual"):
            raise ValueError(f"a step is shell, python or manual, not {self.kind!r}")
        if not self.text.strip():
            raise ValueError("a step without text")


def shell(text: str, why: str = "", *, platform: str = "", root: bool = False) -> Step:
    """A command line to paste."""
    return Step("shell", text, why, platform, root)


def python(text: str, why: str = "") -> Step:
    """Code for the program that uses TensorFlow."""
    return Step("python", text, why)


def manual(text: str, why: str = "", *, platform: str = "", root: bool = False) -> Step:
    """Something that only a person can do."""
    return Step("manual", text, why, platform, root)


@dataclass(frozen=True, slots=True)
class Finding:
    """One root cause with its evidence; cannot be built without any.

    tables: the rows of the compatibility tables that the conclusion uses, as people read them.
    confidence: certain (the text or the machine says it), likely, possible.
    consequences: what else was seen that follows from this cause.
    Raises ValueError for an unknown severity, and where there is no evidence.
    """

    code: str
    severity: str
    title: str
    explanation: str
    evidence: tuple[Source, ...]
    tables: tuple[str, ...] = ()
    prescription: tuple[Step, ...] = ()
    verify: str = ""
    confidence: str = "certain"
    consequences: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"{self.code}: severity {self.severity!r}")
        if self.confidence not in CONFIDENCES:
            raise ValueError(f"{self.code}: confidence {self.confidence!r}")
        if not self.evidence:
            raise ValueError(f"{self.code}: a finding needs evidence")

    def with_more(self, *, evidence: Iterable[Source] = (), consequences: Iterable[str] = ()) -> Finding:
        """The same finding with further evidence and consequences, each named once."""
        return replace(
            self,
            evidence=tuple(dict.fromkeys((*self.evidence, *evidence))),
            consequences=tuple(dict.fromkeys((*self.consequences, *consequences))),
        )


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not judge, and why."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result for one machine or one report; `findings[0]` is the verdict."""

    facts: Facts
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = field(default=())

    @property
    def verdict(self) -> Finding:
        """The finding that a person should act on first."""
        return self.findings[0]

    @property
    def worst(self) -> str:
        """The highest severity among the findings."""
        return min((f.severity for f in self.findings), key=SEVERITIES.index)
