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
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.fleet.asking import Reply

SECONDS = 25.0
"""All nodes have to start and reach each other within this many seconds."""
_LOWEST, _HIGHEST = 20_000, 32_000  # below the ports that systems use for outgoing connections


@dataclass(frozen=True, slots=True)
class Agreement:
    """The answer to one question about all nodes. question: what has to agree. agrees: None if unknown. why:
    the reason, as a sentence. nodes: each node's value, if that helps. do: what to do, "" if nothing."""

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
    there = [one for one in replies if one.answer.status == "answered"]
    silent = [one.answer.name for one in replies if one.answer.status != "answered"]
    if silent or not there:
        first = Agreement(
            "every node answers",
            None,
            f"{len(silent)} of {len(replies)} nodes could not be asked",
            dict.fromkeys(silent, "no answer"),
        )
        return (first, *(_all(there) if there else ()))
    return tuple(_all(there))


def _all(replies: Sequence[Reply]) -> Iterator[Agreement]:
    yield _same(
        replies,
        "tensorflow",
        "the same TensorFlow",
        "workers of different releases do not train together",
        "install one release on all nodes",
    )
    yield _same(
        replies,
        "gpus",
        "the same GPUs",
        "each worker assumes that all workers have as many devices as it has",
        "request the same GPUs on each node",
    )
    yield _nccl(replies)
    yield _settings(replies)
    yield _reached(replies)
    yield _interfaces(replies)
    yield _tf_config(replies)


def _values(replies: Sequence[Reply], fact: str) -> dict[str, str]:
    return {one.answer.name: one.answer.values.facts.get(fact, "none seen") for one in replies}


def _same(replies: Sequence[Reply], fact: str, question: str, why: str, do: str) -> Agreement:
    values = _values(replies, fact)
    if set(values.values()) == {"none seen"}:
        return Agreement(
            question,
            False if fact == "tensorflow" else None,
            "no TensorFlow was found on any node" if fact == "tensorflow" else "no node shows a GPU",
            {},
            do if fact == "tensorflow" else "",
        )
    if len(set(values.values())) == 1:
        return Agreement(question, True, f"all have {next(iter(values.values()))}", {})
    return Agreement(question, False, why, values, do)


def _nccl(replies: Sequence[Reply]) -> Agreement:
    names = sorted(
        {
            name
            for one in replies
            for name in one.answer.values.facts
            if name.startswith("package.nvidia-nccl")
        }
    )
    question = "the same NCCL"
    for name in names:
        values = _values(replies, name)
        if len(set(values.values())) > 1:
            return Agreement(
                question,
                False,
                f"{name[len('package.') :]} differs",
                values,
                "install one release of it on all nodes",
            )
    if names:
        return Agreement(
            question,
            True,
            "all have "
            + ", ".join(
                f"{n[len('package.') :]} {_values(replies, n)[replies[0].answer.name]}" for n in names
            ),
            {},
        )
    same = (
        len(set(_values(replies, "tensorflow").values())) == 1
        and "tensorflow" in replies[0].answer.values.facts
    )
    return Agreement(
        question,
        True if same else None,
        "no NCCL package was seen; the NCCL inside TensorFlow is the same if TensorFlow is",
        {},
    )


def _settings(replies: Sequence[Reply]) -> Agreement:
    names = sorted(
        {name for one in replies for name in one.answer.values.facts if name.startswith("env.NCCL_")}
    )
    question = "the same NCCL settings"
    differ = [name for name in names if len(set(_values(replies, name).values())) > 1]
    if differ:
        return Agreement(
            question,
            False,
            f"{differ[0][4:]} differs",
            _values(replies, differ[0]),
            "export it in the job's script, before srun",
        )
    return Agreement(
        question,
        True,
        "all nodes agree in " + ", ".join(name[4:] for name in names) if names else "no such variable is set",
        {},
    )


def _reached(replies: Sequence[Reply]) -> Agreement:
    question = "every node reaches every other one by its name"
    unheard = [one.answer.name for one in replies if one.more is None]
    if unheard:
        return Agreement(
            question,
            None,
            f"{len(unheard)} nodes did not report their connections",
            dict.fromkeys(unheard, "not known"),
        )
    said: dict[str, str] = {}
    for one in replies:
        more = one.more or {}
        failed = more.get("failed") if isinstance(more.get("failed"), dict) else {}
        words = [f"{peer}: {reason}" for peer, reason in list((failed or {}).items())[:5]]
        if more.get("listening"):
            words.insert(0, str(more["listening"]))
        if words:
            said[one.answer.name] = "; ".join(words)[:400]
    if said:
        return Agreement(
            question,
            False,
            "some connections fail",
            said,
            "check names, routes and firewalls between the nodes, or ask the cluster's administrator",
        )
    return Agreement(
        question, True, "all connections worked" if len(replies) > 1 else "there is only one node", {}
    )


