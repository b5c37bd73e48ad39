"""What a rule is, and the list of all of them.

A rule is one function, decorated with its code; its docstring is the code's page. It gets a `Picture` and
yields findings. It is skipped, and said to be skipped, where none of the facts that it needs is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from doctor.facts import Fact, Source
from doctor.findings import Finding, Step, shell
from doctor.picture import Picture
from doctor.shell import Line

if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import TypeAlias
else:
    from doctor.values import dataclass  # the same to everybody, and quick to define


Judge: TypeAlias = "Callable[[Picture], Iterator[Finding]]"


@dataclass(frozen=True, slots=True)
class Rule:
    """code: its stable name. severity: of its findings, unless one says otherwise. title: one line.

    explains: codes whose findings follow from this one's cause, and are folded into it.
    needs: fact types and symptom kinds, any of which must be there for the rule to judge at all.
    """

    code: str
    severity: str
    title: str
    judge: Judge
    explains: tuple[str, ...] = ()
    needs: tuple[type[Fact] | str, ...] = ()

    @property
    def page(self) -> str:
        """The code's page, as Markdown: the docstring of its function."""
        import inspect

        return inspect.cleandoc(self.judge.__doc__ or "")


class Panel:
    """Several rules, and which of them read what."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self.by_code = {rule.code: rule for rule in self.rules}
        self._always = frozenset(rule.code for rule in self.rules if not rule.needs)
        self._readers: dict[type[Fact] | str, set[str]] = {}
        for rule in self.rules:
            for need in rule.needs:
                self._readers.setdefault(need, set()).add(rule.code)

    def ready(self, seen: frozenset[type[Fact] | str]) -> set[str]:
        """The codes of the rules of which anything that they read was seen."""
        return set(self._always).union(*(self._readers[kind] for kind in seen & self._readers.keys()))


RULES: dict[str, Rule] = {}


def rule(
    code: str,
    title: str,
    *,
    severity: str = "error",
    explains: Iterable[str] = (),
    needs: Iterable[type[Fact] | str] = (),
) -> Callable[[Judge], Judge]:
    """Register a rule under its code. Raises ValueError where a code is taken twice or has no page."""

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

    verify: a command, or what makes it.

    Raises ValueError where no evidence is left once absent facts are dropped.
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
