"""Reports that contain no message from the loader, but mention versions of TensorFlow and CUDA that do not
match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import PROSE, CudaCallFailed, Symptom
from doctor.rules.libraries.toolkit import contains
from doctor.tables import dotted
from doctor.tables.versions import minor

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease

UNUSED = ("gpu-not-used", "gpu-list-empty", "uses-cpu", "gpu-not-found", "gpu-skipped")
"""Symptoms that show that the GPU is not used, but not why."""
_OTHER_REASONS = (
    "glibc-too-old",
    "wrong-architecture",
    "static-tls",
    "circular-import",
    "shadowing-file",
    "illegal-instruction",
    "msvc-runtime",
    "no-avx",
)
_NOT_ABSENT = ("initialization", "win32", "1455", "access", "denied", "初始化", "initialisierung")
"""Words in Windows' messages about a DLL that exists but does not work."""


def mismatched_pair(case: Case) -> list[Symptom]:
    """The symptoms that a mismatch between the stated TensorFlow and CUDA versions explains; empty if the
    versions fit, or if the report does not prove a mismatch."""
    facts = case.facts
    tensorflow, cuda = case.tensorflow, case.cuda
    if facts.kind != "report" or tensorflow is None or cuda is None or case.not_loaded:
        return []
    if cuda.rank > PROSE or facts.of(CudaCallFailed) or facts.has("gpu-ignored-capability", "own-build"):
        return []
    builds = [b for b in case.builds if b.gpu and b.cuda]
    if not builds or any(b.extras.get("and-cuda") for b in builds):  # pip installs CUDA for those
        return []
    needed = [[contains(case, cuda.version, n) for n in b.libraries_required] for b in builds]
    if not all(any(answer is False for answer in answers) for answers in needed):
        return []
    return facts.symptoms(*UNUSED) or failed_imports(case)


def unopened_runtime(case: Case) -> tuple[list[Symptom], list[TensorFlowRelease]]:
    """The signs that the CUDA runtime did not open, and the possible builds that load another release of it
    than the stated one. Both are empty if these are only a few of the possible minor releases, or if too
    little is known."""
    facts, cuda = case.facts, case.cuda
    signs = facts.symptoms("cudart-stub")
    if facts.kind != "report" or not signs or cuda is None or cuda.rank > PROSE or case.not_loaded:
        return [], []
    releases = case.builds
    if case.tensorflow is None and not releases:
        from doctor.case.span import printing

        prints = printing(case)
        releases = tuple(r for r in case.tables.releases(case.table_platform) if prints(r))
    builds = [b for b in releases if b.gpu and b.cuda]
    if len({b.cuda for b in builds}) > 2 or any(b.extras.get("and-cuda") for b in builds):
        return [], []
    other = [b for b in builds if any(contains(case, cuda.version, n) is False for n in b.libraries_required)]
    most = 2 * len({minor(b.version) for b in other}) > len({minor(b.version) for b in builds})
    return (signs, other) if most else ([], [])


def failed_imports(case: Case) -> list[Symptom]:
    """The symptoms of failed imports that a missing CUDA library explains: builds before 1.14 are linked
    against CUDA's libraries."""
    facts = case.facts
    builds = [b for b in case.builds if b.gpu and b.cuda]
    if not builds or any(dotted(b.version) >= (1, 14) for b in builds) or facts.has(*_OTHER_REASONS):
        return []
    dll = [
        s
        for s in facts.symptoms("dll-load-failed")
        if not any(word in s.source.text.lower() for word in _NOT_ABSENT)
    ]
    return dll or facts.symptoms("native-runtime-failed")


def blamed_path(case: Case) -> list[Symptom]:
    """The evidence that a folder was missing from PATH on Windows: a DLL did not load, and advice about PATH
    in the report names CUDA or cuDNN."""
    facts = case.facts
    if facts.kind != "report" or not facts.has("dll-load-failed") or facts.has(*_OTHER_REASONS):
        return []
    return [s for s in facts.symptoms("path-suggested") if s.get("of")]
