"""benign-messages and healthy: nothing to fix, because the lines are harmless or the GPU works."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.case.visible_devices import hides
from doctor.facts import CudaCallFailed, CudnnVersion, Gpu, LibraryLoaded, Noise, Symptom
from doctor.findings import Finding, manual, shell
from doctor.remedies import commands, starts
from doctor.rules.driver.first_call import cuinit
from doctor.rules.ended import DIED, busy
from doctor.rules.gpu.capability import left_out
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.rules.simulated import in_simulation, own_missing, title_in_simulation
from doctor.shell import Path, run

if TYPE_CHECKING:
    from doctor.case import Case

QUIET = frozenset(
    ("cpu-features", "onednn", "mlir-disabled", "xla-not-created", "dlopen-static", "absl-init")
)
"""Kinds of harmless lines that do not sound alarming either."""


HIDES = " TF_CPP_MIN_LOG_LEVEL=2 hides such lines, but also real warnings."
"""A sentence about hiding lines of TensorFlow's C++ log. The variable does not affect Python's warnings."""


@rule(
    "benign-messages",
    "Every alarming line is harmless",
    severity="info",
    needs=(Noise, "plugin-device", "tensorboard-serving", "device-alloc-failed"),
)
def benign_messages(case: Case) -> Iterator[Finding]:
    """Every alarming line is harmless.

    ## What it means
    TensorFlow prints many lines that sound bad and are harmless: the NUMA node of a desktop machine, plugins
    registered twice, a missing TensorRT, CPU features, the allocator's hints.

    ## What you see
    The report contains only such lines, and a GPU is registered or nobody asked for one.

    ## What to do
    Nothing. `TF_CPP_MIN_LOG_LEVEL=2` hides most of them, but also real warnings.
    """
    facts = case.facts
    noise = facts.of(Noise)
    plugin = facts.symptoms("plugin-device") if facts.kind == "report" else []
    board = facts.symptoms("tensorboard-serving")
    retried: Sequence[Symptom] = ()
    if facts.has("device-alloc-failed"):
        from doctor.rules.memory.signs import retried_allocations

        retried = retried_allocations(case)
    if (not noise and not plugin and not retried) or facts.has("directml-no-adapter", *DIED):
        return
    failed = (facts.of(CudaCallFailed) and not retried) or facts.has(
        "traceback", "gpu-list-empty", "gpu-not-found", "gpu-not-used", "uses-cpu", "no-gpu-said"
    )
    if failed and not registered(case) and not plugin:
        return  # nothing shows what failed
    if facts.kind == "machine" and registered(case):
        return  # the lines come from the tool's own deep check, in which the GPU worked
    works = registered(case) or case.taken or _cudnn_at_work(case)
    quiet = all(n.kind in QUIET or _logged(n, "I") for n in noise)
    if (works or facts.has("process-died")) and not plugin and not retried and quiet:
        return
    meanings = {n.kind: n.meaning for n in noise}
    # one line may contain two such messages; facts of a machine have no line numbers
    lines = len({(n.source.where, n.source.line or n.source.text) for n in noise})
    sounds = "1 line sounds alarming but is" if lines == 1 else f"{lines} lines sound alarming but are"
    text = "".join(f" {meaning[:1].upper()}{meaning[1:]}." for meaning in list(meanings.values())[:5])
    text = f"{sounds} harmless.{text}" if noise else ""
    if retried:
        text = (
            "The driver refused an allocation, TensorFlow's allocator requested less, and the program"
            f" continued. {text}".rstrip()
        )
    if plugin:
        text = f"{_through_a_plugin(plugin[0])} {text}"
    if board:
        text += " TensorBoard, which runs here, needs no GPU."
    if registered(case):
        text += " A GPU is registered and in use."
    slower = facts.symptoms("slower-on-gpu") if facts.kind == "report" else []
    if slower:
        text += (
            " These lines do not make the program slower. A small model with small batches is often slower on"
            " a GPU than on the CPU, because starting many small operations takes longer than computing them."
        )
    if facts.has("nan-results"):
        text += " These lines do not explain the NaN in the results."
    yield found(
        "benign-messages",
        text,
        [*retried[:2], *noise[:4], *plugin[:2], *case.registered[:2], *board[:1]],
        confidence="certain" if registered(case) or plugin or board else "possible",
        steps=[
            manual(
                ("Ignore these lines." if slower else "Nothing to do.")
                + (HIDES if any(map(_logged, noise)) else "")
            ),
            *(busy(case) if slower else ()),
        ],
        verify=commands.list_gpus(case),
    )


def _through_a_plugin(device: Symptom) -> str:
    """Return sentences that say that TensorFlow uses a device through a plugin, which needs no CUDA."""
    if "DirectML" in device.source.text:
        name = device.get("adapter") or "GPU"
        return (
            f"TensorFlow uses the {name} through the DirectML plugin, which needs neither CUDA nor cuDNN:"
            " messages about CUDA mean nothing here."
        )
    return (
        "Another maker's accelerator is registered through its plugin, so the messages about CUDA mean"
        " nothing here."
    )


def _logged(noise: Noise, levels: str = "IWE") -> bool:
    """Whether a line belongs to TensorFlow's C++ log, which TF_CPP_MIN_LOG_LEVEL controls, and has one of
    these levels: I (information), W (warning) or E (error)."""
    return re.search(rf"(?:^|[\s:])[{levels}] (?:[A-Za-z]:\\|\w+/|\w+\.cc)", noise.source.text) is not None


def _cudnn_at_work(case: Case) -> list[CudnnVersion]:
    """Return the facts that show that a process loaded cuDNN. A header or a package on the disk does not show
    that a GPU is in use.

    TensorFlow prints `Loaded cuDNN version` when it has created cuDNN's handle on a GPU
    (stream_executor/cuda/cuda_dnn.cc, CudnnSupport::Init, 2.4 to 2.20).
    """
    facts = case.facts
    return [
        c
        for c in facts.of(CudnnVersion)
        if c.rank == 0 and (facts.kind == "machine" or "loaded cudnn" in c.source.text.lower())
    ]


def _stops_in_nccl(case: Case) -> bool:
    """Whether NCCL's own messages (NCCL_DEBUG=INFO) are the last thing that a report shows of a run.

    The GPUs are then still connecting and have not yet worked together; `Init COMPLETE` ends that phase
    (NCCL, src/init.cc).
    """
    lines = [s.source for s in case.facts.symptoms("nccl-used") if "NCCL INFO" in s.source.text]
    last = max((line.line or 0 for line in lines), default=0)
    ready = any("Init COMPLETE" in line.text for line in lines)
    return (
        bool(lines)
        and not ready
        and all((done.source.line or 0) < last for done in case.facts.symptoms("work-done"))
    )


def _without_compiler(lack: Symptom) -> str:
    """Return sentences about XLA's compiler, which is not among the files that were read (the files may be
    incomplete). lack: the symptom that lists the missing parts."""
    lacks = lack.get("lacks").replace(" ", ", ")
    return (
        f" XLA's compiler ({lacks}) is not among the files that were read. If it is not on the machine"
        " either, jit_compile=True and Keras 3's fit fail; the pip package nvidia-cuda-nvcc contains it."
    )


@rule("healthy", "A GPU is registered and in use; no problem found", severity="info")
def healthy(case: Case) -> Iterator[Finding]:
    """A GPU is registered and in use; no problem found.

    ## What it means
    TensorFlow created the device GPU:0 and loaded the libraries that it needs.

    ## What you see
    `Created device … GPU:0`, `Loaded cuDNN version`, and the program keeps running.

    ## What to do
    Nothing. Note that `check --deep` turns memory growth on; to see what happens without it, run
    `reproduce cudnn-init-oom`.
    """
    facts = case.facts
    works = [r for r in case.registered if r.count]
    plugin = facts.symptoms("plugin-device") if facts.kind == "machine" and case.platform != "macos" else []
    if plugin and not works:
        yield found(
            "healthy",
            f"This TensorFlow uses another maker's accelerator ({plugin[0].get('name')}), which needs neither"
            " CUDA nor NVIDIA's driver.",
            plugin[:2],
            title="TensorFlow can use the accelerator that its plugin provides",
            confidence="likely",
            verify=commands.list_gpus(case),
        )
        return
    cudnn = _cudnn_at_work(case)
    opened = [lib for lib in facts.of(LibraryLoaded) if case.component(lib.name) in ("cuda", "cudnn")]
    if facts.kind == "report" and facts.has(
        *DIED,
        "call-refused",
        "crash-status",
        "run-aborted",
        "hangs",
        "oom-said",
        "nan-results",
        "process-died",
    ):
        return  # the process died, stopped or failed for a reason that no rule knows
    if not works and cuinit(case) is not None:
        return  # loaded libraries do not show that a GPU is in use if CUDA did not start
    taken = case.taken if facts.kind == "report" else []
    unused = facts.kind == "report" and facts.has("gpu-not-used", "gpu-list-empty", "cpu-only-listed")
    if unused and not works and not taken:
        return  # loaded libraries are not enough: something else keeps TensorFlow from the GPU
    variable = case.env.get("CUDA_VISIBLE_DEVICES")
    if _stops_in_nccl(case) or (not works and variable is not None and hides(variable.value)):
        return
    if not works and not taken and not (cudnn or any("cudnn" in lib.name for lib in opened)):
        refused = facts.symptoms("program-refused")
        if refused and facts.kind == "report":
            yield found(
                "healthy",
                "TensorFlow runs, but the program passes it data, variables or files that do not go together."
                " That is an error in the program, with or without a GPU.",
                refused[:2],
                title="The error is in the program, not in the GPU setup",
                confidence="likely",
                verify=commands.list_gpus(case),
            )
        return
    if facts.kind == "machine" and not works:
        if facts.has("gpu-list-empty", "deep-hung", "deep-crashed", "deep-failed", "deep-import-failed"):
            return  # TensorFlow itself was started and saw no GPU
        listed = [s for s in facts.symptoms("cuda-devices") if s.get("count") != "0"]
        # NVIDIA's installer for Windows installs the driver only on a machine with an NVIDIA GPU
        unnamed = []
        if case.driver is not None and not (facts.has("cuda-devices") or facts.absent("nvidia gpu")):
            unnamed = [lib for lib in facts.of(LibraryLoaded) if lib.name == "nvcuda.dll"]
        if facts.unexamined or not (facts.of(Gpu) or listed or unnamed):
            return  # the GPU could not be examined
        simulated = facts.symptoms("simulated-gpu")
        needed = facts.symptoms("start-needed")
        ignored = left_out(case)
        gpu_kind = "simulated GPU" if simulated else "GPU"
        yield found(
            "healthy",
            (in_simulation(facts) if simulated else "")
            + (
                "The driver answers"
                if listed
                else "A GPU and its driver are present"
                if facts.of(Gpu)
                else "NVIDIA's driver is installed, so there is an NVIDIA GPU (the files do not name it)"
            )
            + ", every library that this TensorFlow loads is present and intact, and no other check found"
            " a fault. TensorFlow itself was not started; --deep does that."
            + "".join(
                " The value of PATH is not known; the check assumed that it contains the folder that CUDA's"
                " installer adds to it."
                for _ in facts.symptoms("path-assumed")
            )
            + "".join(f" TensorFlow ignores {gpu.name or 'a GPU'}: {why}." for gpu, why in ignored)
            + "".join(starts.note(start) for start in needed[:1])
            + "".join(_without_compiler(lack) for lack in facts.symptoms("xla-tools-missing")),
            [
                *simulated[:1],
                *facts.symptoms("simulated-libraries"),
                *(case.gpus or facts.of(Gpu))[:2],
                *(gpu for gpu, _ in ignored),
                *(unnamed[:1] if not facts.of(Gpu) else ()),
                *listed[:1],
                *cudnn[:1],
                *opened[:2],
                *needed[:1],
                *facts.symptoms("path-assumed"),
                *facts.symptoms("xla-tools-missing"),
            ],
            severity="warning" if needed else "",
            steps=starts.enter(needed[0]) if needed else (),
            title=(
                title_in_simulation(facts)
                if own_missing(facts)
                else f"The checks found nothing that keeps TensorFlow from the {gpu_kind}"
            ),
            confidence="likely",
            verify=commands.list_gpus(case),
        )
        return
    done = facts.symptoms("deep-operation")
    first = works[0] if works else None
    text = (
        "TensorFlow registered a GPU"
        + (f" ({first.name})" if first and first.name else "")
        + (
            f"; {' and '.join(dict.fromkeys(s.get('op') for s in done))} returned the right results on it."
            if done
            else "."
        )
        if works
        else "TensorFlow found and added a GPU that it can use, and nothing shows a fault."
        if taken
        else "TensorFlow loaded cuDNN, which it does when an op first needs it on a GPU, and nothing"
        " shows a fault."
        if cudnn
        else "The CUDA libraries and cuDNN load, and nothing shows a fault."
    )
    simulated = facts.symptoms("simulated-gpu")
    if simulated:
        text = in_simulation(facts) + text
    grew = facts.symptoms("growth-set") if facts.kind == "machine" else []
    idle = (
        facts.symptoms("gpu-idle", "gpu-not-used", "uses-cpu")
        if (works or taken) and facts.kind == "report"
        else []
    )
    steps = []
    if idle:
        text += (
            " If its utilisation is still low, the program is usually the reason: a small model or batch, "
            "slow input, or a first step that is still running."
        )
        steps += busy(case)
    if works and grew:
        text += (
            " The check itself turned memory growth on, so as not to take memory from other processes. A"
            " program without memory growth first allocates nearly all memory; this check does not show"
            " whether cuDNN still starts after that."
        )
        (python,) = commands.python_command(case)
        chosen = ("--python", python) if isinstance(python, Path) else ()
        steps.append(
            shell(
                run("tfgpu-doctor", "reproduce", "cudnn-init-oom", *chosen),
                "tests whether cuDNN starts: first with TensorFlow's default allocation, which occupies the"
                " GPU for a while, then with each setting that can fix a failure",
            )
        )
    yield found(
        "healthy",
        text,
        title=(
            title_in_simulation(facts)
            if simulated
            else "A GPU is registered; no problem found"
            if idle
            else ""
        ),
        evidence=[
            *simulated[:1],
            *facts.symptoms("simulated-libraries"),
            *works[:2],
            *taken[:1],
            *idle[:1],
            *done[:4],
            *grew[:1],
            *cudnn[:1],
            *(opened[:2] if not works else []),
        ],
        confidence="certain" if works else "likely",
        steps=steps,
        verify=commands.list_gpus(case),
    )
