"""Tests which of the code in a build a GPU runs: machine code, PTX or nothing."""

from __future__ import annotations

from doctor.compat import Situation, code_for, driver_serves_gpu, runs_on_gpu
from doctor.tables import Tables
from tests.sampling import each

from .releases import release


@each(
    "capability, compiled, ptx, expected",
    [
        ("8.6", ["8.0"], ["8.0"], ("machine", "8.0")),
        ("8.9", ["8.0", "8.6"], [], ("machine", "8.6")),
        ("8.0", ["8.6"], [], None),
        ("7.5", ["7.0"], [], ("machine", "7.0")),
        ("9.0", ["8.0"], ["8.0"], ("jit", "8.0")),
        ("9.0", ["8.0"], ["7.0", "8.0"], ("jit", "8.0")),
        ("12.0", ["9.0"], ["9.0a"], None),
        ("9.0", ["8.0"], ["9.0a"], ("jit", "9.0a")),
        ("9.0", ["9.0a"], [], ("machine", "9.0a")),
        ("12.1", ["12.0a"], [], None),
        ("12.1", ["12.0f"], [], ("machine", "12.0f")),
        ("10.0", [], ["9.0"], ("jit", "9.0")),
        ("10.0", ["9.0"], [], None),
        ("5.0", ["5.2"], ["7.0"], None),
        ("3.5", ["3.7"], ["3.7"], None),
        ("8.6", [], [], None),
    ],
)
def test_code_that_a_gpu_runs(
    capability: str, compiled: list[str], ptx: list[str], expected: tuple[str, str] | None
) -> None:
    code = code_for(capability, compiled, ptx)
    assert (None if code is None else (code.kind, code.target)) == expected


def test_ampere_laptop_runs_ampere_machine_code(tables: Tables) -> None:
    answer = runs_on_gpu(release(tables, "2.20.0"), Situation(capabilities=("8.6",)), tables)
    assert answer.verdict == "yes"
    assert "8.0" in answer.reason
    assert answer.refs[0].startswith("tensorflow 2.20.0 linux-x86_64")


def test_kepler_is_too_old_for_2_15(tables: Tables) -> None:
    answer = runs_on_gpu(release(tables, "2.15.1"), Situation(capabilities=("3.7",)), tables)
    assert answer.verdict == "no"
    assert "older than any that" in answer.reason


def test_maxwell_is_too_old_for_2_17(tables: Tables) -> None:
    assert runs_on_gpu(release(tables, "2.16.2"), Situation(capabilities=("5.2",)), tables).verdict == "yes"
    assert runs_on_gpu(release(tables, "2.17.0"), Situation(capabilities=("5.2",)), tables).verdict == "no"


def test_compute_capability_5_0_has_no_code_in_2_3(tables: Tables) -> None:
    answer = runs_on_gpu(release(tables, "2.3.1"), Situation(capabilities=("5.0",)), tables)
    assert answer.verdict == "no"
    assert runs_on_gpu(release(tables, "2.3.1"), Situation(capabilities=("5.2",)), tables).verdict == "yes"
    assert runs_on_gpu(release(tables, "2.4.0"), Situation(capabilities=("5.0",)), tables).verdict == "yes"


def test_ampere_on_a_cuda_10_build_is_refused(tables: Tables) -> None:
    answer = runs_on_gpu(release(tables, "2.3.1"), Situation(capabilities=("8.6",)), tables)
    assert answer.verdict == "no"
    assert any("ampere-on-cuda-10" in ref for ref in answer.refs)


def test_blackwell_cannot_use_ptx_for_9_0a(tables: Tables) -> None:
    for version in ("2.16.2", "2.17.1", "2.18.1", "2.19.1", "2.20.0"):
        answer = runs_on_gpu(release(tables, version), Situation(capabilities=("12.0",)), tables)
        assert answer.verdict == "no", version
        assert any("9.0a" in row.data["reason"] for row in answer.rows if "reason" in row.data), version


def test_blackwell_on_2_21_compiles_from_ptx(tables: Tables) -> None:
    answer = runs_on_gpu(
        release(tables, "2.21.0"), Situation(capabilities=("12.0",), driver="570.86.10"), tables
    )
    assert answer.verdict == "slow"


def test_worst_of_two_gpus_decides(tables: Tables) -> None:
    answer = runs_on_gpu(release(tables, "2.20.0"), Situation(capabilities=("8.6", "5.0")), tables)
    assert answer.verdict == "no"
    assert "5.0" in answer.reason


def test_cpu_build_has_no_code_for_any_gpu(tables: Tables) -> None:
    answer = runs_on_gpu(release(tables, "2.0.0", "tensorflow"), Situation(capabilities=("7.5",)), tables)
    assert answer.verdict == "no"
    assert "CPU build" in answer.reason


def test_no_given_gpu_gives_unknown(tables: Tables) -> None:
    assert runs_on_gpu(release(tables, "2.20.0"), Situation(), tables).verdict == "unknown"


def test_driver_of_a_later_branch_no_longer_serves_kepler(tables: Tables) -> None:
    assert driver_serves_gpu("3.7", "470.256.02", tables).verdict == "yes"
    assert driver_serves_gpu("3.7", "525.60.13", tables).verdict == "no"


def test_windows_driver_numbers_of_the_last_kepler_branch_are_its_own(tables: Tables) -> None:
    assert driver_serves_gpu("3.5", "475.14", tables, "windows").verdict == "yes"
    assert driver_serves_gpu("3.5", "511.23", tables, "windows").verdict == "no"


def test_driver_older_than_the_gpu_does_not_know_it(tables: Tables) -> None:
    assert driver_serves_gpu("12.0", "535.183.01", tables).verdict == "no"
    assert driver_serves_gpu("8.9", "470.256.02", tables).verdict == "no"
    assert driver_serves_gpu("8.6", "470.256.02", tables).verdict == "yes"


def test_driver_of_a_future_branch_supports_gpus_that_are_not_dropped_yet(tables: Tables) -> None:
    assert driver_serves_gpu("8.6", "700.10", tables).verdict == "yes"
    assert driver_serves_gpu("6.1", "700.10", tables).verdict == "no"
