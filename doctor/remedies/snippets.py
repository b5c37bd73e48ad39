"""Named snippets: code for one setting, where it goes, the environment variables that do the same, and
notes."""

from __future__ import annotations

from collections.abc import Callable

from doctor.remedies import code
from doctor.values import dataclass

BEFORE_ANY_OP = (
    "Right after `import tensorflow`, before anything uses a GPU: before the first tensor, variable, model,"
    " dataset or list_logical_devices(), and before importing modules that make any. In a notebook: restart"
    " the kernel, run it first."
)
SESSION = (
    "Where the session is made, instead of tf.Session(); with Keras, before the first layer or model. The"
    " options of the first session hold for the whole process."
)
ANYWHERE = "Anywhere in the program, around the ops whose device you choose."
FIRST = "Right after `import tensorflow`, before the first op; it applies to the ops that follow."
AROUND_MODEL = "Before the model is built: build and compile it inside the scope, call fit outside."
TOP = "At the very top of the program, before `import tensorflow`."


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a snippet.

    tensorflow: the release, None if unknown. gpus: TensorFlow's numbers, None if not given. memory_mib or
    fraction (0 to 1) of the GPU's memory; count: logical GPUs; workers: "host:port"; index: this worker's
    place.
    """

    tensorflow: str | None = None
    gpus: tuple[int, ...] | None = None
    memory_mib: int | None = None
    fraction: float | None = None
    count: int = 2
    workers: tuple[str, ...] = ()
    index: int = 0


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code for one setting. environment: variables that do the same without a change to the program."""

    name: str
    title: str
    code: str
    where: str
    notes: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


def _variables(options: Options, **more: bool) -> tuple[tuple[str, str], ...]:
    if not code.has_growth_variable(options.tensorflow):
        more.pop("growth", None)
    return tuple(code.environment(options.gpus, **more).items())


def _where(options: Options, otherwise: str = BEFORE_ANY_OP) -> str:
    return SESSION if code.era(options.tensorflow) == "1" else otherwise


ONE_GROWTH = (
    "Growth must be the same for every GPU that the process sees: TensorFlow refuses to start with `Memory"
    " growth cannot differ between GPU devices`. It cannot be combined with a memory limit on the same GPU."
)
RENUMBERED = (
    "Numbers in code are TensorFlow's, which count only what CUDA_VISIBLE_DEVICES leaves; `tfgpu-doctor"
    " devices` maps them to nvidia-smi's."
)


def _growth(options: Options) -> Snippet:
    return Snippet(
        "memory-growth",
        "take GPU memory as it is needed, not nearly all at the start",
        code.memory_growth(options.tensorflow, options.gpus or ()),
        _where(options),
        (
            ONE_GROWTH,
            (
                "The process keeps the memory that it took until it ends; memory can fragment if tensors vary"
                " in size."
            ),
        ),
        _variables(options, growth=True),
    )


def _limit(options: Options) -> Snippet:
    if options.fraction is not None:
        return _fraction(options)
    mib = options.memory_mib or 2048
    notes = [
        (
            f"{mib} MiB is what TensorFlow's allocator may take; the CUDA context, cuDNN and cuBLAS come on"
            " top of it, some hundred MiB."
        ),
        "No environment variable does this.",
    ]
    if code.era(options.tensorflow) == "1":
        notes.append(
            "virtual_devices was checked in 1.15.5; a 1.x too old for it has per_process_gpu_memory_fraction "
            "(`tfgpu-doctor snippet memory-fraction`)."
        )
    else:
        notes.append("It cannot be combined with memory growth on the same GPU.")
    title = f"take at most {mib} MiB of GPU memory"
    return Snippet(
        "memory-limit",
        title,
        code.memory_limit(options.tensorflow, mib, options.gpus or ()),
        _where(options),
        (*notes,),
    )


def _fraction(options: Options) -> Snippet:
    fraction = options.fraction or 0.4
    notes = ["No environment variable does this."]
    if code.era(options.tensorflow) != "1":
        notes.insert(
            0,
            "TensorFlow 2 has no setting for a fraction (per_process_gpu_memory_fraction belongs to the "
            "sessions of 1.x), so the limit is computed from the GPU's memory. GPUs are numbered as the CUDA "
            "driver numbers them, which TensorFlow does too.",
        )
    return Snippet(
        "memory-fraction",
        f"take at most {fraction:.0%} of the GPU's memory",
        code.memory_fraction(options.tensorflow, fraction, options.gpus or ()),
        _where(options),
        (*notes,),
    )


def _visible(options: Options) -> Snippet:
    gpus = options.gpus if options.gpus is not None else (0,)
    if not gpus:
        return _cpu(options)
    return Snippet(
        "visible-devices",
        f"use only GPU {', '.join(map(str, gpus))}",
        code.visible_devices(options.tensorflow, gpus),
        _where(options),
        (
            RENUMBERED,
            (
                "The variable is the better way on a shared machine: the process then makes no context on the"
                " other GPUs. `tfgpu-doctor devices --visible VALUE` says what a value does."
            ),
        ),
        tuple(code.environment(gpus).items()),
    )


def _virtual(options: Options) -> Snippet:
    mib, count = options.memory_mib or 2048, options.count
    return Snippet(
        "virtual-gpus",
        f"make one GPU look like {count} of {mib} MiB each",
        code.virtual_gpus(options.tensorflow, count, mib, (options.gpus or (0,))[0]),
        _where(options),
        ("For trying out code for several GPUs: they share one GPU's time, so nothing becomes faster.",),
    )


