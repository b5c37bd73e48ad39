"""`tfgpu-doctor install`: install the plan in a new environment, prove that it works, undo it if it fails."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doctor.commands.plan import answer, request_arguments
from doctor.errors import UnableError, UsageError
from doctor.files import expanded, temporary_folder
from doctor.printable import as_json, say
from doctor.shell import comment, one_line

if TYPE_CHECKING:
    from doctor.install.job import Job
    from doctor.install.proof import Proof
    from doctor.install.run import Log
    from doctor.plan import Outcome, Plan

EPILOG = """\
examples:
  tfgpu-doctor install                            the first plan of `plan`, in ./tf-gpu; asks before it begins
  tfgpu-doctor install --tensorflow latest --yes  the newest release, without asking
  tfgpu-doctor install --dry-run > install.sh     a script that does the same
  tfgpu-doctor install --env ~/envs/tf --memory-growth  in another folder, and with memory growth on

Nothing is run as an administrator, and the system's Python is not touched.
After a failure or Ctrl-C, everything that was made is removed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.epilog = EPILOG
    request_arguments(parser)
    own = parser.add_argument_group("the installation")
    own.add_argument("--env", metavar="DIR", default="tf-gpu", help="the new environment's folder (./tf-gpu)")
    own.add_argument("--yes", "-y", action="store_true", help="do not ask")
    own.add_argument(
        "--dry-run", action="store_true", help="print a script that does the same, and do nothing"
    )
    own.add_argument(
        "--replace",
        action="store_true",
        help="replace the environment in the folder, once the new one is made",
    )
    own.add_argument("--keep", action="store_true", help="keep the environment even if something fails")
    own.add_argument(
        "--memory-growth", action="store_true", help="make TensorFlow take GPU memory as it needs it"
    )
    own.add_argument(
        "--installer", choices=("auto", "pip", "uv"), default="auto", help="auto: uv if it is on PATH"
    )
    own.add_argument("--no-proof", action="store_true", help="do not start TensorFlow in the new environment")
    own.add_argument("--log", metavar="FILE", help="the log of every step (default: beside the environment)")


def run(args: argparse.Namespace) -> int:
    """Exit code 0 if it is installed; 1 if the request cannot work here. Raises UnableError (3), UsageError
    (2)."""
    from doctor.install.job import make_job
    from doctor.install.target import look

    outcome = answer(args).outcome
    plan = _chosen(outcome, args)
    if plan is None:
        return _refused(outcome, args)
    env = expanded(args.env).absolute()
    if not str(env).isprintable():
        raise UsageError(
            "the name of the environment's folder contains control characters", "choose another --env"
        )
    job = make_job(plan, outcome.context, env, memory_growth=args.memory_growth, installer=args.installer)
    if args.dry_run:
        from doctor.install.script import script

        _put(script(job, keep=args.keep, replace=args.replace), args.output)
        return 0
    look(job.env, args.replace)
    _room(job)
    _announce(job, outcome, args)
    if not args.yes and not _agreed(args):
        say("Nothing was done.")
        return 3
    return _carry_out(job, args)


def _chosen(outcome: Outcome, args: argparse.Namespace) -> Plan | None:
    """The first plan that can be carried out here, if it fulfils the request; only the driver may be
    missing."""
    from doctor.install.job import ROUTES

    if args.os or args.driver or args.gpu or args.machine:
        # a described machine: its plan is installed here only where the platform is the same
        import platform

        system = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}.get(platform.system(), "")
        if outcome.context.kind not in (system, "wsl" if system == "linux" else system):
            raise UsageError(
                "the described machine has another platform than this one", "run install there, or use plan"
            )
    for plan in outcome.plans:
        if plan.route not in ROUTES or (plan.route == "cpu") is not outcome.context.for_cpu:
            continue
        if plan.candidate.given_up & {"tensorflow", "python", "cuda", "cudnn", "system"}:
            continue
        return plan
    return None


def _refused(outcome: Outcome, args: argparse.Namespace) -> int:
    from doctor.commands.plan import show

    show(outcome, args)
    if not outcome.plans:
        raise UnableError("no plan can be installed here")
    if outcome.works and not outcome.context.for_cpu:
        raise UnableError(
            f"the plan uses {outcome.plans[0].route}, and install supports only pip and uv",
            "its commands are above; --cpu installs the CPU plan",
        )
    say("Nothing was installed: the request cannot work here, but the plans above can.")
    return 1


def _room(job: Job) -> None:
    """Raise UnableError if there is not enough disk space, or the folder cannot be written."""
    from doctor.install.space import cache_folder, nearest_folder, shortage

    folder = nearest_folder(job.env)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UnableError(f"{folder} cannot be written", "choose another folder with --env")
    missing = shortage(job.plan, job.env, temporary_folder(), cache_folder())
    if missing:
        raise UnableError(
            missing,
            "free some space (pip cache purge, for one), or choose another disk with --env and TMPDIR",
        )


