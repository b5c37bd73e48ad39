"""Separates the sentences of a report from programs' output, code, commands, tables and lists of packages.

`sentences` returns each sentence with the input line in which it begins. A model decides whether a person
wrote a sentence; it was trained on examples of both kinds (scripts/training/lines.jsonl,
scripts/train_prose.py). Lines that an editor or a mail program wrapped are joined first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from doctor import lazy, resources
from doctor.logs.prose.courtesy import is_courtesy
from doctor.logs.prose.scripts import EAST_ASIAN, letters_in
from doctor.logs.text import Text
from doctor.logs.windows import PRINTED

if TYPE_CHECKING:
    from doctor.logs.prose.classify import Model

LINES = 2_000
"""At most this many lines are searched for sentences, half of them at the end. The middle of a long log
contains none."""
JUDGED = 60_000
"""At most this many characters are classified as written by a person or printed by a program. Further text
adds nothing."""
LONGEST = 1_200
"""At most this many characters of a line are examined. A longer line either is not a sentence, or can be
classified from its beginning."""
REPEATED = 4
"""If at least this many lines differ only in numbers, a program printed them."""
MOST = 60
"""At most this many sentences are kept: in a long report, the first ones and the last ones."""
PERSON = 0.6
"""A sentence counts as written by a person if the probability of that is at least this."""
AROUND = 0.7
"""The threshold for a line that quotes a program's message."""
ALONE = 0.25
"""The threshold for input without any program output, and for a sentence that is not in Latin script."""

REST = 6
"""A line under a program's message with fewer words than this continues the message."""

_END = lazy.compile(r"(?<=[.!?])[\"')\]]{0,2}\s+(?=[\"'(\[]?[A-Z0-9\u00c0-\uffff])|(?<=[。！？])")
_ASCII_END = lazy.compile(r"(?<=[.!?])[\"')\]]{0,2}\s+(?=[\"'(\[]?[A-Z0-9])")
"""The same pattern for ASCII text only: compiling the general pattern takes longer than reading most
reports."""
_FENCE = lazy.compile(r"\s*(?:(`{3,20}|~{3,20})|<pre>|</pre>|<code>|</code>)")
_MARKUP = lazy.compile(
    r"^(?:\s*(?:>+|[-*+•]|\d{1,2}[.)]|#{1,6}|//)\s+)+|^\s*(?:Q:|A:)\s*|\*\*|__|<[^<>\n]{1,80}>"
)
_WORD = lazy.compile(
    r"[^\W\d_\u3040-\u30ff\u3400-\u9fff]{2,}|[\u3040-\u30ff\u3400-\u9fff]{2}|[\uac00-\ud7af]"
)
"""Matches a word. In Chinese and Japanese, which have no spaces, two characters count as one word."""
_ASCII_WORD = lazy.compile(r"[a-zA-Z]{2,}")
_FOREIGN = (("\u0370", "\u1fff"), *EAST_ASIAN)
"""The letters of Greek, Cyrillic, Arabic, Indic and East Asian scripts, which programs seldom print."""
_DIGITS = lazy.compile(r"\d{1,24}")
_FRAME = lazy.compile(r"[\s>|]{0,40}File \"[^\"]{1,300}\", line \d{1,7}, in [^ ]{1,120}\s{0,9}$")
"""Matches a frame of a traceback: the next line is code."""
_MACHINE = lazy.compile(
    r"\s*(?:Traceback \(most|File \"|>>> ?|\.\.\. |\$ |In \[\d|Out\[\d|\(\w[\w.-]{0,40}\) ?(?:\$|[A-Z]:\\)"
    r"|[\w.-]{1,40}@[\w.-]{1,60}[:~ ]|PS [A-Z]:|[A-Z]:\\[^ ]{0,80}>|\[?\d{1,4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d"
    r"|\[ *\d{1,8}\.\d{3,6}\]|(?:kernel: ?)?NVRM: |[IWEF]"
    r" (?:\./)?(?:tensorflow|external|T:)|[\w.]{0,120}(?:Error|Exception|Warning)\b ?[:(]"
    r"|(?:FROM|RUN|COPY|ADD|ENV|ARG|CMD|ENTRYPOINT|WORKDIR|EXPOSE|LABEL|USER) [^\s.]"
    r"|\w{2,30}: ?\S{1,40}\s{1,9}\w{2,30}: ?\S|(?:import [\w.]{1,60}|from [\w.]{1,60} import [\w, ]{1,80}?)"
    r"(?: as \w{1,20})?$)"
)
"""Matches the start of a line that a person never writes: a prompt, a time stamp, the name of an exception,
a line of a Dockerfile or of NVIDIA's kernel module, fields, an import."""
_FORM = lazy.compile(r"^[^:：.!?]{2,75}[:：]\*{0,2} ?\S{0,60}(?: \S{1,20}){0,3}$")
"""Matches a field of a form with a short answer. The field is read as a fact, and its label is not a person's
sentence."""


