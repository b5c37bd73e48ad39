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
