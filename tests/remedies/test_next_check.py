"""Tests that after the steps that `check` prints are carried out, the next check calls the machine healthy:
the files of the printed packages are installed as the tables list them, the printed code makes the printed
links, and the printed exports run in a shell.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.findings import Finding
from doctor.probe import deep, look
from doctor.probe.machine import Machine
from doctor.tables import Tables, dotted
from doctor.values import replace
from tests.probe.machines import Folder
from tests.probe.test_deep import STAND_IN
from tests.probe.test_verdicts import with_wheels
from tests.probe.test_windows import CUDA, FOLDER, Windows, dll, in_registry
from tests.remedies import windows
from tests.remedies.faulty import EVERY
from tests.remedies.following import carry_out, each_way
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
def test_a_machine_without_a_gpu_gets_no_cuda_libraries(
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
    (
        "blackwell_with_a_build_of_2023",
        "a GPU that needs the open modules",
        "a Blackwell GPU under the closed kernel modules",
        "a Blackwell GPU under a driver that is older",
    ),
    "gpu-arch-too-new",
)
"""Machines on which a warning remains, because no wheel has machine code for the GPU and the driver compiles
the code at the first start."""


@pytest.mark.parametrize("name", sampled(EVERY, 8))
def test_a_fault_s_cure_leads_to_a_healthy_machine(
    name: str, tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests every fault that the other tests make: first the cure of the first finding, then the cure of what
    the next check finds."""
    code, make = EVERY[name]
    machine, sound = make(tmp_path / "machine"), LEFT.get(name, "healthy")
    assert machine.diagnosis().verdict.code in code.split("|")
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


ON_WINDOWS: dict[str, tuple[str, Callable[[Windows], object]]] = {
    "a toolkit that is not on PATH": ("library-path", lambda m: m.env.update(PATH="C:\\Windows;")),
    "cuDNN without zlibwapi": ("library-broken", lambda m: (m.root / CUDA / "bin/zlibwapi.dll").unlink()),
    "cuDNN cut short": (
        "library-broken",
        lambda m: m.write(f"{CUDA}/bin/cudnn64_8.dll", dll(size=4000)),
    ),
    "no cuDNN": ("cudnn-missing", lambda m: (m.root / CUDA / "bin/cudnn64_8.dll").unlink()),
    "an older cuDNN": (
        "cudnn-version-mismatch",
        lambda m: m.write(f"{CUDA}/include/cudnn_version.h", windows.OLDER),
    ),
    "no CUDA": ("cuda-missing", lambda m: shutil.rmtree(m.root / "Program Files")),
    "no Visual C++ runtime": ("tf-import-failed", runtime),
}


@pytest.mark.parametrize("name", ON_WINDOWS)
def test_a_cure_on_windows_leads_to_a_healthy_machine(name: str, tmp_path: Path, tables: Tables) -> None:
    code, change = ON_WINDOWS[name]
    machine = in_registry(Windows(tmp_path), FOLDER)
    machine.env["PATH"] = f"C:\\Windows;{FOLDER}"
    change(machine)
    first = diagnose(machine.facts(), tables).verdict
    assert (first.code, first.severity) == (code, "error")
    assert windows.carry_out(machine, first) > 0, [step.text for step in first.prescription]
    assert diagnose(machine.facts(), tables).verdict.code == "healthy"


DEEP = {
    "a GPU that computes wrongly": ("ptx-jit-or-kernel-crash", {"product": "63.0"}),
    "a GPU program that crashes": ("ptx-jit-or-kernel-crash", {"enter": "os.kill(os.getpid(), 11)"}),
}
"""Faults that show only when TensorFlow is started: the code, and the behaviour of the stand-in for
TensorFlow."""


