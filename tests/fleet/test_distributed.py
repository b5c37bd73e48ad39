"""Tests `fleet --distributed`, which compares the nodes of a job in everything that must match for
distributed training."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from doctor.fleet.answers import Answer, unanswered
from doctor.fleet.asking import Reply
from doctor.fleet.distributed import agreements
from doctor.fleet.values import Values
from tests.fleet.conftest import ROOT, Cluster, free_port
from tests.sampling import each

WORKERS = ["n1:2222", "n2:2222"]


def in_a_job(
    cluster: Cluster, nodes: str, *words: str, **variables: str
) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run `fleet --slurm --distributed` in a job on these nodes. Returns the exit code, and the answer to
    each question."""
    command = [
        sys.executable,
        "-m",
        "doctor",
        "fleet",
        "--slurm",
        "--distributed",
        "--python",
        str(cluster.environment),
        "--format",
        "json",
        *words,
    ]
    done = subprocess.run(
        ["salloc", "-Q", "-w", nodes, "-N", "2", "--immediate=20", *command],
        env={**os.environ, **cluster.variables, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout, done.stderr
    return done.returncode, {one["question"]: one for one in json.loads(done.stdout)["distributed"]}


@pytest.mark.slow
def test_nodes_of_a_job_that_agree_and_reach_each_other(cluster: Cluster) -> None:
    if (
        not shutil.which("unshare")
        or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no mount namespaces here, so the nodes do not know each other's names")
    _, said = in_a_job(cluster, "n1,n3")
    assert said["the same TensorFlow"]["agrees"] is True
    assert said["every node reaches every other one by its name"]["agrees"] is True, said
    assert said["TF_CONFIG fits the nodes of the job"]["agrees"] is None


@pytest.mark.slow
def test_nodes_of_a_job_that_do_not_agree(cluster: Cluster) -> None:
    if (
        not shutil.which("unshare")
        or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no mount namespaces here, so no node can have its own files")
    config = json.dumps({"cluster": {"worker": WORKERS}, "task": {"type": "worker", "index": 0}})
    code, said = in_a_job(cluster, "n1,n2", TF_CONFIG=config, NCCL_SOCKET_IFNAME="ib0")
    assert code == 1
    assert said["the same TensorFlow"]["nodes"] == {"n1": "2.15.0", "n2": "2.16.1"}
    assert "claim to be worker 0" in said["TF_CONFIG fits the nodes of the job"]["why"]
    assert set(said["the interfaces in NCCL_SOCKET_IFNAME exist"]["nodes"]) == {"n1", "n2"}


def test_it_is_refused_outside_a_job() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "fleet", "--slurm", "--distributed"],
        env={k: v for k, v in os.environ.items() if not k.startswith("SLURM_")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert "salloc" in done.stderr


def greet(names: Sequence[str], ports: dict[str, int], seconds: float) -> dict[str, dict[str, Any]]:
    """Run the programs for several nodes at the same time. `ports` may include ports of other nodes, on which
    nothing listens."""
    running = {}
    for name in names:
        order = {
            "name": name,
            "peers": [[peer, port] for peer, port in ports.items()],
            "token": "secret",
            "seconds": seconds,
        }
        code = f"from doctor.fleet import peers; peers.main({order!r})"
        running[name] = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    return {name: json.loads(process.communicate(timeout=60)[0]) for name, process in running.items()}


def test_peers_reach_each_other_and_say_who_does_not_answer() -> None:
    ports = {"localhost": free_port(), "127.0.0.1": free_port(), "no-such-node.invalid": free_port()}
    said = greet(["localhost", "127.0.0.1"], ports, 4)
    assert set(said["localhost"]["reached"]) == {"127.0.0.1"}
    assert set(said["127.0.0.1"]["reached"]) == {"localhost"}
    assert set(said["localhost"]["failed"]) == {"no-such-node.invalid"}
    assert said["localhost"]["unseen"] == ["no-such-node.invalid"]
    assert "lo" in said["localhost"]["interfaces"] or sys.platform != "linux"


def test_another_machine_behind_a_name_is_not_taken_for_the_peer() -> None:
    port = free_port()
    said = greet(
        ["localhost"], {"localhost": port, "127.0.0.1": port}, 2
    )  # both names lead to the node that runs
    assert "where localhost answers" in said["localhost"]["failed"]["127.0.0.1"]


def node(name: str, tf_config: object = "", **facts: str) -> Reply:
    text = tf_config if isinstance(tf_config, str) else json.dumps(tf_config)
    more = {"failed": {}, "interfaces": ["lo", "eth0"], "tf_config": text}
    values = Values({"tensorflow": "2.15.0", "gpus": "2 x A100", **facts}, {})
    return Reply(Answer(name, "answered", verdict="healthy", values=values), more)


def task(index: object, workers: object = WORKERS, kind: str = "worker") -> dict[str, Any]:
    return {"cluster": {"worker": workers}, "task": {"type": kind, "index": index}}


def verdict(
    *replies: Reply, question: str = "TF_CONFIG fits the nodes of the job"
) -> tuple[bool | None, str]:
    one = next(one for one in agreements(replies) if one.question == question)
    return one.agrees, one.why


CASES: list[tuple[str, list[object], bool | None, str]] = [
    ("right", [task(0), task(1)], True, "2 tasks on 2 nodes"),
    ("text index", [task("0"), task("1")], True, "2 tasks"),
    ("with domains", [task(0, ["n1.x:1", "n2.x:1"]), task(1, ["n1.x:1", "n2.x:1"])], True, "2 tasks"),
    (
        "addresses",
        [task(0, ["10.0.0.1:1", "10.0.0.2:1"]), task(1, ["10.0.0.1:1", "10.0.0.2:1"])],
        True,
        "2 tasks",
    ),
    ("unset", ["", ""], None, "not set"),
    ("half", [task(0), ""], False, "some nodes have no TF_CONFIG"),
    ("same index", [task(0), task(0)], False, "claim to be worker 0"),
    ("swapped", [task(1), task(0)], False, "names another node"),
    ("other lists", [task(0), task(1, ["n1:2222", "n9:2222"])], False, "cluster in TF_CONFIG differs"),
    (
        "old job",
        [task(0, [*WORKERS, "n9:2222"]), task(1, [*WORKERS, "n9:2222"])],
        False,
        "not in this job: n9",
    ),
    ("no json", ["{", task(1)], False, "cannot be read"),
    ("deep", ["[" * 100_000, task(1)], False, "cannot be read"),
    ("beyond", [task(5), task(1)], False, "cannot be read"),
    ("types", [task(True), task([1])], False, "cannot be read"),
    ("no kind", [task(0, kind="chief"), task(1)], False, "cannot be read"),
]


@each("configs, agrees, why", [case[1:] for case in CASES])
def test_tf_config_against_the_nodes(configs: list[object], agrees: bool | None, why: str) -> None:
    found = verdict(node("n1", configs[0]), node("n2", configs[1]))
    assert found[0] is agrees, found
    assert why in found[1]


def test_other_questions() -> None:
    two = [node("n1"), node("n2", gpus="1 x A100")]
    assert verdict(*two, question="the same GPUs")[0] is False
    assert verdict(node("n1"), node("n2"), question="the same GPUs")[0] is True
    other = Reply(
        node("n2").answer, {"failed": {"n1": "No route to host"}, "interfaces": [], "tf_config": ""}
    )
    assert verdict(node("n1"), other, question="every node reaches every other one by its name")[0] is False
    mute = Reply(node("n2").answer, None)
    assert verdict(node("n1"), mute, question="every node reaches every other one by its name")[0] is None
    gone = Reply(unanswered("n2", "unreachable", "down"))
    assert verdict(node("n1"), gone, question="every node answers")[0] is None
