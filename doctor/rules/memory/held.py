"""gpu-memory-held: other processes hold the GPU's memory."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.case import Case
from doctor.facts import CudaCallFailed, Fact, GpuMemory, GpuProcess, GpuRegistered
from doctor.findings import Finding, manual, python, shell
from doctor.remedies import code
from doctor.rules.memory.signs import handle_signs, retried_allocations
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import Export, run


def held_before(case: Case) -> list[Fact]:
    """Signs that the GPU was nearly full before this process took anything."""
    facts = case.facts
    signs: list[Fact] = []
    for memory in facts.of(GpuMemory):
        if (
            memory.total_mib
            and memory.free_mib is not None
            and memory.used_mib is None
            and memory.free_mib < 0.25 * memory.total_mib
        ):
            signs.append(memory)
    totals = [m.total_mib for m in facts.of(GpuMemory) if m.total_mib] + [
        g.memory_mib for g in case.gpus if g.memory_mib
    ]
    for device in facts.of(GpuRegistered):
        if device.memory_mib is None or device.memory_mib == 0:
            continue
        total = max(totals, default=0) or typical_memory(device.name)
        if total and device.memory_mib < 0.35 * total:
            signs.append(device)
    for call in facts.of(CudaCallFailed):
        if (
            call.call in ("cuInit", "cuDevicePrimaryCtxRetain", "cuCtxCreate")
            and call.error == "CUDA_ERROR_OUT_OF_MEMORY"
        ):
            signs.append(call)
        if call.call in ("cudaSetDevice", "cudaGetDevice") and call.error == "out of memory":
            signs.append(call)
    return signs


def typical_memory(name: str | None) -> int:
    """A cautious lower bound of a card's memory in MiB, from its name; 0 if unknown."""
    if not name:
        return 0
    from re import search

    stated = search(r"(\d{1,3})\s?GB", name)
    if stated:
        return int(stated[1]) * 1024
    table = (
        ("V100", 15000),
        ("A100", 38000),
        ("H100", 78000),
        ("T4", 14500),
        ("P100", 11500),
        ("K80", 11000),
        ("3090", 23500),
        ("4090", 23500),
        ("2080 Ti", 10500),
        ("1080 Ti", 10500),
        ("A6000", 46000),
        ("TITAN", 11500),
    )
    return next((mib for word, mib in table if word.lower() in name.lower()), 0)


@rule(
    "gpu-memory-held",
    "Other processes hold the GPU's memory",
    explains=("cudnn-init-oom", "model-oom", "gpu-bad-state", "ptx-jit-or-kernel-crash", "device-not-found"),
    needs=(
        GpuMemory,
        CudaCallFailed,
        GpuRegistered,
        GpuProcess,
        "device-alloc-failed",
        "cuda-out-of-memory",
        "other-process",
    ),
)
def gpu_memory_held(case: Case) -> Iterator[Finding]:
    """Other processes hold the GPU's memory.

    ## What it means
    Another training job, an open notebook kernel, a display or a crashed process holds the memory before this
    program requests any.

    ## How it shows
    `freeMemory` far below `totalMemory` when the device is found, a device with a few hundred MB on a card of
    many GB, `cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY`, a very small allocation that fails.

    ## What to do
    `nvidia-smi` shows the processes; end your own (a notebook: shut its kernel down), ask the others, take
    another GPU, or set memory growth and a limit so that the jobs fit together.
    """
    facts = case.facts
    held = held_before(case)
    refused = facts.symptoms("device-alloc-failed")
    oom = facts.symptoms("cuda-out-of-memory")
    said = facts.symptoms("other-process")
    trouble = bool(
        oom
        or refused
        or handle_signs(case)
        or facts.has("tensor-oom", "resource-exhausted", "bfc-out-of-memory", "dst-not-initialized")
    )
    processes = [p for p in facts.of(GpuProcess) if (p.memory_mib or 0) >= 500]
    full = [
        m
        for m in facts.of(GpuMemory)
        if m.used_mib is not None and m.total_mib and m.used_mib > 0.8 * m.total_mib
    ]
    evidence: list[Fact] = []
    confidence = "likely"
    if held and (trouble or facts.kind == "machine"):
        evidence = [*held[:3]]
        confidence = "certain" if any(isinstance(h, (GpuMemory, CudaCallFailed)) for h in held) else "likely"
    elif trouble and processes and full and facts.kind == "report":
        evidence = [*full[:1], *processes[:3]]
    elif held and any(
        isinstance(h, GpuMemory) and h.free_mib is not None and h.free_mib < 0.1 * (h.total_mib or 0)
        for h in held
    ):
        evidence = [*held[:3]]
    elif (
        refused
        and max(int(s.get("mib", "0") or 0) for s in refused) < 512
        and not facts.has("tensor-oom", "bfc-out-of-memory", "size-stated")
        and not [r for r in facts.of(GpuRegistered) if (r.memory_mib or 0) > 2048]
    ):
        evidence = [*refused[:2]]
    elif trouble and said and not facts.has("tensor-oom"):
        evidence = [*said[:1]]
        confidence = "possible" if handle_signs(case) else "likely"
    elif said and facts.has("oom-said") and not facts.has("tensor-oom", "memory-grows"):
        evidence, confidence = [*said[:1], *facts.symptoms("oom-said")[:1]], "possible"
    elif any(s.get("held") for s in said) and not facts.has("tensor-oom", "memory-grows"):
        evidence, confidence = [*[s for s in said if s.get("held")][:1]], "possible"
    elif facts.kind == "machine" and full and processes:
        evidence = [*full[:1], *processes[:3]]
    elif full and (said or facts.has("process-died")) and facts.kind == "report":
        evidence = [*full[:1], *said[:1]]
    elif facts.has("listing-of-users") and (oom or said):
        evidence = [*facts.symptoms("listing-of-users")[:2]]
    elif (
        (refused or oom)
        and not retried_allocations(case)
        and not facts.has("tensor-oom", "resource-exhausted", "memory-grows", "size-stated")
        and not handle_signs(case)
    ):
        evidence, confidence = [*refused[:1], *oom[:1]], "likely" if len(refused) > 1 else "possible"
    if not evidence or facts.has("driver-insufficient"):
        return
    limited = facts.symptoms("fraction-set", "limit-set")
    if limited and not any(isinstance(h, (GpuMemory, CudaCallFailed)) for h in held) and not processes:
        return
    version = version_of(case)
    yield found(
        "gpu-memory-held",
        "The GPU's memory was in use before this program requested any: another job, an open notebook"
        " kernel or a dead process holds it.",
        [*evidence, *refused[:1], *oom[:1], *said[:1]],
        severity="error" if trouble or facts.kind == "report" else "warning",
        confidence=confidence,
        steps=[
            shell(run("nvidia-smi"), "shows which processes hold the memory"),
            manual(
                "End your own processes that hold it (shut down old notebook kernels); ask the owners of"
                " others, or use another GPU"
            ),
            *(
                [
                    shell(
                        Export("CUDA_VISIBLE_DEVICES", "1"),
                        "uses the second GPU, if there is one and it is free",
                    )
                ]
                if facts.kind == "report" or len(case.gpus) > 1
                else ()
            ),
            python(code.memory_growth(version), "so that several jobs fit on one GPU"),
        ],
        verify=run("nvidia-smi"),
    )
