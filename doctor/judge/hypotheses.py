"""Ranks the causes that remain possible by their likelihood, and names the commands that distinguish them.

In: the findings of rules, the parts that do not fit (compatibility), and the causes that a report's sentences
suggest. Out: the causes, ranked, and the alternatives to the verdict. Each sign adds a weight to the
logarithm of a cause's odds, as in naive Bayesian diagnosis (Shwe et al. 1991, "Probabilistic diagnosis using
a reformulation of the INTERNIST-1/QMR knowledge base"). scripts/fit_weights.py learns the weights from
labelled reports; weights.py contains them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from doctor.facts import PROSE, Likelihood, Prose, SentenceKind, Source, Words
from doctor.findings import Alternative, Finding, Part
from doctor.judge.contradictions import against
from doctor.judge.stated import explaining, troubled
from doctor.judge.weights import WEIGHTS
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.case import Case

NO_FAULT = ("benign-messages", "healthy", "gpu-renumbered")
"""Codes that say that nothing has to be fixed."""
MOST = 4
"""The highest number of alternatives to show."""
LEAST = 0.05
"""An alternative with a lower likelihood is not shown."""
SHOWN = 0.01
"""A cause whose part does not fit is shown from this likelihood on; a cause at 0 % is none."""
RESEMBLING = 0.05
"""A cause for which there is no other sign is only possible if the whole report suggests it with at least
this probability."""
LONG = 40
"""A report of at least this number of words counts in full as a whole."""
NOTHING = 0.02
"""The probability of a cause that no sentence suggests."""
ENOUGH = 60
"""Prose of at least this number of characters counts in full."""


class Sign(NamedTuple):
    """One sign for or against a cause. code: the cause; name: its key in the table of weights; value: the
    strength; sources: where the sign was seen."""

    code: str
    name: str
    value: float
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A cause that remains possible. score: the logarithm of its odds, up to a constant."""

    code: str
    score: float
    likelihood: float
    evidence: tuple[Source, ...] = ()
    against: tuple[Source, ...] = ()


def in_prose(finding: Finding, case: Case) -> bool:
    """Whether only sentences that somebody wrote support a finding."""
    prose = case.facts.first(Prose)
    return prose is not None and all(source.line in prose.lines for source in finding.evidence)


def signs(case: Case, findings: Sequence[Finding], parts: Sequence[Part]) -> list[Sign]:
    """Return all signs for or against a cause in a case."""
    found = [*_of_rules(case, findings), *_of_prose(case), *_of_parts(parts), *_of_observations(case, parts)]
    found += _of_whole(case, findings, parts, {sign.code for sign in found})
    codes = {sign.code for sign in found}
    registered = bool(case.registered)
    if registered:
        codes |= {"healthy", "benign-messages"}
    found += [Sign(code, "no fault, and a GPU is registered" if registered else "no fault", 1.0)
              for code in NO_FAULT if code in codes]  # fmt: skip
    fitting = {part.part for part in parts if part.fits} & {"gpu", "driver", "cuda", "cudnn"}
    found += [
        Sign(code, f"no fault, and {name}", 1.0)
        for name, holds in (
            ("no trouble is stated", not troubled(case)),
            ("everything fits", len(fitting) > 1 and all(part.fits is not False for part in parts)),
        )
        for code in NO_FAULT
        if holds and code in codes
    ]
    found += [
        Sign(code, f"{'undetermined' if code == 'undetermined' else 'no fault'}, and a sentence {kind}", p)
        for kind, p in _sentences(case).items()
        for code in (*NO_FAULT, "undetermined")
        if code in codes or code == "undetermined"
    ]
    found += [
        Sign(code, f"against: {name}", 1.0, sources)
        for name, code, sources in against(case, parts)
        if code in codes
    ]
    return [*found, Sign("undetermined", "undetermined", 1.0)]


def _of_rules(case: Case, findings: Sequence[Finding]) -> Iterator[Sign]:
    faulty = any(f.severity == "error" and f.confidence != "possible" for f in findings)
    for place, finding in enumerate(findings):
        if finding.code == "undetermined":
            continue
        name = f"rule {finding.confidence}{' in prose' if in_prose(finding, case) else ''}"
        if finding.severity == "info":
            name += ", info beside an error" if faulty else ", info"
        elif finding.severity == "warning":
            name += ", warning"
        yield Sign(finding.code, name, 1.0, finding.evidence)
        if place == 0:
            yield Sign(finding.code, "the rules' first finding", 1.0)


def _of_prose(case: Case) -> Iterator[Sign]:
    prose = case.facts.first(Prose)
    if prose is None:
        return
    size = min(1.0, prose.size / ENOUGH)
    likelihoods = sorted(case.facts.of(Likelihood), key=lambda likelihood: -likelihood.probability)
    for place, likelihood in enumerate(likelihoods):
        strength = size * max(0.0, math.log(likelihood.probability / NOTHING))
        if likelihood.code == "undetermined":
            yield Sign("undetermined", "prose that names no cause", strength)
            continue
        yield Sign(likelihood.code, "prose", strength, (likelihood.source,))
        if place == 0:
            yield Sign(likelihood.code, "prose first", size)


