"""Tests the command `simulate` as people call it."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import time

import pytest

from doctor.cli import main
from doctor.simulate import FAULTS
from doctor.simulate.compilation import CallError
from doctor.simulate.libraries import find_interpreter
from tests.conftest import ROOT
from tests.sampling import sampled


@pytest.fixture
def simulate(capfd):
    """simulate(*arguments) returns the exit code, standard output and standard error."""

    def call(*arguments):
        code = main(["simulate", *arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return call


def test_it_says_what_it_is_at_the_start_and_at_the_end(simulate):
    code, out, err = simulate("--gpu", "T4", "--", "echo", "hello")
    first, last = err.splitlines()
    assert (code, out) == (0, "hello\n")
    assert "a simulation without a real GPU: Tesla T4 (16384 MiB), driver 550.54.14" in first
    assert "the simulation is over (the command's exit code is 0); what ran in it had no real GPU" in last


def test_where_no_temporary_file_can_be_written_it_says_how_to_name_a_folder():
    limited = 'ulimit -f 0; exec "$@"'  # no file may contain a byte, as on a full disk
    words = ["sh", "-c", limited, "sh", sys.executable, "-B", "-m", "doctor", "simulate", "--", "true"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines() == [
        "tfgpu-doctor: no writable folder for temporary files was found",
        "hint: choose one with TMPDIR=FOLDER",
    ]


def test_the_exit_code_is_the_commands(simulate):
    assert simulate("--", sys.executable, "-c", "raise SystemExit(7)")[0] == 7


def test_a_command_that_a_signal_ends_gives_128_and_its_number(simulate):
    code, _, err = simulate("--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert code == 137
    assert "signal 9 ended the command" in err


def test_without_a_command_the_users_shell_runs(simulate, monkeypatch, tmp_path):
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\necho in $TFGPU_DOCTOR_SIMULATION\n")
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    code, out, err = simulate()
    assert code == 0
    assert out.startswith("in /")
    assert "exit the shell to end the simulation" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--gpu", "Voodoo 2", "--", "true"), "no GPU in the tables is called 'Voodoo 2'"),
        (("--gpu", "GeForce MX450", "--", "true"), "add --memory MIB"),
        (("--fault", "cudnn-mising", "--", "true"), "similar names: cudnn-missing"),
        (("--count", "17", "--", "true"), "1 to 16 GPUs"),
        (
            ("--count", "2", "--gpu", "T4", "--gpu", "T4", "--gpu", "T4", "--", "true"),
            "cannot be combined with 3 --gpu",
        ),
        (("--memory", "0", "--", "true"), "MiB above 0"),
        (("--held", "90000", "--", "true"), "90000 MiB cannot be held"),
        (("--gpu", "T4", "--mig", "1g.5gb", "--", "true"), "Tesla T4 cannot be divided"),
        (("--gpu", "A100", "--mig", "5g.5gb", "--", "true"), "'5g.5gb' is not a MIG profile"),
        (("--gpu", "A100", "--mig", "4g.20gb,4g.20gb", "--", "true"), "which has 7 slices and 40 GiB"),
        (
            ("--gpu", "A100", "--mig", "1g.5gb", "--held", "9", "--", "true"),
            "held memory is not simulated on a divided GPU",
        ),
        (("--driver", "1.2", "--", "true"), "driver 1.2"),
        (("--python", "/nonexistent", "--", "true"), "/nonexistent is neither a Python interpreter nor"),
        (("--", "no-such-command"), "there is no command 'no-such-command'"),
    ],
)
def test_a_wrong_call_is_reported_and_exits_2(simulate, arguments, said):
    code, out, err = simulate(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("tfgpu-doctor: ")
    assert len(err.splitlines()) == 1


def test_a_python_that_cannot_be_looked_at_or_started_is_not_reported_as_none(tmp_path):
    """The environment belongs to another user, such as /root/venv."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").touch(0o644)
    for wish, said in {
        "loop/env": "cannot be examined",
        "env": "env/bin/python is not a program that this user may run",
        "env/bin/python": "may run",
        "gone": "is neither",
        "env/bin/python/x": "is neither",
    }.items():
        with pytest.raises(CallError, match=said):
            find_interpreter(str(tmp_path / wish), [])


