"""Named snippets: the code for one setting, where to put it, the environment variables that have the
same effect, and notes."""

from __future__ import annotations

from collections.abc import Callable

from doctor.remedies import code
from doctor.values import dataclass

_BEFORE_ANY_OP = (
    "Right after `import tensorflow`, before anything uses a GPU: before the first tensor, variable, model,"
    " dataset or list_logical_devices(), and before importing modules that create any of these. In a"
    " notebook, restart the kernel and run this code first."
)
_SESSION = (
    "Where the program creates its session, in place of tf.Session(); with Keras, before the first layer or"
    " model. The options of the first session apply to the whole process."
)
_ANYWHERE = "Anywhere in the program, around the ops whose device you choose."
_FIRST = "Right after `import tensorflow`, before the first op; the setting applies to the ops that follow."
_AROUND_MODEL = "Before the model is built: build and compile it inside the scope, and call fit outside."
_TOP = "At the very top of the program, before `import tensorflow`."


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a snippet.

    tensorflow: the release; None if unknown. gpus: TensorFlow's numbers for the GPUs; None if not given.
    memory_mib or fraction: the limit on the GPU's memory, in MiB or as a fraction (0 to 1). count: the number
    of logical GPUs. workers: the address of each worker, as "host:port". index: this worker's position in
    `workers`.
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
    """Code for one setting. environment: variables that have the same effect without a change to the
    program."""

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


def _where(options: Options, otherwise: str = _BEFORE_ANY_OP) -> str:
    return _SESSION if code.has_sessions(options.tensorflow) else otherwise


_ONE_GROWTH = (
    "Memory growth must be the same for every GPU that the process sees; otherwise TensorFlow does not start"
    " (`Memory growth cannot differ between GPU devices`). You cannot combine memory growth with a memory"
    " limit on the same GPU."
)
_RENUMBERED = (
    "The code uses TensorFlow's GPU numbers, which count only the GPUs that CUDA_VISIBLE_DEVICES leaves"
    " visible; `tfgpu-doctor devices` maps them to nvidia-smi's numbers."
)
_NO_VARIABLE = "No environment variable sets this limit."


def _growth(options: Options) -> Snippet:
    return Snippet(
        "memory-growth",
        "allocate GPU memory as needed, not nearly all of it at the start",
        code.memory_growth(options.tensorflow, options.gpus or ()),
        _where(options),
        (
            _ONE_GROWTH,
            "The process keeps all memory that it has allocated until it ends; memory can fragment if"
            " tensors vary in size.",
        ),
        _variables(options, growth=True),
    )


def _limit(options: Options) -> Snippet:
    if options.fraction is not None:
        return _fraction(options)
    mib = options.memory_mib or 2048
    last = "You cannot combine a memory limit with memory growth on the same GPU."
    if code.has_sessions(options.tensorflow):
        last = (
            "virtual_devices was checked in 1.15.5; in a 1.x release without it, use"
            " per_process_gpu_memory_fraction (`tfgpu-doctor snippet memory-fraction`)."
        )
    return Snippet(
        "memory-limit",
        f"use at most {mib} MiB of GPU memory",
        code.memory_limit(options.tensorflow, mib, options.gpus or ()),
        _where(options),
        (
            f"{mib} MiB is the limit of TensorFlow's allocator; the CUDA context, cuDNN and cuBLAS need a few"
            " hundred MiB more.",
            _NO_VARIABLE,
            last,
        ),
    )


def _fraction(options: Options) -> Snippet:
    fraction = options.fraction or 0.4
    computed = (
        "TensorFlow 2 has no setting for a fraction (per_process_gpu_memory_fraction belongs to the sessions"
        " of 1.x), so this code computes the limit from the GPU's memory. The GPU numbers in it are the CUDA"
        " driver's, which TensorFlow uses too."
    )
    return Snippet(
        "memory-fraction",
        f"use at most {fraction:.0%} of the GPU's memory",
        code.memory_fraction(options.tensorflow, fraction, options.gpus or ()),
        _where(options),
        (_NO_VARIABLE,) if code.has_sessions(options.tensorflow) else (computed, _NO_VARIABLE),
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
            _RENUMBERED,
            "On a shared machine, it is better to set the environment variable: the process then"
            " creates no CUDA context on the other GPUs. `tfgpu-doctor devices --visible VALUE` shows"
            " what a value does.",
        ),
        tuple(code.environment(gpus).items()),
    )


def _virtual(options: Options) -> Snippet:
    mib, count = options.memory_mib or 2048, options.count
    return Snippet(
        "virtual-gpus",
        f"make one GPU look like {count} GPUs of {mib} MiB each",
        code.virtual_gpus(options.tensorflow, count, mib, (options.gpus or (0,))[0]),
        _where(options),
        (
            "Use this to try out code for several GPUs. The logical GPUs share one GPU, so nothing becomes"
            " faster.",
        ),
    )


