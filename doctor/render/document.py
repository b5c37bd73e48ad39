"""A diagnosis as plain data. The JSON format prints this data, and the other formats use its values.

The keys are stable (schema 1, doctor/render/schema.json).
"""

from __future__ import annotations

from typing import Any

from doctor import __version__
from doctor.case import Case
from doctor.findings import Alternative, Diagnosis, Finding, Part, Step
from doctor.render.known import evidence, facts_document
from doctor.tables import Tables


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
