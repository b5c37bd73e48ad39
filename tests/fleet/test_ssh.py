"""Tests nodes that are reached through the system's own ssh, with real servers on loopback ports."""

from __future__ import annotations

import importlib
import json
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any, Callable

import pytest

from doctor.errors import UsageError
from doctor.fleet import ssh
from tests.fleet.conftest import ROOT, Hosts

Fleet = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def asked(hosts: Hosts) -> dict[str, Any]:
    """The result of one run on hosts that answer or fail at once. The path of the Python interpreter is
    given, because `old` has no suitable one."""
    names = "n2,n3,refuses,stranger,noisy,old"
    before = {path for path in Path(hosts.folder).rglob("*")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "doctor",
            "fleet",
            "--ssh",
            names,
            "--ssh-config",
            str(hosts.config),
            "--python",
            str(hosts.environment),
            "--format",
            "json",
        ],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=ROOT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    document["exit"] = done.returncode
    document["left"] = {
        path for path in Path(hosts.folder).rglob("*") if "environment" in path.parts
    } - before
    document["by_name"] = {node["name"]: node for node in document["nodes"]}
    return document


def test_each_node_answers_or_says_why_not(asked: dict[str, Any]) -> None:
    nodes = asked["by_name"]
    states = {name: node["status"] for name, node in nodes.items()}
    assert states == {
        "n2": "answered",
        "n3": "answered",
        "noisy": "answered",
        "old": "answered",
        "refuses": "unreachable",
        "stranger": "unreachable",
    }
    assert "refuses connections" in nodes["refuses"]["reason"]
    assert "host key" in nodes["stranger"]["reason"]
    assert asked["exit"] == 1  # the nodes that answered have no GPU


def test_a_node_that_hangs_is_given_up_after_its_time_limit(hosts: Hosts, fleet: Fleet) -> None:
    began = time.monotonic()
    done = fleet(
        "--ssh", "hangs,silent", "--ssh-config", str(hosts.config), "--timeout", "1", "--format", "json"
    )
    nodes = {node["name"]: node for node in json.loads(done.stdout)["nodes"]}
    assert nodes["hangs"]["status"] == "timed-out"
    assert "1 s" in nodes["hangs"]["reason"]
    assert nodes["silent"]["status"] in ("unreachable", "timed-out")
    assert done.returncode == 3
    assert time.monotonic() - began < 20


def test_files_that_differ_on_one_node_are_found(asked: dict[str, Any]) -> None:
    if asked["by_name"]["n2"]["status"] != "answered":
        pytest.skip("no mount namespaces here, so all nodes would have the same files")
    difference = next(d for d in asked["differences"] if d["fact"] == "tensorflow")
    assert (difference["most"], difference["others"], difference["matters"]) == (
        "2.15.0",
        {"n2": "2.16.1"},
        True,
    )
    assert [sorted(group["nodes"]) for group in asked["groups"]] == [["n3", "noisy", "old"], ["n2"]]
    assert all(group["prescription"] for group in asked["groups"])


def test_a_python_must_be_named_where_no_other_can_run_the_tool(
    hosts: Hosts, fleet: Fleet, asked: dict[str, Any]
) -> None:
    done = fleet("--ssh", "old", "--ssh-config", str(hosts.config), "--format", "json")
    (without,) = json.loads(done.stdout)["nodes"]
    assert without["status"] == "failed"
    assert without["reason"].startswith("there is no Python 3.")
    assert asked["by_name"]["old"]["status"] == "answered"


def test_nothing_is_left_on_a_node(asked: dict[str, Any]) -> None:
    assert asked["left"] == set()


@pytest.mark.slow
def test_ctrl_c_keeps_the_answers_and_leaves_no_program(hosts: Hosts) -> None:
    words = [
        "fleet",
        "--ssh",
        "n1,hangs",
        "--ssh-config",
        str(hosts.config),
        "--timeout",
        "60",
        "--format",
        "json",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "doctor", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    for asked in (True, False):  # first its ssh client runs, and then it has ended
        _wait_until(process, "n1", asked)
    _wait_until(process, "hangs", True)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    states = {node["name"]: node["status"] for node in json.loads(out)["nodes"]}
    assert states == {"n1": "answered", "hangs": "failed"}
    assert not subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, check=False).stdout


def _wait_until(process: subprocess.Popen[str], host: str, asked: bool) -> None:
    """Wait until an ssh client to this host is, or is no longer, a child of the process."""
    words = ["pgrep", "-P", str(process.pid), "-f", f" -- {host} "]
    until = time.monotonic() + 60
    while (subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0) != asked:
        assert process.poll() is None
        assert time.monotonic() < until, f"{host}: asked={asked} never happened"
        time.sleep(0.02)


@pytest.mark.slow
def test_the_one_file_sends_itself(hosts: Hosts, tmp_path: Path) -> None:
    """The single-file program is made as for a release, from the packages that are installed here."""
    file = tmp_path / "tfgpu-doctor.pyz"
    sources = [ROOT / "doctor", ROOT / "compat_tables"]
    sources += [Path(importlib.import_module(name).__file__ or "").parent for name in ("packaging",)]
    with zipfile.ZipFile(file, "w") as archive:
        for source in sources:
            for path in source.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(source.parent).as_posix())
        archive.write(ROOT / "scripts" / "one_file" / "main.py", "__main__.py")
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            str(file),
            "fleet",
            "--ssh",
            "n1",
            "--ssh-config",
            str(hosts.config),
            "--format",
            "json",
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
    )
    assert [node["status"] for node in json.loads(done.stdout)["nodes"]] == ["answered"], done.stderr


@pytest.mark.slow
def test_the_table_names_groups_and_exceptions(hosts: Hosts, fleet: Fleet, tmp_path: Path) -> None:
    listed = tmp_path / "hosts.txt"
    listed.write_text("# the cluster\nn1\n\nrefuses  # no server\n")
    done = fleet("--ssh", f"@{listed}", "--ssh-config", str(hosts.config), "--python", str(hosts.environment))
    assert done.returncode == 1, done.stderr
    assert "2 nodes: 1 answered, 1 unreachable" in done.stdout
    assert "Nodes that could not be asked: 1" in done.stdout


def test_a_file_names_hosts(tmp_path: Path) -> None:
    listed = tmp_path / "hosts.txt"
    listed.write_text("# the cluster\nn1\n\nrefuses  # no server\n")
    assert ssh.hosts(f"@{listed}") == ["n1", "refuses"]


def test_a_host_cannot_add_an_option_of_ssh(fleet: Fleet) -> None:
    for word in ("-oProxyCommand=touch /tmp/x", "a b", "n1;id", "$(id)", "--", "n1\nn2"):
        with pytest.raises(UsageError):
            ssh.hosts(word)
    assert ssh.hosts("n1, u@n2,ssh://u@n3:22,n1,10.0.0.1") == ["n1", "u@n2", "ssh://u@n3:22", "10.0.0.1"]


@pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh (apt install openssh-client)")
def test_passwords_and_unknown_keys_are_never_asked_for() -> None:
    found = ssh.nodes(["n1"], None, 60, None)[0].argv
    assert "BatchMode=yes" in found
    assert "StrictHostKeyChecking=yes" in found
    assert found[found.index("--") + 1] == "n1"
    assert Path(found[0]).name == "ssh"
