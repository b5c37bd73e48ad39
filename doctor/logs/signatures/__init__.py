"""The catalogue of signatures. Each family of signatures is one module. To add a signature, add a `sig(...)`
to the module of its family.

`python scripts/signature_index.py` writes the words of each signature to index.json, so that only the
families whose words occur in the input are imported.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from itertools import accumulate
from typing import Sequence, overload

from doctor.logs.signatures.index import Index
from doctor.logs.signatures.signature import Signature

__all__ = ["FAMILIES", "Catalogue", "Signature", "catalogue", "family"]

FAMILIES = (
    *("loading", "driver", "statuses", "management", "containers", "devices", "capability", "handles"),
    *("memory", "placement", "names", "installers", "dependencies", "imports", "builds", "toolchain"),
    *("noise", "outcome", "versions.tensorflow", "versions.python", "versions.cuda", "versions.cudnn"),
    *("versions.driver", "versions.rows", "versions.fields", "systems", "platforms", "environments"),
    *("variables", "cards", "usage", "machines", "words", "circumstances", "named", "records"),
)
"""The modules with signatures, in the order in which the signatures are tried."""


def family(name: str) -> tuple[Signature, ...]:
    """Return the signatures of one module."""
    signatures: tuple[Signature, ...] = import_module(f"{__name__}.{name}").SIGNATURES
    return signatures


class Catalogue(Sequence[Signature]):
    """The sequence of all signatures. A family is imported when one of its signatures is first used."""

    def __init__(self) -> None:
        import json

        from doctor import resources

        self.leads = Index(**json.loads(resources.read(__name__, "index.json")))
        self._starts = list(accumulate(self.leads.families.values(), initial=0))
        self._known: list[Signature | None] = [None] * self._starts[-1]

    def __len__(self) -> int:
        return len(self._known)

    @overload
    def __getitem__(self, at: int) -> Signature: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Signature]: ...
    def __getitem__(self, at: int | slice) -> Signature | Sequence[Signature]:
        """Return the signature at a position. Raises RuntimeError if index.json is out of date for its
        family."""
        if isinstance(at, slice):
            return tuple(self)[at]
        return self._known[at] or self._imported(at % len(self))

    def __iter__(self) -> Iterator[Signature]:
        return map(self.__getitem__, range(len(self)))

    def _imported(self, at: int) -> Signature:
        place = bisect_right(self._starts, at) - 1
        start, end = self._starts[place : place + 2]
        signatures = family(list(self.leads.families)[place])
        if len(signatures) != end - start:
            raise RuntimeError("a signature was added or removed: run python scripts/signature_index.py")
        self._known[start:end] = signatures
        return signatures[at - start]


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Return the catalogue of all signatures."""
    return Catalogue()


def index_of(signatures: Sequence[Signature]) -> Index:
    """Return the word index for these signatures: the stored index for the catalogue, a newly built one for
    any others."""
    if isinstance(signatures, Catalogue):
        return signatures.leads
    from doctor.logs.signatures.indexing import indexed

    return indexed(signatures)
