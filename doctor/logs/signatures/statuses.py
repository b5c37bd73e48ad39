"""Signatures of CUDA and NVML statuses, given by name, number or text in the messages of any program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from doctor.facts import CudaCallFailed, Fact, LibraryNotLoaded, Source, Symptom
from doctor.facts.statuses import BY_NUMBER, BY_RUNTIME_NUMBER, CUDA, NVML, Status
from doctor.logs.signatures.signature import Made, Signature, sig
from doctor.logs.signatures.supposed import denied, supposed

_BEHIND = (
    r"(?:\bCUDA(?: (?:runtime|driver))?(?: (?:error|failure)[^\n:']{0,60})?[:'(] {0,3}|\bfailed\. Status: "
    r"|\bcu(?:da)?[A-Z]\w{2,60}(?:\([^\n)]{0,80}\))? failed: |\berror=\d{1,4} : |\bstatus: Internal: )"
)
"""Matches the text before the words of a status: the name CUDA or a call, as TensorFlow, PyTorch, PyCUDA,
Horovod, MXNet, ONNX Runtime, NCCL and TensorRT print them."""


def _rows(rows: tuple[Status, ...], common: bool) -> dict[str, Status]:
    return {row.words.lower(): row for row in rows if row.common is common}


_NAMES = {name.lower(): row for row in (*CUDA, *NVML) for name in (row.name, row.runtime)}
_WORDS, _COMMON, _OF_NVML = _rows(CUDA, False), _rows(CUDA, True), _rows(NVML, False)


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word).replace("\\ ", " ") for word in words)


def _facts(row: Status, source: Source) -> Iterator[Fact]:
    if row.symptom:
        yield Symptom(source, row.symptom, (("status", row.name),))
    if row.starting:
        yield CudaCallFailed(source, "cuInit", row.name)


def named(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Symptom and CudaCallFailed facts for a status that a message gives by name, unless a
    sentence only supposes or denies it."""
    if supposed(match) or denied(match):
        return
    yield from _facts(_NAMES[match["name"].lower()], source)


def worded(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Symptom and CudaCallFailed facts for a status that a message gives in words."""
    words = (match["words"] or match["common"]).lower()
    yield from _facts(_WORDS.get(words) or _COMMON[words], source)


def numbered(match: re.Match[str], source: Source) -> Made:
    """Create the Symptom and CudaCallFailed facts for a status that a message gives by number. Return None
    for an unknown number."""
    runtime, number = match["runtime"], match["number"] or match["other"]
    row = BY_RUNTIME_NUMBER.get(int(runtime)) if runtime else BY_NUMBER.get(int(number))
    return None if row is None else tuple(_facts(row, source))


def of_nvml(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the facts for an NVML status that pynvml gives in words."""
    yield from _facts(_OF_NVML[match["words"].lower()], source)


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "status-name",
        tuple(_NAMES),
        rf"(?<![A-Za-z_])(?P<name>{_any(_NAMES)})(?!\w)",
        "could not synchronize on CUDA context: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was"
        " encountered",
        named,
        origin="cuda.h, driver_types.h, nvml.h",
    ),
    sig(
        "status-words",
        (*_WORDS, *_COMMON),
        rf"(?P<words>{_any(_WORDS)})|{_BEHIND}(?P<common>{_any(_COMMON)})",
        "Check failed: err == cudaSuccess || err == cudaErrorInvalidValue Unexpected CUDA error: unknown"
        " error",
        worded,
        origin="the texts that cuGetErrorString and cudaGetErrorString return",
    ),
    sig(
        "status-number",
        " (0 vs. | == cudasuccess (|cuda initialization failure with error",
        r"Check failed: CUDA_SUCCESS == (?:\w{1,40}::){0,4}cu\w{2,60}\([^\n]{0,200}\) \(0 vs\. "
        r"(?P<number>\d{1,3})\)"
        r"|Check failed: \w{1,20} == cudaSuccess \((?P<runtime>\d{1,3}) vs\. 0\)"
        r"|CUDA initialization failure with error:? (?P<other>\d{1,3})\b",
        "Check failed: CUDA_SUCCESS == dynload::cuCtxSetCurrent(context) (0 vs. 216)",
        numbered,
        origin="stream_executor/cuda/cuda_driver.cc; TensorRT",
    ),
    sig(  # PyTorch's own words for a status
        "status-words-torch",
        "no cuda gpus are available",
        r"No CUDA GPUs are available",
        "RuntimeError: No CUDA GPUs are available",
        lambda m, s: tuple(_facts(_NAMES["cuda_error_no_device"], s)),
        origin="torch/csrc, c10/cuda",
    ),
    sig(
        "status-words-nvml",
        tuple(_OF_NVML),
        rf"NVMLError(?:_\w{{1,40}})?: (?P<words>{_any(_OF_NVML)})",
        "pynvml.NVMLError: Driver Not Loaded",
        of_nvml,
        origin="pynvml.py",
    ),
    sig(
        "nvml-not-found",
        "nvml_error_library_not_found|nvmlerror_librarynotfound|nvml shared library not found|"
        "couldn't find libnvidia-ml",
        r"NVML_ERROR_LIBRARY_NOT_FOUND|NVMLError_LibraryNotFound|NVML Shared Library Not Found"
        r"|couldn't find libnvidia-ml(?:\.so)? library",
        "pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found",
        lambda match, source: LibraryNotLoaded(source, "libnvidia-ml.so.1", match[0]),
        origin="pynvml.py; nvidia-smi",
    ),
    sig(
        "libcuda-not-found-by-others",
        "found no nvidia driver on your system|cuda driver library cannot be found",
        r"Found no NVIDIA driver on your system|CUDA driver library cannot be found",
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
        lambda match, source: LibraryNotLoaded(source, "libcuda.so.1", match[0], "unknown"),
        origin="torch/csrc/cuda; numba/cuda/cudadrv/driver.py",
    ),
)
