"""Tests that the tool never calls something absent that it could not examine, and that it does not call a
machine healthy if the verdict depends on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doctor.diagnose import diagnose
from doctor.facts import Absent, Facts, LibraryNotLoaded, Symptom, Unreadable
from doctor.probe import NoPythonError, examine
from doctor.probe.machine import Machine
from doctor.tables import Tables
from tests.probe.machines import Folder, open_to_others
from tests.probe.test_kinds_of_machine import nvswitch
from tests.probe.test_verdicts import module_built_for_another_kernel, with_wheels
from tests.sampling import sampled

if TYPE_CHECKING:
    from typing import TypeAlias

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX scripts, links and modes")
Cli: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"
ROOT = Path(__file__).resolve().parents[2]


# --- an interpreter that does not answer ----------------------------------------------------------

HOSTILE = {
    "garbage": "head -c 4096 /dev/urandom",
    "nothing": "exit 0",
    "a failure": "echo 'no good' >&2; exit 7",
    "JSON without the cookie": """echo '{"version": "3.11.0", "path": [], "prefix": "/"}'""",
    "a lie about its version": """shift; for last; do :; done; echo "$last"'{"version": "x", "path":
    []}'"$last" """,
    "a flood": "exec cat /dev/zero",
    "its own death": "kill -9 $$",
}


def program(folder: Path, text: str) -> Path:
    """Put a shell script at the path of a Python interpreter. Returns the path."""
    place = folder / "bin/python"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


@pytest.mark.parametrize("what", HOSTILE)
def test_an_interpreter_that_does_not_answer_is_not_one_without_tensorflow(
    what: str, tmp_path: Path, cli: Cli
) -> None:
    python = program(tmp_path, HOSTILE[what])
    done = cli("check", "--python", str(python), "--format", "json")
    report = json.loads(done.stdout)
    assert "tf-not-installed" not in [finding["code"] for finding in report["findings"]]
    assert done.returncode in (1, 3)  # 1: this machine may have no GPU, which is another error
    facts = examine(Machine.here(), str(python))
    assert facts.absent("tensorflow") is None
    reasons = {fact.what: fact.reason for fact in facts.of(Unreadable)}
    assert str(python) in reasons["python"]
    assert "did not answer" in reasons["python"]
    assert "did not answer" in reasons["tensorflow"]


def test_an_interpreter_that_hangs_is_reported_with_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.probe.interpreter.LIMIT", 1.0)
    start = time.monotonic()
    facts = examine(Machine.here(), str(program(tmp_path, "sleep 60")))
    assert time.monotonic() - start < 30
    assert facts.absent("tensorflow") is None
    assert "did not answer in 1 s" in {f.what: f.reason for f in facts.of(Unreadable)}["python"]


def test_an_interpreter_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    (tmp_path / "python").write_bytes(b"\x7fELF no program")
    (tmp_path / "python").chmod(0o755)
    facts = examine(Machine.here(), str(tmp_path / "python"))
    assert facts.absent("tensorflow") is None
    assert "did not answer" in {f.what: f.reason for f in facts.of(Unreadable)}["python"]


# --- places that cannot be examined, in another root ---------------------------------------------
# Root can read files of any mode, but nobody can examine a link that leads to itself.


def close(machine: Folder, path: str) -> None:
    """Make it impossible to examine a file or folder: replace it with a link to itself."""
    place = machine.root / path.lstrip("/")
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    elif os.path.lexists(place):
        place.unlink()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(place.name)


def whole(tmp_path: Path) -> Folder:
    """A healthy machine."""
    machine = with_wheels(Folder(tmp_path / "whole").working_gpu(), "2.15.1")
    assert machine.diagnosis().verdict.code == "healthy"
    return machine


