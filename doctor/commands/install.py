"""`tfgpu-doctor install`: install a plan in a new environment, test it, and remove it if the test fails."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doctor.commands.plan import answer, request_arguments
from doctor.errors import UnableError, UsageError
from doctor.folders import expanded, temporary_folder
from doctor.printable import as_json, say
from doctor.render.output import write
from doctor.shell import comment, one_line

if TYPE_CHECKING:
    from doctor.install.job import Job
    from doctor.install.proof import Proof
    from doctor.install.run import Log
    from doctor.plan import Outcome, Plan

EPILOG = """\
examples:
  tfgpu-doctor install                            the first plan of `plan`, in ./tf-gpu; asks first
  tfgpu-doctor install --tensorflow latest --yes  the newest release, without asking
  tfgpu-doctor install --dry-run > install.sh     writes a script that does all steps
  tfgpu-doctor install --env ~/envs/tf --memory-growth  in another folder, and with memory growth on

The command runs nothing as an administrator, and does not touch the system's Python.
After a failure or Ctrl-C, it removes everything that it made."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `install` to the parser."""
    request_arguments(parser)
    own = parser.add_argument_group("the installation")
    own.add_argument(
        "--env", metavar="DIR", default="tf-gpu", help="the new environment's folder (default: ./tf-gpu)"
    )
    own.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    own.add_argument("--dry-run", action="store_true", help="only print a script that does all steps")
    own.add_argument(
        "--replace",
        action="store_true",
        help="when the new environment is ready, replace the environment that is in the folder now",
    )
    own.add_argument("--keep", action="store_true", help="keep the new environment even if something fails")
    own.add_argument(
        "--memory-growth", action="store_true", help="make TensorFlow allocate GPU memory only as it needs it"
    )
    own.add_argument(
        "--installer",
        choices=("auto", "pip", "uv"),
        default="auto",
        help="auto (default): uv if it is on PATH, otherwise pip",
    )
    own.add_argument("--no-proof", action="store_true", help="skip the final test, which starts TensorFlow")
    own.add_argument("--log", metavar="FILE", help="the file for the log (default: beside the environment)")


def run(args: argparse.Namespace) -> int:
    """Install the first plan that this command can carry out.

    Returns exit code 0 after the installation; 1 if the request cannot work here, or if TensorFlow does not
    work in the new environment (kept with --keep); 3 if the user does not confirm, or if the test has no
    result. Raises UnableError and UsageError.
    """
    from doctor.install.job import make_job
    from doctor.install.target import look

    outcome = answer(args)
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

        write(args.output, script(job, keep=args.keep, replace=args.replace))
        return 0
    look(job.env, args.replace)
    _room(job)
    _announce(job, outcome, args)
    if not args.yes and not _agreed():
        say("Nothing was done.")
        return 3
    return _carry_out(job, args)


def _chosen(outcome: Outcome, args: argparse.Namespace) -> Plan | None:
    """Return the first plan that this command can carry out here and that fulfils the request, or None if
    there is none. The plan may need another driver, which this command does not install."""
    from doctor.install.job import ROUTES

    if args.os or args.driver or args.gpu or args.machine:
        # a plan for a described machine: install it here only if both have the same platform
        system = {"linux": "linux", "win32": "windows", "darwin": "macos"}.get(sys.platform, "")
        if outcome.context.kind not in (system, "wsl" if system == "linux" else system):
            raise UsageError(
                "the described machine has a different platform from this machine",
                "run `install` on that machine, or use `plan`",
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
            f"`install` supports only pip and uv, but the plan uses {outcome.plans[0].route}",
            "run the commands of the plan (see above), or install the CPU plan with --cpu",
        )
    say("Nothing was installed, because the request cannot work on this machine. The plans above can.")
    return 1


def _room(job: Job) -> None:
    """Raise UnableError if there is not enough disk space, or if the folder is not writable."""
    from doctor.install.space import cache_folder, nearest_folder, shortage

    folder = nearest_folder(job.env)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UnableError(f"{folder} is not writable", "choose another folder with --env")
    missing = shortage(job.plan, job.env, temporary_folder(), cache_folder())
    if missing:
        raise UnableError(
            missing,
            "free some space (for example with `pip cache purge`), or choose another disk with --env and"
            " TMPDIR",
        )


