"""nccl-failure: communication between GPUs fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import Fact
from doctor.findings import Finding, Step, manual, python, shell
from doctor.remedies import code, commands, containers
from doctor.remedies.code.eras import config_module
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
    Give a container more shared memory (`--shm-size=1g --ulimit memlock=-1`). `NCCL_DEBUG=INFO` shows the
    call that fails. On Windows, use HierarchicalCopyAllReduce. Test with
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
                python(without, "uses the simulated GPUs without NCCL"),
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
    system = [e for e in errors if re.search(r"system ?error|posix_fallocate|/dev/shm", e.source.text, re.I)]
    if case.platform != "windows" and facts.kind == "report" and (case.container or system):
        steps += containers.shared_memory(case)
    again = "then start the program again in this shell"
    refused = [e for e in errors if re.search(r"\bibv_\w+", e.source.text)]  # a call of InfiniBand's library
    if refused and case.platform != "windows":
        # Slurm documentation, "Frequently Asked Questions", on locked memory; NCCL user guide, "Docker"
        steps.append(
            on_linux(
                run("ulimit", "-l"),
                "shows the limit of locked memory; InfiniBand needs unlimited. If a number is printed,"
                " raise it where the job starts (in docker: --ulimit memlock=-1; in Slurm: LimitMEMLOCK of"
                " slurmd, and PropagateResourceLimitsExcept=MEMLOCK)",
            )
        )
    if not facts.has("nccl-debug-set") and not refused:
        steps.append(shell(Export("NCCL_DEBUG", "INFO"), f"makes NCCL print the call that fails; {again}"))
    if case.platform == "windows":
        steps.append(python(without, "Windows builds have no NCCL"))
    else:
        paths = [
            on_linux(
                Export("NCCL_P2P_DISABLE", "1"),
                f"sends the data through the host's memory; {again}. If it works now, IOMMU or ACS breaks"
                " transfers between the cards; if not, unset the variable",
            ),
            on_linux(
                Export("NCCL_IB_DISABLE", "1"),
                f"tells NCCL not to use InfiniBand; {again}, and unset the variable if nothing changes",
            ),
        ]
        steps += reversed(paths) if refused else paths
        if horovod:
            steps += [
                manual(
                    "If the processes run on several hosts, set NCCL_SOCKET_IFNAME to the name of the network"
                    " interface that connects them (for mpirun, add -mca btl_tcp_if_include with the same"
                    " name), and pass each variable to the other hosts (mpirun -x NCCL_SOCKET_IFNAME)",
                    "ip -br addr lists a host's interfaces",
                ),
            ]
        else:
            steps.append(python(without, "uses the GPUs without NCCL, which is slower"))
    yield found(
        "nccl-failure",
        (
            "The GPUs exchange data through NCCL or by direct access, and this exchange fails."
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
    steps: list[Step] = [python(code.multi_gpu(version_of(case), nccl=False), "uses the GPUs without NCCL")]
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
    has no Strategy.run, a command that lists the GPUs. TensorFlow 1 computes only in a session."""
    known = case.tensorflow
    first = known is not None and dotted(known.version) < (2,)
    if known is None:
        first = any(image.get("era") == "tf1" for image in case.facts.symptoms("nvidia-image"))
    if horovod and first:
        line = (
            "import tensorflow as tf, horovod.tensorflow as hvd; hvd.init(); c = tf.ConfigProto();"
            " c.gpu_options.visible_device_list = str(hvd.local_rank());"
            " print(tf.Session(config=c).run(hvd.allreduce(tf.constant(1.0), device_dense='/gpu:0')))"
        )
        return run("horovodrun", "-np", "2", *commands.run_python(case, line).argv)
    if first or (known is not None and dotted(known.version) < (2, 2) and not horovod):
        return commands.list_gpus(case)
    if horovod:
        config = config_module(known.version if known is not None else None)
        line = (
            f"import tensorflow as tf, horovod.tensorflow as hvd; hvd.init(); c = {config};"
            " c.set_visible_devices(c.list_physical_devices('GPU')[hvd.local_rank()], 'GPU');"
            " print(hvd.allreduce(tf.constant(1.0)))"
        )
        return run("horovodrun", "-np", "2", *commands.run_python(case, line).argv)
    each = "s.run(lambda: tf.distribute.get_replica_context().all_reduce('SUM', tf.constant(1.0)))"
    return commands.run_python(
        case, f"import tensorflow as tf; s = tf.distribute.MirroredStrategy(); print({each})"
    )
