"""Reads the metadata of an installed Python distribution (PyPA, "Core metadata specifications")."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Source, normalised
from doctor.probe.machine import Machine
from doctor.values import dataclass

METADATA_LIMIT = 1 << 18


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution: its normalised name, version and info folder, and the folder in which it was
    found."""

    name: str
    version: str | None
    info: str
    folder: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """A line Requires-Dist of a distribution's METADATA: the normalised name of the required distribution,
    the version range without spaces and brackets, the marker after the semicolon ("" if there is none), and
    the line as its source."""

    source: Source
    name: str
    versions: str
    marker: str


def requirements(machine: Machine, entry: Distribution) -> Iterator[Requirement]:
    """The requirements of a distribution, in the order of its METADATA. Raises OSError if the file cannot be
    read."""
    path = f"{entry.info}/METADATA"
    for number, line in enumerate((machine.text(path, METADATA_LIMIT) or "").splitlines(), 1):
        if not line:  # the description follows
            return
        match = re.match(r"Requires-Dist:\s*([\w.-]+)([^;]*)(?:;(.*))?", line)
        if match:
            versions, marker = re.sub(r"[\s()]+", "", match[2]), (match[3] or "").strip()
            yield Requirement(Source(path, number, line), normalised(match[1]), versions, marker)


def version_of(machine: Machine, entry: Distribution) -> str | None:
    """A distribution's version: from the name of its info folder, otherwise from METADATA or PKG-INFO; None
    if none of them states it."""
    if entry.version is not None:
        return entry.version
    texts = (machine.text(f"{entry.info}/{name}", METADATA_LIMIT) for name in ("METADATA", "PKG-INFO"))
    match = re.search(r"^Version:\s*(\S+)", next(filter(None, texts), ""), re.MULTILINE)
    return match[1] if match else None