def _soft(options: Options) -> Snippet:
    default = ("In TensorFlow 2, soft placement is on by default.",)
    return Snippet(
        "soft-placement",
        "let ops that a GPU cannot run fall back to the CPU",
        code.soft_placement(options.tensorflow),
        _where(options, _FIRST),
        (
            "An op then runs on the CPU if it has no GPU kernel, or if it is pinned to a GPU that does not"
            " exist: the program does not fail, but it is slow. The snippet log-placement shows where ops"
            " run.",
            *(() if code.has_sessions(options.tensorflow) else default),
        ),
    )


def _log(options: Options) -> Snippet:
    return Snippet(
        "log-placement",
        "print where each op runs",
        code.log_placement(options.tensorflow),
        _where(options, _FIRST),
        ("TensorFlow prints these lines to standard error; TF_CPP_MIN_LOG_LEVEL must not hide them.",),
    )


def _placement(options: Options) -> Snippet:
    gpu = (options.gpus or (0,))[0]
    return Snippet(
        "device-placement",
        f"choose which ops run on the CPU and which on GPU {gpu}",
        code.device_placement(options.tensorflow, gpu),
        _ANYWHERE,
        (
            _RENUMBERED,
            "Without a tf.device scope, TensorFlow uses GPU 0 for every op that has a GPU kernel; it"
            " never spreads one program over several GPUs by itself.",
        ),
    )


def _several(options: Options) -> Snippet:
    removed = "TensorFlow 2.4 removed keras.utils.multi_gpu_model; MirroredStrategy replaces it."
    if code.has_sessions(options.tensorflow):
        removed = (
            "1.15 still has tf.keras.utils.multi_gpu_model(model, gpus=N); TensorFlow 2.4 removed it and kept"
            " MirroredStrategy."
        )
    variables = () if options.gpus is None else tuple(code.environment(options.gpus).items())
    either = ("If you set these environment variables, leave the device list out of the code.",)
    return Snippet(
        "multi-gpu",
        "train one model on several GPUs of this machine",
        code.multi_gpu(options.tensorflow, options.gpus or ()),
        _AROUND_MODEL,
        (
            removed,
            "The strategy divides the global batch among the GPUs: increase the batch size with the number of"
            " GPUs, and the learning rate with the batch size.",
            *(either if variables else ()),
        ),
        variables,
    )


def _workers(options: Options) -> Snippet:
    era = code.era(options.tensorflow)
    servers = (
        "1.15 still has both."
        if era == "1"
        else "TensorFlow 2 has both names only under tf.compat.v1; the strategy starts the servers itself."
    )
    keras_3 = (
        "Keras 3's model.fit does not support this strategy (tried with 2.21.0: `Attempt to convert a value"
        " (PerReplica...`). Write the training loop with strategy.run, or use Keras 2 (the package tf-keras,"
        " with TF_USE_LEGACY_KERAS=1), whose model.fit supports the strategy (tried with 2.21.0 and two"
        " workers).",
    )
    return Snippet(
        "multi-worker",
        "train one model on several machines",
        code.multi_worker(options.tensorflow, options.workers, options.index),
        _TOP,
        (
            "Run the same program on every machine, each with its own index; the machines must reach each"
            " other's ports. The first worker also writes checkpoints and summaries.",
            "In TensorFlow 1.x, the usual way was to call tf.train.Server.create_local_server() and"
            f" K.set_session(tf.Session(server.target)). {servers}",
            *(keras_3 if era == "keras-3" else ()),
        ),
    )


def _cpu(options: Options) -> Snippet:
    return Snippet(
        "cpu-only",
        "use no GPU",
        code.cpu_only(options.tensorflow),
        _where(options),
        (
            "If you set the environment variable instead, CUDA hides the GPUs from the process, so that it"
            " allocates no memory on them.",
        ),
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
        _TOP + " It is better to set the variables in the shell, before anything can use the GPU.",
        (
            "The driver reads CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER once, when the process"
            " initializes CUDA; TensorFlow reads TF_FORCE_GPU_ALLOW_GROWTH when it initializes its GPUs.",
            "TF_GPU_ALLOCATOR=cuda_malloc_async allocates memory from the driver's pool, which reduces "
            "fragmentation; it needs CUDA 11.2 and a GPU that supports memory pools.",
            "CUDA_DEVICE_ORDER=PCI_BUS_ID makes CUDA number the GPUs as nvidia-smi does; without this "
            "variable, the fastest GPU is GPU 0.",
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
