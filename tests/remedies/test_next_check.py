"""What check prescribes leads to a machine that the next check calls healthy: the printed packages are laid out as the
tables know their files, the printed links are made by the printed code, the printed exports run in a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.tables import Tables
from tests.probe.machines import Folder
from tests.probe.test_kinds_of_machine import FAULTS as OF_KINDS
from tests.probe.test_verdicts import FAULTS
from tests.remedies.following import carry_out

CARDS = {
    "RTX 3070": ("2484", "8.6"), "Tesla T4": ("1eb8", "7.5"), "Tesla V100": ("1db4", "7.0"), "GTX 1080": ("1b80", "6.1"),
}  # fmt: skip
INSTALLED = ("2.21.0", "2.18.1", "2.16.1", "2.15.1", "2.10.0", "cpu", None)


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("installed", INSTALLED)
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
    carry_out(machine, found[0], tables, monkeypatch)
    assert diagnose(machine.facts(), tables).verdict.code == "gpu-absent"


EVERY = {**{name: make for name, (_, make) in FAULTS.items()}, **{name: make for name, (_, _, make) in OF_KINDS.items()}}
NO_COMMAND_CURES = {
    "no_gpu": "there is no GPU",
    "only_an_amd_gpu": "there is no GPU",
    "cpu_without_avx": "another processor is needed",
    "a GPU kept for a virtual machine": "what keeps it has to be told by whoever gave it away",
}

LEFT = {"blackwell_with_a_build_of_2023": "gpu-arch-too-new"}
"""What is left as a warning: no wheel has machine code for this GPU, the driver compiles it at the first start."""


@pytest.mark.parametrize("name", [name for name in EVERY if name not in NO_COMMAND_CURES])
def test_a_fault_s_cure_leads_to_a_healthy_machine(
    name: str, tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fault that the other tests make: the cure of the first finding, then of what the next check finds."""
    machine = EVERY[name](Folder(tmp_path / "machine"))
    followed = []
    for _ in range(3):
        verdict = machine.diagnosis().verdict
        if verdict.severity != "error":
            break
        followed.append((verdict.code, [step.text for step in verdict.prescription]))
        assert carry_out(machine, verdict, tables, monkeypatch) > 0, followed
    assert (verdict.code, verdict.severity == "error") == (LEFT.get(name, "healthy"), False), (followed, verdict.code, verdict.explanation)
    codes = [code for code, _ in followed]
    assert len(set(codes)) == len(codes), f"the same cure was printed again: {followed}"
