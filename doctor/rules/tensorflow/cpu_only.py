"""tf-cpu-only: the build holds no CUDA code."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import CudaCallFailed, Fact, Noise, Package, Platform, TensorFlowBuild, TensorFlowVersion
from doctor.findings import Finding, shell
from doctor.picture import Picture
from doctor.remedies import commands, cures
from doctor.rules.gpu.registered import registered
from doctor.rules.libraries.wanted import gone
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import looks_for_gpus, wants_gpu
from doctor.tables import dotted


@rule(
    "tf-cpu-only",
    "This TensorFlow is built for the CPU only",
    explains=("device-not-found", "benign-messages", "cuda-missing"),
    needs=(
        "built-without-cuda",
        "cpu-build-said",
        "install-gpu-version",
        "no-known-devices",
        TensorFlowBuild,
        "conda-cpu-build",
        "conda-install",
        "cpu-package",
        "cpu-package-install",
        "binding-cpu-package",
        TensorFlowVersion,
        Platform,
        Noise,
    ),
)
def tf_cpu_only(picture: Picture) -> Iterator[Finding]:
    """The installed build has no CUDA.

    ## What it means
    tensorflow-cpu, tensorflow-intel, wheels for macOS and Arm, conda's mkl and eigen builds, and the package `tensorflow` before 2.1 (except 1.15.0)
    hold no GPU code. No driver or library changes that.

    ## How it shows
    `tf.test.is_built_with_cuda()` is False; `conda list` shows `mkl_…` or `eigen_…`; no message about CUDA libraries at all.

    ## What to do
    Uninstall it and install a GPU build for this platform.
    """
    facts = picture.facts
    if registered(picture) or facts.symptoms("plugin-device"):
        return
    no_cuda: list[Fact] = [b for b in facts.of(TensorFlowBuild) if b.gpu is False]
    no_cuda += facts.symptoms("built-without-cuda")
    yes_cuda = [b for b in facts.of(TensorFlowBuild) if b.gpu]
    conda = facts.symptoms("conda-cpu-build")
    if conda:  # `_tflow_select gpu` only says what was asked for; the build string says what came
        yes_cuda = []
    elif no_cuda:  # the build's own word counts more than the name that a package was given
        listed = {package.source.line for package in facts.of(Package)}
        yes_cuda = [b for b in yes_cuda if b.source.line is None or b.source.line not in listed]
    package = facts.symptoms("cpu-package", "cpu-package-install")
    tried = facts.symptoms("conda-install")
    wanting = wants_gpu(picture)
    gpu_package = any(p.name == "tensorflow-gpu" for p in facts.of(Package))
    build = picture.build
    if picture.platform == "windows" and build is not None and dotted(build.version) >= (2, 11):
        return
    if yes_cuda or gone(picture) or facts.has("gpu-skipped", "cudart-stub"):
        return
    evidence: list[Fact] = []
    confidence = "certain"
    if no_cuda:
        evidence = [*no_cuda[:2], *conda[:1]]
    elif conda and (wanting or facts.kind == "machine" or facts.has("mentions-gpu")):
        evidence = [*conda[:2]]
    elif package and wanting and not looks_for_gpus(picture):
        evidence, confidence = [*package[:1], *wanting[:1]], "likely"
    elif tried and wanting and picture.platform in ("windows", None) and not any(s.get("gpu") for s in tried):
        evidence, confidence = [*tried[:1], *wanting[:1]], "likely"
    elif facts.has("cpu-build-said") and (wanting or facts.has("mentions-gpu")):
        evidence, confidence = [*facts.symptoms("cpu-build-said")[:1], *wanting[:1]], "likely"
    elif (other := facts.symptoms("binding-cpu-package")) and not facts.has("binding-gpu-package") and wanting and not picture.loaded and not picture.not_loaded:
        evidence, confidence = [*other[:1], *wanting[:1]], "likely"
    elif said := [s for s in facts.symptoms("cpu-build-said") if s.get("told") and not picture.loaded]:
        evidence, confidence = [*said[:1]], "possible"
    elif (
        facts.has("install-gpu-version", "no-known-devices")
        and (facts.of(Noise) or not any(v.package == "tensorflow-gpu" for v in facts.of(TensorFlowVersion)))
        and not picture.loaded
        and not picture.facts.of(CudaCallFailed)
    ):
        evidence += facts.symptoms("install-gpu-version", "no-known-devices")[:2]
        confidence = "possible"
    elif "conda" in picture.environments and picture.platform == "windows" and wanting and not picture.loaded and not gpu_package:
        evidence, confidence = [*wanting[:1]], "possible"
    elif picture.platform == "macos" and wanting and not any("cuda" in variable.value for variable in picture.env.values()):
        evidence = [f for f in (picture.tensorflow or picture.platform_fact, *wanting[:1]) if f]
        confidence = "likely" if picture.tensorflow is not None else "possible"
    elif (
        picture.tensorflow is not None
        and picture.tensorflow.package == "tensorflow"
        and picture.tensorflow.rank == 0
        and wanting
        and (row := picture.tables.tensorflow(picture.tensorflow.version, "tensorflow", picture.table_platform))
        is not None
        and row.gpu is False
    ):
        evidence = [picture.tensorflow, *wanting[:1]]
        build = row
    if not evidence and "jetson" in picture.environments and wanting and not picture.loaded:
        arm = [(v, picture.tables.tensorflow(v.version, "tensorflow", "linux-aarch64")) for v in facts.of(TensorFlowVersion)]
        plain = [(v, row) for v, row in arm if row is not None and row.gpu is False]
        if plain and not any("+nv" in v.source.text for v, _ in arm):  # as the versions of NVIDIA's builds for these boards have it
            evidence, confidence, build = [plain[0][0], *wanting[:1]], "possible", plain[0][1]
    quiet = [] if evidence else _nothing_of_gpus(picture)
    if quiet and wanting:
        evidence, confidence = [*wanting[:1], *quiet], "possible"
    if not evidence:
        return
    cure = cures.another_build(picture)
    if picture.platform not in ("macos", "windows") and cure.version and not cure.python:
        cure = cure.after(
            shell(
                commands.pip(picture, "uninstall", "-y", "tensorflow", "tensorflow-cpu", "tensorflow-intel"),
                "takes the CPU build away first",
            )
        )
    yield found(
        "tf-cpu-only",
        "TensorFlow came up and worked, and no line of it tells of CUDA or of a GPU. A build with CUDA code says which GPU or which library it finds or misses; "
        "one without is silent."
        if quiet
        else "The build that is installed has no CUDA code, so it cannot use a GPU whatever driver and libraries there are.",
        evidence,
        severity="error" if wanting or facts.kind == "machine" or no_cuda else "warning",
        confidence=confidence,
        tables=[build] if build is not None and not build.gpu else [],
        steps=cure.steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.test.is_built_with_cuda())", cure.python),
    )


def _nothing_of_gpus(picture: Picture) -> list[Fact]:
    """What shows that TensorFlow came up and worked, in a log without a line about CUDA; empty where there is one, or no such work.

    A build with CUDA code tells of its GPUs, or why there are none, before its first step; one without tells of the processor only.
    """
    facts = picture.facts
    if facts.kind != "report" or picture.loaded or picture.not_loaded or facts.of(CudaCallFailed) or facts.has("plugin-device"):
        return []
    if any(v.package == "tensorflow-gpu" for v in facts.of(TensorFlowVersion)):
        return []
    up = [n for n in facts.of(Noise) if n.kind == "cpu-features"]
    work = [*(n for n in facts.of(Noise) if n.kind == "mlir-disabled"), *facts.symptoms("work-done", "losses-printed")]
    after = [w for w in work if up and (w.source.line or 0) > (up[0].source.line or 0)]
    return [*up[:1], *after[:1]] if after else []
