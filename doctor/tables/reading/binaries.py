"""Reads facts from the libraries in a wheel. Each library is read as a stream, so none is written to disk.

The cache keeps the facts about each library. `derive` interprets them later, so an improved interpretation
does not need another download.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from doctor import lazy
from doctor.tables.reading import dllnames, dlopened, elf, fatbin, macho, pe
from doctor.tables.reading.archive import Member, inflate
from doctor.tables.reading.registry import IndexFile
from doctor.tables.reading.remote import Remote
from doctor.tables.reading.wheeltexts import WheelTexts
from doctor.tables.reading.window import Window

if TYPE_CHECKING:
    from typing import TypeAlias

HEAD = 64 << 10
# In every library that ld, gold, lld and patchelf made for these wheels, the string table and the version
# needs come before the code, within 60 MiB. A library in which they do not is streamed a second time.
FRONT = 96 << 20
GLIBC_NAME = lazy.compile(rb"\0(GLIBC_\d+(?:\.\d+)+)(?=\0)")
CUDA_LIBRARY = lazy.compile(
    r"^(lib)?(cu(da|dart|dnn|blas|fft|rand|solver|sparse|pti)|nv(cuda|infer|rtc|JitLink|shmem)|"
    r"nccl|nvidia-ml)",
    re.IGNORECASE,
)
MSVC_LIBRARY = lazy.compile(r"^(msvcp|vcruntime|concrt|vcomp)\d+(_\d+)?\.dll$")

Facts: TypeAlias = "dict[str, Any]"


def wanted(texts: WheelTexts, package: str, platform: str) -> bool:
    """Whether the libraries of a wheel show more than its build_info.py. They do for GPU builds, for all
    Linux builds (the glibc version), and for builds from before build_info.py existed, for which otherwise
    only the package name shows whether they use a GPU."""
    if not texts.core:
        return False
    info = texts.build_info
    return (
        platform.startswith("linux")
        or info is None
        or bool(info.get("is_cuda_build", package == "tensorflow-gpu"))
    )


def scan(remote: Remote, file: IndexFile, texts: WheelTexts) -> Facts:
    """Return the facts in the core libraries of one wheel. Raises RemoteError, ArchiveError, ElfError,
    PeError."""
    facts: Facts = {"members": {}, "opened": None, "opened_from": None, "opened_error": None}
    asked = _to_be_asked(texts)
    for member in texts.core:
        descriptor = None
        if member is asked and dlopened.supported():
            descriptor = os.memfd_create("library")
        try:
            facts["members"][member.name] = _scan_member(remote, file, member, descriptor)
            if descriptor is not None and elf.is_x86_64(os.pread(descriptor, elf.HEADER, 0)):
                facts["opened_from"] = member.name
                try:
                    facts["opened"] = dlopened.ask(descriptor)
                except dlopened.DlopenedError as error:
                    facts["opened_error"] = str(error)
        finally:
            if descriptor is not None:
                os.close(descriptor)
    return facts


def _to_be_asked(texts: WheelTexts) -> Member | None:
    """Return the library that contains TensorFlow's loader: libtensorflow_framework or, in releases up to
    1.3, which lack it, the only library."""
    libraries = [member for member in texts.core if re.search(r"\.so(\.\d+)*$", member.name)]
    framework = [member for member in libraries if "libtensorflow_framework" in member.name]
    return next(iter(framework or libraries), None)


def _scan_member(remote: Remote, file: IndexFile, member: Member, copy_to: int | None) -> Facts:
    pieces = inflate(remote, file.url, member)
    window = Window(pieces if copy_to is None else _copied(pieces, copy_to))
    start = window.read(0, HEAD)
    found = fatbin.Fatbins()
    facts: Facts = {}
    if start.startswith(b"\x7fELF"):
        facts.update(_scan_elf(remote, file, member, window, found))
    elif start.startswith(b"MZ"):
        headers = pe.read_headers(start)
        kept = [(begin, window.keep(begin, end)) for begin, end in pe.import_ranges(headers)]
        fatbin.scan(window, found)
        facts["dlls"] = pe.imported_dlls(headers, [(begin, bytes(content)) for begin, content in kept])
    else:
        fatbin.scan(window, found)
        facts["needed"] = macho.needed_libraries(start)
    if found.malformed or found.unreadable:
        # no release up to 2.21 has this; a row must not be built from data that was not understood
        raise ValueError(
            f"{member.name}: {found.malformed} fatbins are malformed and {found.unreadable} PTX entries"
            " cannot be unpacked. If they are packed with zstd, run: pip install zstandard"
        )
    facts["fatbins"] = found.to_json()
    return facts


def _copied(pieces: Iterator[bytes], descriptor: int) -> Iterator[bytes]:
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
        yield piece


def _scan_elf(
    remote: Remote, file: IndexFile, member: Member, window: Window, found: fatbin.Fatbins
) -> Facts:
    segments = elf.program_headers(window.read(0, HEAD))
    dynamic = next((segment for segment in segments if segment.kind == elf.PT_DYNAMIC), None)
    if dynamic is None:
        raise elf.ElfError(f"{file.filename}: {member.name} has no dynamic section")
    front = window.keep(0, FRONT)
    section = window.keep(dynamic.offset, dynamic.offset + dynamic.size)
    fatbin.scan(window, found)
    entries = elf.dynamic_entries(bytes(section))
    ranges = elf.ranges_needed(segments, entries)
    if max(end for _, end in ranges.values()) <= FRONT:
        content = {name: bytes(front[begin:end]) for name, (begin, end) in ranges.items()}
    else:
        again = Window(inflate(remote, file.url, member))
        kept = {name: again.keep(begin, end) for name, (begin, end) in ranges.items()}
        again.drain()
        content = {name: bytes(data) for name, data in kept.items()}
    needs = elf.read_dynamic(entries, content["strings"], content.get("versions", b""))
    return {
        "needed": list(needs.needed),
        "runpath": list(dict.fromkeys(needs.runpath)) if needs.runpath is not None else None,
        "glibc": elf.newest_glibc([name for names in needs.versions.values() for name in names]),
        "strings_end": ranges["strings"][1],
    }


def glibc_of_other_python(
    remote: Remote, file: IndexFile, texts: WheelTexts, newest: WheelTexts, newest_facts: Facts
) -> str | None:
    """Return the glibc that the same release's wheel for another Python needs, read only from the beginning
    of its libraries.

    A library that is identical to the one for the newest Python (same CRC and size) needs the same glibc. In
    other libraries, this function searches the string table for the names of the needed versions. The table
    is at or near its offset in the library for the newest Python. Returns None if the versions of a library
    were not found.
    """
    known = {
        (member.crc, member.size): newest_facts["members"][member.name]["glibc"] for member in newest.core
    }
    lengths = {member.name.rpartition("/")[2]: newest_facts["members"][member.name] for member in newest.core}
    versions = []
    for member in texts.core:
        if (member.crc, member.size) in known:
            versions.append(known[member.crc, member.size])
            continue
        like = lengths.get(member.name.rpartition("/")[2])
        stop = like["strings_end"] * 11 // 10 + (1 << 20) if like and "strings_end" in like else FRONT
        window = Window(inflate(remote, file.url, member))
        names = GLIBC_NAME.findall(window.read(0, stop))
        versions.append(elf.newest_glibc([name.decode() for name in names]))
    if not versions or None in versions:
        return None
    return elf.newest_glibc([f"GLIBC_{version}" for version in versions])


def composes_names(facts: Facts, platform: str) -> bool:
    """Whether scan_dll_names can find anything: only in a Windows build with device code."""
    return platform == "windows-amd64" and any(
        seen["fatbins"]["entries"] for seen in facts["members"].values()
    )


def scan_dll_names(remote: Remote, file: IndexFile, texts: WheelTexts) -> Facts:
    """Return the facts about DLL names in a Windows GPU build: "names" (the DLL names that its code composes)
    and "versions" (the version strings among its constants, such as "64_80", from which it composes them).
    Raises RemoteError, ArchiveError, PeError."""
    names: set[str] = set()
    versions: set[str] = set()
    for member in texts.core:
        composed = dllnames.read_composed(remote, file, member)
        names.update(composed.names)
        versions.update(composed.versions)
    return {"names": sorted(names), "versions": sorted(versions)}


def derive(facts: Facts, platform: str, dlls: Facts | None = None) -> Facts:
    """Return the values for a row, from the facts of `scan` and, for a Windows GPU build, of
    `scan_dll_names`. If a list of libraries is known to be incomplete, its value is None."""
    members: dict[str, Facts] = facts["members"]
    fatbins = _all_fatbins(members)
    kernels_in = max(members, key=lambda name: members[name]["fatbins"]["entries"])
    every = {name for seen in members.values() for name in _imports(seen)}
    imported = sorted(filter(CUDA_LIBRARY.match, every))
    table = {"linux": "DT_NEEDED", "windows": "import table", "macos": "LC_LOAD_DYLIB"}[
        platform.partition("-")[0]
    ]
    importing = (name for name, seen in members.items() if not set(imported).isdisjoint(_imports(seen)))
    imported_by = f"{next(importing, kernels_in)}: {table}"
    derived: Facts = {
        "members": list(members),
        "fatbins": fatbins,
        "kernels_in": kernels_in,
        "glibc": None,
        "glibc_from": None,
        "imported": imported,
        "imported_by": imported_by,
        "libraries": [],
        "libraries_from": f"{kernels_in}: {table}, no device code",
        "libraries_required": None,
        "libraries_required_from": "",
        "runpath": None,
        "runpath_from": None,
        "msvc": sorted(filter(MSVC_LIBRARY.match, every)) if platform.startswith("windows") else None,
        "versions": dlls["versions"] if dlls else [],
    }
    with_glibc = [(name, seen["glibc"]) for name, seen in members.items() if seen.get("glibc")]
    if with_glibc:
        derived["glibc"] = elf.newest_glibc([f"GLIBC_{version}" for _, version in with_glibc])
        derived["glibc_from"] = next(name for name, version in with_glibc if version == derived["glibc"])
    frameworks = (name for name in members if "libtensorflow_framework" in name)
    caller = facts["opened_from"] or next(frameworks, None)
    if caller and "runpath" in members[caller]:
        derived["runpath"], derived["runpath_from"] = members[caller]["runpath"] or [], caller
    if not fatbins["entries"] and not imported:
        return derived
    answers: dict[str, list[str]] = facts["opened"] or {}
    opened, where = _opened(answers), f"{caller}: names that its loader asks for"
    if dlls and len(dlls["names"]) > 1:
        opened, where = dlls["names"], f"{kernels_in}: names that its loader's code composes"
    libraries = sorted({*imported, *opened})
    sources = ([imported_by] if imported else []) + ([where] if opened else [])
    derived["libraries_from"] = "; ".join(sources)
    derived["libraries"] = libraries if any(re.match(r"(lib)?cudnn", name) for name in libraries) else None
    required = (call for call in answers if re.search(r"TryDlopen(GPU|CUDA)Libraries", call))
    asked = _opened({call: answers[call] for call in required})
    if asked:
        derived["libraries_required"] = sorted({*imported, *asked})
        derived["libraries_required_from"] = f"{caller}: names that TryDlopenCUDALibraries asks for"
    elif any(re.match(r"(lib)?cudnn", name) for name in imported):
        # the loader of the operating system needs all of them before TensorFlow can be imported
        derived["libraries_required"], derived["libraries_required_from"] = imported, imported_by
    return derived


def _imports(seen: Facts) -> list[str]:
    return [*seen.get("needed", []), *seen.get("dlls", [])]


def _all_fatbins(members: dict[str, Facts]) -> Facts:
    """Return the counts of all members, added up."""
    cubins: Counter[str] = Counter()
    ptx: Counter[tuple[str, str]] = Counter()
    for seen in members.values():
        cubins.update(seen["fatbins"]["compiled"])
        for target, versions in seen["fatbins"]["ptx"].items():
            ptx.update({(target, version): count for version, count in versions.items()})
    return fatbin.Fatbins(
        cubins,
        ptx,
        sum(seen["fatbins"]["malformed"] for seen in members.values()),
        sum(seen["fatbins"]["unreadable"] for seen in members.values()),
    ).to_json()


def _opened(answers: dict[str, list[str]]) -> list[str]:
    """Return NVIDIA's libraries among the names for which loader functions asked, without a bare
    "libcupti.so" that a function tries only after "libcupti.so.12"."""
    names: list[str] = []
    for asked in answers.values():
        ours = [name for name in asked if CUDA_LIBRARY.match(name)]
        versioned = {name.partition(".so.")[0] for name in ours if ".so." in name}
        names += [name for name in ours if not (name.endswith(".so") and name[:-3] in versioned)]
    return list(dict.fromkeys(names))