def test_an_unknown_card_with_memory_can_be_simulated(simulate):
    code, _, err = simulate("--gpu", "Quadro P620", "--memory", "2048", "--", "true")
    assert code == 0
    assert "Quadro P620 (2048 MiB)" in err


def test_a_simulation_inside_a_simulation_is_refused(simulate, monkeypatch):
    monkeypatch.setenv("TFGPU_DOCTOR_SIMULATION", "/tmp/somewhere/machine")
    code, _, err = simulate("--", "true")
    assert code == 3
    assert "already running" in err


def test_the_list_of_faults_names_each_with_its_finding(simulate):
    code, out, _ = simulate("--list-faults")
    assert code == 0
    assert all(
        any(line.startswith(f"{fault.name} ") and f" {fault.code} " in line for line in out.splitlines())
        for fault in FAULTS.values()
    )
    rows = json.loads(simulate("--list-faults", "--format", "json")[1])["faults"]
    assert [row["name"] for row in rows] == list(FAULTS)


def on_a_terminal(width: int, *arguments: str) -> str:
    """Return the output of the command on a terminal with this many columns."""
    import fcntl
    import os
    import pty
    import struct
    import subprocess
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-m", "doctor", "simulate", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    ):
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # at the end of a terminal, read fails
            while part := os.read(ours, 65536):
                said += part
    os.close(ours)
    return said.decode()


@pytest.mark.parametrize(
    ("width", "option"), sampled(itertools.product([40, 80, 132], ["--list-faults", "--about"]), 2)
)
def test_on_a_terminal_no_line_is_longer_than_it_is_wide(option, width):
    said = on_a_terminal(width, option)
    assert all(len(row) <= width or " " not in row.strip() for row in said.splitlines())
    assert ("cudnn-out-of-memory" if option == "--list-faults" else "A simulation shows nothing") in " ".join(
        said.split()
    )


def test_a_shell_on_a_terminal_is_interactive_and_ctrl_c_does_not_end_it(monkeypatch):
    """Ctrl-C ends only the program that runs in the shell; the shell and the simulation continue."""
    import os
    import pty

    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setenv("PS1", "prompt> ")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "doctor", "simulate"])
    said = b""

    def until(text: bytes) -> None:
        nonlocal said
        while text not in said:
            said += os.read(terminal, 4096)

    until(b"prompt> ")
    os.write(terminal, b"sleep 600 || echo interrupted $?\n")
    until(b"\n")
    time.sleep(0.5)
    os.write(terminal, b"\x03")
    os.write(terminal, b"echo still $((40 + 2)); exit 5\n")
    until(b"still 42")
    until(b"the command's exit code is 5")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.WEXITSTATUS(status) == 5


def test_about_says_what_cannot_be_learnt(simulate):
    code, out, _ = simulate("--about")
    assert code == 0
    assert "A simulation shows nothing about numbers" in " ".join(out.split())


def test_the_trace_holds_the_calls(simulate, tmp_path):
    trace = tmp_path / "calls"
    simulate(
        "--trace",
        str(trace),
        "--fault",
        "unknown-error",
        "--",
        sys.executable,
        "-c",
        "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)",
    )
    assert [line.split()[1:] for line in trace.read_text().splitlines()] == [["cuInit", "999"]]


def test_the_chosen_environments_commands_come_first(simulate, tmp_path):
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.symlink_to(sys.executable)
    code, out, err = simulate("--python", str(tmp_path), "--", "sh", "-c", "command -v python")
    assert (code, out) == (0, f"{python}\n")
    assert "no TensorFlow was found" in err


def test_a_fault_that_the_environments_own_libraries_would_hide_is_refused(simulate, tmp_path):
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    (site / "tensorflow-2.21.0.dist-info").mkdir(parents=True)
    (site / "nvidia" / "cudnn" / "lib").mkdir(parents=True)
    (site / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    code, _, err = simulate("--python", str(tmp_path), "--fault", "cudnn-missing", "--", "true")
    assert code == 3
    assert "would not show: this environment has libcudnn.so.9" in err
    assert simulate("--python", str(tmp_path), "--fault", "cudnn-text", "--", "true")[0] == 0
