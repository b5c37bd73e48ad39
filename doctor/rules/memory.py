"""GPU memory and the settings that govern it, and the host's memory."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import CudaCallFailed, CudnnMismatch, Fact, GpuMemory, GpuProcess, GpuRegistered, Symptom
from doctor.findings import Finding, Step, manual, python, shell
from doctor.picture import Picture
from doctor.remedies import code, commands
from doctor.rules.registry import found, rule


def version_of(picture: Picture) -> str | None:
    """The TensorFlow release of the case, for code in its spelling."""
    if picture.tensorflow is not None:
        return picture.tensorflow.version
    return picture.builds[-1].version if picture.builds else None


def handle_signs(picture: Picture) -> list[Symptom]:
    """Messages of a cuDNN or cuBLAS that could not start."""
    return picture.facts.symptoms(
        "cudnn-handle-failed", "conv-algorithm-failed", "cublas-handle-failed", "cusolver-handle-failed", "dnn-not-found", "no-algorithm",
        "blas-launch-failed", "cudnn-launch-failed",
    )  # fmt: skip


def held_before(picture: Picture) -> list[Fact]:
    """Signs that the GPU was nearly full before this process took anything."""
    facts = picture.facts
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
        g.memory_mib for g in picture.gpus if g.memory_mib
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
    """A cautious lower bound of a card's memory in MiB from its name, 0 where it is not known."""
    if not name:
        return 0
    from re import search

    stated = search(r"(\d{1,3})\s?GB", name)
    if stated:
        return int(stated[1]) * 1024
    table = (("V100", 15000), ("A100", 38000), ("H100", 78000), ("T4", 14500), ("P100", 11500), ("K80", 11000), ("3090", 23500), ("4090", 23500),
             ("2080 Ti", 10500), ("1080 Ti", 10500), ("A6000", 46000), ("TITAN", 11500))  # fmt: skip
    return next((mib for word, mib in table if word.lower() in name.lower()), 0)


def largest_refused(picture: Picture) -> list[Symptom]:
    """Allocations from the device that failed."""
    return picture.facts.symptoms("device-alloc-failed")


