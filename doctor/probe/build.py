"""Reads, as text, what an installed TensorFlow build records in build_info.py and in its version header: its
version, and the CUDA and cuDNN versions for which it was built."""

from __future__ import annotations

import re

from doctor.facts import Fact, Source, Symptom, TensorFlowBuild, TensorFlowVersion
from doctor.probe.machine import Machine
from doctor.tables.own_builds import number

BUILD_INFO = "python/platform/build_info.py"


def build_of(machine: Machine, core: str) -> TensorFlowBuild | None:
    """Read build_info.py as text; None if it is missing or assigns no literals."""
    path = f"{core}/{BUILD_INFO}"
    text = machine.text(path)
    if text is None:
        return None
    values = build_info(text)
    if not values:
        return None
    gpu = values.get("is_cuda_build")
    cuda = number(values.get("cuda_version") or values.get("cuda_version_number"))
    cudnn = number(values.get("cudnn_version") or values.get("cudnn_version_number"))
    keys = ("is_cuda_build", "cuda_version", "cudnn_version", "cuda_version_number", "cudnn_version_number")
    stated = ", ".join(f"{key} = {values[key]}" for key in keys if key in values)
    line = next((n for n, t in enumerate(text.splitlines(), 1) if "is_cuda_build" in t), None)
    listed = values.get("cuda_compute_capabilities")
    capabilities = tuple(str(entry) for entry in listed) if isinstance(listed, (list, tuple)) else ()
    built = gpu if isinstance(gpu, bool) else None
    return TensorFlowBuild(Source(path, line, stated), built, cuda, cudnn, capabilities)


def build_info(text: str) -> dict[str, object]:
    """The literals that a build_info.py assigns, for every release since 1.4; {} if it cannot be parsed."""
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    values: dict[str, object] = {}
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        value: ast.expr = statement.value
        if isinstance(value, ast.Call) and value.args:  # collections.OrderedDict([...])
            value = value.args[0]
        try:
            literal = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        name = statement.targets[0].id
        if name == "build_info":
            try:
                values.update(dict(literal))
            except (TypeError, ValueError):
                continue
        else:
            values[name] = literal
    return values


def without_metadata(machine: Machine, location: str, core: str) -> list[Fact]:
    """The facts about a TensorFlow build that no package manager lists; the version comes from its header."""
    path = f"{core}/include/tensorflow/core/public/version.h"
    text = machine.text(path) or ""
    parts = [re.search(rf"#define TF_{part}_VERSION (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    facts: list[Fact] = []
    if all(parts):
        version = ".".join(match[1] for match in parts if match)
        source = Source(path, None, version)
        facts.append(TensorFlowVersion(source, version, inferred=True, location=location))
    text = "the module exists, but no dist-info folder beside it names its distribution"
    facts.append(Symptom(Source(location, None, text), "tensorflow-without-metadata"))
    return facts
