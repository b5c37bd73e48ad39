"""Runs `check` on nodes through Ray, as one task pinned to each node of a running cluster.

Ray requires that a client has the same versions of Ray and Python as the cluster, so the client runs in the
user's Python, not in the Python of this process.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from doctor.errors import UnableError
from doctor.fleet.answers import LARGEST, unanswered
from doctor.fleet.asking import Order, Reply, understood
from doctor.fleet.sent import payload, script
from doctor.probe.running import Ran, run_program
from doctor.subprocesses import Child, ChildError, program

START = 60.0
"""Time limit, in seconds, to reach the cluster."""
OUTPUT = 1 << 30
"""The maximum size of all answers together, compressed, in bytes."""
_CHOOSE = "choose one with --ray ADDRESS: HOST:6379, or ray://HOST:10001"
_HAS_RAY = "import importlib.util, sys; sys.exit(importlib.util.find_spec('ray') is None)"


def ask(
    address: str,
    order: Order,
    python: str | None,
    env: Mapping[str, str],
    total: Callable[[int], None],
    tell: Callable[[int], None],
) -> tuple[list[Reply], bool]:
    """Ask every node of the cluster. Returns their replies, and whether the user interrupted.

    address: the address of the Ray cluster ("auto": the cluster of this machine). total: called with the
    number of nodes to ask. tell: as in `doctor.fleet.asking.ask`. Raises UnableError if there is no Ray or no
    cluster.
    """
    own = _interpreter(env)
    mark = f"tfgpu-doctor {secrets.token_hex(16)}"
    sent = payload(list(order.argv), mark=mark, limit=order.timeout, watch=False)
    words = {
        "address": address,
        "payload": base64.b64encode(sent).decode(),
        "script": script(python),
        "timeout": order.timeout,
        "jobs": order.jobs,
    }
    with Child(
        own, program("doctor.fleet", "_ray.py"), [], {**env, "RAY_USAGE_STATS_ENABLED": "0"}, limit=OUTPUT
    ) as child:
        child.tell(json.dumps(words))
        nodes = _nodes(child)
        names = _named(nodes)
        replies: dict[str, Reply] = {}
        for node in nodes:
            if not node["alive"]:
                replies[node["id"]] = Reply(
                    unanswered(names[node["id"]], "unreachable", f"Ray lists it as dead: {node['reason']}")
                )
        total(len(nodes) - len(replies))
        rounds = 1 + (len(nodes) - len(replies)) // max(1, order.jobs)
        left = "the run ended before the node answered"
        interrupted = False
        try:
            for answer in child.answers(time.monotonic() + START + rounds * (order.timeout + 20)):
                if answer.get("stage") == "done":
                    break
                if answer.get("stage") == "asked" and answer.get("node") in names:
                    replies[answer["node"]] = _reply(names[answer["node"]], answer, mark, order.timeout)
                    tell(1)
        except KeyboardInterrupt:
            interrupted = True
        except ChildError as error:
            left = str(error)
        return [
            replies.get(node["id"]) or Reply(unanswered(names[node["id"]], "failed", left)) for node in nodes
        ], interrupted


def _nodes(child: Child) -> list[dict[str, Any]]:
    """Return the nodes of the cluster, without those that were removed on purpose."""
    try:
        for answer in child.answers(time.monotonic() + START):
            if answer.get("stage") == "failed":
                raise UnableError(f"no Ray cluster could be reached: {answer.get('error')}", _CHOOSE)
            if answer.get("stage") == "nodes":
                return [
                    node
                    for node in answer["nodes"]
                    if node["alive"] or "EXPECTED" not in node["death"].upper().replace("UNEXPECTED", "")
                ]
    except ChildError as error:
        raise UnableError(f"no Ray cluster could be reached: {error}", _CHOOSE) from error
    raise UnableError(
        f"no Ray cluster could be reached: Ray's client {child.how_it_ended()}",
        "check that `ray status` works here",
    )


def _named(nodes: list[dict[str, Any]]) -> dict[str, str]:
    """Return a name for each node: the name that it was started with, otherwise its host's name. If several
    nodes share a name, the first characters of their ids are appended."""
    names = {
        node["id"]: (
            node["name"] if node["name"] not in ("", node["address"]) else node["host"] or node["address"]
        )
        for node in nodes
    }
    several = Counter(names.values())
    return {key: name if several[name] == 1 else f"{name}#{key[:8]}" for key, name in names.items()}


def _reply(name: str, answer: dict[str, Any], mark: str, timeout: float) -> Reply:
    if answer.get("error"):
        return Reply(unanswered(name, "unreachable", f"its task failed: {answer['error']}"))
    try:
        packed = base64.b64decode(str(answer.get("out") or ""))
        out = zlib.decompressobj().decompress(packed, LARGEST).decode("utf-8", "replace")
    except (ValueError, zlib.error):
        out = ""
    ran = Ran(answer.get("status"), out, str(answer.get("err")), bool(answer.get("late")))
    return understood(name, ran, mark, timeout, lambda _: None)


def _interpreter(env: Mapping[str, str]) -> str:
    """Return the path of a Python interpreter in which ray is installed: that of this process, of the
    environment in use, or one on PATH. Raises UnableError."""
    for candidate in _candidates(env):
        if run_program([candidate, "-c", _HAS_RAY], 30, env).status == 0:
            return candidate
    raise UnableError(
        "no Python with the package ray was found",
        "activate the Python environment of the cluster's Ray, or, in a clone of this tool: pip install"
        " '.[ray]'",
    )


def _candidates(env: Mapping[str, str]) -> Iterator[str]:
    if sys.executable:
        yield sys.executable
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if env.get(variable):
            yield str(Path(env[variable]) / "bin" / "python")
    for name in ("python3", "python"):
        found = shutil.which(name, path=env.get("PATH", os.defpath))
        if found:
            yield found