SITE = "/opt/venv/lib/python3.11/site-packages"
CLOSED = {  # what cannot be examined: what must not be called absent
    "site-packages": (SITE, ("tensorflow", "cuda", "cudnn")),
    "the module's folder": (f"{SITE}/tensorflow", ("tensorflow",)),
    "the environment's folder": ("/opt/venv", ("tensorflow", "python")),
    "its lib folder": ("/opt/venv/lib", ("tensorflow",)),
    "the folder of NVIDIA's wheels": (f"{SITE}/nvidia", ("cuda", "cudnn")),
    "the folder of one library": (f"{SITE}/nvidia/cudnn/lib", ("cudnn",)),
    "the metadata of TensorFlow": (f"{SITE}/tensorflow-2.15.1.dist-info/METADATA", ("tensorflow",)),
    "the build's own statement": (f"{SITE}/tensorflow/python/platform/build_info.py", ("tensorflow",)),
    "TensorFlow's library": (f"{SITE}/tensorflow/libtensorflow_framework.so.2", ("tensorflow",)),
    "the kernel's modules": ("/proc/modules", ("nvidia kernel module", "nvidia driver")),
    "the bus": ("/sys/bus/pci/devices", ("nvidia gpu",)),
    "the folder of devices": ("/dev", ("device nodes",)),
    "the system's libraries": ("/usr/lib/x86_64-linux-gnu", ("libcuda", "nvml", "nvidia driver")),
    "the driver's library": ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", ("libcuda", "nvidia driver")),
    "the loader's cache": ("/etc/ld.so.cache", ()),
}


@pytest.mark.parametrize("what", sampled(CLOSED, 6))
def test_a_place_that_cannot_be_examined_is_not_reported_as_absent(what: str, tmp_path: Path) -> None:
    path, never = CLOSED[what]
    machine = whole(tmp_path)
    before = {fact.name for fact in machine.facts().of(LibraryNotLoaded)}
    close(machine, path)
    facts = machine.facts()
    assert not {fact.what for fact in facts.of(Absent)} & set(never)
    assert facts.of(Unreadable), "the report must say what it did not see"
    assert not [fact for fact in facts.of(Unreadable) if "the probe failed" in fact.reason]
    codes = [finding.code for finding in diagnose(facts, Tables.bundled()).findings]
    assert not set(codes) & {
        "tf-not-installed",
        "gpu-absent",
        "driver-missing",
        "cuda-missing",
        "cudnn-missing",
        "tf-conflicting-packages",
    }
    assert not [
        s
        for s in facts.of(Symptom)
        if s.kind in ("tensorflow-leftover", "tensorflow-files-missing", "cudnn-part-broken")
    ]
    assert not [
        fact for fact in facts.of(LibraryNotLoaded) if fact.cause == "absent" and fact.name not in before
    ]


DECIDE = (
    "site-packages",
    "the module's folder",
    "its lib folder",
    "the folder of one library",
    "TensorFlow's library",
)


@pytest.mark.parametrize("what", DECIDE)
def test_a_check_does_not_succeed_if_a_decisive_place_cannot_be_examined(
    what: str, tmp_path: Path, cli: Cli
) -> None:
    machine = whole(tmp_path)
    close(machine, CLOSED[what][0])
    machine.machine()
    done = cli("check", "--root", str(machine.root))
    text = " ".join(done.stdout.decode().split())
    assert done.returncode in (1, 3), text
    assert "Too many levels of symbolic links" in text
    assert "The checks found nothing that keeps TensorFlow from" not in text


@pytest.mark.parametrize(
    "what", sampled(["the driver's library", "the system's libraries", "the folder of devices"], 1)
)
def test_a_driver_that_cannot_be_examined_is_not_reported_as_healthy(what: str, tmp_path: Path) -> None:
    """The driver was not queried, as for every root that is not a recorded machine. Its answers alone would
    decide."""
    machine = whole(tmp_path)
    machine.record.pop("answers")
    assert machine.diagnosis().verdict.code == "healthy"
    close(machine, CLOSED[what][0])
    assert machine.diagnosis().verdict.code == "undetermined"
    assert machine.facts().unexamined


def test_a_machine_whose_bus_is_not_shown_may_need_no_driver(tmp_path: Path) -> None:
    machine = with_wheels(Folder(tmp_path / "bare"), "2.15.1")
    place = machine.root / "sys/bus/pci/devices"
    if place.exists():
        shutil.rmtree(place)
    verdict = machine.diagnosis().verdict
    assert (verdict.code, verdict.confidence) == ("driver-missing", "likely")


