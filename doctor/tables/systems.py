"""Finds the row for a Linux distribution in systems.json."""

from __future__ import annotations

import re

from doctor.tables.tables import Tables

REBUILDS = ("centos", "rocky", "alma", "red hat", "redhat", "rhel", "oracle")
"""Words in the names of the distributions to which the rows for RHEL apply."""


def system_row(tables: Tables, name: str) -> dict[str, str] | None:
    """Return the table row for a Linux distribution, given its name in os-release or in a report ("Ubuntu
    24.04 LTS", "Rocky Linux 9.3"), or None if there is none."""
    low = name.lower()
    wanted = "red hat enterprise linux" if any(word in low for word in REBUILDS) else low
    number = re.search(r"\d+(?:\.\d+)?", low)
    if number is None or not tables.store.has("systems"):
        return None
    for row in tables.store.all("systems"):
        if row["name"].lower() in wanted and row["version"] in (number[0], number[0].split(".")[0]):
            return row
    return None
