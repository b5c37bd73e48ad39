"""nccl-failure: communication between GPUs fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import Fact
from doctor.findings import Finding, Step, manual, python, shell
from doctor.remedies import code, commands
from doctor.rules.linux import on_linux
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import Command, Export, run
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "nccl-failure",
    "Communication between GPUs fails",
    explains=("ptx-jit-or-kernel-crash",),
    needs=("nccl-error", "peer-access", "nccl-used", "multi-gpu-hang"),
)
def nccl_failure(case: Case) -> Iterator[Finding]:
    """Collective communication between GPUs fails, or this build does not support it.

    ## What it means
    Several GPUs exchange gradients through NCCL. The exchange fails if the build has no NCCL (Windows), if
    NCCL cannot use the network, or if the machine's IOMMU or ACS breaks transfers between cards.

    ## What you see
    `NCCL WARN …`, `unhandled system error`, `No OpKernel was registered to support Op 'NcclAllReduce'`, a
    hang at the first all-reduce.

    ## What to do
    `NCCL_DEBUG=INFO` shows the call that fails. On Windows, use HierarchicalCopyAllReduce. Test with
    NCCL_P2P_DISABLE=1 and NCCL_IB_DISABLE=1 to see which path is at fault; turn ACS/IOMMU off in the BIOS for
    direct transfers.
    """
    facts = case.facts
    errors = facts.symptoms("nccl-error", "peer-access")
    used = facts.symptoms("nccl-used")
    hang = facts.symptoms("hangs")
    stated = facts.symptoms("multi-gpu-hang")
    if not errors and not (used and hang) and not stated:
        return
    without = code.multi_gpu(version_of(case), nccl=False)
    # a user may simulate an NCCL fault on purpose, to see its explanation
    simulated = [s for s in facts.symptoms("simulated-gpu") if "nccl" not in s.get("faults")]
    if simulated and errors:
        yield found(
            "nccl-failure",
            "This is a limitation of the simulation, not a fault of the machine: the NCCL library"
            " inside this TensorFlow build needs NVIDIA's own driver, and a simulated GPU has none. The"
            " failure says nothing about NCCL on real GPUs.",
            [*errors[:3], *simulated[:1]],
            title="NCCL does not work on simulated GPUs with this TensorFlow build",
            steps=[
                python(without, "works in the simulation, without NCCL"),
                manual(
                    "Or try the program with TensorFlow 2.21, whose NCCL is a library that the simulation"
                    " can replace"
                ),
            ],
        )
        return
    horovod = facts.has("horovod")
    if case.platform == "macos":
        yield _on_a_mac(case, [*errors[:3], *used[:1], *stated[:1]], horovod=horovod)
        return
    steps: list[Step] = []
    if not facts.has("nccl-debug-set"):
        steps.append(shell(Export("NCCL_DEBUG", "INFO"), "makes NCCL print the call that fails"))
    if case.platform == "windows":
        steps.append(python(without, "Windows builds have no NCCL"))
    else:
        steps += [
            on_linux(
                Export("NCCL_P2P_DISABLE", "1"),
                "sends the data through the host's memory: if that works, IOMMU or ACS breaks transfers"
                " between the cards",
            ),
            on_linux(Export("NCCL_IB_DISABLE", "1"), "tells NCCL not to use InfiniBand"),
        ]
        if horovod:
            steps += [
                on_linux(run("ip", "-br", "addr"), "lists a host's network interfaces"),
                manual(
                    "On several hosts: set NCCL_SOCKET_IFNAME to the interface that connects them (for"
                    " mpirun, also -mca btl_tcp_if_include)"
                ),
                manual(
                    "With Open MPI, pass each variable to the other ranks: mpirun -x NCCL_P2P_DISABLE=1 ..."
                ),
            ]
        else:
            steps.append(python(without, "works without NCCL, but is slower"))
    yield found(
        "nccl-failure",
        (
            "Each GPU works alone, but communication between the GPUs fails."
            if errors
            else "The run stops at an all-reduce through NCCL and does not continue."
            if used
            else (
                "The run stops where several GPUs work together, usually while they exchange gradients"
                " through NCCL."
            )
        ),
        [*errors[:3], *used[:1], *stated[:1], *(hang[:1] if not errors else [])],
        confidence="certain" if errors else "likely" if used and hang else "possible",
        steps=steps,
        verify=_all_reduce(case, horovod=horovod),
    )


def _on_a_mac(case: Case, evidence: Sequence[Fact], *, horovod: bool) -> Finding:
    """Return the finding for a Mac. NCCL exists only for Linux (NVIDIA's NCCL installation guide, "Software
    Requirements"). Horovod uses it if these variables were set while Horovod was built (Horovod's
    documentation, "Horovod Installation Guide"), and pip may reuse a wheel that it built with them."""
    steps: list[Step] = [python(code.multi_gpu(version_of(case), nccl=False), "works without NCCL")]
    verify = commands.list_gpus(case)
    if horovod:
        unset = run("unset", "HOROVOD_GPU_ALLREDUCE", "HOROVOD_GPU_OPERATIONS", "HOROVOD_GPU_BROADCAST")
        steps = [
            shell(unset, "these variables make Horovod's build use NCCL", platform="macos"),
            shell(commands.pip(case, "uninstall", "-y", "horovod"), "removes the build that needs NCCL"),
            shell(
                commands.pip(case, "install", "--no-cache-dir", "horovod"),
                "builds Horovod without NCCL; --no-cache-dir, because pip may otherwise install the earlier"
                " build again",
            ),
            manual("For training on several GPUs with NCCL, use a computer with Linux and NVIDIA GPUs"),
        ]
        verify = commands.run_python(case, "import horovod.tensorflow as hvd; hvd.init(); print(hvd.size())")
    return found(
        "nccl-failure",
        "NCCL, through which NVIDIA's GPUs exchange data, exists only for Linux. A program that was built to"
        " use NCCL cannot work on macOS.",
        evidence,
        confidence="certain",
        title="There is no NCCL for macOS",
        steps=steps,
        verify=verify,
    )


def _all_reduce(case: Case, *, horovod: bool) -> Command:
    """A command that makes the GPUs sum a number through an all-reduce. For TensorFlow before 2.2, which
    has no Strategy.run, a command that lists the GPUs."""
    if case.tensorflow is not None and dotted(case.tensorflow.version) < (2, 2):
        return commands.list_gpus(case)
    if horovod:
        line = (
            "import tensorflow as tf, horovod.tensorflow as hvd; hvd.init();"
            " print(hvd.allreduce(tf.constant(1.0)))"
        )
        return run("horovodrun", "-np", "2", *commands.run_python(case, line).argv)
    each = "s.run(lambda: tf.distribute.get_replica_context().all_reduce('SUM', tf.constant(1.0)))"
    return commands.run_python(
        case, f"import tensorflow as tf; s = tf.distribute.MirroredStrategy(); print({each})"
    )
