"""Finds add-ons that were compiled against a TensorFlow release other than the installed one.

An add-on declares in its METADATA (Requires-Dist) which releases it was made for. tensorflow-text has the
same minor version as the TensorFlow release that it works with (its README, "A Note about Compatibility with
TensorFlow").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.facts import Fact, Source, Symptom
from doctor.probe.distribution import Distribution, requirements
from doctor.probe.machine import Machine
from doctor.tables.ranges import satisfies

COMPILED = (
    "tensorflow-text",
    "tensorflow-io",
    "tensorflow-decision-forests",
    "tensorflow-recommenders-addons",
    "tensorflow-recommenders-addons-gpu",
)
"""Add-ons whose wheels contain ops linked to libtensorflow_framework."""
SAME_MINOR = ("tensorflow-text",)
"""Add-ons with the minor version of their TensorFlow, whatever their metadata says."""


def mismatched(machine: Machine, installed: Iterable[Distribution], tensorflow: str) -> Iterator[Fact]:
    """A symptom for each installed add-on that was made for releases other than `tensorflow`, the version in
    use."""
    for entry in installed:
        if entry.name not in COMPILED:
            continue
        stated = [
            (required.source, required.versions)
            for required in requirements(machine, entry)
            if required.name == "tensorflow" and required.versions and "extra" not in required.marker
        ]
        if not stated and entry.name in SAME_MINOR and entry.version:
            source = Source(f"{entry.info}/METADATA", None, f"{entry.name} {entry.version}")
            stated = [(source, f"=={'.'.join(entry.version.split('.')[:2])}.*")]
        try:
            fits = [satisfies(tensorflow, versions) for _, versions in stated]
        except ValueError:  # the requirement is not a valid range
            continue
        if fits and not any(fits):
            source, versions = stated[0]
            detail = (
                ("addon", entry.name),
                ("version", entry.version or ""),
                ("wants", versions),
                ("there", tensorflow),
            )
            yield Symptom(source, "addon-mismatch", detail)
