"""gpu-memory-held: other processes hold the GPU's memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import CudaCallFailed, Fact, Gpu, GpuMemory, GpuProcess, GpuRegistered, SentenceKind
from doctor.findings import Finding, Step, manual, python, shell
from doctor.remedies import code, commands
from doctor.rules.gpu.capability import code_answer
from doctor.rules.memory.handles import handle_signs
from doctor.rules.memory.signs import held_before, memory_in_use, retried_allocations
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import Export, run

if TYPE_CHECKING:
    from doctor.case import Case

VARIABLE = "CUDA_VISIBLE_DEVICES"
ENDS = 0.4
"""A sentence counts as saying that the program ends early if the probability of that is higher than this."""


def _full(memory: GpuMemory) -> bool:
    """Whether more than 80 % of a GPU's memory is in use."""
    total, used = memory.total_mib, memory.used_mib
    return bool(total) and used is not None and used > 0.8 * (total or 0)


def _stops(case: Case) -> bool:
    """Whether somebody writes that the program ends early, and nothing shows that it computes: then the
    memory that nvidia-smi shows is probably another process's."""
    ends = any(said.kind == "crash" and said.probability > ENDS for said in case.facts.of(SentenceKind))
    return ends and not case.registered and not case.facts.has("low-use-said", "slow-start-said")


def _other_gpu(case: Case) -> list[Step]:
    """Return the step that chooses another GPU. On a machine, return a step only if that GPU has free
    memory."""
    facts = case.facts
    if facts.kind != "machine":
        why = "uses the second GPU, if there is one and it is free"
        return [shell(Export(VARIABLE, "1"), why + commands.in_powershell(case, VARIABLE, "1"))]
    chosen = VARIABLE in case.env or "slurm" in case.environments  # other GPUs may belong to other jobs
    uuids = {gpu.index: validated.gpu(gpu.uuid or "") for gpu in case.gpus if not _without_code(case, gpu)}
    for memory in memory_in_use(case) if chosen else facts.of(GpuMemory):
        uuid = uuids.get(memory.index)
        if uuid and memory.used_mib is not None and not _full(memory):
            return [shell(Export(VARIABLE, uuid), f"or use GPU {memory.index}, which is free")]
    return []


def _without_code(case: Case, gpu: Gpu) -> bool:
    """Whether the build in use has no code for a GPU."""
    answer = code_answer(case, gpu.compute_capability) if gpu.compute_capability else None
    return answer is not None and answer.verdict == "no"


def _where_they_show(case: Case) -> str:
    """Return a clause to append if nvidia-smi does not list the processes of other users; else "". A
    container has its own process numbers, and WSL's NVML cannot query processes (NVIDIA, CUDA on WSL User
    Guide, Known Limitations)."""
    if case.container:
        return "; run it on the host: inside a container, it does not list processes of other containers"
    if case.facts.kind == "machine" and case.platform == "wsl":
        return "; in WSL, it does not list Windows processes: check the Task Manager as well"
    return ""


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
    Another training job, an open notebook kernel, a display or a crashed process already holds the memory
    when this program requests some.

    ## What you see
    `freeMemory` far below `totalMemory` when TensorFlow finds the device, a device with a few hundred MB on a
    card with many GB, `cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY`, a very small allocation that
    fails.

    ## What to do
    `nvidia-smi` shows the processes. End your own processes (shut down a notebook's kernel), ask the owners
    of the other processes, use another GPU, or set memory growth and a limit so that the jobs fit on one GPU.
    """
    facts = case.facts
    held = held_before(case)
    refused = facts.symptoms("device-alloc-failed")
    host = {sign.source for sign in facts.symptoms("host-pinned-failed")}  # CUDA names this status there too
    oom = [sign for sign in facts.symptoms("cuda-out-of-memory") if sign.source not in host]
    said = facts.symptoms("other-process")
    trouble = bool(
        oom
        or refused
        or handle_signs(case)
        or facts.has("tensor-oom", "resource-exhausted", "bfc-out-of-memory", "dst-not-initialized")
    )
    processes = [p for p in facts.of(GpuProcess) if (p.memory_mib or 0) >= 500]
    full = [memory for memory in memory_in_use(case) if _full(memory)]
    # in a container, WSL and Windows, nvidia-smi does not list the processes of other users, or states no
    # amounts: full memory is proof enough, unless the notebook in which this check runs may hold it
    callers = [pid for s in facts.symptoms("caller-uses-gpu") for pid in s.get("pids").split()]
    holders = [
        p
        for p in facts.of(GpuProcess)
        if p.index in {m.index for m in full}
        and (p.memory_mib is None or p in processes)
        and str(p.pid) not in callers
    ]
    evidence: list[Fact] = []
    confidence = "likely"
    if held and (trouble or facts.kind == "machine"):
        evidence = [*held[:3], *full[:1], *holders[:2]]
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
        and all(int(s.get("mib") or 0) < 512 for s in refused)
        and not facts.has("tensor-oom", "bfc-out-of-memory")
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
    elif facts.kind == "machine" and full and (holders or not callers):
        evidence = [*full[:2], *holders[:2]]
    elif full and (said or facts.has("process-died")) and facts.kind == "report":
        evidence = [*full[:1], *said[:1]]
    elif full and facts.kind == "report" and processes and _stops(case):
        evidence, confidence = [*full[:1], *processes[:2]], "possible"
    elif facts.has("listing-of-users") and (oom or said):
        evidence = [*facts.symptoms("listing-of-users")[:2]]
    elif (
        (refused or oom)
        and not retried_allocations(case)
        and not facts.has("tensor-oom", "resource-exhausted", "memory-grows")
        and not handle_signs(case)
    ):
        evidence, confidence = [*refused[:1], *oom[:1]], "likely" if len(refused) > 1 else "possible"
    if not evidence or facts.has("driver-insufficient"):
        return
    limited = facts.symptoms("fraction-set", "limit-set")
    if limited and not any(isinstance(h, (GpuMemory, CudaCallFailed)) for h in held) and not processes:
        return
    machine = facts.kind == "machine"
    numbers = [str(m.index) for m in full] if machine and len(case.gpus) > 1 else []
    owner = f"memory of GPU{'s' * (len(numbers) > 1)} {' and '.join(numbers)}" if numbers else "GPU's memory"
    yield found(
        "gpu-memory-held",
        f"The {owner} may have been in use before this program requested memory: another job, an open"
        " notebook kernel or a dead process can hold it."
        if confidence == "possible"
        else f"The {owner} was in use before this program requested memory: another job, an open notebook"
        " kernel or a dead process holds it.",
        [*evidence, *refused[:1], *oom[:1], *said[:1]],
        severity="error" if trouble or not machine else "warning",
        confidence=confidence,
        steps=[
            shell(run("nvidia-smi"), f"shows which processes hold the memory{_where_they_show(case)}"),
            manual(
                "End your own processes that hold it (shut down old notebook kernels); ask the owners of the"
                f" other processes{'' if machine else ', or use another GPU'}"
            ),
            *_other_gpu(case),
            python(code.memory_growth(version_of(case)), "lets several jobs share one GPU's memory"),
        ],
        verify=run("nvidia-smi"),
    )
