"""Tests reports about TensorFlow in programming languages other than Python: their cures have no steps that
work only for Python."""

from __future__ import annotations

import pytest

from doctor.facts import Symptom
from tests.rules.situation import diagnosed

IN_ANOTHER_LANGUAGE = {
    "node": "npm i @tensorflow/tfjs-node-gpu",
    "dotnet": "dotnet add package SciSharp.TensorFlow.Redist",
    "java": "implementation 'org.tensorflow:tensorflow-core-platform:0.5.0'",
    "go": 'import tf "github.com/tensorflow/tensorflow/tensorflow/go"',
    "julia": 'Pkg.add("TensorFlow")',
}


@pytest.mark.parametrize("language", IN_ANOTHER_LANGUAGE)
def test_the_language_is_recognised_and_no_step_needs_python(language: str) -> None:
    diagnosis = diagnosed(f"{IN_ANOTHER_LANGUAGE[language]}\n\nThe GPU does not get anything to do.\n")
    assert [s.get("language") for s in diagnosis.facts.symptoms("binding")] == [language]
    assert diagnosis.verdict.confidence != "certain"
    assert not [s.text for s in diagnosis.verdict.prescription if "python" in s.text]
    assert not [s for s in diagnosis.verdict.prescription if "pip install" in s.text]


@pytest.mark.parametrize("language", IN_ANOTHER_LANGUAGE)
def test_each_language_gets_its_own_steps_for_a_gpu_build(language: str) -> None:
    verdict = diagnosed(
        f"{IN_ANOTHER_LANGUAGE[language]}\nIs TensorFlow built with CUDA: False. The GPU is not used.\n"
    ).verdict
    assert verdict.code == "tf-cpu-only"
    assert "GPU" in verdict.prescription[0].text.upper()
    assert not [s.text for s in verdict.prescription if "pip" in s.text]


def test_a_python_traceback_gets_steps_for_python() -> None:
    text = (
        'npm i @tensorflow/tfjs-node\n\nTraceback (most recent call last):\n  File "convert.py", line 1, in'
        " <module>\nImportError: libcudart.so.10.0: cannot open shared object file\n"
    )
    diagnosis = diagnosed(text)
    assert diagnosis.facts.of(Symptom)
    assert any("pip" in s.text or "conda" in s.text for s in diagnosis.verdict.prescription)


def test_the_first_step_for_r_shows_which_python_reticulate_uses() -> None:
    text = (
        "> library(keras)\nCould not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0:"
        " cannot open shared object file\n"
    )
    steps = [s.text for s in diagnosed(text).verdict.prescription]
    assert "reticulate::py_config()" in steps[0]
    assert any("pip" in step for step in steps)


def test_r_is_pointed_to_the_environment_that_the_steps_create() -> None:
    text = (
        "> reticulate::py_config()\nOS: Windows 10\ntensorflow 2.15.0\nThe GPU is not used.\n>"
        " tf$config$list_physical_devices('GPU')\nlist()\n"
    )
    steps = [s.text for s in diagnosed(text).verdict.prescription]
    assert any("conda create" in step for step in steps)
    assert 'reticulate::use_condaenv("tf-gpu", required = TRUE)' in steps[-1]


def test_steps_that_need_no_python_do_not_mention_reticulate() -> None:
    text = (
        "> library(keras)\n> reticulate::py_config()\nfailed call to cuInit: CUDA_ERROR_UNKNOWN: unknown"
        " error\n"
    )
    assert not [s.text for s in diagnosed(text).verdict.prescription if "reticulate" in s.text]
