"""Tests with the facts in the tables that each trap applies to the releases that it names, and to no other
release."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.compat import code_for, cudnn_serves_gpu, pip_cudnn
from doctor.compat.situation import Situation, applies, concerns
from doctor.tables import Tables, TensorFlowRelease, Trap
from doctor.tables.versions import dotted
from doctor.values import replace
from tests.conftest import BUNDLED
from tests.sampling import each

TABLES = Tables(BUNDLED)
TRAPS = TABLES.traps()


def builds_of(trap: Trap) -> list[TensorFlowRelease]:
    return [build for build in TABLES.releases(None) if concerns(trap, build)]


def holds(build: TensorFlowRelease, derived: dict[str, Any]) -> bool:
    """Whether the tables confirm that what a trap says is true for a build."""
    kernels = build.compute_capabilities
    compiled = kernels.compiled if kernels else ()
    ptx = kernels.ptx if kernels else ()
    isas = dict(kernels.ptx_isa) if kernels else {}
    for name, value in derived.items():
        if name == "missed":
            ok = set(value) == {*(build.pip_libraries_missed or ())} - {"libcublasLt.so.12"}
        elif name == "extra_requires":
            ok = value in build.extras["and-cuda"]
        elif name == "pip_cudnn_lacks":
            chosen = pip_cudnn(build, TABLES)
            ok = chosen is not None and all(
                cudnn_serves_gpu(chosen.version, (c,), TABLES, chosen.cuda[0]).verdict == "no" for c in value
            )
        elif name == "ptx_has":
            ok = value in ptx
        elif name == "ptx_isa_for":
            ok = value[1] in isas.get(value[0], ())
        elif name == "ptx_isa":
            ok = any(value in found for found in isas.values())
        elif name == "compiled_below":
            ok = all(dotted(c) < dotted(value) for c in compiled)
        elif name == "compiled":
            ok = list(compiled) == value
        elif name == "no_code_for":
            ok = code_for(value, compiled, ptx) is None
        elif name == "cuda_below":
            ok = build.gpu is False or build.cuda is None or dotted(build.cuda) < dotted(value)
        elif name == "cudnn_below":
            ok = build.gpu is False or build.cudnn is None or dotted(build.cudnn) < dotted(value)
        elif name == "opens":
            ok = value in build.libraries
        elif name == "gpu":
            ok = build.gpu is value
        elif name == "build_info_lacks":
            ok = not set(value) & set(build.data["build_info"] or {})
        elif name == "requires":
            ok = any(requirement.startswith(f"{value};") for requirement in build.requires)
        elif name == "needed":
            ok = "libcuda.so.1" in build.libraries
        else:
            raise AssertionError(f"a trap that is derived from something unknown: {name}")
        if not ok:
            return False
    return True


CANDIDATE = "build-info-2.22"
"""2.22 is out only as a release candidate, which the table leaves out."""


@each("trap", [trap for trap in TRAPS if trap.name != CANDIDATE], ids=lambda trap: trap.name)
def test_trap_names_releases_that_exist(trap: Trap) -> None:
    assert builds_of(trap)


@each("trap", [t for t in TRAPS if t.data.get("derived")], ids=lambda trap: trap.name)
def test_trap_does_not_end_before_the_newest_release_while_its_fact_still_holds(trap: Trap) -> None:
    without_versions = {key: value for key, value in trap.data["when"].items() if key != "versions"}
    every = builds_of(replace(trap, data={**trap.data, "when": without_versions}))
    releases = sorted({dotted(build.version) for build in every})
    covered = {dotted(build.version) for build in builds_of(trap)}
    if len(releases) > 1 and releases[-2] in covered and releases[-1] not in covered:
        newest = [build for build in every if dotted(build.version) == releases[-1] and build.gpu]
        assert not any(holds(build, trap.data["derived"]) for build in newest), "extend the range"


@each("trap", [t for t in TRAPS if t.data.get("derived")], ids=lambda trap: trap.name)
def test_tables_confirm_each_trap_for_every_release_it_names(trap: Trap) -> None:
    wrong = [build.ref for build in builds_of(trap) if not holds(build, trap.data["derived"])]
    assert wrong == [], "its fact (`derived`) does not hold for these releases: narrow `versions`"


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_conditions_of_a_trap_can_be_read(trap: Trap) -> None:
    everything = Situation(
        python="3.11",
        capabilities=("8.6",),
        driver="535.183.01",
        cuda="12.2",
        cudnn="8.9",
        route="pip-and-cuda",
    )
    for build in builds_of(trap)[:1]:
        assert applies(trap, build, everything, TABLES) in (True, False)
    assert trap.verdict in ("yes", "slow", "unknown", "no")


def test_every_runpath_that_misses_a_library_is_a_trap() -> None:
    missing = {b.version for b in TABLES.releases() if b.extras.get("and-cuda") and b.pip_libraries_missed}
    named = {build.version for trap in TRAPS if trap.name.startswith("runpath-") for build in builds_of(trap)}
    assert missing == named, "add a trap runpath-RELEASE, or extend one"
    assert missing


def test_every_release_without_a_gpu_build_under_its_name_is_a_trap() -> None:
    """On Linux x86_64, the package tensorflow is a CPU build up to 2.0, except 1.15.0, and a GPU build from
    2.1 on."""
    trap = next(t for t in TRAPS if t.name == "cpu-named-tensorflow")
    cpu = {b.version for b in TABLES.releases(package="tensorflow") if b.gpu is False}
    assert {b.version for b in builds_of(trap) if b.platform == "linux-x86_64"} == cpu


def test_every_build_with_code_for_only_one_gpu_is_a_trap() -> None:
    alone = {(b.version, b.platform) for b in TABLES.releases(None)
             if b.compute_capabilities and len(b.compute_capabilities.compiled) == 1}  # fmt: skip
    named = {(b.version, b.platform) for t in TRAPS if t.name.startswith("k80-only") for b in builds_of(t)}
    assert alone == named


def test_every_build_with_ptx_for_only_one_gpu_is_a_trap() -> None:
    suffixed = {
        b.version
        for b in TABLES.releases()
        if b.compute_capabilities and "9.0a" in b.compute_capabilities.ptx
    }
    trap = next(t for t in TRAPS if t.name == "blackwell-sm90a")
    assert {b.version for b in builds_of(trap)} == suffixed