def _soft(options: Options) -> Snippet:
    notes = (
        (
            "An op without a GPU kernel then runs on the CPU, and so does one that names a GPU that does not"
            " exist: the program does not fail, it is slow. log-placement shows where ops run."
        ),
    )
    return Snippet(
        "soft-placement",
        "let ops that a GPU cannot run go to the CPU",
        code.soft_placement(options.tensorflow),
        _where(options, FIRST),
        notes
        if code.era(options.tensorflow) == "1"
        else (*notes, "In TensorFlow 2 soft placement is on by default."),
    )


def _log(options: Options) -> Snippet:
    return Snippet(
        "log-placement",
        "print where each op runs",
        code.log_placement(options.tensorflow),
        _where(options, FIRST),
        ("The lines go to standard error; TF_CPP_MIN_LOG_LEVEL must not hide them.",),
    )


def _placement(options: Options) -> Snippet:
    gpu = (options.gpus or (0,))[0]
    return Snippet(
        "device-placement",
        f"choose what runs on the CPU and what on GPU {gpu}",
        code.device_placement(options.tensorflow, gpu),
        ANYWHERE,
        (
            RENUMBERED,
            (
                "Without a scope TensorFlow uses GPU 0 for every op that has a GPU kernel; it never spreads"
                " one program over several GPUs on its own."
            ),
        ),
    )


def _several(options: Options) -> Snippet:
    notes = [
        "keras.utils.multi_gpu_model was removed with TensorFlow 2.4; MirroredStrategy replaces it.",
        (
            "The global batch is divided among the GPUs: increase it with their number, and the learning "
            "rate with it."
        ),
    ]
    if code.era(options.tensorflow) == "1":
        notes[0] = (
            "1.15 still has tf.keras.utils.multi_gpu_model(model, gpus=N); it was removed with TensorFlow "
            "2.4, MirroredStrategy remains."
        )
    variables = () if options.gpus is None else tuple(code.environment(options.gpus).items())
    return Snippet(
        "multi-gpu",
        "train one model on several GPUs of this machine",
        code.multi_gpu(options.tensorflow, options.gpus or ()),
        AROUND_MODEL,
        (*notes, *(["If you set the variables, leave out the list of devices."] if variables else [])),
        variables,
    )


def _workers(options: Options) -> Snippet:
    kind = code.era(options.tensorflow)
    notes = [
        (
            "The same program runs on every machine, with its own index; the ports must be open between them."
            " The first worker also writes checkpoints and summaries."
        ),
        "tf.train.Server.create_local_server() and K.set_session(tf.Session(server.target)) were the usual "
        "way in 1.x: "
        + (
            "both are still there in 1.15."
            if kind == "1"
            else (
                "TensorFlow 2 has both names only under tf.compat.v1; the strategy starts the servers itself."
            )
        ),
    ]
    if kind == "keras-3":
        notes.append(
            "model.fit of Keras 3 does not support this strategy (tried with 2.21.0: `Attempt to convert a "
            "value (PerReplica...`): write the loop with strategy.run, or use Keras 2 with the package "
            "tf-keras and TF_USE_LEGACY_KERAS=1, whose fit does (tried with 2.21.0 and two workers)."
        )
    return Snippet(
        "multi-worker",
        "train one model on several machines",
        code.multi_worker(options.tensorflow, options.workers, options.index),
        TOP,
        (*notes,),
    )


def _cpu(options: Options) -> Snippet:
    return Snippet(
        "cpu-only",
        "use no GPU",
        code.cpu_only(options.tensorflow),
        _where(options),
        ("With the variable the process does not even see the GPUs, and takes no memory there.",),
        tuple(code.environment(()).items()),
    )


def _environment(options: Options) -> Snippet:
    chosen = code.environment(
        options.gpus if options.gpus is not None else (0,),
        growth=code.has_growth_variable(options.tensorflow),
    )
    lines = "\n".join(f"os.environ['{name}'] = '{value}'" for name, value in chosen.items())
    return Snippet(
        "environment",
        "settings through environment variables",
        f"import os\n{lines}\nimport tensorflow as tf",
        TOP + " It is better to set them in the shell, before anything can use the GPU.",
        (
            (
                "CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER are read once, when the driver starts in the"
                " process; TF_FORCE_GPU_ALLOW_GROWTH when TensorFlow starts its GPUs."
            ),
            (
                "TF_GPU_ALLOCATOR=cuda_malloc_async takes memory from the driver's own pool, which reduces "
                "fragmentation; it needs CUDA 11.2 and a GPU that supports memory pools."
            ),
            (
                "CUDA_DEVICE_ORDER=PCI_BUS_ID makes CUDA number the GPUs as nvidia-smi does; without it the "
                "fastest GPU is 0."
            ),
        ),
        tuple(chosen.items()),
    )


SNIPPETS: dict[str, Callable[[Options], Snippet]] = {
    "memory-growth": _growth,
    "memory-limit": _limit,
    "memory-fraction": _fraction,
    "visible-devices": _visible,
    "virtual-gpus": _virtual,
    "soft-placement": _soft,
    "log-placement": _log,
    "device-placement": _placement,
    "multi-gpu": _several,
    "multi-worker": _workers,
    "cpu-only": _cpu,
    "environment": _environment,
}
"""Every snippet by its name."""
