"""Tests Slurm nodes, with a real controller and real node daemons on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from doctor.errors import UsageError
from doctor.fleet import slurm
from tests.fleet.conftest import ROOT, Cluster

Fleet = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def asked(cluster: Cluster) -> dict[str, Any]:
    """The result of one run on nodes that answer or are down, started outside any job."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "doctor",
            "fleet",
            "--slurm",
            "n[1-3],broken",
            "-p",
            "gpu",
            "--python",
            str(cluster.environment),
            "--format",
            "json",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **cluster.variables},
    )
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    document["exit"] = done.returncode
    document["by_name"] = {node["name"]: node for node in document["nodes"]}
    return document


@pytest.mark.slow
def test_each_node_answers_or_says_why_not(asked: dict[str, Any]) -> None:
    nodes = asked["by_name"]
    assert {
        name: node["status"] for name, node in nodes.items() if name in ("n1", "n2", "n3")
    } == dict.fromkeys(("n1", "n2", "n3"), "answered")
    assert nodes["broken"]["status"] == "unreachable"
    assert "bad DIMM | ask Kim" in nodes["broken"]["reason"]


@pytest.mark.slow
def test_a_dead_node_and_one_that_hangs_are_given_up(cluster: Cluster, fleet: Fleet) -> None:
    """The controller believes that both nodes are idle."""
    done = fleet("--slurm", "dead,hangs", "--timeout", "3", "--format", "json", env=cluster.variables)
    nodes = json.loads(done.stdout)["nodes"]
    assert [node["name"] for node in nodes] == ["dead", "hangs"]
    for node in nodes:
        assert node["status"] in ("unreachable", "timed-out"), node
        assert node["reason"]
    assert done.returncode == 3


@pytest.mark.slow
def test_the_gpus_of_a_node_are_asked_for(asked: dict[str, Any]) -> None:
    env = {name: asked["by_name"][name]["report"]["facts"]["env"]["value"] for name in ("n1", "n3")}
    assert env["n1"]["SLURM_GPUS_ON_NODE"] == "2"
    assert "SLURM_GPUS_ON_NODE" not in env["n3"]


@pytest.mark.slow
def test_files_that_differ_on_one_node_are_found(asked: dict[str, Any]) -> None:
    difference = next((d for d in asked["differences"] if d["fact"] == "tensorflow"), None)
    if difference is None:
        pytest.skip("no mount namespaces here, so all nodes would have the same files")
    assert (difference["most"], difference["others"]) == ("2.15.0", {"n2": "2.16.1"})


@pytest.mark.slow
def test_no_job_is_left(asked: dict[str, Any], cluster: Cluster) -> None:
    done = subprocess.run(
        ["squeue", "-h", "-t", "PD,R", "-o", "%j"],
        env={**os.environ, **cluster.variables},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "tfgpu-doctor" not in done.stdout


@pytest.mark.slow
def test_in_a_job_its_own_nodes_are_asked(cluster: Cluster) -> None:
    inner = [sys.executable, "-m", "doctor", "fleet", "--slurm", "--timeout", "30", "--format", "json"]
    done = subprocess.run(
        ["salloc", "-Q", "-w", "n1,n3", "-N", "2", "--immediate=20", *inner],
        env={**os.environ, **cluster.variables, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout, done.stderr
    nodes = json.loads(done.stdout)["nodes"]
    assert [(node["name"], node["status"]) for node in nodes] == [("n1", "answered"), ("n3", "answered")]
    assert "slurm" in nodes[0]["report"]["facts"]["environment"]["value"]


@pytest.mark.slow
def test_it_needs_no_root(cluster: Cluster, tmp_path: Path) -> None:
    python = "/usr/bin/python3"
    if (
        not shutil.which("setpriv")
        or subprocess.run(
            [python, "-c", "import sys; sys.exit(sys.version_info < (3, 9))"], check=False
        ).returncode
    ):
        pytest.skip("no Python here can be started by another user")
    import packaging

    place = cluster.folder / "tool"
    for source in (ROOT / "doctor", ROOT / "compat_tables", Path(packaging.__file__).parent):
        shutil.copytree(source, place / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["chmod", "-R", "a+rX", str(place)], check=True)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(
        [
            *user,
            python,
            "-B",
            "-m",
            "doctor",
            "fleet",
            "--slurm",
            "n3",
            "--timeout",
            "30",
            "--format",
            "json",
        ],
        env={
            "PATH": "/usr/bin:/bin:/usr/sbin",
            "HOME": "/nonexistent",
            "PYTHONPATH": str(place),
            **cluster.variables,
        },
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout, done.stderr
    assert [node["status"] for node in json.loads(done.stdout)["nodes"]] == ["answered"], done.stdout[:500]


@pytest.mark.slow
def test_a_check_on_a_login_node_says_that_it_is_one(cluster: Cluster) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLURM_")}
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "check", "--format", "json"],
        env={**env, **cluster.variables},
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        check=False,
    )
    report = json.loads(done.stdout)
    assert "slurm-login" in report["facts"]["environment"]["value"]
    absent = next((f for f in report["findings"] if f["code"] == "gpu-absent"), None)
    if absent is not None:
        assert "login node" in absent["explanation"]
        assert "srun" in absent["prescription"][0]["text"]


@pytest.mark.slow
def test_a_partition_is_refused_inside_a_job(cluster: Cluster, fleet: Fleet) -> None:
    done = fleet("--slurm", "-p", "gpu", env={**cluster.variables, "SLURM_JOB_ID": "7"})
    assert done.returncode == 2
    assert "inside a job" in done.stderr


@pytest.mark.parametrize(
    "words", [{"nodelist": "$(id)"}, {"partition": "-x"}, {"account": "a b"}, {"gres": "gpu:1;id"}]
)
def test_a_value_cannot_add_an_option_of_srun(words: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        slurm.Options(**words)
