"""Machines as they were recorded: read as another root they give what they gave live."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.facts import Absent, Fact, Gpu, LibraryLoaded, LibraryNotLoaded, PythonVersion, TensorFlowVersion
from doctor.probe import examine
from doctor.probe.machine import Machine
from doctor.tables import Tables

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "tests" / "data" / "machines"
VERDICTS = {
    "debian12-no-gpu-2.21.0-wheels": "gpu-absent",
    "simulated-rtx3070-2.18.1": "healthy",
    "simulated-driver-mismatch-2.15.1": "driver-library-mismatch",
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the records hold symbolic links and colons in names")


def test_every_record_has_its_verdict_here() -> None:
    assert {path.name for path in RECORDS.iterdir() if path.is_dir()} == set(VERDICTS)


@pytest.mark.parametrize("name", VERDICTS)
def test_a_recorded_machine_gets_its_verdict(name: str) -> None:
    diagnosis = diagnose(examine(Machine.at(RECORDS / name)), Tables.bundled())
    assert diagnosis.verdict.code == VERDICTS[name]


def test_pips_cusolver_is_out_of_sight_of_2_21_0() -> None:
    facts = examine(Machine.at(RECORDS / "debian12-no-gpu-2.21.0-wheels"))
    missing = {fact.name for fact in facts.of(LibraryNotLoaded)} - {"libcuda.so.1", "libnvidia-ml.so.1"}
    assert "libcusolver.so.11" in missing
    assert "library-path" in [finding.code for finding in diagnose(facts, Tables.bundled()).findings]


def telling(facts: list[Fact]) -> set[tuple[object, ...]]:
    """What must be the same, without where it was read."""
    result: set[tuple[object, ...]] = set()
    for fact in facts:
        if isinstance(fact, (TensorFlowVersion, PythonVersion)):
            result.add((type(fact).__name__, fact.version))
        elif isinstance(fact, LibraryLoaded):
            result.add(("opens", fact.name, Path(fact.path or "").name))
        elif isinstance(fact, LibraryNotLoaded):
            result.add(("fails", fact.name, fact.cause))
        elif isinstance(fact, Absent):
            result.add(("absent", fact.what))
        elif isinstance(fact, Gpu):
            result.add(("gpu", fact.name, fact.pci_id))
    return result


def test_recording_this_machine_keeps_what_decides(tmp_path: Path) -> None:
    record = tmp_path / "record"
    command = [sys.executable, str(ROOT / "scripts" / "record_machine.py"), str(record)]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    live, kept = examine(Machine.here()), examine(Machine.at(record))
    assert telling(list(kept)) == telling(list(live))