def _announce(job: Job, outcome: Outcome, args: argparse.Namespace) -> None:
    """Print every command before any is run; on standard error, so that --format json stays clean."""
    from doctor.install.space import needed_mib

    if args.quiet and args.yes:
        return

    disk, wheels = needed_mib(job.plan)
    say(
        f"TensorFlow {job.plan.tensorflow} into {job.env} ({job.plan.route}): about {disk / 1024:.1f} GiB on"
        f" disk, up to {wheels / 1024:.1f} GiB to download unless pip's cache holds them."
    )
    for finding in outcome.findings:
        say(f"{finding.severity}: {finding.title} [{finding.code}]")
    if args.replace and os.path.lexists(job.env):
        say(
            f"When the new environment is ready, the one that is in {job.env} now is removed, with"
            " everything in its folder."
        )
    for action in job.actions:
        say(f"  {action.line}")
    for link in job.links:
        say(
            f"  then, inside it: {link.into}/{link.library} -> {link.folder}/{link.library} (a link, so that"
            " the loader finds it)"
        )
    if job.memory_growth:
        say("  then, inside it: memory growth (a .pth file that sets TF_FORCE_GPU_ALLOW_GROWTH)")
    by_hand = [step for step in job.plan.commands if step.needs_root]
    if by_hand:
        say("Not done by this command; an administrator must do it:")
        for step in by_hand:
            say(f"  {one_line(step.text)}   {comment(step.why)}")


def _agreed(args: argparse.Namespace) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to ask for confirmation",
            "--yes installs without asking, --dry-run shows the script",
        )
    say("Go ahead? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _carry_out(job: Job, args: argparse.Namespace) -> int:
    from doctor.install.proof import prove
    from doctor.install.run import Log, run

    try:
        log = Log(Path(args.log)) if args.log else Log.beside(job.env)
    except OSError as problem:
        raise UnableError(f"cannot write the log: {problem}", "name one with --log") from problem
    proofs: list[Proof] = []

    def accept() -> None:
        if args.no_proof:
            return
        if not args.quiet:
            say("Proving it: starting TensorFlow there ...")
        proof = prove(job.env, gpu=job.plan.route != "cpu")
        proofs.append(proof)
        for sentence in proof.sentences:
            log.say(sentence)
        if proof.kind == "broken" and not args.keep:
            raise UnableError(
                f"the new environment failed the check and was removed: {'; '.join(proof.sentences)}",
                f"--keep keeps it; the log is {log.path}",
            )

    try:
        log.say(f"TensorFlow {job.plan.tensorflow} by {job.plan.route} into {job.env}")
        written = run(job, log, keep=args.keep, replace=args.replace, quiet=args.quiet, accept=accept)
        return _summary(job, proofs[0] if proofs else None, written, log, args)
    finally:
        log.close()


def _summary(job: Job, proof: Proof | None, written: list[str], log: Log, args: argparse.Namespace) -> int:
    """Print what was done, and what was proved or left unproved."""
    sentences = list(proof.sentences) if proof else ["installed; not proved (--no-proof)"]
    activate = f"{job.env}\\Scripts\\activate" if os.name == "nt" else f". {job.env}/bin/activate"
    document: dict[str, Any] = {
        "schema": 1,
        "env": str(job.env),
        "tensorflow": job.plan.tensorflow,
        "route": job.plan.route,
        "python": job.plan.python,
        "result": proof.kind if proof else "not proved",
        "proof": sentences,
        "written": written,
        "log": str(log.path),
        "findings": list(proof.findings) if proof else [],
    }
    if args.format == "json":
        _put(as_json(document) + "\n", args.output)
    else:
        lines = [f"TensorFlow {job.plan.tensorflow} is in {job.env} (Python {job.plan.python}).", *sentences]
        if len(written) > 3:
            folders = sorted({str(Path(line.partition(" -> ")[0]).parent) for line in written})
            lines.append(
                f"Besides packages: {len(written)} files in {' and '.join(folders)}; the log and"
                " --format json list them"
            )
        else:
            lines += [f"Besides packages: {line} (undo: remove it)" for line in written]
        lines += [f"Use it: {activate}", f"Undo it: remove the folder {job.env}", f"Log: {log.path}"]
        _put("\n".join(lines) + "\n", args.output)
    return {"broken": 1, "unknown": 3}.get(proof.kind, 0) if proof else 0


def _put(text: str, output: str | None) -> None:
    from doctor.render.output import destination

    with destination(output) as out:
        out.write(text)
