"""Makes a diagnosis from facts and tables: the rules judge the facts, findings with the same cause are
merged, and the verdict is put first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from doctor.case import Case
from doctor.errors import DefectError
from doctor.facts import (
    CudaCallFailed,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    Facts,
    Gpu,
    GpuRegistered,
    RestatedFinding,
    TensorFlowVersion,
)
from doctor.findings import CONFIDENCES, SEVERITIES, Diagnosis, Finding, Part, Skipped
from doctor.judge import compatibility
from doctor.judge.hypotheses import in_prose
from doctor.judge.rank import ranked
from doctor.judge.stated import BY_VERSIONS
from doctor.remedies import without_pip
from doctor.rules import ORDER, Rule, RuleSet, rule_set
from doctor.tables import Tables
from doctor.tables.store import TableError
from doctor.values import replace

CALM = ("benign-messages", "healthy", "undetermined")
"""Codes whose rules are asked only if no other rule has found more than a remark."""


def diagnose(facts: Facts, tables: Tables, rules: Iterable[Rule] | None = None) -> Diagnosis:
    """Diagnose a machine or a report.

    The findings are never empty: if no rule finds a cause, the verdict is benign-messages, healthy or
    undetermined. Raises DefectError if a rule fails, because a verdict without that rule may be wrong.
    """
    skipped: list[Skipped] = []
    case, by_rules, parts = gathered(facts, tables, rules, skipped)
    try:
        ordered, others = ranked(by_rules, case, parts)
    except TableError as error:
        raise DefectError(f"a table cannot be read: {error}") from error
    except ValueError as error:  # a record contains an invalid version; the rules' findings remain
        ordered, others = by_rules, ()
        skipped.append(Skipped("undetermined", f"other causes were not judged: {error}"))
    findings = [_here(finding, case) for finding in ordered]
    findings[:1] = [compared(verdict, case) for verdict in findings[:1]]
    codes = {other.code for other in others}
    findings = [_apart(finding, codes) for finding in findings]
    named = {finding.code for finding in findings}  # ranking may add a finding whose rule was skipped
    unjudged = tuple(skip for skip in skipped if skip.code not in named)
    if facts.of(RestatedFinding):
        from doctor.restated import restated

        findings = restated(findings, facts)
    return Diagnosis(facts, tuple(findings), unjudged, parts, others)


def _apart(finding: Finding, others: Collection[str]) -> Finding:
    """Return a finding without the consequences that may be causes themselves. others: the codes of the other
    possible causes."""
    kept = tuple(one for one in finding.consequences if one.partition(":")[0] not in others)
    return replace(finding, consequences=kept)


def gathered(
    facts: Facts,
    tables: Tables,
    rules: Iterable[Rule] | None = None,
    skipped: list[Skipped] | None = None,
    stages: list[tuple[str, list[Finding]]] | None = None,
) -> tuple[Case, list[Finding], tuple[Part, ...]]:
    """Return the basis for a verdict: the case, the findings of the rules, and which versions fit.

    skipped: a list to which the rules that could not judge are added. stages: a list to which each step adds
    its name and the findings after the step.
    """
    skipped = [] if skipped is None else skipped
    case = Case(facts, tables)
    findings: list[Finding] = []
    judges = rule_set() if rules is None else RuleSet.of(rules)
    ready = judges.ready(case.seen)
    for code in judges.codes:
        if code in CALM and not all(_incidental(finding) for finding in findings):
            continue
        if code not in ready:
            skipped.append(_not_ready(code))
            continue
        try:
            findings.extend(judges.by_code[code].judge(case))
        except (MemoryError, RecursionError):  # a fault of the machine or of the input
            raise
        except Exception as error:
            raise DefectError(f"the rule {code} failed: {type(error).__name__}: {error}") from error
    sure = surer(findings, case)
    importing = before_the_import(sure, case)
    left = overcome(importing, case)
    by_rules = merged(left, judges.by_code)
    if stages is not None:
        names = (
            "rules", "there is a more certain cause", "the import fails before it matters",
            "a later run got past it", "merged",
        )  # fmt: skip
        stages += zip(names, (findings, sure, importing, left, by_rules))
    try:
        return case, by_rules, compatibility.parts(case)
    except TableError as error:
        raise DefectError(f"a table cannot be read: {error}") from error
    except ValueError as error:  # a record contains an invalid version; the rules' findings remain
        skipped.append(Skipped("undetermined", f"the versions were not compared: {error}"))
        return case, by_rules, ()


def _here(finding: Finding, case: Case) -> Finding:
    """Return the finding, adapted to the case: only steps that fit, commands for its shell, and a citation of
    the table row of its TensorFlow release."""
    if case.facts.has("binding") or case.named:
        from doctor.remedies import bindings

        finding = bindings.reworded(finding, case)
    steps = fitting(finding, case.platform)
    if case.python is not None:
        from doctor.rules.tensorflow.another_python import with_its_python

        steps = with_its_python(steps, case)
    if case.facts.kind == "machine":
        steps = without_pip.reworded(steps, case)
    worded = steps.on(case.platform)
    if case.bringing is None or not worded.tables:
        return worded
    return replace(worded, tables=tuple(dict.fromkeys((*worded.tables, case.bringing.rows[0].ref))))


def _incidental(finding: Finding) -> bool:
    """Whether a finding is only a remark about a machine or a run that otherwise works."""
    return finding.severity == "info" and finding.confidence == "possible" and finding.code not in CALM


@lru_cache(maxsize=None)
def _not_ready(code: str) -> Skipped:
    return Skipped(code, "no relevant fact was found")


PLATFORMS_OF_STEPS = {
    "linux": ("", "linux"),
    "macos": ("", "macos"),
    "windows": ("", "windows", "wsl"),
    "wsl": ("", "wsl", "linux", "windows"),
}
"""For each platform, the platforms whose steps a person there can do ("": a step for all platforms)."""


def fitting(finding: Finding, platform: str | None) -> Finding:
    """Return the finding without steps for platforms other than the case's.

    If no step would be left, the platform is probably wrong, not the steps, so all steps stay.
    """
    steps = tuple(
        s
        for s in finding.prescription
        if platform is None or s.platform in PLATFORMS_OF_STEPS.get(platform, ("",))
    )
    return replace(finding, prescription=steps) if 0 < len(steps) < len(finding.prescription) else finding


MISFITS = ("cuda-version-mismatch", "cudnn-version-mismatch")
"""Codes of findings about version conflicts, which people suspect first."""
VERSIONS = (Gpu, TensorFlowVersion, CudaVersion, CudnnVersion, DriverVersion)
"""The types of facts that only state which hardware or version is present."""


def surer(findings: list[Finding], case: Case) -> list[Finding]:
    """Return the findings without the version conflicts that a better finding refutes. Suspected conflicts
    are dropped if there is a more certain finding. Conflicts that follow only from stated versions are
    dropped if a program's own message reports another fault."""
    sure = any(f.severity == "error" and f.confidence != "possible" for f in findings)
    stated = {fact.source for kind in VERSIONS for fact in case.facts.of(kind)}
    suspected = [
        f
        for f in findings
        if f.confidence == "possible" and f.code in BY_VERSIONS and all(e in stated for e in f.evidence)
    ]
    printed = case.facts.kind == "report" and any(
        f.severity != "info" and f.code not in BY_VERSIONS and not in_prose(f, case) for f in findings
    )
    return [
        f
        for f in findings
        if not (sure and f.code in MISFITS and f.confidence == "possible")
        and not (printed and f in suspected)
    ]