def _announce(job: Job, outcome: Outcome, args: argparse.Namespace) -> None:
    """Print all commands on standard error, before the first one runs. Standard output stays free for
    JSON."""
    from doctor.install.space import needed_mib

    if args.quiet and args.yes:
        return

    disk, wheels = needed_mib(job.plan)
    say(
        f"TensorFlow {job.plan.tensorflow} will be installed in {job.env} ({job.plan.route}). It needs about"
        f" {disk / 1024:.1f} GiB on the disk and a download of up to {wheels / 1024:.1f} GiB (less if pip's"
        " cache contains some of the packages)."
    )
    for finding in outcome.findings:
        say(f"{finding.severity}: {finding.title} [{finding.code}]")
    if args.replace and os.path.lexists(job.env):
        say(
            f"When the new environment is ready, it replaces {job.env}: everything in that folder is then"
            " removed."
        )
    for action in job.actions:
        say(f"  {action.line}")
    for link in job.links:
        say(
            f"  then, in the environment: {link.into}/{link.library} -> {link.folder}/{link.library} (a link,"
            " so that the loader finds the library)"
        )
    if job.memory_growth:
        say("  then, in the environment: memory growth (a .pth file that sets TF_FORCE_GPU_ALLOW_GROWTH)")
    by_hand = [step for step in job.plan.commands if step.needs_root]
    if by_hand:
        say("This command does not do the following; an administrator must do it:")
        for step in by_hand:
            say(f"  {one_line(step.text)}   {comment(step.why)}")


def _agreed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "cannot ask for confirmation, because standard input is not a terminal",
            "use --yes to install without confirmation, or --dry-run to print the script",
        )
    say("Go ahead? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _carry_out(job: Job, args: argparse.Namespace) -> int:
    from doctor.install.proof import prove
    from doctor.install.run import Log, run

    try:
        log = Log(Path(args.log)) if args.log else Log.beside(job.env)
    except OSError as problem:
        raise UnableError(f"cannot write the log: {problem}", "choose another file with --log") from problem
    proofs: list[Proof] = []

    def accept() -> None:
        if args.no_proof:
            return
        if not args.quiet:
            say("Testing the new environment: starting TensorFlow there ...")
        proof = prove(job.env, gpu=job.plan.route != "cpu")
        proofs.append(proof)
        for sentence in proof.sentences:
            log.say(sentence)
        if proof.kind == "broken" and not args.keep:
            raise UnableError(
                f"the new environment failed the check and was removed: {'; '.join(proof.sentences)}",
                f"use --keep to keep such an environment; the log is {log.path}",
            )

    try:
        log.say(f"TensorFlow {job.plan.tensorflow} by {job.plan.route} into {job.env}")
        written = run(job, log, keep=args.keep, replace=args.replace, quiet=args.quiet, accept=accept)
        return _summary(job, proofs[0] if proofs else None, written, log, args)
    finally:
        log.close()


def _summary(job: Job, proof: Proof | None, written: list[str], log: Log, args: argparse.Namespace) -> int:
    """Print what was done, and what the test proved."""
    sentences = list(proof.sentences) if proof else ["installed; not tested (--no-proof)"]
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
        write(args.output, as_json(document) + "\n")
    else:
        lines = [f"TensorFlow {job.plan.tensorflow} is in {job.env} (Python {job.plan.python}).", *sentences]
        if len(written) > 3:
            folders = sorted({str(Path(line.partition(" -> ")[0]).parent) for line in written})
            lines.append(
                f"Files added to the packages: {len(written)} in {' and '.join(folders)}"
                " (the log and --format json list them)"
            )
        else:
            lines += [f"File added to the packages: {line} (to undo this, remove it)" for line in written]
        lines += [f"To use it: {activate}", f"To undo it: remove the folder {job.env}", f"Log: {log.path}"]
        write(args.output, "\n".join(lines) + "\n")
    return {"broken": 1, "unknown": 3}.get(proof.kind, 0) if proof else 0
