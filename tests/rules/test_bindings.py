"""TensorFlow in other languages than Python: their reports get no step that only Python's TensorFlow has."""

from __future__ import annotations

import pytest

from doctor.facts import Symptom
from tests.rules.situation import told

IN_ANOTHER_LANGUAGE = {
    "node": "npm i @tensorflow/tfjs-node-gpu",
    "dotnet": "dotnet add package SciSharp.TensorFlow.Redist",
    "java": "implementation 'org.tensorflow:tensorflow-core-platform:0.5.0'",
    "go": 'import tf "github.com/tensorflow/tensorflow/tensorflow/go"',
    "julia": 'Pkg.add("TensorFlow")',
}


@pytest.mark.parametrize("language", IN_ANOTHER_LANGUAGE)
def test_the_language_is_read_and_no_python_is_asked_for(language: str) -> None:
    diagnosis = told(f"{IN_ANOTHER_LANGUAGE[language]}\n\nThe GPU does not get anything to do.\n")
    assert [s.get("language") for s in diagnosis.facts.symptoms("binding")] == [language]
    assert diagnosis.verdict.code == "undetermined"
    assert not [s.text for s in diagnosis.verdict.prescription if "python" in s.text]
    assert any("TF_CPP_VMODULE" in s.text for s in diagnosis.verdict.prescription)
    assert diagnosis.verdict.verify == "nvidia-smi"


@pytest.mark.parametrize("language", IN_ANOTHER_LANGUAGE)
def test_each_language_has_its_own_way_to_the_build_for_the_gpu(language: str) -> None:
    verdict = told(f"{IN_ANOTHER_LANGUAGE[language]}\nI installed the CPU version of TensorFlow, and the GPU is not used.\n").verdict
    assert verdict.code == "tf-cpu-only"
    assert "GPU" in verdict.prescription[0].text.upper()
    assert not [s.text for s in verdict.prescription if "pip" in s.text]


def test_a_traceback_of_python_is_pythons() -> None:
    text = 'npm i @tensorflow/tfjs-node\n\nTraceback (most recent call last):\n  File "convert.py", line 1, in <module>\nImportError: libcudart.so.10.0: cannot open shared object file\n'
    diagnosis = told(text)
    assert diagnosis.facts.of(Symptom)
    assert any("pip" in s.text or "conda" in s.text for s in diagnosis.verdict.prescription)


def test_r_runs_the_tensorflow_of_python() -> None:
    text = "> library(keras)\n> install_keras(tensorflow = 'gpu')\nCould not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file\n"
    diagnosis = told(text)
    assert not diagnosis.facts.symptoms("binding")
    assert any("pip" in s.text for s in diagnosis.verdict.prescription)
