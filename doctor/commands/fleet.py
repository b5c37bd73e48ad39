"""`tfgpu-doctor fleet`: check many nodes, and say which of them differ and what to do."""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import TYPE_CHECKING

from doctor.commands.numbers import SECONDS, whole
from doctor.errors import UnableError, UsageError

if TYPE_CHECKING:
    from doctor.fleet.answers import Answer
    from doctor.fleet.asking import Reply
    from doctor.render.fleet_document import Result

EPILOG = """\
examples:
  tfgpu-doctor fleet read reports/          compare reports that you collected (check --format json)
  tfgpu-doctor fleet --ssh n1,n2,n3         run `check` on each host; --ssh @hosts.txt reads a file
  tfgpu-doctor fleet --slurm -p gpu         run `check` on each node of a partition; or --slurm n[1-8]
  tfgpu-doctor fleet --slurm --distributed  in a job: do its nodes agree for distributed training?
  tfgpu-doctor fleet --ray                  run `check` on each node of the running Ray cluster
  tfgpu-doctor fleet --manifest kubernetes --image IMAGE --nodes 8 > fleet.yaml  for `kubectl apply`
  tfgpu-doctor fleet --ssh @hosts.txt --format json --output today.json --since yesterday.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `fleet` to the parser."""
    parser.add_argument(
        "words", nargs="*", metavar="read PATH", help="compare reports: files, folders, - for standard input"
    )
    parser.add_argument(
        "--since", metavar="FILE", help="show what changed since the earlier run that wrote this JSON"
    )
    engines = parser.add_argument_group("how to run `check` on the nodes")
    engines.add_argument(
        "--ssh",
        metavar="HOSTS",
        help="run `check` through ssh on these hosts: HOST,USER@HOST, or @FILE with one host per line",
    )
    engines.add_argument("--ssh-config", metavar="FILE", help="use this ssh configuration file (ssh -F)")
    engines.add_argument(
        "--slurm",
        nargs="?",
        const="",
        metavar="NODELIST",
        help=(
            "run `check` as a Slurm step on each node (default: the nodes of this job, or outside a job all"
            " nodes)"
        ),
    )
    engines.add_argument("-p", "--partition", help="the Slurm partition")
    engines.add_argument("-A", "--account", help="the Slurm account")
    engines.add_argument(
        "--gres", help="Slurm generic resources for each step (default: all GPUs of the node)"
    )
    engines.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        metavar="ADDRESS",
        help="run `check` as a task on each node of a Ray cluster",
    )
    engines.add_argument(
        "--manifest",
        choices=("kubernetes",),
        help="print a manifest; apply it to run the check on the cluster's nodes",
    )
    nodes = parser.add_argument_group("on the nodes")
    nodes.add_argument(
        "--python", metavar="PATH", help="the environment to examine (as for `check --python`)"
    )
    nodes.add_argument(
        "--timeout",
        type=SECONDS,
        default=60,
        metavar="S",
        help="time limit for each node, in seconds (default: 60)",
    )
    nodes.add_argument(
        "--jobs",
        type=whole(1, 1000),
        default=32,
        metavar="N",
        help="number of nodes to check at the same time (default: 32)",
    )
    nodes.add_argument(
        "--distributed",
        action="store_true",
        help="also check whether the nodes agree on what MultiWorkerMirroredStrategy needs",
    )
    pods = parser.add_argument_group("options of --manifest kubernetes")
    pods.add_argument(
        "--image", help="the container image in which to run `check`: the image that you train with"
    )
    pods.add_argument(
        "--nodes",
        type=whole(1, 5000),
        metavar="N",
        help="make an indexed Job for N nodes (default: a DaemonSet)",
    )
    pods.add_argument(
        "--gpus",
        type=whole(0, 64),
        default=1,
        metavar="N",
        help="number of GPUs (nvidia.com/gpu) that each pod requests (default: 1)",
    )
    pods.add_argument("--namespace", help="the Kubernetes namespace of the job")
    pods.add_argument(
        "--node-selector",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="check only nodes with this label",
    )
    pods.add_argument(
        "--toleration",
        action="append",
        default=[],
        metavar="KEY[=VALUE][:EFFECT]",
        help="a taint to tolerate (default: nvidia.com/gpu)",
    )