@rule(
    "cudnn-init-oom",
    "cuDNN or cuBLAS cannot start because TensorFlow took nearly all GPU memory first",
    explains=("ptx-jit-or-kernel-crash", "known-release-bug"),
    needs=(
        "cudnn-handle-failed",
        "conv-algorithm-failed",
        "cublas-handle-failed",
        "cusolver-handle-failed",
        "dnn-not-found",
        "no-algorithm",
        "blas-launch-failed",
        "cudnn-launch-failed",
    ),
)
def cudnn_init_oom(picture: Picture) -> Iterator[Finding]:
    """cuDNN or cuBLAS cannot create its handle, because TensorFlow took nearly all GPU memory first.

    ## What it means
    By default TensorFlow takes nearly all of a GPU's memory when it starts. cuDNN and cuBLAS need some outside of that pool for their
    handles and kernels, and find none.

    ## How it shows
    `Failed to get convolution algorithm. This is probably because cuDNN failed to initialize`, `Could not create cudnn handle:
    CUDNN_STATUS_INTERNAL_ERROR` (or NOT_INITIALIZED, ALLOC_FAILED), `failed to create cublas handle`, `DNN library is not found`, `No
    algorithm worked!`, in TensorFlow 1 `Blas GEMM launch failed`.

    ## What to do
    Turn memory growth on, before anything uses the GPU; or leave room with a memory limit. If that does not help, compare the cuDNN that is
    loaded with the one the build was compiled with, and look who else uses the GPU.
    """
    facts = picture.facts
    signs = handle_signs(picture)
    if not signs or facts.of(CudnnMismatch):
        return
    statuses = {s.get("status").rsplit("CUDNN_STATUS_", 1)[-1] for s in signs if s.get("status")}
    if statuses & {"ARCH_MISMATCH", "NOT_SUPPORTED"}:
        return
    growth = facts.symptoms("growth-set")
    weak = all(s.kind in ("blas-launch-failed", "cudnn-launch-failed") for s in signs)
    crash = facts.has("illegal-address", "launch-failed")
    if all(s.kind == "cudnn-launch-failed" for s in signs) or (weak and crash):
        return
    version = version_of(picture)
    steps: list[Step] = [
        python(
            code.memory_growth(version),
            "memory growth: TensorFlow takes memory as it needs it and leaves room for cuDNN",
        ),
        shell(
            "set TF_FORCE_GPU_ALLOW_GROWTH=true"
            if picture.platform == "windows"
            else "export TF_FORCE_GPU_ALLOW_GROWTH=true",
            "the same without touching the code (TensorFlow 1.14 and later)",
        ),
        shell("nvidia-smi", "shows whether another process holds the memory"),
    ]
    build = picture.build or (picture.builds[-1] if picture.builds else None)
    needs = (
        f"cuDNN {build.cudnn} and CUDA {build.cuda}"
        if build is not None and build.cudnn and build.cuda
        else "the cuDNN that its build was made for"
    )
    steps.append(
        manual(
            f"If that does not help: compare versions; TensorFlow {build.version if build else ''} wants {needs}".replace(
                "  ", " "
            )
            + ". The log line `Loaded runtime CuDNN library` or `Loaded cuDNN version` names the one that is loaded",
            "a cuDNN of another version fails in the same words",
        )
    )
    text = "cuDNN or cuBLAS could not start, and nothing here shows a wrong version, another process or a model that is too large: TensorFlow's own pool leaves them no memory."
    if growth:
        text += " Memory growth is mentioned already: make sure that it is set before the first op, and for every GPU."
    if any("insufficient driver" in s.source.text.lower() for s in signs) or any(
        "possibly insufficient driver" in d.source.text.lower() for d in facts if type(d).__name__ == "DriverVersion"
    ):
        text += ' "Possibly insufficient driver version" is printed with every such failure and says little.'
    yield found(
        "cudnn-init-oom",
        text,
        [*signs[:4], *growth[:1]],
        confidence="possible" if weak and growth else "likely",
        tables=[build] if build else [],
        steps=steps,
        verify=commands.convolution(picture),
    )


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
def gpu_memory_held(picture: Picture) -> Iterator[Finding]:
    """Other processes hold the GPU's memory.

    ## What it means
    Another training job, a notebook kernel that was left open, a display or a process that died badly has the memory before this program
    asks for any.

    ## How it shows
    `freeMemory` far below `totalMemory` when the device is found, a device with a few hundred MB on a card of many GB,
    `cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY`, a very small allocation that already fails.

    ## What to do
    `nvidia-smi` shows the processes; end your own (a notebook: shut its kernel down), ask the others, take another GPU, or set memory growth
    and a limit so that the jobs fit beside each other.
    """
    facts = picture.facts
    held = held_before(picture)
    refused = largest_refused(picture)
    oom = facts.symptoms("cuda-out-of-memory")
    said = facts.symptoms("other-process")
    trouble = bool(
        oom
        or refused
        or handle_signs(picture)
        or facts.has("tensor-oom", "resource-exhausted", "bfc-out-of-memory", "dst-not-initialized")
    )
    processes = [p for p in facts.of(GpuProcess) if (p.memory_mib or 0) >= 500]
    full = [m for m in facts.of(GpuMemory) if m.used_mib is not None and m.total_mib and m.used_mib > 0.8 * m.total_mib]
    evidence: list[Fact] = []
    confidence = "likely"
    if held and (trouble or facts.kind == "machine"):
        evidence = [*held[:3]]
        confidence = "certain" if any(isinstance(h, (GpuMemory, CudaCallFailed)) for h in held) else "likely"
    elif trouble and processes and full and facts.kind == "report":
        evidence = [*full[:1], *processes[:3]]
    elif held and any(
        isinstance(h, GpuMemory) and h.free_mib is not None and h.free_mib < 0.1 * (h.total_mib or 0) for h in held
    ):
        evidence = [*held[:3]]
    elif (
        refused
        and max(int(s.get("mib", "0") or 0) for s in refused) < 512
        and not facts.has("tensor-oom", "bfc-out-of-memory")
        and not [r for r in facts.of(GpuRegistered) if (r.memory_mib or 0) > 2048]
    ):
        evidence = [*refused[:2]]
    elif trouble and said and not facts.has("tensor-oom"):
        evidence = [*said[:1]]
        confidence = "possible" if handle_signs(picture) else "likely"
    elif facts.kind == "machine" and full and processes:
        evidence = [*full[:1], *processes[:3]]
    elif full and (said or facts.has("process-died")) and facts.kind == "report":
        evidence = [*full[:1], *said[:1]]
    elif facts.has("listing-of-users") and (oom or said):
        evidence = [*facts.symptoms("listing-of-users")[:2]]
    elif (
        (refused or oom)
        and not facts.has("tensor-oom", "resource-exhausted", "memory-grows")
        and not handle_signs(picture)
    ):
        evidence, confidence = [*refused[:1], *oom[:1]], "likely" if len(refused) > 1 else "possible"
    if not evidence or facts.has("driver-insufficient"):
        return
    limited = facts.symptoms("fraction-set", "limit-set")
    if limited and not any(isinstance(h, (GpuMemory, CudaCallFailed)) for h in held) and not processes:
        return
    version = version_of(picture)
    yield found(
        "gpu-memory-held",
        "The GPU's memory was taken before this program asked for any: another job, a notebook kernel left open or a dead process holds it.",
        [*evidence, *refused[:1], *oom[:1], *said[:1]],
        severity="error" if trouble or facts.kind == "report" else "warning",
        confidence=confidence,
        steps=[
            shell("nvidia-smi", "shows which processes hold the memory"),
            manual(
                "End your own processes that hold it (shut down old notebook kernels); leave other people's to them, or take another GPU"
            ),
            shell(
                "set CUDA_VISIBLE_DEVICES=1" if picture.platform == "windows" else "export CUDA_VISIBLE_DEVICES=1",
                "takes the second GPU, if there is one and it is free",
            ),
            python(code.memory_growth(version), "so that several jobs fit on one GPU"),
        ],
        verify="nvidia-smi",
    )


