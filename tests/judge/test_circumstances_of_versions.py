"""Tests circumstances that decide which version or which system a report is about."""

from __future__ import annotations

import pytest

from doctor import api
from doctor.api import Report
from doctor.diagnose import gathered
from doctor.logs import read
from doctor.tables import Tables


def verdict(text: str) -> str:
    return api.explain(text).verdict.code


def facts(report: Report) -> dict[str, object]:
    found = report.to_dict()["facts"]
    return {name: fact["value"] for name, fact in found.items() if isinstance(fact, dict) and "value" in fact}


@pytest.mark.parametrize(
    "said", ["ohne WSL", "sans WSL2", "sin WSL", "wsl kullanmiyorum", "没用WSL", "не в WSL", "bez WSL2"]
)
def test_wsl_that_somebody_does_not_use_is_not_the_system(said: str) -> None:
    assert verdict(f"Windows 11, TensorFlow 2.15, RTX 3060, {said}. GPU list: []\n") == "tf-windows-native"


def test_a_diff_states_the_version_that_it_adds() -> None:
    diff = (
        "pip stops since this change, nothing gets installed:\n\n-tensorflow-gpu==2.11.0\n"
        "+tensorflow-gpu==2.12.0\n numpy==1.23.5\n\nPython 3.10.6, Ubuntu 22.04\n"
    )
    assert facts(api.explain(diff))["tensorflow"] == "2.12.0"
    assert verdict(diff) == "tf-gpu-package-removed"


def test_two_lists_with_plus_and_minus_are_no_diff() -> None:
    lists = "Installed:\n- tensorflow 2.9.1\n- CUDA 11.2\n+ a monitor\n"
    assert facts(api.explain(lists))["tensorflow"] == "2.9.1"


def test_a_question_whether_to_build_does_not_make_the_build_ones_own() -> None:
    stated = "tensorflow-gpu 1.13.1, CUDA 9.0.176, cuDNN 7.4.2, driver 410.104, GTX 1080 Ti, Python 3.6.\n"
    failing = f"The import dies with an ImportError.\n{stated}Do I have to build from source now?\n"
    assert verdict(failing) == "cuda-version-mismatch"


def test_a_redirected_stream_is_not_a_version_of_cudnn() -> None:
    searched = 'TensorFlow 2.9.1, CUDA 11.2\n$ find / -name "*cudnn*" 2>/dev/null\n$\n'
    assert "cudnn" not in facts(api.explain(searched))


def test_an_entry_in_a_persons_list_is_not_a_package_of_pip() -> None:
    """cuDNN from pip would mean CUDA from pip, and the stated toolkit would not count."""
    stated = (
        "- Ubuntu 22.04\n- RTX 3090, driver 535.129.03\n- CUDA Toolkit 11.8\n- cuDNN 8.6.0.163\n"
        "- Python 3.10.12, `pip install tensorflow==2.15.0`\n\nThe GPU list is empty.\n"
    )
    assert verdict(stated) == "cuda-version-mismatch"


def test_conda_still_has_tensorflow_gpu() -> None:
    failed = (
        "conda install conda-forge::tensorflow-gpu==2.15.0\n\nTraceback (most recent call last):\n  File"
        ' "/opt/conda/lib/python3.11/site-packages/tensorflow/__init__.py", line 40, in <module>\n'
        "ImportError: /opt/conda/lib/python3.11/site-packages/tensorflow/libtensorflow_framework.so.2:"
        " undefined symbol: _ZTIN6snappy4SinkE\n"
    )
    assert verdict(failed) == "tf-import-failed"


def test_an_import_that_fails_comes_before_a_gpu_that_windows_takes_away() -> None:
    failed = (
        "TensorFlow 2.18.0, Windows 11, Python 3.11. I use the CPU version and need no CUDA.\n\n"
        'Traceback (most recent call last):\n  File "D:\\Python311\\Lib\\site-packages\\tensorflow\\python\\'
        'pywrap_tensorflow.py", line 70, in <module>\n'
        "ImportError: DLL load failed while importing _pywrap_tensorflow_internal:"
        " A dynamic link library (DLL) initialization routine failed.\n"
    )
    assert verdict(failed) != "tf-windows-native"


