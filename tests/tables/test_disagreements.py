"""Tests that the table agrees with the wheels where the wheels and tensorflow.org (pages "Build from source"
and "Install with pip") differ."""

from __future__ import annotations

import pytest

from doctor.compat import pip_cudnn
from doctor.tables import Tables, TensorFlowRelease
from doctor.tables.versions import dotted
from tests.sampling import each


def row(
    tables: Tables, version: str, package: str = "tensorflow", platform: str = "linux-x86_64"
) -> TensorFlowRelease:
    found = tables.tensorflow(version, package, platform)
    assert found is not None
    return found


@each("version", ["1.15.2", "1.15.3", "1.15.4", "1.15.5", "2.0.0", "2.0.1", "2.0.2", "2.0.3", "2.0.4"])
def test_page_lists_tensorflow_2_0_0_among_gpu_builds(tables: Tables, version: str) -> None:
    assert row(tables, version).gpu is False
    assert row(tables, version, "tensorflow-gpu").gpu is True


def test_of_all_1_15_releases_only_1_15_0_has_cuda(tables: Tables) -> None:
    assert row(tables, "1.15.0").gpu is True


@pytest.mark.parametrize("version", ["1.15.0", "2.0.0"])
def test_page_says_python_3_3_and_3_4_for_1_15_and_2_0(tables: Tables, version: str) -> None:
    assert row(tables, version).pythons == ("2.7", "3.5", "3.6", "3.7")


def test_page_says_python_3_3_and_3_4_for_1_0_0_on_macos(tables: Tables) -> None:
    assert row(tables, "1.0.0", platform="macos-x86_64").pythons == ("2.7", "3.5", "3.6")


@pytest.mark.parametrize("package", ["tensorflow", "tensorflow-gpu"])
def test_page_lists_1_13_0_for_windows_which_was_never_released(tables: Tables, package: str) -> None:
    assert tables.tensorflow("1.13.0", package, "windows-amd64") is None
    assert tables.tensorflow("1.13.1", package, "windows-amd64") is not None


@pytest.mark.parametrize(("version", "compiler"), [("2.18.0", "18"), ("2.15.0", "17")])
def test_page_names_another_compiler(tables: Tables, version: str, compiler: str) -> None:
    assert f"llvm-{compiler}" in row(tables, version).data["build_info"]["cpu_compiler"]


@pytest.mark.parametrize(
    ("version", "package", "cuda"),
    [("2.2.0", "tensorflow", "10.1"), ("1.15.0", "tensorflow", "10.0"), ("2.0.0", "tensorflow-gpu", "10.0")],
)
def test_build_info_says_cuda_10_and_the_soname_has_the_minor(
    tables: Tables, version: str, package: str, cuda: str
) -> None:
    build = row(tables, version, package)
    assert build.data["build_info"]["cuda_version_number"] == "10"
    assert build.cuda == cuda
    assert f"libcudart.so.{cuda}" in build.libraries


@pytest.mark.parametrize("version", ["1.5.0", "1.10.1", "1.12.0"])
def test_wheels_do_not_state_the_minor_version_of_cudnn_7(tables: Tables, version: str) -> None:
    assert row(tables, version, "tensorflow-gpu").cudnn == "7"


@pytest.mark.parametrize(
    ("version", "gone"),
    [
        ("2.5.3", "3.6"),
        ("2.6.3", "3.6"),
        ("2.11.1", "3.7"),
        ("2.1.3", "3.5"),
        ("2.2.2", "3.5"),
        ("2.3.2", "3.5"),
    ],
)
def test_patch_release_dropped_a_python_that_the_page_still_names(
    tables: Tables, version: str, gone: str
) -> None:
    assert gone not in row(tables, version).pythons
    assert gone in row(tables, version.rsplit(".", 1)[0] + ".0").pythons


def test_1_12_2_and_1_12_3_have_code_only_for_3_7(tables: Tables) -> None:
    for version in ("1.12.2", "1.12.3"):
        kernels = row(tables, version, "tensorflow-gpu").compute_capabilities
        assert kernels is not None
        assert kernels.compiled == ("3.7",)


def test_2_16_2_fixed_the_runpath_of_2_16_1(tables: Tables) -> None:
    assert row(tables, "2.16.1").pip_libraries_missed
    assert row(tables, "2.16.2").pip_libraries_missed == ()


@pytest.mark.parametrize("version", ["2.20.0", "2.21.0"])
def test_cudnn_9_3_on_the_page_is_only_the_lower_bound(tables: Tables, version: str) -> None:
    chosen = pip_cudnn(row(tables, version), tables)
    assert chosen is not None
    assert dotted(chosen.version) > (9, 11)


@pytest.mark.parametrize(
    ("version", "lowest"),
    [
        ("2.3.0", "3.5"),
        ("2.4.0", "3.5"),
        ("2.14.1", "3.5"),
        ("2.15.0", "5.0"),
        ("2.16.2", "5.0"),
        ("2.17.0", "6.0"),
        ("2.21.0", "6.0"),
    ],
)
def test_page_says_3_5_to_8_0_for_every_release(tables: Tables, version: str, lowest: str) -> None:
    kernels = row(tables, version).compute_capabilities
    assert kernels is not None
    assert kernels.lowest == lowest


def test_page_says_cuda_12_3_cudnn_8_9_python_3_9_for_2_21(tables: Tables) -> None:
    build = row(tables, "2.21.0")
    assert (build.cuda, build.cudnn) == ("12.5", "9")
    assert build.pythons == ("3.10", "3.11", "3.12", "3.13")


def test_page_says_ubuntu_16_04_but_2_21_needs_glibc_2_27(tables: Tables) -> None:
    assert row(tables, "2.21.0").glibc == "2.27"


def test_page_says_ptx_only_for_the_latest_architecture(tables: Tables) -> None:
    old, sm90a = row(tables, "2.2.0").compute_capabilities, row(tables, "2.18.0").compute_capabilities
    assert old is not None
    assert sm90a is not None
    assert old.ptx == old.compiled == ("3.5", "3.7", "5.2", "6.0", "6.1", "7.0")
    assert "9.0a" in sm90a.ptx


def test_page_says_that_aarch64_and_windows_install_another_package(tables: Tables) -> None:
    assert any(
        r.startswith("tensorflow-cpu-aws") for r in row(tables, "2.15.0", platform="linux-aarch64").requires
    )
    assert not any(
        r.startswith("tensorflow-cpu-aws") for r in row(tables, "2.16.1", platform="linux-aarch64").requires
    )
    assert any(
        r.startswith("tensorflow-intel") for r in row(tables, "2.18.0", platform="windows-amd64").requires
    )
    assert not any(
        r.startswith("tensorflow-intel") for r in row(tables, "2.18.1", platform="windows-amd64").requires
    )
