"""The index that leads from words to signatures. `indexing` builds it from the signatures; it is
read from index.json without importing them.

The number of a word or a signature is its position in the lists.
"""

from __future__ import annotations

from typing import NamedTuple


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
