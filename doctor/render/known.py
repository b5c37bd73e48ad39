"""What is known about a case, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doctor.case import Case
from doctor.facts import EnvironmentKind, EnvVar, Fact, LibraryLoaded, OtherGpu, Package, Source


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
