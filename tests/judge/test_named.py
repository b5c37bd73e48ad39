"""Tests that a report that names a binding, a program or a hosted notebook also states the TensorFlow release
in it."""

from __future__ import annotations

from doctor.findings import Part
from tests.rules.situation import diagnosed


def _parts(text: str) -> dict[str, Part]:
    return {part.part: part for part in diagnosed(text).compatibility}


def test_the_addon_for_node_brings_a_tensorflow_that_opens_its_own_cuda() -> None:
    diagnosis = diagnosed(
        "tfjs-node-gpu 3.8.0 on Windows 10, CUDA 10.1 and cuDNN 7.6, GTX 1080. It does not use the GPU.\n"
    )
    assert diagnosis.verdict.code == "cuda-version-mismatch"
    assert any("tfjs-node-gpu" in row for row in diagnosis.verdict.tables)
    parts = {part.part: part for part in diagnosis.compatibility}
    assert (parts["cuda"].needs, parts["cuda"].fits) == ("CUDA 11.2", False)


def test_the_python_that_builds_an_addon_for_node_does_not_have_to_run_tensorflow() -> None:
    parts = _parts(
        "npm i @tensorflow/tfjs-node-gpu@4.22.0 with Python 3.12 and Node 20, CUDA 11.2, cuDNN 8.1, RTX"
        " 2070.\n"
    )
    assert "python" not in parts
    assert parts["cuda"].fits


def test_every_release_of_a_binding_opens_another_cuda_than_the_one_that_is_there() -> None:
    parts = _parts("tfjs-node-gpu on Ubuntu 22.04, CUDA 12.4, RTX 3060: it only uses the CPU.\n")
    assert parts["cuda"].fits is False


def test_steps_for_a_binding_install_nothing_for_python() -> None:
    verdict = diagnosed(
        "tensorflow-sys 0.20, CUDA 12.4, cuDNN 9.1, Ubuntu, RTX 3060. It only uses the CPU\n"
    ).verdict
    assert verdict.code == "cuda-version-mismatch"
    assert not [step for step in verdict.prescription if "pip" in step.text or "conda" in step.text]


def test_a_program_of_a_known_release_brings_its_tensorflow() -> None:
    parts = _parts(
        "rasa 3.6.20 on Ubuntu, CUDA 11.2 with cuDNN 8.1, Tesla T4, driver 470.57: rasa train stays on the"
        " CPU.\n"
    )
    assert "TensorFlow 2.12.0" in parts["program"].needs
    assert parts["gpu"].fits


def test_a_program_without_its_release_says_nothing_of_its_tensorflow() -> None:
    parts = _parts("rasa train on Ubuntu, CUDA 10.1, Tesla T4: it stays on the CPU.\n")
    assert "program" not in parts
    assert "cuda" not in parts


def test_a_stated_tensorflow_counts_more_than_what_the_program_brings() -> None:
    diagnosis = diagnosed(
        "spleeter 2.3.0, but with tensorflow 2.15.0 put over it, CUDA 12.2, cuDNN 8.9, RTX 3060, driver"
        " 535.104.05\n"
    )
    parts = {part.part: part for part in diagnosis.compatibility}
    assert parts["cuda"].fits
    assert parts["program"].needs == "TensorFlow 2.5.0"
    assert not parts["program"].code


def test_a_program_that_computes_with_another_framework_is_shown_as_such() -> None:
    part = _parts("cellpose 2.2 on Ubuntu, RTX 3060. At the start something is printed about cudart.\n")[
        "program"
    ]
    assert (part.have, part.needs) == ("cellpose 2.2", "PyTorch")


def test_colab_held_what_it_held_on_the_day_of_the_log() -> None:
    text = (
        "In Colab:\n{day} 11:47:34.726817: I tensorflow/core/platform/cpu_feature_guard.cc:193] This"
        " TensorFlow binary is optimized\n"
    )
    before, after = (_parts(text.format(day=day)) for day in ("2023-11-20", "2024-01-10"))
    assert before["cuda"].have == "11.8"
    assert after["cuda"].have == "12.2"
    assert before["program"].have == "Colab with TensorFlow 2.14.0"


def test_colab_on_no_day_in_particular_holds_nothing_that_is_known() -> None:
    assert "cuda" not in _parts("On Colab my GPU is not used, what can I do?\n")


def test_a_distribution_compiles_its_package_for_its_own_cuda() -> None:
    text = (
        "Arch Linux, python-tensorflow-opt-cuda 2.14.0, CUDA 12.2, cuDNN 8.9, RTX 3060. Which versions go"
        " together?\n"
    )
    assert not [finding for finding in diagnosed(text).findings if finding.code == "cuda-version-mismatch"]
    assert not [part for part in diagnosed(text).compatibility if part.part == "cuda" and part.fits is False]


def test_a_program_that_asks_pip_for_the_distribution_without_cuda_gets_that() -> None:
    text = "spleeter 1.5.3: tensorflow only computes on the CPU. GTX 1080, CUDA 10.0, cuDNN 7.6\n"
    assert diagnosed(text).verdict.code == "tf-cpu-only"
    beside = _parts(
        "spleeter-gpu 1.5.3: tensorflow only computes on the CPU. GTX 1080, CUDA 10.0, cuDNN 7.6\n"
    )
    assert "package" not in beside


def test_a_binding_on_windows_that_brings_an_old_release_did_not_lose_cuda() -> None:
    text = (
        "TensorFlow.NET 0.70.2 with SciSharp.TensorFlow.Redist-Windows-GPU, CUDA 12.1, RTX 3070, Windows 11."
        " GPU not detected.\n"
    )
    assert diagnosed(text).verdict.code == "cuda-version-mismatch"


def test_a_binding_of_no_known_release_on_windows_may_be_one_without_cuda() -> None:
    text = (
        "The crate tensorflow-sys on Windows 11: there is no libtensorflow for the GPU to download since"
        " 2.11, the program uses the CPU.\n"
    )
    assert not [a for a in diagnosed(text).alternatives if a.code == "tf-windows-native" and a.against]


def test_a_version_in_a_file_for_maven_is_the_version_of_the_binding() -> None:
    parts = _parts(
        "<artifactId>libtensorflow_jni_gpu</artifactId>\n    <version>1.14.0</version>\nCUDA 10.2, Tesla P4,"
        " Ubuntu 18.04: it computes on the CPU\n"
    )
    assert "TensorFlow 1.14.0" in parts["program"].have
    assert parts["cuda"].fits is False


def test_a_package_for_dotnet_is_not_the_package_for_python_of_a_similar_name() -> None:
    parts = _parts(
        'SciSharp.TensorFlow.Redist-Windows-GPU 2.10.3 and <PackageReference Include="TensorFlow.Keras"'
        ' Version="0.10.5" />, Windows 10, CUDA 11.2, GTX 1080\n'
    )
    assert "package" not in parts
