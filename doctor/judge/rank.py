"""Chooses the verdict and orders the findings, from the rules, the compatibility and the sentences in a
report.

A finding that a program's own message proves keeps its position. Otherwise the likeliest cause comes first,
whether a rule found it, the tables show a misfit, or the sentences in the report suggest it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.facts import MEASURED, Likelihood, Noise, Prose, SentenceKind
from doctor.findings import Alternative, Finding, Part, shell
from doctor.judge.hypotheses import NO_FAULT, NOTHING, Hypothesis, alternatives, hypotheses, in_prose
from doctor.judge.stated import (
    BY_VERSIONS,
    all_fits,
    decided,
    observations,
    only_states,
    open_question,
    troubled,
    uninstallable,
)
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case

SUGGESTED = 0.65
"""If its probability is at least this, a sentence counts more than the tables' answer about stated
versions."""
SOUND = 0.8
"""Like SUGGESTED, but for a sentence that says that nothing is wrong."""
HARMLESS = 0.35
"""The lowest likelihood at which "benign-messages" can be the verdict although the report contains no
harmless message."""
DESPITE = 0.6
"""From this likelihood on, "no fault" can be the verdict although something speaks against it: of 55 such
verdicts 42 were right, and 20 of the verdicts that they replaced (cross-validation)."""
FITTING = 0.2
"""The lowest likelihood of "healthy" at which versions that fit together answer the question in a report.
Half of it is enough if the GPU, the driver, CUDA and cuDNN are all known to fit."""
NEARLY_ALL = 3
"""If at least this many of the GPU, the driver, CUDA and cuDNN are known to fit, the answer to a question is
that they fit, unless a rule found a fault."""
EVEN = 0.5
"""From this likelihood on, a fault comes before the answer that the stated versions fit."""
BEYOND_DOUBT = 0.95
"""From this likelihood on, a fault is the verdict even if no trouble is stated and everything fits."""
GUESS = 0.2
"""Below this likelihood, a cause that no rule found is only a guess, so the verdict is undetermined."""
LIKELY = 0.7
"""If its likelihood is at least this, a cause that no program's message proves is called likely: 88 % of
922 such verdicts were right (cross-validation)."""
WEAK = 0.4
"""Below this likelihood the user should check the other causes first: only 43 % of 498 such verdicts were
right (cross-validation)."""
AGREED = 0.6
"""If the likelihood of a rule's cause is at least this, the signs agree with a rule that recognized a
message."""
UNPROVED = "Nothing in the report points to a fault in the GPU setup"
"""The title of "healthy" and "benign-messages" if only sentences suggest this verdict and no program shows a
registered GPU."""
A_FEW = 45
"""Prose of fewer characters is only a few words: no sentence of it can show that nothing is wrong."""
SHORT = 120
"""Prose of at most this number of characters makes a cause only possible: it is a sentence or two without
context."""


def ranked(
    findings: Sequence[Finding], case: Case, parts: Sequence[Part]
) -> tuple[list[Finding], tuple[Alternative, ...]]:
    """Return the findings with the likeliest cause first, and the other possible causes. findings: must not
    be empty."""
    order = hypotheses(case, findings, parts)
    found = {finding.code for finding in findings}
    likeliest = _likeliest(order, findings, case, parts)
    answer = _of_versions(likeliest, order, findings, case, parts)
    if isinstance(answer, Finding):
        return [answer], alternatives(case, answer, order, [], found)
    best = answer or likeliest
    kept = [as_said(finding, case) for finding in findings]
    if case.facts.kind == "report" and best.code not in (kept[0].code, "undetermined"):
        kept = _put_first(best, kept, case, parts, by_tables=answer is not None)
    if kept[0].code != "undetermined":
        kept = [finding for finding in kept if finding.code != "undetermined"]
    known = next((h.likelihood for h in order if h.code == kept[0].code), 1.0)
    if case.facts.kind == "report" and kept[0].confidence == "likely" and known < LIKELY:
        kept[0] = replace(kept[0], confidence="possible")
    if kept[0].confidence == "possible":  # what comes after it is not likelier
        kept[1:] = [
            replace(one, confidence="possible") if one.confidence == "likely" else one for one in kept[1:]
        ]
    misfits = [part.code for part in parts if part.fits is False]
    others = alternatives(case, kept[0], order, misfits, found)
    if others and kept[0].confidence == "possible" and kept[0].severity == "error" and known < WEAK:
        weak = (
            f"This is only one of several possible causes ({round(100 * known)} %): check the others before"
            " you change anything."
        )
        kept[0] = replace(kept[0], explanation=f"{kept[0].explanation} {weak}")
    return kept, others


def _likeliest(
    order: Sequence[Hypothesis], findings: Sequence[Finding], case: Case, parts: Sequence[Part]
) -> Hypothesis:
    """Return the likeliest cause that nothing contradicts; "undetermined" if none is likely enough."""
    first, found = findings[0], {finding.code for finding in findings}
    sound = (h for h in order if h.code in (*found, "undetermined") or _sound(h))
    best = next(sound, order[0])
    if best.code not in found and best.likelihood < GUESS:
        best = _of(order, "undetermined")
    baseless = best.code == "benign-messages" and best.code not in found and not case.facts.of(Noise)
    if best.code in NO_FAULT and best.code not in found and _says_nothing(case):
        best = next(h for h in order if h.code not in NO_FAULT)
    elif baseless and best.likelihood < HARMLESS:  # there is no line that could be harmless
        best = _of(order, "undetermined")
    # no harmless message explains a fault, and versions that do not fit do
    misfit = next((part.code for part in parts if part.fits is False and part.code in BY_VERSIONS), None)
    if best.code == "benign-messages" and first.confidence == "possible" and misfit and not case.registered:
        best = next((h for h in order if h.code == misfit), best)
    return best


def _of_versions(
    best: Hypothesis,
    order: Sequence[Hypothesis],
    findings: Sequence[Finding],
    case: Case,
    parts: Sequence[Part],
) -> Hypothesis | Finding | None:
    """Return the cause that the tables give for the stated versions, or the finding that the versions fit, if
    no message shows the cause; otherwise None. best: the likeliest cause."""
    first, found = findings[0], {finding.code for finding in findings}
    code = None if first.confidence == "certain" else uninstallable(case, parts)
    if code is not None:
        return _of(order, code)
    if not open_question(case, findings, parts) or _agreed(best, first, case, parts):
        return None
    # a program's own list is more reliable than a sentence's guess, and no path leads to libraries that fit,
    # if a stated version does not
    measured = {part.code for part in parts if part.fits is False and part.rank == MEASURED}
    by_tables = decided(case, parts, findings)
    guessed = best.code not in ("undetermined", "library-path") and _suggested(best, case)
    if by_tables is not None and (by_tables in measured or not guessed):
        return _of(order, by_tables)
    sure = best.likelihood >= EVEN and best.code not in ("undetermined", *NO_FAULT)
    fitting = {"gpu", "driver", "cuda", "cudnn"} & {part.part for part in parts if part.fits}
    least = FITTING / 2 if len(fitting) == 4 else FITTING
    sound_enough = any(h.code == "healthy" and h.likelihood >= least for h in order)
    # a sentence that suggests a cause often says what the person arranged against it
    named = best.code in found and best.code != "undetermined"
    answered = (len(fitting) >= NEARLY_ALL and not named) or (not sure and sound_enough)
    fits = all_fits(case, parts) if answered else None
    if fits is not None:
        return fits
    doubtful = (
        best.code not in ("undetermined", first.code, *NO_FAULT)
        and best.likelihood < BEYOND_DOUBT
        and not troubled(case)
        and _fits(case, parts)
        and not _suggested(best, case, 0.0)
    )
    return _of(order, first.code) if doubtful else None  # all stated versions fit one another


def _of(order: Sequence[Hypothesis], code: str) -> Hypothesis:
    """Return the hypothesis for a code. Raises StopIteration if there is none."""
    return next(h for h in order if h.code == code)


def _sound(hypothesis: Hypothesis) -> bool:
    """Whether a cause that no rule found can be the verdict: neither the tables nor a program contradicts it.
    What speaks against "no fault" is often the problem that a person solved or describes as an example, so a
    high likelihood counts more."""
    return not hypothesis.against or (hypothesis.code in NO_FAULT and hypothesis.likelihood >= DESPITE)


def _says_nothing(case: Case) -> bool:
    """Whether a report is a few words that neither ask anything nor say that something works."""
    prose = case.facts.first(Prose)
    telling = any(kind.kind in ("asks", "works", "elsewhere") for kind in case.facts.of(SentenceKind))
    return prose is not None and prose.size < A_FEW and not telling


def _agreed(best: Hypothesis, first: Finding, case: Case, parts: Sequence[Part]) -> bool:
    """Whether a rule found a fault in a message, no stated version explains the fault, and the signs rank the
    same cause first."""
    misfits = {part.code for part in parts if part.fits is False} | observations(case, parts)
    sure = first.severity == "error" and first.confidence != "possible" and first.code not in misfits
    return sure and best.code == first.code and best.likelihood >= AGREED


def _fits(case: Case, parts: Sequence[Part]) -> bool:
    """Whether something that a report states is known to fit, and nothing misfits: a part, by the tables, or
    a GPU image that was started with --gpus."""
    images = [tag.get("tag") for tag in case.facts.symptoms("image-tag")]
    image = case.facts.has("gpus-flag") and any("gpu" in tag for tag in images)
    return (image or any(part.fits for part in parts)) and all(part.fits is not False for part in parts)


def _suggested(best: Hypothesis, case: Case, least: float = SUGGESTED) -> bool:
    """Whether a sentence suggests a cause with a probability above `least`. Sentences that only state
    versions or an observation do not count."""
    least = max(least, SOUND) if best.code in NO_FAULT else least
    several = (likelihood for likelihood in case.facts.of(Likelihood) if likelihood.code == best.code)
    return any(
        likelihood.probability > least and not only_states(likelihood.source.text) for likelihood in several
    )


def as_said(finding: Finding, case: Case) -> Finding:
    """Return the finding with a confidence of at most "likely" if only sentences support it, because a person
    may be wrong or mean another machine. The same holds for "no fault" in a report with a person's sentences,
    unless they say that the GPU works: people write about trouble, and a registered GPU does not answer every
    complaint."""
    doubted = in_prose(finding, case) or (
        finding.code in NO_FAULT and case.facts.first(Prose) is not None and not case.facts.has("works-said")
    )
    said = finding.confidence == "certain" and finding.code != "undetermined" and doubted
    return replace(finding, confidence="likely") if said else finding


def _put_first(
    best: Hypothesis, findings: list[Finding], case: Case, parts: Sequence[Part], *, by_tables: bool
) -> list[Finding]:
    from doctor.rules import rule_of

    known = next((finding for finding in findings if finding.code == best.code), None)
    if known is None:
        known = _finding(best, case, parts)
        first = findings[0]
        better = first.code != "undetermined" and (first.confidence != "possible" or _short(case))
        if known.confidence == "possible" and better and not by_tables:
            return findings  # a cause that is only possible does not displace a better-known one
    # drop a finding whose rule would make this cause its consequence: its code stays an alternative
    others = [
        finding
        for finding in findings
        if finding is not known and best.code not in rule_of(finding.code).explains
    ]
    if known.severity != "error":  # nothing to fix: errors that were only possible become alternatives
        others = [
            finding for finding in others if finding.confidence != "possible" or finding.severity != "error"
        ]
    return [known, *others]


def _finding(best: Hypothesis, case: Case, parts: Sequence[Part]) -> Finding:
    """Return the finding for a cause that no rule found."""
    from doctor.rules import rule_of

    rule = rule_of(best.code)
    misfits = [part for part in parts if part.code == best.code and (part.fits is False or part.slow)]
    seen = [part for part in misfits if part.have != "none"]
    others = [
        part for part in parts if part.fits is False and part.code not in (best.code, "tf-no-wheel", "")
    ]
    if misfits:
        why = " ".join(_said(part) for part in misfits)
        why += "".join(
            f" Also{'' if part.have == 'none' else f', for {part.have}'}: {_said(part)}" for part in others
        )
        rows = tuple(dict.fromkeys(row for part in misfits for row in part.tables))
    else:
        named = any(
            likelihood.code == best.code and likelihood.probability > NOTHING
            for likelihood in case.facts.of(Likelihood)
        )
        suggests = "the sentences in the report suggest it" if named else "the report as a whole suggests it"
        why = f"No program's message proves this; {suggests}."
        if best.code not in NO_FAULT:
            why = f"{rule.meaning} {why}".strip()
        rows = ()
    from doctor.remedies import commands
    from doctor.remedies.usual import USUAL

    usual = USUAL.get(_card(best.code, others) or best.code)
    sure = best.likelihood >= LIKELY and (seen or not _short(case))
    if best.code.startswith("gpu-arch") and not case.gpus:
        sure = False  # a report that names no card cannot show that the card is the cause
    return Finding(
        best.code,
        rule.severity if not all(part.slow for part in misfits) or not misfits else "warning",
        UNPROVED if best.code in ("benign-messages", "healthy") and not case.registered else rule.title,
        why,
        best.evidence[:4],
        rows,
        () if usual is None else usual.cure(case).steps,
        shell(commands.list_gpus(case) if usual is None else usual.check_of_cure(case)),
        "likely" if sure and not best.against else "possible",
    )


def _card(code: str, others: Sequence[Part]) -> str | None:
    """Return the code of the GPU's misfit if the cause is a fault in libraries and the GPU does not fit the
    build either: the cure is then that of the GPU, another release with its libraries. Otherwise None."""
    from doctor.remedies.usual import USUAL

    if not code.startswith(("cuda-", "cudnn-", "gpu-arch")):
        return None
    return next((part.code for part in others if part.part == "gpu" and part.code in USUAL), None)


def _short(case: Case) -> bool:
    prose = case.facts.first(Prose)
    return prose is not None and prose.size <= SHORT


def _said(part: Part) -> str:
    first = part.reason.split(" ", 1)[0]
    named = not (first.isalpha() and first.islower())  # tensorflow==2.17.1 and cuDNN keep their spelling
    reason = f"{part.reason if named else part.reason[0].upper() + part.reason[1:]}." if part.reason else ""
    need = f" Needed: {part.needs}." if part.needs and part.needs not in reason else ""
    return f"{reason}{need}"
