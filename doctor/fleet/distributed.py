"""Checks whether the nodes of a job agree on what MultiWorkerMirroredStrategy needs: several questions, each
answered with the values of the nodes.

Sources: TensorFlow's guide "Multi-worker training with Keras" (TF_CONFIG, one worker per node) and its
CollectiveAllReduceStrategy, where each worker assumes its own number of devices for all workers; NCCL's
"Environment Variables".
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from doctor.backports import removeprefix
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.fleet.asking import Reply

SECONDS = 25.0
"""All nodes have to start and reach each other within this many seconds."""
_LOWEST, _HIGHEST = 20_000, 32_000  # below the ports that systems use for outgoing connections


@dataclass(frozen=True, slots=True)
class Agreement:
    """The answer to one question about all nodes. question: what has to agree. agrees: whether it does; None
    if unknown. why: the reason, as a clause. nodes: each node's value, if that helps. do: what to do; "" if
    nothing."""

    question: str
    agrees: bool | None
    why: str
    nodes: dict[str, str]
    do: str = ""


def peers(names: Sequence[str]) -> Callable[[str], dict[str, Any]]:
    """Return a function from a node's name to the data that this node receives about the others
    (`doctor.fleet.peers`)."""
    token = secrets.token_hex(16)
    span = max(1, _HIGHEST - _LOWEST - len(names))
    first = _LOWEST + secrets.randbelow(span)
    ports = [[name, first + number] for number, name in enumerate(names)]
    return lambda name: {"name": name, "peers": ports, "token": token, "seconds": SECONDS}


def agreements(replies: Sequence[Reply]) -> tuple[Agreement, ...]:
    """Return the answers to all questions about the nodes of a job."""
    there = [reply for reply in replies if reply.answer.status == "answered"]
    silent = [reply.answer.name for reply in replies if reply.answer.status != "answered"]
    found = []
    if silent or not there:
        why = f"{len(silent)} of {len(replies)} nodes could not be asked"
        found.append(Agreement("every node answers", None, why, dict.fromkeys(silent, "no answer")))
    if there:
        found += [Agreement(question, *answer(there)) for question, answer in _QUESTIONS.items()]
    return tuple(found)


class _Answer(NamedTuple):
    """The answer to a question: the fields of `Agreement` without the question."""

    agrees: bool | None
    why: str
    nodes: dict[str, str]
    do: str = ""


def _facts(replies: Sequence[Reply], name: str) -> dict[str, str]:
    """Return the value of a fact on each node."""
    return {reply.answer.name: reply.answer.values.facts.get(name, "none seen") for reply in replies}


def _names(replies: Sequence[Reply], prefix: str) -> list[str]:
    """Return the names of all facts that begin with a prefix, sorted."""
    return sorted(
        {name for reply in replies for name in reply.answer.values.facts if name.startswith(prefix)}
    )


def _differ(values: dict[str, str]) -> bool:
    return len(set(values.values())) > 1


def _tensorflow(replies: Sequence[Reply]) -> _Answer:
    values, do = _facts(replies, "tensorflow"), "install one release on all nodes"
    if set(values.values()) == {"none seen"}:
        return _Answer(False, "no TensorFlow was found on any node", {}, do)
    if _differ(values):
        return _Answer(False, "workers of different releases do not train together", values, do)
    return _Answer(True, f"all have {next(iter(values.values()))}", {})


def _gpus(replies: Sequence[Reply]) -> _Answer:
    values = _facts(replies, "gpus")
    if set(values.values()) == {"none seen"}:
        return _Answer(None, "no node shows a GPU", {})
    if _differ(values):
        why = "each worker assumes that all workers have as many devices as it has"
        return _Answer(False, why, values, "request the same GPUs on each node")
    return _Answer(True, f"all have {next(iter(values.values()))}", {})


def _nccl(replies: Sequence[Reply]) -> _Answer:
    found = []
    for name in _names(replies, "package.nvidia-nccl"):
        values, package = _facts(replies, name), removeprefix(name, "package.")
        if _differ(values):
            do = f"install one release of {package} on all nodes"
            return _Answer(False, f"{package} differs", values, do)
        found.append(f"{package} {next(iter(values.values()))}")
    if found:
        return _Answer(True, f"all have {', '.join(found)}", {})
    versions = set(_facts(replies, "tensorflow").values())
    why = "no NCCL package was seen; the NCCL inside TensorFlow is the same if TensorFlow is"
    return _Answer(True if len(versions) == 1 and versions != {"none seen"} else None, why, {})


def _settings(replies: Sequence[Reply]) -> _Answer:
    names = _names(replies, "env.NCCL_")
    for name in names:
        values = _facts(replies, name)
        if _differ(values):
            variable = removeprefix(name, "env.")
            do = f"export {variable} in the job's script, before srun"
            return _Answer(False, f"{variable} differs", values, do)
    agree = "all nodes agree in " + ", ".join(removeprefix(name, "env.") for name in names)
    return _Answer(True, agree if names else "no such variable is set", {})


def _reached(replies: Sequence[Reply]) -> _Answer:
    unheard = [reply.answer.name for reply in replies if reply.more is None]
    if unheard:
        why = f"{len(unheard)} nodes did not report their connections"
        return _Answer(None, why, dict.fromkeys(unheard, "not known"))
    trouble: dict[str, str] = {}
    for reply in replies:
        more = reply.more or {}
        failed = more.get("failed")
        words = [str(more["listening"])] if more.get("listening") else []
        if isinstance(failed, dict):
            words += [f"{peer}: {reason}" for peer, reason in list(failed.items())[:5]]
        if words:
            trouble[reply.answer.name] = "; ".join(words)[:400]
    if trouble:
        do = "check names, routes and firewalls between the nodes, or ask the cluster's administrator"
        return _Answer(False, "some connections fail", trouble, do)
    return _Answer(True, "all connections worked" if len(replies) > 1 else "there is only one node", {})


def _interfaces(replies: Sequence[Reply]) -> _Answer:
    missing = {}
    wanted = False
    for reply in replies:
        names = reply.answer.values.facts.get("env.NCCL_SOCKET_IFNAME", "")
        there = (reply.more or {}).get("interfaces")
        if not names or names.startswith("^") or not isinstance(there, list):
            continue
        wanted = True
        exact, words = names.startswith("="), [word for word in names.lstrip("=").split(",") if word]
        if not any(
            str(name) == word or (not exact and str(name).startswith(word))
            for name in there
            for word in words
        ):
            missing[reply.answer.name] = f"has {', '.join(map(str, there[:20]))}, not {names}"
    if missing:
        why = "NCCL_SOCKET_IFNAME contains an interface that a node does not have"
        do = "set NCCL_SOCKET_IFNAME to an interface that all nodes have, or unset it"
        return _Answer(False, why, missing, do)
    return _Answer(
        True, "the interfaces exist on each node" if wanted else "NCCL chooses its interfaces itself", {}
    )


def _tf_config(replies: Sequence[Reply]) -> _Answer:
    """Check whether the TF_CONFIG of each node's step fits the job."""
    texts = {reply.answer.name: str((reply.more or {}).get("tf_config") or "") for reply in replies}
    if not any(texts.values()):
        why = "TF_CONFIG is not set here: the program, or SlurmClusterResolver, has to set it on each node"
        return _Answer(None, why, {})
    lacking = [name for name, text in texts.items() if not text]
    if lacking:
        nodes = dict.fromkeys(lacking, "not set")
        return _Answer(False, "some nodes have no TF_CONFIG", nodes, "set TF_CONFIG on every node")
    parsed: dict[str, tuple[dict[str, list[str]], str, int]] = {}
    wrong: dict[str, str] = {}
    for name, text in texts.items():
        try:
            parsed[name] = _parsed(text)
        except (ValueError, RecursionError) as error:
            wrong[name] = str(error)[:200]
    if wrong:
        do = "TF_CONFIG must contain a cluster and a task, as JSON"
        return _Answer(False, "TF_CONFIG cannot be read", wrong, do)
    lists = {name: ", ".join(_hosts(cluster)) for name, (cluster, _, _) in parsed.items()}
    if len({json.dumps(cluster, sort_keys=True) for cluster, _, _ in parsed.values()}) > 1:
        why = "the cluster in TF_CONFIG differs among the nodes"
        return _Answer(False, why, lists, "give all nodes the same list")
    tasks = {name: f"{kind} {index}" for name, (_, kind, index) in parsed.items()}
    task, count = Counter(tasks.values()).most_common(1)[0]
    if count > 1:
        same = {name: own for name, own in tasks.items() if own == task}
        do = "give each node its own task index (SLURM_PROCID)"
        return _Answer(False, f"{count} nodes claim to be {task}", same, do)
    cluster = next(iter(parsed.values()))[0]
    hosts = _hosts(cluster)
    outside = {
        name: f"{kind} {index} is {cluster[kind][index]}"
        for name, (_, kind, index) in parsed.items()
        if _short(cluster[kind][index]) != _short(name)
    }
    addresses = {_address(host) for host in hosts}
    if outside and not all(addresses):  # IP addresses cannot be compared with host names
        why = "the entry for a node's own task names another node"
        return _Answer(False, why, outside, "list the nodes in the order of their tasks")
    more = sorted({_short(host) for host in hosts} - {_short(name) for name in texts})
    if more and not any(addresses):
        why = f"TF_CONFIG contains nodes that are not in this job: {', '.join(more[:5])}"
        return _Answer(False, why, {}, "make the list from this job's nodes")
    return _Answer(True, f"{len(hosts)} tasks on {len(texts)} nodes", {})