BEFORE_IT_STARTS = ("tf-not-installed", "tf-no-wheel", "python-dependency-conflict", "tf-import-failed")
"""Codes of causes that prevent the installation or the import of TensorFlow."""
ONLY_THE_GPU = ("tf-windows-native", "tf-cpu-only", "gpu-absent")
"""Codes of causes for which TensorFlow can be imported and runs on the CPU."""


def before_the_import(findings: list[Finding], case: Case) -> list[Finding]:
    """Return the findings. If a program's message shows that the import of TensorFlow failed for another
    reason, causes that only take the GPU away become "possible"."""
    failed = any(
        f.code in ("tf-import-failed", "python-dependency-conflict")
        and f.confidence != "possible"
        and not in_prose(f, case)
        for f in findings
    )
    if case.facts.kind != "report" or not failed:
        return findings
    return [replace(f, confidence="possible") if f.code in ONLY_THE_GPU else f for f in findings]


def overcome(findings: list[Finding], case: Case) -> list[Finding]:
    """Return the findings. A fault of the installation or import becomes "possible" if a later run in the
    report overcame it: that run looked for GPUs, so the import worked.

    Guides and threads often mention faults that were solved on the way. A fault keeps its confidence if no
    error was found after it.
    """
    facts = case.facts
    runs = [
        *facts.symptoms("gpu-skipped"),
        *(c for c in facts.of(CudaCallFailed) if c.call == "cuInit"),
        *facts.of(GpuRegistered),
    ]
    start = max((fact.source.line or 0 for fact in runs), default=0)
    if facts.kind != "report" or not start:
        return findings
    behind = [
        f
        for f in findings
        if f.code in BEFORE_IT_STARTS and all(0 < (e.line or 0) < start for e in f.evidence)
    ]
    last = max((e.line or 0 for f in behind for e in f.evidence), default=0)
    left = [
        f
        for f in findings
        if f not in behind and f.severity == "error" and any((e.line or 0) > last for e in f.evidence)
    ]
    return [replace(f, confidence="possible") if left and f in behind else f for f in findings]