def _interfaces(replies: Sequence[Reply]) -> Agreement:
    question = "the interfaces in NCCL_SOCKET_IFNAME exist"
    missing = {}
    wanted = False
    for one in replies:
        names = one.answer.values.facts.get("env.NCCL_SOCKET_IFNAME", "")
        there = (one.more or {}).get("interfaces")
        if not names or names.startswith("^") or not isinstance(there, list):
            continue
        wanted = True
        exact, words = names.startswith("="), [word for word in names.lstrip("=").split(",") if word]
        if not any(
            str(name) == word or (not exact and str(name).startswith(word))
            for name in there
            for word in words
        ):
            missing[one.answer.name] = f"has {', '.join(map(str, there[:20]))}, not {names}"
    if missing:
        return Agreement(
            question,
            False,
            "NCCL_SOCKET_IFNAME contains an interface that a node does not have",
            missing,
            "set it to an interface that all nodes have, or unset the variable",
        )
    return Agreement(
        question,
        True,
        "the interfaces exist on each node" if wanted else "NCCL chooses its interfaces itself",
        {},
    )


def _tf_config(replies: Sequence[Reply]) -> Agreement:
    """Check whether the TF_CONFIG of each node's step fits the job."""
    question = "TF_CONFIG fits the nodes of the job"
    texts = {one.answer.name: str((one.more or {}).get("tf_config") or "") for one in replies}
    if not any(texts.values()):
        return Agreement(
            question,
            None,
            "TF_CONFIG is not set here: the program, or SlurmClusterResolver, has to set it on each node",
            {},
        )
    lacking = [name for name, text in texts.items() if not text]
    if lacking:
        return Agreement(
            question,
            False,
            "some nodes have no TF_CONFIG",
            dict.fromkeys(lacking, "not set"),
            "set it on every node",
        )
    parsed: dict[str, tuple[dict[str, list[str]], str, int]] = {}
    wrong: dict[str, str] = {}
    for name, text in texts.items():
        try:
            parsed[name] = _parsed(text)
        except (ValueError, RecursionError) as error:
            wrong[name] = str(error)[:200]
    if wrong:
        return Agreement(
            question,
            False,
            "TF_CONFIG cannot be read",
            wrong,
            "TF_CONFIG must contain a cluster and a task, as JSON",
        )
    if len({json.dumps(cluster, sort_keys=True) for cluster, _, _ in parsed.values()}) > 1:
        return Agreement(
            question,
            False,
            "the cluster in TF_CONFIG differs among the nodes",
            {n: ", ".join(_hosts(c)) for n, (c, _, _) in parsed.items()},
            "give all nodes the same list",
        )
    tasks = Counter((kind, index) for _, kind, index in parsed.values())
    (kind, index), count = tasks.most_common(1)[0]
    if count > 1:
        same = {name: f"{kind} {index}" for name, (_, k, i) in parsed.items() if (k, i) == (kind, index)}
        return Agreement(
            question,
            False,
            f"{count} nodes claim to be {kind} {index}",
            same,
            "give each node its own task index (SLURM_PROCID)",
        )
    cluster = next(iter(parsed.values()))[0]
    hosts = [_short(host) for host in _hosts(cluster)]
    outside = {
        name: f"{k} {i} is {cluster[k][i]}"
        for name, (_, k, i) in parsed.items()
        if _short(cluster[k][i]) != _short(name)
    }
    addresses = {_address(host) for host in _hosts(cluster)}
    if outside and not all(addresses):  # IP addresses cannot be compared with host names
        return Agreement(
            question,
            False,
            "the entry for a node's own task names another node",
            outside,
            "list the nodes in the order of their tasks",
        )
    more = sorted(set(hosts) - {_short(name) for name in texts})
    if more and not any(addresses):
        return Agreement(
            question,
            False,
            f"TF_CONFIG contains nodes that are not in this job: {', '.join(more[:5])}",
            {},
            "make the list from this job's nodes",
        )
    return Agreement(question, True, f"{len(hosts)} tasks on {len(texts)} nodes", {})


def _parsed(text: str) -> tuple[dict[str, list[str]], str, int]:
    """Return the cluster, and the kind and index of the task, from a TF_CONFIG. Raises ValueError."""
    document = json.loads(text)
    cluster, task = (
        (document.get("cluster"), document.get("task")) if isinstance(document, dict) else (None, None)
    )
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


def _short(host: str) -> str:
    """Return a host without its port; a host name also loses its domain."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return name if _address(host) else name.partition(".")[0]


def _address(host: str) -> bool:
    """Whether a host is an IP address."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return name.strip("[]").replace(".", "").replace(":", "").isdecimal() or name.startswith("[")
