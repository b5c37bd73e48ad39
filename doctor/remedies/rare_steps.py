"""Steps of the usual cures of causes that few reports have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.case.libraries import in_unsearched_folders
from doctor.facts import Package
from doctor.findings import Step, manual, python, shell
from doctor.remedies import (
    code as snippets,
    commands,
    containers,
    cures,
    environments,
    fitness,
    libraries,
    tf1,
)
from doctor.remedies.cure import Cure
from doctor.remedies.usual_steps import by_hand
from doctor.shell import run
from doctor.tables import dotted
from doctor.tables.ranges import satisfies

if TYPE_CHECKING:
    from doctor.case import Case


def for_the_gpu(case: Case) -> Cure | Sequence[Step]:
    """The cure that installs another build. The build depends on the GPU; if the GPU is unknown, the step
    shows how to find the build."""
    if case.capabilities:
        return cures.another_build(case)
    return [
        manual(
            "Run `tfgpu-doctor plan --gpu NAME` with the GPU's name: it shows which TensorFlow release has"
            " code for that GPU, and how to install that release"
        )
    ]


def growth(case: Case) -> Sequence[Step]:
    """Steps that switch memory growth on."""
    version = case.api
    return [
        *commands.growth_variable(
            case, version, "TensorFlow then allocates memory as needed, and leaves room for cuDNN"
        ),
        python(
            snippets.memory_growth(version), "the same setting in the program, before other TensorFlow code"
        ),
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
        shell(
            commands.run_python(case, op_flags(there)),
            "for an op that you compiled yourself: prints the flags for the compiler and the linker. Add all"
            " of them to the g++ command in the project's script or Makefile (they choose the C++ ABI and"
            " link libtensorflow_framework), delete the old .so file and compile again",
        ),
        manual(
            "For an add-on from pip, install the release that fits this TensorFlow release: tensorflow-text"
            " has the same minor number as its TensorFlow; the project page of tensorflow-io lists the"
            " TensorFlow release for each tensorflow-io release; reinstall Horovod"
        ),
    ]


def op_flags(version: str) -> str:
    """A line of code that prints the compiler and linker flags for an op. get_compile_flags and
    get_link_flags exist from TensorFlow 1.5 on. version: the release, or "" if unknown."""
    flags = "*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags()"
    if version and dotted(version) < (1, 5):
        flags = "'-I' + tf.sysconfig.get_include(), '-L' + tf.sysconfig.get_lib()"
    return f"import tensorflow as tf; print({flags})"


def beside(case: Case) -> list[Step]:
    """Steps that avoid the defect of a release. If CUDA has the defect, the releases beside this one that use
    the same CUDA have it too, so the step names the nearest ones for another CUDA."""
    build = case.build
    text = "Install the next or the previous release of the part that has the fault"
    if build is None or not build.cuda:
        return [
            manual(
                f"{text}; if CUDA or cuDNN has it, install a TensorFlow release that uses another CUDA"
                " (`tfgpu-doctor tables tensorflow` lists them)"
            )
        ]
    others = [
        r
        for r in case.tables.gpu_builds(case.table_platform)
        if r.cuda and r.cuda != build.cuda and fitness.usable(case, r) and fitness.on_driver(case, r)
    ]
    there = dotted(build.version)
    lowest = [commands.minor(r.version) for r in others if dotted(r.version) > there][-1:]
    newer = [r for r in others if commands.minor(r.version) in lowest][:1]
    older = [r for r in others if dotted(r.version) < there][:1]
    named = " or ".join(f"TensorFlow {r.version} (CUDA {r.cuda})" for r in (*newer, *older))
    if named:
        text += f"; if CUDA {build.cuda} has it, use a release for another CUDA: {named}"
    old = there < (2,)
    return [manual(text), *(cures.nvidia_container(case, "tf1") if old else ())]


def into_container(case: Case) -> list[Step]:
    """Steps that give a container the GPU. If the report does not say what starts the container, a step names
    the options of the other programs too."""
    steps = [*containers.give_gpu(case)[0]]
    if containers.managed(case) or containers.runtime(case) != "docker":
        return steps
    return [
        *steps,
        manual(
            "Use an image whose tag ends in -gpu. Other programs have other options: singularity exec --nv,"
            " or a GPU limit in Kubernetes (nvidia.com/gpu)"
        ),
    ]


def on_the_cpu(case: Case) -> list[Step]:
    """Steps for a computer without an NVIDIA GPU: TensorFlow on the CPU, or another computer. The CUDA builds
    compute on the CPU too, so an installed TensorFlow can stay."""
    package = "tensorflow" if case.platform == "macos" else "tensorflow-cpu"  # without a wheel for macOS
    why = "without an NVIDIA GPU, TensorFlow runs the same programs on the CPU, only slower"
    return [
        shell(commands.pip(case, "install", package), f"{why}; if TensorFlow is installed, leave it as it is")
        if case.tensorflow is None
        else manual("Leave TensorFlow as it is", why),  # a second package would replace some of its files
        manual(
            "To use a GPU, run the program on another machine, which has one from NVIDIA: in a cluster,"
            " request a node with a GPU; in Colab, choose one under Runtime, Change runtime type"
        ),
    ]


def one_copy(case: Case) -> list[Step]:
    """Return the steps that leave one TensorFlow distribution installed. If a machine is diagnosed (not a
    report), they install the build that fits the machine, together with its libraries; otherwise the GPU
    build of the release in the report, if one is stated and has a wheel for the stated Python."""
    if case.facts.kind == "machine" and (steps := cures.another_build(case).steps):
        return list(steps)
    known = case.tensorflow
    build = case.tables.tensorflow(known.version, None, case.table_platform) if known is not None else None
    fits = build is not None and fitness.usable(case, build) and fitness.on_driver(case, build)
    if build is not None and fits and commands.python_minor(case) in (None, *build.pythons):
        wanted = fitness.installation(case, build).requirements
        why = f"installs one fresh copy: the package with the GPU build of TensorFlow {build.version}"
        return [shell(commands.pip(case, "install", "--no-cache-dir", *wanted), why)]
    install = commands.pip(case, "install", "--no-cache-dir", "tensorflow")
    return [shell(install, "installs one fresh copy (for the GPU on Linux: tensorflow[and-cuda])")]


def library_path(case: Case) -> list[Step]:
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
            environments.at_activation("$CONDA_PREFIX/lib", case.platform or "linux"),
            manual(
                "Activate the environment again (conda deactivate, then conda activate NAME), and start the"
                " program in this shell"
            ),
        ]
    if case.build is not None and in_unsearched_folders(case, (case.build,)):
        return libraries.links(case, case.build)
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


def another_api(case: Case) -> Cure | Sequence[Step]:
    """The cure for code that was written for another major release."""
    if case.facts.has("contrib-named"):
        return for_contrib(case)
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


def leak(case: Case) -> Sequence[Step]:
    """Steps that release the memory of earlier models, with the names of the case's release."""
    return [
        python(snippets.clear_session(case.api), "releases the graphs of earlier models"),
        manual(
            "Build graphs and datasets once, keep no tensors in lists, or run each fold in a separate process"
        ),
        manual(
            "If the memory stays in use after the program has ended, a process of it still runs: find it with"
            " nvidia-smi or sudo fuser -v /dev/nvidia*, and end it"
            if case.platform in (None, "linux")
            else "If the memory stays in use after the program has ended, a process of it still runs: find it"
            " with nvidia-smi, and end it"
        ),
    ]


def softly(case: Case) -> Sequence[Step]:
    """Steps that let TensorFlow place an op, with the names of the case's release."""
    return [
        python(snippets.soft_placement(case.api), "lets TensorFlow place the op"),
        python(snippets.pin_to_cpu(), "or pins that op to the CPU"),
    ]
