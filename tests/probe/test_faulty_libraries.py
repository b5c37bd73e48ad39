"""Tests that a faulty library is reported as the fault, wherever it is, unless the loader skips it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.probe import examine
from doctor.probe.machine import Machine
from doctor.tables import Tables
from scripts.machines.skeleton import skeleton
from tests.probe.machines import Folder, open_to_others
from tests.probe.test_verdicts import LIB, codes, with_wheels
from tests.sampling import sampled

ARM = 183
HERE = "/home/me/lib"
TOOLKIT = "/usr/local/cuda-11.2/lib64"


def cut(name: str) -> bytes:
    """A library whose second half is missing."""
    return skeleton(soname=name, filling=100_000)[:50_000]


def narrow(name: str) -> bytes:
    """A library for a 32-bit system."""
    data = bytearray(skeleton(soname=name, machine=3))
    data[4] = 1
    return bytes(data)


def first(name: str, content: bytes) -> Callable[[Folder], Folder]:
    """Complete wheels, with a faulty copy of one library earlier on the search path."""
    return lambda m: (
        with_wheels(m.working_gpu(), "2.15.1").write(f"{HERE}/{name}", content).env(LD_LIBRARY_PATH=HERE)
    )


def only(content: bytes, *, searched: bool) -> Callable[[Folder], Folder]:
    """A toolkit in which only the CUDA runtime is faulty."""

    def make(machine: Folder) -> Folder:
        machine.working_gpu().python("3.10").tensorflow("2.10.0").toolkit("11.2").cudnn("8.1.1", LIB)
        machine.write(f"{TOOLKIT}/libcudart.so.11.0", content)
        return machine.env(LD_LIBRARY_PATH=TOOLKIT) if searched else machine

    return make


def dangling(machine: Folder) -> Folder:
    only(b"", searched=True)(machine)
    (machine.root / f"{TOOLKIT}/libcudart.so.11.0".lstrip("/")).unlink()
    return machine.link(f"{TOOLKIT}/libcudart.so.11.0", "libcudart.so.11.2.152")


BROKEN: dict[str, Callable[[Folder], Folder]] = {
    "cut short, before the good one": first("libcublas.so.12", cut("libcublas.so.12")),
    "empty, before the good one": first("libcudnn.so.8", b""),
    "a pointer of Git LFS, before the good one": first(
        "libcudnn.so.8", b"version https://git-lfs.github.com/spec/v1\n" * 3
    ),
    "cut short, the only one": only(cut("libcudart.so.11.0"), searched=True),
    "for another processor, the only one": only(
        skeleton(soname="libcudart.so.11.0", machine=ARM), searched=True
    ),
    "of 32 bits, the only one": only(narrow("libcudart.so.11.0"), searched=True),
    "a link to nothing": dangling,
    "cut short, in a folder that is not searched either": only(cut("libcudart.so.11.0"), searched=False),
    "for another processor, in a folder that is not searched": only(
        skeleton(soname="libcudart.so.11.0", machine=ARM), searched=False
    ),
}


@pytest.mark.parametrize("name", sampled(BROKEN, 4))
def test_a_faulty_library_is_broken_and_not_a_problem_of_the_path(name: str, tmp_path: Path) -> None:
    diagnosis = BROKEN[name](Folder(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == "library-broken", codes(diagnosis)


@pytest.mark.parametrize(
    "content",
    [skeleton(soname="libcudnn.so.8", machine=ARM), narrow("libcudnn.so.8")],
    ids=["processor", "32-bit"],
)
def test_files_that_the_loader_skips_before_a_good_one_do_no_harm(content: bytes, tmp_path: Path) -> None:
    assert first("libcudnn.so.8", content)(Folder(tmp_path)).diagnosis().verdict.code == "healthy"


def test_a_faulty_copy_outside_the_searched_folders_does_no_harm(
    tmp_path: Path,
) -> None:
    machine = with_wheels(Folder(tmp_path).working_gpu(), "2.15.1")
    machine.write("/usr/local/cuda/lib64/libcudart.so.12", cut("libcudart.so.12"))
    assert machine.diagnosis().verdict.code == "healthy"


@pytest.mark.parametrize(
    "content", [cut("libtensorflow_framework.so.2"), skeleton(machine=ARM), b"text\n" * 30]
)
def test_a_tensorflow_whose_own_library_does_not_load_is_a_failed_import(
    content: bytes, tmp_path: Path
) -> None:
    machine = with_wheels(Folder(tmp_path).working_gpu(), "2.15.1")
    machine.write(f"{machine.site}/tensorflow/libtensorflow_framework.so.2", content)
    diagnosis = machine.diagnosis()
    assert codes(diagnosis) == ["tf-import-failed"]
    assert "libtensorflow_framework" in diagnosis.verdict.explanation


# --- files that this user may not read


def as_nobody(machine: Folder) -> tuple[str, list[str]]:
    """Return the code and the steps of the verdict for a user without any rights. All modules are imported
    before the user is changed."""
    machine.diagnosis()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            verdict = diagnose(examine(Machine.at(machine.root)), Tables.bundled()).verdict
            os.write(
                writing, json.dumps([verdict.code, [step.text for step in verdict.prescription]]).encode()
            )
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        data = answers.read()
    os.waitpid(child, 0)
    code, steps = json.loads(data)
    return code, steps


CLOSED = {
    "a library of CUDA": ("nvidia/cudnn/lib/libcudnn.so.8", "library-broken"),
    "what a library needs": ("nvidia/nvjitlink/lib/libnvJitLink.so.12", "library-broken"),
    "the driver's library": ("", "library-broken"),
}


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user"
)
@pytest.mark.parametrize("what", CLOSED)
def test_a_library_that_may_not_be_read_is_broken_for_this_user(what: str, tmp_path: Path) -> None:
    name, code = CLOSED[what]
    machine = with_wheels(Folder(tmp_path / "machine").gpu().driver("550.54.14"), "2.15.1")
    path = f"{machine.site}/{name}" if name else "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14"
    (machine.root / path.lstrip("/")).chmod(0)
    open_to_others(tmp_path)
    found, steps = as_nobody(machine)
    assert found == code
    assert steps[0].startswith("sudo chmod a+rX /")
