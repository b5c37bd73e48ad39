"""Tests the code that reads the sources of the tables about NVIDIA's products: pci.ids, the file lists in
wheels, and the fatbins in cuDNN."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from doctor.tables.reading import frameworks, nvidia
from doctor.tables.reading.cache import Cache
from doctor.tables.reading.registry import IndexFile
from doctor.tables.reading.remote import Remote
from doctor.tables.versions import capability_order
from scripts import pciids
from tests.conftest import BUNDLED

PCI_IDS = """\
#
#	Version: 2026.10.24
#
1022  Advanced Micro Devices
	13f2  Not one of ours
10de  NVIDIA Corporation
	0f02  GF108 [GeForce GT 730]
	13f2  GM204GL [Tesla M60]
		10de 115e  Tesla M60 board
	10f9  TU106 High Definition Audio Controller
	1af1  GA100 [A100 NVSwitch]
	2484  GA104 [GeForce RTX 3070]
	249c  GA104M [GeForce RTX 3080 Mobile / Max-Q 8GB/16GB]
	2920  GB100 [TS4 / B100]
	25e5  GA107BM [GeForce RTX 3050 Mobile]
	1c00  GP106
	9999  GZ999 [GeForce of the future]
	0020  NV4 [Riva TNT]
	2a11  GB120 [Another]
10df  Emulex Corporation
	2684  AD102 [Not one of ours either]