def test_the_verdict_names_what_could_not_be_examined(tmp_path: Path, cli: Cli) -> None:
    machine = whole(tmp_path)
    close(machine, SITE)
    machine.machine()
    done = cli("check", "--root", str(machine.root), "--format", "json")
    verdict = json.loads(done.stdout)["findings"][0]
    assert done.returncode == 3
    assert verdict["code"] == "undetermined"
    assert verdict["title"] == "A decisive part of the machine could not be examined"
    assert SITE in verdict["explanation"]
    assert verdict["prescription"]


def test_a_pth_file_with_a_nul_character_does_not_hide_tensorflow(tmp_path: Path) -> None:
    machine = whole(tmp_path).write(f"{SITE}/odd.pth", "/some\0where\n")
    assert machine.diagnosis().verdict.code == "healthy"
    empty = Folder(tmp_path / "empty").working_gpu().python()
    facts = empty.write(f"{SITE}/odd.pth", "/some\0where\n").facts()
    assert facts.absent("tensorflow") is None
    assert "no file can have this name" in {f.what: f.reason for f in facts.of(Unreadable)}["tensorflow"]


def test_tensorflow_is_absent_if_every_place_could_be_examined(tmp_path: Path) -> None:
    facts = Folder(tmp_path).working_gpu().python().facts()
    assert facts.absent("tensorflow") is not None
    assert diagnose(facts, Tables.bundled()).verdict.code == "tf-not-installed"


def test_an_active_environment_that_cannot_be_examined_is_reported(tmp_path: Path) -> None:
    """The tool does not silently use another Python instead."""
    machine = Folder(tmp_path).working_gpu().python(prefix="/usr").env(VIRTUAL_ENV="/closed/venv")
    close(machine, "/closed")
    facts = machine.facts()
    assert "$VIRTUAL_ENV is /closed/venv" in {f.what: f.reason for f in facts.of(Unreadable)}["python"]
    assert facts.absent("tensorflow") is None


def test_a_python_that_cannot_be_examined_is_refused_with_the_reason(tmp_path: Path) -> None:
    machine = Folder(tmp_path)
    close(machine, "/closed")
    with pytest.raises(NoPythonError, match="cannot be examined: Too many levels"):
        machine.facts("/closed/bin/python")


def on_wsl(machine: Folder) -> Folder:
    machine.write("/proc/sys/kernel/osrelease", "5.15.1-microsoft-standard-WSL2\n")
    return with_wheels(machine, "2.15.1")


CLOSED_TO_A_SYMPTOM = {  # the place: how the machine is made, and the symptom if the place is empty
    "/opt/nvidia/bin": (lambda m: nvswitch(m), "fabric-manager-missing"),
    "/etc/systemd/system": (
        lambda m: nvswitch(m).write("/usr/bin/nv-fabricmanager", ""),
        "fabric-manager-missing",
    ),
    "/usr/lib/wsl/lib": (on_wsl, "wsl-no-windows-driver"),
    "/lib/modules/5.15.0-105-generic": (module_built_for_another_kernel, "driver-module-for-other-kernel"),
}


@pytest.mark.parametrize("path", CLOSED_TO_A_SYMPTOM)
def test_a_place_that_cannot_be_examined_causes_no_symptom(path: str, tmp_path: Path) -> None:
    make, kind = CLOSED_TO_A_SYMPTOM[path]
    machine = make(Folder(tmp_path))
    assert machine.facts().has(kind)
    close(machine, path)
    facts = machine.facts()
    assert not facts.has(kind)
    assert [fact for fact in facts.of(Unreadable) if path in fact.reason]


def test_a_bus_that_cannot_be_examined_is_not_reported_as_missing(tmp_path: Path) -> None:
    machine = with_wheels(Folder(tmp_path), "2.15.1")
    close(machine, "/sys/bus/pci/devices")
    (reason,) = [fact.reason for fact in machine.facts().of(Unreadable) if fact.what == "nvidia gpu"]
    assert "could not be examined (Too many levels of symbolic links)" in reason


