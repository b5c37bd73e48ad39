"""Reads the table that TensorFlow prints when ops must share one device but cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import Symptom
from doctor.rules.gpu.registered import registered

if TYPE_CHECKING:
    from doctor.case import Case


def colocated(case: Case) -> tuple[list[Symptom], str]:
    """The table's rows for ops without a GPU kernel, and the process's GPU: "GPU", "XLA" (XLA_GPU alone), or
    "" if unknown. An op's row lists the device types of the process for which the op has a kernel, so the
    process has a GPU if any row lists one (ColocationGraph::DebugInfo,
    tensorflow/core/common_runtime/colocation_graph.cc, 1.14 and later)."""
    facts = case.facts
    rows = facts.symptoms("colocated-op") if facts.has("colocation-failed") else []
    kinds = {kind for row in rows for kind in row.get("devices").upper().split()}
    there = "GPU" if "GPU" in kinds or registered(case) else "XLA" if "XLA_GPU" in kinds else ""
    return [row for row in rows if "GPU" not in row.get("devices").upper().split()], there
