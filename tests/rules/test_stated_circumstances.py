"""Tests causes that follow from circumstances which people state, without a message that names the cause."""

from __future__ import annotations

from doctor import api
from tests.sampling import each

SMI = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.85.12    Driver Version: 525.85.12    CUDA Version: 12.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|===============================+======================+======================|
|   0  NVIDIA A40          Off  | 00000000:01:00.0 Off |                    0 |
|  0%   31C    P8    20W / 300W |     12MiB / 46068MiB |      0%      Default |
|   3  NVIDIA A40          Off  | 00000000:C1:00.0 Off |                    0 |
|  0%   33C    P8    21W / 300W |  44010MiB / 46068MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
| Processes:                                                                  |
|    3   N/A  N/A      3141      C   python                          43990MiB |
+-----------------------------------------------------------------------------+
"""


@each(
    "text, code",
    [
        # the extra of this release requires a package that does not exist
        (
            'Python 3.10, Ubuntu 22.04. pip install "tensorflow[and-cuda]==2.15.0" stops while it collects'
            " packages; without the extra it works.\n",
            "known-release-bug",
        ),
        # pip takes the stub 2.12
        (
            "requirements.txt:\n  tensorflow-gpu\n  numpy\n\nPython 3.10, and pip install fails.\n",
            "tf-gpu-package-removed",
        ),
        # each TensorFlow package installs the same folder
        (
            "pip list shows tensorflow 2.9.1, tensorflow-gpu 2.9.3 and tensorflow-cpu 2.8.0. TensorFlow uses"
            " only the CPU.\n",
            "tf-conflicting-packages",
        ),
        # pip belongs to another Python
        (
            "$ python3 -V\nPython 3.12.3\n$ pip3 -V\npip 24.0 from /usr/lib/python3.10/site-packages/pip"
            " (python 3.10)\n$ pip3 list | grep tensorflow\ntensorflow   2.17.0\nImporting it fails.\n",
            "tf-not-installed",
        ),
        # Rosetta has no AVX
        (
            "MacBook Pro M1, macOS 12.6\nplatform : osx-64\ntensorflow 2.9.1 from pip: import tensorflow, and"
            " the interpreter is gone.\n",
            "cpu-no-avx",
        ),
        # a variable from a machine with more GPUs
        (
            "New workstation with one RTX A5000; I copied my .bashrc from the server, so\n"
            "CUDA_VISIBLE_DEVICES=3\nTensorFlow 2.16.1, the list of GPUs is empty, other users see it.\n",
            "gpu-hidden",
        ),
        # conda's toolkit needs a newer driver
        (
            "# packages in environment at /opt/conda/envs/tf:\n#\n# Name  Version  Build  Channel\n"
            "cudatoolkit               10.0.130                      0\n"
            "tensorflow-gpu            1.13.1               h0d30ee6_0\n\n"
            "Driver 390.116, GTX 1060. The import is fine, the session fails.\n",
            "driver-too-old",
        ),
        # the list was searched for cuDNN, too
        (
            "$ dpkg -l | grep -E 'cudart|cublas|cudnn'\n"
            "ii  cuda-cudart-11-2     11.2.152-1     amd64\nii  libcublas-11-2       11.4.1.1043-1  amd64\n\n"
            "TensorFlow 2.8.4, Python 3.8, driver 510.108.03, RTX 3070: no GPU in the list.\n",
            "cudnn-missing",
        ),
        (
            "$ dpkg -l | grep -iE 'cuda|cudnn' | awk '{print $2, $3}'\ncuda-cudart-10-1 10.1.243-1\n"
            "cuda-toolkit-10-1 10.1.243-1\n\nTensorFlow 2.3.1, Python 3.8, driver 450.80.02, GTX 1070: no"
            " GPU.\n",
            "cudnn-missing",
        ),
        # the artefact without CUDA
        (
            "[INFO] +- org.tensorflow:tensorflow:jar:1.14.0:compile\n"
            "[INFO] |  \\- org.tensorflow:libtensorflow_jni:jar:1.14.0:compile\n"
            "GTX 1070, driver 418.67, CUDA 10.0, cuDNN 7.6.0: from Java it is slow, and the GPU idles.\n",
            "tf-cpu-only",
        ),
        # a node for logging in
        (
            "[ada@login02 ~]$ python -c 'import tensorflow as tf;"
            ' print(tf.config.list_physical_devices("GPU"))\'\n[]\nWhy is there no card? The cluster has'
            " A100s.\n",
            "gpu-absent",
        ),
        (
            SMI + "TF 2.11: yesterday it ran, today the program crashes in its first layer.\n",
            "gpu-memory-held",
        ),
        # on Hopper, 2.18 needs a driver that compiles PTX ISA 8.3
        (
            "H100, driver 535.104, tensorflow[and-cuda] 2.18.0, Python 3.11: the GPU is listed, and the first"
            " addition ends with an error.\n",
            "driver-too-old",
        ),
    ],
)
def test_stated_circumstances_lead_to_their_cause(text: str, code: str) -> None:
    assert api.explain(text).verdict.code == code


def test_the_cure_of_an_extra_that_fails_installs_the_release_without_the_defect() -> None:
    verdict = api.explain('pip install "tensorflow[and-cuda]==2.15.0" fails\n').verdict
    assert any("tensorflow[and-cuda]==2.15.1" in step.text for step in verdict.prescription)


def test_an_installed_r_package_whose_import_fails_is_not_certainly_missing() -> None:
    report = api.explain(
        "R: install_keras(tensorflow = '1.9-gpu') worked. CUDA 9.2, driver 396.54, GTX 1060.\n"
        "Error: Installation of TensorFlow not found.\n"
    )
    assert report.verdict.confidence != "certain"
    assert any(row["part"] == "cuda" and row["fits"] is False for row in report.to_dict()["compatibility"])


def test_each_row_of_the_table_counts_for_its_own_gpu() -> None:
    from doctor.facts import GpuMemory
    from doctor.logs import read

    assert {m.index: m.used_mib for m in read(SMI.encode()).of(GpuMemory)} == {0: 12, 3: 44010}


def test_the_name_of_cuda_11_s_runtime_library_does_not_contradict_cuda_11_2() -> None:
    text = (
        "CUDA 11.2.2, cuDNN 8.1.1, TensorFlow 2.5.0\n$ ldconfig -p\n"
        "\tlibcudart.so.11.0 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.11.0\n"
        "\tlibcudnn.so.8 (libc6,x86-64) => /usr/local/cuda/lib64/libcudnn.so.8\n"
    )
    rows = api.explain(text).to_dict()["compatibility"]
    assert [row["fits"] for row in rows if row["part"] == "cuda"] == [True]


def test_the_release_behind_python_s_own_version_is_read() -> None:
    text = "3.11.8 (tags/v3.11.8:db85d51, Feb 6 2024) [MSC v.1937 64 bit (AMD64)] 2.16.1 []\n"
    assert api.explain(text).to_dict()["facts"]["tensorflow"]["value"] == "2.16.1"


def test_rosetta_is_left_and_not_used_once_more() -> None:
    verdict = api.explain(
        "MacBook M1, macOS 12.6\nplatform : osx-64\ntensorflow 2.9.1: at the import, Python dies.\n"
    ).verdict
    assert "arm64 Python" in verdict.prescription[0].text


def test_the_other_python_gets_the_release_that_pip_has() -> None:
    verdict = api.explain(
        "$ python3 -V\nPython 3.11.4\n$ pip3 -V\npip 23.1.2 from /usr/lib/python3.8/site-packages/pip (python"
        " 3.8)\n$ pip3 list | grep tensorflow\ntensorflow   2.13.0\nImporting it fails.\n"
    ).verdict
    assert verdict.prescription[0].text == "python3 -m pip install tensorflow==2.13.0"


def test_on_windows_the_other_python_is_not_started_as_python3() -> None:
    verdict = api.explain(
        "Windows 10\n> python -V\nPython 3.9.13\n> pip -V\npip 22.0 from c:\\python310\\lib\\site-"
        "packages\\pip (python 3.10)\n> pip list | findstr tensorflow\ntensorflow   2.10.0\n"
        "Importing it fails.\n"
    ).verdict
    assert verdict.code == "tf-not-installed"
    assert verdict.prescription[0].text == "python -m pip install tensorflow==2.10.0"


def test_a_computer_without_a_gpu_gets_no_build_with_cuda() -> None:
    verdict = api.explain(
        "The model was trained on a GPU; this server has no GPU, so loading it fails:\n"
        "InvalidArgumentError: Cannot assign a device for operation a: node a was explicitly assigned to"
        " /device:GPU:0 but available devices are [ /job:localhost/replica:0/task:0/device:CPU:0 ]. Make sure"
        " the device specification refers to a valid device. The requested device appears to be a GPU, but"
        " CUDA is not enabled.\n"
    ).verdict
    said = " ".join(step.text for step in verdict.prescription)
    assert "and-cuda" not in said
    assert "clear_devices" in said


def test_the_system_ends_where_another_field_begins() -> None:
    facts = api.explain("os:ubuntu 16.04 LTS,cuda:8.0\nTensorFlow 1.4.1 finds no GPU\n").to_dict()["facts"]
    assert facts["os"]["value"] == "ubuntu 16.04 LTS"
