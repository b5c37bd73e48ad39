"""Makes a diagnosis safe to share: removes names, home folders, addresses and secrets from its strings.

All formats use this module: a renderer gets a diagnosis that is safe to share, and redacts nothing itself.
The user, host and home folder of this machine come from the environment, those of a report from its text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from doctor import lazy
from doctor.facts import EnvVar, Fact, Source
from doctor.redact import without_doors
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.facts import Facts
    from doctor.findings import Diagnosis, Finding, Step

_QUOTED_HOME = lazy.compile(r"(['\"])~/(?=[^'\"\n]{0,400}\1)")
"""Matches a quoted home folder. A shell does not expand a tilde inside quotes, so the opening quote must come
after the tilde."""


def shared(diagnosis: Diagnosis, *, names: bool = True) -> Diagnosis:
    """The diagnosis without secrets and, if `names`, without user and host names, home folders and
    addresses."""
    hide = _hider(diagnosis.facts, names=names)
    return replace(
        diagnosis,
        facts=_facts(diagnosis.facts, hide, variables=names),
        findings=tuple(_finding(finding, hide) for finding in diagnosis.findings),
        compatibility=tuple(
            replace(part, have=hide(part.have), evidence=_value(part.evidence, hide))
            for part in diagnosis.compatibility
        ),
        alternatives=tuple(
            replace(other, evidence=_value(other.evidence, hide), against=_value(other.against, hide))
            for other in diagnosis.alternatives
        ),
    )


def shared_facts(facts: Facts) -> Facts:
    """The facts about a machine, redacted for a file that may be shared."""
    return _facts(facts, _hider(facts), variables=True)


def _hider(facts: Facts, *, names: bool = True) -> Callable[[str], str]:
    cleaned: Callable[[str], str] = without_doors
    if names:
        from doctor.redact import Redactor

        cleaned = Redactor.of(os.environ).learn(_texts(facts))
    known: dict[str, str] = {}

    def hide(text: str) -> str:
        if text not in known:
            known[text] = cleaned(text)
        return known[text]

    return hide


def _facts(facts: Facts, hide: Callable[[str], str], *, variables: bool) -> Facts:
    items = tuple(_fact(fact, hide, variables=variables) for fact in facts)
    return replace(facts, items=items, name=hide(facts.name))


def _texts(facts: Facts) -> Iterator[str]:
    yield facts.name
    yield from {fact.source.text for fact in facts} | {fact.source.where for fact in facts}


def _fact(fact: Fact, hide: Callable[[str], str], *, variables: bool) -> Fact:
    if variables and isinstance(fact, EnvVar):
        from doctor.redact.variables import kept

        value = kept(fact.name, fact.value, hide)
        said = fact.source.text
        text = said.replace(fact.value, value) if fact.value and fact.value in said else value if said else ""
        return EnvVar(Source(hide(fact.source.where), fact.source.line, hide(text)), fact.name, value)
    names = type(fact).__match_args__
    return type(fact)(*(_value(getattr(fact, name), hide) for name in names))


def _value(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Source):
        return Source(hide(value.where), value.line, hide(value.text))
    if isinstance(value, tuple):
        return tuple(_value(item, hide) for item in value)
    return value


def _finding(finding: Finding, hide: Callable[[str], str]) -> Finding:
    return replace(
        finding,
        title=hide(finding.title),
        explanation=hide(finding.explanation),
        evidence=_value(finding.evidence, hide),
        tables=_value(finding.tables, hide),
        prescription=tuple(_step(step, hide) for step in finding.prescription),
        proof=_step(finding.proof, hide) if finding.proof is not None else None,
        consequences=_value(finding.consequences, hide),
    )


def _step(step: Step, hide: Callable[[str], str]) -> Step:
    text = hide(step.text)
    if step.kind == "shell" and step.platform != "windows":
        text = _QUOTED_HOME.sub(r"~/\1", text)
    return replace(step, text=text, why=hide(step.why))