class Sentence(NamedTuple):
    """One sentence, and the input line (from 1) in which it begins. quotes: whether that line also contains a
    program's message."""

    line: int
    text: str
    quotes: bool = False


@lru_cache(maxsize=1)
def writers() -> Model:
    """Return the model that distinguishes a person's text from a program's output."""
    from doctor.logs.prose.classify import unpacked

    return unpacked(resources.read("doctor.logs.prose", "writers.bin"))


@lru_cache(maxsize=4_000)
def _person(sentence: str) -> float:
    """Return the probability that a person wrote a sentence."""
    model = writers()
    return model.probabilities(sentence)[model.codes.index("person")]


def sentences(text: Text, printed: Collection[int] = ()) -> list[Sentence]:
    """Return the sentences that people wrote in a report, in order; if there are very many, the first and the
    last ones.

    printed: the numbers of the lines that contain a program's message.
    """
    found = _sentences(text, printed)
    # some people put their whole text into a code fence
    if not found and ("```" in text.text or "~~~" in text.text):
        found = _sentences(text, printed, fences=False)
    return found if len(found) <= MOST else [*found[: MOST // 2], *found[-MOST // 2 :]]


def _sentences(text: Text, printed: Collection[int], *, fences: bool = True) -> list[Sentence]:
    """Return the sentences that are more than greetings, without duplicates, so that a repeated or quoted
    sentence counts once."""
    found: dict[str, Sentence] = {}
    for number, block in _paragraphs(text, printed, fences):
        for part in parts(block):
            if part not in found and not is_courtesy(part):
                found[part] = Sentence(number, part, number in printed)
    return list(found.values())


def parts(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph that have at least two words."""
    for part in (_ASCII_END if paragraph.isascii() else _END).split(paragraph):
        part = part.strip()
        if _words(part) >= 2 and (" " in part or not part.isascii()):
            yield part


def _words(text: str) -> int:
    """Return the number of words in a string."""
    return len((_ASCII_WORD if text.isascii() else _WORD).findall(text))


def _paragraphs(text: Text, printed: Collection[int], fences: bool) -> Iterator[tuple[int, str]]:
    """Yield runs of consecutive prose lines, each as (number of the first line, joined text). fences: ignore
    text inside code fences."""
    lines = list(text.lines())
    if len(lines) > LINES:
        lines = [*lines[: LINES // 2], *lines[-LINES // 2 :]]
    shapes = Counter(_DIGITS.sub("0", line[:80]) for _, line in lines if len(line) > 20)
    begin = size = last = 0
    run: list[str] = []
    least = PERSON if any(_programs(number, line, printed) for number, line in lines) else ALONE
    fence, framed, below = "", False, False
    for number, line in lines:
        mark = _FENCE.match(line)
        code = framed or size > JUDGED or (fences and (mark is not None or fence != ""))
        code = code or (below and _words(line[:LONGEST]) < REST)
        code = code or (
            shapes[_DIGITS.sub("0", line[:80])] >= REPEATED and _DIGITS.search(line[:80]) is not None
        )
        prose = "" if code else own_words(line[:LONGEST], AROUND if number in printed else least)
        size += 0 if code else min(len(line), LONGEST)
        framed = _FRAME.match(line) is not None
        below = number in printed or PRINTED.match(line) is not None
        fence = _fence_after(mark, fence)
        alone = number in printed or begin in printed or number > last + 1  # or lines were left out
        last = number
        if run and (not prose or alone or not _goes_on(run[-1], prose)):
            yield begin, " ".join(run)
            run = []
        if prose:
            begin = begin if run else number
            run.append(prose)
    if run:
        yield begin, " ".join(run)


def _fence_after(mark: re.Match[str] | None, fence: str) -> str:
    """Return the code fence that is open after a line, or "" if none is. A longer fence may contain shorter
    ones."""
    if mark is None or mark[1] is None:
        return fence
    if not fence:
        return mark[1]
    return "" if mark[1].startswith(fence) else fence


def _programs(number: int, line: str, printed: Collection[int]) -> bool:
    """Whether a program certainly printed a line, judging by its number or its first characters."""
    return number in printed or PRINTED.match(line) is not None or _MACHINE.match(line) is not None


def _goes_on(before: str, line: str) -> bool:
    """Whether a line continues the line `before`, which was wrapped."""
    return before[-1:] not in ".!?。！？:：" and (line[:1].islower() or len(before) > 55)


def own_words(line: str, least: float = PERSON) -> str:
    """Return the sentences in a line that a person wrote, joined and without markup, or "" if there are
    none."""
    if PRINTED.match(line) or _MACHINE.match(line) or _FORM.match(line.strip()[:200]) or line.count("|") > 2:
        return ""
    plain = _MARKUP.sub("", line).strip()
    return " ".join(
        part for part in parts(plain) if _person(part) >= (ALONE if letters_in(part, _FOREIGN) > 3 else least)
    )
