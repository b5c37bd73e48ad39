"""Tests Ray nodes in a real cluster on this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from tests.fleet.conftest import ROOT, end, free_port
from tests.tensorflow_envs import package_env

Fleet = Callable[..., "subprocess.CompletedProcess[str]"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def python() -> Path:
    """A Python interpreter with Ray, kept in a cache."""
    try:
        return package_env("fleet-ray", ["ray>=2.40"], 10, 13)
    except RuntimeError as error:
        pytest.skip(f"no Ray here: {error}"[:300])


@pytest.fixture(scope="module")
def address(python: Path) -> Iterator[str]:
    """The address of a cluster with three nodes: r1, r2 (whose user hides a GPU), and r3 (which hangs)."""
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # Ray's sockets need a short path
    port = free_port()
    started: list[subprocess.Popen[bytes]] = []
    common = ["--num-cpus=1", "--disable-usage-stats", "--block", "--object-store-memory=80000000"]

    def start(*words: str, **env: str) -> None:
        started.append(
            subprocess.Popen(
                [str(python.parent / "ray"), "start", *words, *common],
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    def alive() -> int:
        done = subprocess.run(
            [
                str(python),
                "-c",
                (
                    f"import ray; ray.init('127.0.0.1:{port}', log_to_driver=False); print('alive',"
                    " sum(n['Alive'] for n in ray.nodes()))"
                ),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return int(done.stdout.split()[-1]) if done.returncode == 0 else 0

    try:
        start(
            "--head", f"--port={port}", "--include-dashboard=false", "--node-name=r1", f"--temp-dir={folder}"
        )
        patience = time.monotonic() + 90
        while alive() < 1 and time.monotonic() < patience:
            time.sleep(0.5)
        start(f"--address=127.0.0.1:{port}", "--node-name=r2", CUDA_VISIBLE_DEVICES="1")
        while alive() < 2 and time.monotonic() < patience:  # two that start at once may use the same ports
            time.sleep(0.5)
        start(f"--address=127.0.0.1:{port}", "--node-name=r3")
        while alive() < 3 and time.monotonic() < patience:
            time.sleep(0.5)
        if alive() < 3:
            pytest.skip("the Ray cluster did not become ready")
        hung = _raylet(started[2])
        os.kill(hung, signal.SIGSTOP)
        yield f"127.0.0.1:{port}"
        os.kill(hung, signal.SIGCONT)
    finally:
        for process in reversed(started):
            end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _raylet(process: subprocess.Popen[bytes]) -> int:
    """Return the daemon (raylet) of a node, which is a child of `ray start --block`."""
    done = subprocess.run(["pgrep", "-s", str(process.pid)], capture_output=True, text=True, check=False)
    below = subprocess.run(
        ["pgrep", "-P", ",".join([str(process.pid), *done.stdout.split()]), "raylet"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = below.stdout.split()
    assert found, "no raylet below ray start"
    return int(found[0])


def test_each_node_answers_or_says_why_not(python: Path, address: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "fleet", "--ray", address, "--timeout", "12", "--format", "json"],
        env={**os.environ, "VIRTUAL_ENV": str(python.parent.parent)},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout, done.stderr
    nodes: dict[str, Any] = {node["name"]: node for node in json.loads(done.stdout)["nodes"]}
    assert {name: node["status"] for name, node in nodes.items() if name != "r3"} == {
        "r1": "answered",
        "r2": "answered",
    }
    assert nodes["r3"]["status"] in ("timed-out", "unreachable"), nodes["r3"]
    env = {name: nodes[name]["report"]["facts"].get("env", {}).get("value", {}) for name in ("r1", "r2")}
    assert (
        "CUDA_VISIBLE_DEVICES" not in env["r1"]
    )  # Ray sets an empty value for a task without a GPU, which is not that of the node
    assert env["r2"]["CUDA_VISIBLE_DEVICES"] == "1"


def test_a_cluster_that_is_not_there_is_reported(python: Path, fleet: Fleet) -> None:
    done = fleet(
        "--ray",
        f"127.0.0.1:{free_port()}",
        "--timeout",
        "5",
        env={"VIRTUAL_ENV": str(python.parent.parent), "RAY_gcs_rpc_server_reconnect_timeout_s": "3"},
    )
    assert done.returncode == 3, done.stdout
    assert "no Ray cluster could be reached" in done.stderr


def test_no_ray_is_reported(fleet: Fleet) -> None:
    done = fleet("--ray", env={"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 3
    assert "no Python with the package ray was found" in done.stderr