def deep_check(machine: Folder, tables: Tables, **parts: str) -> Finding:
    """Return the verdict of check --deep with a stand-in for TensorFlow."""
    stand_in = machine.root.parent / "stand-in/tensorflow/__init__.py"
    stand_in.parent.mkdir(parents=True, exist_ok=True)
    stand_in.write_text(
        STAND_IN.format(**{"start": "", "enter": "pass", "gpus": "1", "product": "64.0", **parts})
    )
    found = look(machine.machine())
    assert found.environment is not None
    child = replace(Machine.here(), env={**os.environ, "PYTHONPATH": str(stand_in.parent.parent)})
    environment = replace(found.environment, executable=sys.executable)
    facts = found.facts.plus(deep.examine(child, environment, found.facts, 60.0))
    return diagnose(facts, tables).verdict


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("name", DEEP)
def test_a_cure_after_a_deep_check_leads_to_a_healthy_machine(
    name: str, tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, parts = DEEP[name]
    machine = with_wheels(Folder(tmp_path / "machine").working_gpu(), "2.15.1")
    first = deep_check(machine, tables, **parts)
    assert (first.code, first.severity) == (code, "error")
    assert carry_out(machine, first, tables, monkeypatch) > 0, [step.text for step in first.prescription]
    assert deep_check(machine, tables).code == "healthy"


@pytest.mark.parametrize("name", ["the first of two GPUs is held", "the second of two GPUs is held"])
def test_using_a_free_gpu_is_an_alternative_to_ending_the_processes(
    name: str, tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = EVERY[name][1](tmp_path / "machine")
    first = machine.diagnosis().verdict
    _, other = each_way(first)
    assert carry_out(machine, replace(first, prescription=tuple(other)), tables, monkeypatch) == 1
    assert machine.diagnosis().verdict.code == "healthy"


def test_existing_xla_flags_are_kept(tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = EVERY["other flags for XLA"][1](tmp_path / "machine")
    carry_out(machine, machine.diagnosis().verdict, tables, monkeypatch)
    flags = machine.record["env"]["XLA_FLAGS"]  # type: ignore[index]
    assert flags.startswith("--xla_dump_to=/tmp/hlo ")
    assert flags.endswith(f" --xla_gpu_cuda_data_dir={machine.site}/nvidia/cuda_nvcc")


GPUS = {  # device, driver version in Windows' form, the CUDA that it (or its replacement) supports
    "RTX 3070": ("2484", "31.0.15.3623", "12.2"),
    "RTX 3070 with a driver of 2021": ("2484", "30.0.14.7212", "11.4"),
    "RTX 3070 with a driver of 2020": ("2484", "27.21.14.5167", "12.0"),
    "GTX 1080": ("1b80", "31.0.15.3623", "12.2"),
    "RTX 5090": ("2b85", "32.0.15.7283", "12.8"),
}
LATER = [
    (build.version, python, gpu)
    for build in Tables.bundled().releases("windows-amd64", "tensorflow")
    if build.pythons and dotted(build.version) >= (2, 11)
    for python in {build.pythons[0], build.pythons[-1]}
    for gpu in GPUS
]


@pytest.mark.parametrize(("release", "python", "gpu"), sampled(sorted(LATER), 5))
def test_each_way_from_a_release_without_gpu_support_on_windows_leads_to_a_healthy_machine(
    release: str, python: str, gpu: str, tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ways are WSL 2 and, if it supports the GPU, the last release with GPU support on Windows itself."""
    device, driver, cuda = GPUS[gpu]

    def machine(name: str) -> Windows:
        return windows.with_later_tensorflow(
            tmp_path / name, release, python, device=device, driver=driver, cuda=gpu == "GTX 1080"
        )

    first = diagnose(machine("first").facts(), tables).verdict
    assert (first.code, first.severity) == ("tf-windows-native", "error")
    printed = {ways[0].text.split()[0]: ways for ways in each_way(first)}
    assert set(printed) == ({"wsl"} if gpu == "RTX 5090" else {"wsl", "conda"})
    if "conda" in printed:
        stayed = machine("stayed")
        windows.stay(stayed, printed["conda"], tables)
        assert diagnose(stayed.facts(), tables).verdict.code == "healthy"
    install, start, *inside = printed["wsl"]
    assert (install.text, start.platform) == ("wsl --install -d Ubuntu-24.04", "windows")
    outside = machine("outside")
    for step in inside:
        if step.platform == "windows":
            windows.stay(outside, [step], tables)
    linux = windows.under_wsl(outside, tmp_path / "linux", cuda)
    rest = replace(first, prescription=tuple(step for step in inside if step.platform != "windows"))
    assert carry_out(linux, rest, tables, monkeypatch) > 1
    after = linux.diagnosis().verdict
    assert (after.code, after.severity) in {("healthy", "info"), ("gpu-arch-too-new", "warning")}, after
    assert (after.code == "healthy") is (gpu != "RTX 5090")
