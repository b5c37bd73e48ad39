"""Runs `check` on many nodes at the same time. It starts one local program for each node, reads the program's
output, and applies a time limit to each."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from doctor.fleet.answers import LARGEST, Answer, NotReportError, answered, parsed, unanswered
from doctor.fleet.sent import NO_PYTHON, least, payload
from doctor.probe.running import Ran, end_children, run_program
from doctor.values import dataclass

LATE = 124
"""The exit status of a node's program that ended itself when its time limit passed (`_boot.py`)."""


def _patience(timeout: float) -> float:
    """Return after how many seconds this machine kills the local program for a node. timeout: the time limit
    of the program on the node, which is shorter."""
    return timeout + min(15.0, 2 + timeout / 2)


@dataclass(frozen=True, slots=True)
class Asked:
    """A node to ask. argv: the local command that runs the shell line of `doctor.fleet.sent` on the node."""

    name: str
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """A node's answer. more: what `doctor.fleet.peers` printed on the node; None if it did not run."""

    answer: Answer
    more: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """The work for every node. argv: the arguments of `check`. timeout: seconds per node. jobs: the number of
    nodes to ask at the same time. peers: see `doctor.fleet.sent.payload`."""

    argv: tuple[str, ...]
    timeout: float
    jobs: int
    peers: Callable[[str], dict[str, Any]] | None = None


def ask(
    nodes: Sequence[Asked],
    order: Order,
    why: Callable[[Ran], tuple[str, str] | None],
    tell: Callable[[int], None],
) -> tuple[list[Reply], bool]:
    """Ask all nodes. Returns their replies in the same order, and whether the user interrupted.

    why: a function that returns status and reason if the program that reaches a node failed, None if that
    program is not at fault. tell: called with 1 after each node. On Ctrl-C, nodes without an answer are
    marked as failed, and no program is left running.
    """
    replies: dict[str, Reply] = {}
    pool = ThreadPoolExecutor(max_workers=max(1, min(order.jobs, len(nodes))))
    waiting: set[Future[Reply]] = {pool.submit(_asked, node, order, why) for node in nodes}
    try:
        while waiting:
            done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                result = future.result()
                replies[result.answer.name] = result
                tell(1)
        interrupted = False
    except KeyboardInterrupt:
        interrupted = True
    finally:
        for future in waiting:
            future.cancel()
        end_children()
        pool.shutdown(wait=True)
    left = "the run ended before the node answered"
    found = [replies.get(node.name) or Reply(unanswered(node.name, "failed", left)) for node in nodes]
    return found, interrupted


def _asked(node: Asked, order: Order, why: Callable[[Ran], tuple[str, str] | None]) -> Reply:
    mark = f"tfgpu-doctor {secrets.token_hex(16)}"
    peers = order.peers(node.name) if order.peers else None
    feed = payload(list(order.argv), mark=mark, limit=order.timeout, peers=peers)
    ran = run_program(node.argv, _patience(order.timeout), os.environ, LARGEST, feed=feed)
    return understood(node.name, ran, mark, order.timeout, why)


def understood(
    name: str, ran: Ran, mark: str, timeout: float, why: Callable[[Ran], tuple[str, str] | None]
) -> Reply:
    """Return a node's reply from the output of its program.

    mark: the line that separates the parts of the output: the second part is the report, the third (if there
    are four) the result of the node's tests of its peers. The reply is a failure if the report cannot be
    parsed.
    """
    parts = ran.out.split(f"{mark}\n")
    if len(parts) < 3 or ran.status == LATE:
        return Reply(unanswered(name, *_silence(ran, timeout, why)))
    try:
        answer = answered(name, parsed(parts[1].encode()))
    except NotReportError as error:
        return Reply(unanswered(name, "failed", _last(ran.err) or f"its answer is not a report: {error}"))
    try:
        more = json.loads(parts[2]) if len(parts) > 3 else None
    except (ValueError, RecursionError):
        more = None
    return Reply(answer, more if isinstance(more, dict) else None)


def _silence(ran: Ran, timeout: float, why: Callable[[Ran], tuple[str, str] | None]) -> tuple[str, str]:
    """Return the status of a node without an answer, and the reason."""
    if ran.failure:
        return "failed", ran.failure
    if ran.timed_out or ran.status == LATE:
        return "timed-out", f"it did not answer within {timeout:.0f} s"
    if ran.status == NO_PYTHON:
        return "failed", f"there is no Python 3.{least()} or later on its PATH (choose one with --python)"
    return why(ran) or (
        "failed",
        _last(ran.err) or _last(ran.out) or f"the program there ended with status {ran.status}",
    )


def _last(text: str) -> str:
    """Return the last non-empty line of the text."""
    return next((row.strip() for row in reversed(text.splitlines()) if row.strip()), "")