"""
CHIPS = {"GF108": "2.1", "GM204": "5.2", "GA104": "8.6", "GB100": "10.0", "GA107": "8.6", "GP106": "6.1"}


def test_nvidia_devices_with_a_known_chip_become_rows() -> None:
    rows, unknown = pciids.gpus(PCI_IDS, CHIPS)
    assert {row["pci_id"]: row["capability"] for row in rows} == {
        "10de:0f02": "2.1", "10de:13f2": "5.2", "10de:2484": "8.6", "10de:249c": "8.6", "10de:2920": "10.0",
        "10de:25e5": "8.6", "10de:1c00": "6.1",
    }  # fmt: skip
    assert unknown == ["GB120 [Another]"]
    assert {row["source"] for row in rows} == {"pci.ids 2026.10.24, chips.json"}


def test_suffix_of_the_chip_identifies_laptops() -> None:
    kinds = {row["pci_id"]: row["kind"] for row in pciids.gpus(PCI_IDS, CHIPS)[0]}
    assert kinds["10de:249c"] == kinds["10de:25e5"] == "laptop"
    assert kinds["10de:2484"] == "desktop"
    assert kinds["10de:13f2"] == "workstation"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("TS4 / B100", ["TS4", "B100"]),
        ("GeForce RTX 3080 Mobile / Max-Q 8GB/16GB", ["GeForce RTX 3080 Mobile", "GeForce RTX 3080 Max-Q"]),
        ("GeForce RTX 5080 Max-Q / Mobile", ["GeForce RTX 5080 Max-Q", "GeForce RTX 5080 Mobile"]),
        ("Tesla T4", ["Tesla T4"]),
    ],
)
def test_device_with_two_names_gets_both(text: str, names: list[str]) -> None:
    assert pciids.alternatives(text) == names


def test_empty_pci_ids_gives_no_rows() -> None:
    assert pciids.gpus("", CHIPS) == ([], [])


def files(*names: str, yanked: str | None = None) -> list[IndexFile]:
    return [IndexFile(name, f"file:///{name}", "0" * 64, yanked=yanked) for name in names]


def test_one_linux_x86_64_wheel_is_chosen_for_each_release() -> None:
    found = nvidia.linux_wheels(
        [
            *files("nvidia_cudnn_cu12-9.10.2.21-py3-none-manylinux_2_27_x86_64.whl"),
            *files("nvidia_cudnn_cu12-9.3.0.75-py3-none-manylinux2014_x86_64.whl"),
            *files("nvidia_cudnn_cu12-9.3.0.75-py3-none-manylinux2014_aarch64.whl"),
            *files("nvidia_cudnn_cu12-9.3.0.75-py3-none-win_amd64.whl"),
            *files("nvidia_cudnn_cu12-9.4.0.0-py3-none-manylinux2014_x86_64.whl", yanked="broken"),
            *files(
                "nvidia_cudnn_cu12-9.9.0rc1-py3-none-manylinux2014_x86_64.whl", "nvidia_cudnn_cu12-9.0.tar.gz"
            ),
        ]
    )
    assert [file.filename.split("-")[1] for file in found] == ["9.3.0.75", "9.10.2.21"]


def fatbin(*entries: tuple[int, int, bytes]) -> bytes:
    """Return a fatbin with entries (kind, ten times the capability, payload)."""
    body = b""
    for kind, arch, payload in entries:
        payload += b"\0" * (-len(payload) % 8)
        head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload), 0, 0, 5, 8, arch, 0, 0, 0, 0, 0)
        body += head.ljust(64, b"\0") + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def cubin(arch: int, abi: int, accelerators: bool) -> bytes:
    """Return the ELF header of a cubin. The architecture and the flag for the suffix "a" are in e_flags, at
    the place that depends on the ELF ABI version."""
    flags = arch << 8 | (0x8 if accelerators else 0) if abi == 8 else arch | (0x800 if accelerators else 0)
    return b"\x7fELF\x02\x01\x01\x33" + bytes([abi]) + b"\0" * 39 + struct.pack("<I", flags) + b"\0" * 12


@pytest.fixture
def cudnn_wheel(tmp_path: Path) -> IndexFile:
    library = b"\x7fELF" + b"\0" * 100 + fatbin(
        (2, 75, cubin(75, 7, False)),
        (2, 90, cubin(90, 7, True)),
        (2, 120, cubin(120, 8, False)),
        (1, 120, b".version 8.8\n.target sm_120\n.address_size 64\n"),
    )  # fmt: skip
    path = tmp_path / "nvidia_cudnn_cu12-9.99.0.1-py3-none-manylinux_2_27_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("nvidia/cudnn/lib/libcudnn_ops.so.9", library)
        archive.writestr("nvidia/cudnn/lib/libcudnn.so.9", b"\x7fELF")
        archive.writestr("nvidia/cudnn/include/cudnn.h", b"")
        archive.writestr(
            "nvidia_cudnn_cu12-9.99.0.1.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: nvidia-cudnn-cu12\nVersion: 9.99.0.1\nRequires-Dist:"
            " nvidia-cublas-cu12\n",
        )
    return IndexFile(path.name, path.as_uri(), hashlib.sha256(path.read_bytes()).hexdigest())


def test_row_of_a_wheel_has_its_libraries_and_their_folder(cudnn_wheel: IndexFile, tmp_path: Path) -> None:
    row = nvidia.read_wheel("nvidia-cudnn-cu12", cudnn_wheel, Remote(lambda: None), Cache(tmp_path / "cache"))
    assert (row["folder"], row["libraries"]) == ("nvidia/cudnn/lib", ["libcudnn.so.9", "libcudnn_ops.so.9"])
    assert row["requires"] == ["nvidia-cublas-cu12"]
    assert row["source"] == cudnn_wheel.filename


def test_cudnn_row_has_the_gpus_for_which_libcudnn_ops_has_code(
    cudnn_wheel: IndexFile, tmp_path: Path
) -> None:
    settings: Any = nvidia.PipSettings(())
    row = nvidia.read_cudnn("nvidia-cudnn-cu12", cudnn_wheel, settings, Cache(tmp_path / "cache"))
    assert row["capabilities"] == [
        "7.5",
        "9.0a",
        "12.0",
    ], "12.0 is not 12.0a: its ELF ABI has the flag in another place"
    assert (row["ptx"], row["ptx_isa"], row["lowest"]) == (["12.0"], {"12.0": ["8.8"]}, "7.5")
    assert (row["version"], row["cuda"]) == ("9.99.0.1", ["12"])


def test_capabilities_are_sorted_as_numbers() -> None:
    targets = ["12.0", "9.0a", "9.0", "10.0", "7.5"]
    assert sorted(targets, key=capability_order) == ["7.5", "9.0", "9.0a", "10.0", "12.0"]


def test_script_builds_the_bundled_gpu_table_again(tmp_path: Path) -> None:
    """From a pci.ids file with three devices, the script makes the same rows for these devices as in the
    bundled table."""
    script = BUNDLED.parent / "scripts" / "build_nvidia_tables.py"
    code = (
        "import runpy, sys, pathlib\n"
        f"sys.argv = ['x', '--date', '2026-01-02', 'gpus', {str(tmp_path / 'pci.ids')!r}]\n"
        f"m = runpy.run_path({str(script)!r})\n"
        f"m['main'].__globals__['TABLES'] = pathlib.Path({str(tmp_path)!r})\n"
        "sys.exit(m['main']())\n"
    )
    for name in ("chips.json", "gpus.json"):  # the memory of the rows is kept
        (tmp_path / name).write_text((BUNDLED / name).read_text())
    (tmp_path / "pci.ids").write_text(PCI_IDS)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    made = {row["pci_id"]: row for row in json.loads((tmp_path / "gpus.json").read_text())["rows"]}
    bundled = {row["pci_id"]: row for row in json.loads((BUNDLED / "gpus.json").read_text())["rows"]}
    for pci_id in ("10de:0f02", "10de:13f2", "10de:2484"):
        assert made[pci_id] == bundled[pci_id]


def test_newer_kind_of_facts_replaces_the_older_cache_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put("a" * 64, "texts-1", {"read": 1})
    cache.put("b" * 64, "texts-1", {"read": 1})
    cache.put("a" * 64, "dlls-1", {})
    cache.put("a" * 64, "texts-2", {"read": 2})
    assert cache.get("a" * 64, "texts-1") is None
    assert cache.get("a" * 64, "texts-2") == {"read": 2}
    assert sorted(p.name[0] + p.name[64:] for p in cache.folder.iterdir()) == [
        "a.dlls-1.json",
        "a.texts-2.json",
        "b.texts-1.json",
    ]


METADATA = """\
Metadata-Version: 2.1
Name: framework
Requires-Python: >=3.9
Requires-Dist: nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: nvidia-cudnn-cu11==8.5.0; platform_system == "Windows"
Requires-Dist: numpy>=1.26; python_version >= "3.12" and sys_platform == "linux"
Requires-Dist: plugin[with_cuda]<=0.5,>=0.5; extra == "cuda12_pip"
Requires-Dist: nvidia-nccl-cu12>=2.18; (sys_platform == "linux") and extra == "cuda12_pip"
Requires-Dist: pytest; extra == "test"
Requires-Dist: this is no requirement
"""


def test_framework_row_has_only_the_requirements_on_linux() -> None:
    assert frameworks.of_metadata(METADATA) == {
        "requires_python": ">=3.9",
        "requires": ["numpy>=1.26; python_version >= \"3.12\"", "nvidia-cudnn-cu12==9.1.0.70"],
        "extras": {"cuda12-pip": ["nvidia-nccl-cu12>=2.18", "plugin[with_cuda]<=0.5,>=0.5"]},
    }  # fmt: skip


def test_only_linux_wheels_of_final_framework_releases_are_read() -> None:
    def names(*files: str) -> dict[str, list[str]]:
        found = frameworks.releases([IndexFile(file, "", "") for file in files], "2.0")
        return {str(version): [file.filename for file in wheels] for version, wheels in found.items()}

    assert (
        names(
            "torch-1.13.0-cp310-cp310-manylinux1_x86_64.whl",
            "torch-2.1.0rc1-cp310-cp310-manylinux1_x86_64.whl",
            "torch-2.1.0-cp310-cp310-win_amd64.whl",
            "torch-2.1.0.tar.gz",
        )
        == {}
    )
    both = ("torch-2.1.0-cp310-cp310-manylinux1_x86_64.whl", "torch-2.1.0-cp39-cp39-manylinux1_x86_64.whl")
    assert names(*both, "torch-2.1.0-cp313-cp313t-manylinux1_x86_64.whl") == {"2.1.0": [both[1], both[0]]}
    assert names("jax-2.1.0-py3-none-any.whl") == {"2.1.0": ["jax-2.1.0-py3-none-any.whl"]}
