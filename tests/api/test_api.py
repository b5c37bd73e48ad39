"""Tests that the Python API gives the same answers as the commands, and that a call leaves no trace."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor import api, errors
from tests.sampling import each, sampled

ROOT = Path(__file__).resolve().parents[2]
LOGS = (
    sorted((ROOT / "tests/data/logs").rglob("*.txt"))[::23]
    or sorted((ROOT / "tests/data/logs").rglob("*.log"))[::23]
)
MACHINE = ROOT / "tests/data/machines/simulated-rtx3070-2.18.1"
CONTRACT = """
import builtins, os, signal, sys, threading
from doctor import api, errors  # what a program imports is read from files, and may be compiled into some

api.explain("CUDA_ERROR_NO_DEVICE"), api.check(root=sys.argv[1])
api.plan(os="Ubuntu 22.04", gpu="8.6", driver="550")

FORBIDDEN = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.putenv", "os.chdir", "os.fork",
             "os.forkpty", "socket.connect", "shutil.move", "os.symlink", "os.link", "os.truncate",
             "os.chmod", "signal.signal")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

def watch(event, arguments):
    if event in FORBIDDEN:
        os._exit(50)
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
        if arguments[0] not in (os.devnull,):
            os.write(2, repr(arguments).encode())
            os._exit(51)

def refused(*_, **__):
    os._exit(52)

class Nowhere:
    def write(self, text):
        os._exit(53)
    flush = isatty = lambda self: os._exit(54)
    encoding = "utf-8"

handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
threads, variables, folder = set(threading.enumerate()), dict(os.environ), os.getcwd()
sys.addaudithook(watch)
streams = sys.stdout, sys.stderr
sys.stdout = sys.stderr = Nowhere()
builtins.print = refused
sys.exit = refused
for _ in range(2):
    for report in (api.explain(sys.argv[2]), api.check(root=sys.argv[1]), api.check(),
                   api.plan(tensorflow="2.15"),
                   api.plan(os="Ubuntu 22.04", gpu="8.6", driver="550", requirements=sys.argv[3])):
        assert report.to_dict()
        assert all(report.render(form) for form in ("text", "markdown", "html"))
        assert report._repr_mimebundle_()["text/plain"]
for wrong in (lambda: api.explain(b""), lambda: api.check(python="/none"), lambda: api.plan(tensorflow="99"),
              lambda: api.check(root="/", deep=True)):
    try:
        wrong()
    except errors.CommandError as error:
        assert str(error)
    else:
        os._exit(55)
sys.stdout, sys.stderr = streams
assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)] == handlers
assert set(threading.enumerate()) == threads, threading.enumerate()
assert dict(os.environ) == variables and os.getcwd() == folder
assert "tensorflow" not in sys.modules and "requests" not in sys.modules
os.write(1, b"kept")
"""
"""A program that uses the whole API after making it an error to print, exit, fork, write files or reach the
network."""


def test_a_call_prints_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("tensorflow==2.15.1\nnumpy<2\n")
    call = [
        sys.executable,
        "-B",
        "-c",
        CONTRACT,
        str(MACHINE),
        LOGS[0].read_text(encoding="utf-8", errors="replace"),
        str(wanted),
    ]
    before = sorted(tmp_path.rglob("*"))
    variables = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "none")}
    done = subprocess.run(
        call, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "kept", "")
    assert sorted(tmp_path.rglob("*")) == before


def test_print_shows_one_line() -> None:
    assert str(api.explain("libcuda.so.1 is not found")).startswith("<Report: ")
    planned = str(api.plan(tensorflow="2.15", os="Ubuntu 22.04", gpu="Tesla T4", driver="535.183.01"))
    assert planned.startswith("<PlanReport: TensorFlow 2.15.1 (")
    assert len(planned) < 500


def test_the_examples_in_the_documentation_are_correct() -> None:
    assert doctest.testmod(api).failed == 0
    assert doctest.testmod(api).attempted >= 6


@pytest.mark.parametrize("log", sampled(LOGS, 12), ids=lambda path: path.stem)
def test_a_report_is_rendered_as_the_command_prints_it(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from doctor.cli import main

    main(["explain", str(log), "--format", "json"])
    said = json.loads(capsys.readouterr().out)
    data = log.read_bytes()
    for report in (data, BytesIO(data)):
        assert json.loads(json.dumps(api.explain(report, str(log)).to_dict())) == said


def test_check_and_plan_give_the_same_answers_as_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    from doctor.cli import main

    main(["check", "--root", str(MACHINE), "--format", "json"])
    assert json.loads(json.dumps(api.check(root=str(MACHINE)).to_dict())) == json.loads(
        capsys.readouterr().out
    )
    main(["plan", "--os", "Ubuntu 22.04", "--gpu", "T4", "--driver", "535.183.01", "--format", "json"])
    said = api.plan(os="Ubuntu 22.04", gpu=["T4"], driver="535.183.01")
    assert json.loads(json.dumps(said.to_dict())) == json.loads(capsys.readouterr().out)
    assert said.plans
    assert said.verdict is None or said.verdict is said.findings[0]


@pytest.mark.parametrize("part", sampled(range(4), 1))
def test_several_threads_get_the_same_answers_as_one(part: int) -> None:
    texts = [log.read_bytes() for log in LOGS[part::4]] * 3
    alone = [api.explain(text).to_dict() for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert [report.to_dict() for report in pool.map(api.explain, texts)] == alone


@each(
    "call, kind",
    [
        (lambda: api.explain(""), errors.InputError),
        (lambda: api.explain(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 4), errors.InputError),
        (lambda: api.check(root="/nowhere"), errors.InputError),
        (lambda: api.check(record="/nowhere"), errors.InputError),
        (lambda: api.check(record="/nowhere", deep=True), errors.UsageError),
        (lambda: api.plan(machine="/nowhere"), errors.InputError),
        (lambda: api.plan(cpu=True, cuda="12.2"), errors.UsageError),
        (lambda: api.explain("nan").render("pdf"), errors.UsageError),
    ],
)
def test_each_kind_of_failure_raises_its_error(call: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        call()


def test_rendered_reports_and_data_contain_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/jkowalska")
    monkeypatch.setenv("USER", "jkowalska")
    report = api.explain(
        'File "/home/jkowalska/train.py", line 1\nImportError: libcudart.so.11.0: cannot open shared object'
        " file"
    )
    words = (
        json.dumps(report.to_dict())
        + "".join(map(report.render, api.FORMATS))
        + "".join(report._repr_mimebundle_().values())
    )
    assert "jkowalska" not in words


def test_a_notebook_gets_its_formats_as_strings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a notebook, rich would write into the cell and not to a stream."""
    import builtins

    class ZMQInteractiveShell:
        pass

    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setitem(
        sys.modules, "IPython.display", SimpleNamespace(display=lambda *_: pytest.fail("it was displayed"))
    )
    report = api.explain(
        "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open"
    )
    assert "libcudart.so.11.0" in report.render()
    from io import StringIO

    from doctor.render.console import console_for

    stream = StringIO()
    console_for(stream, "never", 80).print("a table")
    assert stream.getvalue() == "a table\n"
    assert capsys.readouterr().out == ""
