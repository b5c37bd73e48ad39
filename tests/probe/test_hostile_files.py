"""Tests files that are made to confuse the code that reads them: any content quickly gives an answer or a
clear refusal."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from doctor.probe import elf, ldcache, pe
from doctor.probe.build import build_info
from scripts.machines.skeleton import skeleton
from tests.probe.machines import Folder
from tests.probe.test_verdicts import with_wheels
from tests.probe.test_windows import dll
from tests.sampling import examples, sampled

LIBRARY = skeleton(
    soname="libx.so.1",
    needed=("libc.so.6", "liby.so.2"),
    runpath="$ORIGIN:$ORIGIN/../y",
    wants=(("libc.so.6", "GLIBC_2.17"), ("libc.so.6", "GLIBC_2.27"), ("liby.so.2", "Y_1")),
    gives=("X_1", "X_2"),
)
CACHE = Path("/etc/ld.so.cache")
changes = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), max_size=12)


def changed(data: bytes, edits: list[tuple[int, int]], cut: int) -> io.BytesIO:
    """Return the bytes after some changes, with the end cut off."""
    copy = bytearray(data)
    for at, value in edits:
        if at < len(copy):
            copy[at] = value
    return io.BytesIO(bytes(copy[: len(copy) - cut]))


def test_a_skeleton_is_read_as_it_was_written() -> None:
    header = elf.parse(io.BytesIO(LIBRARY))
    assert (header.soname, header.needed) == ("libx.so.1", ("libc.so.6", "liby.so.2"))
    assert header.runpath == ("$ORIGIN", "$ORIGIN/../y")
    assert [(library, version) for library, version, _ in header.wants] == [
        ("libc.so.6", "GLIBC_2.17"),
        ("libc.so.6", "GLIBC_2.27"),
        ("liby.so.2", "Y_1"),
    ]
    assert header.gives == {"X_1", "X_2"}
    assert header.missing_bytes == 0


@settings(max_examples=examples(400), deadline=2000)
@given(changes, st.integers(0, 600))
def test_a_damaged_library_is_read_or_refused(edits: list[tuple[int, int]], cut: int) -> None:
    try:
        header = elf.parse(changed(LIBRARY, edits, cut))
    except elf.NotElf:
        return
    assert header.bits in (32, 64)
    assert header.missing_bytes >= 0


@settings(max_examples=examples(300), deadline=2000)
@given(st.binary(max_size=300), st.sampled_from([b"", b"\x7fELF", LIBRARY[:64], LIBRARY[:200]]))
def test_any_bytes_are_read_or_refused(data: bytes, head: bytes) -> None:
    try:
        elf.parse(io.BytesIO(head + data))
    except elf.NotElf:
        return


@settings(max_examples=examples(300), deadline=2000)
@given(changes, st.integers(0, 900))
def test_a_damaged_dll_is_read_or_refused(edits: list[tuple[int, int]], cut: int) -> None:
    try:
        pe.parse(changed(dll(("a.dll", "b.dll")), edits, cut))
    except pe.NotPe:
        return


@settings(max_examples=examples(200), deadline=2000)
@given(st.binary(max_size=400), st.booleans())
def test_any_cache_is_read_or_refused(data: bytes, marked: bool) -> None:
    try:
        ldcache.parse((ldcache.NEW_MAGIC if marked else b"") + data)
    except ldcache.NotCache:
        return


@pytest.mark.skipif(not CACHE.exists(), reason="no loader cache here")
@settings(max_examples=examples(100), deadline=5000)
@given(changes, st.integers(0, 5000))
def test_a_damaged_cache_is_read_or_refused(edits: list[tuple[int, int]], cut: int) -> None:
    try:
        ldcache.parse(changed(CACHE.read_bytes(), edits, cut).getvalue())
    except ldcache.NotCache:
        return


@settings(max_examples=examples(200), deadline=2000)
@given(st.text(max_size=200))
def test_any_build_info_is_read(text: str) -> None:
    assert isinstance(build_info(text), dict)


FILES = (
    "/etc/os-release",
    "/proc/modules",
    "/proc/cpuinfo",
    "/proc/driver/nvidia/version",
    "/sys/bus/pci/devices/0000:01:00.0/class",
    "/opt/venv/pyvenv.cfg",
    "/usr/local/cuda-12.2/version.json",
    "/etc/ld.so.cache",
    "/opt/venv/lib/python3.11/site-packages/tensorflow/python/platform/build_info.py",
    "/opt/venv/lib/python3.11/site-packages/tensorflow-2.15.1.dist-info/METADATA",
)
CONTENTS = {"zeros": "\0" * 100, "no value": "é=", "one long word": "x" * 100_000}


@pytest.mark.parametrize(("path", "content"), sampled(itertools.product(FILES, CONTENTS), 10))
def test_no_file_makes_a_probe_fail(path: str, content: str, tmp_path: Path) -> None:
    machine = with_wheels(Folder(tmp_path).working_gpu(), "2.15.1").write(path, CONTENTS[content])
    facts = machine.facts()
    assert not [fact for fact in facts if "the probe failed" in str(getattr(fact, "reason", ""))]
