"""Checks the rules that every row of the TensorFlow table must satisfy before it is used, whether the row is
bundled or refreshed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from doctor import lazy
from doctor.tables.ordering import key_of
from doctor.tables.reading.builtwith import cuda_of_name, cudnn_of_name
from doctor.tables.rows import PLATFORMS
from doctor.tables.versions import capability_order, dotted, major

_CAPABILITY = lazy.compile(r"\d{1,2}\.\d[af]?")
_VERSION = lazy.compile(r"\d+(\.\d+)+(\.?(rc|a|b|dev|post)\d+)*")
_LIBRARY = lazy.compile(r"lib[\w+-]+\.so(\.\d+)*|[\w.-]+\.dll|lib[\w+-]+(\.[\d.]+)?\.dylib")
_SHA256 = lazy.compile(r"[0-9a-f]{64}")


def problems(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the faults in the rows, one line for each; empty if there are none."""
    found: list[str] = []
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        try:
            key = key_of(row)
        except KeyError as missing:
            found.append(f"a row lacks {missing}")
            continue
        name = " ".join(key)
        if key in seen:
            found.append(f"{name}: appears twice")
        seen.add(key)
        try:
            found += [f"{name}: {problem}" for problem in _of_row(row)]
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            found.append(f"{name}: {error!r}")
    return found


def _of_row(row: Mapping[str, Any]) -> Iterable[str]:
    if row["platform"] not in (*PLATFORMS, "any"):
        yield f"unknown platform {row['platform']!r}"
    if not _VERSION.fullmatch(row["version"]):
        yield f"{row['version']!r} is not a version"
    source = row["source"]
    if not _SHA256.fullmatch(source["sha256"]):
        yield "its source has no sha256"
    if row["version"] not in source["file"]:
        yield f"its source {source['file']!r} does not belong to this version"
    for python in row["pythons"]:
        if not re.fullmatch(r"\d\.\d+", python):
            yield f"{python!r} is not a Python version"
    if row["platform"] != "any" and not row["pythons"]:
        yield "no Python"
    for floor in (row["glibc"], *(row.get("glibc_by_python") or {}).values()):
        if floor is not None and not re.fullmatch(r"2\.\d+", floor):
            yield f"{floor!r} is not a glibc version"
    yield from _of_build_info(row)
    yield from _of_capabilities(row)
    yield from _of_libraries(row)


def _of_build_info(row: Mapping[str, Any]) -> Iterable[str]:
    says = (row.get("build_info") or {}).get("is_cuda_build")
    if isinstance(says, bool) and says is not row["gpu"]:
        yield f"gpu is {row['gpu']}, but build_info says {says}"
    if row["gpu"] is False and any(row.get(key) for key in ("cuda", "cudnn", "compute_capabilities")):
        yield "a CPU build has values for CUDA"


def _of_capabilities(row: Mapping[str, Any]) -> Iterable[str]:
    kernels = row.get("compute_capabilities")
    if kernels is None:
        return
    targets = (*kernels["compiled"], *kernels["ptx"])
    strange = [target for target in targets if not _CAPABILITY.fullmatch(target)]
    if strange:
        yield f"{', '.join(strange)} is not a compute capability"
        return
    if not targets:
        yield "a GPU build has code for no GPU"
    for key in ("compiled", "ptx"):
        if sorted(kernels[key], key=capability_order) != kernels[key]:
            yield f"{key} is not in order"
    isa = kernels.get("ptx_isa")
    if isa is not None and set(isa) != set(kernels["ptx"]):
        yield "ptx and ptx_isa have different targets"


def _of_libraries(row: Mapping[str, Any]) -> Iterable[str]:
    opened, required = row.get("libraries"), row.get("libraries_required")
    for library in opened or ():
        if not _LIBRARY.fullmatch(library):
            yield f"{library!r} is not a library name"
    if required is not None and not set(required) <= set(opened or ()):
        yield "needs libraries that it does not load"
    found, missed = row.get("pip_libraries_found"), row.get("pip_libraries_missed")
    if found is not None and missed is not None and sorted((*found, *missed)) != sorted(required or ()):
        yield "pip_libraries_found and pip_libraries_missed are not the libraries that it needs"
    cudnn, cuda = cudnn_of_name(opened or []), cuda_of_name(opened or [])
    if cudnn and row["cudnn"] is not None and major(row["cudnn"]) != int(cudnn):
        yield f"loads cuDNN {cudnn} but states cuDNN {row['cudnn']}"
    if cuda and row["cuda"] is not None:
        stated = row["cuda"] if "." in cuda else row["cuda"].split(".")[0]
        if dotted(stated) != dotted(cuda):
            yield f"loads the runtime of CUDA {cuda} but states CUDA {row['cuda']}"
