"""The table that TensorFlow prints of ops that must stand on one device, and cannot."""

from __future__ import annotations

from doctor.facts import Symptom
from doctor.picture import Picture
from doctor.rules.gpu.registered import registered


def colocated(picture: Picture) -> tuple[list[Symptom], str]:
    """The ops that have no kernel for a GPU, and whether the process has one: "GPU", "XLA" (XLA_GPU alone), or "" where nothing tells.

    An op's row names the device types of the process for which it has a kernel, so a GPU in any row is there
    (ColocationGraph::DebugInfo, tensorflow/core/common_runtime/colocation_graph.cc, 1.14 and later).
    """
    facts = picture.facts
    rows = facts.symptoms("colocated-op") if facts.has("colocation-failed") else []
    kinds = {kind for row in rows for kind in row.get("devices").upper().split()}
    there = "GPU" if "GPU" in kinds or registered(picture) else "XLA" if "XLA_GPU" in kinds else ""
    return [row for row in rows if "GPU" not in row.get("devices").upper().split()], there
