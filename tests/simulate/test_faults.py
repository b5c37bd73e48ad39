"""Tests that every simulated fault leads to its finding, from the machine and from TensorFlow's log."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.rules import all_rules
from doctor.simulate import FAULTS, Fault, Simulation, environment, prepare
from tests.in_process import called
from tests.sampling import each, sampled
from tests.tensorflow_envs import NEWEST, OLDER, tensorflow_env

# one release of every minor version that has a wheel for Python 3.11, with which the logs were recorded
RELEASES = (
    "2.12.1", "2.13.1", "2.14.1", "2.15.1", "2.16.1", "2.17.1", "2.18.1", "2.19.1", "2.20.0", "2.21.0",
)  # fmt: skip
CODES = {rule.code for rule in all_rules()}
ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "data" / "logs"
# In a container, some states cannot be distinguished from a container without a GPU.
IN_A_CONTAINER = {"no-gpu": "container-no-gpu", "driver-not-loaded": "container-no-gpu"}


@each("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_names_a_finding_that_exists(fault: Fault):
    assert fault.code in CODES
    assert not fault.logged or fault.logged in CODES
    assert not fault.on_machine or fault.on_machine in CODES
    assert fault.shown_by == "nvml" or (ROOT / "tests/simulate/programs" / f"{fault.shown_by}.py").exists()


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS.values() if fault.on_machine is not None],
    ids=lambda fault: fault.name,
)
def test_check_sees_the_fault(fault: Fault):
    python = str(tensorflow_env(NEWEST))
    with environment(prepare(python=python, faults=[fault.name])) as simulation:
        codes = [finding["code"] for finding in checked(simulation, "--python", python)["findings"]]
    wanted = {fault.on_machine or fault.code}
    if Path("/.dockerenv").exists() and fault.name in IN_A_CONTAINER:
        wanted.add(IN_A_CONTAINER[fault.name])
    assert codes[0] in wanted


@pytest.mark.tensorflow
@pytest.mark.parametrize("version", [NEWEST, OLDER])
def test_the_deep_check_registers_the_simulated_gpu_and_says_that_it_is_none(version: str):
    python = str(tensorflow_env(version))
    with environment(prepare(python=python)) as simulation:
        facts = checked(simulation, "--deep", "--python", python)["facts"]
    assert facts["registered_gpus"]["value"] == 1
    assert facts["gpus"]["value"][0]["name"] == "NVIDIA GeForce RTX 3070"
    assert "simulated-gpu" in facts["environment"]["value"]


@pytest.mark.tensorflow
@pytest.mark.parametrize("form", ["text", "markdown", "json"])
@pytest.mark.parametrize("faults", [[], ["cudnn-missing"]], ids=["healthy", "faulty"])
def test_no_check_in_a_simulation_can_be_taken_for_one_of_a_gpu(form: str, faults: list[str]):
    python = str(tensorflow_env(NEWEST))
    with environment(prepare(python=python, faults=faults)) as simulation:
        done = subprocess.run(
            [sys.executable, "-m", "doctor", "check", "--format", form, "--python", python],
            env=simulation.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    head = done.stdout if form == "json" else "\n".join(done.stdout.splitlines()[:8])
    assert "simulated-gpu" in head if form == "json" else "simulated GPU" in " ".join(head.split())


@pytest.mark.tensorflow
def test_the_deep_check_reads_tensorflows_own_failure():
    """The deep check turns on memory growth, so TensorFlow reports that nearly all memory is free: memory is
    not the cause."""
    python = str(tensorflow_env(NEWEST))
    with environment(prepare(python=python, faults=["cudnn-not-initialized"])) as simulation:
        (finding,) = checked(simulation, "--deep", "--python", python)["findings"]
    assert finding["code"] == "cudnn-version-mismatch"
    assert finding["title"] == "cuDNN cannot start, although memory is free"
    assert any("CUDNN_STATUS_NOT_INITIALIZED" in evidence["text"] for evidence in finding["evidence"])


@pytest.mark.tensorflow
def test_the_deep_check_says_that_it_ran_with_memory_growth_and_how_to_learn_what_that_hides():
    """The check turns on memory growth, so this fault does not appear. Without memory growth, the check would
    take all memory of a shared GPU."""
    python = str(tensorflow_env(NEWEST))
    with environment(prepare(python=python, faults=["cudnn-out-of-memory"])) as simulation:
        (finding,) = checked(simulation, "--deep", "--python", python)["findings"]
        assert finding["code"] == "healthy"
        assert "memory growth on" in finding["explanation"]
        (step,) = finding["prescription"]
        assert step["text"] == f"tfgpu-doctor reproduce cudnn-init-oom --python {python}"
        words = step["text"].split()[1:]
        done = subprocess.run(
            [sys.executable, "-m", "doctor", *words],
            env=simulation.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert "CUDNN_STATUS_NOT_INITIALIZED" in done.stdout
    assert "memory growth" in done.stdout


@pytest.mark.tensorflow
def test_a_simulated_check_takes_under_a_second_more_than_a_real_one(times_pass):
    """The test measures the elapsed time, which on a busy machine includes waiting for the processor, and the
    processor time. The limit for the processor time is 600 ms on a machine on which `python -c pass` takes 10
    ms."""
    words = ["check", "--format", "json", "--python", str(tensorflow_env(NEWEST))]
    check = [sys.executable, "-m", "doctor", *words]
    simulated = ["simulate", *words[-2:], "--", *check]
    pairs = [(seconds([*check[:3], *simulated]), seconds(check)) for _ in range(5)]
    inside = min(clock for (clock, _), _ in pairs)
    outside, processor = (min(column) for column in zip(*(pair[1] for pair in pairs)))
    slowed = max(1.0, outside / processor)
    assert inside - outside < slowed
    assert times_pass(*simulated) - times_pass(*words) < 60


def seconds(command: list[str]) -> tuple[float, float]:
    """Return the elapsed time and the processor time of a command with all its children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False)
    clock, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), done.stderr.decode()
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def checked(simulation: Simulation, *arguments: str) -> dict[str, Any]:
    """Return the report of `check` on a simulated machine."""
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "check", "--format", "json", *arguments],
        env=simulation.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