@rule(
    "model-oom",
    "The model, batch or input does not fit into the GPU's memory",
    explains=("cudnn-init-oom", "ptx-jit-or-kernel-crash"),
    needs=("tensor-oom", "resource-exhausted", "dst-not-initialized", "bfc-out-of-memory", "allocator-stats"),
)
def model_oom(picture: Picture) -> Iterator[Finding]:
    """The model, batch or input does not fit the GPU.

    ## What it means
    Most of the GPU was free at the start, TensorFlow took it, and the tensors of one step need more.

    ## How it shows
    `OOM when allocating tensor with shape[…]`, `ResourceExhaustedError`, `Out of memory while trying to allocate`. The hint `ran out of memory …
    not a failure, but may mean` alone is none.

    ## What to do
    A smaller batch, smaller inputs, mixed precision, gradient accumulation, a smaller model, or a GPU with more memory. Memory growth does not help here.
    """
    facts = picture.facts
    oom = [s for s in facts.symptoms("tensor-oom") if "cpu" not in (s.get("allocator") + s.get("device")).lower()]
    exhausted = [s for s in facts.symptoms("resource-exhausted") if "cuinit" not in s.source.text.lower()]
    failed = facts.symptoms("bfc-out-of-memory")
    dst = facts.symptoms("dst-not-initialized")
    if facts.has("cpu-oom") and not oom:
        return
    stats = facts.symptoms("allocator-stats")
    if not (oom or exhausted or failed or dst or stats):
        return
    if exhausted and not (oom or failed or dst) and facts.has("cuda-out-of-memory") and handle_signs(picture):
        return
    shape = next((s.get("shape") for s in oom if s.get("shape")), "")
    text = (
        "A tensor"
        + (f" of shape [{shape}]" if shape else "")
        + " did not fit into the GPU's memory while the program ran."
    )
    if stats:
        text += f" The allocator may use {stats[0].get('limit')} MiB and has {stats[0].get('in_use')} MiB in use: the job itself fills the GPU."
    yield found(
        "model-oom",
        text,
        [*oom[:2], *failed[:1], *exhausted[:1], *dst[:1], *stats[:1]],
        confidence="certain" if oom or stats else "likely",
        steps=[
            manual(
                "Make the batch smaller: halve it until it fits; then smaller inputs, mixed precision (tf.keras.mixed_precision) or gradient accumulation"
            ),
            shell(
                "nvidia-smi",
                "if the memory is taken before the program starts, another process holds it: tfgpu-doctor code gpu-memory-held",
            ),
        ],
        verify="nvidia-smi --query-gpu=memory.used,memory.total --format=csv -l 1",
    )


@rule(
    "memory-leak",
    "Memory grows in one process until it fails",
    explains=("model-oom", "cudnn-init-oom", "gpu-memory-held"),
    needs=("memory-grows",),
)
def memory_leak(picture: Picture) -> Iterator[Finding]:
    """Memory grows over epochs, folds or models in one process until it fails.

    ## What it means
    TensorFlow keeps every graph, model and cached tensor that something still refers to. Building models in a loop, keeping tensors in lists
    and calling `predict` with new shapes pile up.

    ## How it shows
    The first folds or epochs work, a later one fails with OOM; memory grows steadily.

    ## What to do
    `tf.keras.backend.clear_session()`, `del model`, `gc.collect()` between models; keep numbers (`float(loss)`) rather than tensors; or one process a fold.
    """
    facts = picture.facts
    grows = facts.symptoms("memory-grows")
    trouble = facts.symptoms(
        "tensor-oom",
        "resource-exhausted",
        "cuda-out-of-memory",
        "host-killed",
        "host-alloc-failed",
        "bfc-out-of-memory",
        "oom-said",
    )
    if not grows:
        return
    yield found(
        "memory-leak",
        "The report says that memory grows while the program runs: what earlier steps, folds or models left is still held.",
        [*grows[:2], *trouble[:2]],
        severity="error" if trouble else "warning",
        confidence="likely" if trouble else "possible",
        steps=[
            python(code.clear_session(version_of(picture)), "forgets the graphs of earlier models"),
            manual(
                "Run each fold or trial in a process of its own (multiprocessing, a shell loop): its memory is given back at its end for certain"
            ),
        ],
        verify="nvidia-smi --query-gpu=memory.used --format=csv -l 1",
    )


