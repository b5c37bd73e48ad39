"""Runs `check` on nodes through Slurm, without root. Each node gets its own step, because one dead node would
end a step that covers several nodes.

Outside a job, each node gets a separate small job, which starts at once or not at all. Inside a job, the
steps run on the nodes of that job, beside its other steps.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from doctor import lazy
from doctor.errors import UnableError, UsageError
from doctor.fleet.answers import Answer, unanswered
from doctor.fleet.asking import Asked
from doctor.fleet.sent import script
from doctor.probe.running import Ran, run_program
from doctor.values import dataclass

LIMIT = 60.0
"""Time limit, in seconds, for Slurm's own commands."""
_WORD = lazy.compile(r"[\w][\w.,:=/*@+-]{0,200}", re.ASCII)
_NODELIST = lazy.compile(r"[\w][\w.,\[\]-]{0,20000}", re.ASCII)
_UP = {
    "idle",
    "allocated",
    "mixed",
    "completing",
    "planned",
    "reserved",
    "alloc",
    "mix",
    "comp",
    "resv",
    "plnd",
}
"""States in which a node accepts steps (sinfo(1), NODE STATE CODES)."""
_GPUS = lazy.compile(r"(?:^|,)gpu(?::[^,:(]{1,64})?:(\d{1,4})")
_REASONS = (
    (
        r"Immediate execution impossible|Requested nodes are busy|Resources? (?:temporarily"
        r" )?(?:busy|unavailable)|timed out waiting",
        "no step could start at once: the node's GPUs, CPUs or memory are in use (--gres gpu:1 requests"
        " only one GPU)",
    ),
    (
        r"Unable to contact|Communication connection failure|launch.{0,80}failed|Socket timed out|Node"
        r" failure|node fail|Zero Bytes",
        "Slurm cannot reach the node: {0}",
    ),
    (
        r"Requested node configuration is not available|Invalid generic resource|Invalid node"
        r" name|Invalid partition|Invalid account",
        "Slurm refuses the step: {0}",
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `--slurm`. nodelist: "" for the nodes of this job or, outside a job, for all nodes."""

    nodelist: str = ""
    partition: str | None = None
    account: str | None = None
    gres: str | None = None

    def __post_init__(self) -> None:
        for option, value in (("partition", self.partition), ("account", self.account), ("gres", self.gres)):
            if value is not None and not _WORD.fullmatch(value):
                raise UsageError(f"--{option} {value[:80]!r} is not a valid name")
        if self.nodelist and not _NODELIST.fullmatch(self.nodelist):
            raise UsageError(
                f"--slurm {self.nodelist[:80]!r} is not a list of nodes", "write n1,n2 or n[1-8]"
            )


class Nodes(NamedTuple):
    """The nodes that can be asked, and those that cannot, in Slurm's order. name: the name of the jobs; "" if
    the steps belong to the current job."""

    asked: list[Asked]
    silent: list[Answer]
    name: str


def nodes(options: Options, python: str | None, timeout: float, env: Mapping[str, str]) -> Nodes:
    """Return the requested nodes. Raises UnableError if Slurm is not installed or does not answer, UsageError
    if Slurm does not know the nodes."""
    srun = shutil.which("srun")
    if srun is None or shutil.which("sinfo") is None:
        raise UnableError("Slurm's commands are not on PATH", "run this command on a login node, or in a job")
    own = bool(env.get("SLURM_JOB_ID"))
    if own and (options.partition or options.account):
        raise UsageError(
            "inside a job, only the job's own nodes are checked, so --partition and --account have no effect",
            "run this command outside the job",
        )
    listed = options.nodelist or (env.get("SLURM_JOB_NODELIST", "") if own else "")
    rows = _states(listed, options.partition)
    if not rows:
        raise UsageError(
            f"Slurm knows no nodes {listed or options.partition or ''}".strip(), "`sinfo -N` lists the nodes"
        )
    asked, silent = [], []
    name = "" if own else f"tfgpu-doctor-{secrets.token_hex(8)}"
    for node, (state, gres, reason) in rows.items():
        base = state.lower().rstrip("*~#!%$@^-+ ")  # the marks of sinfo(1), NODE STATE CODES
        if base not in _UP or "*" in state:
            given = reason if reason not in ("", "none") else "no reason is given"
            words = "the node does not respond" if base in _UP else given
            silent.append(unanswered(node, "unreachable", f"Slurm lists it as {state}: {words}"))
            continue
        asked.append(Asked(node, _step(srun, node, gres, options, name, python, timeout)))
    return Nodes(asked, silent, name)


def _states(nodelist: str, partition: str | None) -> dict[str, tuple[str, str, str]]:
    """Return the state, generic resources and reason of each node."""
    words = ["sinfo", "-h", "-N", "-o", "%N|%T|%G|%E"]  # the reason comes last, because it is free text
    words += ["-n", nodelist] if nodelist else []
    words += ["-p", partition] if partition else []
    ran = run_program(words, LIMIT, os.environ)
    if ran.status != 0:
        why = (ran.err.strip() or ran.failure or "sinfo gave no reason").splitlines()[-1]
        raise UnableError(f"Slurm does not answer: {why[:300]}")
    found: dict[str, tuple[str, str, str]] = {}
    for row in ran.out.splitlines():
        parts = row.split("|", 3)
        if len(parts) == 4 and re.fullmatch(r"[\w.-]{1,253}", parts[0].strip()):
            found.setdefault(parts[0].strip(), (parts[1].strip(), parts[2].strip(), parts[3].strip()))
    return found


def _step(
    srun: str, node: str, gres: str, options: Options, name: str, python: str | None, timeout: float
) -> tuple[str, ...]:
    """Return the command that asks a node with a Slurm step. name: the name of the new job, "" inside a
    job."""
    words = [
        srun,
        f"--nodelist={node}",
        "--nodes=1",
        "--ntasks=1",
        f"--immediate={max(1, min(30, int(timeout / 2)))}",
        "--mpi=none",
    ]
    if name:
        words += [f"--job-name={name}", f"--time={math.ceil(timeout / 60) + 1}"]
        words += [f"--partition={options.partition}"] if options.partition else []
        words += [f"--account={options.account}"] if options.account else []
        gpus = sum(int(count) for count in _GPUS.findall(gres))
        # a step without GPUs sees none in its cgroup
        wanted = options.gres or (f"gpu:{gpus}" if gpus else "")
    else:
        words.append("--overlap")
        wanted = options.gres or ""  # a step gets the resources of its job
    return (*words, *([f"--gres={wanted}"] if wanted else []), "/bin/sh", "-c", script(python))


def why(ran: Ran) -> tuple[str, str] | None:
    """Return the status and reason if Slurm failed, or None if the program on the node failed."""
    rows = [row.strip()[:300] for row in ran.err.splitlines() if row.startswith("srun:")]
    if not rows:
        return None
    rows = [re.sub(r"^srun: (?:error: )?", "", row) for row in rows]
    for pattern, reason in _REASONS:
        found = next((row for row in rows if re.search(pattern, row, re.IGNORECASE)), None)
        if found:
            return "unreachable", reason.format(found)
    return ("unreachable", rows[-1]) if "Unable to allocate" in ran.err else None


@contextmanager
def cleaned(found: Nodes) -> Iterator[None]:
    """A context in which jobs may be started. When it ends, for whatever reason, it cancels the jobs that
    are left."""
    try:
        yield
    finally:
        if found.name:
            run_program(["scancel", "--quiet", f"--name={found.name}"], LIMIT, os.environ)
