"""Where ops run, several GPUs, and programs that crash on the GPU."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import CudaCallFailed, EnvVar, GpuRegistered, Symptom
from doctor.findings import Finding, manual, python, shell
from doctor.picture import Picture
from doctor.remedies import code, commands
from doctor.rules.memory import version_of
from doctor.rules.registry import found, rule
from doctor.tables import dotted


@rule(
    "op-no-gpu-kernel",
    "An op that is pinned to a GPU has no GPU kernel",
    explains=("device-not-found",),
    needs=("no-gpu-kernel",),
)
def op_no_gpu_kernel(picture: Picture) -> Iterator[Finding]:
    """An op pinned to a GPU has no GPU kernel for its types.

    ## What it means
    Not every op has a kernel for the GPU, and not for every type: int32 variables, strings, many decompositions and lookups run on the CPU only.
    `tf.device('/gpu:0')` around them is an order that cannot be carried out.

    ## How it shows
    `Cannot assign a device … because no supported kernel for GPU devices is available`, `Supported device types [CPU]` while a GPU is among the
    available devices, a colocation table with `CPU` alone behind an op.

    ## What to do
    Let TensorFlow place what it must elsewhere (soft placement), or pin such ops to the CPU; use float32 where a number is meant for the GPU.
    """
    facts = picture.facts
    signs = facts.symptoms("no-gpu-kernel")
    version = version_of(picture)
    if version is None and any("node '" in s.source.text or "operation '" in s.source.text.lower() for s in signs):
        version = (
            "1.15"
            if any("no supported kernel" in s.source.text for s in signs) and not facts.has("device-listed")
            else None
        )
    typed = facts.symptoms("int32-node")
    int32 = bool(typed) or any("int32" in s.source.text.lower() for s in signs)
    yield found(
        "op-no-gpu-kernel",
        "The code orders an op onto the GPU for which TensorFlow has no GPU kernel"
        + (" (int32 variables live on the CPU)" if int32 else "")
        + "; the GPU itself is in order.",
        [*signs[:3], *typed[:1]],
        steps=[
            python(code.soft_placement(version), "soft placement: such ops go to the CPU, the rest stays on the GPU"),
            python(code.pin_to_cpu(), "or place them by hand"),
        ],
        verify=commands.run_python(picture, code.list_gpus(version)),
    )


@rule(
    "device-not-found",
    "The code names a device that this process does not have",
    needs=("device-unknown", "invalid-ordinal", "gpu-index-error", "gpu-not-found"),
)
def device_not_found(picture: Picture) -> Iterator[Finding]:
    """The code names a device that this process does not have.

    ## What it means
    `/gpu:1` with one GPU, or `/gpu:0` where TensorFlow registered none. Where the text shows why none was registered, that cause is the finding.

    ## How it shows
    `was explicitly assigned to /device:GPU:1 but available devices are […]`, `unknown device`, `Invalid device ordinal`, `multi_gpu_model with gpus=2`,
    `SystemError: GPU device not found`, `gpus[0]` with an empty list.

    ## What to do
    List the devices first and use what is there; soft placement lets TensorFlow choose; if a GPU should be there, find out why it was not registered.
    """
    facts = picture.facts
    signs: list[Symptom] = facts.symptoms("device-unknown", "invalid-ordinal", "gpu-index-error", "gpu-not-found")
    available = " ".join(s.get("available") + s.get("available2") for s in signs)
    none = "GPU" not in available.replace("XLA_GPU", "").upper() and bool(available)
    only_xla = "XLA_GPU" in available.upper() and none
    text = "The code asks for a device that TensorFlow did not register in this process"
    if only_xla:
        text += "; XLA_GPU is listed and GPU is not, so TensorFlow skipped the GPU (usually for want of a CUDA library of the version that it opens)"
    elif none or facts.has("gpu-not-found", "gpu-index-error"):
        text += ": no GPU at all is registered, and the text does not show why"
    steps = [shell(commands.list_gpus(picture), "shows the devices that there are")]
    if none or facts.has("gpu-not-found", "gpu-index-error"):
        steps.append(shell("tfgpu-doctor check", "finds out why no GPU was registered"))
    steps.append(
        python(
            code.soft_placement(version_of(picture)),
            "lets TensorFlow take another device where the named one is not there",
        )
    )
    yield found(
        "device-not-found",
        text + ".",
        signs[:3],
        confidence="certain" if not (none or only_xla) else "likely",
        steps=steps,
        verify=commands.list_gpus(picture),
    )


@rule(
    "gpu-renumbered",
    "CUDA_VISIBLE_DEVICES renumbers the GPUs; nothing is wrong",
    severity="info",
    needs=(EnvVar, "renumbered"),
)
def gpu_renumbered(picture: Picture) -> Iterator[Finding]:
    """Nothing is wrong: CUDA_VISIBLE_DEVICES renumbers the GPUs.

    ## What it means
    A process sees the GPUs that CUDA_VISIBLE_DEVICES lists, numbered anew from 0 in that order. With CUDA_VISIBLE_DEVICES=1 the second card is GPU:0.
    Without CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA numbers the fastest card first, nvidia-smi by bus.

    ## How it shows
    The variable names card 1, 2 …, and TensorFlow reports GPU:0.

    ## What to do
    Use `/gpu:0` in the code; compare PCI bus ids rather than numbers.
    """
    facts = picture.facts
    variable = picture.env.get("CUDA_VISIBLE_DEVICES")
    said = facts.symptoms("renumbered")
    numbers = [n.strip() for n in variable.value.split(",")] if variable is not None else []
    alone = bool(numbers) and all(n.isdigit() and int(n) > 0 for n in numbers)
    on_zero = [r for r in facts.of(GpuRegistered) if r.index == 0]
    only_zero = on_zero and all((r.index or 0) == 0 for r in facts.of(GpuRegistered))
    if not ((alone and (only_zero or said)) or (said and not facts.of(CudaCallFailed))):
        return
    yield found(
        "gpu-renumbered",
        f"CUDA_VISIBLE_DEVICES{'=' + variable.value if variable else ''} chooses which cards a process sees, and the first that it sees is its GPU:0.",
        [variable, *said[:1], *on_zero[:1]],
        steps=[
            manual("Use /gpu:0 in the code; set CUDA_DEVICE_ORDER=PCI_BUS_ID so that CUDA numbers as nvidia-smi does")
        ],
        verify="nvidia-smi",
    )


@rule(
    "nccl-failure",
    "Communication between GPUs fails",
    explains=("ptx-jit-or-kernel-crash",),
    needs=("nccl-error", "peer-access", "nccl-used"),
)
def nccl_failure(picture: Picture) -> Iterator[Finding]:
    """Collective communication between GPUs fails, or is not in this build.

    ## What it means
    Several GPUs exchange gradients through NCCL. It fails for want of NCCL in the build (Windows), through a network it cannot use, or where the
    machine's IOMMU or ACS breaks transfers from card to card.

    ## How it shows
    `NCCL WARN …`, `unhandled system error`, `No OpKernel was registered to support Op 'NcclAllReduce'`, a hang at the first all-reduce.

    ## What to do
    `NCCL_DEBUG=INFO` names the call that fails. Windows: HierarchicalCopyAllReduce. Test with NCCL_P2P_DISABLE=1 and NCCL_IB_DISABLE=1 to see which
    path is at fault; turn ACS/IOMMU off in the BIOS for direct transfers.
    """
    facts = picture.facts
    errors = facts.symptoms("nccl-error", "peer-access")
    used = facts.symptoms("nccl-used")
    hang = facts.symptoms("hangs")
    if not errors and not (used and hang):
        return
    steps = [
        shell(
            "export NCCL_DEBUG=INFO" if picture.platform != "windows" else "set NCCL_DEBUG=INFO",
            "makes NCCL say which call fails",
        )
    ]
    if picture.platform == "windows":
        steps.append(
            python(
                "strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.HierarchicalCopyAllReduce())",
                "Windows builds have no NCCL",
            )
        )
    else:
        steps.append(
            shell(
                "export NCCL_P2P_DISABLE=1",
                "goes through the host's memory: if it works then, IOMMU or ACS breaks transfers between the cards",
                platform="linux",
            )
        )
        steps.append(shell("export NCCL_IB_DISABLE=1", "keeps NCCL off InfiniBand", platform="linux"))
        steps.append(
            python(
                "strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.HierarchicalCopyAllReduce())",
                "works without NCCL, slower",
            )
        )
    yield found(
        "nccl-failure",
        "The GPUs work one by one, and their communication fails."
        if errors
        else "The run stops at an all-reduce through NCCL and does not go on.",
        [*errors[:3], *used[:1], *(hang[:1] if not errors else [])],
        confidence="certain" if errors else "likely",
        steps=steps,
        verify="NCCL_DEBUG=INFO " + commands.list_gpus(picture)
        if picture.platform != "windows"
        else commands.list_gpus(picture),
    )


@rule(
    "ptx-jit-or-kernel-crash",
    "The GPU program itself crashes at run time",
    needs=(
        "illegal-address",
        "launch-failed",
        "cudnn-launch-failed",
        "deep-crashed",
        "deep-operation-failed",
        "deep-operation-wrong",
    ),
)
def kernel_crash(picture: Picture) -> Iterator[Finding]:
    """The GPU program itself crashes at run time.

    ## What it means
    A kernel read or wrote where it may not, or was ended by a watchdog. With matching versions and enough memory that is a defect of an op, of
    this release, of the driver, or of the card (heat, overclocking, memory).

    ## How it shows
    CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, `unspecified launch failure`, CUDNN_STATUS_EXECUTION_FAILED.

    ## What to do
    Find the op with CUDA_LAUNCH_BLOCKING=1; try another patch release and the current driver; check indices that reach the GPU (embedding
    lookups, gather); test the card alone (`dmesg` for Xid).
    """
    facts = picture.facts
    signs = facts.symptoms("illegal-address", "launch-failed", "cudnn-launch-failed")
    own = [  # of the deep check: TensorFlow was imported, and what it ran on the GPU failed
        *(s for s in facts.symptoms("deep-crashed") if s.get("stage") not in ("started", "nothing")),
        *facts.symptoms("deep-operation-failed", "deep-operation-wrong"),
    ]
    if own and not signs:
        wrong = facts.has("deep-operation-wrong")
        yield found(
            "ptx-jit-or-kernel-crash",
            "TensorFlow was started and used the GPU, and "
            + ("the result of a known computation is wrong." if wrong else f"it failed there: {own[0].source.text}."),
            own[:4],
            confidence="certain" if wrong else "possible",
            steps=[
                manual("Try the newest patch release of this TensorFlow minor version, and the current driver"),
                manual("Run the check again after a restart; if it comes back, test the card alone (dmesg for Xid)"),
            ],
            verify="tfgpu-doctor check --deep",
        )
        return
    if not signs or (
        all(s.kind == "cudnn-launch-failed" for s in signs)
        and facts.has("cudnn-handle-failed", "cuda-out-of-memory", "conv-algorithm-failed")
    ):
        return
    strong = [s for s in signs if s.kind != "cudnn-launch-failed"]
    yield found(
        "ptx-jit-or-kernel-crash",
        "A program on the GPU crashed while it ran; nothing here shows a wrong version or a lack of memory.",
        [*strong[:3], *signs[:2]],
        confidence="certain" if strong else "likely",
        steps=[
            shell(
                "set CUDA_LAUNCH_BLOCKING=1" if picture.platform == "windows" else "export CUDA_LAUNCH_BLOCKING=1",
                "makes the failing op appear in the traceback",
            ),
            manual("Try the newest patch release of this TensorFlow minor version, and the current driver"),
            *(
                []
                if picture.platform == "windows"
                else [
                    shell(
                        "sudo dmesg | grep -i xid",
                        "an Xid beside it speaks for the card or the driver",
                        platform="linux",
                        root=True,
                    )
                ]
            ),
        ],
        verify=commands.convolution(picture),
    )


@rule(
    "known-release-bug",
    "A defect of this very release; versions match",
    needs=("known-defect",),
)
def known_release_bug(picture: Picture) -> Iterator[Finding]:
    """A defect of this very TensorFlow, CUDA or cuDNN release, where the versions match.

    ## What it means
    Nothing on the machine is wrong; the release is. Moving one release cures it.

    ## How it shows
    Messages that are known for one release only (see the table of traps: `tfgpu-doctor tables tensorflow VERSION`).

    ## What to do
    Install the neighbouring release, or the newer cuDNN that the prescription names.
    """
    signs = picture.facts.symptoms("known-defect")
    first = signs[0]
    release = first.get("release")
    defective = picture.build or picture.tables.tensorflow(release, None, picture.table_platform)
    steps = [manual(first.get("cure"))] if first.get("cure") else []
    pins = defective.extras.get("and-cuda", {}) if defective is not None else {}
    cudnn = next((name for name in pins if "cudnn" in name), None)
    if cudnn is not None and "cuDNN" in first.get("cure") and picture.platform != "windows":
        major = (defective.cudnn or "").split(".")[0] if defective is not None else ""
        wanted = f"{cudnn}<{int(major) + 1}" if major.isdigit() else cudnn
        steps.append(
            shell(
                f"{commands.venv_prefix(picture)} install --upgrade {commands.quoted(wanted, picture)}",
                "the newest cuDNN that the release accepts",
            )
        )
    earlier = [
        r
        for r in picture.tables.releases(picture.table_platform, "tensorflow")
        if r.gpu
        and not r.yanked
        and dotted(r.version) < dotted(release)
        and (picture.python is None or ".".join(picture.python.version.split(".")[:2]) in r.pythons)
    ]
    if earlier:
        steps.append(
            shell(
                f"{commands.venv_prefix(picture)} install {commands.quoted(earlier[-1].requirement, picture)}",
                f"or the release before {release}",
            )
        )
    yield found(
        "known-release-bug",
        f"This message is printed by TensorFlow {release} only; nothing on the machine is wrong.",
        signs[:3],
        confidence="likely",
        tables=[defective] if defective is not None else [],
        steps=steps,
        verify=commands.list_gpus(picture),
    )