_QUESTIONS: dict[str, Callable[[Sequence[Reply]], _Answer]] = {
    "the same TensorFlow": _tensorflow,
    "the same GPUs": _gpus,
    "the same NCCL": _nccl,
    "the same NCCL settings": _settings,
    "every node reaches every other one by its name": _reached,
    "the interfaces in NCCL_SOCKET_IFNAME exist": _interfaces,
    "TF_CONFIG fits the nodes of the job": _tf_config,
}


def _parsed(text: str) -> tuple[dict[str, list[str]], str, int]:
    """Return the cluster, and the kind and index of the task, from a TF_CONFIG. Raises ValueError."""
    document = json.loads(text)
    document = document if isinstance(document, dict) else {}
    cluster, task = document.get("cluster"), document.get("task")
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        raise ValueError("it has no cluster or no task")
    whole = {
        str(kind): [str(host) for host in hosts] for kind, hosts in cluster.items() if isinstance(hosts, list)
    }
    kind, index = task.get("type"), task.get("index")
    if (
        not isinstance(kind, str)
        or isinstance(index, bool)
        or not isinstance(index, (int, str))
        or not str(index).isdecimal()
    ):
        raise ValueError("its task has no type or no index")
    if kind not in whole or int(index) >= len(whole[kind]):
        raise ValueError(
            f"its task is {kind} {index}, but its cluster lists {len(whole.get(kind, ()))} tasks of this type"
        )
    return whole, kind, int(index)


def _hosts(cluster: dict[str, list[str]]) -> list[str]:
    return [host for hosts in cluster.values() for host in hosts]


def _portless(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name if port.isdecimal() else host


def _short(host: str) -> str:
    """Return a host without its port; a host name also loses its domain."""
    name = _portless(host)
    return name if _address(host) else name.partition(".")[0]


def _address(host: str) -> bool:
    """Whether a host is an IP address."""
    name = _portless(host)
    return name.strip("[]").replace(".", "").replace(":", "").isdecimal() or name.startswith("[")