CHANGES = ("and-cuda-installed", "growth-set")
"""Symptoms that show what a person changed between two runs."""


def compared(verdict: Finding, case: Case) -> Finding:
    """Return the verdict. If another run in the text got a GPU, the explanation also points to that run and
    to what changed between the two runs."""
    works = next((device.source for device in case.in_another_run if device.source.line is not None), None)
    at = min((source.line for source in verdict.evidence if source.line is not None), default=None)
    if works is None or works.line is None:
        return verdict
    first, last = sorted((works.line, works.line if at is None else at))
    between = [s.source for s in case.facts.symptoms(*CHANGES) if first < (s.source.line or 0) < last]
    change = f"; line {between[0].line} shows a change between them" if between else ""
    note = f"Line {works.line} belongs to another run, which got a GPU. Compare the two runs{change}."
    noted = replace(verdict, explanation=f"{verdict.explanation} {note}")
    return noted.with_more(evidence=[works, *between[:1]])


def _rank(finding: Finding) -> tuple[int, int, int]:
    return (
        SEVERITIES.index(finding.severity),
        CONFIDENCES.index(finding.confidence),
        ORDER.index(finding.code) if finding.code in ORDER else len(ORDER),
    )


def merged(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> list[Finding]:
    """Return one finding for each code, with consequences merged into their causes, in the order in which a
    person should act.

    A finding that is only "possible" explains only findings that are "possible" too. If findings explain each
    other, directly or through others, the best of them stays.
    """
    kept: list[Finding] = []
    for finding in sorted(findings, key=_rank):
        same = next((i for i, other in enumerate(kept) if other.code == finding.code), None)
        if same is not None:
            kept[same] = kept[same].with_more(evidence=finding.evidence)
        else:
            kept.append(finding)
    causes = {
        finding.code: [
            other.code
            for other in kept
            if other is not finding
            and finding.code in rules[other.code].explains
            and (other.confidence != "possible" or finding.confidence == "possible")
        ]
        for finding in kept
    }
    behind = {code: _behind(code, causes) for code in causes}
    better = {code: place for place, code in enumerate(causes)}
    result = [
        finding
        for finding in kept
        if all(
            finding.code in behind[cause] and better[finding.code] <= better[cause]
            for cause in behind[finding.code]
        )
    ]
    for finding in kept:
        if finding in result:
            continue
        for i, cause in enumerate(result):
            if finding.code in rules[cause.code].explains:
                result[i] = cause.with_more(consequences=[f"{finding.code}: {finding.title}"])
                break
    return result


def _behind(code: str, causes: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the causes of a code, the causes of those, and so on. If the causes form a cycle, the code is
    one of its own causes."""
    found: set[str] = set()
    waiting = [code]
    while waiting:
        new = set(causes[waiting.pop()]) - found
        found |= new
        waiting += new
    return found
