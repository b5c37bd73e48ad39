"""Merges facts about the same GPU: a log line, nvidia-smi's table and a sentence may all describe one
card."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.facts import INFERRED, MEASURED, PROSE, Gpu
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.tables import Tables


def cards(found: Sequence[Gpu], tables: Tables) -> tuple[Gpu, ...]:
    """Return each card once, with the data from all facts about it; the compute capability comes from the
    tables if no fact has it."""
    named = [g for g in found if g.name]
    models = [g for g in named if not _is_family(g.name or "", tables)]
    if models or len({g.name for g in named}) > 1:
        named = models  # several architectures are a comparison, not somebody's cards
    rank = min((g.rank for g in named), default=MEASURED)
    merged: list[Gpu] = []
    for gpu in (g for g in named if g.rank == rank):
        same = next((i for i, other in enumerate(merged) if _same(other, gpu)), None)
        if same is None:
            merged.append(gpu)
        else:
            merged[same] = _joined(merged[same], gpu)
    for gpu in found:
        if gpu.name or not gpu.compute_capability:
            continue
        if not merged:
            merged.append(gpu)
        elif not any(g.compute_capability == gpu.compute_capability for g in merged):
            bare = [i for i, g in enumerate(merged) if g.compute_capability is None]
            if len({merged[i].name for i in bare}) == 1:
                for i in bare:
                    merged[i] = replace(merged[i], compute_capability=gpu.compute_capability)
    return tuple(
        g if g.compute_capability or not g.name else replace(g, compute_capability=tables.capability(g.name))
        for g in merged
    )


def _is_family(name: str, tables: Tables) -> bool:
    """Whether a name is that of an architecture ("Ampere") and not that of a card."""
    return name.replace(" ", "").isalpha() and any(row.name == name for row in tables.architectures())


def _same(a: Gpu, b: Gpu) -> bool:
    """Whether two facts describe the same card."""
    for key in ("uuid", "bus_id"):
        x, y = getattr(a, key), getattr(b, key)
        if x and y:
            short_x, short_y = x.lower()[-10:], y.lower()[-10:]
            return bool(short_x == short_y)
    if a.index is not None and b.index is not None and a.rank == b.rank == MEASURED:
        return a.index == b.index
    if a.rank >= PROSE or b.rank >= PROSE or a.rank == INFERRED:
        return bare_name(a.name) == bare_name(b.name)
    if a.source == b.source and (a.index is None) == (b.index is None):
        # two cards of one model in one line; if two signatures read one card, only one fact has an index
        return False
    return bare_name(a.name) == bare_name(b.name)


def bare_name(name: str | None) -> str:
    """Return a GPU's name for comparison: in lower case, without brand, spaces or punctuation."""
    return re.sub(r"\b(?:nvidia|geforce|tesla)\b|[^a-z0-9]", "", (name or "").lower())


def _joined(a: Gpu, b: Gpu) -> Gpu:
    """Merge two facts about one card: take the values of the first, and those of the second where the first
    has none."""
    return replace(
        a,
        **{
            key: getattr(b, key)
            for key in (
                "compute_capability",
                "memory_mib",
                "pci_id",
                "index",
                "bus_id",
                "uuid",
                "multiprocessors",
            )
            if getattr(a, key) is None and getattr(b, key) is not None
        },
    )
