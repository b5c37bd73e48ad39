"""Tests that a question about versions is answered with yes if they work together, but that a question about
a fault is not."""

from __future__ import annotations

import pytest

from doctor.case import Case
from doctor.diagnose import diagnose
from doctor.facts import Facts, SentenceKind, Source
from doctor.judge.compatibility import parts
from doctor.judge.stated import all_fits
from doctor.logs import read
from doctor.tables import Tables


def _verdict(text: str, tables: Tables) -> tuple[str, str]:
    verdict = diagnose(read(text.encode(), "-"), tables).verdict
    return verdict.code, verdict.title


@pytest.mark.parametrize(
    "asked",
    [
        "TF 2.3.1, CUDA 10.1, cuDNN 7.6.5, RTX 2080 Ti, driver 430.64, Ubuntu 18.04. Do these go together?",
        "Bonjour, TF 2.3.1, CUDA 10.1, cuDNN 7.6.5, RTX 2080 Ti, pilote 430.64, Ubuntu 18.04. D'après vous"
        " est-ce que tout est bien assorti ?",
        "这样的环境可以吗：Ubuntu 18.04，tensorflow 2.3.1，CUDA 10.1（LD_LIBRARY_PATH 已设置），cuDNN 7.6，"
        "RTX 2080 Ti，驱动 430.64。",
        "Our admins only offer CUDA/11.8.0 and cuDNN/8.6.0.163. The code needs TensorFlow 2.10 (Python 3.9,"
        " pip wheel), which the table lists with CUDA 11.2 and cuDNN 8.1. A100, driver 520.61.05. Are the"
        " 11.8 libraries fine for it, or do we have to ask for 11.2?",
        "请教一下各位,Ubuntu 18.04,tensorflow 2.3.1,CUDA 10.1,cuDNN 7.6,显卡 RTX 2080 Ti,驱动 430.64。"
        "这个搭配可以吗?",
    ],
)
def test_versions_that_fit_are_called_fit(asked: str, tables: Tables) -> None:
    assert _verdict(asked, tables) == ("healthy", "The stated versions fit together")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("TF 2.3.1, CUDA 10.1, RTX 2080 Ti, driver 390.30. Do these go together?", "driver-too-old"),
        ("TF 2.3.1, CUDA 11.2, RTX 2080 Ti, driver 460.39. Is that all right?", "cuda-version-mismatch"),
        ("Python 3.10, GTX 1080, CUDA 10.1. I plan to pip install tensorflow==2.3.1. OK?", "tf-no-wheel"),
    ],
)
def test_versions_that_do_not_fit_are_named(text: str, code: str, tables: Tables) -> None:
    assert _verdict(text, tables)[0] == code


def test_a_question_about_a_container_that_gets_the_gpu_is_not_about_one_without_it(tables: Tables) -> None:
    text = (
        "docker run --rm --gpus all -v $PWD:/w tensorflow/tensorflow:2.14.0-gpu python /w/a.py\nHost: Ubuntu"
        " 22.04, driver 535.54.03, two RTX A5000, no CUDA on the host. Is this enough?"
    )
    assert _verdict(text, tables)[0] != "container-no-gpu"


CONDA = (
    "conda list:\n"
    "cudatoolkit               10.1.243             h6bb024c_0\n"
    "cudnn                     7.6.5                cuda10.1_0\n"
    "tensorflow                2.4.1           gpu_py38h8a7d6ce_0\n"
    "tensorflow-base           2.4.1           gpu_py38h29c2da4_0\n"
    "GTX 1070, driver 430.64, Ubuntu 18.04. pip's 2.4.1 is for CUDA 11.0. Is this all right?"
)


def test_a_build_of_conda_fits_the_cuda_that_conda_installed_for_it(tables: Tables) -> None:
    assert _verdict(CONDA, tables) == ("healthy", "The stated versions fit together")


@pytest.mark.parametrize(
    ("card", "cuda"),
    [("RTX 3090", "10.1.243"), ("RTX 5090", "11.2.2")],  # newer than this CUDA, newer than the code
)
def test_a_card_that_is_newer_than_conda_s_build_is_no_matter_of_versions_that_fit(
    card: str, cuda: str, tables: Tables
) -> None:
    listed = CONDA.replace("GTX 1070, driver 430.64", f"{card}, driver 570.133.07")
    assert _verdict(listed.replace("10.1.243", cuda), tables)[0] == "gpu-arch-too-new"


def test_a_build_string_of_conda_forge_names_the_cuda_of_the_build(tables: Tables) -> None:
    text = (
        "conda list:\ncuda-version              12.0                 hffde075_3    conda-forge\n"
        "cudnn                     8.8.0.121            h264754d_4    conda-forge\n"
        "tensorflow                2.15.0          cuda120py310h9360858_3    conda-forge\n"
        "RTX A5000, driver 535.54.03, Linux. Any objections?"
    )
    assert _verdict(text, tables) == ("healthy", "The stated versions fit together")


def test_a_sentence_that_may_state_trouble_is_not_answered_with_all_is_well(tables: Tables) -> None:
    asked = "TF 2.3.1, CUDA 10.1, cuDNN 7.6.5, RTX 2080 Ti, driver 430.64. Do these go together?"
    facts = read(asked.encode(), "-")
    case = Case(facts, tables)
    assert all_fits(case, parts(case)) is not None
    doubtful = SentenceKind(Source("-", 1, asked), "no device", 0.4)
    case = Case(Facts([*facts, doubtful], kind="report"), tables)
    assert all_fits(case, parts(case)) is None


@pytest.mark.parametrize("why", ["Why?", "Any idea?", "Woran liegt das?", "原因は何でしょうか。", "为什么？"])
def test_a_question_that_presupposes_trouble_is_not_answered_with_all_is_well(
    why: str, tables: Tables
) -> None:
    stated = f"TF 2.3.1, CUDA 10.1, cuDNN 7.6.5, RTX 2080 Ti, driver 430.64. {why}"
    case = Case(read(stated.encode(), "-"), tables)
    assert all_fits(case, parts(case)) is None


def test_conda_s_tensorflow_base_decides_whether_a_build_is_for_the_cpu(tables: Tables) -> None:
    listed = CONDA.replace("2.4.1           gpu_py38h8a7d6ce_0", "2.4.1           mkl_py38hb2083e0_0")
    assert _verdict(listed, tables)[0] == "healthy"
    cpu = listed.replace("gpu_py38h29c2da4_0", "mkl_py38h4fcabd2_0")
    assert _verdict(cpu.replace("Is this all right?", "No GPU is found."), tables)[0] == "tf-cpu-only"


def test_trouble_is_no_question_of_versions(tables: Tables) -> None:
    text = "TF 2.3.1, CUDA 10.1, cuDNN 7.6.5, RTX 2080 Ti, driver 430.64. It crashes at the first step. Why?"
    assert _verdict(text, tables)[0] != "healthy"


def test_a_sentence_without_spaces_is_read() -> None:
    """Chinese and Japanese have no spaces between words, so a sentence without spaces does not count as a
    single word."""
    kinds = read("显卡一直没有被使用。这个搭配可以吗？".encode(), "-").of(SentenceKind)
    assert [kind.source.text for kind in kinds] == ["显卡一直没有被使用。", "这个搭配可以吗？"]
