"""Tests `check --script`: every /bin/sh can run the script, and `explain` reaches the right verdict from its
report."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from doctor import api, resources

SCRIPT = resources.text("doctor.probe", "collect.sh")
SHELLS = [["dash"], ["bash", "--posix"], ["bash"], ["busybox", "sh"], ["sh"]]
NO_TENSORFLOW = (
    'Traceback (most recent call last):\n  File "<string>", line 2, in <module>\nModuleNotFoundError: No'
    " module named 'tensorflow'"
)
SMI = """\
Fri Nov 20 10:00:00 2026
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
|   0  Tesla T4            Off  | 00000000:00:1E.0 Off |                    0 |
| N/A   30C    P8     9W /  70W |      0MiB / 15109MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+"""
NO_CUDART = """\
2021-11-20 10:00:00.000000: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load \
dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open \
shared object file: No such file or directory
TensorFlow version: 2.6.0
Built with CUDA: True
tf.config.list_physical_devices("GPU")
[]"""
CPU_BUILD = 'TensorFlow version: 2.6.0\nBuilt with CUDA: False\ntf.config.list_physical_devices("GPU")\n[]'
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
NVIDIA, INTEL = ("0x10de", "0x1eb8", "0x030200"), ("0x8086", "0x3e92", "0x030000")
CASES = [
    ("no GPU", INTEL, None, NO_TENSORFLOW, "", {"gpu-absent", "tf-not-installed"}),
    ("no driver", NVIDIA, None, NO_TENSORFLOW, "", {"driver-missing", "tf-not-installed"}),
    ("no CUDA", NVIDIA, SMI, NO_CUDART, "tensorflow 2.6.0", {"cuda-missing"}),
    ("a build for the CPU", NVIDIA, SMI, CPU_BUILD, "tensorflow-cpu 2.6.0", {"tf-cpu-only"}),
    (
        "another driver in the kernel",
        NVIDIA,
        MISMATCH,
        NO_TENSORFLOW,
        "",
        {"driver-library-mismatch", "tf-not-installed"},
    ),
]

Machine = Callable[..., "tuple[Path, dict[str, str]]"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A folder that is used as /, and the environment variables that lead to the programs in it."""

    def make(
        card: tuple[str, str, str], smi: str | None, tensorflow: str, packages: str
    ) -> tuple[Path, dict[str, str]]:
        device = tmp_path / "root/sys/bus/pci/devices/0000:00:1e.0"
        device.mkdir(parents=True)
        for name, value in zip(("vendor", "device", "class"), card):
            (device / name).write_text(value + "\n")
        programs = tmp_path / "bin"
        programs.mkdir()
        for name in (
            "uname",
            "head",
            "cat",
            "ls",
            "grep",
            "readlink",
            "sleep",
            "kill",
        ):  # only what the smallest systems have
            (programs / name).symlink_to(str(shutil.which(name)))
        answers = {"nvidia-smi": smi} if smi else {}
        for name, text in answers.items():
            program(programs / name, f"cat <<'END'\n{text}\nEND\n")
        asked = (
            f"case $2 in pip) echo '{packages}';; *import*) cat <<'END'\n{tensorflow}\nEND\n;; *) echo Python"
            " 3.6.9;; esac\n"
        )
        program(programs / "python3", asked)
        return tmp_path, {"PATH": str(programs), "ROOT": str(tmp_path / "root")}

    return make


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def report_of(shell: list[str], where: Path, variables: dict[str, str]) -> str:
    known = shutil.which(shell[0])
    if known is None:
        pytest.skip(f"there is no {shell[0]} here")
    (where / "collect.sh").write_text(SCRIPT)
    before = sorted(where.rglob("*"))
    call = [known, *shell[1:], str(where / "collect.sh")]
    done = subprocess.run(
        call, env=variables, cwd=where, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert sorted(where.rglob("*")) == before, "it writes no file"
    return done.stdout


def test_the_script_is_short_and_explains_itself() -> None:
    assert SCRIPT.startswith("#!/bin/sh\n")
    assert len(SCRIPT.splitlines()) < 200
    assert SCRIPT.isascii()


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    ("card", "smi", "tensorflow", "packages", "codes"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_the_scripts_report_gets_the_right_verdict(
    machine: Machine,
    shell: list[str],
    card: tuple[str, str, str],
    smi: str | None,
    tensorflow: str,
    packages: str,
    codes: set[str],
) -> None:
    report = api.explain(report_of(shell, *machine(card, smi, tensorflow, packages)))
    errors = {finding.code for finding in report.findings if finding.severity == "error"}
    assert errors == codes
    assert report.verdict.code in codes


def test_a_python_that_hangs_is_ended(machine: Machine) -> None:
    where, variables = machine(NVIDIA, SMI, CPU_BUILD, "")
    text = (
        SCRIPT.replace("limited 20", "limited 1")
        .replace("limited 30", "limited 1")
        .replace("limited 60", "limited 1")
    )
    program(where / "bin" / "python3", "exec sleep 300\n")
    (where / "collect.sh").write_text(text)
    done = subprocess.run(
        ["/bin/sh", str(where / "collect.sh")], env=variables, capture_output=True, timeout=30, check=False
    )
    assert b"nvidia-smi" in done.stdout


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    from doctor.cli import main

    assert main(["check", "--script"]) == 0
    assert capsys.readouterr().out == SCRIPT
