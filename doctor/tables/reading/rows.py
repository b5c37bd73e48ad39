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
from doctor.tables.versions import capability_order

if TYPE_CHECKING:
    from typing import TypeAlias

Row: TypeAlias = "dict[str, Any]"

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
    read. `binary` is the result of binaries.scan, None if only metadata was read. `glibc_by_python` is the
    glibc that the libraries for each Python need, if they were read."""
    evidence: dict[str, str] = {}
    row: Row = {"package": group.package, "version": str(group.version), "platform": group.platform}
    for key in KEYS:
        row[key] = None
    row["pythons"] = list(dict.fromkeys(name.python for name, _ in group.wheels))
    row["wheels"] = _wheels(group)
    row["yanked"] = _yanked(group)
    row["requires_python"] = group.newest.requires_python
    row["evidence"] = evidence
    members: list[str] = []
    row["source"] = {"file": group.newest.filename, "sha256": group.newest.sha256, "members": members}
    if group.sdist is not None:
        row["gpu"], evidence["gpu"] = False, "the release has no wheel"
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
    _fill_gpu(row, texts, binary, evidence)
    _fill_glibc(row, group, binary, glibc_by_python, evidence)
    _fill_libraries(row, texts, binary, evidence)
    _fill_capabilities(row, texts, binary, evidence)
    _fill_versions(row, texts, binary, evidence)
    _fill_msvc(row, texts, binary, evidence)
    _fill_runpath(row, binary, evidence)
    return row


def _wheels(group: Group) -> dict[str, dict[str, str]] | None:
    wheels: dict[str, dict[str, str]] = {}
    for name, file in group.wheels:
        # if one Python has several files (two macOS tags), the last one in the order of the index counts
        wheels[name.python] = {"file": file.filename, "sha256": file.sha256}
    return wheels or None


def _yanked(group: Group) -> str | bool | None:
    files = [file for _, file in group.wheels] or [group.newest]
    if all(file.yanked is not None for file in files):
        return files[-1].yanked or True
    return None


def _fill_gpu(row: Row, texts: WheelTexts, binary: dict[str, Any] | None, evidence: dict[str, str]) -> None:
    if binary and (binary["fatbins"]["entries"] or binary["imported"]):
        row["gpu"], evidence["gpu"] = True, f"{binary['kernels_in']}: device code"
    elif binary and texts.core:
        row["gpu"], evidence["gpu"] = (
            False,
            f"{binary['members'][-1]}: no device code, no CUDA library asked for",
        )
    elif texts.build_info and "is_cuda_build" in texts.build_info:
        row["gpu"] = bool(texts.build_info["is_cuda_build"])
        evidence["gpu"] = f"{texts.build_info_member}: is_cuda_build"
    elif not texts.shared_objects:
        row["gpu"], evidence["gpu"] = False, "the wheel contains no library"
    else:
        row["gpu"], evidence["gpu"] = row["package"] == "tensorflow-gpu", "the distribution's name"


def _fill_glibc(
    row: Row,
    group: Group,
    binary: dict[str, Any] | None,
    by_python: dict[str, str] | None,
    evidence: dict[str, str],
) -> None:
    if not group.platform.startswith("linux"):
        return
    if binary and binary["glibc"]:
        row["glibc"], evidence["glibc"] = (
            binary["glibc"],
            f"{binary['glibc_from']}: version needs (.gnu.version_r)",
        )
    elif claimed := group.wheels[-1][0].glibc:
        row["glibc"], evidence["glibc"] = claimed, "the wheel's platform tag (a claim)"
    if by_python and len(set(by_python.values())) > 1:
        row["glibc_by_python"] = by_python
        evidence["glibc_by_python"] = "version names in each Python's libraries (.dynstr)"


def _fill_libraries(
    row: Row, texts: WheelTexts, binary: dict[str, Any] | None, evidence: dict[str, str]
) -> None:
    if not binary:
        return
    libraries, required = binary["libraries"], binary["libraries_required"]
    source, required_source = binary["libraries_from"], binary["libraries_required_from"]
    info = texts.build_info or {}
    if row["platform"] == "windows-amd64" and binary["imported"] and "cudart_dll_name" in info:
        # python/platform/self_check.py of 1.4 to 1.14 loads these three libraries before it imports the rest,
        # and raises if one is missing; that of 1.15, whose library imports no CUDA, no longer loads them
        checked = {
            info[key] for key in ("nvcuda_dll_name", "cudart_dll_name", "cudnn_dll_name") if key in info
        }
        addition = f"; {texts.build_info_member}: *_dll_name, opened by self_check.py"
        libraries, source = sorted({*(libraries or ()), *checked}), source + addition
        required, required_source = sorted({*(required or ()), *checked}), required_source + addition
    if libraries is not None:
        row["libraries"], evidence["libraries"] = libraries, source
    if required is not None:
        row["libraries_required"], evidence["libraries_required"] = required, required_source


def _fill_capabilities(
    row: Row, texts: WheelTexts, binary: dict[str, Any] | None, evidence: dict[str, str]
) -> None:
    if not row["gpu"]:
        return
    if binary and binary["fatbins"]["entries"]:
        found = binary["fatbins"]
        row["compute_capabilities"] = {
            "compiled": sorted(found["compiled"], key=capability_order),
            "ptx": sorted(found["ptx"], key=capability_order),
            "ptx_isa": {
                target: sorted(found["ptx"][target], key=_numbers)
                for target in sorted(found["ptx"], key=capability_order)
            },
            "counts": {
                "compiled": _in_order(found["compiled"]),
                "ptx": _in_order(
                    {target: sum(versions.values()) for target, versions in found["ptx"].items()}
                ),
            },
        }
        evidence["compute_capabilities"] = f"{binary['kernels_in']}: fatbin entries"
        return
    declared = (texts.build_info or {}).get("cuda_compute_capabilities")
    if declared:
        # gen_build_info.py: "sm_XX" means only machine code, "compute_XX" machine code and PTX
        targets = [(kind, _dotted(arch)) for kind, _, arch in (entry.partition("_") for entry in declared)]
        row["compute_capabilities"] = {
            "compiled": [target for _, target in targets],
            "ptx": [target for kind, target in targets if kind == "compute"],
        }
        evidence["compute_capabilities"] = f"{texts.build_info_member}: cuda_compute_capabilities"


def _in_order(counts: dict[str, int]) -> dict[str, int]:
    return {target: counts[target] for target in sorted(counts, key=capability_order)}


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _dotted(arch: str) -> str:
    return re.sub(r"^(\d+)(\d)(\D*)$", r"\1.\2\3", arch)


def _fill_versions(
    row: Row, texts: WheelTexts, binary: dict[str, Any] | None, evidence: dict[str, str]
) -> None:
    if not row["gpu"]:
        return
    info = texts.build_info or {}
    libraries = row["libraries"] or (binary["imported"] if binary else [])
    source = evidence.get("libraries") or (binary["imported_by"] if binary else "")
    versions = binary["versions"] if binary else []
    constants = f"{binary['kernels_in']}: the loader's constants" if binary else ""
    build_info = texts.build_info_member or ""
    pins = row["extras"].get("and-cuda", {})
    candidates = [
        (cuda_of_name(libraries), source),
        (number(info.get("cuda_version") or info.get("cuda_version_number")), build_info),
        (exact_pin(pins, r"nvidia-cuda-runtime(-cu\d+)?"), f"{texts.metadata_member}: and-cuda"),
        (one_version(versions, r"64_\d\d+"), constants),
    ]
    row["cuda"], where = refine(candidates)
    if where:
        evidence["cuda"] = where
    cudnn_candidates = [
        (cudnn_of_name(libraries), source),
        (number(info.get("cudnn_version") or info.get("cudnn_version_number")), build_info),
        (exact_pin(pins, r"nvidia-cudnn(-cu\d+)?"), f"{texts.metadata_member}: and-cuda"),
        (one_version(versions, r"64_\d"), constants),
    ]
    for version, where in cudnn_candidates:
        if version:
            row["cudnn"], evidence["cudnn"] = version.partition(".")[0], where
            break


def _fill_msvc(row: Row, texts: WheelTexts, binary: dict[str, Any] | None, evidence: dict[str, str]) -> None:
    if row["platform"] != "windows-amd64":
        return
    info = texts.build_info or {}
    declared = info.get("msvcp_dll_names") or info.get("msvcp_dll_name")
    names = {*(binary["msvc"] if binary else []), *(declared.split(",") if declared else [])}
    if names:
        row["msvc"] = sorted(names)
        evidence["msvc"] = "; ".join(
            ([f"{binary['kernels_in']}: import table"] if binary and binary["msvc"] else [])
            # self_check.py loads them before anything else, and raises if one is missing
            + ([f"{texts.build_info_member}: msvcp_dll_name(s)"] if declared else [])
        )


def _fill_runpath(row: Row, binary: dict[str, Any] | None, evidence: dict[str, str]) -> None:
    if not binary or binary["runpath"] is None:
        return
    row["runpath"], evidence["runpath"] = (
        binary["runpath"],
        f"{binary['runpath_from']}: DT_RUNPATH or DT_RPATH",
    )
    if "and-cuda" not in row["extras"] or row["libraries_required"] is None:
        return
    folders = {
        match[1]
        for entry in row["runpath"]
        if (match := re.fullmatch(r"\$ORIGIN/\.\./nvidia/(\w+)/lib/?", entry))
    }
    reached = {name: PIP_FOLDERS.get(name.partition(".")[0]) in folders for name in row["libraries_required"]}
    row["pip_libraries_found"] = [name for name, found in reached.items() if found]
    row["pip_libraries_missed"] = [name for name, found in reached.items() if not found]
    for key in ("pip_libraries_found", "pip_libraries_missed"):
        evidence[key] = f"{evidence['runpath']}; {evidence['libraries_required']}"


def complete_windows(rows: list[Row]) -> None:
    """Fill in the DLLs that a GPU device on Windows needs, if the wheel itself does not show them (1.15 to
    2.10). They are the same libraries that the Linux build of that release needs, under the names that the
    Windows build loads. Both builds use the same source (TryDlopenCUDALibraries in dso_loader.cc); only the
    names differ."""
    linux = {(row["package"], row["version"]): row for row in rows if row["platform"] == "linux-x86_64"}
    for row in rows:
        if (
            row["platform"] != "windows-amd64"
            or not row["libraries"]
            or row["libraries_required"] is not None
        ):
            continue
        other = linux.get((row["package"], row["version"]), {}).get("libraries_required")
        if not other:
            continue
        by_stem = {name.partition("64_")[0]: name for name in row["libraries"]}
        stems = [removeprefix(name.partition(".so")[0], "lib") for name in other]
        if all(stem in by_stem for stem in stems):
            row["libraries_required"] = sorted(by_stem[stem] for stem in stems)
            row["evidence"]["libraries_required"] = (
                f"{row['evidence']['libraries']}; the linux-x86_64 row's libraries_required"
            )


def carry_over(row: Row, earlier: Row | None) -> None:
    """Copy the facts about libraries from an earlier row for the same wheel into a row that was made without
    reading the libraries."""
    if earlier is None or earlier["source"]["sha256"] != row["source"]["sha256"]:
        return
    if len(earlier["source"]["members"]) > len(row["source"]["members"]):
        row.update({key: earlier.get(key) for key in KEYS if key not in OF_METADATA})
