"""Tests the facts in lines that programs print or people fill in: which numbers are about this machine."""

from __future__ import annotations

import pytest

from doctor.diagnose import diagnose
from doctor.facts import PROSE, CudaVersion
from doctor.logs import read
from doctor.render.document import document
from doctor.tables import Tables
from tests.sampling import each


def facts(text: str) -> dict[str, object]:
    """Return the facts in a pasted text as the JSON output shows them."""
    shown = document(diagnose(read(text.encode(), "report"), Tables.bundled()), Tables.bundled())["facts"]
    return {key: fact["value"] for key, fact in shown.items()}


DEVICE_QUERY = """\
Detected 1 CUDA Capable device(s)

Device 0: "Quadro P2000"
  CUDA Driver Version / Runtime Version          11.2 / 10.1
  CUDA Capability Major/Minor version number:    6.1
  Total amount of global memory:                 5059 MBytes (5304745984 bytes)
"""


def test_device_query_names_the_driver_s_cuda_its_own_and_the_card() -> None:
    shown = facts(DEVICE_QUERY)
    assert (shown["driver_cuda"], shown["cuda"]) == ("11.2", "10.1")
    assert shown["gpus"] == [{"name": "Quadro P2000", "compute_capability": "6.1", "memory_mib": 5059}]


@pytest.mark.parametrize(
    ("value", "cuda", "cudnn"),
    [
        ("10.2 cuda / 7.6 cudnn", "10.2", "7.6"),
        ("10.2 / 7.6", "10.2", "7.6"),
        ("CUDA 10.2, cuDNN 7.6", "10.2", "7.6"),
    ],
)
def test_the_form_s_field_is_read_with_its_numbers_before_or_after_the_names(
    value: str, cuda: str, cudnn: str
) -> None:
    shown = facts(f"- TensorFlow version: 2.1.0\n- CUDA/cuDNN version: {value}\n")
    assert (shown["cuda"], shown["cudnn"]) == (cuda, cudnn)


def test_an_image_that_is_started_for_nvidia_smi_is_not_the_cuda_in_use() -> None:
    assert "cuda" not in facts("docker run --rm --gpus all nvidia/cuda:11.0-base-ubuntu20.04 nvidia-smi\n")
    assert facts("FROM nvidia/cuda:11.0-base-ubuntu20.04\nRUN nvidia-smi\n")["cuda"] == "11.0"


def test_sys_version_is_the_python_version_whatever_precedes_it() -> None:
    line = "version:        3.7.4 (default, Aug  9 2019, 18:34:13) [MSC v.1915 64 bit (AMD64)]\n"
    assert facts(line)["python"] == "3.7.4"
    assert "python" not in facts("version:        3.7.4 (a release of something) [stable]\n")


def test_the_name_of_nvidia_s_installer_is_the_driver_s() -> None:
    assert facts("sudo sh NVIDIA-Linux-x86_64-470.82.01.run\n")["driver"] == "470.82.01"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("I metal_plugin/src/device/metal_device.cc:1154] Metal device set to: Apple M3 Max", "Apple M3 Max"),
        (
            (
                "I tensorflow/core/common_runtime/gpu/gpu_device.cc:2266] Ignoring visible gpu device"
                " (device: 0, name: AMD Radeon RX 6600, pci bus id: 0000:03:00.0) with AMDGPU version :"
                " gfx1032. The supported AMDGPU versions are gfx1030, gfx900."
            ),
            "AMD Radeon RX 6600",
        ),
        (
            (
                "Created device /device:GPU:0 with 15089 MB memory:  -> device: 0, name: Vega 20, pci bus id:"
                " 0000:26:00.0"
            ),
            "Vega 20",
        ),
    ],
)
def test_gpus_of_other_makers_are_named_where_there_is_no_nvidia_gpu(line: str, name: str) -> None:
    assert facts(line)["gpus"] == [{"name": name}]


def test_a_sentence_is_not_part_of_a_card_s_name() -> None:
    assert facts(
        "It is an AMD Radeon RX 580. There is no other card in it, and TensorFlow does not use the GPU\n"
    )["gpus"] == [{"name": "AMD Radeon RX 580"}]


def test_another_maker_s_card_beside_nvidia_s_is_left_out() -> None:
    assert facts("GPUs: RTX 3060, AMD Radeon Vega 8\n")["gpus"] == [
        {"name": "RTX 3060", "compute_capability": "8.6"}
    ]


