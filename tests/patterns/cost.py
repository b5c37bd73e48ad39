"""Computes an upper bound for the cost of a regular expression per character of text, from the pattern alone.

A backtracking search is slow if the same text can be read along many paths through the pattern. Two repeats p
and q multiply the paths if some word v can be read in p, from p to q, and in q (Weber and Seidl, On the
degree of ambiguity of finite automata, 1991): then a text of repeated v can be divided between p and q at any
place. The search itself starts again at each character, so it counts as a repeat of "any character" before
the pattern. A single repeat that can read the same word along two paths is exponential.

The pattern is converted into an automaton of its characters. A repeat with a limit remains a loop and counts
with its limit, so the computed cost is an upper bound. The exceptions are lookbehinds for several characters
and references to groups: they are assumed to match everywhere.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from operator import itemgetter, or_
from typing import Any, NamedTuple

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    try:  # Python 3.11 and later
        from re import _constants as constants, _parser as parser
    except ImportError:
        import sre_constants as constants  # type: ignore[no-redef]
        import sre_parse as parser  # type: ignore[no-redef]

COPIES = 4
"""A group that contains repeats is written out if it occurs at most this often; more occurrences are treated
as a loop."""
_REPEATS = tuple(
    getattr(constants, name)
    for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
    if hasattr(constants, name)
)
_ATOMIC = getattr(constants, "ATOMIC_GROUP", None)


class Cost(NamedTuple):
    """The cost of a pattern. steps: the number of paths that may be tried for each character (infinite if it
    grows with the text). why: the repeats that cause this."""

    steps: float
    why: str


class Gate(NamedTuple):
    """The condition for an empty step: the letters that may be before and after it, as bit sets."""

    before: int
    after: int

    def also(self, other: Gate) -> Gate:
        """Return the condition that both conditions together make."""
        return Gate(self.before & other.before, self.after & other.after)


class Loop(NamedTuple):
    """A repeat. choices: how many of its repetitions are optional. text: its text in the pattern."""

    choices: float
    text: str


def cost(
    pattern: str | bytes, flags: int = 0, *, anchored: bool = False, whole: bool = False, without: str = ""
) -> Cost:
    """Return the cost of a pattern.

    anchored: whether it is tried at only one place (match, fullmatch). whole: whether it must match to the
    end of the text (fullmatch). without: characters that the text does not contain.
    """
    return _Automaton(
        parser.parse(pattern, flags), isinstance(pattern, bytes), anchored, whole, without
    ).cost()


@lru_cache(maxsize=None)
def _is_of(escape: str, letter: str, ascii_only: bool, of_bytes: bool) -> bool:
    """Whether a character class such as \\w contains a letter."""
    if of_bytes:
        return re.match(escape.encode(), letter.encode("latin-1"), re.ASCII * ascii_only) is not None
    return re.match(escape, letter, re.ASCII * ascii_only) is not None


class _Automaton:
    """An automaton. Each node reads one letter from its set of letters; empty steps connect the nodes. Node 0
    reads the characters that the search skips."""

    def __init__(self, parsed: Any, of_bytes: bool, anchored: bool, whole: bool, without: str) -> None:
        self.flags = int(parsed.state.flags)
        self.folds = bool(self.flags & re.IGNORECASE)
        self.of_bytes = of_bytes
        self.chars = [c for c in self._alphabet(parsed) if c not in without]
        self.all = (1 << len(self.chars)) - 1
        self.letters: dict[str, int] = {}
        """For each letter, the set of letters that are equal to it if case is ignored."""
        for i, c in enumerate(self.chars):
            key = c.lower() if self.folds else c
            self.letters[key] = self.letters.get(key, 0) | 1 << i
        self.word = self._category("\\w")
        self.reads: dict[int, int] = {}
        """The letters that each reading node reads. All other nodes read none."""
        self.empty: defaultdict[int, list[tuple[int, Gate]]] = defaultdict(list)
        self.nodes = 0
        self.inside: dict[int, tuple[Loop, ...]] = {}
        """The loops around a node."""
        self._loops: tuple[Loop, ...] = (Loop(math.inf, "the search"),)
        start = self._node(self.all)
        if not anchored:
            self._step(start, start)
        self._loops = ()
        end = self._sequence(parsed, start, first=not anchored)
        self.done = set() if whole else self._before(end)

    # --- letters ------------------------------------------------------------------------------------

    def _alphabet(self, parsed: Any) -> list[str]:
        several = [chr(c) for c in range(256 if self.of_bytes else 128)]
        if not self.of_bytes:
            several += sorted({*_letters_of(parsed), "ж", "中", "\u2014", "\u00a0"} - set(several))
        return several

    def _set(self, chosen: Iterable[bool]) -> int:
        return sum(1 << i for i, yes in enumerate(chosen) if yes)

    def _category(self, escape: str) -> int:
        ascii_only = bool(self.flags & re.ASCII)
        return self._set(_is_of(escape, c, ascii_only, self.of_bytes) for c in self.chars)

    def _letter(self, code: int) -> int:
        letter = chr(code)
        return self.letters.get(letter.lower() if self.folds else letter, 0)

    def _class(self, items: Sequence[tuple[Any, Any]]) -> int:
        found, negated = 0, False
        for operator, argument in items:
            if operator is constants.NEGATE:
                negated = True
            elif operator is constants.LITERAL:
                found |= self._letter(argument)
            elif operator is constants.RANGE:
                low, high = argument
                found |= self._set(
                    low <= ord(c) <= high
                    or (self.folds and any(low <= ord(o) <= high for o in (c.lower()[:1], c.upper()[:1])))
                    for c in self.chars
                )
            elif operator is constants.CATEGORY:
                found |= self._category(_CATEGORIES[argument])
            else:
                raise NotImplementedError(operator)
        return self.all & ~found if negated else found

    # --- building ------------------------------------------------------------------------------------

    def _node(self, reads: int | None = None) -> int:
        node, self.nodes = self.nodes, self.nodes + 1
        if reads is not None:
            self.reads[node] = reads
            self.inside[node] = self._loops
        return node

    def _step(self, start: int, end: int, gate: Gate | None = None) -> None:
        self.empty[start].append((end, gate or Gate(self.all, self.all)))

    def _read(self, start: int, letters: int) -> int:
        node = self._node(letters)
        self._step(start, node)
        return node

    def _sequence(self, parsed: Any, start: int, *, first: bool = False) -> int:
        for operator, argument in parsed:
            start = self._one(operator, argument, start, first)
            first = first and operator is constants.ASSERT_NOT
        return start

    def _one(self, operator: Any, argument: Any, start: int, first: bool) -> int:
        single = self._single(operator, argument)
        if single is not None:
            return self._read(start, single)
        if operator is constants.SUBPATTERN:
            return self._sequence(argument[3], start, first=first)
        if _ATOMIC is not None and operator is _ATOMIC:
            return self._sequence(argument, start, first=first)
        if operator is constants.BRANCH:
            end = self._node()
            for branch in argument[1]:
                self._step(self._sequence(branch, start, first=first), end)
            return end
        if operator in _REPEATS:
            return self._repeat(*argument, start)
        if operator is constants.AT:
            return self._at(argument, start, first)
        if operator in (constants.ASSERT, constants.ASSERT_NOT):
            return self._look(operator is constants.ASSERT, *argument, start)
        if operator is constants.GROUPREF:
            end = self._node()
            self._step(start, end)
            self._step(self._read(start, self.all), end)
            return end
        raise NotImplementedError(operator)

    def _single(self, operator: Any, argument: Any) -> int | None:
        if operator is constants.LITERAL:
            return self._letter(argument)
        if operator is constants.NOT_LITERAL:
            return self.all & ~self._letter(argument)
        if operator is constants.IN:
            return self._class(argument)
        if operator is constants.ANY:
            return self.all if self.flags & re.DOTALL else self.all & ~self._letter(10)
        return None

    def _repeat(self, least: int, most: int, body: Any, start: int) -> int:
        if most == 0:
            return start
        if most == 1 or (most <= COPIES and _repeats(body)):
            end = self._node()
            for times in range(most):
                if times >= least:
                    self._step(start, end)
                start = self._sequence(body, start)
            self._step(start, end)
            return end
        around = self._loops
        unlimited = most == constants.MAXREPEAT
        self._loops = (
            *around,
            Loop(math.inf if unlimited else most - least + 1, _written(body, least, most)),
        )
        begin, end = self._node(), self._node()
        self._step(start, begin)
        last = self._sequence(body, begin)
        self._step(last, begin)
        self._step(last, end)
        if not least:
            self._step(start, end)
        self._loops = around
        return end

    def _at(self, where: Any, start: int, first: bool) -> int:
        end = self._node()
        if where in (constants.AT_BOUNDARY, constants.AT_NON_BOUNDARY):
            word, other = self.word, self.all & ~self.word
            same = where is constants.AT_NON_BOUNDARY
            self._step(start, end, Gate(word, word if same else other))
            self._step(start, end, Gate(other, other if same else word))
        elif where is constants.AT_BEGINNING and first and self.flags & re.MULTILINE:
            self._step(start, end, Gate(self._letter(10), self.all))
        elif where in (constants.AT_BEGINNING, constants.AT_BEGINNING_STRING) and first:
            self._step(start, end, Gate(0, self.all))  # once in a text, because no repetition leads there
        elif where is constants.AT_END:
            self._step(start, end, Gate(self.all, self._letter(10)))
        elif where is constants.AT_END_STRING:
            self._step(start, end, Gate(self.all, 0))
        else:
            self._step(start, end)
        return end

    def _look(self, wanted: bool, direction: int, body: Any, start: int) -> int:
        letters = self._one_letter(body)
        end = self._node()
        if letters is not None:
            allowed = letters if wanted else self.all & ~letters
            self._step(start, end, Gate(allowed, self.all) if direction < 0 else Gate(self.all, allowed))
            return end
        if direction > 0:
            self._sequence(body, start)  # tried from here and then abandoned: its end leads nowhere
        self._step(start, end)
        return end

    def _one_letter(self, body: Any) -> int | None:
        """Return the letters that the body of a lookahead or lookbehind matches, or None if the body is not
        one character."""
        if len(body) != 1:
            return None
        operator, argument = body[0]
        if operator is constants.SUBPATTERN:
            return self._one_letter(argument[3])
        if operator is constants.BRANCH:
            several = [self._one_letter(branch) for branch in argument[1]]
            return None if None in several else reduce(or_, several)
        return self._single(operator, argument)

    def _before(self, end: int) -> set[int]:
        """Return the nodes from which the end can be reached without reading more: a search that reaches such
        a node has found a match and stops."""
        into: defaultdict[int, list[int]] = defaultdict(list)
        for start, steps in self.empty.items():
            for to, gate in steps:
                if gate == Gate(self.all, self.all):
                    into[to].append(start)
        found, waiting = {end}, [] if end in self.reads else [end]
        while waiting:
            for start in into[waiting.pop()]:
                if start not in found:
                    found.add(start)
                    if start not in self.reads:
                        waiting.append(start)
        return found

    # --- the cost --------------------------------------------------------------------------------------

    def _follow(self) -> dict[int, list[tuple[int, Gate, bool]]]:
        """Return, for each reading node, the reading nodes that may come next, each with its condition and
        whether more than one path leads to it."""
        return {
            node: [(end, gate, times > 1) for (end, gate), times in self._behind(node).items()]
            for node in self.reads
        }

    def _behind(self, node: int) -> dict[tuple[int, Gate], int]:
        """Return the reading nodes that empty steps from this node reach, with the number of paths to each
        (at most two)."""
        found: dict[tuple[int, Gate], int] = {}
        paths: dict[tuple[int, Gate], int] = {}
        waiting = [(node, Gate(self.all, self.all), 1)]
        while waiting:
            at, gate, more = waiting.pop()
            for end, asked in self.empty[at]:
                both = gate.also(asked)
                reads = self.reads.get(end)
                if not both.before or not both.after or (reads is not None and not both.after & reads):
                    continue
                into = paths if reads is None else found
                known = into.get((end, both), 0)
                into[end, both] = min(2, known + more)
                if reads is None and known < 2:
                    waiting.append((end, both, into[end, both] - known))
        return found

    def cost(self) -> Cost:
        """Return the upper bound, and the repeats that cause it."""
        self.next = self._follow()
        parts = _components(self.next)
        looping = [
            part
            for part in parts
            if not part & self.done
            and (len(part) > 1 or any(end in part for node in part for end, *_ in self.next[node]))
        ]
        for part in looping:
            if 0 not in part and self._twice(part):
                return Cost(
                    math.inf, f"one repeat reads the same text along two paths: {self._loop(part).text}"
                )
        return self._chain(looping)

    def _loop(self, part: frozenset[int]) -> Loop:
        """Return the outermost loop that contains all nodes of a strongly connected part."""
        common = set.intersection(*(set(self.inside[node]) for node in part))
        chosen = [loop for loop in self.inside[min(part)] if loop in common]
        return chosen[0] if chosen else Loop(math.inf, "?")

    def _twice(self, part: frozenset[int]) -> bool:
        """Whether some word leads from a node in a loop back to that node along two paths."""
        pairs: dict[tuple[int, int], set[tuple[int, int]]] = {}
        twins = False
        waiting = [(node, node) for node in part]
        while waiting:
            pair = waiting.pop()
            if pair in pairs:
                continue
            ends: set[tuple[int, int]] = set()
            for a, gate, twice in self.next[pair[0]]:
                if a not in part:
                    continue
                if twice and pair[0] == pair[1]:
                    return True
                for b, other, _ in self.next[pair[1]]:
                    both = gate.also(other)
                    letters = self.reads[a] & self.reads[b] & both.after
                    before = self.reads[pair[0]] & self.reads[pair[1]] & both.before
                    if b in part and letters and before:
                        ends.add((a, b))
            pairs[pair] = ends
            waiting += ends
            twins = twins or any(a != b for a, b in ends)
        if not twins:
            return False
        graph = {pair: [(end, None, False) for end in ends] for pair, ends in pairs.items()}
        return any(
            any(a == b for a, b in several) and any(a != b for a, b in several)
            for several in _components(graph)
        )

    def _chain(self, looping: list[frozenset[int]]) -> Cost:
        """Return the most expensive chain of repeats that share words.

        If a chain begins with a repeat at a fixed place, that repeat costs no more than the repeat with which
        it shares the text, so the smaller of the two costs counts.
        """
        ahead = {part: self._ahead(min(part)) for part in looping}
        ordered = sorted(
            looping, key=lambda part: sum(min(part) in ahead[other] for other in looping if other != part)
        )
        paired: dict[frozenset[int], Cost] = {}
        reached: dict[frozenset[int], Cost] = {}
        for part in ordered:
            before = [other for other in reached if min(part) in ahead[other]]
            loop = self._loop(part)
            pairs = []
            for other in before:
                first = self._loop(other)
                word = self._shared(other, part) if min(loop.choices, first.choices) > 1 else None
                if word is None:
                    continue
                begun, fixed = paired[other], reached[other]
                along = begun.steps * max(1.0, loop.choices / word) if begun.why else 0
                anew = fixed.steps * max(1.0, min(first.choices, loop.choices) / word)
                why = (
                    begun.why
                    if along >= anew and begun.why
                    else f"{fixed.why}; {first.text}"
                    if fixed.why
                    else first.text
                )
                pairs.append(Cost(max(along, anew), f"{why} ~ {loop.text}"))
            by_steps = itemgetter(0)
            paired[part] = max(pairs, key=by_steps, default=Cost(1, ""))
            reached[part] = max([paired[part], *(reached[other] for other in before)], key=by_steps)
        return max(reached.values(), key=itemgetter(0), default=Cost(1, ""))

    def _ahead(self, node: int) -> set[int]:
        found: set[int] = set()
        waiting = [node]
        while waiting:
            for end, *_ in self.next[waiting.pop()]:
                if end not in found:
                    found.add(end)
                    waiting.append(end)
        return found

    def _shared(self, first: frozenset[int], second: frozenset[int]) -> int | None:
        """Return the length of the shortest word that can be read in the first loop, from the first loop to
        the second, and in the second loop."""
        lengths = [
            length for p in first for q in second if (length := self._word(p, q, first, second)) is not None
        ]
        return min(lengths, default=None)

    def _word(self, p: int, q: int, first: frozenset[int], second: frozenset[int]) -> int | None:
        last = self.reads[p] & self.reads[q]
        if not last:
            return None
        start = (p, p, q, last)
        seen = {start}
        waiting = deque([(start, 0)])
        while waiting:
            (x, y, z, before), length = waiting.popleft()
            for b, gate_b, _ in self.next[y]:
                if not gate_b.before & before:
                    continue
                for a, gate_a, _ in self.next[x]:
                    if a not in first:
                        continue
                    for c, gate_c, _ in self.next[z]:
                        if c not in second:
                            continue
                        if not before & gate_a.before & gate_b.before & gate_c.before:
                            continue
                        letters = self.reads[a] & self.reads[b] & self.reads[c]
                        letters &= gate_a.after & gate_b.after & gate_c.after
                        if not letters:
                            continue
                        if (a, b, c) == (p, q, q):
                            return length + 1
                        state = (a, b, c, letters)
                        if state not in seen:
                            seen.add(state)
                            waiting.append((state, length + 1))
        return None


_CATEGORIES = {
    constants.CATEGORY_DIGIT: "\\d",
    constants.CATEGORY_NOT_DIGIT: "\\D",
    constants.CATEGORY_SPACE: "\\s",
    constants.CATEGORY_NOT_SPACE: "\\S",
    constants.CATEGORY_WORD: "\\w",
    constants.CATEGORY_NOT_WORD: "\\W",
}


def _children(operator: Any, argument: Any) -> list[Any]:
    """Return the patterns inside a parsed operator."""
    if operator is constants.SUBPATTERN:
        return [argument[3]]
    if operator is constants.BRANCH:
        return list(argument[1])
    if operator in _REPEATS:
        return [argument[2]]
    if operator in (constants.ASSERT, constants.ASSERT_NOT):
        return [argument[1]]
    if _ATOMIC is not None and operator is _ATOMIC:
        return [argument]
    return []


def literals(parsed: Any) -> list[str]:
    """Return the runs of literal characters in a pattern, in order."""
    found, run = [], ""
    for operator, argument in parsed:
        if operator is constants.LITERAL:
            run += chr(argument)
            continue
        if run:
            found.append(run)
        run = ""
        for child in _children(operator, argument):
            found += literals(child)
    return [*found, run] if run else found


def _letters_of(parsed: Any) -> set[str]:
    found: set[str] = set()
    for operator, argument in parsed:
        items = argument if operator is constants.IN else [(operator, argument)]
        for kind, value in items:
            if kind in (constants.LITERAL, constants.NOT_LITERAL):
                found |= {chr(value), chr(value).lower()[:1], chr(value).upper()[:1]}
            elif kind is constants.RANGE:
                found |= {chr(value[0]), chr(value[1])}
        for child in _children(operator, argument):
            found |= _letters_of(child)
    return found


def _repeats(parsed: Any) -> bool:
    """Whether a pattern contains a repeat."""
    return any(
        (operator in _REPEATS and argument[1] > 1) or any(map(_repeats, _children(operator, argument)))
        for operator, argument in parsed
    )


def _written(body: Any, least: int, most: int) -> str:
    limits = f"{{{least},{'' if most == constants.MAXREPEAT else most}}}"
    return f"{str(list(body))[:80]}{limits}"


def _components(graph: dict[Any, list[tuple[Any, Any, bool]]]) -> list[frozenset[Any]]:
    """Return the strongly connected components of a graph (Tarjan's algorithm, without recursion)."""
    index: dict[Any, int] = {}
    low: dict[Any, int] = {}
    on: set[Any] = set()
    stack: list[Any] = []
    found: list[frozenset[Any]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, ends = work[-1]
            for end, *_ in ends:
                if end not in index:
                    index[end] = low[end] = len(index)
                    stack.append(end)
                    on.add(end)
                    work.append((end, iter(graph[end])))
                    break
                if end in on:
                    low[node] = min(low[node], index[end])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = set()
                    while True:
                        one = stack.pop()
                        on.discard(one)
                        part.add(one)
                        if one == node:
                            break
                    found.append(frozenset(part))
    return found
