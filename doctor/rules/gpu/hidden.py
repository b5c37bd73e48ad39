"""gpu-hidden: CUDA_VISIBLE_DEVICES leaves the process no GPU."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import CudaCallFailed, DriverMismatch, EnvVar, OtherGpu
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.driver.signs import cuinit
from doctor.rules.gpu.registered import registered
from doctor.rules.gpu.visible_devices import hides
from doctor.rules.registry import found, rule
from doctor.shell import Literal, run


@rule(
    "gpu-hidden",
    "CUDA_VISIBLE_DEVICES hides the GPU",
    explains=(
        "driver-missing",
        "gpu-absent",
        "driver-not-loaded",
        "device-not-found",
        "gpu-bad-state",
        "benign-messages",
    ),
    needs=(
        EnvVar,
        CudaCallFailed,
        "visible-list",
        "visible-emptied",
        "container-device-unknown",
        "code-hides-gpus",
    ),
)
def gpu_hidden(picture: Picture) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES (or NVIDIA_VISIBLE_DEVICES) hides the GPU, or names one that is not there.

    ## What it means
    The driver shows a process only the GPUs that CUDA_VISIBLE_DEVICES lists. An entry that is not valid hides itself and
    everything after it: `-1`, an empty value and `"-1,0"` hide all of them.

    ## How it shows
    `failed call to cuInit: CUDA_ERROR_NO_DEVICE` while kernel module and libraries agree in version and nvidia-smi shows the GPU.

    ## What to do
    Unset the variable or name GPUs by the numbers of `nvidia-smi` (0, 1 …) or their UUIDs. Look for it in the shell, in the
    scheduler's job, in the notebook and in the code (`os.environ`), where it must stand before TensorFlow is imported.
    """
    facts = picture.facts
    written = facts.symptoms("code-hides-gpus")
    unused = facts.symptoms("gpu-list-empty", "gpu-not-used", "uses-cpu", "op-on-cpu", "gpu-index-error")
    if written and unused and not picture.not_loaded and not facts.has("gpu-skipped"):
        yield found(
            "gpu-hidden",
            "The code itself takes every GPU away from TensorFlow, which then runs on the CPU without a word.",
            [*written[:2], *unused[:1]],
            confidence="likely",
            steps=[manual("Take that line out of the code, or name the GPUs to use in it")],
            verify=commands.list_gpus(picture),
        )
        return
    if registered(picture) or facts.has("illegal-address", "launch-failed"):  # what crashes on a GPU, has one
        return
    asked = facts.symptoms("container-device-unknown")
    if asked:
        name = asked[0].get("value") or asked[0].get("id")
        yield found(
            "gpu-hidden",
            f'The container was to get the GPU "{name}", and the host has none of that number or name: GPUs are counted '
            "from 0, and `--gpus 2` asks for two of them.",
            asked[:2],
            title="The container asks for a GPU that the host does not have",
            steps=[
                shell(run("nvidia-smi", "-L"), "on the host: the numbers and UUIDs that can be asked for"),
                shell(
                    run(
                        "docker",
                        "run",
                        "--rm",
                        "--gpus",
                        "all",
                        "tensorflow/tensorflow:latest-gpu",
                        "nvidia-smi",
                    ),
                    "gives the container every GPU there is",
                    platform="linux",
                ),
            ],
            verify=run("nvidia-smi", "-L"),
        )
        return
    error = cuinit(picture, "CUDA_ERROR_NO_DEVICE")
    agree = picture.drivers_agree
    said = facts.symptoms("visible-list")
    emptied = facts.symptoms("visible-emptied")
    variable = picture.env.get("CUDA_VISIBLE_DEVICES")
    other = picture.env.get("NVIDIA_VISIBLE_DEVICES")
    hiding = variable if variable is not None and hides(variable.value) else None
    if (
        hiding is None
        and other is not None
        and other.value.strip().lower() in ("", "none", "void")
        and picture.container
    ):
        hiding = other
    empty = facts.symptoms("gpu-list-empty", "gpu-not-found", "cpu-only-listed")
    broken = (
        picture.not_loaded
        or facts.has("gpu-skipped", "cudart-stub")
        or facts.of(DriverMismatch)
        or facts.has("cudnn-handle-failed", "conv-algorithm-failed")
    )
    met = facts.has("oom-said", "tensor-oom", "cuda-out-of-memory")  # a GPU that is full was seen before it was hidden
    # number 0 is the first GPU wherever there is one, so alone it explains no empty list
    zero = variable is not None and variable.value.split(",")[0].strip() == "0"
    mapped = variable is not None and (bool(agree) or (error is not None and not zero))
    bare = (
        error is not None
        and bool(picture.gpus)
        and not broken
        and not facts.symptoms("kernel-driver-not-running", "smi-no-driver", "no-device-node")
        and not facts.of(OtherGpu)
    ) or (error is not None and facts.has("smi-works"))
    idle = hiding is not None and not broken and bool(picture.loaded) and not facts.has("traceback")
    if not (
        said
        or (emptied and not broken and (error or empty or facts.has("gpu-not-used", "uses-cpu")))
        or (error and (agree or hiding or mapped or bare))
        or (agree and mapped)
        or idle
        or (hiding and facts.has("gpu-index-error", "gpu-not-used") and not (broken or met))
        or (hiding and (empty or facts.kind == "machine") and not broken)
    ):
        return
    if (
        error
        and not (agree or said or hiding or emptied)
        and (picture.container or picture.platform == "wsl" or facts.has("kernel-driver-not-running"))
    ):
        return
    shown = hiding or variable
    undivided = any(s.get("instances") == "0" for s in facts.symptoms("mig-enabled"))
    if shown is None and (undivided or facts.has("gpu-lost", "driver-call-crashed", "hung-driver")):
        return
    value = shown.value if shown is not None else said[0].get("value") if said else None
    yield found(
        "gpu-hidden",
        (
            f'CUDA_VISIBLE_DEVICES is "{value}" where it is told, and the process is shown no device. Number 0 is the '
            "first GPU: look for another value that is set later, in the code or by a scheduler."
            if shown is variable and zero and not said
            else f'{shown.name if shown else "CUDA_VISIBLE_DEVICES"} is "{value}", which leaves this process no GPU.'
            if value is not None
            else "Something empties CUDA_VISIBLE_DEVICES for this process: a scheduler such as Ray, Spark or Slurm does that for a "
            "task that asked for no GPU."
            if emptied
            else ("Kernel module and libraries of the driver agree" if agree else "The driver answers, and a GPU is known to be there")
            + ", and still the process is shown no device: nearly always CUDA_VISIBLE_DEVICES is set "
            "to an empty or wrong value, in the shell, the scheduler's job or the code."
        ),
        [shown, *said[:1], *emptied[:2], error, *agree[:2], *empty[:1]],
        confidence="certain"
        if (shown is not None and hides(shown.value)) or said
        else "likely"
        if agree or mapped or emptied
        else "possible",
        steps=[
            shell(
                Literal("set CUDA_VISIBLE_DEVICES=")
                if picture.platform == "windows"
                else Literal("unset CUDA_VISIBLE_DEVICES"),
                "shows all GPUs again",
            ),
            manual(
                f"Remove or correct the line that sets it in {shown.source}, then start the program anew"
                if facts.kind == "machine" and shown is not None and shown.source.where.startswith("/")
                else "Remove or correct the line that sets it in the code; it counts only before TensorFlow is imported"
            ),
        ],
        verify=commands.list_gpus(picture),
    )
