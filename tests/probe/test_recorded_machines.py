"""Tests recorded machines: read as another root, they give the same facts as the live machine."""

from __future__ import annotations

import dataclasses
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

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or not RECORDS.is_dir(),
    reason="the records contain links and names with colons, which Windows and source distributions lack",
)


def test_every_record_has_its_verdict_here() -> None:
    assert {path.name for path in RECORDS.iterdir() if path.is_dir()} == set(VERDICTS)


@pytest.mark.parametrize("name", VERDICTS)
def test_a_recorded_machine_gets_its_verdict(name: str) -> None:
    diagnosis = diagnose(examine(Machine.at(RECORDS / name)), Tables.bundled())
    assert diagnosis.verdict.code == VERDICTS[name]


def test_tensorflow_2_21_0_does_not_find_pips_cusolver() -> None:
    facts = examine(Machine.at(RECORDS / "debian12-no-gpu-2.21.0-wheels"))
    missing = {fact.name for fact in facts.of(LibraryNotLoaded)} - {"libcuda.so.1", "libnvidia-ml.so.1"}
    assert "libcusolver.so.11" in missing
    assert "library-path" in [finding.code for finding in diagnose(facts, Tables.bundled()).findings]


def leads_out(root: Path, link: Path) -> bool:
    """Whether a link leads out of the root if a program that does not know about the root follows it."""
    target = Path(os.readlink(link))
    inside = os.path.normpath(link.parent.relative_to(root) / target)
    return target.is_absolute() or Path(inside).parts[0] == os.pardir


@pytest.mark.parametrize("name", VERDICTS)
def test_no_link_of_a_record_leads_out_of_it(name: str) -> None:
    """Programs that pack the tests follow links, so an absolute link would include files of the machine that
    packs them."""
    links = [path for path in (RECORDS / name).rglob("*") if path.is_symlink()]
    assert links
    assert not [path for path in links if leads_out(RECORDS / name, path)]
    root = (RECORDS / name).resolve()
    assert not [path for path in links if path.exists() and root not in path.resolve().parents]


def telling(facts: list[Fact]) -> set[tuple[object, ...]]:
    """Return the parts of the facts that must be equal, without their sources."""
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


def test_a_recording_of_this_machine_contains_the_decisive_facts(tmp_path: Path) -> None:
    record = tmp_path / "record"
    command = [sys.executable, str(ROOT / "scripts" / "record_machine.py"), str(record)]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert not [path for path in record.rglob("*") if path.is_symlink() and leads_out(record, path)]
    live, kept = examine(Machine.here()), examine(Machine.at(record))
    assert telling(list(kept)) == telling(list(live))


def test_verdict_of_a_simulation_says_that_the_environments_own_libraries_were_not_tested() -> None:
    """The recorded environment has no CUDA libraries of its own: all of them came from the simulation."""
    verdict = diagnose(examine(Machine.at(RECORDS / "simulated-rtx3070-2.18.1")), Tables.bundled()).verdict
    assert "own CUDA libraries were not tested" in verdict.title
    assert "libcudnn.so.9" in verdict.explanation.partition("would not load")[2]


def test_the_environments_own_cuda_is_searched_for_without_the_simulation() -> None:
    """The environment has the CUDA wheels and runs in a simulation. The check also looks for the libraries
    without the simulation, and lists only those that it does not find."""
    machine = Machine.at(RECORDS / "debian12-no-gpu-2.21.0-wheels")
    plain = {fact.name for fact in examine(machine).of(LibraryNotLoaded)} - {
        "libcuda.so.1",
        "libnvidia-ml.so.1",
    }
    env = {
        **machine.env,
        "TFGPU_DOCTOR_SIMULATION": "/tmp/simulation/machine",
        "LD_LIBRARY_PATH": "/tmp/simulation/cuda",
    }
    symptom = examine(dataclasses.replace(machine, env=env)).symptoms("simulated-libraries")[0]
    assert set(symptom.get("missing").split(", ")) == {name for name in plain if name in symptom.get("asked")}
    assert "libcudart.so.12" in symptom.get("asked")
