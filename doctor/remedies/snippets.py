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
ANYWHERE = "Anywhere in the program: around the ops that it applies to."
FIRST = "Right after `import tensorflow`, before the first op; it applies to the ops that follow."
AROUND_MODEL = "Before the model is built: build and compile it inside the scope, call fit outside."
TOP = "At the very top of the program, before `import tensorflow`."


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of a snippet.

    tensorflow: the release, None if unknown. gpus: TensorFlow's numbers, None if not said. memory_mib or
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


def _variables(wish: Wish, **more: bool) -> tuple[tuple[str, str], ...]:
    if not code.has_growth_variable(wish.tensorflow):
        more.pop("growth", None)
    return tuple(code.environment(wish.gpus, **more).items())


def _where(wish: Wish, otherwise: str = BEFORE_ANY_OP) -> str:
    return SESSION if code.era(wish.tensorflow) == "1" else otherwise


ONE_GROWTH = (
    "Growth must be the same for every GPU that the process sees: TensorFlow refuses to start with `Memory"
    " growth cannot differ between GPU devices`. It cannot be combined with a memory limit on the same GPU."
)
RENUMBERED = (
    "Numbers in code are TensorFlow's, which count only what CUDA_VISIBLE_DEVICES leaves; `tfgpu-doctor"
    " devices` maps them to nvidia-smi's."
)


def _growth(wish: Wish) -> Snippet:
    return Snippet(
        "memory-growth",
        "take GPU memory as it is needed, not nearly all at the start",
        code.memory_growth(wish.tensorflow, wish.gpus or ()),
        _where(wish),
        (
            ONE_GROWTH,
            (
                "The process keeps the memory that it took until it ends; memory can fragment if tensors vary"
                " in size."
            ),
        ),
        _variables(wish, growth=True),
    )


def _limit(wish: Wish) -> Snippet:
    if wish.fraction is not None:
        return _fraction(wish)
    mib = wish.memory_mib or 2048
    notes = [
        (
            f"{mib} MiB is what TensorFlow's allocator may take; the CUDA context, cuDNN and cuBLAS come on"
            " top of it, some hundred MiB."
        ),
        "No environment variable does this.",
    ]
    if code.era(wish.tensorflow) == "1":
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
        code.memory_limit(wish.tensorflow, mib, wish.gpus or ()),
        _where(wish),
        (*notes,),
    )


def _fraction(wish: Wish) -> Snippet:
    fraction = wish.fraction or 0.4
    notes = ["No environment variable does this."]
    if code.era(wish.tensorflow) != "1":
        notes.insert(
            0,
            "TensorFlow 2 has no setting for a fraction (per_process_gpu_memory_fraction belongs to the"
            " sessions of 1.x), so the limit is computed from the GPU's memory. The numbers are those of the"
            " CUDA driver, which TensorFlow takes over.",
        )
    return Snippet(
        "memory-fraction",
        f"take at most {fraction:.0%} of the GPU's memory",
        code.memory_fraction(wish.tensorflow, fraction, wish.gpus or ()),
        _where(wish),
        (*notes,),
    )


def _visible(wish: Wish) -> Snippet:
    gpus = wish.gpus if wish.gpus is not None else (0,)
    if not gpus:
        return _cpu(wish)
    return Snippet(
        "visible-devices",
        f"use GPU {', '.join(map(str, gpus))} alone",
        code.visible_devices(wish.tensorflow, gpus),
        _where(wish),
        (
            RENUMBERED,
            (
                "The variable is the better way on a shared machine: the process then makes no context on the"
                " other GPUs. `tfgpu-doctor devices --visible VALUE` says what a value does."
            ),
        ),
        tuple(code.environment(gpus).items()),
    )


def _virtual(wish: Wish) -> Snippet:
    mib, count = wish.memory_mib or 2048, wish.count
    return Snippet(
        "virtual-gpus",
        f"make one GPU look like {count} of {mib} MiB each",
        code.virtual_gpus(wish.tensorflow, count, mib, (wish.gpus or (0,))[0]),
        _where(wish),
        ("For trying out code for several GPUs: they share one GPU's time, so nothing becomes faster.",),
    )


