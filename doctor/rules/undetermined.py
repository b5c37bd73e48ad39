"""undetermined: too little to tell, or what decides could not be examined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.facts import DECIDING, HOSTS_DRIVER, RUNNING_KERNEL, Source, Unreadable
from doctor.findings import Finding, Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.ended import DIED, busy
from doctor.rules.registry import found, rule
from doctor.shell import run


def _examined_next(unexamined: Sequence[Unreadable]) -> list[Step]:
    """How what could not be examined can be."""
    places = {fact.source.where for fact in unexamined}
    if HOSTS_DRIVER in places:
        return [
            manual(
                "Start a container from the image with its GPU (docker run --gpus all, or as its host does),"
                " and run tfgpu-doctor check in it"
            )
        ]
    if RUNNING_KERNEL in places:
        return [manual("Start the system that these files are of, and run tfgpu-doctor check there")]
    return [
        manual(
            "Give this user the right to read what is named, or repair what does not answer,"
            " and run tfgpu-doctor check again"
        ),
        manual("Where another Python runs the program, name it: tfgpu-doctor check --python PATH"),
    ]


@rule("undetermined", "What is known is not enough to tell", severity="info")
def undetermined(picture: Picture) -> Iterator[Finding]:
    """What is known is not enough to tell.

    ## What it means
    Nothing in the report names a cause, or several fit equally well. Of a machine: what decides could not be examined; the
    explanation says what, and why.

    ## How it shows
    An empty list of GPUs, `is_gpu_available() False`, a description without a log.

    ## What to do
    Run what the prescription says and read its output with `tfgpu-doctor explain`.
    """
    facts = picture.facts
    if facts.unexamined:
        of_python = any(fact.what in DECIDING for fact in facts.unexamined)
        yield found(
            "undetermined",
            "Nothing that was examined names a fault, and this could not be examined: "
            + "; ".join(dict.fromkeys(f"{fact.what}: {fact.reason}" for fact in facts.unexamined))
            + (". Whether TensorFlow is installed and works there is not known." if of_python else ". Whether a GPU works there is not known."),
            facts.unexamined,
            title="What decides could not be examined",
            confidence="certain",
            steps=_examined_next(facts.unexamined),
            verify=run("tfgpu-doctor", "check"),
        )
        return
    hints = facts.symptoms("gpu-list-empty", "gpu-not-found", "cpu-only-listed", "uses-cpu", "native-runtime-failed", "gpu-idle", "no-known-devices")
    died = facts.symptoms(*DIED) if facts.kind == "report" else []
    slow = facts.kind == "report" and not died and not picture.not_loaded and {s.kind for s in hints} == {"gpu-idle"}
    where = Source(
        facts.name,
        None,
        f"{facts.lines} lines read; none of them names a cause"
        if facts.kind == "report"
        else "nothing that was looked at names a cause",
    )
    yield found(
        "undetermined",
        "The process ended in a crash, and no line says what that has to do with the GPU."
        if died
        else "No line names a fault. A GPU whose use is low, and not always zero, works and waits: for input, for a CPU that is busy, or because model or"
        " batch are small. Where nvidia-smi does not list the program, TensorFlow runs by the CPU."
        if slow
        else "No line names why the GPU is not used; what was printed fits several causes."
        if hints
        else "Nothing that was looked at on this machine names a fault of TensorFlow's GPU support."
        if facts.kind == "machine"
        else "Nothing here names a fault of TensorFlow's GPU support.",
        [*died[:2], *hints[:3], where],
        confidence="possible",
        steps=[*(busy(picture) if slow else []), *(commands.tell_more(picture) or [shell(run("tfgpu-doctor", "check"))])],
        verify=commands.list_gpus(picture),
    )
