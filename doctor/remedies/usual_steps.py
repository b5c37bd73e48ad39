"""Steps that the usual cures of several finding codes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from doctor import lazy
from doctor.facts import EnvVar, Package
from doctor.findings import Step, manual, python, shell
from doctor.remedies import code as snippets, commands, cures, environments, tf1
from doctor.remedies.cure import Cure
from doctor.shell import Literal, run
from doctor.tables.ranges import satisfies

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.case import Case


Steps: TypeAlias = "Callable[[Case], Sequence[Step]]"


class Usual(NamedTuple):
    """The usual cure of a cause. test: the command whose output confirms or excludes the cause; shows: what
    the command prints if this is the cause."""

    steps: Steps
    test: str
    shows: str


def by_hand(*instructions: str) -> Steps:
    """Steps that only a person can do, the same in every case."""
    return lambda case: [manual(instruction) for instruction in instructions]


def driver(case: Case) -> Sequence[Step]:
    """Steps that install or upgrade the driver."""
    return commands.driver_install(case)


def another_build(case: Case) -> Sequence[Step]:
    """Steps that install the recommended TensorFlow build."""
    return cures.another_build(case).steps


def for_the_gpu(case: Case) -> Sequence[Step]:
    """Steps that install another build. The build depends on the GPU; if the GPU is unknown, the step shows
    how to find the build."""
    if case.capabilities:
        return another_build(case)
    return [
        manual(
            "Run `tfgpu-doctor plan --gpu NAME` with the GPU's name: it shows which TensorFlow release has"
            " code for that GPU, and how to install that release"
        )
    ]


def libraries(case: Case) -> Sequence[Step]:
    """Steps that install CUDA and cuDNN; those for another build if TensorFlow's build is unknown."""
    return cures.libraries_for_build(case).steps if case.builds else another_build(case)


def cudnn(case: Case) -> Sequence[Step]:
    """Steps that install cuDNN; those for another build if TensorFlow's build is unknown."""
    return cures.cudnn_for_build(case).steps if case.builds else another_build(case)


def growth(case: Case) -> Sequence[Step]:
    """Steps that switch memory growth on."""
    version = case.tensorflow.version if case.tensorflow else None
    return [
        *commands.growth_variable(
            case, version, "TensorFlow then allocates memory as needed, and leaves room for cuDNN"
        ),
        python(
            snippets.memory_growth(version), "the same setting in the program, before other TensorFlow code"
        ),
    ]


def in_slurm() -> list[Step]:
    """Steps for a job in which Slurm leaves CUDA_VISIBLE_DEVICES empty. Slurm decides which GPUs the job may
    use, so no step unsets the variable: without it the job could use the GPUs of other jobs."""
    return [
        shell(
            Literal("scontrol show job -d $SLURM_JOB_ID"),
            "in the job: shows whether Slurm gave the job a GPU (a line with GRES=gpu)",
            platform="linux",
        ),
        shell(
            run("srun", "--gres=gpu:1", "nvidia-smi", "-L"),
            "in the job: must list a GPU; start the program in the same way, in a job step that requests a"
            " GPU",
            platform="linux",
        ),
        manual("If the program or the job's script sets CUDA_VISIBLE_DEVICES, remove that line"),
    ]


def addon(case: Case) -> Sequence[Step]:
    """Steps that install the release of each listed add-on that was made for the installed TensorFlow, or
    the TensorFlow that the add-on needs."""
    from doctor.tables import addons

    store, there = case.tables.store, case.tensorflow.version if case.tensorflow else ""
    steps: list[Step] = []
    for package in case.facts.of(Package):
        row = addons.release(store, package.name, package.version or "")
        if row is None or not there or satisfies(there, row.tensorflow):
            continue
        fits = addons.fitting(store, package.name, there)
        wanted = f"{package.name}{fits}" if fits else f"{row.distribution}{row.tensorflow}"
        why = f"installs the release that works with {package.name if not fits else f'TensorFlow {there}'}"
        steps.append(shell(commands.pip(case, "install", wanted), why))
    return steps or [
        manual(
            "Install the add-on release that fits this TensorFlow release, or rebuild the add-on against it:"
            " tensorflow-text has the same minor number as its TensorFlow release; the project page of"
            " tensorflow-io lists the TensorFlow release for each tensorflow-io release;"
            " Horovod and your own ops are compiled for one TensorFlow release"
        )
    ]


