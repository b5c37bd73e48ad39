"""Tests versions and graphics cards in free text, including versions and cards that the author does not
have."""

from __future__ import annotations

import pytest

from doctor.facts import CudaVersion, CudnnVersion, DriverVersion, Gpu, TensorFlowVersion
from doctor.logs import read
from tests.sampling import each

KINDS = {"tensorflow": TensorFlowVersion, "cuda": CudaVersion, "cudnn": CudnnVersion, "driver": DriverVersion}


def stated(text: str) -> dict[str, str]:
    facts = read(text.encode(), "-")
    found = {name: facts.first(kind) for name, kind in KINDS.items()}
    known = {name: fact for name, fact in found.items() if fact is not None}
    return {name: fact.version for name, fact in known.items()}  # type: ignore[attr-defined]


@each(
    "text, versions",
    [
        ("TensorFlow with keras. In 2.1.0 (a laptop with 4 GB) it stops.\n", {"tensorflow": "2.1.0"}),
        ("one tf gpu 1.4.1 on a box, keras 2.1.5, and it is slow\n", {"tensorflow": "1.4.1"}),
        ("tensorflow GPU = 2.4.0, CUDA = 11: it trains on the CPU\n", {"tensorflow": "2.4.0", "cuda": "11"}),
        ("Ubuntu 18.04 with the 396 driver, optirun gives an error\n", {"driver": "396"}),
        ("TensorFlow sees none, nvidia-smi (367.57) shows the card\n", {"driver": "367.57"}),
        ("my cudnn (v6) seems to be newer than what the code expects\n", {"cudnn": "6"}),
        ("大佬，我的cuda是9.x的，用不了GPU\n", {"cuda": "9"}),
        ("cuda8 and the driver are installed, paths are set\n", {"cuda": "8"}),
        ("Seit ich auf 2.15 bin, sieht TensorFlow die Karte nicht\n", {"tensorflow": "2.15"}),
        ("Con la 2.12 tensorflow no usa la tarjeta\n", {"tensorflow": "2.12"}),
        ("Went from 2.9 to 2.15 with the same cuDNN, and tensorflow is slow\n", {"tensorflow": "2.15"}),
        ("tensor flow 2.4 and no GPU\n", {"tensorflow": "2.4"}),
        ("tensofelow: 2.1\n", {"tensorflow": "2.1"}),
        ("tensorflow lost the card when pacman brought the 595 branch\n", {"driver": "595"}),
        ("The only toolkit on the box is 11.8, and tensorflow skips it\n", {"cuda": "11.8"}),
    ],
)
def test_what_somebody_has_is_read(text: str, versions: dict[str, str]) -> None:
    assert stated(text) == versions


@each(
    "text",
    [
        "现在3090要cuda11，怎么配\n",
        "please update the driver and try CUDA 11.2 first\n",
        "does it have to be CUDA 9.0?\n",
        "Rasa version: 2.2.2, Rasa SDK 2.2.0, windows, tensorflow is slow\n",
        "OpenNMT (upgraded to v2.20.0) does not use the GPU with TensorFlow\n",
        "TensorFlow.js version 2.0.1 skips registering GPU devices\n",
        "a colleague's machine has tf gpu 1.4.1 and it is fine there\n",
        "an NVidia 960M (2GB) gets stuck in the first epoch with tensorflow\n",
        "nvidia-smi says CUDA 13.0 beside the driver\n",
        "tensorflow needs compute capability 3.0, meine hat 2.1\n",
        "tensorflow with mpi: openmpi（apt装的1.10.2）\n",
    ],
)
def test_what_somebody_needs_or_another_program_has_is_not_read(text: str) -> None:
    assert stated(text) == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("用一块1080ti在训练，显卡占用率只有6%左右\n", "1080ti"),
        ("Hardware: 5090, WSL, the nightly of TensorFlow\n", "5090"),
        ("python 3.7, 3060 12G, ubuntu\n", "3060"),
        ("3090的卡怎么才能装上tf1.14\n", "3090"),
        ("3060服务器上装tensorflow 1.15\n", "3060"),
        ("the NVIDIA A2 of my server\n", "NVIDIA A2"),
        ("a laptop with an Nvidia K1100M\n", "Nvidia K1100M"),
        ("RTX PRO 6000 Blackwell, Windows 11\n", "RTX PRO 6000 Blackwell"),
        ("rig of one P106-100\n", "P106-100"),
    ],
)
def test_a_card_is_read_by_its_number(text: str, name: str) -> None:
    assert [gpu.name for gpu in read(text.encode(), "-").of(Gpu)] == [name]


def test_a_bare_number_beside_another_card_is_a_card() -> None:
    text = "With the 2080 Ti the net trained in an hour; 3090 needs ten minutes to start. 1080 images."
    assert [gpu.name for gpu in read(text.encode(), "-").of(Gpu)] == ["2080 Ti", "3090"]


@pytest.mark.parametrize(
    "text",
    [
        "I trained 3060 images in 1080 s\n",
        "step 2070: loss 0.3050\n",
        "训练了1080张图片, 端口3080\n",
        "branch r470 of the NVIDIA R470 driver\n",
    ],
)
def test_other_numbers_are_not_cards(text: str) -> None:
    assert read(text.encode(), "-").of(Gpu) == []


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("I do not have a GPU. Can this run on a server without one?\n", True),
        ("There is no NVIDIA GPU in my laptop, does the training work at all?\n", True),
        (
            "cudart_stub.cc: Ignore above cudart dlerror if you do not have a GPU set up on your machine.\n",
            False,
        ),
        ("You can train on the CPU if you do not have a GPU\n", False),
        ("I do not have a GPU device in the list although nvidia-smi shows one\n", False),
    ],
)
def test_a_statement_that_a_computer_has_no_gpu_is_read(text: str, absent: bool) -> None:
    said = read(text.encode(), "-").symptoms("stated-absent")
    assert any(symptom.get("what") == "gpu" for symptom in said) is absent
