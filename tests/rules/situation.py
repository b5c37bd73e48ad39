"""Defines the types of the cases in the test matrix: a text, and what the diagnosis must say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from doctor.diagnose import diagnose
from doctor.findings import Diagnosis
from doctor.logs import read
from doctor.tables import Tables


@dataclass(frozen=True)
class Fires:
    """A text whose verdict must be `code`. situation: the name of the case, in a few words. deciding: a part
    of the line that decides the verdict; it occurs in only one line of the text. says: pieces of text that
    must be in the steps of the prescription. never: pieces of text that must not be in any step. words:
    pieces of text that must be in the explanation. verify: a part of the command that verifies the cure.
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
    """A text that looks like a case of `code` but is not. Its verdict must be `verdict`, and `code` must not
    be among the findings. situation: the name of the case, in a few words."""

    code: str
    situation: str
    verdict: str
    text: str


@lru_cache(maxsize=1)
def bundled() -> Tables:
    """Return the tables that the project ships."""
    return Tables.bundled()


@lru_cache(maxsize=2048)
def diagnosed(text: str) -> Diagnosis:
    """Return the diagnosis of a pasted text."""
    return diagnose(read(text.encode("utf-8"), "report"), bundled())


def line_of(text: str, piece: str) -> int:
    """Return the number of the line that contains `piece`, counting from 1. Raises ValueError if it is not in
    exactly one line."""
    at = [number for number, line in enumerate(text.split("\n"), 1) if piece in line]
    if len(at) != 1:
        raise ValueError(f"{piece!r} stands in {len(at)} lines, not in one")
    return at[0]
