"""gpu-hidden: CUDA_VISIBLE_DEVICES leaves no GPU visible to the process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.case.visible_devices import hides
from doctor.facts import CudaCallFailed, DeviceNode, DriverMismatch, Fact, Gpu, OtherGpu, Prose
from doctor.findings import Finding, manual, shell
from doctor.remedies import commands
from doctor.remedies.visibility import visible
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import gives_driver
from doctor.rules.gpu.registered import registered
from doctor.rules.linux import on_linux
from doctor.rules.registry import found, rule
from doctor.shell import Literal, run

if TYPE_CHECKING:
    from doctor.case import Case


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
        "no-device-shown",
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        CudaCallFailed,
        "visible-list",
        "visible-emptied",
        "container-device-unknown",
        "code-hides-gpus",
    ),
)
def gpu_hidden(case: Case) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES (or NVIDIA_VISIBLE_DEVICES) hides the GPU, or names one that does not exist.

    ## What it means
    The driver shows a process only the GPUs that CUDA_VISIBLE_DEVICES lists. CUDA ignores an invalid entry
    and all entries after it: `-1`, an empty value and `"-1,0"` hide all GPUs.

    ## What you see
    `failed call to cuInit: CUDA_ERROR_NO_DEVICE`, although the driver's kernel module and libraries have the
    same version and nvidia-smi shows the GPU.

    ## What to do
    Unset the variable, or list GPUs by their numbers in `nvidia-smi` (0, 1 …) or by their UUIDs. Look for the
    variable in the shell, in the scheduler's job, in the notebook and in the code (`os.environ`), where
    setting it takes effect only before TensorFlow is imported.
    """
    facts = case.facts
    hiding_code = facts.symptoms("code-hides-gpus")
    unused = facts.symptoms("gpu-list-empty", "gpu-not-used", "uses-cpu", "op-on-cpu", "gpu-index-error")
    if hiding_code and unused and not case.not_loaded and not facts.has("gpu-skipped"):
        yield found(
            "gpu-hidden",
            "The code itself hides every GPU from TensorFlow, which then runs on the CPU without a message.",
            [*hiding_code[:2], *unused[:1]],
            confidence="likely",
            steps=[manual("Remove that line from the code, or change it to list the GPUs to use")],
            verify=commands.list_gpus(case),
        )
        return
    # a program that crashes on a GPU has one
    if registered(case) or facts.has("illegal-address", "launch-failed"):
        return
    requested = facts.symptoms("container-device-unknown")
    if requested:
        name = requested[0].get("value") or requested[0].get("id")
        yield found(
            "gpu-hidden",
            f'The container requests the GPU "{name}", but the host has no GPU with that number or name. GPUs'
            " are counted from 0, and `--gpus 2` requests two GPUs.",
            requested[:2],
            title="The container requests a GPU that the host does not have",
            steps=[
                shell(run("nvidia-smi", "-L"), "on the host: lists the numbers and UUIDs of its GPUs"),
                on_linux(
                    run(
                        "docker",
                        "run",
                        "--rm",
                        "--gpus",
                        "all",
                        "tensorflow/tensorflow:latest-gpu",
                        "nvidia-smi",
                    ),
                    "passes all GPUs to the container",
                ),
            ],
            verify=run("nvidia-smi", "-L"),
        )
        return
    error: Fact | None = cuinit(case, "CUDA_ERROR_NO_DEVICE")
    error = error or next(iter(facts.symptoms("no-device-shown")), None)
    agree = case.drivers_agree
    said = facts.symptoms("visible-list")
    emptied = facts.symptoms("visible-emptied")
    variable = case.env.get("CUDA_VISIBLE_DEVICES")
    other = case.env.get("NVIDIA_VISIBLE_DEVICES")
    beyond = variable is not None and _beyond(case, variable.value)
    hides_all = variable is not None and (hides(variable.value) or beyond)
    hiding = variable if hides_all else None
    if hiding is None and other is not None and other.value.strip().lower() in ("", "none", "void"):
        # a device node in a container shows that CDI passed the GPU in
        passed_in = any(re.match(r"/dev/nvidia\d", node.path) for node in facts.of(DeviceNode))
        hiding = other if case.container and not passed_in else None
    empty = facts.symptoms("gpu-list-empty", "gpu-not-found", "cpu-only-listed")
    broken = (
        case.not_loaded
        or facts.of(DriverMismatch)
        or facts.has("gpu-skipped", "cudart-stub", "cudnn-handle-failed", "conv-algorithm-failed")
    )
    # the process saw a full GPU before the variable hid the GPU
    saw_gpu = facts.has("oom-said", "tensor-oom", "cuda-out-of-memory")
    # number 0 is the first GPU of any machine with a GPU, so the value 0 does not explain an empty list
    zero = variable is not None and variable.value.split(",")[0].strip() == "0"
    mapped = variable is not None and (bool(agree) or (error is not None and not zero))
    # an installed driver suggests a GPU: neither NVIDIA's kernel module nor its Windows driver stays loaded
    # without one
    down = facts.has("kernel-driver-not-running", "smi-no-driver", "no-device-node")
    prose = facts.first(Prose) is not None and not case.stated_absent("gpu")
    expected = case.gpus or case.in_another_run or prose
    likely = facts.has("smi-works") or gives_driver(case)
    likely = likely or bool(expected and not (broken or down or facts.first(OtherGpu)))
    idle = hiding is not None and not broken and bool(case.loaded) and not facts.has("traceback")
    if not (
        said
        or (emptied and not broken and (error or empty or facts.has("gpu-not-used", "uses-cpu")))
        or (error and (agree or hiding or mapped or likely))
        or (agree and mapped)
        or idle
        or (hiding and facts.has("gpu-index-error", "gpu-not-used", "uses-cpu") and not (broken or saw_gpu))
        or (hiding and (facts.kind == "machine" or ((empty or beyond) and not broken)))
    ):
        return
    other_cause = case.platform == "wsl" or facts.has("kernel-driver-not-running")
    other_cause = other_cause or (case.container and not gives_driver(case))
    if error and other_cause and not (agree or said or hiding or emptied):
        return
    shown = hiding or variable
    undivided = any(s.get("instances") == "0" for s in facts.symptoms("mig-enabled"))
    unresponsive = ("gpu-lost", "gpu-rejected-by-driver", "driver-call-crashed", "hung-driver")
    if shown is None and (undivided or facts.has(*unresponsive)):
        return
    known = bool(case.gpus) or facts.has("smi-works")
    printed = facts.kind == "machine" or error or empty or agree  # else a person may want the CPU
    set_in_file = facts.kind == "machine" and shown is not None and shown.source.where.startswith("/")
    value = shown.value if shown is not None else said[0].get("value") if said else None
    yield found(
        "gpu-hidden",
        (
            f'CUDA_VISIBLE_DEVICES is "{value}", but the process sees no device. Number 0 is the first GPU,'
            " so look for another value that the code or a scheduler sets later."
            if shown is variable and zero and not said
            else f'{shown.name if shown else "CUDA_VISIBLE_DEVICES"} is "{value}", which leaves this process'
            " without a GPU."
            if value is not None
            else "Something sets CUDA_VISIBLE_DEVICES to an empty value for this process: a scheduler such"
            " as Ray, Spark or Slurm does that for a task that requested no GPU."
            if emptied
            else (
                "The driver's kernel module and libraries have the same version"
                if agree
                else "The driver answers, and the machine has a GPU"
                if known
                else "The driver's library loads, and nothing suggests a problem with the driver"
            )
            + ", but the process sees no device. "
            + ("Nearly always" if agree or known else "If the machine has an NVIDIA GPU, then usually")
            + " the shell, the scheduler's job or the code sets CUDA_VISIBLE_DEVICES to an empty or"
            " wrong value."
        ),
        [shown, *said[:1], *emptied[:2], error, *agree[:2], *empty[:1]],
        confidence=(
            "certain"
            if said or (shown is not None and hides(shown.value) and printed)
            else "likely"
            if agree or mapped or emptied or hiding
            else "possible"
        ),
        steps=(
            [
                shell(
                    Literal("set CUDA_VISIBLE_DEVICES=")
                    if case.platform == "windows"
                    else Literal("unset CUDA_VISIBLE_DEVICES"),
                    "makes all GPUs visible again",
                ),
                manual(
                    f"Remove or correct the line that sets the variable in {shown.source}, then start the"
                    " program again"
                ),
            ]
            if set_in_file and shown is not None and "slurm" not in case.environments
            else visible(case, shown)
        ),
        verify=commands.list_gpus(case),
    )


def _beyond(case: Case, value: str) -> bool:
    """Whether the first entry of the value is a number or a UUID that no GPU has; False unless all GPUs are
    known.

    The beginning of a UUID is a valid entry (CUDA C++ Programming Guide, CUDA Environment Variables).
    """
    first = value.split(",")[0].strip().lstrip("+")
    gpus = case.facts.of(Gpu)
    if case.facts.kind == "report" and case.facts.has("one-gpu-said") and len(case.gpus) < 2:
        return value.strip().isdigit() and int(first[:4]) > 0
    if case.facts.kind != "machine" or not gpus or case.facts.has("mig-enabled"):
        return False
    if first.upper().startswith("GPU-") and all(gpu.uuid for gpu in gpus):
        return not any((gpu.uuid or "").lower().startswith(first.lower()) for gpu in gpus)
    if not re.fullmatch(r"[0-9]{1,4}", first) or not all(gpu.bus_id for gpu in gpus):
        return False
    return int(first) >= len({(gpu.bus_id or "").lower()[-10:] for gpu in gpus})
