"""xla-toolchain-missing: XLA does not find its compiler tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.rules.linux import on_linux
from doctor.rules.registry import found, rule
from doctor.shell import Export, Joined, Literal, Output, Path, run
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.facts import Symptom


@rule(
    "xla-toolchain-missing",
    "XLA does not find its compiler tools",
    needs=(
        "libdevice-missing",
        "ptxas-missing",
        "ptxas-failed",
        "ptxas-old",
        "jit-failed",
        "xla-tools-missing",
    ),
)
def xla_toolchain_missing(case: Case) -> Iterator[Finding]:
    """XLA or the JIT cannot find libdevice.10.bc, ptxas or nvlink, or finds a ptxas that is too old.

    ## What it means
    `jit_compile=True`, some Keras optimisers and kernels generated at run time need code to be compiled on
    the machine. That takes parts of the CUDA toolkit that neither the driver nor TensorFlow's wheel contains.

    ## What you see
    `libdevice not found at ./libdevice.10.bc`, `Couldn't invoke ptxas --version`, `No PTX compilation
    provider is available`, `You are using ptxas 11.0, which is older than 11.1`.

    ## What to do
    Install the compiler package for the CUDA version in use (pip: nvidia-cuda-nvcc; conda: cuda-nvcc) and
    point XLA at its folder with `XLA_FLAGS=--xla_gpu_cuda_data_dir=…`.
    """
    facts = case.facts
    hard = facts.symptoms("libdevice-missing", "ptxas-missing", "ptxas-failed")
    old = facts.symptoms("ptxas-old")
    jit = facts.symptoms("jit-failed")
    absent = [s for s in facts.symptoms("xla-tools-missing") if s.get("sure")]
    if not (hard or old or jit or absent):
        return
    # "Can't find libdevice directory" and a failing ptxas are warnings: XLA continues with the driver's
    # compiler, and an error follows only if a program really needs the missing tool
    failed = bool(jit) or any(
        said in s.source.text
        for s in hard
        for said in (
            "No PTX compilation",
            "libdevice not found",
            "libdevice is required",
            "InternalError",
            "UnknownError",
        )
    )
    # without a ptxas binary, XLA's compiler ends the process, unless it was configured to leave the work to
    # the driver; in that case it prints "back to the"
    failed = failed or any(
        "find ptxas binary" in s.source.text and "back to the" not in s.source.text for s in hard
    )
    failed = failed or (
        facts.has("libdevice-missing", "ptxas-failed") and not facts.has("work-done", "relies-on-driver")
    )
    cuda = (case.build.cuda if case.build else "") or (case.cuda.version if case.cuda else "")
    major, minor = cuda.split(".")[0], ".".join(cuda.split(".")[:2])
    capabilities = (*case.capabilities, *_refused([*hard, *old]))
    known = [row.first_cuda for c in capabilities if (row := case.tables.architecture(c))]
    first = max((cuda for cuda in known if cuda), key=dotted, default="0")  # its ptxas supports the GPUs
    too_old = bool(old or _refused(hard)) and not facts.has("libdevice-missing")
    outdated = bool(old) or facts.has("ptxas-failed")
    steps: list[Step] = []
    folder = commands.run_python(case, "import nvidia.cuda_nvcc as nvcc; print(nvcc.__path__[0])")
    elsewhere = absent[0].get("elsewhere") if absent else ""
    if elsewhere:
        steps.append(_pointed_at(case, Path(elsewhere)))
    elif case.platform == "windows":
        steps.append(
            manual(
                f"Install the CUDA Toolkit {cuda}".rstrip()
                + " from NVIDIA's archive and set XLA_FLAGS=--xla_gpu_cuda_data_dir=FOLDER to its folder",
                "the toolkit contains ptxas and libdevice",
            )
        )
    elif "conda" in case.environments:
        version = max(minor, first, "11.3", key=dotted) if cuda else ""  # the channel begins with 11.3
        steps += [
            shell(
                run("conda", "install", "-c", "nvidia", f"cuda-nvcc{'=' + version if version else ''}"),
                f"installs ptxas and libdevice{' from CUDA ' + version if version else ''}",
            ),
            _pointed_at(case, Literal("$CONDA_PREFIX")),
        ]
    elif major in ("11", "12"):
        newest = dotted(first) > dotted(minor) or outdated
        wanted = _nvcc(case, major, minor, newest=newest)
        of = f"from the newest CUDA {major} release" if newest else "from the CUDA version in use"
        install = shell(commands.pip(case, "install", wanted), f"installs ptxas and libdevice {of}")
        steps += [install, _pointed_at(case, Output(folder))]
        if outdated:
            value = Joined((Output(folder), "/bin:", Literal("$PATH")))
            steps.append(on_linux(Export("PATH", value), _FIRST_ON_PATH))
    else:
        which = (
            f"from CUDA {first} or newer"
            if outdated and first != "0"
            else "from the CUDA version for which TensorFlow was built"
        )
        steps.append(
            manual(
                f"Install the CUDA toolkit's compiler package (nvcc) {which}, and set"
                " XLA_FLAGS=--xla_gpu_cuda_data_dir=FOLDER to the toolkit's folder"
                + ("; also put FOLDER/bin first on PATH" if outdated else ""),
                _FIRST_ON_PATH if outdated else "",
            )
        )
    if outdated:
        steps.append(shell(run("ptxas", "--version"), "shows the ptxas that XLA takes from PATH"))
    said = absent[0].get("lacks").replace(" ", " and ") if absent and not (hard or old or jit) else ""
    yield found(
        "xla-toolchain-missing",
        f"Every library that this TensorFlow loads for the GPU is present, but XLA would not find {said}. The"
        " program fails where XLA compiles: in Keras's optimizers from 2.11 on, in `fit` from 2.16 on, and"
        " wherever jit_compile=True is set."
        if said
        else "The GPU itself works, but XLA, which compiles code on this machine, does not find "
        + (
            "libdevice.10.bc."
            if facts.has("libdevice-missing")
            else "a ptxas that it can use."
            if (hard or jit) and not too_old
            else "a ptxas that is new enough."
        ),
        [*hard[:3], *old[:1], *jit[:1], *absent[:1]],
        title="XLA's ptxas is too old" if too_old else "",
        severity="error" if failed else "warning",
        confidence="certain" if hard or old else "likely",
        steps=steps,
        verify=commands.run_python(
            case,
            "import tensorflow as tf; print(tf.function(lambda x: x * 2, jit_compile=True)(tf.ones([2])))",
        ),
    )


_FIRST_ON_PATH = "XLA takes the first ptxas on PATH; without this, it takes the old one again"
"""FindCudaExecutable in xla/stream_executor/cuda/subprocess_compilation.cc searches PATH before the folder of
xla_gpu_cuda_data_dir."""


def _refused(signs: Iterable[Symptom]) -> list[str]:
    """The compute capabilities that ptxas does not know, as the messages name them."""
    found = (re.search(r"does not support CC (\d+\.\d)|'?sm_(\d+)(\d)", s.source.text) for s in signs)
    return [m[1] or f"{m[2]}.{m[3]}" for m in found if m is not None]


def _nvcc(case: Case, major: str, minor: str, *, newest: bool) -> str:
    """The pip requirement for the compiler package: the version in the release's own extra, otherwise the
    CUDA version in use, because XLA compiles one kernel at a time if ptxas is newer than the driver.
    newest: require the newest version instead, because of the GPU or of an installed ptxas that fails."""
    package = f"nvidia-cuda-nvcc-cu{major}"
    own = case.build.extras.get("and-cuda", {}).get(package) if case.build is not None else None
    there = any(wheel.version.startswith(f"{minor}.") for wheel in case.tables.nvidia_wheels(package))
    return package if newest else f"{package}{own or (f'=={minor}.*' if there else '')}"


def _pointed_at(case: Case, folder: Literal | Path | Output) -> Step:
    """The step that sets the tools' folder in XLA_FLAGS and keeps the flags that are already set."""
    flags = case.env.get("XLA_FLAGS")
    others = (Literal("$XLA_FLAGS "),) if flags is not None and flags.value.strip() else ()
    value = Joined((*others, "--xla_gpu_cuda_data_dir=", folder))
    return on_linux(Export("XLA_FLAGS", value), "tells XLA where these tools are")
