"""Tests the row that is made from the facts about one release: it is as precise as the evidence, but no more
precise."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.version import Version

from doctor.tables.reading.binaries import derive
from doctor.tables.reading.fatbin import Fatbins
from doctor.tables.reading.registry import IndexFile
from doctor.tables.reading.releases import Group, group_files
from doctor.tables.reading.rows import Row, build_row, carry_over, complete_windows
from doctor.tables.reading.wheeltexts import WheelTexts

LINUX, WINDOWS = "manylinux_2_17_x86_64", "win_amd64"
DEVICE_CODE = {
    "entries": 2,
    "compiled": {"8.0": 1},
    "ptx": {"8.0": {"8.1": 1}},
    "malformed": 0,
    "unreadable": 0,
}
TRY = "_ZN3tsl8internal9DsoLoader26MaybeTryDlopenGPULibrariesEv"


def group(version: str, tag: str = LINUX, package: str = "tensorflow") -> Group:
    name = f"{package.replace('-', '_')}-{version}-cp311-cp311-{tag}.whl"
    (only,) = group_files(package, [IndexFile(name, f"https://files.example/{name}", version.ljust(64, "0"))])
    return only


def texts(build_info: dict[str, Any] | None, extras: dict[str, dict[str, str]] | None = None) -> WheelTexts:
    return WheelTexts(
        1 << 20,
        "METADATA",
        "build_info.py" if build_info else None,
        None,
        None,
        [],
        extras or {},
        build_info,
        [],
        3,
    )


def linux_facts(
    *opened: str, needed: tuple[str, ...] = (), runpath: list[str] | None = None
) -> dict[str, Any]:
    member = {"needed": list(needed), "runpath": runpath, "glibc": "2.17", "fatbins": DEVICE_CODE}
    asked = {f"GetNumber{index}DsoHandleEv": [name] for index, name in enumerate(opened)}
    return {
        "members": {"tensorflow/libtensorflow_framework.so.2": member},
        "opened": {**asked, TRY: list(opened)},
        "opened_from": "tensorflow/libtensorflow_framework.so.2",
    }


def windows_facts(*dlls: str) -> dict[str, Any]:
    member = {"dlls": list(dlls), "fatbins": DEVICE_CODE}
    return {"members": {"tensorflow/python/internal.pyd": member}, "opened": None, "opened_from": None}


@pytest.mark.parametrize(
    ("soname", "build_info", "pins", "cuda"),
    [
        ("libcudart.so.10.1", {"cuda_version_number": "10"}, {}, "10.1"),
        ("libcudart.so.10.0", {"cuda_version_number": "10"}, {}, "10.0"),
        ("libcudart.so.11.0", {"cuda_version": "11.2"}, {}, "11.2"),
        ("libcudart.so.12", {"cuda_version": "12.5.1"}, {}, "12.5"),
        ("libcudart.so.12", {}, {"nvidia-cuda-runtime-cu12": "==12.3.101"}, "12.3"),
        ("libcudart.so.12", {}, {"nvidia-cuda-runtime-cu12": "<13.0,>=12.5.82"}, "12"),
        ("libcudart.so.12", {"cuda_version": "11.8"}, {}, "12"),
    ],
)
def test_the_name_decides_the_major_and_build_info_or_a_pin_adds_the_minor(
    soname: str, build_info: dict[str, Any], pins: dict[str, str], cuda: str
) -> None:
    binary = derive(linux_facts(soname, "libcudnn.so.9"), "linux-x86_64")
    row = build_row(
        group("9.0.0"), texts({"is_cuda_build": True, **build_info}, {"and-cuda": pins}), binary, {}
    )
    assert row["cuda"] == cuda
    assert row["evidence"]["cuda"]


def test_a_name_without_a_number_shows_no_cudnn_version() -> None:
    binary = derive(linux_facts("libcudnn.so", needed=("libcudart.so.8.0",)), "linux-x86_64")
    row = build_row(group("0.12.0", package="tensorflow-gpu"), texts(None), binary, {})
    assert (row["gpu"], row["cuda"], row["cudnn"]) == (True, "8.0", None)


def test_a_build_without_device_code_is_a_cpu_build_whatever_its_loader_could_open() -> None:
    facts = linux_facts("libcudart.so", "libcudnn.so")
    facts["members"]["tensorflow/libtensorflow_framework.so.2"]["fatbins"] = Fatbins().to_json()
    row = build_row(group("2.0.0"), texts({"is_cuda_build": False}), derive(facts, "linux-x86_64"), {})
    assert (row["gpu"], row["cuda"], row["libraries"], row["libraries_required"]) == (False, None, [], None)


def test_libraries_of_other_vendors_and_fallback_names_are_left_out() -> None:
    facts = linux_facts("libcudnn.so.9", "librocblas.so", "libhdfs.so")
    facts["opened"]["GetCuptiDsoHandleEv"] = ["libcupti.so.12", "libcupti.so"]
    assert derive(facts, "linux-x86_64")["libraries"] == ["libcudnn.so.9", "libcupti.so.12"]


def test_imported_libraries_are_required() -> None:
    needed = ("libcuda.so.1", "libcudart.so.9.0", "libcudnn.so.7", "libc.so.6")
    facts = linux_facts(needed=needed)
    facts["opened"] = {"GetLibcuptiDsoHandleEv": ["libcupti.so.9.0"]}
    derived = derive(facts, "linux-x86_64")
    assert derived["libraries"] == ["libcuda.so.1", "libcudart.so.9.0", "libcudnn.so.7", "libcupti.so.9.0"]
    assert derived["libraries_required"] == ["libcuda.so.1", "libcudart.so.9.0", "libcudnn.so.7"]


def test_the_runpath_decides_which_of_pips_libraries_are_missed() -> None:
    runpath = ["$ORIGIN/", "$ORIGIN/../nvidia/cublas/lib", "$ORIGIN/../../nvidia/cusolver/lib"]
    facts = linux_facts(
        "libcublas.so.12", "libcublasLt.so.12", "libcusolver.so.11", "libcudnn.so.9", runpath=runpath
    )
    binary = derive(facts, "linux-x86_64")
    row = build_row(group("9.0.0"), texts({"is_cuda_build": True}, {"and-cuda": {}}), binary, {})
    assert row["pip_libraries_found"] == ["libcublas.so.12", "libcublasLt.so.12"]
    assert row["pip_libraries_missed"] == ["libcudnn.so.9", "libcusolver.so.11"]
    without = build_row(group("9.0.0"), texts({"is_cuda_build": True}), binary, {})
    assert without["pip_libraries_missed"] is None


def test_glibc_by_python_is_set_only_if_pythons_differ() -> None:
    binary = derive(linux_facts("libcudnn.so.7"), "linux-x86_64")
    same = build_row(group("9.0.0"), texts({}), binary, {"3.6": "2.17", "3.7": "2.17"})
    other = build_row(group("9.0.0"), texts({}), binary, {"3.6": "2.17", "3.7": "2.23"})
    assert same["glibc_by_python"] is None
    assert other["glibc_by_python"] == {"3.6": "2.17", "3.7": "2.23"}


def test_a_windows_build_that_imports_cuda_also_needs_what_self_check_opens() -> None:
    info = {"is_cuda_build": True, "cudart_dll_name": "cudart64_80.dll", "nvcuda_dll_name": "nvcuda.dll",
            "cudnn_dll_name": "cudnn64_6.dll", "msvcp_dll_name": "msvcp140.dll"}  # fmt: skip
    binary = derive(windows_facts("cublas64_80.dll", "cudnn64_6.dll", "vcruntime140.dll"), "windows-amd64")
    row = build_row(group("1.4.0", WINDOWS, "tensorflow-gpu"), texts(info), binary, None)
    assert row["libraries_required"] == ["cublas64_80.dll", "cudart64_80.dll", "cudnn64_6.dll", "nvcuda.dll"]
    assert (row["cuda"], row["cudnn"]) == ("8.0", "6")
    assert row["msvc"] == ["msvcp140.dll", "vcruntime140.dll"]


def windows_row(dlls: dict[str, list[str]] | None) -> Row:
    info = {"is_cuda_build": True, "cuda_version": "64_112", "cudnn_version": "64_8",
            "cudart_dll_name": "cudart64_112.dll", "cudnn_dll_name": "cudnn64_8.dll"}  # fmt: skip
    binary = derive(windows_facts("msvcp140.dll"), "windows-amd64", dlls)
    return build_row(group("2.10.1", WINDOWS), texts(info), binary, None)


def test_for_a_windows_build_that_imports_no_cuda_its_code_counts_not_build_info() -> None:
    row = windows_row({"names": ["cudart64_110.dll", "cudnn64_8.dll", "nvcuda.dll"], "versions": []})
    assert row["libraries"] == ["cudart64_110.dll", "cudnn64_8.dll", "nvcuda.dll"]
    assert (row["cuda"], row["cudnn"]) == ("11.2", "8")
    assert windows_row({"names": ["nvcuda.dll"], "versions": []})["libraries"] is None
    assert windows_row(None)["libraries"] is None


def test_two_version_constants_show_cuda_and_cudnn_if_nothing_else_does() -> None:
    binary = derive(
        windows_facts("msvcp140.dll"), "windows-amd64", {"names": [], "versions": ["64_5", "64_80"]}
    )
    row = build_row(group("1.0.0", WINDOWS, "tensorflow-gpu"), texts(None), binary, None)
    assert (row["cuda"], row["cudnn"], row["libraries"]) == ("8.0", "5", None)


def test_a_windows_device_needs_the_libraries_of_linux_under_windows_names() -> None:
    linux = build_row(
        group("2.10.1"),
        texts({}),
        derive(linux_facts("libcudart.so.11.0", "libcudnn.so.8"), "linux-x86_64"),
        {},
    )
    row = windows_row({"names": ["cudart64_110.dll", "cudnn64_8.dll", "cupti64_112.dll"], "versions": []})
    complete_windows([linux, row])
    assert row["libraries_required"] == ["cudart64_110.dll", "cudnn64_8.dll"]
    alone = windows_row({"names": ["cudart64_110.dll", "cudnn64_8.dll"], "versions": []})
    complete_windows([alone])
    assert alone["libraries_required"] is None


def test_a_row_from_texts_keeps_the_libraries_only_of_the_same_wheel() -> None:
    binary = derive(linux_facts("libcudart.so.12", "libcudnn.so.9"), "linux-x86_64")
    full = build_row(group("9.0.0"), texts({"is_cuda_build": True}), binary, {})
    plain = build_row(group("9.0.0"), texts({"is_cuda_build": True}), None, None)
    carry_over(plain, full)
    assert plain == full
    other = build_row(group("9.0.1"), texts({"is_cuda_build": True}), None, None)
    carry_over(other, full)
    assert other["libraries"] is None


def test_a_release_without_a_wheel_is_read_from_its_archive() -> None:
    name = "tensorflow-gpu-2.12.0.tar.gz"
    removed = Group(
        "tensorflow-gpu", Version("2.12.0"), "any", (), IndexFile(name, f"https://files.example/{name}", "")
    )
    wheel = WheelTexts(
        2646, "PKG-INFO", None, 'Removed: please install "tensorflow" instead.', None, [], {}, None, [], 0
    )
    row = build_row(removed, wheel, None, None)
    assert (row["platform"], row["gpu"], row["pythons"], row["wheels"]) == ("any", False, [], None)
    assert row["summary"] == 'Removed: please install "tensorflow" instead.'
    assert row["source"]["members"] == ["PKG-INFO"]
