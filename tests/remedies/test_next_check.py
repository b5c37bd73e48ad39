"""What check prescribes leads to a machine that the next check calls healthy: the printed packages are laid
out as the tables know their files, the printed links are made by the printed code, the printed exports run in
a shell.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.tables import Tables
from tests.probe.machines import Folder
from tests.probe.test_windows import CUDA, FOLDER, Windows, dll, in_registry
from tests.remedies import windows
from tests.remedies.faulty import EVERY
from tests.remedies.following import carry_out
from tests.sampling import sampled

CARDS = {
    "RTX 3070": ("2484", "8.6"),
    "Tesla T4": ("1eb8", "7.5"),
    "Tesla V100": ("1db4", "7.0"),
    "GTX 1080": ("1b80", "6.1"),
}
INSTALLED = ("2.21.0", "2.18.1", "2.16.1", "2.15.1", "2.10.0", "cpu", None)


@pytest.mark.parametrize(("installed", "card"), sampled(itertools.product(INSTALLED, CARDS), 5))
def test_the_check_after_the_cure_is_healthy(
    tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch, installed: str | None, card: str
) -> None:
    device, capability = CARDS[card]
    machine = (
        Folder(tmp_path)
        .gpu(device)
        .driver("570.86.10")
        .answers(capability=capability, name=f"NVIDIA {card}", cuda="12.8")
    )
    machine.python("3.10")
    if installed == "cpu":
        machine.tensorflow("2.18.1", "tensorflow-cpu", gpu=False)
    elif installed is not None:
        machine.tensorflow(installed)
    first = machine.diagnosis().verdict
    assert first.severity == "error"
    assert carry_out(machine, first, tables, monkeypatch) > 0, [step.text for step in first.prescription]
    after = machine.diagnosis().verdict
    assert after.code == "healthy", (
        first.code,
        [step.text for step in first.prescription],
        after.code,
        after.explanation,
    )


@pytest.mark.parametrize("installed", ["2.21.0", None])
def test_a_machine_without_a_gpu_gets_nothing_of_cuda(
    tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch, installed: str | None
) -> None:
    machine = Folder(tmp_path).python("3.11")
    if installed is not None:
        machine.tensorflow(installed)
    found = machine.diagnosis().findings
    steps = " ".join(step.text for finding in found for step in finding.prescription)
    assert "[and-cuda]" not in steps
    assert "nvidia-" not in steps
    if found[0].code != "gpu-absent":
        carry_out(machine, found[0], tables, monkeypatch)
    assert diagnose(machine.facts(), tables).verdict.code == "gpu-absent"


LEFT = dict.fromkeys(
    ("blackwell_with_a_build_of_2023", "a GPU that needs the open modules"), "gpu-arch-too-new"
)
"""What is left as a warning: no wheel has machine code for this GPU, the driver compiles it at the first
start."""


@pytest.mark.parametrize("name", sampled(EVERY, 8))
def test_a_fault_s_cure_leads_to_a_healthy_machine(
    name: str, tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fault that the other tests make: the cure of the first finding, then of what the next check
    finds."""
    machine, sound = EVERY[name](tmp_path / "machine"), LEFT.get(name, "healthy")
    followed = []
    for _ in range(3):
        verdict = machine.diagnosis().verdict
        if verdict.code == sound and verdict.severity != "error":
            break
        followed.append((verdict.code, [step.text for step in verdict.prescription]))
        assert carry_out(machine, verdict, tables, monkeypatch) > 0, followed
    verdict = machine.diagnosis().verdict
    assert (verdict.code, verdict.severity == "error") == (sound, False), (
        followed,
        verdict.code,
        verdict.explanation,
    )
    codes = [code for code, _ in followed]
    assert followed
    assert len(set(codes)) == len(codes), f"the same cure was printed again: {followed}"


def runtime(machine: Windows) -> None:
    (machine.root / "Windows/System32/msvcp140_1.dll").unlink()


ON_WINDOWS: dict[str, Callable[[Windows], object]] = {
    "a toolkit that is not on PATH": lambda m: m.env.update(PATH="C:\\Windows;"),
    "cuDNN without zlibwapi": lambda m: (m.root / CUDA / "bin/zlibwapi.dll").unlink(),
    "cuDNN cut short": lambda m: m.write(f"{CUDA}/bin/cudnn64_8.dll", dll(size=4000)),
    "no cuDNN": lambda m: (m.root / CUDA / "bin/cudnn64_8.dll").unlink(),
    "an older cuDNN": lambda m: m.write(f"{CUDA}/include/cudnn_version.h", windows.OLDER),
    "no CUDA": lambda m: shutil.rmtree(m.root / "Program Files"),
    "no Visual C++ runtime": runtime,
}


@pytest.mark.parametrize("name", ON_WINDOWS)
def test_a_cure_on_windows_leads_to_a_healthy_machine(name: str, tmp_path: Path, tables: Tables) -> None:
    machine = in_registry(Windows(tmp_path), FOLDER)
    machine.env["PATH"] = f"C:\\Windows;{FOLDER}"
    ON_WINDOWS[name](machine)
    first = diagnose(machine.facts(), tables).verdict
    assert first.severity == "error"
    assert windows.carry_out(machine, first) > 0, [step.text for step in first.prescription]
    assert diagnose(machine.facts(), tables).verdict.code == "healthy"
