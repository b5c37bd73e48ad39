"""Tests the references from one table to the rows of another."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from packaging.specifiers import SpecifierSet

from doctor.tables import Tables
from doctor.tables.ordering import order
from doctor.tables.ranges import of_build, within
from doctor.tables.versions import dotted, minor

if TYPE_CHECKING:
    from typing import TypeAlias

Raw: TypeAlias = "Callable[[str], list[dict[str, Any]]]"


def test_every_library_that_a_build_opens_is_in_the_catalogue(tables: Tables) -> None:
    opened = {name for build in tables.releases(None) if build.gpu for name in build.libraries}
    assert {name for name in opened if tables.library(name) is None} == set()


def test_library_is_catalogued_for_the_platform_that_opens_it(tables: Tables) -> None:
    for row in tables.libraries():
        endings = {".dll": "windows", ".dylib": "macos"}
        assert row.platform == next((p for e, p in endings.items() if row.soname.endswith(e)), "linux"), (
            row.soname
        )


def test_every_pin_of_the_extra_is_a_wheel_that_was_read(tables: Tables) -> None:
    known: dict[str, list[str]] = {}
    for wheel in tables.nvidia_wheels():
        known.setdefault(wheel.package, []).append(wheel.version)
    unmet = set()
    for build in tables.releases():
        for package, specifier in build.extras.get("and-cuda", {}).items():
            allowed = SpecifierSet(specifier.partition(";")[0])
            if package.startswith("nvidia-") and not list(allowed.filter(known.get(package, []))):
                unmet.add((build.version, package, specifier))
    assert unmet == set()


def test_extra_that_requires_other_packages_than_nvidias_is_a_known_trap(tables: Tables) -> None:
    for build in tables.releases():
        others = [
            package for package in build.extras.get("and-cuda", {}) if not package.startswith("nvidia-")
        ]
        traps = [t for t in tables.traps() if t.data["aspect"] == "extra"
                 and of_build(t.data["when"], build.package, build.version, build.platform)]  # fmt: skip
        assert bool(others) == bool(traps), (build.ref, others)


def test_extra_installs_every_library_that_a_gpu_needs(tables: Tables) -> None:
    """Each library that a build with the extra and-cuda requires is in a wheel that the extra names, in the
    folder that the table of wheels states."""
    for build in tables.releases():
        pins = build.extras.get("and-cuda")
        if not pins or build.libraries_required == ():
            continue
        cuda = "11" if any(package.endswith("-cu11") for package in pins) else "12"
        for soname in build.libraries_required:
            row = tables.pip_library(soname, cuda)
            assert row is not None, (build.ref, soname)
            assert row.package in pins, (build.ref, soname, row.package)


def test_folders_in_the_runpath_are_the_folders_of_the_wheels(tables: Tables) -> None:
    for build in tables.releases():
        if build.pip_libraries_found is None:
            continue
        folders = {
            match.group(1)
            for entry in build.runpath
            if (match := re.search(r"\.\./(nvidia/\w+/lib)/?$", entry))
        }
        for soname in (*build.pip_libraries_found, *(build.pip_libraries_missed or ())):
            row = tables.pip_library(soname)
            assert row is not None, soname
            assert (row.folder in folders) == (soname in build.pip_libraries_found), (build.ref, soname)


def test_every_cuda_of_a_build_is_a_toolkit_with_a_lowest_driver(tables: Tables) -> None:
    for build in tables.releases(None):
        if build.gpu and build.cuda:
            assert tables.toolkit(minor(build.cuda)) is not None, build.ref
            side = "windows" if build.platform.startswith("windows") else "linux"
            assert tables.driver_floor(build.cuda, side) is not None, build.ref


def test_every_ptx_isa_of_a_build_is_in_the_table(tables: Tables, raw: Raw) -> None:
    isas = {isa for r in tables.releases(None) if r.compute_capabilities
            for found in r.compute_capabilities.ptx_isa.values() for isa in found}  # fmt: skip
    assert {isa for isa in isas if tables.ptx(isa) is None} == set()
    known = {row["isa"] for row in raw("ptx")}
    newest = max(map(dotted, known))
    cudnn = {isa for row in raw("cudnn") for found in (row.get("ptx_isa") or {}).values() for isa in found}
    assert {isa for isa in cudnn if isa not in known and dotted(isa) < newest} == set()


def test_every_capability_of_a_build_belongs_to_an_architecture(tables: Tables) -> None:
    every = {c.rstrip("af") for r in tables.releases(None) if r.compute_capabilities
             for c in (*r.compute_capabilities.compiled, *r.compute_capabilities.ptx)}  # fmt: skip
    assert {c for c in every if tables.architecture(c) is None} == set()


def test_compiled_cudnn_has_the_major_that_the_build_opens(tables: Tables) -> None:
    for build in tables.releases(None):
        for row in tables.compiled_cudnn():
            about = build.package in row.data["packages"] and within(
                build.version, row.data["versions"], order
            )
            if about and build.gpu and build.cudnn:
                assert dotted(row.data["cudnn"])[0] == dotted(build.cudnn)[0], (build.ref, row.ref)


def test_lower_bound_of_the_extra_is_the_compiled_cudnn(tables: Tables) -> None:
    for build in tables.releases():
        for package, specifier in build.extras.get("and-cuda", {}).items():
            if package.startswith("nvidia-cudnn-"):
                floors = [s.version for s in SpecifierSet(specifier) if s.operator in ("==", ">=")]
                said = [
                    r.data["cudnn"]
                    for r in tables.compiled_cudnn()
                    if within(build.version, r.data["versions"], order)
                ]
                assert [minor(f) for f in floors] == said, f"{build.ref}: see cudnn_compiled.json"


def test_wheel_of_a_library_is_within_the_range_in_the_catalogue(tables: Tables) -> None:
    """For example, nvidia-cuda-runtime-cu12 12.5.82 contains libcudart.so.12, which the catalogue lists for
    CUDA 12.0 to 12.9."""
    for wheel in tables.nvidia_wheels():
        if not wheel.package.startswith("nvidia-cuda-runtime"):
            continue
        for soname in wheel.libraries:
            row = tables.library(soname)
            if row is not None and row.first is not None:
                here = dotted(wheel.version)[:2]
                assert dotted(row.first) <= here, wheel.ref
                assert row.last is None or here <= dotted(row.last), wheel.ref


@pytest.mark.parametrize("table", ["cudnn"])
def test_wheel_in_a_cudnn_row_is_in_the_table_of_wheels(tables: Tables, raw: Raw, table: str) -> None:
    known = {wheel.source for wheel in tables.nvidia_wheels()}
    assert [row["source"] for row in raw(table) if "sha256" in row and row["source"] not in known] == []