@rule(
    "memory-limit-misfit",
    "The program's own memory limit is the fault",
    explains=("model-oom", "cudnn-init-oom", "gpu-memory-held"),
    needs=("limit-set", "fraction-set", GpuRegistered),
)
def memory_limit_misfit(picture: Picture) -> Iterator[Finding]:
    """The user's own memory limit is too small for the job, or larger than what is free.

    ## What it means
    `memory_limit` and `per_process_gpu_memory_fraction` bound TensorFlow's pool. Too small a bound fails the job on an empty GPU; one above
    the free memory fails at the start.

    ## How it shows
    OOM with a limit set in the code and a device that was created with just that little memory.

    ## What to do
    Raise the limit, or use memory growth in its place.
    """
    facts = picture.facts
    trouble = facts.symptoms(
        "tensor-oom",
        "resource-exhausted",
        "cuda-out-of-memory",
        "device-alloc-failed",
        "bfc-out-of-memory",
        "oom-said",
    )
    small: list[Fact] = []
    for limit in facts.symptoms("limit-set"):
        digits = [int(x) for x in limit.get("mib").replace(" ", "").split("*") if x.isdigit()]
        mib = 1
        for d in digits:
            mib *= d
        if digits and 0 < mib <= 2048:
            small.append(limit)
    for fraction in facts.symptoms("fraction-set"):
        value = float(fraction.get("fraction", "1") or 1)
        if value <= 0.35 or value > 0.98:
            small.append(fraction)
    for device in facts.of(GpuRegistered):
        # TensorFlow's own share is an odd number of MB; a round one was asked for
        size = device.memory_mib or 0
        if 0 < size <= 4096 and (size % 128 == 0 or size % 500 == 0) and facts.has("tensor-oom", "bfc-out-of-memory"):
            small.append(device)
    if not small or not trouble or (handle_signs(picture) and not facts.has("tensor-oom", "oom-said")):
        return
    yield found(
        "memory-limit-misfit",
        "The program bounds TensorFlow's share of the GPU itself, and the job does not fit into that bound, or the bound is above what is free.",
        [*small[:2], *trouble[:2]],
        confidence="likely",
        steps=[
            python(code.memory_growth(version_of(picture)), "in place of the limit: takes what the job needs"),
            manual("Or raise the limit to what the job needs and the GPU has free (nvidia-smi)"),
        ],
        verify="nvidia-smi",
    )


@rule(
    "host-oom",
    "The host's memory ran out, not the GPU's",
    explains=("benign-messages",),
    needs=("host-killed", "host-alloc-failed", "cpu-oom", "host-pinned-failed", "host-memory-said", "shuffle-buffer"),
)
def host_oom(picture: Picture) -> Iterator[Finding]:
    """The host's memory runs out, not the GPU's.

    ## What it means
    The kernel ended the process, or an allocation in RAM failed: data loaded whole, too many workers, a container's or job's limit, a small machine.

    ## How it shows
    `Killed`, `oom-killer`, exit code 137, `std::bad_alloc`, `MemoryError: Unable to allocate … for an array`, `by allocator cpu`.

    ## What to do
    Read data in pieces (tf.data, generators), fewer workers, a smaller shuffle buffer; more memory or swap; a higher limit for the container or job.
    """
    facts = picture.facts
    killed = facts.symptoms("host-killed")
    failed = facts.symptoms("host-alloc-failed", "cpu-oom", "host-pinned-failed")
    said = facts.symptoms("host-memory-said")
    filling = facts.symptoms("shuffle-buffer") if facts.has("process-died", "host-memory-said") else []
    if (
        not killed
        and not failed
        and not filling
        and not (said and (facts.has("process-died") or not facts.has("tensor-oom", "cuda-out-of-memory")))
    ):
        return
    gpu = [s for s in facts.symptoms("tensor-oom") if "gpu" in (s.get("allocator") + s.get("device")).lower()]
    yield found(
        "host-oom",
        "The process was ended, or refused memory, by the host: its RAM (or the container's or job's limit) is full. GPU memory settings do not change that.",
        [
            *killed[:2],
            *failed[:2],
            *said[:1],
            *filling[:1],
            *[n for n in facts if type(n).__name__ == "Noise" and getattr(n, "kind", "") == "ten-percent"][:1],
        ],
        confidence="likely" if gpu or not (killed or failed) else "certain",
        steps=[
            manual(
                "Load data in pieces (tf.data from files, generators, numpy.memmap), and use fewer workers, a smaller shuffle buffer and batch"
            ),
            shell(
                "free -h && dmesg | tail -n 30" if picture.platform != "windows" else "systeminfo | findstr Memory",
                "shows how much there is, and whether the kernel ended the process",
            ),
        ],
        verify="free -h" if picture.platform != "windows" else "systeminfo | findstr Memory",
    )