FOLDERS = sorted(
    {path.parent for path in LOGS.glob("*/*/*.json") if path.parts[-3] in ("simulated", "recorded")}
)


def test_every_fault_is_recorded_on_every_release_that_installs():
    for release in RELEASES:
        recorded = {path.stem for path in (LOGS / "simulated" / release).glob("*.log")}
        assert recorded >= {fault.name for fault in FAULTS.values() if fault.shows_on(release)}, release


@pytest.mark.parametrize("folder", sampled(FOLDERS, 2), ids=lambda path: "-".join(path.parts[-2:]))
def test_the_logs_of_a_release_lead_to_their_findings(folder: Path):
    wanted = {
        str(path.with_suffix(".log")): json.loads(path.read_text())["code"] for path in folder.glob("*.json")
    }
    done = called("explain", "--format", "json", *wanted)
    assert done.returncode in (0, 1), done.stderr
    results = map(json.loads, done.stdout.splitlines())
    found = {result["source"]["name"]: result["findings"][0]["code"] for result in results}
    wrong = {}
    for path, code in wanted.items():
        name = Path(path).stem
        if found.get(path) != code:
            wrong[name] = f"{found.get(path)}, not {code}"
    assert wrong == {}


@pytest.mark.parametrize("folder", sampled(FOLDERS, 2), ids=lambda path: "-".join(path.parts[-2:]))
def test_a_recorded_log_tells_nothing_of_the_machine_it_was_recorded_on(folder: Path):
    for sidecar in folder.glob("*.json"):
        log = sidecar.with_suffix(".log").read_text()
        assert len(log) < 61_000
        for word in ("/root/", "/work/", "/tmp/recording", "tfgpu-doctor-simulation-", "/.cache/", "\x1b"):
            assert word not in log, sidecar
        about = json.loads(sidecar.read_text())
        assert {"command", "tensorflow", "code", "exit_code", "simulated", "recorded", "normalised"} <= set(
            about
        )
