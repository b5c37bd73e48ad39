"""The types of findings and their steps. Rules create them, and all later stages read them."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.facts import Facts, Source
from doctor.shell import Line, RefusedError, rendered
from doctor.values import dataclass, field, replace

SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("certain", "likely", "possible")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to one line of a file.

    line: the number of the line, from 1. old: its text, without surrounding white space and without a
    trailing comment. new: the replacement; "" removes the line.
    """

    file: str
    line: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a prescription.

    kind: "shell" (a command line that can be pasted), "python" (code for the program) or "manual". text: the
    text to show; for a shell step, it is made from the command. platform: linux, windows, wsl, macos, or ""
    if the step is the same on all platforms. needs_root: whether the command must run as an administrator;
    tfgpu-doctor never runs such a step. why: the reason, in one sentence. command: the command of a shell
    step. edit: the change of a line in a file, if the step changes nothing else. Raises ValueError for
    another kind, for an empty text, and for a shell step without a command.
    """

    kind: str
    text: str
    why: str = ""
    platform: str = ""
    needs_root: bool = False
    command: Line | None = None
    edit: Edit | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("shell", "python", "manual"):
            raise ValueError(f"a step is shell, python or manual, not {self.kind!r}")
        if not self.text.strip():
            raise ValueError("a step needs a text")
        if self.kind == "shell" and self.command is None:
            raise ValueError("a shell step needs a command")

    def on(self, platform: str | None) -> Step:
        """Return the step with its command written for the shell of `platform`. A step that has a platform
        stays unchanged."""
        if self.command is None or self.platform or not platform:
            return self
        return replace(_of_shell(self.command, self.why, "", self.needs_root, platform), edit=self.edit)


def shell(command: Line, why: str = "", *, platform: str = "", root: bool = False) -> Step:
    """Return a step with a command line to paste, or a manual step if the command cannot be written safely
    for a shell."""
    return _of_shell(command, why, platform, root, platform or "linux")


def _of_shell(command: Line, why: str, platform: str, root: bool, where: str) -> Step:
    try:
        return Step("shell", rendered(command, where), why, platform, root, command)
    except RefusedError as refused:
        text = (
            f"Rename {refused.value!r}, because no command that is safe to paste can contain it. Then run"
            " tfgpu-doctor again"
        )
        return Step("manual", text, why, platform, root, command)


def python(text: str, why: str = "") -> Step:
    """Return a step with code for the program that uses TensorFlow."""
    return Step("python", text, why)


def manual(text: str, why: str = "", *, platform: str = "", root: bool = False) -> Step:
    """Return a step that only a person can do."""
    return Step("manual", text, why, platform, root)


@dataclass(frozen=True, slots=True)
class Finding:
    """One root cause with its evidence, which is never empty.

    tables: citations of the rows of the compatibility tables that the conclusion uses. confidence: certain
    (the report or the machine proves the cause), likely, possible. consequences: other findings that follow
    from this cause. proof: the command that shows whether the steps helped. Raises ValueError for an unknown
    severity, and for missing evidence.
    """

    code: str
    severity: str
    title: str
    explanation: str
    evidence: tuple[Source, ...]
    tables: tuple[str, ...] = ()
    prescription: tuple[Step, ...] = ()
    proof: Step | None = None
    confidence: str = "certain"
    consequences: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"{self.code}: unknown severity {self.severity!r}")
        if self.confidence not in CONFIDENCES:
            raise ValueError(f"{self.code}: unknown confidence {self.confidence!r}")
        if not self.evidence:
            raise ValueError(f"{self.code}: a finding needs evidence")

    @property
    def verify(self) -> str:
        """The text of the command that checks the fix, or "" if none can be pasted."""
        return self.proof.text if self.proof is not None and self.proof.kind == "shell" else ""

    def on(self, platform: str | None) -> Finding:
        """Return the finding with its commands written for the shell of `platform`."""
        steps = tuple(step.on(platform) for step in self.prescription)
        return replace(self, prescription=steps, proof=self.proof.on(platform) if self.proof else None)

    def with_more(self, *, evidence: Iterable[Source] = (), consequences: Iterable[str] = ()) -> Finding:
        """Return the same finding with further evidence and consequences, without duplicates."""
        return replace(
            self,
            evidence=tuple(dict.fromkeys((*self.evidence, *evidence))),
            consequences=tuple(dict.fromkeys((*self.consequences, *consequences))),
        )


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another cause that remains possible.

    likelihood: from 0 to 1. evidence and against: the evidence for and against this cause. test: the command
    whose outcome distinguishes it from the verdict. shows: what that command prints if this is the cause.
    """

    code: str
    likelihood: float
    evidence: tuple[Source, ...]
    against: tuple[Source, ...]
    test: str
    shows: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """The comparison of one part of a case with what the TensorFlow build needs according to the tables.

    part: gpu, driver, cuda, cudnn, python, platform, package or program. have, needs: versions or names for
    people; have: "" if unknown; needs: "" if nothing is required. fits: True, False, or None if unknown.
    slow: the part fits, but the first start compiles code. code: the finding for a part that does not fit.
    reason: a sentence. rank: how well both sides are known (doctor.facts.MEASURED to INFERRED).
    """

    part: str
    have: str
    needs: str
    fits: bool | None
    evidence: tuple[Source, ...] = ()
    tables: tuple[str, ...] = ()
    reason: str = ""
    code: str = ""
    slow: bool = False
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not judge, and the reason."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result for one machine or one report; `findings[0]` is the verdict.

    compatibility: which parts fit, if TensorFlow's release is known or can be bounded. alternatives: other
    possible causes, the likeliest first.
    """

    facts: Facts
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = field(default=())
    compatibility: tuple[Part, ...] = ()
    alternatives: tuple[Alternative, ...] = ()

    @property
    def verdict(self) -> Finding:
        """The finding that a person should act on first."""
        return self.findings[0]

    @property
    def worst(self) -> str:
        """The highest severity among the findings."""
        return min((f.severity for f in self.findings), key=SEVERITIES.index)
