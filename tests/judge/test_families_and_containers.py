"""Tests reports that name an architecture or a series in place of a card, and NVIDIA's own containers."""

from __future__ import annotations

from doctor.case import Case
from doctor.judge import compatibility
from doctor.logs import read
from doctor.tables import Tables
from tests.sampling import each

IMAGE = "docker run --gpus all nvcr.io/nvidia/tensorflow:"


def case_of(text: str) -> Case:
    return Case(read(text.encode(), "-"), Tables.bundled())


def misfits(text: str) -> dict[str, bool | None]:
    """Return whether the driver and the GPU fit, by part, and the codes of those that do not."""
    return {part.code or part.part: part.fits for part in compatibility.parts(case_of(text))}


@each(
    "text, names",
    [
        ("How do I train on the Hopper architecture?", ["Hopper"]),
        ("We bought Ampere cards; TensorFlow 1.15 computes NaN.", ["Ampere"]),
        ("TF 2.3 on my 50xx card", ["GeForce RTX 50 series"]),
        ("30 series GPUs need CUDA 11", ["GeForce RTX 30 series"]),
        ("An RTX 3090 (Ampere architecture) is in the machine.", ["RTX 3090"]),
        ("It runs on Turing cards. On Ampere cards the result is wrong.", []),
        ("I train on Pascal VOC with a Turing machine of 16 GB.", []),
        ("TensorFlow supports the Ampere architecture or newer.", []),
    ],
)
def test_a_family_of_cards_is_read_if_no_card_is_named(text: str, names: list[str]) -> None:
    assert [gpu.name for gpu in case_of(text).gpus] == names


@each(
    "text, wanted",
    [
        ("TensorFlow 1.15, Ampere GPUs", ("gpu-arch-too-new", False)),
        ("TensorFlow 2.15, a Blackwell GPU", ("gpu-arch-too-new", False)),
        ("TensorFlow 2.10 on a Volta card", ("gpu", True)),
        ("TensorFlow 2.10 on a Kepler card", ("gpu", None)),  # it runs on 3.5 and 3.7, not on 3.0
    ],
)
def test_all_cards_of_a_family_must_agree(text: str, wanted: tuple[str, bool | None]) -> None:
    assert misfits(text)[wanted[0]] is wanted[1]


@each(
    "text, wanted",
    [
        ("24.03-tf2-py3, driver 470.82.01, GTX 1660", {"driver-too-old": False, "gpu": True}),
        ("24.03-tf2-py3, driver 470.82.01, Tesla T4", {"driver": True, "gpu": True}),
        ("24.03-tf2-py3, driver 470.82.01, RTX A5000", {"driver": None, "gpu": True}),
        ("24.03-tf2-py3, driver 418.40, Tesla T4", {"driver-too-old": False, "gpu": True}),
        ("24.03-tf2-py3, driver 525.85.12, RTX 3090", {"driver": True, "gpu": True}),
        ("22.06-tf2-py3, driver 515.65, GTX 980", {"driver": True, "gpu-arch-too-old": False}),
        ("22.06-tf1-py3, driver 575.57, RTX 5090", {"driver": True, "gpu-arch-too-new": False}),
        ("20.08-tf1-py3, driver 455.45, RTX 3090", {"driver": True, "gpu": None}),
        ("19.02-py3, driver 410.48, RTX 2080", {"driver": True, "gpu": True}),
        ("99.01-tf2-py3, driver 470.82.01, GTX 1660", {}),
    ],
)
def test_a_container_of_nvidia_needs_its_driver_and_a_gpu_for_its_cuda(
    text: str, wanted: dict[str, bool | None]
) -> None:
    assert misfits(IMAGE + text) == wanted
