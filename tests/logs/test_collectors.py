"""Tests that the structured report of each collector script is read, and that the answer does not ask for
anything that the report already shows."""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from doctor import api
from doctor.logs.collectors import MARKS
from tests.sampling import each, sampled

DATA = Path(__file__).parent.parent / "data" / "collectors"

SHOWN: dict[str, dict[str, Any]] = {
    "build-info.txt": {},
    "conda-info.txt": {"driver_cuda": "12.0", "platform": "linux", "environment": ["conda"]},
    "conda-list.txt": {
        "tensorflow": "1.4.0",
        "python": "3.5.4",
        "cuda": "8.0",
        "cudnn": "6.0",
        "environment": ["conda"],
    },
    "docker-info.txt": {},
    "docker-info-runtimes.txt": {"os": "Fedora 27 (Workstation Edition)"},
    "docker-inspect.json": {"tensorflow": "2.15.0", "environment": ["docker"]},
    "dpkg-l.txt": {},
    "dpkg-l-nvidia.txt": {"driver": "470.129.06", "cuda": "12.2.140", "cudnn": "8.9.7.29"},
    "ld-debug.txt": {"missing_libraries": ["libcuda.so.1"], "loaded_libraries": ["libcudart.so.12"]},
    "ldconfig-p.txt": {"cuda": "13.0", "platform": "linux"},
    "ldd.txt": {
        "loaded_libraries": [
            "libcublas.so.12",
            "libcublasLt.so.12",
            "libcusparse.so.12",
            "libnvJitLink.so.12",
        ]
    },
    "lspci-nnk.txt": {},
    "module-list.txt": {"python": "3.10.8", "cuda": "11.8", "cudnn": "8.6.0.163"},
    "nvidia-bug-report.txt": {"driver": "520.56.06", "platform": "linux"},
    "nvidia-container-cli.txt": {"driver": "390.87", "driver_cuda": "9.1"},
    "nvidia-smi.txt": {"driver": "460.32.03", "driver_cuda": "11.2"},
    "nvidia-smi-l.txt": {},
    "nvidia-smi-q.txt": {"driver": "440.36", "driver_cuda": "10.2"},
    "nvidia-smi-topo.txt": {},
    "pip-debug.txt": {"python": "3.11.7", "platform": "linux"},
    "pip-inspect.json": {
        "tensorflow": "2.18.1",
        "python": "3.11.7",
        "cudnn": "9.3.0.75",
        "platform": "linux",
    },
    "pip-list.txt": {"tensorflow": "2.18.1", "keras": "3.15.1", "cudnn": "9.3.0.75"},
    "rpm-qa.txt": {"driver": "550.90.07", "cuda": "12.4.127", "cudnn": "9.1.1.17"},
    "strace.txt": {"missing_libraries": ["libcuda.so.1"], "loaded_libraries": ["libcudart.so.12"]},
    "tf-env-2017.txt": {
        "tensorflow": "1.3.0",
        "tensorflow_package": "tensorflow-gpu",
        "driver": "375.66",
        "cuda": "8.0.61",
    },
    "tf-env-no-cudnn.txt": {
        "tensorflow": "2.10.1",
        "python": "3.7.4",
        "cuda": "11.2.152",
        "driver": "470.82.01",
        "driver_cuda": "11.4",
        "missing_libraries": ["libcudnn.so.8"],
    },
    "tf-env-with-gpu.txt": {"tensorflow": "2.9.1", "driver": "460.32.03", "environment": ["docker"]},
    "tf-env-without-gpu.txt": {
        "tensorflow": "2.15.1",
        "python": "3.11.7",
        "missing_libraries": ["libcudart.so.12"],
    },
    "torch-collect-env.txt": {"python": "3.7.4", "driver": "460.32.03", "cuda": "11.2.152", "cudnn": "8.2.0"},
}
"""What each recorded report shows, under the names in the answer's facts."""
CARDS = {
    "lspci-nnk.txt": "GeForce GTX 1050 Mobile",
    "nvidia-bug-report.txt": "GeForce RTX 3060 Mobile / Max-Q",
    "nvidia-container-cli.txt": "GeForce GTX 1080 with Max-Q Design",
    "nvidia-smi.txt": "A100-SXM4-40GB",
    "nvidia-smi-l.txt": "Tesla T4",
    "nvidia-smi-q.txt": "GeForce GTX 1050 Ti",
    "tf-env-2017.txt": "GeForce GTX 1080",
    "tf-env-no-cudnn.txt": "GeForce RTX 3090",
    "tf-env-with-gpu.txt": "A100-SXM4-40GB",
    "torch-collect-env.txt": "A100-SXM4-40GB",
}
NAMED = {
    "conda-list.txt": "tf-conflicting-packages",
    "docker-inspect.json": "container-no-gpu",
    "ld-debug.txt": "driver-missing",
    "strace.txt": "driver-missing",
    "tf-env-no-cudnn.txt": "cudnn-missing",
    "tf-env-without-gpu.txt": "cuda-version-mismatch",
}
"""The causes of the reports that show one. For the other reports, no cause may be claimed."""


