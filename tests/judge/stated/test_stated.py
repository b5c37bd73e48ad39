"""Tests that a report that only states an environment gets the cause that the tables give, and no error if
everything works together.

The environments are drawn from the tables (`draw`), written in many forms (`forms`) and judged by an oracle
that shares no code with the judge (`oracle`).
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from doctor import api
from tests.judge.stated import draw, forms, oracle
from tests.judge.stated.oracle import ASK, EMPTY, Environment
from tests.sampling import each

RIGHT = 0.97
QUICK = 40


def right(env: Environment, expected: oracle.Expected, text: str) -> bool:
    """Whether the oracle accepts the verdict on a report. If all stated parts work together but the GPU is
    not used, the report does not state the cause, so any cause may be called possible."""
    verdict = api.explain(text).verdict
    if expected.codes:
        return verdict.code in expected.codes
    return verdict.severity != "error" or (env.symptom == EMPTY and verdict.confidence == "possible")


def wrong(seed: str, count: int) -> tuple[list[str], list[str]]:
    """Judge `count` reports from a seed. Returns (reports whose verdict the oracle does not accept, those
    among them in which everything works together)."""
    several, calm = [], []
    for env, expected, rng in draw.several(seed, count):
        form, text = forms.written(rng, env)
        if not right(env, expected, text):
            several.append(f"{form}: {sorted(expected.codes)} {api.explain(text).verdict.code}\n{text}")
            if not expected.codes:
                calm.append(text)
    return several, calm


def test_stated_environments_get_the_cause_that_the_tables_give() -> None:
    several, calm = wrong("quick", QUICK)
    assert len(several) <= (1 - RIGHT) * QUICK, "\n\n".join(several)
    assert len(calm) <= 1, "\n\n".join(calm)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["long", "longer"])
def test_many_stated_environments_get_the_cause_that_the_tables_give(seed: str) -> None:
    count = 300
    several, calm = wrong(seed, count)
    assert len(several) <= (1 - RIGHT) * count, "\n\n".join(several)
    assert len(calm) <= 0.01 * count, "\n\n".join(calm)


@pytest.mark.slow
def test_the_generator_reaches_every_form_and_cause_and_many_cards_and_releases() -> None:
    drawn = draw.several("reach", 700)
    codes = Counter(code for _, expected, _ in drawn for code in expected.codes)
    assert set(oracle.EXPLAINS) <= set(codes)
    assert {env.tensorflow.split(".")[0] for env, _, _ in drawn} == {"1", "2"}
    assert {env.platform for env, _, _ in drawn} == {
        "linux-x86_64",
        "windows-amd64",
        "wsl",
        "macos-arm64",
        "linux-aarch64",
    }
    cards = {oracle.capability(env.gpu) for env, _, _ in drawn if env.gpu not in (None, "none")}
    assert {card[0] for card in cards if card} >= {2, 3, 5, 6, 7, 8, 9, 10, 12}
    written = Counter(forms.written(rng, env)[0] for env, _, rng in drawn)
    assert set(written) == {form.__name__ for _, form in forms.FORMS}


FITS = (
    Environment(
        "2.8.0",
        "tensorflow",
        "linux-x86_64",
        "Ubuntu 20.04",
        ASK,
        "3.9",
        "11.8",
        "8.6.0",
        "RTX 3080",
        "535.54.03",
    ),
    Environment(
        "2.15.0",
        "tensorflow",
        "linux-x86_64",
        "Ubuntu 22.04",
        ASK,
        "3.10",
        "12.4",
        "8.9.7",
        "A100",
        "550.54.15",
    ),
    Environment(
        "2.10.0",
        "tensorflow",
        "windows-amd64",
        "Windows 11",
        ASK,
        "3.10",
        "11.2",
        "8.1.0",
        "RTX 4090",
        "551.86",
    ),
)
MISFITS = (
    (
        Environment("2.3.0", "tensorflow", "linux-x86_64", "Ubuntu 18.04", EMPTY, "3.7", "10.2", "7.6.5"),
        "cuda-version-mismatch",
    ),
    (
        Environment("2.4.0", "tensorflow", "linux-x86_64", "Ubuntu 20.04", EMPTY, "3.8", "11.2", "8.1.0"),
        "cuda-version-mismatch",
    ),
    (
        Environment(
            "1.4.1", "tensorflow-gpu", "linux-x86_64", "Ubuntu 16.04", oracle.IMPORT, "3.6", "8.0", "7.0.5"
        ),
        "cudnn-version-mismatch",
    ),
    (Environment("2.17.0", "tensorflow", "windows-amd64", "Windows 11", EMPTY, "3.11"), "tf-windows-native"),
    (
        Environment(
            "2.18.0",
            "tensorflow",
            "linux-x86_64",
            "Ubuntu 24.04",
            EMPTY,
            "3.12",
            gpu="GTX 1080 Ti",
            driver="590.44.01",
        ),
        "driver-too-new",
    ),
    (
        Environment(
            "2.15.0", "tensorflow", "linux-x86_64", "Ubuntu 22.04", EMPTY, "3.11", driver="470.57.02"
        ),
        "driver-too-old",
    ),
    (
        Environment("2.16.2", "tensorflow", "linux-x86_64", "Ubuntu 22.04", EMPTY, "3.11", gpu="K80"),
        "gpu-arch-too-old",
    ),
    (Environment("2.12.0", "tensorflow", "linux-x86_64", "Ubuntu 22.04", oracle.PIP, "3.12"), "tf-no-wheel"),
)


@pytest.mark.parametrize("env", FITS, ids=lambda env: env.tensorflow)
def test_the_oracle_knows_near_misses_that_fit(env: Environment) -> None:
    assert not oracle.judge(env).codes


@each("env, code", MISFITS, ids=lambda value: str(value)[:40])
def test_the_oracle_knows_what_does_not_fit(env: Environment, code: str) -> None:
    assert code in oracle.judge(env).codes


def test_the_oracle_reads_the_tables_and_nothing_of_the_judge() -> None:
    source = (oracle.TABLES.parent / "tests/judge/stated/oracle.py").read_text("utf-8")
    assert "import doctor" not in source
    assert "from doctor" not in source


NAMED = {
    "TensorFlow 2.17 from plain pip in a fresh venv, RTX 5080, working nvidia-smi, empty device list": {
        "cuda-missing",
        "gpu-arch-too-new",
    },
    "TensorFlow 1.4.1, CUDA 8, cuDNN 7.0.5, import fails": {"cudnn-version-mismatch"},
    "RTX 5070, 2.20.0, CUDA_ERROR_INVALID_HANDLE": {"gpu-arch-too-new"},
    # there are no kernels for 5.0, but kernels for newer cards: the card is not too new
    "TensorFlow 2.3.0, compute capability 5.0, GTX 750 Ti: the GPU is not found": {"gpu-arch-too-old"},
    # two cards have this name (3.0 and 5.0), and the build contains code for neither
    "TF 2.3.0, CUDA 10.1, cuDNN 7.6.5, GTX 750 Ti: no GPU found": {"gpu-arch-too-old"},
    # the extra exists since 2.14
    'pip install "tensorflow[and-cuda]"\npython train.py "d:\\data.csv"\nIt runs, but only on the CPU': {
        "tf-windows-native"
    },
    # the older release, which worked, has another name
    "TensorFlow 2.16.1, Windows 11, RTX 3070. With tensorflow-gpu 2.10 the GPU worked, now it is not used": {
        "tf-windows-native"
    },
    "In docker, image nvidia/cuda:11.7.1-cudnn8-runtime-ubuntu22.04, Tesla K80\n"
    "kernel version 470.182.3 does not match DSO version 515.65.1 -- cannot find working devices": {
        "cuda-compat-package"
    },
}


@pytest.mark.parametrize(("text", "codes"), NAMED.items(), ids=[text[:30] for text in NAMED])
def test_named_cases(text: str, codes: set[str]) -> None:
    report = api.explain(text)
    document = report.to_dict()
    assert report.verdict.code in codes
    assert codes <= {report.verdict.code, *(other["code"] for other in document["alternatives"])}
    misfits = [part for part in document["compatibility"] if part["fits"] is False]
    assert all(part["tables"] and part["evidence"] for part in misfits)
    assert json.dumps(document["findings"][0]["tables"]) != "[]"


def test_a_missing_cuda_beside_a_too_new_card_is_reported_with_both_facts_and_one_command() -> None:
    report = api.explain(next(iter(NAMED)))
    explanation = report.verdict.explanation
    assert "12.0" in explanation
    assert "CUDA's libraries" in explanation
    command = next(step.text for step in report.verdict.prescription if "pip install" in step.text)
    assert "tensorflow[and-cuda]==" in command
    assert "2.17" not in command


MENTIONED = (
    (
        "TF 2.10 with CUDA 11.2 and cuDNN 8.1, RTX 3060, Windows 10. nvidia-smi shows CUDA Version 12.4. Is"
        " this combination okay?\n"
    ),
    (
        "TF 2.10, CUDA 11.2, cuDNN 8.1, RTX 3060, Windows 10. Will this work?\n\nBefore this I had tried"
        " TensorFlow 2.16 with CUDA 12.3 on another computer.\n"
    ),
    (
        "TF 2.10, CUDA 11.2, cuDNN 8.1, Windows 10. Will this work?\n\nOn my colleague's machine (an RTX"
        " 5090, TensorFlow 2.19, CUDA 12.8) it is no problem.\n"
    ),
    (
        "TF 2.10, CUDA 11.2, cuDNN 8.1, RTX 3060, Windows 10, it works as expected. Later I want to move to"
        " TensorFlow 2.16.\n"
    ),
    (
        "CUDA: 11.0 (nvidia-smi)\nTensorFlow: 2.3.0\nnvcc: 10.1\ncuDNN: 7.6.5\nOS: Windows 10\nIs this"
        " combination okay?\n"
    ),
)


@pytest.mark.parametrize("text", MENTIONED, ids=range(len(MENTIONED)))
def test_what_is_merely_mentioned_is_not_installed(text: str) -> None:
    report = api.explain(text)
    assert report.verdict.severity != "error"
    assert not [part for part in report.diagnosis.compatibility if part.fits is False]
