"""undetermined: the evidence is not enough, or a decisive part of the machine could not be examined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import DECIDING, HOSTS_DRIVER, RUNNING_KERNEL, Source, Unreadable
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.rules.ended import DIED, busy
from doctor.rules.registry import found, rule
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


def _examined_next(unexamined: Sequence[Unreadable]) -> list[Step]:
    """Return the steps that let the next check examine the parts of the machine that this check could not."""
    places = {fact.source.where for fact in unexamined}
    if HOSTS_DRIVER in places:
        return [
            manual(
                "Start a container from the image with the GPU (docker run --gpus all, or the host's usual"
                " command), and run tfgpu-doctor check in it"
            )
        ]
    if RUNNING_KERNEL in places:
        return [manual("Start the system that these files belong to, and run tfgpu-doctor check there")]
    return [
        manual(
            "Give this user access to the parts that could not be examined, or repair the parts that do not"
            " answer, and run tfgpu-doctor check again"
        ),
        manual("If another Python runs the program, check that Python: tfgpu-doctor check --python PATH"),
    ]


@rule("undetermined", "The evidence is not enough for a verdict", severity="info")
def undetermined(case: Case) -> Iterator[Finding]:
    """The evidence is not enough for a verdict.

    ## What it means
    Nothing in the report names a cause, or several causes fit equally well. Or a decisive part of the machine
    could not be examined; the explanation then says which part, and why.

    ## What you see
    An empty list of GPUs, `is_gpu_available() False`, a description without a log.

    ## What to do
    Run the commands that the answer lists, and pass their output to `tfgpu-doctor explain`."""
    facts = case.facts
    if facts.unexamined:
        of_python = any(fact.what in DECIDING for fact in facts.unexamined)
        yield found(
            "undetermined",
            "The checks found no fault, but could not examine this: "
            + "; ".join(dict.fromkeys(f"{fact.what}: {fact.reason}" for fact in facts.unexamined))
            + ". So it is not known whether "
            + ("TensorFlow is installed and works." if of_python else "a GPU works."),
            facts.unexamined,
            title="A decisive part of the machine could not be examined",
            steps=_examined_next(facts.unexamined),
            verify=run("tfgpu-doctor", "check"),
        )
        return
    hints = facts.symptoms(
        "gpu-list-empty",
        "gpu-not-found",
        "cpu-only-listed",
        "uses-cpu",
        "native-runtime-failed",
        "gpu-idle",
        "no-known-devices",
    )
    died = facts.symptoms(*DIED) if facts.kind == "report" else []
    slow = (
        facts.kind == "report"
        and not died
        and not case.not_loaded
        and {s.kind for s in hints} == {"gpu-idle"}
    )
    where = Source(
        facts.name,
        None,
        (
            f"{facts.lines} line{'' if facts.lines == 1 else 's'} read; none names a cause"
            if facts.kind == "report"
            else "the checks found no cause"
        ),
    )
    yield found(
        "undetermined",
        (
            "The process crashed, and no line connects the crash with the GPU."
            if died
            else "No line names a fault. A GPU whose utilisation is low, but not always zero, works but"
            " waits: for input, for a busy CPU, or because the model or batch is small. If nvidia-smi"
            " does not list the program, TensorFlow runs on the CPU."
            if slow
            else "No line says why the GPU is not used; the output fits several causes."
            if hints
            else "The checks on this machine found no fault in TensorFlow's GPU support."
            if facts.kind == "machine"
            else "Nothing here shows a fault in TensorFlow's GPU support."
        ),
        [*died[:2], *hints[:3], where],
        confidence="possible",
        steps=[
            *(busy(case) if slow else []),
            *(commands.tell_more(case) or [shell(run("tfgpu-doctor", "check"))]),
        ],
        verify=commands.list_gpus(case),
    )