def test_a_build_of_another_publisher_is_not_judged_by_the_wheels_table() -> None:
    works = b"tensorflow 1.15.5+nv23.03, CUDA 12.1, cuDNN 8.8.1, Python 3.8.10, A100\nAll GPUs are busy.\n"
    case, findings, parts = gathered(read(works, "-"), Tables.bundled())
    assert case.build is None
    assert parts == ()
    assert [finding.code for finding in findings] == ["undetermined"]


def test_what_works_in_python_but_not_in_ipython_lacks_the_path_of_the_libraries() -> None:
    failing = (
        "TensorFlow works with python, Jupyter notebook, but not iPython.\n\nImportError: dlopen(/opt/env/"
        "lib/python2.7/site-packages/tensorflow/python/_pywrap_tensorflow.so, 10): Library not loaded:"
        " @rpath/libcudart.7.5.dylib\n"
    )
    assert verdict(failing) == "library-path"


def test_a_stated_misfit_comes_before_a_path() -> None:
    """A path to libraries of another release does not help."""
    stated = (
        "After upgrading from tensorflow-gpu 1.2.1 to 1.3.0 the import fails.\nUbuntu 16.04 LTS\n"
        "Python 3.5.2\ntensorflow-gpu 1.3.0 via pip3\nCUDA 8.0.61\ncuDNN 5.1.10\nGTX 1070, driver 384.69\n\n"
        ".bashrc still exports LD_LIBRARY_PATH=/usr/local/cuda-8.0/lib64.\n"
    )
    assert verdict(stated) == "cudnn-version-mismatch"


def test_pips_tensorflow_gpu_ended_although_conda_installed_something_else() -> None:
    mixed = (
        "conda install tensorflow\n\nThen, in another environment with Python 3.10 on Ubuntu 22.04, `pip"
        " install tensorflow-gpu==2.12.0` stops with an error, nothing gets installed.\n"
    )
    assert verdict(mixed) == "tf-gpu-package-removed"


def test_a_build_that_somebody_had_to_make_is_their_own() -> None:
    made = "I had to build TensorFlow from source with CUDA 11.2.\n"
    assert read(made.encode(), "-").has("own-build")
    assert not read(b"Do I have to build from source?\n", "-").has("own-build")


def test_an_own_build_fits_the_cudnn_that_it_was_compiled_with() -> None:
    """In the form, "-2" and "-1" count the distribution's builds; neither is a version of cuDNN."""
    form = (
        "- TensorFlow installed from: source, 1.2.0\n- CUDA/cuDNN version: 8.0.61-2/6.0.21-1\n"
        "- GPU: Quadro M1200\n\nThe session sees no GPU.\n"
    )
    assert facts(api.explain(form))["cudnn"] == "6.0.21"
    assert not misfits(form)


def test_a_stated_misfit_explains_an_import_that_fails_without_naming_a_library() -> None:
    report = (
        "CUDA: 9.0\nTensorflow-gpu: 1.14.0\nPython: 3.7.4\n\n"
        'File "C:\\Python37\\lib\\site-packages\\tensorflow\\python\\pywrap_tensorflow.py", line 58\n'
        "ImportError: DLL load failed: The specified module could not be found.\n"
    )
    assert verdict(report) == "cuda-version-mismatch"
    assert verdict(report.replace("9.0", "10.0")) == "tf-import-failed"


def test_at_least_states_what_is_needed_and_not_what_is_there() -> None:
    image = (
        "The Dockerfile has the default CUDA of 11.0, and the requirements use tensorflow v2.5. It should be"
        " used with at least CUDA 11.2.\n"
    )
    assert misfits(image) == [("cuda", "cuda-version-mismatch")]


def test_pip_check_shows_a_conflict_without_calling_it_incompatible() -> None:
    check = "tensorflow 2.9.1 has requirement protobuf<3.20,>=3.9.2, but you have protobuf 4.21.0.\n"
    assert verdict(check) == "python-dependency-conflict"