_FILE = lazy.compile(r"(?<![\w.-])[A-Za-z_][\w-]{0,60}\.(?:py|sh|ipynb|ya?ml|json|cfg|ini|toml|conf)\b")
"""Matches the name of a program's file, in letters that need no quoting."""
_IN_CODE = lazy.compile(r"\bos\.environ|\bputenv")
_IN_SHELL = lazy.compile(
    r"\b(?:set|export|setenv)\s+\w{0,12}VISIBLE_DEVICES"
    r"|VISIBLE_DEVICES=\S{0,40}\s+(?:&|\S{0,40}python|\./|bash|sh )"
)
"""Matches a shell's command that sets the variable, for itself or for one program."""


def visible(case: Case, variable: EnvVar | None = None) -> Sequence[Step]:
    """Steps that make all GPUs visible, or those that Slurm gives the job. variable: the one that hides the
    GPUs, if the report shows it."""
    if "slurm" in case.environments:
        return in_slurm()
    windows = case.platform == "windows"
    unset = Literal("set CUDA_VISIBLE_DEVICES=") if windows else Literal("unset CUDA_VISIBLE_DEVICES")
    name = variable.name if variable is not None else "CUDA_VISIBLE_DEVICES"
    numbers = "nvidia-smi -L lists the numbers; the first GPU has the number 0"
    text = variable.source.text if variable is not None and case.facts.kind == "report" else ""
    file = _FILE.search(text)
    if _IN_CODE.search(text) or (file and not _IN_SHELL.search(text)):
        where = file[0] if file else "the code"
        return [
            manual(
                f"In {where}, remove the line that sets {name}, or change its value to the number of a GPU;"
                " then start the program again",
                f"{numbers}; it does not help to change the variable in the shell, because the program sets"
                " it again",
            )
        ]
    if variable is None:
        return [
            shell(run("nvidia-smi", "-L"), "lists the GPUs with their numbers"),
            manual(
                "Search the program's code, configuration and command line for the number of a GPU"
                " (CUDA_VISIBLE_DEVICES, gpu_id, gpus, --gpu), and change it to a number in that list: 0 for"
                " the only GPU",
                "CUDA ignores a number that no GPU has, and then shows no GPU",
            ),
            shell(unset, "if the shell sets the variable: makes all GPUs visible again"),
        ]
    return [
        shell(unset, "makes all GPUs visible again"),
        manual(
            f"Remove the line that sets {name} in the code, a notebook or a job script, and start the program"
            " again: CUDA reads the variable only once"
        ),
    ]


def library_path(case: Case) -> Sequence[Step]:
    """Steps that make the loader search the folder of the installed libraries: for conda, that of the active
    environment, but never for the whole system, whose programs would then load conda's other libraries."""
    if case.platform == "windows":
        if "conda" in case.environments:
            return [
                manual(
                    "Activate the environment before the program starts: conda activate NAME",
                    "adds the environment's Library\\bin to PATH",
                    platform="windows",
                )
            ]
        return [
            manual(
                "Add the bin folder of the installed CUDA Toolkit, and that of cuDNN, to PATH (system"
                " variables), then open a new prompt or restart the IDE",
                platform="windows",
            )
        ]
    if "conda" in case.environments:
        return [
            *environments.at_activation("$CONDA_PREFIX/lib", "cuda-libraries", case.platform or "linux"),
            manual(
                "Activate the environment again (conda deactivate, then conda activate NAME), and start the"
                " program in this shell"
            ),
        ]
    return by_hand(
        "Put the folder of the installed libraries on LD_LIBRARY_PATH, or write it into a file in"
        " /etc/ld.so.conf.d and run ldconfig (not a conda environment's folder: put that only on"
        " LD_LIBRARY_PATH); make the same setting for services, IDEs and notebooks"
    )(case)


def for_contrib(case: Case) -> Cure:
    """The cure for code that uses tf.contrib: TensorFlow 1, or the packages that replace it (TensorFlow's
    guide "Migrate TF1.x code", "Module deprecations")."""
    return tf1.environment(case).then(
        manual(
            "Or replace tf.contrib in the code: tf.contrib.slim by the package tf_slim, tf.contrib.layers by"
            " tf_slim.layers or tf.keras.layers, tf.contrib.rnn by tf.compat.v1.nn.rnn_cell"
        )
    )


def another_api(case: Case) -> Sequence[Step]:
    """Steps for code that was written for another major release."""
    if case.facts.has("contrib-named"):
        return for_contrib(case).steps
    return by_hand(
        "Run the code with the TensorFlow release for which it was written, or port it: tf.compat.v1 has the"
        " old names (except those in tf.contrib), and tf_upgrade_v2 rewrites the code in a folder"
    )(case)


def held(case: Case) -> Sequence[Step]:
    """Steps that find and end the processes that hold GPU memory."""
    return [
        shell(run("nvidia-smi"), "shows which processes hold the memory"),
        manual(
            "End your own processes that hold GPU memory: old notebook kernels, stopped jobs, other"
            " frameworks"
        ),
        *growth(case),
    ]
