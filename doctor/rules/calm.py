"""Nothing to fix: harmless lines, a GPU that works, or too little to tell."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import CudaCallFailed, CudnnVersion, Facts, Gpu, LibraryLoaded, Noise, Source
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands, starts
from doctor.rules.driver.signs import cuinit
from doctor.rules.ended import DIED, busy
from doctor.rules.gpu.registered import registered
from doctor.rules.gpu.visible_devices import hides
from doctor.rules.memory.signs import retried_allocations
from doctor.rules.registry import found, rule
from doctor.shell import Path, run

QUIET = frozenset(("cpu-features", "onednn", "mlir-disabled", "xla-not-created", "dlopen-static", "absl-init"))
"""Harmless lines that do not sound alarming either."""


@rule(
    "benign-messages",
    "Every alarming line is harmless",
    severity="info",
    needs=(Noise, "plugin-device", "tensorboard-serving", "device-alloc-failed"),
)
def benign_messages(picture: Picture) -> Iterator[Finding]:
    """Every alarming line is harmless.

    ## What it means
    TensorFlow prints much that sounds bad and is not: the NUMA node of a desktop machine, plugins registered twice, TensorRT that is not installed, CPU
    features, the allocator's hints.

    ## How it shows
    Only such lines, and a GPU is registered, or none was asked for.

    ## What to do
    Nothing. `TF_CPP_MIN_LOG_LEVEL=2` hides most of them, and real warnings with them.
    """
    facts = picture.facts
    noise = facts.of(Noise)
    plugin = facts.symptoms("plugin-device")
    board = facts.symptoms("tensorboard-serving")
    retried = retried_allocations(picture)
    if (not noise and not plugin and not retried) or facts.has("directml-no-adapter", *DIED):
        return
    if (
        (facts.has("traceback", "gpu-list-empty", "gpu-not-found", "gpu-not-used") or (facts.of(CudaCallFailed) and not retried))
        and not registered(picture)
        and not plugin
    ):
        return  # something failed, and it is not known what
    if facts.kind == "machine" and registered(picture):  # lines of our own deep check, which saw the GPU work
        return
    works = registered(picture) or _cudnn_at_work(picture)
    if (works or facts.has("process-died")) and not plugin and not retried and all(n.kind in QUIET for n in noise):
        return
    kinds = list(dict.fromkeys(n.kind for n in noise))
    meanings = {n.kind: n.meaning for n in noise}
    text = (
        f"{len(noise)} line{'s' if len(noise) != 1 else ''} sound{'s' if len(noise) == 1 else ''} alarming and mean{'s' if len(noise) == 1 else ''} nothing: "
        if noise
        else ""
    )
    text += "; ".join(f"{kind.replace('-', ' ')}: {meanings[kind]}" for kind in kinds[:5]) + ("." if kinds else "")
    if retried:
        text = (
            f"The driver refused an allocation, TensorFlow's allocator asked for less, and the program went on. {text}".rstrip()
        )
    if plugin:
        how = "is registered through its plugin, so the messages about CUDA mean nothing here. "
        if facts.kind == "machine":
            how = f"serves this TensorFlow ({plugin[0].get('name')}); CUDA and NVIDIA's driver mean nothing for it."
        text = f"Another maker's accelerator {how}" + text
    if board:
        text += " TensorBoard, which runs here, needs no GPU."
    if registered(picture):
        text += " A GPU is registered and used."
    evidence: list[Source] = [*(r.source for r in retried[:2]), *(n.source for n in noise[:4])]
    evidence += (
        [p.source for p in plugin[:2]] + [r.source for r in picture.registered[:2]] + [b.source for b in board[:1]]
    )
    yield found(
        "benign-messages",
        text,
        evidence,
        confidence="certain" if registered(picture) or plugin or board else "possible",
        steps=[manual("Nothing to do. TF_CPP_MIN_LOG_LEVEL=2 hides such lines, and with them real warnings")],
        verify=commands.list_gpus(picture),
    )


def _cudnn_at_work(picture: Picture) -> list[CudnnVersion]:
    """What says that a process of a report loaded cuDNN: a header or a package on the disk shows no GPU in use.

    TensorFlow says so when it has made cuDNN's handle on a GPU (stream_executor/cuda/cuda_dnn.cc, CudnnSupport::Init,
    2.4 to 2.20).
    """
    facts = picture.facts
    return [
        c
        for c in facts.of(CudnnVersion)
        if c.rank == 0 and (facts.kind == "machine" or "loaded cudnn" in c.source.text.lower())
    ]


def _stops_in_nccl(picture: Picture) -> bool:
    """Whether NCCL's own messages (NCCL_DEBUG=INFO) are the last that a report shows of a run.

    GPUs that are still finding one another have not worked together; `Init COMPLETE` ends that (NCCL, src/init.cc).
    """
    lines = [s.source for s in picture.facts.symptoms("nccl-used") if "NCCL INFO" in s.source.text]
    last = max((line.line or 0 for line in lines), default=0)
    ready = any("Init COMPLETE" in line.text for line in lines)
    return bool(lines) and not ready and all((done.source.line or 0) < last for done in picture.facts.symptoms("work-done"))


def _in_simulation(facts: Facts) -> str:
    """What a simulation leaves open: there is no GPU, and its libraries stood in for the environment's own."""
    words = "This is a simulation, there is no real GPU behind it. "
    own = next(iter(facts.symptoms("simulated-libraries")), None)
    if own is None:
        return words
    words += "Its libraries stood in for this environment's own CUDA libraries, which were not tested. "
    missing = own.get("missing")
    if missing:
        return words + f"Without the simulation these would not open: {missing}; a check outside of it says what to do. "
    return words + "A check outside of it would find a file for each. "


