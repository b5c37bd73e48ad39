"""A TensorFlow and a CUDA that are named side by side and do not go together, where no line of the loader says so."""

from __future__ import annotations

from doctor.facts import PROSE, CudaCallFailed, Symptom
from doctor.picture import Picture
from doctor.rules.libraries.toolkit import serves
from doctor.tables import dotted

UNUSED = ("gpu-not-used", "gpu-list-empty", "uses-cpu", "gpu-not-found")
"""What says that the GPU is not used, and not why."""
_OTHER_REASONS = ("glibc-too-old", "wrong-architecture", "static-tls", "circular-import", "shadowing-file", "illegal-instruction", "msvc-runtime", "no-avx")
_NOT_ABSENT = ("initialization", "win32", "1455", "access", "denied", "初始化", "initialisierung")
"""Words of Windows for a DLL that is there and does not serve."""


def mismatched_pair(picture: Picture) -> list[Symptom]:
    """The symptoms that a CUDA of another release explains; empty where the two that are named go together."""
    facts = picture.facts
    tensorflow, cuda = picture.tensorflow, picture.cuda
    if facts.kind != "report" or tensorflow is None or cuda is None or picture.not_loaded:
        return []
    if cuda.rank > PROSE or facts.of(CudaCallFailed) or facts.has("gpu-ignored-capability", "own-build"):
        return []
    builds = [b for b in picture.builds if b.gpu and b.cuda]
    if not builds or any(b.extras.get("and-cuda") for b in builds):  # pip brings CUDA to those
        return []
    needed = [[serves(picture, cuda.version, n) for n in b.libraries_required] for b in builds]
    if not all(any(answer is False for answer in answers) for answers in needed):
        return []
    return facts.symptoms(*UNUSED) or failed_imports(picture)


def failed_imports(picture: Picture) -> list[Symptom]:
    """Imports that failed as they do for want of a CUDA library: builds before 1.14 are linked against those."""
    facts = picture.facts
    builds = [b for b in picture.builds if b.gpu and b.cuda]
    if not builds or any(dotted(b.version) >= (1, 14) for b in builds) or facts.has(*_OTHER_REASONS):
        return []
    dll = [s for s in facts.symptoms("dll-load-failed") if not any(word in s.source.text.lower() for word in _NOT_ABSENT)]
    return dll or facts.symptoms("native-runtime-failed")


def blamed_path(picture: Picture) -> list[Symptom]:
    """What says that a folder was missing on Windows' PATH, beside a DLL that did not load and CUDA's or cuDNN's name."""
    facts = picture.facts
    if facts.kind != "report" or not facts.has("dll-load-failed") or facts.has(*_OTHER_REASONS):
        return []
    return [s for s in facts.symptoms("path-cure-told") if s.get("of")]