def test_the_versions_in_a_readme_are_not_those_of_the_machine() -> None:
    report = (
        'The repo README says: "tested with tensorflow-gpu 1.4, CUDA 8.0". My machine: RTX 3060, Python 3.9,'
        " tensorflow 2.11.0, CUDA 11.2. train.py stops at `import tensorflow.contrib.slim as slim`.\n"
    )
    assert facts(api.explain(report))["tensorflow"] == "2.11.0"
    assert verdict(report) == "tf-api-version"


def test_a_module_that_dkms_built_for_another_kernel_does_not_load() -> None:
    report = (
        "No GPU since the reboot, tensorflow 2.17.1, RTX 4070.\n\n$ uname -r\n6.8.0-51-generic\n"
        "$ dkms status\n"
        "nvidia/550.120, 6.8.0-{}-generic, x86_64: installed\n"
    )
    assert verdict(report.format("49")) == "driver-not-loaded"
    assert verdict(report.format("51")) != "driver-not-loaded"
    answers = "$ nvidia-smi\n| NVIDIA-SMI 550.120    Driver Version: 550.120    CUDA Version: 12.4 |\n"
    assert verdict(report.format("49") + answers) != "driver-not-loaded"


def test_an_error_of_tensorflow_s_own_collector_is_not_the_user_s() -> None:
    collected = (
        'Traceback (most recent call last):\n  File "/tmp/check_tf.py", line 5, in <module>\n'
        "    with tf.Session() as sess:\nAttributeError: module 'tensorflow' has no attribute 'Session'\n"
    )
    assert verdict(collected.replace("/tmp/check_tf.py", "train.py")) == "tf-api-version"
    assert verdict(collected) != "tf-api-version"


def test_a_field_that_says_no_states_no_version() -> None:
    form = "- TensorFlow version: 2.1.0\n- CUDA/cuDNN version: no, the machine is a Dell XPS 13 9530\n"
    assert not {"cuda", "cudnn"} & set(facts(api.explain(form)))


def misfits(text: str) -> list[tuple[str, str]]:
    """Return (part, code) for each part of a report that does not fit."""
    _, _, parts = gathered(read(text.encode(), "-"), Tables.bundled())
    return [(part.part, part.code) for part in parts if part.fits is False]


def test_a_distribution_whose_glibc_is_too_old_keeps_the_import_from_working() -> None:
    said = "CentOS 6.9, Python 2.7, pip install tensorflow 1.4.0. The import dies with an ImportError.\n"
    assert ("system", "tf-import-failed") in misfits(said)
    assert ("system", "tf-import-failed") not in misfits(said.replace("6.9", "7.4"))


def test_tensorflow_text_has_the_minor_version_of_tensorflow() -> None:
    listed = "tensorflow==2.11.0\ntensorflow-text==2.6.0\n\nimport tensorflow_text fails.\n"
    assert ("package", "tf-addon-mismatch") in misfits(listed)
    assert not misfits(listed.replace("2.6.0", "2.11.0"))


@pytest.mark.parametrize(("release", "overwritten"), [("1.13.1", True), ("2.3.0", False)])
def test_two_packages_of_one_release_conflict_while_one_has_no_cuda(release: str, overwritten: bool) -> None:
    listed = f"$ pip list\ntensorflow       {release}\ntensorflow-gpu   {release}\nonly the CPU works\n"
    assert (("package", "tf-conflicting-packages") in misfits(listed)) is overwritten


@pytest.mark.parametrize(
    ("said", "system"),
    [
        ("Поставив на вінду TensorFlow 2.12, відеокарти не бачить", "windows"),
        ("윈도우에서 텐서플로 2.12를 쓰는데 GPU가 안 잡힙니다", "windows"),
        ("auf Windows findet TensorFlow 2.12 keine GPU", "windows"),
        ("sur mon Mac TensorFlow ne voit pas la carte", "macos"),
        ("TensorFlow на линуксе видит только процессор", "linux"),
    ],
)
def test_a_system_is_known_by_its_name_in_the_persons_language(said: str, system: str) -> None:
    assert facts(api.explain(said + "\n"))["platform"] == system


