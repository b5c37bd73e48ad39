"""Builds the index that leads from words to signatures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from doctor.logs.signatures.index import Index
from doctor.logs.signatures.signature import Signature


def indexed(signatures: Sequence[Signature], families: dict[str, int] | None = None) -> Index:
    """Build the index for some signatures."""
    needed = ((signature.literals, *signature.near) for signature in signatures)
    words = list(dict.fromkeys(chain.from_iterable(chain.from_iterable(needed))))
    numbers = {word: number for number, word in enumerate(words)}
    near = list(dict.fromkeys(chain.from_iterable(signature.near for signature in signatures)))
    users: list[list[int]] = [[] for _ in words]
    unlogged: list[list[int]] = [[] for _ in words]
    for which, signature in enumerate(signatures):
        for word in dict.fromkeys(signature.literals):
            (unlogged if signature.unlogged else users)[numbers[word]].append(which)
    return Index(
        words,
        list(dict.fromkeys(numbers[word] for word in chain.from_iterable(map(_logged, signatures)))),
        users,
        unlogged,
        [[numbers[word] for word in dict.fromkeys(several)] for several in near],
        [list(dict.fromkeys(map(near.index, signature.near))) for signature in signatures],
        [signature.lines for signature in signatures],
        families or {},
    )


def _logged(signature: Signature) -> Iterator[str]:
    """Yield the words of a signature that count in log records. For an unlogged signature, these are at most
    its near words."""
    if not signature.unlogged:
        yield from signature.literals
    if not signature.unlogged or signature.lines > 1:
        yield from chain.from_iterable(signature.near)
