"""cpu-no-avx: the processor lacks an instruction set that the wheel uses."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.registry import found, rule


@rule(
    "cpu-no-avx",
    "The processor lacks an instruction set that this TensorFlow uses",
    explains=("tf-import-failed",),
    needs=("illegal-instruction", "cpu-instructions", "no-avx", "cpu-without-avx"),
)
def cpu_no_avx(picture: Picture) -> Iterator[Finding]:
    """The CPU lacks AVX, or another instruction set that the wheel was compiled for.

    ## What it means
    Wheels since 1.6 are compiled for AVX. Older and some small processors, and virtual machines that hide AVX, cannot run them.

    ## How it shows
    `Illegal instruction (core dumped)` at import; `The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine`.

    ## What to do
    Let the virtual machine pass AVX through (CPU type host); else tensorflow 1.5, conda's builds, or another machine.
    """
    facts = picture.facts
    said = facts.symptoms("cpu-instructions", "cpu-without-avx")
    illegal = facts.symptoms("illegal-instruction")
    lacking = facts.symptoms("no-avx")
    if not said and not illegal and not lacking:
        return
    if lacking and not (said or illegal) and not facts.has("dll-load-failed", "native-runtime-failed", "core-dumped", "segfault"):
        return
    if illegal and not (said or lacking) and facts.has("illegal-address", "launch-failed"):
        return
    old = picture.tables.tensorflow("1.5.0", None, picture.table_platform)
    yield found(
        "cpu-no-avx",
        "The processor (or the virtual machine) does not offer an instruction set that the wheel was compiled for.",
        [*said[:2], *illegal[:2], *lacking[:1]],
        confidence="certain" if said else "likely",
        steps=[
            shell(
                "grep -o -m1 -w avx /proc/cpuinfo || echo 'no AVX'",
                "shows whether the processor has AVX",
                platform="linux",
            ),
            manual("In a virtual machine: set the CPU type to host (QEMU/KVM, Proxmox) or turn on AVX pass-through"),
            manual(
                "Else take a build without AVX: TensorFlow 1.5 (Python 3.6 at most), or one compiled for this processor"
            ),
        ],
        tables=[old] if old else [],
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )
