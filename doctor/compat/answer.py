"""The answer to a question about compatibility."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.tables import Row
from doctor.values import dataclass

VERDICTS = ("yes", "slow", "unknown", "no")
"""The verdicts, from best to worst. slow: works after a compilation at the first start, or works only for
some operations."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict (yes, slow, no or unknown), the reason, and the rows of the tables that support it.

    cure: what turns a "no" into a "yes" with the same release, GPU and driver; "" if nothing does.
    """

    verdict: str
    reason: str
    rows: tuple[Row, ...] = ()
    cure: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(VERDICTS)}, not {self.verdict!r}")
        if not self.reason:
            raise ValueError("an answer needs a reason")

    @property
    def sentence(self) -> str:
        """The reason as a sentence. A name at its start, such as tensorflow==2.17.1, keeps its spelling."""
        first = self.reason.split(" ", 1)[0]
        word = first.isalpha() and first.islower()
        return f"{self.reason[0].upper() if word else self.reason[0]}{self.reason[1:]}."

    @property
    def refs(self) -> tuple[str, ...]:
        """The citations of the table rows, without duplicates."""
        return tuple(dict.fromkeys(row.ref for row in self.rows))


def rank(answer: Answer) -> int:
    """Return a sort key, 0 for the best answer: yes, slow, unknown, a "no" with a cure, a "no" without a
    cure."""
    if answer.verdict == "no":
        return 3 if answer.cure else 4
    return VERDICTS.index(answer.verdict)


def worst(answers: Iterable[Answer]) -> Answer:
    """Return the worst of several answers to one question, because it decides. Raises ValueError if there is
    none."""
    return max(answers, key=rank)