def _soft(wish: Wish) -> Snippet:
    notes = (
        (
            "An op without a GPU kernel then runs on the CPU, and so does one that names a GPU that does not"
            " exist: the program does not fail, it is slow. log-placement shows where ops run."
        ),
    )
    return Snippet(
        "soft-placement",
        "let ops that a GPU cannot run go to the CPU",
        code.soft_placement(wish.tensorflow),
        _where(wish, FIRST),
        notes if code.era(wish.tensorflow) == "1" else (*notes, "In TensorFlow 2 it is on by default."),
    )


def _log(wish: Wish) -> Snippet:
    return Snippet(
        "log-placement",
        "print where each op runs",
        code.log_placement(wish.tensorflow),
        _where(wish, FIRST),
        ("The lines go to standard error; TF_CPP_MIN_LOG_LEVEL must not hide them.",),
    )


def _placement(wish: Wish) -> Snippet:
    gpu = (wish.gpus or (0,))[0]
    return Snippet(
        "device-placement",
        f"choose what runs on the CPU and what on GPU {gpu}",
        code.device_placement(wish.tensorflow, gpu),
        ANYWHERE,
        (
            RENUMBERED,
            (
                "Without a scope TensorFlow uses GPU 0 for every op that has a GPU kernel; it never spreads"
                " one program over several GPUs on its own."
            ),
        ),
    )


def _several(wish: Wish) -> Snippet:
    notes = [
        "keras.utils.multi_gpu_model was removed with TensorFlow 2.4; MirroredStrategy replaces it.",
        (
            "The global batch is divided among the GPUs: make it larger with their number, and the learning"
            " rate with it."
        ),
    ]
    if code.era(wish.tensorflow) == "1":
        notes[0] = (
            "1.15 still has tf.keras.utils.multi_gpu_model(model, gpus=N); it was removed with TensorFlow"
            " 2.4, MirroredStrategy stays."
        )
    variables = () if wish.gpus is None else tuple(code.environment(wish.gpus).items())
    return Snippet(
        "multi-gpu",
        "train one model on several GPUs of this machine",
        code.multi_gpu(wish.tensorflow, wish.gpus or ()),
        AROUND_MODEL,
        (*notes, *(["If you set the variables, leave out the list of devices."] if variables else [])),
        variables,
    )


def _workers(wish: Wish) -> Snippet:
    kind = code.era(wish.tensorflow)
    notes = [
        (
            "The same program runs on every machine, with its own index; the ports must be open between them."
            " The first worker also writes checkpoints and summaries."
        ),
        "tf.train.Server.create_local_server() and K.set_session(tf.Session(server.target)) were the way of"
        " 1.x: "
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
            "model.fit of Keras 3 does not know this strategy (2.21.0 was tried: `Attempt to convert a value"
            " (PerReplica...`): write the loop with strategy.run, or use Keras 2 with the package tf-keras"
            " and TF_USE_LEGACY_KERAS=1, whose fit does (tried with 2.21.0 and two workers)."
        )
    return Snippet(
        "multi-worker",
        "train one model on several machines",
        code.multi_worker(wish.tensorflow, wish.workers, wish.index),
        TOP,
        (*notes,),
    )


def _cpu(wish: Wish) -> Snippet:
    return Snippet(
        "cpu-only",
        "leave every GPU alone",
        code.cpu_only(wish.tensorflow),
        _where(wish),
        ("With the variable the process does not even see the GPUs, and takes no memory there.",),
        tuple(code.environment(()).items()),
    )


def _environment(wish: Wish) -> Snippet:
    chosen = code.environment(
        wish.gpus if wish.gpus is not None else (0,), growth=code.has_growth_variable(wish.tensorflow)
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
                "TF_GPU_ALLOCATOR=cuda_malloc_async takes memory through the driver's own pool, against"
                " fragmentation; it needs CUDA 11.2 and a GPU that supports memory pools."
            ),
            (
                "CUDA_DEVICE_ORDER=PCI_BUS_ID makes CUDA count as nvidia-smi does; without it the fastest GPU"
                " is 0."
            ),
        ),
        tuple(chosen.items()),
    )


SNIPPETS: dict[str, Callable[[Wish], Snippet]] = {
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
