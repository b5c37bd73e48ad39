"""A diagnosis as plain data. The JSON format prints this data, and the other formats use its values.

The keys are stable (schema 1, doctor/render/schema.json).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doctor import __version__
from doctor.case import Case
from doctor.facts import EnvironmentKind, EnvVar, Fact, LibraryLoaded, OtherGpu, Package, Source
from doctor.findings import Alternative, Diagnosis, Finding, Part, Step
from doctor.tables import Tables


def evidence(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """The sources as plain data, in the form that the schema defines."""
    return [{"source": s.where, "line": s.line, "text": s.text} for s in sources]


def _entry(value: Any, *facts: Fact | None) -> dict[str, Any]:
    return {"value": value, "evidence": evidence(dict.fromkeys(f.source for f in facts if f is not None))}


def facts_document(case: Case) -> dict[str, Any]:
    """The facts in a case under the schema's keys; a key is absent if nothing is known about it."""
    result: dict[str, Any] = {}
    tensorflow = case.tensorflow
    if tensorflow is not None:
        result["tensorflow"] = _entry(tensorflow.version, tensorflow)
        if tensorflow.package:
            result["tensorflow_package"] = _entry(tensorflow.package, tensorflow)
    keras = next((p for p in case.facts.of(Package) if p.name == "keras" and p.version), None)
    if keras is not None:
        result["keras"] = _entry(keras.version, keras)
    for key, fact in (
        ("python", case.python),
        ("cuda", case.cuda),
        ("cudnn", case.cudnn),
        ("driver", case.driver),
        ("driver_cuda", case.driver_cuda),
    ):
        if fact is not None:
            result[key] = _entry(fact.version, fact)
    if case.gpus:
        values = []
        for gpu in case.gpus:
            pairs = (
                ("name", gpu.name),
                ("compute_capability", gpu.compute_capability),
                ("memory_mib", gpu.memory_mib),
                ("pci_id", gpu.pci_id),
            )
            values.append({key: value for key, value in pairs if value is not None})
        result["gpus"] = _entry(values, *case.gpus)
    elif others := _other_makers(case):
        result["gpus"] = _entry([{"name": other.name} for other in others], *others)
    if case.os is not None:
        result["os"] = _entry(case.os.name, case.os)
    if case.platform_fact is not None:
        result["platform"] = _entry(case.platform, case.platform_fact)
    surroundings = {e.kind: e for e in reversed(case.facts.of(EnvironmentKind))}
    if surroundings:
        result["environment"] = _entry(sorted(surroundings), *surroundings.values())
    if case.not_loaded:
        missing = list(dict.fromkeys(_blamed(lib.name, lib.culprit) for lib in case.not_loaded))
        result["missing_libraries"] = _entry(missing, *case.not_loaded)
    opened = {lib.name: lib for lib in reversed(case.facts.of(LibraryLoaded))}
    if opened:
        result["loaded_libraries"] = _entry(sorted(opened), *opened.values())
    variables = case.env
    if variables:
        chosen: list[EnvVar] = list(variables.values())
        result["env"] = _entry({v.name: v.value for v in chosen}, *chosen)
    if case.registered:
        indices = {r.index for r in case.registered if r.index is not None}
        counted = max((r.count for r in case.registered), default=0)
        result["registered_gpus"] = _entry(max(len(indices), counted), *case.registered)
    elif case.facts.has("gpu-skipped", "gpu-list-empty", "gpu-not-found"):
        signs = case.facts.symptoms("gpu-skipped", "gpu-list-empty", "gpu-not-found")
        result["registered_gpus"] = _entry(0, *signs[:2])
    return result


def _other_makers(case: Case) -> list[OtherGpu]:
    """The GPUs of AMD and Apple without duplicates; none if an NVIDIA GPU is known."""
    named = {
        other.name.casefold(): other
        for other in reversed(case.facts.of(OtherGpu))
        if other.vendor in ("amd", "apple")
    }
    return [
        other
        for name, other in reversed(named.items())
        if not any(longer != name and name in longer for longer in named)
    ]


def _blamed(name: str, culprit: str | None) -> str:
    """The file that could not be loaded: the dependency that the loader blames, otherwise the file itself."""
    return culprit if culprit and (".so" in culprit or culprit.lower().endswith(".dll")) else name


def step_document(step: Step) -> dict[str, Any]:
    """A step of a prescription, as plain data."""
    return {
        "kind": step.kind,
        "text": step.text,
        "platform": step.platform,
        "needs_root": step.needs_root,
        "why": step.why,
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "title": finding.title,
        "explanation": finding.explanation,
        "evidence": evidence(finding.evidence),
        "consequences": list(finding.consequences),
        "tables": list(finding.tables),
        "prescription": [step_document(step) for step in finding.prescription],
        "verify": finding.verify,
    }


def part_document(part: Part) -> dict[str, Any]:
    """The comparison of one part of a case with what the TensorFlow build needs, as plain data."""
    return {
        "part": part.part,
        "have": part.have,
        "needs": part.needs,
        "fits": part.fits,
        "evidence": evidence(part.evidence),
        "tables": list(part.tables),
    }


def alternative_document(other: Alternative) -> dict[str, Any]:
    """Another possible cause, as plain data."""
    return {
        "code": other.code,
        "likelihood": other.likelihood,
        "for": evidence(other.evidence),
        "against": evidence(other.against),
        "test": other.test,
    }


def document(diagnosis: Diagnosis, tables: Tables) -> dict[str, Any]:
    """The whole diagnosis as plain data."""
    facts = diagnosis.facts
    whole: dict[str, Any] = {}
    if facts.kind == "machine":
        from datetime import date

        from doctor.probe.record import to_record  # the probes are not loaded for a report

        whole["record"] = to_record(facts, __version__, date.today().isoformat())
    return {
        "schema": 1,
        "tool": {"name": "tfgpu-doctor", "version": __version__, "tables": tables.date},
        "source": {"kind": facts.kind, "name": facts.name},
        "facts": facts_document(Case(facts, tables)),
        "findings": [finding_document(finding) for finding in diagnosis.findings],
        "compatibility": [part_document(part) for part in diagnosis.compatibility],
        "alternatives": [alternative_document(other) for other in diagnosis.alternatives],
        **whole,
    }
