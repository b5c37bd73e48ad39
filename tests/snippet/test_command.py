"""Tests `tfgpu-doctor snippet` as people call it."""

from __future__ import annotations

import json

import pytest


def test_the_list_contains_every_snippet(cli):
    done = cli("snippet")
    assert done.returncode == 0
    assert b"memory-growth" in done.stdout
    assert len(done.stdout.splitlines()) == 12


def test_arguments_change_the_code(cli):
    done = cli("snippet", "memory-limit", "--gpus", "0,1", "--memory", "1.5GiB", "--tensorflow", "2.15", "-q")
    assert b"memory_limit=1536" in done.stdout
    assert b"[0, 1]" in done.stdout
    assert b"#" not in done.stdout


def test_text_is_a_program_that_can_be_pasted_whole(cli):
    for name in ("memory-growth", "multi-worker", "cpu-only", "environment"):
        compile(cli("snippet", name, "--tensorflow", "2.2").stdout, name, "exec")


def test_a_percentage_of_the_memory_becomes_a_fraction(cli):
    out = cli("snippet", "memory-limit", "--memory", "40%", "--tensorflow", "1.15", "-q").stdout
    assert b"per_process_gpu_memory_fraction = 0.4" in out


def test_without_a_release_the_installed_release_is_used(cli, tmp_path):
    site = tmp_path / "env/lib/python3.6/site-packages"
    (site / "tensorflow-1.14.0.dist-info").mkdir(parents=True)
    (tmp_path / "env/bin").mkdir()
    (tmp_path / "env/bin/python").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "env/bin/python").chmod(0o755)
    done = cli("snippet", "memory-growth", "--format", "json", env={"VIRTUAL_ENV": str(tmp_path / "env")})
    answer = json.loads(done.stdout)
    assert (answer["tensorflow"], answer["era"]) == ("1.14.0", "TensorFlow 1.x (sessions)")
    assert "allow_growth" in answer["code"]
    assert answer["environment"] == {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["memory-groth"],
        ["memory-limit", "--memory", "0"],
        ["memory-limit", "--memory", "120%"],
        ["memory-limit", "--memory", "lots"],
        ["visible-devices", "--gpus", "0,0"],
        ["visible-devices", "--gpus", "a"],
        ["virtual-gpus", "--count", "0"],
        ["memory-growth", "--tensorflow", "latest"],
        ["memory-growth", "--format", "html"],
        ["memory-growth", "--python", "/nonexistent"],
        ["multi-worker", "--index", "7"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_give_exit_code_2_and_one_clear_line(cli, arguments):
    done = cli("snippet", *arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_a_release_that_is_not_in_the_tables_gives_a_warning(cli):
    done = cli("snippet", "memory-growth", "--tensorflow", "2.99")
    assert done.returncode == 0
    assert b"contain no TensorFlow release `2.99`" in done.stderr
    assert b"The code is for TensorFlow 2.16 and later" in done.stderr
    assert cli("snippet", "memory-growth", "--tensorflow", "2.15.1").stderr == b""


def test_a_misspelt_name_gets_suggestions(cli):
    assert b"did you mean `memory-growth`" in cli("snippet", "memory-groth").stderr
