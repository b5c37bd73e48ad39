"""Makes the rows of compat_tables/tensorflow.json, with their evidence, from the text files and binaries in
the wheels of a release.

If no fact gives the value of a key, the value is None (null).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from doctor.backports import removeprefix
from doctor.tables.own_builds import number
from doctor.tables.reading.builtwith import cuda_of_name, cudnn_of_name, exact_pin, one_version, refine
from doctor.tables.reading.releases import Group
from doctor.tables.reading.wheeltexts import WheelTexts
from doctor.tables.versions import capability_order, dotted

if TYPE_CHECKING:
    from typing import TypeAlias

Row: TypeAlias = "dict[str, Any]"
Binary: TypeAlias = "dict[str, Any] | None"
"""The result of binaries.derive, or None if the libraries were not read."""

KEYS = (
    "gpu",
    "cuda",
    "cudnn",
    "pythons",
    "glibc",
    "glibc_by_python",
    "compute_capabilities",
    "libraries",
    "libraries_required",
    "runpath",
    "pip_libraries_found",
    "pip_libraries_missed",
    "requires_python",
    "requires",
    "extras",
    "wheels",
    "size_mib",
    "msvc",
    "build_info",
    "yanked",
    "summary",
    "evidence",
    "source",
)
"""The keys of a row, in this order after package, version and platform."""
OF_METADATA = (
    "pythons",
    "wheels",
    "requires_python",
    "requires",
    "extras",
    "build_info",
    "summary",
    "size_mib",
    "yanked",
)
"""The keys whose values come from the index and the metadata alone. For the other keys, a run that reads the
libraries may find more."""

# The folder of each library in NVIDIA's wheels for CUDA 11 and 12: site-packages/nvidia/<folder>/lib (from
# the RECORD files of nvidia-cuda-runtime-cu12, nvidia-cublas-cu12, nvidia-cudnn-cu12, ... and of the cu11
# wheels).
PIP_FOLDERS = {
    "libcudart": "cuda_runtime",
    "libcublas": "cublas",
    "libcublasLt": "cublas",
    "libcudnn": "cudnn",
    "libcufft": "cufft",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparse": "cusparse",
    "libcupti": "cuda_cupti",
    "libnvrtc": "cuda_nvrtc",
    "libnvJitLink": "nvjitlink",
    "libnccl": "nccl",
    "libnvshmem_host": "nvshmem",
}


def build_row(
    group: Group,
    texts: WheelTexts | None,
    binary: dict[str, Any] | None,
    glibc_by_python: dict[str, str] | None,
) -> Row:
    """Return the table row for one release on one platform. `texts` is None for a source archive that was not
    read. `binary` is the result of binaries.derive, None if only metadata was read. `glibc_by_python` is the
    glibc that the libraries for each Python need, if they were read."""
    row: Row = {"package": group.package, "version": str(group.version), "platform": group.platform}
    for key in KEYS:
        row[key] = None
    row["pythons"] = list(dict.fromkeys(name.python for name, _ in group.wheels))
    row["wheels"] = _wheels(group)
    row["yanked"] = _yanked(group)
    row["requires_python"] = group.newest.requires_python
    row["evidence"] = {}
    members: list[str] = []
    row["source"] = {"file": group.newest.filename, "sha256": group.newest.sha256, "members": members}
    if group.sdist is not None:
        _set(row, "gpu", False, "the release has no wheel")
    if texts is None:
        return row
    if group.sdist is not None:
        row["summary"] = texts.summary
    members += [texts.metadata_member, *([texts.build_info_member] if texts.build_info_member else [])]
    members += binary["members"] if binary else []
    row["requires_python"] = texts.requires_python or group.newest.requires_python
    row["requires"], row["extras"] = texts.requires, texts.extras
    row["size_mib"] = round(texts.size / 2**20, 1)
    row["build_info"] = texts.build_info
    if group.sdist is not None:
        return row
    _fill_gpu(row, texts, binary)
    _fill_glibc(row, group, binary, glibc_by_python)
    _fill_libraries(row, texts, binary)
    _fill_capabilities(row, texts, binary)
    _fill_versions(row, texts, binary)
    _fill_msvc(row, texts, binary)
    _fill_runpath(row, binary)
    return row


def _set(row: Row, key: str, value: Any, evidence: str) -> None:
    row[key], row["evidence"][key] = value, evidence


def _wheels(group: Group) -> dict[str, dict[str, str]] | None:
    # if one Python has several files (two macOS tags), the last one counts
    wheels = {name.python: {"file": file.filename, "sha256": file.sha256} for name, file in group.wheels}
    return wheels or None


def _yanked(group: Group) -> str | bool | None:
    files = [file for _, file in group.wheels] or [group.newest]
    if all(file.yanked is not None for file in files):
        return files[-1].yanked or True
    return None


def _fill_gpu(row: Row, texts: WheelTexts, binary: Binary) -> None:
    info = texts.build_info or {}
    if binary and (binary["fatbins"]["entries"] or binary["imported"]):
        _set(row, "gpu", True, f"{binary['kernels_in']}: device code")
    elif binary and texts.core:
        _set(row, "gpu", False, f"{binary['members'][-1]}: no device code, no CUDA library asked for")
    elif "is_cuda_build" in info:
        _set(row, "gpu", bool(info["is_cuda_build"]), f"{texts.build_info_member}: is_cuda_build")
    elif not texts.shared_objects:
        _set(row, "gpu", False, "the wheel contains no library")
    else:
        _set(row, "gpu", row["package"] == "tensorflow-gpu", "the distribution's name")


def _fill_glibc(row: Row, group: Group, binary: Binary, by_python: dict[str, str] | None) -> None:
    if not group.platform.startswith("linux"):
        return
    if binary and binary["glibc"]:
        _set(row, "glibc", binary["glibc"], f"{binary['glibc_from']}: version needs (.gnu.version_r)")
    elif claimed := group.wheels[-1][0].glibc:
        _set(row, "glibc", claimed, "the wheel's platform tag (a claim)")
    if by_python and len(set(by_python.values())) > 1:
        _set(row, "glibc_by_python", by_python, "version names in each Python's libraries (.dynstr)")


def _fill_libraries(row: Row, texts: WheelTexts, binary: Binary) -> None:
    if not binary:
        return
    libraries, required = binary["libraries"], binary["libraries_required"]
    source, required_source = binary["libraries_from"], binary["libraries_required_from"]
    info = texts.build_info or {}
    if row["platform"] == "windows-amd64" and binary["imported"] and "cudart_dll_name" in info:
        # python/platform/self_check.py of 1.4 to 1.14 loads these three libraries before it imports the rest,
        # and raises if one is missing; that of 1.15, whose library imports no CUDA, no longer loads them
        keys = ("nvcuda_dll_name", "cudart_dll_name", "cudnn_dll_name")
        checked = {info[key] for key in keys if key in info}
        addition = f"; {texts.build_info_member}: *_dll_name, opened by self_check.py"
        libraries, source = sorted({*(libraries or ()), *checked}), source + addition
        required, required_source = sorted({*(required or ()), *checked}), required_source + addition
    if libraries is not None:
        _set(row, "libraries", libraries, source)
    if required is not None:
        _set(row, "libraries_required", required, required_source)


def _fill_capabilities(row: Row, texts: WheelTexts, binary: Binary) -> None:
    if not row["gpu"]:
        return
    if binary and binary["fatbins"]["entries"]:
        compiled, ptx = binary["fatbins"]["compiled"], binary["fatbins"]["ptx"]
        targets, ptx_targets = sorted(compiled, key=capability_order), sorted(ptx, key=capability_order)
        found = {
            "compiled": targets,
            "ptx": ptx_targets,
            "ptx_isa": {target: sorted(ptx[target], key=dotted) for target in ptx_targets},
            "counts": {
                "compiled": {target: compiled[target] for target in targets},
                "ptx": {target: sum(ptx[target].values()) for target in ptx_targets},
            },
        }
        _set(row, "compute_capabilities", found, f"{binary['kernels_in']}: fatbin entries")
    elif declared := (texts.build_info or {}).get("cuda_compute_capabilities"):
        # gen_build_info.py: "sm_XX" means only machine code, "compute_XX" machine code and PTX
        stated = [(kind, _dotted(arch)) for kind, _, arch in (entry.partition("_") for entry in declared)]
        found = {
            "compiled": [target for _, target in stated],
            "ptx": [target for kind, target in stated if kind == "compute"],
        }
        _set(row, "compute_capabilities", found, f"{texts.build_info_member}: cuda_compute_capabilities")


def _dotted(arch: str) -> str:
    return re.sub(r"^(\d+)(\d)(\D*)$", r"\1.\2\3", arch)


def _fill_versions(row: Row, texts: WheelTexts, binary: Binary) -> None:
    if not row["gpu"]:
        return
    info = texts.build_info or {}
    libraries = row["libraries"] or (binary["imported"] if binary else [])
    source = row["evidence"].get("libraries") or (binary["imported_by"] if binary else "")
    versions = binary["versions"] if binary else []
    constants = f"{binary['kernels_in']}: the loader's constants" if binary else ""
    build_info = texts.build_info_member or ""
    pins = row["extras"].get("and-cuda", {})
    cuda, where = refine([
        (cuda_of_name(libraries), source),
        (number(info.get("cuda_version") or info.get("cuda_version_number")), build_info),
        (exact_pin(pins, r"nvidia-cuda-runtime(-cu\d+)?"), f"{texts.metadata_member}: and-cuda"),
        (one_version(versions, r"64_\d\d+"), constants),
    ])  # fmt: skip
    if cuda:
        _set(row, "cuda", cuda, where)
    cudnns = [
        (cudnn_of_name(libraries), source),
        (number(info.get("cudnn_version") or info.get("cudnn_version_number")), build_info),
        (exact_pin(pins, r"nvidia-cudnn(-cu\d+)?"), f"{texts.metadata_member}: and-cuda"),
        (one_version(versions, r"64_\d"), constants),
    ]
    for cudnn, where in cudnns:
        if cudnn:
            _set(row, "cudnn", cudnn.partition(".")[0], where)
            break


def _fill_msvc(row: Row, texts: WheelTexts, binary: Binary) -> None:
    if row["platform"] != "windows-amd64":
        return
    info = texts.build_info or {}
    declared = info.get("msvcp_dll_names") or info.get("msvcp_dll_name")
    names = {*(binary["msvc"] if binary else []), *(declared.split(",") if declared else [])}
    sources = [f"{binary['kernels_in']}: import table"] if binary and binary["msvc"] else []
    if declared:  # self_check.py loads them before anything else, and raises if one is missing
        sources.append(f"{texts.build_info_member}: msvcp_dll_name(s)")
    if names:
        _set(row, "msvc", sorted(names), "; ".join(sources))


def _fill_runpath(row: Row, binary: Binary) -> None:
    if not binary or binary["runpath"] is None:
        return
    source = f"{binary['runpath_from']}: DT_RUNPATH or DT_RPATH"
    _set(row, "runpath", binary["runpath"], source)
    required = row["libraries_required"]
    if "and-cuda" not in row["extras"] or required is None:
        return
    entries = (re.fullmatch(r"\$ORIGIN/\.\./nvidia/(\w+)/lib/?", entry) for entry in row["runpath"])
    folders = {match[1] for match in entries if match}
    found = [name for name in required if PIP_FOLDERS.get(name.partition(".")[0]) in folders]
    source += f"; {row['evidence']['libraries_required']}"
    _set(row, "pip_libraries_found", found, source)
    _set(row, "pip_libraries_missed", [name for name in required if name not in found], source)


def complete_windows(rows: list[Row]) -> None:
    """Fill in the DLLs that a GPU device on Windows needs, if the wheel itself does not show them (1.15 to
    2.10). They are the same libraries that the Linux build of that release needs, under the names that the
    Windows build loads. Both builds use the same source (TryDlopenCUDALibraries in dso_loader.cc); only the
    names differ."""
    linux = {(row["package"], row["version"]): row for row in rows if row["platform"] == "linux-x86_64"}
    for row in rows:
        known = row["libraries_required"] is not None
        if row["platform"] != "windows-amd64" or not row["libraries"] or known:
            continue
        other = linux.get((row["package"], row["version"]), {}).get("libraries_required")
        if not other:
            continue
        by_stem = {name.partition("64_")[0]: name for name in row["libraries"]}
        stems = [removeprefix(name.partition(".so")[0], "lib") for name in other]
        if all(stem in by_stem for stem in stems):
            required = sorted(by_stem[stem] for stem in stems)
            source = f"{row['evidence']['libraries']}; the linux-x86_64 row's libraries_required"
            _set(row, "libraries_required", required, source)


def carry_over(row: Row, earlier: Row | None) -> None:
    """Copy the facts about libraries from an earlier row for the same wheel into a row that was made without
    reading the libraries."""
    if earlier is None or earlier["source"]["sha256"] != row["source"]["sha256"]:
        return
    if len(earlier["source"]["members"]) > len(row["source"]["members"]):
        row.update({key: earlier.get(key) for key in KEYS if key not in OF_METADATA})
