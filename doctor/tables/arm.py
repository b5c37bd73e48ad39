"""Finds GPUs that exist only in machines with an Arm CPU, and NVIDIA's own builds of TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor import lazy
from doctor.tables.gpus import find, key
from doctor.tables.store import Store, remembered
from doctor.tables.versions import dotted

_PCI_ID = lazy.compile(r"(?:0x)?10de[:\s]", re.IGNORECASE)


@remembered
def only_with_arm(store: Store, name: str | None, capability: str | None) -> Mapping[str, Any] | None:
    """Return the row of arm_gpus.json for a GPU, found by its compute capability or by a word in its name (or
    in the name to which its PCI id belongs). None if the GPU also exists in machines with other CPUs, or is
    unknown."""
    rows = find(store, name) if name is not None and _PCI_ID.match(name) else ()
    words = {word for called in (name or "", *(row.name for row in rows)) for word in key(called).split()}
    for row in store.all("arm_gpus"):
        same = capability is not None and row.get("capability") == capability
        if same or not words.isdisjoint(row.get("words", ())):
            return row
    return None


def nvidia_builds(
    store: Store, platform: str, kind: str, capabilities: tuple[str, ...]
) -> tuple[Mapping[str, Any], ...]:
    """Return NVIDIA's TensorFlow builds for a platform, a kind (sbsa, jetson or tf1) and the compute
    capabilities of its GPUs, in the order of the table."""
    return tuple(
        row
        for row in store.all("nvidia_builds")
        if row["kind"] == kind and platform in row["platforms"]
        and all(capability in row.get("capabilities", (capability,)) for capability in capabilities)
        and all(dotted(capability) >= dotted(row.get("lowest", "0.0")) for capability in capabilities)
    )  # fmt: skip
