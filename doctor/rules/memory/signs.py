"""Signs that several rules use as evidence: memory was in use before, a routine of a CUDA library failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from doctor.facts import CudaCallFailed, Fact, GpuMemory, GpuRegistered, Symptom
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import no_libcuda
from doctor.rules.gpu.registered import registered
from doctor.rules.memory.handles import handle_signs

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import Tables

RAN = ("CUBLAS_STATUS_EXECUTION_FAILED", "CUBLAS_STATUS_NOT_SUPPORTED", "CUBLAS_STATUS_MAPPING_ERROR")
"""Status codes of a cuBLAS routine that failed with a valid handle: a kernel failed, or this GPU has none."""


def went_on(case: Case, signs: Iterable[Symptom]) -> bool:
    """Whether the report shows that the program did more work after the last of the signs."""
    last = max((s.source.line or 0 for s in signs), default=0)
    return any((done.source.line or 0) > last for done in case.facts.symptoms("work-done"))


def retried_allocations(case: Case) -> list[Symptom]:
    """The allocations that the driver refused, if TensorFlow's allocator then requested less and the program
    continued; [] if anything shows that memory ran out in the end. The allocator first requests a large
    region, then nine tenths of it, and so on; it logs each refusal at level E
    (tensorflow/core/common_runtime/bfc_allocator.cc, Extend)."""
    refused = case.facts.symptoms("device-alloc-failed")
    short = case.facts.has(
        "tensor-oom", "resource-exhausted", "bfc-out-of-memory", "dst-not-initialized", "memory-grows"
    )
    return refused if refused and not short and not handle_signs(case) and went_on(case, refused) else []


def computes_on_cpu(case: Case) -> bool:
    """Whether a report shows that the process has no GPU: the driver's library is missing or finds no GPU,
    and none is registered. A tensor that does not fit is then one in the host's memory."""
    found_none = cuinit(case, "CUDA_ERROR_NO_DEVICE", "UNKNOWN_ERROR_303")
    gone = found_none is not None or no_libcuda(case) is not None
    return gone and not registered(case) and case.facts.kind == "report"


def failed_routines(case: Case) -> list[Symptom]:
    """The routines of CUDA's libraries that failed on the GPU with a valid handle; [] if a handle, or a
    routine with another status, failed as well, or if the report mentions a lack of memory.

    CUBLAS_STATUS_EXECUTION_FAILED: "The GPU program failed to execute" (cuBLAS, section cublasStatus_t); the
    other libraries' headers say the same.
    """
    facts = case.facts
    ran = [
        *(s for s in facts.symptoms("blas-launch-failed") if s.get("status") in RAN),
        *facts.symptoms("routine-failed"),
    ]
    others = [
        s
        for s in handle_signs(case)
        if s.kind not in ("blas-launch-failed", "cudnn-launch-failed") or s.get("status") not in ("", *RAN)
    ]
    short = facts.has(
        "cuda-out-of-memory",
        "device-alloc-failed",
        "tensor-oom",
        "resource-exhausted",
        "bfc-out-of-memory",
        "oom-said",
        "other-process",
    )
    return [] if others or short else ran


def held_before(case: Case) -> list[Fact]:
    """The signs that the GPU's memory was nearly full before this process allocated any."""
    facts = case.facts
    signs: list[Fact] = []
    signs += [
        memory
        for memory in memory_in_use(case)
        if memory.total_mib
        and memory.free_mib is not None
        and memory.used_mib is None
        and memory.free_mib < 0.25 * memory.total_mib
    ]
    totals = [m.total_mib for m in facts.of(GpuMemory) if m.total_mib] + [
        g.memory_mib for g in case.gpus if g.memory_mib
    ]
    for device in facts.of(GpuRegistered):
        if not device.memory_mib:
            continue
        total = max(totals, default=0) or _least_memory(device.name, case.tables)
        if total and device.memory_mib < 0.35 * total:
            signs.append(device)
    for call in facts.of(CudaCallFailed):
        driver = call.call in ("cuInit", "cuDevicePrimaryCtxRetain", "cuCtxCreate")
        runtime = call.call in ("cudaSetDevice", "cudaGetDevice")
        if (driver and call.error == "CUDA_ERROR_OUT_OF_MEMORY") or (
            runtime and call.error == "out of memory"
        ):
            signs.append(call)
    return signs


def memory_in_use(case: Case) -> list[GpuMemory]:
    """The memory of the GPUs that a program can use; on a machine, only of those that libcuda lists. A GPU in
    MIG mode is left out, because its free memory differs from the free memory of an instance."""
    facts = case.facts
    found = facts.of(GpuMemory)
    if facts.kind != "machine":
        return found
    divided = {s.get("gpu") for s in facts.symptoms("mig-enabled")}
    buses = {bus for s in facts.symptoms("cuda-devices") for bus in s.get("buses").split()}
    shown = {gpu.index for gpu in case.gpus if gpu.bus_id in buses}
    return [m for m in found if str(m.index) not in divided and (m.index in shown or not shown)]


def _least_memory(name: str | None, tables: Tables) -> int:
    """The smallest memory with which a card of this name was sold, in MiB; 0 if that is unknown."""
    if not name:
        return 0
    from re import IGNORECASE, findall

    stated = findall(r"(\d{1,3})\s?GB", name, IGNORECASE)
    if stated:
        return int(stated[-1]) * 1024  # of a MIG instance, whose name follows that of its GPU
    return min((mib for card in tables.gpu(name) for mib in card.memory_mib), default=0)