@pytest.mark.parametrize("closed", [False, True])
def test_zlib_is_not_reported_as_absent_if_a_folder_on_path_cannot_be_listed(
    closed: bool, tmp_path: Path
) -> None:
    from tests.probe.test_windows import CUDA, Windows, dll

    machine = Windows(tmp_path)
    (tmp_path / CUDA / "bin/zlibwapi.dll").unlink()
    if closed:
        machine.env["PATH"] += ";C:\\tools"
        (tmp_path / "tools").symlink_to("tools")
    blamed = {name for f in machine.facts().of(LibraryNotLoaded) for name in (f.name, f.culprit)}
    assert ("zlibwapi.dll" in blamed) is not closed
    machine.write(f"{CUDA}/bin/cudnn64_8.dll", dll())  # cuDNN that loads zlibwapi.dll by name at its start
    header = b"#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 0\n"
    machine.write(f"{CUDA}/include/cudnn_version.h", header)
    blamed = {fact.name for fact in machine.facts().of(LibraryNotLoaded)}
    assert ("zlibwapi.dll" in blamed) is not closed


def test_no_dll_is_reported_as_absent_if_a_folder_cannot_be_listed(tmp_path: Path) -> None:
    from tests.probe.test_windows import Windows

    machine = Windows(tmp_path)
    folder = tmp_path / "Program Files/NVIDIA GPU Computing Toolkit/CUDA"
    shutil.rmtree(folder)
    folder.symlink_to(folder.name)
    facts: Facts = machine.facts()
    assert not {fact.what for fact in facts.of(Absent)} & {"cuda", "cudnn"}
    assert not [fact for fact in facts.of(LibraryNotLoaded) if fact.cause == "absent"]
    assert [fact for fact in facts.of(Unreadable) if "CUDA" in fact.reason]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv"),
    reason="needs root and setpriv",
)
def test_packages_that_this_user_may_not_read_are_not_absent(tmp_path: Path) -> None:
    machine = whole(tmp_path)
    machine.machine()
    (machine.root / SITE.lstrip("/")).chmod(0o700)
    open_to_others(tmp_path)
    command = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        sys.executable,
        "-B",
        "-m",
        "doctor",
        "check",
        "--root",
        str(machine.root),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "TFGPU_DOCTOR_TABLES": ""},
    )
    if not done.stdout and (
        "Permission denied" in done.stderr or "error while loading shared libraries" in done.stderr
    ):
        pytest.skip("another user cannot run this Python or read this checkout")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Permission denied" in done.stdout
    assert "tf-not-installed" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_a_device_whose_files_cannot_be_read_may_be_a_gpu(tmp_path: Path) -> None:
    """The file tree is a copy: the links for its PCI bus lead to folders that were not copied."""
    devices = tmp_path / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    (devices / "0000:01:00.0").symlink_to("../../../devices/pci0000:00/0000:01:00.0")
    facts = examine(Machine.at(tmp_path))
    assert facts.absent("nvidia gpu") is None
    assert [u.what for u in facts.of(Unreadable) if u.what == "nvidia gpu"]
    assert "gpu-absent" not in [f.code for f in diagnose(facts, Tables.bundled()).findings]


def test_a_python_whose_package_folders_are_not_found_may_have_tensorflow(tmp_path: Path, cli: Cli) -> None:
    """The Python of the Microsoft Store keeps its packages in the user's folder, which was not copied."""
    store = tmp_path / "Users/j/AppData/Local/Microsoft/WindowsApps/PythonSoftwareFoundation.Python.3.12_q"
    store.mkdir(parents=True)
    (store / "python.exe").write_bytes(b"MZ")
    (tmp_path / "Windows/System32").mkdir(parents=True)
    (tmp_path / "Windows/System32/ntdll.dll").write_bytes(b"MZ")
    python = "/" + str((store / "python.exe").relative_to(tmp_path))
    done = cli("check", "--root", str(tmp_path), "--python", python, "--format", "json")
    codes = [finding["code"] for finding in json.loads(done.stdout)["findings"]]
    assert "tf-not-installed" not in codes
