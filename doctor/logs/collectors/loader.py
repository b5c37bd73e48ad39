"""Reads traces of the loader: LD_DEBUG=libs, strace, ldd, ldconfig -p."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor import lazy
from doctor.facts import (
    INFERRED,
    DeviceNode,
    Fact,
    Glibc,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    Platform,
    Source,
    Symptom,
)
from doctor.logs.collectors.block import (
    Block,
    Collector,
    Line,
    cuda,
    gpu_library,
    rows_end,
    searched,
    source,
    stated_version,
)

_DEBUG = lazy.compile(r"\s{0,12}\d{1,10}:(?:\s|$)")
_STEP = lazy.compile(
    r"\s{0,12}\d{1,10}:\s{1,8}(find library=|trying file=|calling init: |calling fini: |search path=|search"
    r" cache=)"
)


def ld_debug(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read the output of LD_DEBUG=libs, complete or filtered by grep, and possibly mixed with a program's own
    lines. A line with `calling init` shows that a library was loaded. A library that was searched for but
    never initialised was not found, unless the input ends during the search. Source: glibc, elf/dl-load.c and
    elf/dl-init.c."""
    end = at
    keep: set[int] = set()
    asked: dict[str, Source] = {}
    opened: dict[str, tuple[str, Source]] = {}
    last = ""
    whole = False
    for i in range(at, len(lines)):
        text = lines[i][1]
        step = _STEP.match(text[:60])
        if step is None:
            if not _DEBUG.match(text[:40]):
                keep.add(i)
            continue
        end = i + 1
        value = text[step.end() :].strip()
        if step[1] == "find library=":
            last = gpu_library(value.partition(" ")[0])
            if last:
                asked.setdefault(last, source(name, lines[i]))
        elif step[1].startswith("calling"):
            library = gpu_library(value.partition(" ")[0])
            if library:
                opened[library] = (value.partition(" ")[0][:300], source(name, lines[i]))
            last = ""
        elif step[1].startswith("search"):
            whole = True
            if "(system search path)" in text:
                last = ""  # the loader searches this path last
    if whole:
        asked.pop(last, None)  # the text ends during the search for this library
    return Block(end, searched(source(name, lines[at]), asked, opened), frozenset(i for i in keep if i < end))


_OPEN = lazy.compile(
    r"(?:\[pid {1,6}\d{1,9}\] |\d{1,9} {1,2})?(?:\d\d:\d\d:\d\d(?:\.\d{1,9})? |\d{10}\.\d{6}"
    r" )?(?:open|openat|newfstatat|stat|access)\("
)
_CALL = lazy.compile(
    r"(?:AT_FDCWD, )?\"([^\"\n]{1,1000})\"[^\n=]{0,200}\) {1,40}= (-?\d{1,6})(?: (E[A-Z]{2,12}))?"
)


_LAST = ("/usr/lib/lib", "/usr/lib64/lib", "/lib64/lib", "/usr/lib/x86_64/lib")
"""The folders that the loader searches last."""


def strace(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read a strace of calls that open files: the libraries that were tried, and those that were opened. Also
    reads which device files are missing, and which ones the user may not open."""
    end = at
    keep: set[int] = set()
    asked: dict[str, Source] = {}
    opened: dict[str, tuple[str, Source]] = {}
    facts: list[Fact] = []
    last = ""
    for i in range(at, len(lines)):
        text = lines[i][1]
        begins = _OPEN.match(text[:80])
        if begins is None:
            keep.add(i)
            continue
        end = i + 1
        call = _CALL.match(text[begins.end() : begins.end() + 1400])
        if call is None:
            continue
        library = gpu_library(call[1])
        where = source(name, lines[i])
        last = library if call[2] == "-1" and not call[1].startswith(_LAST) else ""
        if library and call[2] == "-1":
            asked.setdefault(library, where)
        elif library:
            opened[library] = (call[1][:300], where)
        elif call[1].startswith("/dev/nvidia") and call[3] in ("EACCES", "EPERM"):
            facts.append(DeviceNode(where, call[1][:80], accessible=False))
        elif call[1] == "/dev/nvidiactl" and call[3] == "ENOENT":
            facts.append(Symptom(where, "no-device-node"))
    asked.pop(last, None)
    return Block(
        end,
        [*facts, *searched(source(name, lines[at]), asked, opened)],
        frozenset(i for i in keep if i < end),
    )


_LDD = lazy.compile(
    r"\s{0,12}(\S{2,160}) => (?:(not found)|(/\S{1,400})?"
    r" ?\(0x[0-9a-f]{6,16}\))|\s{0,12}(?:linux-vdso|/\S{0,60}/ld-linux)\S{1,60} \(0x[0-9a-f]{6,16}\)"
)


def ldd(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read ldd: the libraries that a library needs, and where the loader finds them."""
    end = rows_end(lines, at, _LDD)
    facts: list[Fact] = [Platform(source(name, lines[at]), "linux", rank=INFERRED)]
    for line in lines[at:end]:
        row = _LDD.match(line[1][:700])
        library = gpu_library(row[1] or "") if row else ""
        if row and library and row[2]:
            facts.append(LibraryNotLoaded(source(name, line), library, "not found"))
        elif row and library and row[3]:
            facts.append(LibraryLoaded(source(name, line), library, row[3]))
    return Block(end, facts)


_CACHED = lazy.compile(r"\s{1,8}(\S{2,160}) \(([^)\n]{3,80})\) => (/\S{1,400})")


_CACHE_MADE = lazy.compile(
    r"Cache generated by: ldconfig \([^()\n]{0,60}\) (?:stable )?release version (2\.\d{1,3})"
)


def ldconfig(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read ldconfig -p: the libraries in the loader's cache."""
    end = at
    facts: list[Fact] = [Platform(source(name, lines[at]), "linux", rank=INFERRED)]
    for i in range(at, len(lines)):
        row = _CACHED.match(lines[i][1][:700])
        made = _CACHE_MADE.match(lines[i][1][:200])
        if made:
            facts.append(Glibc(source(name, lines[i]), made[1]))
        elif row is None and i > at:
            break
        end = i + 1
        if row is None:
            continue
        library = gpu_library(row[1])
        if library and ("x86-64" in row[2] or "AArch64" in row[2]):
            where = source(name, lines[i])
            facts.append(LibraryFile(where, library, row[3], searched=True))
            facts += stated_version(row[3], where)
            folder = re.match(r"/[\w./-]{0,100}/cuda-(\d{1,2}\.\d{1,2})/", row[3])
            if folder and library.startswith("libcudart"):
                facts += cuda(folder[1], where, INFERRED)
    return Block(end, facts)


COLLECTORS = (
    Collector("calling init: ", _STEP, ld_debug),
    Collector("find library=", _STEP, ld_debug),
    Collector("open(", _OPEN, strace),
    Collector("openat(", _OPEN, strace),
    Collector(" => ", _LDD, ldd),
    Collector(" libs found in ", lazy.compile(r"\d{1,6} libs found in "), ldconfig),
    Collector("x86-64) => /", _CACHED, ldconfig),
)
