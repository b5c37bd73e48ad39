"""Tests Dockerfiles and compose files that hide the GPU from TensorFlow with a variable."""

from __future__ import annotations

import pytest

from doctor.tables import Tables
from tests.plan.contexts import judged

IMAGE = "tensorflow/tensorflow:2.17.0-gpu"
SERVICE = f"services:\n  tf:\n    image: {IMAGE}\n{{gpu}}    environment:\n      {{line}}\n"


def hiding(tables: Tables, name: str, text: str) -> dict[str, int | None]:
    found = judged(tables, name, text).findings
    return {f.severity: f.evidence[0].line for f in found if f.code == "gpu-hidden"}


@pytest.mark.parametrize(("lines", "expected"), [
    ("ENV CUDA_VISIBLE_DEVICES=-1", {"error": 2}),
    ('ENV CUDA_VISIBLE_DEVICES=""', {"error": 2}),
    ("ENV CUDA_VISIBLE_DEVICES none", {"error": 2}),
    ("ENV A=1 \\\n    CUDA_VISIBLE_DEVICES=-1", {"error": 3}),
    ("ARG GPUS=-1\nENV CUDA_VISIBLE_DEVICES=$GPUS", {"error": 3}),
    ("ENV NVIDIA_VISIBLE_DEVICES=void", {"warning": 2}),
    ("ENV NVIDIA_VISIBLE_DEVICES=all", {}),
    ("ENV CUDA_VISIBLE_DEVICES=0,1", {}),
    ("ENV CUDA_VISIBLE_DEVICES=$GPUS", {}),
    ("ENV CUDA_VISIBLE_DEVICES=-1\nENV CUDA_VISIBLE_DEVICES=0", {}),
    ("ARG CUDA_VISIBLE_DEVICES=-1", {}),
])  # fmt: skip
def test_dockerfile(tables: Tables, lines: str, expected: dict[str, int]) -> None:
    assert hiding(tables, "Dockerfile", f"FROM {IMAGE}\n{lines}\n") == expected


def test_only_the_stage_that_runs_counts(tables: Tables) -> None:
    build = f"FROM {IMAGE} AS build\nENV CUDA_VISIBLE_DEVICES=-1\n"
    assert hiding(tables, "Dockerfile", f"{build}FROM {IMAGE}\n") == {}
    assert hiding(tables, "Dockerfile", f"{build}FROM build\n") == {"error": 2}
    assert hiding(tables, "Dockerfile", "ENV CUDA_VISIBLE_DEVICES=-1\n") == {}, "before any FROM"
    other = "FROM postgres:16\nENV CUDA_VISIBLE_DEVICES=-1\n"
    assert hiding(tables, "Dockerfile", other) == {}, "nothing of TensorFlow"


@pytest.mark.parametrize(("gpu", "line", "expected"), [
    ("", "CUDA_VISIBLE_DEVICES: -1", {"error": 5}),
    ("", '- "CUDA_VISIBLE_DEVICES=-1"', {"error": 5}),
    ("", 'CUDA_VISIBLE_DEVICES: ""', {"error": 5}),
    ("", "CUDA_VISIBLE_DEVICES:", {}),
    ("", "- CUDA_VISIBLE_DEVICES", {}),
    ("    gpus: all\n", "- CUDA_VISIBLE_DEVICES=0", {}),
    ("    gpus: all\n", "- CUDA_VISIBLE_DEVICES=-1", {"error": 6}),
    ("", "- NVIDIA_VISIBLE_DEVICES=void", {"error": 5}),
    ("    gpus: all\n", "NVIDIA_VISIBLE_DEVICES: none", {"warning": 6}),
])  # fmt: skip
def test_compose(tables: Tables, gpu: str, line: str, expected: dict[str, int]) -> None:
    assert hiding(tables, "compose.yml", SERVICE.format(gpu=gpu, line=line)) == expected


def test_fix_removes_the_line(tables: Tables) -> None:
    found = judged(tables, "Dockerfile", f"FROM {IMAGE}\nENV CUDA_VISIBLE_DEVICES=-1\n").findings
    (step,) = next(f for f in found if f.code == "gpu-hidden").prescription
    assert step.edit is not None
    assert (step.edit.line, step.edit.new) == (2, "")
    found = judged(tables, "Dockerfile", f"FROM {IMAGE}\nENV A=1 CUDA_VISIBLE_DEVICES=-1\n").findings
    (step,) = next(f for f in found if f.code == "gpu-hidden").prescription
    assert step.edit is None
