"""cpu-no-avx: the processor lacks an instruction set that the wheel uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import Fact, OperatingSystem, OtherGpu, Platform, Symptom, TensorFlowVersion
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.rules.gpu.registered import registered
from doctor.rules.linux import on_linux
from doctor.rules.registry import found, rule
from doctor.shell import Export, Literal, run
from doctor.tables.ordering import order

if TYPE_CHECKING:
    from doctor.case import Case


FAILS_SILENTLY = ("dll-load-failed", "native-runtime-failed", "segfault", "import-fails-said")
"""Symptoms of an import that ends without a message about the processor."""


@rule(
    "cpu-no-avx",
    "The processor lacks an instruction set that this TensorFlow uses",
    explains=("tf-import-failed",),
    needs=(
        "illegal-instruction",
        "cpu-instructions",
        "no-avx",
        "cpu-without-avx",
        "processor-without-avx",
        OtherGpu,
    ),
)
def cpu_no_avx(case: Case) -> Iterator[Finding]:
    """The CPU lacks AVX, or another instruction set for which the wheel was compiled.

    ## What it means
    Wheels since 1.6 are compiled for AVX. Old processors, some small processors, and virtual machines that
    hide AVX cannot run them.

    ## What you see
    `Illegal instruction (core dumped)` at import; `The TensorFlow library was compiled to use AVX
    instructions, but these aren't available on your machine`; `AVX not detected`.

    ## What to do
    Make the virtual machine pass AVX through (CPU type host). Otherwise use TensorFlow 1.5, conda's builds,
    or another machine.
    """
    facts = case.facts
    said = facts.symptoms("cpu-instructions")
    if facts.kind == "machine" or not registered(case):  # a TensorFlow that has a GPU has been imported
        said += facts.symptoms("cpu-without-avx")
    illegal = facts.symptoms("illegal-instruction")
    lacking = facts.symptoms("no-avx")
    if facts.has(*FAILS_SILENTLY) and not case.not_loaded:
        lacking = [*lacking, *facts.symptoms("processor-without-avx")]
    translated = _translated(case) if facts.kind == "report" and not said and not illegal else []
    if translated:
        yield found(
            "cpu-no-avx",
            "This is an Intel build of TensorFlow on an Arm Mac. Rosetta, which translates it, has no AVX"
            " before macOS 15.",
            translated,
            confidence="likely",
            steps=[
                manual(
                    "Install an arm64 Python, for example from the arm64 Miniforge, and create the"
                    " environment anew with it"
                ),
                shell(
                    commands.run_python(case, "import platform; print(platform.machine())"),
                    "in the new environment: must print arm64",
                ),
                shell(
                    commands.pip(case, "install", "tensorflow"),
                    "in the new environment: installs the build for Apple silicon (from macOS 12 on)",
                ),
            ],
            verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)"),
        )
        return
    if not said and not illegal and not lacking:
        return
    # the text names a processor without AVX
    stated = not case.not_loaded and any(s.get("lacks") or s.get("l2") or s.get("l3") for s in lacking)
    if not (said or illegal or stated or facts.has(*FAILS_SILENTLY, "core-dumped")):
        return
    if illegal and not (said or lacking) and facts.has("illegal-address", "launch-failed"):
        return
    if illegal and not said and ("jetson" in case.environments or case.table_platform == "linux-aarch64"):
        yield _arm(case, illegal)
        return
    old = case.tables.tensorflow("1.5.0", None, case.table_platform)
    yield found(
        "cpu-no-avx",
        "The processor (or the virtual machine) lacks an instruction set for which the wheel was compiled.",
        [*said[:2], *illegal[:2], *lacking[:1]],
        confidence="certain" if said else "likely",
        steps=[
            on_linux(
                Literal("grep -o -m1 -w avx /proc/cpuinfo || echo 'no AVX'"),
                "shows whether the processor has AVX",
            ),
            manual(
                "In a virtual machine, set the CPU type to host (QEMU/KVM, Proxmox), or turn on AVX"
                " pass-through"
            ),
            manual(
                "Otherwise use a build that does not need AVX: TensorFlow 1.5 (with Python 3.6 at most), or a"
                " build that was compiled for this processor. A package that requires a newer TensorFlow"
                " needs your own build of that release"
            ),
            *_without_avx(case),
        ],
        tables=[old],
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)"),
    )


_INTEL = lazy.compile(r"x86_64|\bosx-64\b")
_APPLE_SILICON = lazy.compile(r"\bM[1-9]\b|Apple silicon", re.IGNORECASE)


def _translated(case: Case) -> list[Fact]:
    """Return the evidence that Rosetta runs an Intel build that needs AVX (since 1.6) on an Arm Mac; none
    from macOS 15 on, whose Rosetta has AVX2 (Apple, macOS 15 release notes)."""
    arm = [gpu for gpu in case.facts.of(OtherGpu) if _APPLE_SILICON.search(gpu.name or "")]
    stated = [*case.facts.of(Platform), *case.facts.of(OperatingSystem), *case.facts.of(TensorFlowVersion)]
    intel = [fact for fact in stated if _INTEL.search(fact.source.text)]
    known, system = case.tensorflow, re.search(r"(\d{1,2})(?:\.\d|$)", case.os.name) if case.os else None
    old = known is not None and order(known.version) < order("1.6")
    if not (arm and intel) or case.platform != "macos" or old or (system and int(system[1]) >= 15):
        return []
    return [arm[0], intel[0]]


def _without_avx(case: Case) -> list[Step]:
    """The step that installs the last release whose wheels do not use AVX (release notes of 1.6), if it has a
    wheel for the case's Python."""
    python, version = commands.python_minor(case), "1.5.0"
    row = case.tables.tensorflow(version, None, case.table_platform)
    if row is None or python not in row.pythons:
        return []
    # a second distribution would overwrite the files of the installed one
    known = case.tensorflow.package if case.tensorflow is not None else None
    name = "tensorflow-gpu" if known == "tensorflow-gpu" else "tensorflow"
    return [shell(commands.pip(case, "install", f"{name}=={version}"), "installs the last one from pip")]


def _arm(case: Case, illegal: list[Symptom]) -> Finding:
    """The finding for an ARM processor, which never has AVX. On Jetsons, the OpenBLAS in numpy's wheel
    mistakes the processor's core for a newer one.

    https://github.com/numpy/numpy/issues/18131
    """
    return found(
        "cpu-no-avx",
        "A library ran an instruction that this ARM processor does not have. On Jetsons, the cause is nearly"
        " always the OpenBLAS in the wheel of numpy 1.19.5, not TensorFlow: OpenBLAS mistakes the"
        " processor's core for a newer one.",
        illegal[:2],
        confidence="likely",
        steps=[
            on_linux(
                Export("OPENBLAS_CORETYPE", "ARMV8"),
                "tells OpenBLAS the kind of core; if that helps, add the line to ~/.bashrc",
            ),
            on_linux(
                run("python3", "-m", "pip", "install", "numpy==1.19.4"),
                "or, on Python 3.6: installs the last numpy that works",
            ),
        ],
        verify=commands.run_python(case, "import numpy, tensorflow as tf; print(tf.__version__)"),
    )
