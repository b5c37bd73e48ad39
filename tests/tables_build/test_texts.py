"""Tests reading a wheel's file name, METADATA and build_info.py, in every form that they have had."""

from __future__ import annotations

import pytest
from packaging.version import Version

from doctor.tables.own_builds import number
from doctor.tables.reading.metadata import parse_build_info, parse_metadata
from doctor.tables.reading.registry import IndexFile
from doctor.tables.reading.releases import group_files
from doctor.tables.reading.wheelnames import parse_wheel_name
from tests.sampling import each


@pytest.mark.parametrize(
    ("filename", "python", "platform", "glibc"),
    [
        ("tensorflow_gpu-1.14.0-cp27-cp27mu-manylinux1_x86_64.whl", "2.7", "linux-x86_64", "2.5"),
        ("tensorflow-2.3.0-cp38-cp38-manylinux2010_x86_64.whl", "3.8", "linux-x86_64", "2.12"),
        (
            "tensorflow-2.15.1-cp310-cp310-manylinux_2_17_aarch64.manylinux2014_aarch64.whl",
            "3.10",
            "linux-aarch64",
            "2.17",
        ),
        ("tensorflow-2.21.0-cp313-cp313-manylinux_2_27_x86_64.whl", "3.13", "linux-x86_64", "2.27"),
        ("tensorflow-2.10.1-cp310-cp310-win_amd64.whl", "3.10", "windows-amd64", None),
        ("tensorflow-2.16.2-cp312-cp312-macosx_12_0_arm64.whl", "3.12", "macos-arm64", None),
        ("tensorflow-1.5.0-cp35-cp35m-macosx_10_6_intel.whl", "3.5", "macos-x86_64", None),
    ],
)
def test_a_wheel_name_gives_python_platform_and_claimed_glibc(
    filename: str, python: str, platform: str, glibc: str | None
) -> None:
    name = parse_wheel_name(filename)
    assert name is not None
    assert (name.python, name.platform, name.glibc) == (python, platform, glibc)


def test_build_info_of_every_age_is_read_without_running_it() -> None:
    assert parse_build_info("is_cuda_build = True\n\ncuda_version_number = '10'\n") == {
        "is_cuda_build": True,
        "cuda_version_number": "10",
    }
    text = (
        "import collections\nbuild_info = collections.OrderedDict([('cuda_version', '12.5.1'),"
        " ('is_cuda_build', True)])"
    )
    assert parse_build_info(text) == {"cuda_version": "12.5.1", "is_cuda_build": True}
    assert parse_build_info("build_info = {'cuda_version': '10.1'}") == {"cuda_version": "10.1"}
    assert parse_build_info("raise SystemExit(open('/etc/passwd').read())\nx = 1") == {"x": 1}
    with pytest.raises(ValueError, match="cannot be parsed"):
        parse_build_info("def (")


@each(
    "written, meant",
    [
        ("10.1", "10.1"),
        ("64_101", "10.1"),
        ("64_110", "11.0"),
        ("64_80", "8.0"),
        ("64_7", "7"),
        ("12.5.1", "12.5.1"),
        ("", None),
        (None, None),
        ("nonsense", None),
    ],
)
def test_a_version_in_build_info_is_read_in_both_spellings(written: str | None, meant: str | None) -> None:
    assert number(written) == meant


def test_requirements_are_distinguished_from_extras() -> None:
    metadata = parse_metadata(
        "Metadata-Version: 2.1\nName: tensorflow\nSummary: It is.\nRequires-Python: >=3.9\nRequires-Dist:"
        " numpy <2.0,>=1.23.5\nRequires-Dist: tensorflow-intel (==2.11.0) ; platform_system =="
        " \"Windows\"\nRequires-Dist: nvidia-cudnn-cu12 ==8.9.4.25 ; extra == 'and-cuda'\nRequires-Dist:"
        " nvidia_nccl_cu12 >=2.16 ; (platform_system == 'Linux') and extra == 'and-cuda'\n\nText\n"
    )
    assert metadata.requires == (
        "numpy<2.0,>=1.23.5",
        'tensorflow-intel==2.11.0; platform_system == "Windows"',
    )
    assert metadata.extras == {
        "and-cuda": {
            "nvidia-cudnn-cu12": "==8.9.4.25",
            "nvidia-nccl-cu12": '>=2.16; platform_system == "Linux"',
        }
    }
    assert (metadata.summary, metadata.requires_python) == ("It is.", ">=3.9")


def listed(*names: str) -> list[IndexFile]:
    return [IndexFile(name, f"https://files.example/{name}", "0" * 64) for name in names]


def test_releases_are_grouped_by_platform_with_the_newest_python_last() -> None:
    groups = group_files(
        "tensorflow",
        listed(
            "tensorflow-2.15.0-cp39-cp39-win_amd64.whl",
            "tensorflow-2.15.0-cp310-cp310-win_amd64.whl",
            "tensorflow-2.15.0.post1-cp39-cp39-manylinux2014_x86_64.whl",
            "tensorflow-2.9.0-cp39-cp39-win_amd64.whl",
            "tensorflow-2.16.0rc0-cp39-cp39-win_amd64.whl",
            "tensorflow-0.11.0-cp35-cp35m-win_amd64.whl",
            "tensorflow-2.15.0.tar.gz",
        ),
    )
    assert [(group.version, group.platform) for group in groups] == [
        (Version("2.9.0"), "windows-amd64"),
        (Version("2.15.0"), "windows-amd64"),
        (Version("2.15.0.post1"), "linux-x86_64"),
    ]
    assert groups[1].newest.filename == "tensorflow-2.15.0-cp310-cp310-win_amd64.whl"


def test_a_release_with_only_a_source_archive_is_a_separate_group() -> None:
    (group,) = group_files("tensorflow-gpu", listed("tensorflow-gpu-2.12.0.tar.gz"))
    assert (group.platform, group.newest.filename) == ("any", "tensorflow-gpu-2.12.0.tar.gz")


def test_pre_releases_are_listed_only_on_request() -> None:
    files = listed("tensorflow-2.22.0rc0-cp314-cp314-win_amd64.whl")
    assert group_files("tensorflow", files) == []
    assert [str(group.version) for group in group_files("tensorflow", files, pre=True)] == ["2.22.0rc0"]
