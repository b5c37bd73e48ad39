"""Tests that every command, option and example file that the documents mention exists."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.cli import COMMANDS, filled
from tests.conftest import ROOT

DOCUMENTS = ("ci.md", "notebooks.md", "assistants.md", "issue-trackers.md")
LOG = (
    "E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle:"
    " CUDNN_STATUS_INTERNAL_ERROR\n"
)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_are_what_the_tool_takes(name: str) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    found = re.findall(r"(?m)^\$ tfgpu-doctor (.+)$|`tfgpu-doctor ((?:plan|check|explain|mcp) [^`]+)`", text)
    typed = [one or other for one, other in found]
    for line in typed:
        words = shlex.split(line.partition(" < ")[0].replace("...", ""))
        assert words[0] in COMMANDS
        filled(argparse.ArgumentParser(), words[0]).parse_args(words[1:])
    for path in re.findall(r"`(examples/[\w/.-]+)`", text):
        assert (ROOT / path).exists(), path
    for block in re.findall(r"(?s)```json\n(.+?)```", text):
        json.loads(block)


def test_evidence_is_a_place_that_a_terminal_links(cli: Callable[..., object], tmp_path: Path) -> None:
    """Evidence begins with FILE:LINE. FILE is the path as the user typed it, so that VS Code and PyCharm can
    open it."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "train.log").write_text(f"epoch 1\n{LOG}")
    (tmp_path / "Dockerfile").write_text("FROM python:3.11\nRUN pip install tensorflow-gpu\n")
    env = {"PYTHONPATH": str(ROOT)}
    said = cli("explain", "logs/train.log", cwd=tmp_path, env=env)
    shown = said.stdout.decode()  # type: ignore[attr-defined]
    assert re.search(r"(?m)(?:^|\s)logs/train\.log:2$", shown)
    plan = cli(
        "plan", "Dockerfile", "--gpu", "T4", "--os", "Ubuntu 22.04", cwd=tmp_path, env=env
    ).stdout.decode()  # type: ignore[attr-defined]
    assert re.search(r"(?m)\sDockerfile:2:", plan)