def explained(data: bytes) -> dict[str, Any]:
    return api.explain(data, name="report").to_dict()


def test_every_recorded_report_is_listed() -> None:
    assert {path.name for path in DATA.iterdir() if path.suffix in (".txt", ".json")} == set(SHOWN)


@each("name", SHOWN)
def test_a_report_is_read_by_its_structure(name: str) -> None:
    found = explained((DATA / name).read_bytes())
    facts = {key: value["value"] for key, value in found["facts"].items()}
    assert {key: facts.get(key) for key in SHOWN[name]} == SHOWN[name]
    assert [gpu["name"] for gpu in facts.get("gpus", [])] == ([CARDS[name]] if name in CARDS else [])
    extra = facts.keys() - SHOWN[name].keys()
    mistaken = "a name in a list or a question was taken for a statement"
    assert not extra & {"environment", "missing_libraries"}, mistaken
    assert found["findings"][0]["code"] == NAMED.get(name, "undetermined")


@each("name", SHOWN)
def test_the_answer_asks_for_nothing_that_the_report_shows(name: str) -> None:
    found = explained((DATA / name).read_bytes())
    facts = found["facts"]
    first = found["findings"][0]
    asked = [step["text"] for step in first["prescription"]]
    if "driver" in facts and "gpus" in facts:
        assert "nvidia-smi" not in asked
    if "tensorflow" in facts:
        assert not any("tf.__version__" in text for text in asked)
    if facts.keys() & {"loaded_libraries", "missing_libraries"}:
        assert not any("dso_loader" in text for text in asked)
    if first["code"] == "undetermined":
        assert asked


def test_only_what_is_missing_is_asked_for() -> None:
    asked = explained((DATA / "tf-env-with-gpu.txt").read_bytes())["findings"][0]["prescription"]
    assert len(asked) == 1
    assert "dso_loader" in asked[0]["text"]


def test_lines_around_a_report_are_read() -> None:
    report = (DATA / "pip-list.txt").read_text(encoding="utf-8")
    text = (
        f"My training stops.\n\n```\n{report}```\n\nImportError: libcudnn.so.9: cannot open shared object"
        " file: No such file or directory\n"
    )
    found = explained(text.encode())
    assert found["facts"]["missing_libraries"]["value"] == ["libcudnn.so.9"]
    assert found["facts"]["tensorflow"]["value"] == "2.18.1"


def test_evidence_names_the_line_of_the_report() -> None:
    text = "one\ntwo\n" + (DATA / "nvidia-smi-q.txt").read_text(encoding="utf-8")
    (evidence,) = explained(text.encode())["facts"]["driver"]["evidence"][:1]
    assert text.split("\n")[evidence["line"] - 1].split() == ["Driver", "Version", ":", "440.36"]


def test_a_search_cut_off_by_the_end_of_the_text_makes_no_fact() -> None:
    lines = (DATA / "ld-debug.txt").read_text(encoding="utf-8").split("\n")
    cut = next(i for i, line in enumerate(lines) if "find library=libcuda.so.1" in line) + 2
    assert "missing_libraries" not in explained("\n".join(lines[:cut]).encode())["facts"]


def test_a_closed_device_file_is_seen_in_a_trace() -> None:
    text = '31 openat(AT_FDCWD, "/dev/nvidiactl", O_RDWR) = -1 EACCES (Permission denied)\n'
    assert explained(text.encode())["findings"][0]["code"] == "device-permission"


@pytest.mark.parametrize(
    "line",
    sampled(
        [
            "pip version: pip 23.2 sys.platform: ",
            "== check python ========",
            "Package    Version sys.platform: ",
            "==============NVSMI LOG==============",
            "0: find library=libcuda.so.1 [0]; searching",
            "     active environment : active env location :",
            '1 openat(AT_FDCWD, "/dev/nvidia0"',
            "  1: calling init: libcuda.so.1",
            "GPU0 GPU1 CPU Affinity",
            "01:00.0 VGA compatible controller: NVIDIA Corporation",
            "NVRM version: 5",
        ],
        3,
    ),
)
def test_time_grows_only_with_the_number_of_beginnings_of_reports(line: str) -> None:
    taken = []
    for size in (2_000, 8_000):
        start = time.process_time()
        explained("\n".join([line] * size).encode())
        taken.append(time.process_time() - start)
    assert taken[1] < 10 * max(taken[0], 0.1)


def test_json_from_no_collector_is_read_as_text() -> None:
    assert explained(json.dumps({"version": "1", "tensorflow": "2.4.1"}).encode())["findings"]
    assert explained(b"[" * 5_000 + b'"version"')["findings"]


def test_the_marks_of_each_family_are_those_of_its_readers() -> None:
    """The module of a family is imported only for a text that contains one of its marks."""
    for family, marks in MARKS.items():
        module = importlib.import_module(f"doctor.logs.collectors.{family}")
        assert {collector.mark for collector in module.COLLECTORS} == set(marks)
