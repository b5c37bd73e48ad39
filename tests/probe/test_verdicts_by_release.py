"""Tests the most common faults with each generation of TensorFlow, from files alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.machines.skeleton import skeleton
from tests.probe.machines import Folder
from tests.probe.test_verdicts import LIB, codes, volta, with_toolkit
from tests.sampling import sampled

if TYPE_CHECKING:
    from typing import TypeAlias

RELEASES = ("1.15.0", "2.10.0", "2.15.1", "2.18.1", "2.21.0")
CUDNN = {"1.15.0": "7", "2.10.0": "8", "2.15.1": "8", "2.18.1": "9", "2.21.0": "9"}
CUDA = {"1.15.0": "10.0", "2.10.0": "11.2", "2.15.1": "12.2", "2.18.1": "12.5", "2.21.0": "12.5"}
Change: TypeAlias = "Callable[[Folder, str], Folder]"


def unlink(machine: Folder, *patterns: str) -> Folder:
    """Remove files, and the loader's cache."""
    for pattern in (*patterns, "etc/ld.so.cache"):
        for path in machine.root.glob(pattern):
            path.unlink()
    return machine


def off_the_path(machine: Folder, release: str) -> Folder:
    return unlink(machine, "etc/ld.so.conf")


def no_cuda(machine: Folder, release: str) -> Folder:
    unlink(machine, f"usr/local/cuda-{CUDA[release]}/lib64/*", f"usr/local/cuda-{CUDA[release]}/version.*")
    return unlink(machine, "usr/lib/x86_64-linux-gnu/libcudnn*")


def no_cudnn(machine: Folder, release: str) -> Folder:
    for path in machine.root.glob("usr/lib/x86_64-linux-gnu/libcudnn*"):
        path.unlink()
    return machine.in_loader_cache(f"/usr/local/cuda-{CUDA[release]}/lib64")


def other_cudnn(machine: Folder, release: str) -> Folder:
    no_cudnn(machine, release)
    machine.cudnn({"7": "8.1.1", "8": "9.3.0", "9": "8.9.7"}[CUDNN[release]], LIB)
    return machine.in_loader_cache(f"/usr/local/cuda-{CUDA[release]}/lib64")


def broken_cudnn(machine: Folder, release: str) -> Folder:
    name = f"libcudnn.so.{CUDNN[release]}"
    whole = skeleton(soname=name, filling=100_000)
    return machine.write(f"/opt/first/{name}", whole[:60_000]).env(LD_LIBRARY_PATH="/opt/first")


def hidden(machine: Folder, release: str) -> Folder:
    machine.answers(capability="7.0", name="Tesla V100-PCIE-16GB", cuinit="CUDA_ERROR_NO_DEVICE")
    return machine.env(CUDA_VISIBLE_DEVICES="-1")


CASES: dict[str, tuple[str, Change]] = {
    "nothing wrong": ("healthy", lambda machine, release: machine),
    "hidden": ("gpu-hidden", hidden),
    "off the path": ("library-path", off_the_path),
    "no CUDA": ("cuda-missing", no_cuda),
    "no cuDNN": ("cudnn-missing", no_cudnn),
    "another cuDNN": ("cudnn-version-mismatch", other_cudnn),
    "cuDNN cut short": ("library-broken", broken_cudnn),
}


@pytest.mark.parametrize(("release", "case"), sampled(itertools.product(RELEASES, CASES), 9))
def test_the_verdict_with_every_generation(release: str, case: str, tmp_path: Path) -> None:
    verdict, change = CASES[case]
    machine = change(with_toolkit(volta(Folder(tmp_path / "machine")), release), release)
    diagnosis = machine.diagnosis()
    assert diagnosis.verdict.code == verdict, codes(diagnosis)


@pytest.mark.parametrize("release", RELEASES)
def test_a_missing_driver_with_every_generation(release: str, tmp_path: Path) -> None:
    diagnosis = with_toolkit(Folder(tmp_path / "machine").gpu("1db4", driver=None), release).diagnosis()
    assert diagnosis.verdict.code == "driver-missing", codes(diagnosis)


def test_nvml_counts_only_for_builds_that_load_it(tmp_path: Path) -> None:
    for release, verdict in (("2.18.1", "healthy"), ("2.21.0", "driver-libcuda-missing")):
        machine = with_toolkit(volta(Folder(tmp_path / release)), release)
        unlink(machine, "usr/lib/x86_64-linux-gnu/libnvidia-ml*")
        diagnosis = machine.in_loader_cache(f"/usr/local/cuda-{CUDA[release]}/lib64").diagnosis()
        assert diagnosis.verdict.code == verdict, (release, codes(diagnosis))


def test_a_nightly_is_judged_by_the_nearest_release_and_says_so(tmp_path: Path) -> None:
    machine = with_toolkit(volta(Folder(tmp_path / "machine")), "2.21.0")
    (info,) = (machine.root / machine.site.lstrip("/")).glob("tensorflow-2.21.0.dist-info")
    info.rename(info.with_name("tf_nightly-2.23.0.dev20261026.dist-info"))
    from doctor.facts import LibraryWanted

    wanted = machine.facts().of(LibraryWanted)
    assert "libcudart.so.12" in {fact.name for fact in wanted}
    assert all("the nearest to" in fact.source.text for fact in wanted)
