"""Tests logs from a simulated GPU: the lines of `simulate` are not evidence, and the report says that the GPU
was simulated."""

from __future__ import annotations

import pytest

from doctor.commands.simulate import _opening
from doctor.diagnose import diagnose
from doctor.facts import CudaVersion, CudnnVersion, DriverVersion, Gpu
from doctor.logs import read
from doctor.render import Options, rendered
from doctor.simulate import prepare
from doctor.tables import Tables

END = (
    "tfgpu-doctor simulate: the simulation is over (the command's exit code is 1); what ran in it had no real"
    " GPU"
)
NCCL = (
    "Collective ops is aborted by: NCCL: unhandled cuda error (run with NCCL_DEBUG=INFO for details). "
    "Set NCCL_DEBUG=WARN for detail.\n"
)


def banner(*faults: str, **wishes: object) -> str:
    prepared = prepare(faults=faults, **wishes)  # type: ignore[arg-type]
    return f"tfgpu-doctor simulate: {_opening(prepared, 'tensorflow 2.18.1', list(faults))}"


@pytest.mark.parametrize("prefix", ["", "2026-01-01T00:00:00Z ", "##[error] "])
def test_banner_is_no_evidence(prefix: str) -> None:
    for opening in (banner(), banner(gpus=["T4", "A100"]), banner("cudnn-out-of-memory")):
        facts = read(f"{prefix}{opening}\n{prefix}{END}\n".encode())
        assert facts.has("simulated-gpu")
        for kind in (Gpu, DriverVersion, CudaVersion, CudnnVersion):
            assert facts.of(kind) == [], kind


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_report_says_that_it_is_from_a_simulation(form: str) -> None:
    text = f"{banner()}\nCould not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED\n{END}\n"
    diagnosis = diagnose(read(text.encode()), Tables.bundled())
    shown = rendered(diagnosis, Options(format=form))
    if form == "json":
        assert diagnosis.facts.has("simulated-gpu")
    else:
        assert "simulated GPU" in shown
    alone = diagnose(read(text.replace(banner(), "").replace(END, "").encode()), Tables.bundled())
    assert diagnosis.verdict.code == alone.verdict.code


def test_nccl_in_a_simulation_is_the_simulations_fault() -> None:
    diagnosis = diagnose(read(f"{banner(count=2)}\n{NCCL}{END}\n".encode()), Tables.bundled())
    assert diagnosis.verdict.code == "nccl-failure"
    assert "limitation of the simulation" in diagnosis.verdict.explanation
    steps = " ".join(step.text for step in diagnosis.verdict.prescription)
    assert "HierarchicalCopyAllReduce" in steps
    assert "NCCL_IB_DISABLE" not in steps


def test_nccl_fault_that_was_asked_for_is_explained_as_on_a_machine() -> None:
    diagnosis = diagnose(read(f"{banner('nccl-missing')}\n{NCCL}{END}\n".encode()), Tables.bundled())
    assert "limitation of the simulation" not in diagnosis.verdict.explanation


def test_command_line_of_a_simulation_stays_text() -> None:
    assert not read(b"$ tfgpu-doctor simulate --gpu T4 -- python train.py\n").has("simulated-gpu")
