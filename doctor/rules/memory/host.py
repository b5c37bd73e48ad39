"""host-oom: the host's memory ran out, not the GPU's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Noise
from doctor.findings import Finding, manual, shell
from doctor.remedies import commands
from doctor.rules.linux import as_root
from doctor.rules.memory.signs import computes_on_cpu
from doctor.rules.registry import found, rule
from doctor.shell import piped, run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "host-oom",
    "The host's memory ran out, not the GPU's",
    explains=("benign-messages",),
    needs=(
        "host-killed",
        "host-alloc-failed",
        "cpu-oom",
        "host-pinned-failed",
        "host-memory-said",
        "shuffle-buffer",
        "killed-said",
        "tensor-oom",
    ),
)
def host_oom(case: Case) -> Iterator[Finding]:
    """The host's memory runs out, not the GPU's.

    ## What it means
    The kernel ended the process, or an allocation in RAM failed. Usual reasons: the program loads all data at
    once, there are too many workers, a container or job has a low limit, or the machine has little memory.

    ## What you see
    `Killed`, `oom-killer`, exit code 137, `std::bad_alloc`, `MemoryError: Unable to allocate … for an array`,
    `by allocator cpu`.

    ## What to do
    Read data in pieces (tf.data, generators), use fewer workers and a smaller shuffle buffer; add memory or
    swap; raise the limit of the container or job.
    """
    facts = case.facts
    killed = facts.symptoms("host-killed")
    failed = facts.symptoms("host-alloc-failed", "cpu-oom", "host-pinned-failed")
    said = facts.symptoms("host-memory-said")
    filling = facts.symptoms("shuffle-buffer") if facts.has("process-died", "host-memory-said") else []
    bare = []
    if not facts.has("tensor-oom", "cuda-out-of-memory", "segfault", "fatal-check", "oom-said"):
        bare = facts.symptoms("killed-said")
    tensors = facts.symptoms("tensor-oom")
    gpu = [s for s in tensors if "gpu" in (s.get("allocator") + s.get("device")).lower()]
    on_cpu = tensors if tensors and not gpu and computes_on_cpu(case) else []
    decisive = said and (facts.has("process-died") or not facts.has("tensor-oom", "cuda-out-of-memory"))
    if not (bare or killed or failed or filling or decisive or on_cpu):
        return
    windows = case.platform == "windows"
    memory = commands.memory(case)
    proven = [k for k in killed if re.search("oom|memory|memlimit", k.source.text, re.IGNORECASE)]
    text = (
        "The host ended the process or denied it memory: the RAM was full, or the container or job had"
        " reached its memory limit."
    )
    if killed and not proven and not failed:
        text = (
            "Something ended the process from outside (SIGKILL): most often the kernel, because the RAM was"
            " full or the container or job had reached its memory limit."
        )
    if on_cpu and not (killed or failed):
        text = (
            "A tensor did not fit into the host's memory: no GPU is registered, so TensorFlow computes on the"
            " CPU."
        )
    yield found(
        "host-oom",
        f"{text} GPU memory settings do not change that.",
        [
            *killed[:2],
            *failed[:2],
            *said[:1],
            *filling[:1],
            *on_cpu[:1],
            *bare[:1],
            *[n for n in facts.of(Noise) if n.kind == "ten-percent"][:1],
        ],
        confidence=(
            "certain"
            if (proven or failed) and not gpu
            else "likely"
            if killed or failed or filling or said or on_cpu
            else "possible"
        ),
        steps=[
            manual(
                "Load data in pieces (tf.data from files, generators, numpy.memmap), and use fewer workers, a"
                " smaller shuffle buffer and a smaller batch"
            ),
            shell(memory, "shows how much memory there is"),
            *(
                ()
                if windows
                else (
                    as_root(
                        piped(run("sudo", "dmesg"), run("tail", "-n", "30")),
                        "shows whether the kernel ended the process",
                    ),
                )
            ),
        ],
        verify=memory,
    )
