"""tf-cpu-only: the build contains no CUDA code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.case.builds import cpu_builds_of_conda
from doctor.facts import (
    CudaCallFailed,
    Fact,
    Noise,
    Package,
    SentenceKind,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.findings import Finding, manual, python, shell
from doctor.remedies import code, commands, cures
from doctor.remedies.cure import Cure
from doctor.rules.gpu.registered import registered
from doctor.rules.libraries.wanted import gone
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import looks_for_gpus, wants_gpu
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


ASKED = 0.8
"""A sentence counts as a question if the probability of this kind is higher than this."""


@rule(
    "tf-cpu-only",
    "This TensorFlow is built for the CPU only",
    explains=("device-not-found", "benign-messages", "cuda-missing"),
    needs=(
        "built-without-cuda",
        "install-gpu-version",
        "no-known-devices",
        "cudnn-op-unsupported",
        TensorFlowBuild,
        "conda-cpu-build",
        "conda-install",
        "cpu-package",
        "cpu-package-install",
        "binding-cpu-package",
        "directml-no-adapter",
        "plugin-device",
        TensorFlowVersion,
        "on-macos",
        "on-windows",
        Noise,
    ),
)
def tf_cpu_only(case: Case) -> Iterator[Finding]:
    """The installed build has no CUDA code.

    ## What it means
    tensorflow-cpu, tensorflow-intel, wheels for macOS and Arm, conda's mkl and eigen builds, and the package
    `tensorflow` before 2.1 (except 1.15.0) contain no GPU code. A driver or library does not change that.

    ## What you see
    `tf.test.is_built_with_cuda()` is False; `conda list` shows `mkl_…` or `eigen_…`; no message about CUDA
    libraries at all.

    ## What to do
    Uninstall this build and install a GPU build for this platform. A Mac's own GPU needs tensorflow-metal,
    not CUDA.
    """
    facts = case.facts
    plugin = facts.symptoms("plugin-device")
    if registered(case) or (plugin and (facts.kind == "report" or case.platform != "macos")):
        return
    if plugin:
        yield found(
            "tf-cpu-only",
            f"TensorFlow for macOS has no CUDA code; {plugin[0].get('name')} provides the Mac's own GPU as"
            f" GPU:0.",
            [*plugin[:1], *facts.of(TensorFlowBuild)[:1]],
            title="This Mac has no CUDA; TensorFlow uses the Mac's GPU through Apple's plugin",
            severity="info",
            verify=commands.list_gpus(case),
        )
        return
    no_cuda: list[Fact] = [b for b in facts.of(TensorFlowBuild) if b.gpu is False]
    no_cuda += facts.symptoms("built-without-cuda")
    yes_cuda = [b for b in facts.of(TensorFlowBuild) if b.gpu]
    conda = cpu_builds_of_conda(facts)
    if conda:  # `_tflow_select gpu` only shows the request; the build string shows the result
        yes_cuda = []
    elif facts.has("conda-cpu-build"):  # conda's tensorflow-base, a GPU build, overrules these lines
        overruled = {sign.source.line for sign in facts.symptoms("conda-cpu-build")}
        no_cuda = [sign for sign in no_cuda if sign.source.line not in overruled]
    elif no_cuda:  # the build's own statement is more reliable than a package's name
        listed = {package.source.line for package in facts.of(Package)}
        yes_cuda = [b for b in yes_cuda if b.source.line is None or b.source.line not in listed]
    package = facts.symptoms("cpu-package", "cpu-package-install")
    tried = facts.symptoms("conda-install")
    wanting = wants_gpu(case)
    asking = wanting or _asks_for_a_gpu(case)
    gpu_package = any(p.name == "tensorflow-gpu" for p in facts.of(Package))
    build = case.build
    if case.platform == "windows" and build is not None and dotted(build.version) >= (2, 11):
        return
    if yes_cuda or gone(case) or facts.has("gpu-skipped", "cudart-stub"):
        return
    evidence: list[Fact] = []
    confidence = "certain"
    if no_cuda:
        evidence = [*no_cuda[:2], *conda[:1]]
    elif conda and (wanting or facts.kind == "machine" or facts.has("mentions-gpu")):
        evidence = [*conda[:2]]
    elif facts.has("directml-no-adapter") and case.platform == "linux":
        # the plugin needs tensorflow-cpu, and Windows or WSL (README of tensorflow-directml-plugin)
        evidence, confidence = [*facts.symptoms("directml-no-adapter")[:1]], "likely"
    elif package and wanting and not looks_for_gpus(case):
        evidence, confidence = [*package[:1], *wanting[:1]], "likely"
    elif tried and wanting and case.platform in ("windows", None) and not any(s.get("gpu") for s in tried):
        evidence, confidence = [*tried[:1], *wanting[:1]], "likely"
    elif (
        (other := facts.symptoms("binding-cpu-package"))
        and not facts.has("binding-gpu-package")
        and (wanting or (case.gpus and case.cuda is not None))  # who installed CUDA wants the GPU
        and not case.loaded
        and not case.not_loaded
    ):
        evidence, confidence = [*other[:1], *wanting[:1]], "likely"
    elif (
        facts.has("install-gpu-version", "no-known-devices", "cudnn-op-unsupported")
        and (facts.of(Noise) or not any(v.package == "tensorflow-gpu" for v in facts.of(TensorFlowVersion)))
        and not case.loaded
        and not case.facts.of(CudaCallFailed)
        and not facts.has("gpu-op-without-gpu")  # kernels for a GPU are in the build
    ):
        evidence += facts.symptoms("install-gpu-version", "no-known-devices", "cudnn-op-unsupported")[:2]
        confidence = "possible"
    elif (
        "conda" in case.environments
        and case.platform == "windows"
        and wanting
        and not case.loaded
        and not gpu_package
    ):
        evidence, confidence = [*wanting[:1]], "possible"
    elif (
        case.platform == "macos"
        and wanting
        and not any("cuda" in variable.value for variable in case.env.values())
    ):
        evidence = [f for f in (case.tensorflow or case.platform_fact, *wanting[:1]) if f]
        confidence = "likely" if case.tensorflow is not None else "possible"
    elif (
        case.tensorflow is not None
        and case.tensorflow.package == "tensorflow"
        and case.tensorflow.rank == 0
        and asking
        and (row := case.tables.tensorflow(case.tensorflow.version, "tensorflow", case.table_platform))
        is not None
        and row.gpu is False
    ):
        evidence = [case.tensorflow, *asking[:1]]
        confidence = "certain" if wanting else "likely"
        build = row
    if not evidence and "jetson" in case.environments and wanting and not case.loaded:
        arm = [
            (v, case.tables.tensorflow(v.version, "tensorflow", "linux-aarch64"))
            for v in facts.of(TensorFlowVersion)
        ]
        plain = [(v, row) for v, row in arm if row is not None and row.gpu is False]
        # "+nv" is a part of the versions of NVIDIA's own builds for these boards
        if plain and not any("+nv" in v.source.text for v, _ in arm):
            evidence, confidence, build = [plain[0][0], *wanting[:1]], "possible", plain[0][1]
    quiet = [] if evidence else _nothing_of_gpus(case)
    if quiet and asking:
        evidence, confidence = [*asking[:1], *quiet], "possible"
    if not evidence:
        return
    mac = case.platform == "macos"
    build_without = "From 1.2 on, TensorFlow for macOS" if mac else "The installed build"
    verify = None
    if facts.kind == "report" and case.stated_absent("gpu") and not case.driver:
        cure = _without_pins(case)  # a build with CUDA would find no GPU either
        verify = commands.program(case)
    else:
        cure = cures.another_build(case)
    if verify is None and case.platform not in ("macos", "windows") and cure.version and not cure.python:
        removes = (
            commands.conda(case, "remove", "-y", "tensorflow-base")  # with conda's tensorflow, which needs it
            if conda
            else commands.pip(case, "uninstall", "-y", "tensorflow", "tensorflow-cpu", "tensorflow-intel")
        )
        cure = cure.after(shell(removes, "removes the CPU build first"))
    yield found(
        "tf-cpu-only",
        "TensorFlow started, but nothing in its output mentions CUDA or a GPU. A build with CUDA prints which"
        " GPUs or libraries it found or failed to find; a CPU-only build prints nothing about them."
        if quiet
        else f"{build_without} has no CUDA code, so it cannot use an NVIDIA GPU with any driver or library.",
        evidence,
        severity="error" if wanting or quiet or facts.kind == "machine" or no_cuda else "warning",
        confidence=confidence,
        tables=[build] if build is not None and not build.gpu else [],
        steps=cure.steps,
        verify=verify
        or commands.run_python(
            case, "import tensorflow as tf; print(tf.test.is_built_with_cuda())", cure.python
        ),
    )


def _without_pins(case: Case) -> Cure:
    """The cure for a program or a saved model that asks for a GPU on a computer that has none."""
    return Cure(
        (
            python(code.soft_placement(case.api), "lets TensorFlow use the CPU for ops that ask for a GPU"),
            manual(
                "If a saved model asks for the GPU, remove the devices from it: load it with"
                " clear_devices=True (tf.compat.v1.train.import_meta_graph), then save it again"
            ),
        )
    )


def _asks_for_a_gpu(case: Case) -> list[Fact]:
    """Return the sentences that say that there is no GPU device, or ask about the GPU."""
    asks = (kind for kind in case.facts.of(SentenceKind) if kind.kind == "asks" and kind.probability > ASKED)
    return [
        *case.facts.symptoms("no-gpu-said"),
        *(kind for kind in asks if "gpu" in kind.source.text.lower()),
    ]


def _nothing_of_gpus(case: Case) -> list[Fact]:
    """Return the lines that show that TensorFlow started, if the log has no line about CUDA and either shows
    later work or comes with a statement that the GPU is not used; else []. A build with CUDA code prints its
    GPUs, or why there are none, before its first step; a CPU build prints only lines about the processor."""
    facts = case.facts
    searched = case.loaded or case.not_loaded or facts.of(CudaCallFailed) or facts.has("plugin-device")
    gpu_package = any(v.package == "tensorflow-gpu" for v in facts.of(TensorFlowVersion))
    if facts.kind != "report" or searched or gpu_package:
        return []
    up = [n for n in facts.of(Noise) if n.kind == "cpu-features"]
    work = [
        *(n for n in facts.of(Noise) if n.kind == "mlir-disabled"),
        *facts.symptoms("work-done", "losses-printed"),
    ]
    after = [w for w in work if up and (w.source.line or 0) > (up[0].source.line or 0)]
    # without a sentence about it, the log may just be cut
    said = facts.has("gpu-not-used", "uses-cpu", "no-gpu-said")
    return [*up[:1], *after[:1]] if after or (up and said) else []
