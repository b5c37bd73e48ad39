"""What a rule is, and the list of all of them.

A rule is one function, decorated with its code; its docstring is the code's page. It gets a `Case` and
yields findings. A rule is skipped if the case has none of the facts that it needs; the trace then says so.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Rule:
    """The function of one code, and what its findings have in common. code: the stable name. severity: of its
    findings, unless a finding has another. title: one line.

    explains: codes whose findings follow from this one's cause, and are folded into it. needs: fact types and
    symptom kinds; the rule needs at least one of them to judge at all.
    """

    code: str
    severity: str
    title: str
    judge: Judge
    explains: tuple[str, ...] = ()
    needs: tuple[type[Fact] | str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of its needs, sorted."""
        return tuple(sorted(map(named, self.needs)))

    @property
    def page(self) -> str:
        """The code's page, as Markdown: the docstring of its function."""
        from textwrap import dedent  # inspect, which has a function for it, takes as long as Python to start

        first, _, rest = (self.judge.__doc__ or "").partition("\n")
        return f"{first.strip()}\n{dedent(rest)}".strip()


class RuleSet:
    """Several rules with the facts that each reads. needs: by code, the names of those facts; empty for a
    rule that always judges. by_code: the rules; only those that are ready are looked up."""

    def __init__(self, needs: Mapping[str, Sequence[str]], by_code: Mapping[str, Rule]) -> None:
        self.codes = tuple(needs)
        self.by_code = by_code
        self._needs = needs

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> RuleSet:
        """A set of rules that are already imported."""
        by_code = {rule.code: rule for rule in rules}
        return cls({code: rule.reads for code, rule in by_code.items()}, by_code)

    def read(self, code: str, seen: frozenset[type[Fact] | str]) -> list[str]:
        """The names of the facts that a rule reads and that were seen, sorted."""
        return sorted({named(kind) for kind in seen}.intersection(self._needs[code]))

    def ready(self, seen: frozenset[type[Fact] | str]) -> set[str]:
        """The codes of the rules for which at least one fact that they read was seen."""
        names = {named(kind) for kind in seen}
        return {code for code, needs in self._needs.items() if not needs or not names.isdisjoint(needs)}


def named(need: type[Fact] | str) -> str:
    """The name of a need: a fact type's name, or the kind of a symptom."""
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
    """Register a rule under its code. Raises ValueError for a code that is already taken or has no page."""

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
    """A finding of a registered rule, from facts (their sources become its evidence) and table rows.

    evidence: what shows it, the most telling first. severity: error, warning or info, if it differs from the
    rule's. confidence: certain (a program's message proves it), likely or possible. tables: the rows that it
    rests on. steps: the cure. verify: a command that shows that the cure worked, or a function that makes
    one.

    Raises ValueError if no evidence is left without the absent facts.
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
