"""The index that leads from words to signatures. It is built from the signatures, or read from index.json
without importing them.

The number of a word or a signature is its position in the lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from doctor.logs.signatures.signature import Signature


class Index(NamedTuple):
    """The index that leads from words to signatures. All values are plain lists and dicts, so that JSON can
    store them.

    words: all literals and near words. logged: the numbers of the words that count in log records.
    users, unlogged: for each word, the numbers of the signatures that have it as a literal (users: the
    signatures that are tried on log records; unlogged: the others). near: the sets of near words, as numbers
    of words. needs: for each signature, the near sets that it needs. lines: for each signature, the number of
    lines that its pattern may span. families: for each module, the number of its signatures.
    """

    words: list[str]
    logged: list[int]
    users: list[list[int]]
    unlogged: list[list[int]]
    near: list[list[int]]
    needs: list[list[int]]
    lines: list[int]
    families: dict[str, int]


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
