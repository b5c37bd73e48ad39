"""Finds the parts of the input (windows) on which to try a pattern: the lines that contain the pattern's
words, cut to a bounded length. A window is a pair of offsets. There are only ever a few short windows, so no
input can make a pattern slow."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple

from doctor import lazy
from doctor.logs.literals import Hit, Literals

if TYPE_CHECKING:
    from typing import TypeAlias

WINDOW = 1_500
"""A pattern is tried on at most this many characters around a literal."""
HITS = 300
"""At most this many occurrences of one literal are read. Further ones add nothing."""

RECORD = 500
"""A line with more characters than this does not count as a record: it may be a whole report that lost its
line ends."""
_RECORD = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ \n]{0,12} \[?[IWEF]\]?[: ]"
PRINTED = lazy.compile(
    rf"{_RECORD}"  # the beginning of most records
    r"|[ \t>|]*(?:\d{1,6}[:|.)\]]?[ \t]+)?"
    rf"(?:\[?{_RECORD}"
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d|[IWEF] (?:(?:\./)?(?:tensorflow|external)|[cC]:)[/\\]|File \"[^\"\n]+\","
    r" line \d"
    r"|To enable the following instructions: )"
)
"""Matches the beginning of a log record (the prefixes in TensorFlow 0.12 to 2.21, with or without a time; the
second line of the message that core/platform/cpu_feature_guard.cc prints at each start), and a traceback
frame."""

Window: TypeAlias = "tuple[int, int]"
"""The two offsets between which a pattern is tried."""


class Words(NamedTuple):
    """Two sets of words to search for: one for most lines, and one for log records and traceback frames."""

    everywhere: Literals
    logged: Literals
    """The words that count in records and frames. Each word has the same number in both sets."""


class Lines:
    """The lines of the input, and the words in each line.

    lower: the same text in lower case. A word contains no line feed.
    """

    def __init__(self, text: str, lower: str, words: Words) -> None:
        self.text = text
        self.starts = list(accumulate([len(line) + 1 for line in text.split("\n")], initial=0))
        """The offset of each line, followed by the offset at which another line would begin."""
        self.lines: defaultdict[int, list[int]] = defaultdict(list)
        """For each word, the lines of at most WINDOW characters that contain it."""
        self.places: defaultdict[int, list[int]] = defaultdict(list)
        """For each word, its offsets in longer lines."""
        self._present: dict[int, set[int]] = {}
        self._records: set[int] = set()
        """The lines that a program certainly printed: records and frames."""
        self._sort(chain.from_iterable(self._hits(lower, words)))

    def _hits(self, lower: str, words: Words) -> Iterator[Iterable[Hit]]:
        """Yield the hits of each run of lines. A run consists only of records and frames, or only of other
        lines."""
        text, starts = self.text, self.starts
        matches, records = PRINTED.match, self._records
        begin, within = 0, False
        for line, (start, end) in enumerate(zip(starts, starts[1:])):
            record = end - start <= RECORD and matches(text, start) is not None
            if record:
                records.add(line)
            if record is not within:
                if start > begin:
                    yield (words.logged if within else words.everywhere).hits(lower, begin, start)
                begin, within = start, record
        yield (words.logged if within else words.everywhere).hits(lower, begin)

    def _sort(self, hits: Iterable[Hit]) -> None:
        starts, lines, places = self.starts, self.lines, self.places
        line, after, short = -1, 0, True
        present: set[int] = set()
        for end, (number, before) in hits:
            if end >= after:
                line = bisect_right(starts, end) - 1
                after = starts[line + 1]
                short = after - starts[line] <= WINDOW
                present = self._present[line] = set()
            if not short:
                places[number].append(end - before)
                present.add(number)
            elif number not in present:
                present.add(number)
                lines[number].append(line)

    def words(self) -> set[int]:
        """Return the words that occur in the text."""
        return set().union(*self._present.values())

    def unlogged(self) -> set[int]:
        """Return the words that occur outside records and frames."""
        return set().union(*(words for line, words in self._present.items() if line not in self._records))

    def windows(
        self, words: Sequence[int], near: Sequence[frozenset[int]], lines: int, unlogged: bool
    ) -> list[Window]:
        """Return the windows around the occurrences of these words, with `lines` lines before and after. A
        window must contain a word from each set in `near`. words: some of the words in the text. unlogged:
        skip records and frames.
        """
        short = self._lines_of(words)
        if unlogged and self._records:
            short = [line for line in short if line not in self._records]
        for several in near:
            short = [line for line in short if self._near(several, line, lines)]
        starts = self.starts
        if lines == 1:
            found = [(starts[line], starts[line + 1] - 1) for line in short]
        else:
            found = [self._window(line, lines) for line in short]
        if self.places:
            long = (self.places[number] for number in words if number in self.places)
            found += dict.fromkeys(chain.from_iterable(_windows(self.text, places, lines) for places in long))
        return found

    def _lines_of(self, words: Sequence[int]) -> list[int]:
        """Return the short lines that contain one of these words, at most HITS for each word."""
        if len(words) == 1:
            return self.lines.get(words[0], [])[:HITS]
        return sorted({line for number in words for line in self.lines.get(number, ())[:HITS]})

    def _near(self, several: frozenset[int], line: int, lines: int) -> bool:
        if lines == 1:
            return not several.isdisjoint(self._present[line])
        around = range(line - lines + 1, line + lines)
        return any(not several.isdisjoint(self._present[at]) for at in around if at in self._present)

    def _window(self, line: int, lines: int) -> Window:
        """Return the window that covers a short line and its neighbours."""
        starts = self.starts
        first, after = max(0, line - lines + 1), min(len(starts) - 1, line + lines)
        fits = starts[after] - 1 - starts[first] <= WINDOW * lines
        return (starts[first], starts[after] - 1) if fits else _window(self.text, starts[line], lines)


def _windows(text: str, places: list[int], lines: int) -> list[Window]:
    """Return at most HITS windows around the occurrences of a word. An occurrence inside the previous window
    needs no window of its own."""
    found: list[Window] = []
    after = which = 0
    for _ in range(HITS):
        if places[which] < after:
            which = bisect_left(places, after, which)
            if which == len(places):
                break
        at = places[which]
        start, end = _window(text, at, lines)
        found.append((start, end))
        after = max(at + 1, min(end, at + WINDOW))
        which += 1
        if which == len(places):
            break
    return found


def _window(text: str, at: int, lines: int) -> Window:
    """Return the window around the offset `at`, with `lines` lines before and after, cut to WINDOW characters
    per line."""
    if lines == 1:
        start = text.rfind("\n", max(0, at - WINDOW), at)
        end = text.find("\n", at + 1, at + WINDOW)
        return start + 1 if start >= 0 else max(0, at - WINDOW), (
            end if end >= 0 else min(len(text), at + WINDOW)
        )
    start = at
    for _ in range(lines):
        start = text.rfind("\n", max(0, at - WINDOW * lines), start)
        if start < 0:
            start = max(-1, at - WINDOW * lines)
            break
    start += 1
    end = at
    for _ in range(lines):
        end = text.find("\n", end + 1, at + WINDOW * lines)
        if end < 0:
            return start, min(len(text), at + WINDOW * lines)
    return start, end
