"""Tests the MCP server with the official MCP Inspector, as a developer of an assistant would.

The Inspector is an npm package (inspector/package.json names the release; its lock file names every package
that it needs). It is installed once, in the same cache as the environments of tests/tensorflow_envs.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.conftest import ROOT
from tests.mcp_server.test_mcp import REPORT, TOOLS
from tests.tensorflow_envs import kept

if TYPE_CHECKING:
    from typing import TypeAlias

pytestmark = pytest.mark.slow
PACKAGE = Path(__file__).parent / "inspector"
NODE = 20
"""The first major version of Node with which the Inspector was seen to run."""
Ask: TypeAlias = "Callable[..., dict[str, Any]]"


@pytest.fixture(scope="module")
def program() -> Path:
    """The path of the Inspector's main file."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("the Inspector needs node and npm (apt install npm)")
    version = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, timeout=60, check=False
    ).stdout
    found = re.match(r"v(\d+)\.", version)
    if found is None or int(found[1]) < NODE:
        pytest.skip(
            f"the Inspector needs node {NODE} or later, and this is {version.strip() or 'none that starts'}"
        )
    files = [PACKAGE / "package.json", PACKAGE / "package-lock.json"]
    state = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    with kept(f"inspector-{state}") as folder:
        if not (folder / ".finished").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for file in files:
                shutil.copy(file, folder)
            command = [
                "npm",
                "ci",
                "--omit=dev",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
            ]
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
            )
            if done.returncode:
                pytest.skip("the Inspector is in a package registry, and none can be reached")
            (folder / ".finished").touch()
    return folder / "node_modules" / ".bin" / "mcp-inspector"


@pytest.fixture(scope="module")
def asked(
    program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call the server through the Inspector: asked("tools/list", "--strict")."""
    home = tmp_path_factory.mktemp("home")  # the Inspector keeps a catalogue of servers there
    env = {
        **os.environ,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "TFGPU_DOCTOR_TABLES": "",
        "VIRTUAL_ENV": sys.prefix,
    }

    def run(method: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [
            str(program),
            "--cli",
            "--format",
            "json",
            "--connect-timeout",
            "60000",
            "--method",
            method,
            *words,
        ]
        server = [sys.executable, "-m", "doctor", "mcp"]
        return subprocess.run(
            [*command, *server], env=env, capture_output=True, text=True, timeout=180, check=False
        )

    return run


@pytest.fixture(scope="module")
def ask(asked: Callable[..., subprocess.CompletedProcess[str]]) -> Ask:
    """A function that calls the server and returns the result. The call must succeed."""

    def result(method: str, *words: str) -> dict[str, Any]:
        done = asked(method, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)["result"]
        return answer

    return result


@pytest.fixture(scope="module")
def tools(asked: Callable[..., subprocess.CompletedProcess[str]]) -> dict[str, Any]:
    """The tools by name. The Inspector must not find anything in their schemas that could confuse an
    assistant."""
    done = asked("tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    assert not re.search(r"[1-9]\d* (error|warning)", done.stderr), done.stderr
    return {tool["name"]: tool for tool in json.loads(done.stdout)["result"]["tools"]}


def test_the_tools_are_read_only_and_their_schemas_are_portable(tools: dict[str, Any]) -> None:
    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["annotations"]["destructiveHint"] is False
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)


FINDING = {
    "code": "healthy",
    "severity": "info",
    "title": "x",
    "explanation": "x",
    "evidence": [],
    "prescription": [],
}


def machine(driver: str) -> dict[str, Any]:
    facts = {"driver": {"value": driver, "evidence": []}}
    return {"schema": 1, "source": {"kind": "machine", "name": "x"}, "findings": [FINDING], "facts": facts}


CALLS: dict[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
    "explain_text": ({"text": REPORT}, lambda answer: answer["findings"][0]["code"] == "cudnn-init-oom"),
    "check_machine": ({}, lambda answer: answer["source"]["kind"] == "machine" and answer["findings"]),
    "plan": (
        {"tensorflow": "2.15", "os": "Ubuntu 22.04", "gpu": ["T4"], "driver": "550.54.14"},
        lambda answer: answer["plans"][0]["tensorflow"] == "2.15.1",
    ),
    "lookup_table": (
        {"table": "tensorflow", "key": "2.15.1"},
        lambda answer: [row["cuda"] for row in answer["rows"]] == ["12.2"] and answer["rows"][0]["source"],
    ),
    "finding_page": ({"code": "cudnn-init-oom"}, lambda answer: "memory" in answer["page"]),
    "compare_machines": (
        {"reports": {"a": machine("535.183.01"), "b": machine("535.183.01"), "c": machine("450.80.02")}},
        lambda answer: answer["differences"][0]["others"] == {"c": "450.80.02"},
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_answer_of_a_call_follows_the_schema_of_the_tool(
    name: str, ask: Ask, tools: dict[str, Any]
) -> None:
    arguments, expected = CALLS[name]
    result = ask("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
    assert not result.get("isError")
    jsonschema.Draft202012Validator(tools[name]["outputSchema"]).validate(result["structuredContent"])
    assert expected(result["structuredContent"])


def test_every_tool_is_called() -> None:
    assert set(CALLS) == TOOLS


def test_a_wrong_call_gives_an_error_message(asked: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = asked("tools/call", "--tool-name", "finding_page", "--tool-args-json", '{"code": "nope"}')
    assert done.returncode != 0
    assert "there is no such finding code" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_resources_are_listed_and_read(ask: Ask) -> None:
    assert [resource["uri"] for resource in ask("resources/list")["resources"]] == ["tfgpu://findings"]
    templates = [template["uriTemplate"] for template in ask("resources/templates/list")["resourceTemplates"]]
    assert templates == ["tfgpu://finding/{code}", "tfgpu://table/{table}/{key}"]
    (codes,) = ask("resources/read", "--uri", "tfgpu://findings")["contents"]
    assert "cudnn-init-oom" in [row["code"] for row in json.loads(codes["text"])]
    (page,) = ask("resources/read", "--uri", "tfgpu://finding/cudnn-init-oom")["contents"]
    assert page["text"].startswith("# cudnn-init-oom")
    (table,) = ask("resources/read", "--uri", "tfgpu://table/cuda/12.5")["contents"]
    assert [row["cuda"] for row in json.loads(table["text"])["rows"]] == ["12.5"]