@rule(
    "gpu-config-too-late",
    "The GPU settings come after TensorFlow has started the GPUs",
    needs=("config-too-late",),
)
def gpu_config_too_late(picture: Picture) -> Iterator[Finding]:
    """Memory growth, visible or logical devices are set after the GPUs were initialised.

    ## What it means
    These settings count only before TensorFlow's first use of a GPU. Listing *logical* devices, creating a tensor, a strategy, a model, or an
    imported library that does so, starts them.

    ## How it shows
    `Physical devices cannot be modified after being initialized` (also Virtual, Visible, Logical devices).

    ## What to do
    Move the settings to the top, right behind `import tensorflow`; in a notebook restart the kernel first; or use
    TF_FORCE_GPU_ALLOW_GROWTH=true in the environment.
    """
    facts = picture.facts
    late = facts.symptoms("config-too-late")
    yield found(
        "gpu-config-too-late",
        "The settings were changed after the GPUs had been initialised; something before them (an op, a model, a strategy, an import) had started TensorFlow's runtime.",
        late[:2],
        steps=[
            python(
                code.memory_growth(version_of(picture)),
                "at the very top of the program, before other imports that use TensorFlow",
            ),
            shell(
                "set TF_FORCE_GPU_ALLOW_GROWTH=true"
                if picture.platform == "windows"
                else "export TF_FORCE_GPU_ALLOW_GROWTH=true",
                "memory growth from outside; it cannot come too late",
            ),
        ],
        verify=commands.list_gpus(picture),
    )


@rule(
    "gpu-config-conflict",
    "GPU settings exclude each other or were passed wrongly",
    explains=("device-not-found",),
    needs=("config-conflict", "config-wrong-object", "invalid-ordinal", "gpu-index-error"),
)
def gpu_config_conflict(picture: Picture) -> Iterator[Finding]:
    """GPU settings exclude each other, or were passed wrongly.

    ## What it means
    Memory growth must be equal for all visible GPUs; growth and a fixed limit exclude each other; visible devices must be physical ones and
    agree with CUDA_VISIBLE_DEVICES; one process maps a GPU once.

    ## How it shows
    `Memory growth cannot differ between GPU devices`, `Cannot set memory growth on device when virtual devices configured`, `TensorFlow device (GPU:0)
    is being mapped to multiple devices`, `'list' object has no attribute 'device_type'`.

    ## What to do
    Set growth for every GPU in a loop, or choose one with `tf.config.set_visible_devices` first; give either growth or a limit; pass PhysicalDevice
    objects one by one.
    """
    facts = picture.facts
    conflict = facts.symptoms("config-conflict", "config-wrong-object")
    if not conflict:
        return
    first = conflict[0].source.text
    text = "Settings of the GPUs contradict each other."
    if "cannot differ" in first:
        text = "Memory growth was set for some of the visible GPUs only; it has to be the same for all of them."
    elif "mapped to multiple" in first or "different GPU config" in first:
        text = "Two parts of one process map GPU:0 to different devices (visible_device_list of a session against TensorFlow 2's own configuration)."
    elif "virtual devices configured" in first:
        text = "Memory growth and a fixed memory limit were both set for one GPU; they exclude each other."
    elif conflict[0].kind == "config-wrong-object":
        text = (
            "The call takes one PhysicalDevice of tf.config.list_physical_devices('GPU') and was given something else."
        )
    yield found(
        "gpu-config-conflict",
        text,
        conflict[:2],
        steps=[
            python(code.memory_growth(version_of(picture)), "the same for every GPU; and no memory limit beside it")
        ],
        verify=commands.list_gpus(picture),
    )
