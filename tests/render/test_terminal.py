"""Tests what a person sees at a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor import api
from doctor.facts import Facts, Noise, Prose, Source, TensorFlowVersion, Unreadable
from doctor.findings import Diagnosis, Finding, manual, python, shell
from doctor.render import Options, content, rendered
from doctor.render.terminal import fact_in_words
from doctor.shell import Literal
from doctor.tables import Tables
from tests.render.conftest import MISMATCH, ROOT, Run
from tests.sampling import sampled

LONG = "python3 -m pip install " + " ".join(f"'package-{i}=={i}.0'" for i in range(40))
CODE = (
    "import tensorflow as tf\nfor gpu in tf.config.list_physical_devices('GPU'):\n   "
    " tf.config.experimental.set_memory_growth(gpu, True)"
)


def made(*, title: str = "A title", text: str = "said so", **more: object) -> Diagnosis:
    finding = Finding(
        "cuda-missing",
        "error",
        title,
        "Because of this. " * 12,
        (Source("train.log", 12, text),),
        prescription=(
            shell(Literal(LONG), "brings packages"),
            python(CODE, "lets memory grow"),
            manual("restart it"),
        ),
        proof=shell(Literal("python3 -c pass")),
        **more,  # type: ignore[arg-type]
    )
    return Diagnosis(Facts((), "report", "train.log", 30), (finding,))


@pytest.mark.parametrize("width", [40, 80, 100])
def test_prose_is_wrapped_and_commands_are_not(width: int) -> None:
    text = rendered(made(), Options(width=width))
    rows = text.splitlines()
    assert LONG in rows, "a command has its own line and begins at the left edge"
    assert CODE in text, "code keeps its indentation and begins at the left edge"
    for row in rows:
        assert len(row) <= width or row == LONG or row in CODE.splitlines()


def test_verdict_comes_before_evidence_and_evidence_before_steps() -> None:
    text = rendered(made(), Options())
    order = [
        "A title",
        "cuda-missing",
        "Because of this.",
        "train.log:12",
        "said so",
        LONG,
        "python3 -c pass",
    ]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)


def test_no_escape_is_written_to_a_pipe(tool: Run) -> None:
    run = tool("explain", "-", stdin=MISMATCH.encode())
    assert run.returncode == 1
    assert b"\x1b" not in run.stdout
    assert "✗".encode() in run.stdout


def test_colour_is_written_only_if_requested(tool: Run) -> None:
    assert b"\x1b[" in tool("explain", "--color", "always", stdin=MISMATCH.encode()).stdout
    assert b"\x1b" not in tool("explain", "--color", "never", stdin=MISMATCH.encode(), FORCE_COLOR="1").stdout


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pseudo-terminals")
@pytest.mark.parametrize(
    ("env", "coloured"), sampled([({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)], 2)
)
def test_terminal_gets_colour_unless_the_user_or_the_terminal_rules_it_out(
    env: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    import pty

    report = tmp_path / "report.txt"
    report.write_text(MISMATCH)
    leader, follower = pty.openpty()
    base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "doctor", "explain", str(report)],
        stdout=follower,
        stdin=subprocess.DEVNULL,
        env={**base, "PYTHONPATH": str(ROOT), "TERM": "xterm", **env},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(leader)
    process.wait(60)
    assert b"What to do" in seen
    assert (b"\x1b[" in seen) is coloured


@pytest.mark.parametrize("encoding", sampled(["ascii", "cp437", "cp1252", "gbk"], 2))
def test_console_with_a_legacy_code_page_gets_replacement_characters(tool: Run, encoding: str) -> None:
    report = MISMATCH + "显存不足 → 错误 ✗ \U0001f600\n"
    run = tool("explain", "-v", stdin=report.encode(), PYTHONIOENCODING=encoding)
    assert run.returncode == 1, run.stderr
    shown = run.stdout.decode(encoding)
    assert "cudnn-missing" in shown
    assert shown.startswith(("x ", "✗ "))


def test_no_text_of_a_report_controls_the_terminal(tmp_path: Path) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\x9b31mred\u202eright\u200b [bold red]markup[/] :smile: \ud800\x00"
    text = rendered(
        made(title=nasty, text=nasty, consequences=(nasty,), tables=(nasty,)),
        Options(colour=False, verbose=1),
    )
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "[bold red]markup[/] :smile:" in text


def test_harmless_lines_are_listed_with_their_numbers(tables: Tables) -> None:
    noise = tuple(Noise(Source("a.log", n, "NUMA"), "numa-node", "harmless on a desktop") for n in (3, 9, 11))
    diagnosis = made()
    text = rendered(Diagnosis(Facts(noise), diagnosis.findings), Options())
    assert "These 3 lines are noise" in text
    assert "lines 3, 9 and 11: harmless on a desktop" in text


def test_harmless_lines_of_a_run_by_the_tool_itself_are_quoted() -> None:
    noise = tuple(
        Noise(Source("TensorFlow's log", n, f"I tensorflow/x.cc:{n}] NUMA node"), "numa-node", "harmless")
        for n in (1, 6)
    )
    text = rendered(Diagnosis(Facts(noise, "machine"), made().findings), Options())
    assert '"NUMA node" and 1 more: harmless' in text
    assert "lines 1 and 6" not in text


def test_prefix_of_a_log_line_is_removed_and_a_persons_words_stay() -> None:
    assert content.message("I have Windows 11") == "I have Windows 11"
    for prefix in ("I tensorflow/core/x.cc:42] ", "2020-01-02 03:04:05.6: W ", r"E c:\tf\home\x.cc:42] "):
        assert content.message(f"{prefix}I am here") == "I am here"


def test_line_that_proves_the_verdict_is_not_called_noise() -> None:
    source = Source("train.log", 12, "said so")
    diagnosis = made()
    text = rendered(Diagnosis(Facts((Noise(source, "x", "means nothing"),)), diagnosis.findings), Options())
    assert "noise" not in text


def test_verbose_shows_every_fact_with_its_source_and_what_was_not_examined(
    diagnosed: Callable[..., Diagnosis],
) -> None:
    diagnosis = diagnosed(MISMATCH)
    more = Diagnosis(
        diagnosis.facts.plus([Unreadable(Source("/proc/x"), "kernel module", "no permission")]),
        diagnosis.findings,
        diagnosis.skipped,
    )
    text = rendered(more, Options(verbose=1))
    for fact in diagnosis.facts:
        assert f"report.txt:{fact.source.line}" in text
    assert "kernel module: no permission" in text
    assert "kernel module: no permission" in rendered(more, Options()), (
        "what could not be examined is never hidden"
    )


def test_verbose_names_tensorflow_in_one_word_and_each_place_once() -> None:
    source = Source("train.log", 7, "TensorFlow 2.15.1")
    facts = Facts(
        (TensorFlowVersion(source, "2.15.1"), TensorFlowVersion(source, "2.15.1")), "report", "x", 9
    )
    text = rendered(Diagnosis(facts, made().findings), Options(verbose=1))
    assert "tensorflow version: version 2.15.1\n    train.log:7\n\n" in text


def test_prefix_of_a_log_line_is_left_out_of_the_quotation(diagnosed: Callable[..., Diagnosis]) -> None:
    text = rendered(diagnosed(MISMATCH), Options())
    assert re.search(r"report\.txt:2\n +Could not load dynamic library 'libcudnn\.so\.7'", text)


def test_quiet_leaves_out_hints(tool: Run) -> None:
    assert b"hint:" not in tool("explain", "-q", stdin=MISMATCH.encode()).stdout
    assert b"hint:" in tool("explain", stdin=MISMATCH.encode()).stdout
    assert b"hint:" not in tool("explain", "-q", stdin=b"").stderr
    assert b"hint:" in tool("explain", stdin=b"").stderr


def test_output_file_is_complete_or_absent(tool: Run, tmp_path: Path) -> None:
    target = tmp_path / "answer.txt"
    target.write_text("old")
    assert tool("explain", "missing.txt", "--output", str(target)).returncode == 2
    assert target.read_text() == "old"
    assert tool("explain", "-", "--output", str(target), stdin=MISMATCH.encode()).returncode == 1
    assert "cudnn-missing" in target.read_text(encoding="utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["answer.txt"], "no draft is left behind"


def test_error_names_the_output_that_cannot_be_written(tool: Run) -> None:
    run = tool("explain", "-", "--output", "no/such/folder/answer.txt", stdin=MISMATCH.encode())
    assert run.returncode == 3
    assert b"no/such/folder/answer.txt" in run.stderr
    assert b"Traceback" not in run.stderr


def test_json_contains_no_control_characters(diagnosed: Callable[..., Diagnosis]) -> None:
    nasty = MISMATCH.replace("alice", "al\u202eice\x7f\x9b")
    for symbols in (True, False):
        text = rendered(diagnosed(nasty, "na\u202eme\ud800\x1b.txt"), Options("json", symbols=symbols))
        assert text.endswith("}\n")
        assert text[:-1].isprintable()


def test_verbose_lists_a_fact_once_however_often_it_was_seen() -> None:
    """If a training log repeats a line for each batch, the report shows how often it does, and not every
    place, so that it stays readable."""
    pages = [
        api.explain("- My GPU is not used\n" * times).render("text", verbose=1) for times in (1_000, 4_000)
    ]
    assert all(len(page.splitlines()) < 200 for page in pages), [len(page.splitlines()) for page in pages]
    assert re.search(r"and at \d+ more places", pages[1])


def test_every_fact_is_in_words() -> None:
    source = Source("-", 1, "x")
    assert fact_in_words(Prose(source, (2, 3), 72)) == "prose: lines 2 and 3, size 72"
    assert fact_in_words(TensorFlowVersion(source, "2.15.1")) == "tensorflow version: version 2.15.1"


def test_a_version_that_only_some_of_the_possible_releases_need_depends_on_the_release() -> None:
    report = """\
W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library \
'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file: No such file or directory
Python 3.8.10, CUDA 11.2 is installed
"""
    shown = " ".join(api.explain(report).render("text").split())
    assert "CUDA: has 11.2; needs CUDA 11.0 or 11.2 (depends on the TensorFlow release)" in shown


def test_a_minor_version_says_which_release_it_is_taken_as() -> None:
    shown = api.explain("TensorFlow 2.15 and CUDA 12.2: the list of GPUs is empty\n").render("text")
    assert "TensorFlow: 2.15, taken as 2.15.1 (line 1)" in shown
