"""Short lists of node names, as Slurm writes them: n[001-490,495]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from doctor import lazy

_NUMBERED = lazy.compile(r"(?P<before>.*?)(?P<number>\d{1,9})(?P<after>\D*)", re.DOTALL)


def folded(names: Iterable[str]) -> list[str]:
    """Return the names in the order of their first occurrence. Names that differ only in their last number
    share an entry, as in n[001-003]."""
    kinds: dict[tuple[str, str, int], set[int]] = {}
    plain: dict[tuple[str, str, int], str] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None or "[" in name:
            plain[(name, "", -1)] = name
            kinds.setdefault((name, "", -1), set())
            continue
        digits = match["number"]
        # 09 and 10 are written with two digits, 9 and 10 are not
        width = len(digits) if digits.startswith("0") else 0
        kinds.setdefault((match["before"], match["after"], width), set()).add(int(digits))
    _join_padded(kinds)
    return [
        plain[kind] if kind in plain else f"{kind[0]}{_ranges(sorted(numbers), kind[2])}{kind[1]}"
        for kind, numbers in kinds.items()
        if numbers or kind in plain
    ]


def _join_padded(kinds: dict[tuple[str, str, int], set[int]]) -> None:
    """Join names with padded numbers: n10 belongs to n09 because both have two digits."""
    for (before, after, width), numbers in kinds.items():
        bare = kinds.get((before, after, 0)) if width > 0 else None
        if bare:
            same = {number for number in bare if len(str(number)) == width}
            numbers |= same
            bare -= same


def _ranges(numbers: Sequence[int], width: int) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    words = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in parts]
    return words[0] if len(words) == 1 and "-" not in words[0] else f"[{','.join(words)}]"