def test_a_bound_on_the_compute_capability_is_not_a_card() -> None:
    """tensorflow/core/grappler/devices.cc prints this message whatever cards the machine has."""
    line = (
        "I tensorflow/core/grappler/devices.cc:66] Number of eligible GPUs (core count >= 8, compute"
        " capability >= 0.0): 1\n"
    )
    assert "gpus" not in facts(line)


@pytest.mark.parametrize(
    ("line", "release", "cuda"),
    [
        ("tensorflow-gpu v. 2.0.1 on CUDA v.10.0\n", "2.0.1", "10.0"),
        ("_TensorFlow v2.1.0 (C:\\env\\tensorflow\\__init__.p)_\n", "2.1.0", None),
        ("my_tensorflow 2.1.0\n", None, None),
    ],
    ids=["v. before a number", "a line in italics", "a name that ends so"],
)
def test_a_release_is_read_after_v_and_in_italics(line: str, release: str | None, cuda: str | None) -> None:
    shown = facts(line)
    assert (shown.get("tensorflow"), shown.get("cuda")) == (release, cuda)


@pytest.mark.parametrize("size", ["8gb", "8 GB", "8Gb"])
def test_a_card_s_memory_is_not_part_of_its_name(size: str) -> None:
    shown = facts(f"- GPU model and memory: RTX 3070 ({size})\n")
    assert shown["gpus"] == [{"name": "RTX 3070", "compute_capability": "8.6", "memory_mib": 8192}]


@pytest.mark.parametrize(
    "line",
    [
        "tf.config.list_physical_devices('GPU') gives me []",
        "When I run tf.config.list_physical_devices('GPU') it prints []",
        "`tf.config.list_physical_devices('GPU')` is empty",
        "tf.config.list_physical_devices('GPU') 返回 []",
        "tf.test.gpu_device_name() returns ''",
    ],
)
def test_a_list_without_a_gpu_is_read_in_sentences(line: str) -> None:
    assert facts(f"{line}\n")["registered_gpus"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "if tf.config.list_physical_devices('GPU') is []:",
        "If tf.config.list_physical_devices('GPU') returns [], install the driver.",
        "if tf.test.gpu_device_name() == '':",
        "gpus = tf.config.list_physical_devices('GPU')",
    ],
)
def test_code_and_advice_about_the_list_make_no_fact(line: str) -> None:
    assert "registered_gpus" not in facts(f"{line}\n")


@pytest.mark.parametrize(
    ("line", "cuda", "cudnn"),
    [
        ("解压到`C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v10.0`，再运行", "10.0", None),
        ("conda list: cuda-toolkit=9.0, cudnn=7.3.1", "9.0", "7.3.1"),
        ("Windows 10, CUDA/cuDNN 10.1 - 7.6, pip", "10.1", "7.6"),
    ],
)
def test_cuda_is_read_however_it_is_written(line: str, cuda: str, cudnn: str | None) -> None:
    shown = facts(f"{line}\n")
    assert (shown["cuda"], shown.get("cudnn")) == (cuda, cudnn)


def test_tensorflow_s_advice_is_not_a_setting() -> None:
    advice = (
        "If the cause is memory fragmentation maybe the environment variable"
        " 'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation.\n"
        "either set that envvar or set the envvar XLA_FLAGS=--xla_hlo_profile.\n"
    )
    assert "env" not in facts(advice)
    set_here = facts("I set the environment variable 'TF_GPU_ALLOCATOR=cuda_malloc_async'\n")
    assert set_here["env"] == {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}


@each(
    "line, known",
    [
        ("I have the file in /usr/local/cuda-12.2/lib64", True),
        ("export LD_LIBRARY_PATH=/usr/local/cuda-12.2/lib64", False),
        ("LD_LIBRARY_PATH: /usr/local/cuda-12.2/lib64:/usr/lib", False),
    ],
)
def test_a_toolkit_s_folder_counts_as_stated_only_if_somebody_says_that_it_is_there(
    line: str, known: bool
) -> None:
    found = read(f"TensorFlow 2.15\n{line}\n".encode(), "-").of(CudaVersion)
    assert [fact.version for fact in found if fact.rank <= PROSE] == (["12.2"] if known else [])