def run(args: argparse.Namespace) -> int:
    """Check or compare the nodes and print the result.

    Returns exit code 0; 1 if a node has an error; 3 if a node could not be reached or examined. Raises
    UsageError for wrong options, InputError if a file cannot be read, UnableError if ssh, Slurm, Ray or the
    cluster is not available, and KeyboardInterrupt, after printing the answer, if the user interrupted.
    """
    chosen = [name for name in ("ssh", "slurm", "ray", "manifest") if getattr(args, name) is not None]
    chosen += ["read"] if args.words else []
    if len(chosen) != 1:
        names = " and ".join(f"--{name}" if name != "read" else "`fleet read`" for name in chosen[:2])
        raise UsageError(
            f"{names} exclude each other" if chosen else "neither nodes nor reports were given",
            "use one of `fleet read PATH`, --ssh HOSTS, --slurm, --ray and --manifest kubernetes",
        )
    if args.distributed and chosen != ["slurm"]:
        raise UsageError(
            "--distributed needs --slurm", "run the command inside the Slurm job that will train the model"
        )
    if args.distributed and not os.environ.get("SLURM_JOB_ID"):
        raise UsageError(
            "--distributed needs a Slurm job, and this shell is not in one",
            "start one with salloc -N 2 --gres=gpu:1, or put the command into a job script",
        )
    if chosen == ["manifest"]:
        return _manifest(args)
    from doctor.fleet.compare import compared
    from doctor.fleet.read import earlier
    from doctor.render.fleet_document import Result

    before = earlier(args.since) if args.since is not None else None
    interrupted, agreement = False, None
    if chosen == ["read"]:
        answers = _read(args, keep=args.format == "json")
    else:
        replies, interrupted = _ask(args, chosen[0])
        answers = [one.answer for one in replies]
        if args.distributed:
            from doctor.fleet.distributed import agreements

            agreement = agreements(replies)
    changes = None
    if before is not None:
        from doctor.fleet.drift import changes as drifted

        changes = drifted(before, answers)
    return _emit(Result(compared(answers), changes, agreement, interrupted), args)


def _read(args: argparse.Namespace, *, keep: bool) -> list[Answer]:
    from doctor.fleet.read import read
    from doctor.render.progress import Progress

    if args.words[0] != "read" or len(args.words) < 2:
        raise UsageError(
            f"there is no `fleet {args.words[0]}`" if args.words[0] != "read" else "no reports were given",
            "use `fleet read PATH ...`",
        )
    progress = Progress("reports", quiet=args.quiet)
    try:
        return read(args.words[1:], keep=keep, tell=progress)
    finally:
        progress.end()


def _emit(result: Result, args: argparse.Namespace) -> int:
    from doctor.render.fleet import rendered
    from doctor.render.options import Options
    from doctor.render.output import destination

    with destination(args.output) as stream:
        for part in rendered(result, Options.of(args, stream)):
            stream.write(part)
    if result.interrupted:
        raise KeyboardInterrupt
    code = result.exit_code
    # --exit-zero hides the errors of nodes, but not that a node could not be reached
    return UnableError.exit_code if code == 1 and args.exit_zero and result.comparison.incomplete else code


def _ask(args: argparse.Namespace, engine: str) -> tuple[list[Reply], bool]:
    """Run the check on all nodes with `engine`. Returns the replies, and whether the user interrupted."""
    from doctor.fleet import asking, slurm, ssh
    from doctor.render.progress import Progress

    argv = ["check", "--format", "json", *(["--python", args.python] if args.python else [])]
    order = asking.Order(tuple(argv), float(args.timeout), args.jobs)
    silent: list[Answer] = []
    progress = Progress("answers", quiet=args.quiet)
    with contextlib.ExitStack() as stack:
        stack.callback(progress.end)
        if engine == "ray":
            from doctor.fleet import ray

            return ray.ask(args.ray, order, args.python, os.environ, progress.expect, progress)
        if engine == "ssh":
            nodes, why = ssh.nodes(ssh.hosts(args.ssh), args.python, order.timeout, args.ssh_config), ssh.why
        else:
            asked = slurm.Options(args.slurm, args.partition, args.account, args.gres)
            found = slurm.nodes(asked, args.python, order.timeout, os.environ)
            stack.enter_context(slurm.cleaned(found))
            nodes, silent, why = found.asked, found.silent, slurm.why
            if args.distributed:  # all at the same time, because they have to reach each other
                from doctor.fleet.distributed import SECONDS, peers

                names = [node.name for node in nodes]
                order = asking.Order(
                    order.argv, order.timeout + SECONDS, max(order.jobs, len(nodes)), peers(names)
                )
        progress.expect(len(nodes))
        replies, interrupted = asking.ask(nodes, order, why, progress)
    return [*replies, *(asking.Reply(answer) for answer in silent)], interrupted


def _manifest(args: argparse.Namespace) -> int:
    from doctor.fleet.kubernetes import Options, manifest
    from doctor.render.output import destination

    if not args.image:
        raise UsageError(
            "--manifest kubernetes needs --image",
            "use the image that you train with; it must contain Python 3.8 or later",
        )
    asked = Options(
        args.image,
        args.nodes,
        args.gpus,
        args.namespace,
        tuple(args.node_selector),
        tuple(args.toleration),
        args.python,
        args.timeout,
    )
    with destination(args.output) as stream:
        for part in manifest(asked):
            stream.write(part)
    return 0
