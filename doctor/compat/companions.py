"""Plain Python packages whose newer releases break a TensorFlow release that sets no bound on them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.tables import Tables, TensorFlowRelease
from doctor.tables.ordering import order
from doctor.tables.ranges import within

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from doctor.values import dataclass  # the same to everybody, and quick to define


@dataclass(frozen=True, slots=True)
class Companion:
    """requirement: what pip has to be asked for as well ("numpy<2"); why; and the row that says so."""

    requirement: str
    why: str
    ref: str


def companions(build: TensorFlowRelease, tables: Tables) -> tuple[Companion, ...]:
    """The bounds that a build needs and that its METADATA does not state (table dependencies)."""
    found = []
    for row in tables.store.all("dependencies") if tables.store.has("dependencies") else ():
        if not within(build.version, row["tensorflow"], order):
            continue
        stated = [r for r in build.requires if re.match(rf"{re.escape(row['package'])}\b", r, re.IGNORECASE)]
        if any("<" in r.partition(";")[0] or "==" in r or "~=" in r for r in stated):
            continue
        whose = {"it": "", "its": "'s"}
        subject, _, rest = row["reason"].partition(" ")  # "it was compiled ...", "its generated code ..."
        why = f"TensorFlow {build.version}{whose[subject]} {rest}" if subject in whose else row["reason"]
        found.append(Companion(f"{row['package']}{row['pin']}", why, f"dependencies {row['package']}: {row['source']}"))
    return tuple(found)
