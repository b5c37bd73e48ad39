"""Defines what a rule is, and keeps the register of all rules.

A rule is one function, decorated with its code; its docstring is the code's page. It accepts a `Case` and
yields findings. A rule is skipped if the case has none of the facts that it needs; the trace then says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from doctor.facts import Fact, Source
from doctor.findings import Finding, Step, shell
from doctor.shell import Line
from doctor.values import dataclass

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.case import Case


Judge: TypeAlias = "Callable[[Case], Iterator[Finding]]"


MEANING = 200
"""How many characters the meaning of a code has at most, unless its first sentence is longer."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The function that judges one code, and what its findings have in common.

    code: the stable name. severity: the severity of its findings, unless a finding sets its own. title: one
    line. explains: codes whose findings are consequences of this rule's cause and are folded into its
    finding. needs: fact types and symptom kinds; the rule runs only if at least one of them is present.
    """

    code: str
    severity: str
    title: str
    judge: Judge
    explains: tuple[str, ...] = ()
    needs: tuple[type[Fact] | str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the facts that the rule needs, sorted."""
        return tuple(sorted(map(named, self.needs)))

    @property
    def page(self) -> str:
        """The code's page, as Markdown: the docstring of its function."""
        from textwrap import dedent  # importing inspect, for its cleandoc, takes as long as starting Python

        first, _, rest = (self.judge.__doc__ or "").partition("\n")
        return f"{first.strip()}\n{dedent(rest)}".strip()

    @property
    def meaning(self) -> str:
        """The first sentences of the section "What it means" of the code's page, at most about MEANING
        characters of them; "" if Python was started without docstrings."""
        section = self.page.partition("## What it means\n")[2].partition("\n\n")[0]
        sentences = re.split(r"(?<=\.)\s+(?=[A-Z])", " ".join(section.split()))
        said = sentences[0]
        for sentence in sentences[1:]:
            if len(said) + len(sentence) > MEANING:
                break
            said = f"{said} {sentence}"
        return said


class RuleSet:
    """A set of rules with the facts that each needs. needs: the names of those facts by code, empty for a
    rule that always runs. by_code: the rules by code; a rule is looked up only when it is ready to run."""

    def __init__(self, needs: Mapping[str, Sequence[str]], by_code: Mapping[str, Rule]) -> None:
        self.codes = tuple(needs)
        self.by_code = by_code
        self._needs = needs

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> RuleSet:
        """Make a set of rules that are already imported."""
        by_code = {rule.code: rule for rule in rules}
        return cls({code: rule.reads for code, rule in by_code.items()}, by_code)

    def read(self, code: str, seen: frozenset[type[Fact] | str]) -> list[str]:
        """Return the names of the facts that a rule needs and that are among `seen`, sorted."""
        return sorted({named(kind) for kind in seen}.intersection(self._needs[code]))

    def ready(self, seen: frozenset[type[Fact] | str]) -> set[str]:
        """Return the codes of the rules that can run: they need no facts, or `seen` contains at least one
        that they need."""
        names = {named(kind) for kind in seen}
        return {code for code, needs in self._needs.items() if not needs or not names.isdisjoint(needs)}


def named(need: type[Fact] | str) -> str:
    """Return the name of a fact that a rule needs: the name of its type, or the kind of symptom."""
    return need if isinstance(need, str) else need.__name__


RULES: dict[str, Rule] = {}


def rule(
    code: str,
    title: str,
    *,
    severity: str = "error",
    explains: Iterable[str] = (),
    needs: Iterable[type[Fact] | str] = (),
) -> Callable[[Judge], Judge]:
    """The decorator that registers a rule under its code. It raises ValueError if the code is already taken
    or the function has no docstring."""

    def register(judge: Judge) -> Judge:
        if code in RULES:
            raise ValueError(f"two rules are called {code}")
        if not (judge.__doc__ or "").strip():
            raise ValueError(f"the rule {code} has no page")
        RULES[code] = Rule(code, severity, title, judge, tuple(explains), tuple(needs))
        return judge

    return register


def found(
    code: str,
    explanation: str,
    evidence: Iterable[Fact | Source | None],
    *,
    title: str = "",
    severity: str = "",
    confidence: str = "certain",
    tables: Iterable[object] = (),
    steps: Iterable[Step] = (),
    verify: Line | Callable[[], Line] | None = None,
) -> Finding:
    """Make a finding for a registered rule from facts and table rows. The facts' sources become its evidence.

    evidence: what shows the fault, the most telling first; None entries are left out. severity: error,
    warning or info, if it differs from the rule's. confidence: certain (a program's message proves it),
    likely or possible. tables: the table rows that the finding is based on. steps: the cure. verify: a
    command that shows that the cure worked, or a function that returns one.

    Raises ValueError if every entry of the evidence is None.
    """
    known = RULES[code]
    command = verify() if callable(verify) else verify
    sources = [item.source if isinstance(item, Fact) else item for item in evidence if item is not None]
    return Finding(
        code,
        severity or known.severity,
        title or known.title,
        explanation,
        tuple(dict.fromkeys(sources)),
        tuple(dict.fromkeys(str(getattr(row, "ref", row)) for row in tables if row is not None)),
        tuple(steps),
        None if command is None else shell(command),
        confidence,
    )
