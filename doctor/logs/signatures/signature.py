"""The class of all signatures. A signature describes one message, how to recognise it, and which fact to make
from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from doctor.facts import Fact, Source, Symptom
from doctor.values import dataclass

if TYPE_CHECKING:
    from typing import TypeAlias


Made: TypeAlias = "Fact | Iterable[Fact] | None"
Maker: TypeAlias = "Callable[[re.Match[str], Source], Made]"


@dataclass(frozen=True, slots=True)
class Signature:
    """One message that programs print, or one way in which people say something.

    kind: the name of the signature; if `make` is None, a match makes a Symptom of this kind.
    literals: strings in lower case; every occurrence contains at least one. Only lines with a literal are
        tried, so choose rare ones (`glued` makes rare literals from a frequent word).
    pattern: a regular expression, matched without regard to case on the lines around the literal; its named
        groups become the fact's details. It spans at most `lines` lines.
    near: for a frequent literal or a slow pattern: further sets of texts in lower case. Every occurrence
        contains a text from each set, so lines without one are skipped.
    once: only the first occurrence counts.
    unlogged: the message is a person's text or a row of a list or form, so log records and traceback frames
        are skipped (doctor.logs.windows.PRINTED).
    example: a line that matches; the tests check it.
    seen_in: the TensorFlow releases that print it, if known.
    origin: the program or source file that prints it.
    at: the named group whose line is the evidence; by default the line in which the match begins.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: str
    example: str
    make: Maker | None = None
    lines: int = 1
    seen_in: str = ""
    origin: str = ""
    at: str = ""
    near: tuple[tuple[str, ...], ...] = ()
    once: bool = False
    unlogged: bool = False

    def place(self, match: re.Match[str]) -> int:
        """Return the offset of an occurrence in the text: where the group `at` begins, or else where the
        match begins."""
        start = match.start(self.at) if self.at else -1
        return start if start >= 0 else match.start()

    def fact(self, match: re.Match[str], source: Source) -> Made:
        """Return the fact or facts that follow from one match, or None if there are none."""
        if self.make is not None:
            return self.make(match, source)
        if match.lastindex is None:  # no named group matched
            return Symptom(source, self.kind)
        detail = tuple((k, v.strip()) for k, v in match.groupdict().items() if v is not None)
        return Symptom(source, self.kind, detail)


BLANK = (" ", "\t")
DIGITS = tuple("0123456789")


def glued(words: Iterable[str], ends: Iterable[str]) -> tuple[str, ...]:
    """Join each word with each ending, to make rare literals from a frequent word."""
    several = tuple(ends)
    return tuple(word + end for word in words for end in several)


def words(text: str) -> tuple[str, ...]:
    """Split a string at its bars (|) into texts. A string that is only a bar is one text."""
    return tuple(text.split("|")) if text != "|" else (text,)


def sig(
    kind: str,
    literals: str | tuple[str, ...],
    pattern: str,
    example: str,
    make: Maker | None = None,
    *,
    lines: int = 1,
    seen_in: str = "",
    origin: str = "",
    at: str = "",
    near: str | tuple[str, ...] = (),
    once: bool = False,
    unlogged: bool = False,
) -> Signature:
    """Make a signature. A string of literals, and each string in `near`, contains texts with bars (|) between
    them."""
    several = words(literals) if isinstance(literals, str) else literals
    beside = tuple(map(words, (near,) if isinstance(near, str) else near))
    return Signature(
        kind, several, pattern, example, make, lines, seen_in, origin, at, beside, once, unlogged
    )


spoken = partial(sig, unlogged=True)
"""Make a signature for what people write, and for lists and forms: it is not tried on log records and
traceback frames."""