def _of_whole(
    case: Case, findings: Sequence[Finding], parts: Sequence[Part], codes: Collection[str]
) -> Iterator[Sign]:
    """Yield what the report as a whole suggests, unless a program's message proves the cause. codes: the
    causes for which there is another sign."""
    strength = _of_length(case)
    if not strength or (findings and findings[0].confidence == "certain"):
        return
    from doctor.judge.resemblance import likelihoods

    found = likelihoods(case, findings, parts)
    best = max(found, key=found.__getitem__)
    telling = _telling(case)
    for code, probability in found.items():
        # without a sentence, there would be no evidence for a cause that has no other sign
        if code in codes or (probability > RESEMBLING and telling):
            sources = () if code in codes else telling
            likely = max(0.0, math.log(probability / NOTHING))
            yield Sign(code, "whole report", strength * likely, sources)
            yield Sign(code, f"usual: {code}", strength)
            if code == best:
                yield Sign(code, "whole report first", strength)


def _of_length(case: Case) -> float:
    """Return how much a report as a whole counts, from 0 to 1: a few words are only a sentence, and the
    output of a deep check is not a report."""
    words = case.facts.first(Words) if case.facts.kind == "report" else None
    return 0.0 if words is None else min(1.0, len(words.hashes) / LONG)


def _telling(case: Case) -> tuple[Source, ...]:
    """Return the sentences that state an observation, or the first sentence."""
    kinds = [kind for kind in case.facts.of(SentenceKind) if kind.kind not in ("states", "other", "asks")]
    best = max(kinds, key=lambda kind: kind.probability, default=case.facts.first(Prose))
    return () if best is None else (best.source,)


def _sentences(case: Case) -> dict[str, float]:
    """For each kind of sentence that says something about a fault, the highest probability with which a
    sentence of the report is of that kind."""
    found: dict[str, float] = {}
    for sentence in case.facts.of(SentenceKind):
        if sentence.probability > 0.5 and sentence.kind not in ("states", "other"):
            found[sentence.kind] = max(found.get(sentence.kind, 0.0), sentence.probability)
    return found


def _of_parts(parts: Sequence[Part]) -> Iterator[Sign]:
    misfits = [part for part in parts if part.code and part.fits is False and part.rank <= PROSE]
    if len({part.code for part in misfits}) == 1:
        yield Sign(misfits[0].code, f"the only misfit, {misfits[0].part}", 1.0, misfits[0].evidence)
    for part in parts:
        if part.code and part.fits is False:
            known = "" if part.rank <= PROSE else " inferred"
            yield Sign(part.code, f"{part.part} does not fit{known}", 1.0, part.evidence)
        elif part.code and part.slow:
            yield Sign(part.code, "compiled at the first start", 1.0, part.evidence)


def _of_observations(case: Case, parts: Sequence[Part]) -> Iterator[Sign]:
    for place, code in enumerate(explaining(case, parts)):
        yield Sign(code, "a misfit that explains what was seen", 1.0)
        if place == 0:
            yield Sign(code, "the first such misfit", 1.0)


def hypotheses(case: Case, findings: Sequence[Finding], parts: Sequence[Part]) -> list[Hypothesis]:
    """Return all causes for which there is a sign, the likeliest first."""
    scores: dict[str, float] = {}
    pro: dict[str, dict[Source, None]] = {}
    contra: dict[str, dict[Source, None]] = {}
    for sign in signs(case, findings, parts):
        scores[sign.code] = scores.get(sign.code, 0.0) + WEIGHTS.get(sign.name, 0.0) * sign.value
        kept = contra if sign.name.startswith("against: ") else pro
        kept.setdefault(sign.code, {}).update(dict.fromkeys(sign.sources))
    top = max(scores.values())
    powers = {code: math.exp(score - top) for code, score in scores.items()}
    whole = sum(powers.values())
    found = [
        Hypothesis(
            code, scores[code], powers[code] / whole, tuple(pro.get(code, ())), tuple(contra.get(code, ()))
        )
        for code in scores
    ]
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def alternatives(
    case: Case,
    verdict: Finding,
    ranked: Sequence[Hypothesis],
    misfits: Collection[str] = (),
    found: Collection[str] = (),
) -> tuple[Alternative, ...]:
    """Return the other possible causes, each with the command that distinguishes it from the verdict.

    misfits: codes of parts that do not fit by the tables; these are shown even if they are unlikely causes.
    found: codes that rules found.
    """
    if verdict.confidence == "certain" and verdict.code not in ("undetermined", "benign-messages"):
        return ()
    others = [
        hypothesis
        for hypothesis in ranked
        if hypothesis.code != verdict.code
        and (
            hypothesis.likelihood >= LEAST or (hypothesis.code in misfits and hypothesis.likelihood >= SHOWN)
        )
        # a cause that only sentences suggest is not shown if a fact contradicts it
        and not (hypothesis.against and hypothesis.code not in (*misfits, *found))
    ]
    shown: list[Alternative] = []
    if others:
        from doctor.remedies.usual import USUAL, test_of  # most certain verdicts do not need it
    for hypothesis in others:
        usual = USUAL.get(hypothesis.code)
        if usual is None:
            continue
        shown.append(
            Alternative(
                hypothesis.code,
                round(hypothesis.likelihood, 2),
                hypothesis.evidence,
                hypothesis.against,
                *test_of(hypothesis.code, case),
            )
        )
    return tuple(shown[:MOST])
