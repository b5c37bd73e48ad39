"""What a case of the matrix is: a text, and what must be said of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from doctor.diagnose import diagnose
from doctor.findings import Diagnosis
from doctor.logs import read
from doctor.tables import Tables


@dataclass(frozen=True)
class Fires:
    """A text whose verdict is `code`.

    deciding: a piece of the line that decides; it stands in one line of the text only.
    says: pieces; some step of the prescription must hold each. never: pieces that no step may hold.
    words: pieces of the explanation. verify: a piece of the command that shows the cure.
    """

    code: str
    situation: str
    text: str
    deciding: str
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    verify: str = ""


@dataclass(frozen=True)
class NearMiss:
    """A text that looks like `code` and is not: its verdict is `verdict`, and `code` is not among the
    findings."""

    code: str
    situation: str
    verdict: str
    text: str


@lru_cache(maxsize=1)
def bundled() -> Tables:
    """The tables that the project ships."""
    return Tables.bundled()


@lru_cache(maxsize=2048)
def diagnosed(text: str) -> Diagnosis:
    """The diagnosis of a pasted text."""
    return diagnose(read(text.encode("utf-8"), "report"), bundled())


def line_of(text: str, piece: str) -> int:
    """The 1-based line in which a piece stands; raises ValueError where it is not in exactly one."""
    at = [number for number, line in enumerate(text.split("\n"), 1) if piece in line]
    if len(at) != 1:
        raise ValueError(f"{piece!r} stands in {len(at)} lines, not in one")
    return at[0]