def _own_missing(facts: Facts) -> bool:
    """Whether a simulation's libraries stood in for some that the environment itself does not have."""
    return any(symptom.get("missing") for symptom in facts.symptoms("simulated-libraries"))


def _title_in_simulation(facts: Facts) -> str:
    if _own_missing(facts):
        return "A simulated GPU works; the environment's own CUDA libraries were not tested, and some are missing"
    return "A simulated GPU is registered; nothing alarming"


@rule("healthy", "A GPU is registered and used; nothing alarming", severity="info")
def healthy(picture: Picture) -> Iterator[Finding]:
    """A GPU is registered and used; nothing alarming.

    ## What it means
    TensorFlow made GPU:0 and opened what it needs.

    ## How it shows
    `Created device … GPU:0`, `Loaded cuDNN version`, and a program that runs on.

    ## What to do
    Nothing. `check --deep` runs with memory growth on; `reproduce cudnn-init-oom` shows what a program meets that does not turn it on.
    """
    facts = picture.facts
    works = [r for r in picture.registered if r.count]
    cudnn = _cudnn_at_work(picture)
    opened = [lib for lib in facts.of(LibraryLoaded) if picture.component(lib.name) in ("cuda", "cudnn")]
    if facts.kind == "report" and facts.has(*DIED, "crash-status", "hangs", "oom-said", "nan-results", "process-died"):
        return  # the GPU was registered, and then the process died, stopped or went wrong of something that no rule knows
    if not works and cuinit(picture) is not None:
        return  # libraries that opened show no GPU where CUDA did not start
    if not works and facts.kind == "report" and facts.has("gpu-not-used", "gpu-list-empty", "cpu-only-listed"):
        return  # libraries that opened are not all: something else keeps the GPU out
    variable = picture.env.get("CUDA_VISIBLE_DEVICES")
    if _stops_in_nccl(picture) or (not works and variable is not None and hides(variable.value)):
        return
    helped = any(s.get("helped") for s in facts.symptoms("path-cure-told"))  # and the log that follows opens CUDA
    if not works and not (cudnn or any("cudnn" in lib.name for lib in opened) or (helped and opened)):
        return
    if facts.kind == "machine" and not works:
        if facts.has("gpu-list-empty", "deep-hung", "deep-crashed", "deep-failed", "deep-import-failed"):
            return  # TensorFlow itself was started and saw none
        listed = [s for s in facts.symptoms("cuda-devices") if s.get("count") != "0"]
        if not facts.of(Gpu) and not listed:  # the GPU could not be looked at
            return
        if facts.unexamined:
            return
        simulated = facts.symptoms("simulated-gpu")
        needed = facts.symptoms("start-needed")
        yield found(
            "healthy",
            (_in_simulation(facts) if simulated else "")
            + ("The driver answers" if listed else "A GPU and its driver are there")
            + ", every library that this TensorFlow opens is found and whole, and nothing "
            "else that was examined speaks against a working GPU. TensorFlow itself was not started; --deep does that."
            + "".join(starts.note(start) for start in needed[:1]),
            [*simulated[:1], *facts.symptoms("simulated-libraries"), *(picture.gpus or facts.of(Gpu))[:2], *listed[:1], *cudnn[:1], *opened[:2], *needed[:1]],
            severity="warning" if needed else "",
            steps=starts.enter(needed[0]) if needed else (),
            title=_title_in_simulation(facts) if _own_missing(facts) else
            f"Nothing that was examined stands between TensorFlow and the {'simulated ' if simulated else ''}GPU",
            confidence="likely",
            verify=commands.list_gpus(picture),
        )
        return
    done = facts.symptoms("deep-operation")
    first = works[0] if works else None
    text = (
        "TensorFlow registered a GPU"
        + (f" ({first.name})" if first and first.name else "")
        + (f"; {' and '.join(dict.fromkeys(s.get('op') for s in done))} gave the right results on it." if done else ".")
        if works
        else "The CUDA libraries open after what is said to have helped, and nothing speaks against a working GPU."
        if not (cudnn or any("cudnn" in lib.name for lib in opened))
        else "TensorFlow loaded cuDNN, which it does when an op first needs it on a GPU, and nothing speaks against that GPU."
        if cudnn
        else "The CUDA libraries and cuDNN open, and nothing speaks against a working GPU."
    )
    simulated = facts.symptoms("simulated-gpu")
    if simulated:
        text = _in_simulation(facts) + text
    grew = facts.symptoms("growth-set") if facts.kind == "machine" else []
    idle = facts.symptoms("gpu-idle", "gpu-not-used", "uses-cpu") if works and facts.kind == "report" else []
    steps = []
    if idle:
        text += (
            " Where it has little to do all the same, that is mostly the program's doing: a small model or batch, input that does not come fast enough, or a first "
            "step that has not ended yet."
        )
        steps += busy(picture)
    if works and grew:
        text += (
            " The check itself ran with memory growth on, so as not to take the memory of others; a program without it takes"
            " nearly all memory first, and whether cuDNN then still starts is not shown by this."
        )
        (python,) = commands.python_command(picture)
        chosen = ("--python", python) if isinstance(python, Path) else ()
        steps.append(
            shell(
                run("tfgpu-doctor", "reproduce", "cudnn-init-oom", *chosen),
                "tries that, too: with TensorFlow's default allocation, which takes the GPU for a while, then with each setting that cures a failure",
            )
        )
    yield found(
        "healthy",
        text,
        title=_title_in_simulation(facts) if simulated else "A GPU is registered; nothing alarming" if idle else "",
        evidence=[*simulated[:1], *facts.symptoms("simulated-libraries"), *works[:2], *idle[:1], *done[:4], *grew[:1], *cudnn[:1], *(opened[:2] if not works else [])],
        confidence="certain" if works else "likely",
        steps=steps,
        verify=commands.list_gpus(picture),
    )