@pytest.mark.parametrize(
    ("said", "card"),
    [
        ("swapped my 4090 for a 5090 yesterday, TensorFlow 2.19 crashes", "5090"),
        ("I replaced the GTX 1080 Ti with an RTX 3080, TensorFlow 2.4", "RTX 3080"),
        ("TensorFlow 2.4 on a 3090. It's a 3090 from last year.", "3090"),
    ],
)
def test_a_card_that_somebody_replaced_is_not_in_the_machine(said: str, card: str) -> None:
    case, _, _ = gathered(read(f"{said}\n".encode(), "-"), Tables.bundled())
    assert {gpu.name for gpu in case.gpus} == {card}


def test_the_name_of_a_package_is_no_field_for_a_card() -> None:
    """A field counts more than a sentence, so the card behind `tensorflow-gpu=` hid the other one."""
    said = (
        "RTX 3090，cuda 10.0，tensorflow-gpu==1.15.0（pip 安装），loss 全是 nan，在 2080Ti 的机器上正常。\n"
    )
    case, _, _ = gathered(read(said.encode(), "-"), Tables.bundled())
    assert "RTX 3090" in {gpu.name for gpu in case.gpus}


def test_what_works_beside_the_failing_run_does_not_lend_it_its_cuda() -> None:
    said = (
        "tf[and-cuda] 2.15.0 in a clean venv, Python 3.10, 2x 2080Ti. GPU list is empty."
        " TF 2.11 with cudatoolkit 11.2 in conda on this same box works ok so hardware is fine.\n"
    )
    assert ("cuda", "cuda-version-mismatch") not in misfits(said)


def test_a_line_of_a_dockerfile_is_no_sentence() -> None:
    image = (
        "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3.10\n"
        "RUN pip install tensorflow==2.15.0\n\nnvidia-smi works in the pod, TensorFlow lists no GPU.\n"
    )
    assert verdict(image) == "cudnn-missing"


def test_a_processor_without_avx_explains_an_import_that_just_ends() -> None:
    said = (
        "Phenom II X6 1090T, GTX 1050 Ti, Ubuntu 18.04, driver 418.56, CUDA 10.0, cuDNN 7.4.2, Python 3.6,"
        " tensorflow-gpu 1.13.1. The import of tensorflow crashes, no traceback.\n"
    )
    assert verdict(said) == "cpu-no-avx"
    assert verdict(said.replace("Phenom II X6 1090T", "Core i5-8400")) != "cpu-no-avx"


def test_cudnn_that_does_not_fit_comes_before_a_library_that_nobody_names() -> None:
    said = (
        "tf2.5 + cuda 11.2.2 + cudnn 7.6.5 + driver 465.19.01 + 1660 super + ubuntu 20.04."
        ' "Skipping registering GPU devices".\n'
    )
    assert verdict(said) == "cudnn-version-mismatch"


def test_a_compose_file_passes_the_gpu_on_or_not() -> None:
    services = (
        "services:\n  trainer:\n    image: tensorflow/tensorflow:2.15.0-gpu\n    command: python train.py\n"
    )
    given = "    deploy: {resources: {reservations: {devices: [{driver: nvidia}]}}}\n"
    host = "\nHost: Debian 12, RTX 4090, driver 545.23.08. TensorFlow lists no GPU.\n"
    assert verdict(services + host) == "container-no-gpu"
    assert read((services + given + host).encode(), "-").has("gpus-flag")
    assert not read((services + given + host).encode(), "-").has("compose-without-gpu")
    database = services.replace("tensorflow/tensorflow:2.15.0-gpu", "postgres:16").replace("train.py", "x")
    assert not read((database + host).encode(), "-").has("compose-without-gpu")


def test_a_misfit_is_the_verdict_although_other_versions_fit_and_no_trouble_is_recognised() -> None:
    said = (
        "Python 3.13 from deadsnakes on Ubuntu 24.10, an L4, driver 560.35. For"
        " `pip install tensorflow[and-cuda]==2.18.0` in a clean venv pip knows nothing that it could install."
        " A colleague's 24.04 takes the same line.\n"
    )
    assert verdict(said) == "tf-no-wheel"
