"""disk-full: the disk, or the user's quota on it, is full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, manual, shell
from doctor.rules.registry import found, rule
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


@rule("disk-full", "The disk is full", explains=("benign-messages",), needs=("disk-full",))
def disk_full(case: Case) -> Iterator[Finding]:
    """The disk, or the user's quota on it, is full.

    ## What it means
    A program could not write a file: a checkpoint, a log, a cache or a package that pip unpacks. TensorFlow
    reports this as `ResourceExhaustedError`, as it reports a lack of memory.

    ## What you see
    `No space left on device`, `Disk quota exceeded`, `[Errno 28]`, `There is not enough space on the disk`.

    ## What to do
    Delete files or use another disk. Batch size and GPU memory settings do not matter. pip unpacks packages
    in TMPDIR; set it to a folder on a disk with free space.
    """
    signs = case.facts.symptoms("disk-full")
    if not signs:
        return
    free = run("df", "-h")
    if case.platform == "windows":
        free = run("powershell", "-Command", "Get-PSDrive -PSProvider FileSystem")
    yield found(
        "disk-full",
        "A program could not write a file, because the disk is full or the user's quota on it is used up. GPU"
        " memory has nothing to do with it.",
        signs[:3],
        confidence="likely",  # the reader may have freed the disk since
        steps=[
            shell(free, "shows how full each disk is"),
            manual(
                "Delete files that are no longer needed (old checkpoints, pip's cache: pip cache purge), or"
                " write to another disk: change the program's output folder; for pip, set TMPDIR"
            ),
        ],
        verify=free,
    )
