"""Tests logs that are too large to hold in memory: the deciding message is found with its line number, in
little memory."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path

import pytest

from doctor.logs import large, read_stream, scan
from tests.conftest import ROOT
from tests.logs.test_reading import missing
from tests.sampling import sampled

MESSAGE = (
    "2020-05-01 10:00:00.123456: W tensorflow/stream_executor/platform/default/dso_loader.cc:55] Could not"
    " load dynamic library 'libcudnn.so.7'; dlerror: libcudnn.so.7: cannot open shared object file: No such"
    " file or directory"
)


@lru_cache(maxsize=4)
def training(lines: int, seed: int = 0) -> str:
    return "".join(
        f"step {seed + i} of 90000 [{'=' * (i % 20)}>{'.' * (19 - i % 20)}] {i * 37 % 1000} ms/step value"
        f" {i / 7:.4f}\n"
        for i in range(lines)
    )


@pytest.mark.parametrize(("ends", "encoding"), sampled(
    itertools.product(["\n", "\r\n"], ["utf-8", "utf-16", "utf-8-sig"]), 2,
))  # fmt: skip
def test_one_line_among_many_is_found_with_its_number(encoding: str, ends: str) -> None:
    text = training(30_000) + MESSAGE + "\n" + training(30_000)
    facts = read_stream(io.BytesIO(text.replace("\n", ends).encode(encoding)), "a.log")
    assert missing(facts) == [("libcudnn.so.7", 30_001)]
    assert facts.lines == 60_001


@pytest.mark.parametrize("disguise", sampled([
    lambda m: m.replace("Could not", "\x1b[31mCould\x1b[0m not"),
    lambda m: m.replace("'", "&#39;"),
    lambda m: m.replace("dynamic", "dyn\u200bamic"),
    lambda m: "\b" * 40 + m,
    lambda m: "50%|###\r" + m,
    str.upper,
], 2))  # fmt: skip
def test_disguised_line_among_many_is_found(disguise: object) -> None:
    text = training(30_000) + disguise(MESSAGE) + "\n" + training(30_000)  # type: ignore[operator]
    found = missing(read_stream(io.BytesIO(text.encode()), "a.log"))
    assert [(name.lower(), line) for name, line in found] == [("libcudnn.so.7", 30_001)]


def test_first_and_last_lines_are_always_kept() -> None:
    text = "GPU 0: Tesla T4\n" + training(30_000) + "Killed\n"
    kept = scan.scan_stream(scan.blocks(io.BytesIO(text.encode())))
    assert kept.kept[0] == (1, b"GPU 0: Tesla T4")
    assert kept.kept[-1] == (30_002, b"Killed")
    assert [number for number, _ in kept.kept] == sorted(number for number, _ in kept.kept)


def test_repeated_message_does_not_fill_the_memory() -> None:
    text = (MESSAGE + "\n" + training(3)) * 20_000
    kept = scan.scan_stream(scan.blocks(io.BytesIO(text.encode())))
    assert kept.lines == 80_000
    assert sum(len(line) for _, line in kept.kept) < 1_000_000


def test_message_in_the_middle_of_one_endless_line_is_found() -> None:
    filler = "some words that mean nothing at all 12345 "
    text = filler * 40_000 + MESSAGE + " " + filler * 40_000
    assert missing(read_stream(io.BytesIO(text.encode()), "a.log")) == [("libcudnn.so.7", 1)]


def test_all_cores_find_what_one_core_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    places = (10_000, 50_000, 90_000)
    text = "".join(
        training(n, n) + MESSAGE.replace("cudnn", f"cud{'nrb'[i]}n") + "\n" for i, n in enumerate(places)
    )
    path.write_text(text)
    monkeypatch.setattr(large, "SHARE", 1 << 20)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    with path.open("rb") as stream:
        shared = read_stream(stream, "a.log", processes=True)
    alone = read_stream(io.BytesIO(text.encode()), "a.log")
    assert missing(shared) == missing(alone)
    assert shared.lines == alone.lines == 150_003
    assert [line for _, line in missing(shared)] == [10_001, 60_002, 150_003]


@pytest.mark.slow
def test_file_on_standard_input_is_read_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(training(20_000) * 60 + MESSAGE + "\n")
    assert path.stat().st_size > 2 * large.SHARE
    with path.open("rb") as stream:
        run = subprocess.run(
            [sys.executable, "-m", "doctor", "explain", "-", "--format", "json"],
            stdin=stream,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=120,
        )
    assert run.stderr == ""
    assert "libcudnn.so.7" in run.stdout
    assert '"line": 1200001' in run.stdout


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc")
@pytest.mark.parametrize("kind", ["training", "one line"])
def test_memory_stays_small_however_much_is_read(kind: str) -> None:
    code = (
        "import re, sys; from doctor.logs import read_stream; f = read_stream(sys.stdin.buffer);"
        "print(f.lines, int(re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1]) // 1024)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    block = (training(20_000) if kind == "training" else "words and words without an end " * 50_000).encode()

    def feed() -> None:
        assert process.stdin is not None
        for _ in range(100_000_000 // len(block)):
            process.stdin.write(block)
        process.stdin.close()

    thread = threading.Thread(target=feed)
    thread.start()
    assert process.stdout is not None
    with process.stdout as out:
        lines, mib = map(int, out.read().split())
    thread.join()
    assert process.wait() == 0
    assert lines == (1 if kind == "one line" else 20_000 * (100_000_000 // len(block)))
    assert mib < 100


def test_line_longer_than_a_share_is_read_by_all_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    filler = "words and words without an end " * 40_000
    path.write_text(
        "a first line\n" + filler + MESSAGE + " " + filler * 3 + "\nlast " + MESSAGE.replace("cudnn", "cufft")
    )
    monkeypatch.setattr(large, "SHARE", 1 << 20)
    monkeypatch.setattr(large, "SAMPLE", 1 << 16)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    with path.open("rb") as stream:
        spans = list(large._spans(stream, path.stat().st_size, large.SHARE))
        stream.seek(0)
        shared = read_stream(stream, "a.log", processes=True)
    assert sum(span.within for span in spans) >= 2
    assert spans[0].start == 0
    assert all(a.end == b.start for a, b in zip(spans, spans[1:]))
    assert missing(shared) == [("libcudnn.so.7", 2), ("libcufft.so.7", 3)]
    assert shared.lines == 3


def test_lines_that_differ_only_in_identifiers_are_searched_once() -> None:
    shapes = scan.Shapes()
    lines = [
        f"pod-{i * 7919:x}-{i * 104729:x} served a request of {i} bytes\n".encode() for i in range(10_000)
    ]
    for start in range(0, len(lines), 1000):
        scan._look(b"".join(lines[start : start + 1000]), start + 1, shapes)
    assert len(shapes.known) < 20


def test_a_line_with_a_rare_word_and_a_common_one_is_kept() -> None:
    noise = [
        f"tensorflow said {''.join(chr(103 + int(d)) for d in str(i))} once more\n"
        for i in range(90_000, 98_000)
    ]
    noise[5000] = "tensorflow said Loaded cuDNN version 8907\n"
    head = "nothing of note here\n" * 8000
    kept = scan.scan_stream(scan.blocks(io.BytesIO((head + "".join(noise) + head).encode())))
    assert (13_001, noise[5000].strip().encode()) in kept.kept


def test_large_text_with_line_ends_of_old_macs_keeps_its_numbers() -> None:
    text = training(30_000) + MESSAGE + "\n" + training(30_000)
    facts = read_stream(io.BytesIO(text.replace("\n", "\r").encode()), "a.log")
    assert missing(facts) == [("libcudnn.so.7", 30_001)]
    assert facts.lines == 60_001
