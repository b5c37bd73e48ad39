"""Finds the places that glibc's loader searches besides the RPATH and RUNPATH of the objects:
LD_LIBRARY_PATH, its cache, its built-in folders.

Sources: ld.so(8), ldconfig(8); glibc, elf/dl-load.c (system_dirs, fillin_rpath); nix-ld's README.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from doctor import lazy
from doctor.probe import elf, ldcache
from doctor.probe.inside import reason
from doctor.probe.machine import Machine
from doctor.values import dataclass

CACHE = "/etc/ld.so.cache"
STORES = ("/nix/store/", "/gnu/store/")
"""The stores in which Nix and Guix keep what they build. A store's loader reads neither the system's cache
nor its folders (nixpkgs, glibc, dont-use-system-ld-so-cache.patch; Guix, glibc-dl-cache.patch)."""
NEXT_FOLDER = b"/\0/"
LIBRARY_PATH, OF_NIX_LD = "LD_LIBRARY_PATH", "nix-ld's library path"
CONFIGURED = "/etc/ld.so.conf (there is no ld.so.cache)"
CONF_LIMIT = 100
"""The maximum number of ld.so.conf files to read."""
INTERPRETER_LIMIT = 4 << 20
"""The maximum number of bytes to search in ld.so, whose size is 240 kB."""
DEFAULT_FOLDERS = lazy.compile(rb"(?:/(?:usr/)?lib[^\0/]*(?:/[^\0/]+)*/\0){2,}")
"""Matches `system_dirs` inside ld.so: consecutive NUL-terminated folder names (elf/dl-load.c)."""
NIX_LD = "/run/current-system/sw/share/nix-ld/lib"
"""The folder that nix-ld searches if NIX_LD_LIBRARY_PATH is not set."""


@dataclass(frozen=True, slots=True)
class Cache:
    """The loader's cache by library name; via: where the entries come from; problem: why it could not be
    read."""

    entries: Mapping[str, list[ldcache.Entry]]
    via: str = CACHE
    problem: str = ""


def library_path(machine: Machine, env: Mapping[str, str], interpreter: str | None) -> list[tuple[str, str]]:
    """The folders of LD_LIBRARY_PATH, each with the name of the search step. It is split at ":" and ";"; an
    empty entry is the current folder.

    On NixOS, nix-ld starts programs of other systems, whose interpreter is not in Nix's store, and puts its
    own folders first. interpreter: None if no program is known.
    """
    value = env.get("LD_LIBRARY_PATH", "")
    named = [(folder, LIBRARY_PATH) for folder in re.split("[:;]", value)] if value else []
    if interpreter is None or interpreter.startswith(STORES):
        return named
    own = env.get("NIX_LD_LIBRARY_PATH", "") or (NIX_LD if machine.is_dir(NIX_LD) else "")
    return [*((folder, OF_NIX_LD) for folder in own.split(":") if folder), *named]


def cache(machine: Machine, processor: str, interpreter: str = "", program: str = "") -> Cache:
    """The loader's cache. For a program in a store, this is the package's own cache, if there is one. If the
    files of another machine contain no cache, this is the cache that ldconfig would write.

    A running machine may have no cache. In copied files the cache may be missing because it was not copied,
    and every distribution rewrites it when the next package is installed.
    """
    stored = interpreter.startswith(STORES)
    own = f"{posixpath.dirname(posixpath.dirname(program))}{CACHE}"
    try:
        data = machine.read(own if stored else CACHE)
        if data is None:
            return Cache({}) if machine.live or stored else Cache(_configured(machine, processor), CONFIGURED)
        return Cache(_by_name(data))
    except OSError as problem:
        return Cache({}, problem=reason(problem))
    except ldcache.NotCache as problem:  # glibc's loader ignores such a file too
        return Cache({}, problem=str(problem))


@functools.lru_cache(maxsize=2)
def _by_name(data: bytes) -> Mapping[str, list[ldcache.Entry]]:
    by_name: dict[str, list[ldcache.Entry]] = {}
    for entry in ldcache.parse(data):
        by_name.setdefault(entry.name, []).append(entry)
    return by_name


def _configured(machine: Machine, processor: str) -> dict[str, list[ldcache.Entry]]:
    """The libraries in the folders that ld.so.conf lists; if several have the same name, only the first."""
    by_name: dict[str, list[ldcache.Entry]] = {}
    for folder in dict.fromkeys(_conf_folders(machine, "/etc/ld.so.conf", [CONF_LIMIT])):
        for name in machine.names_seen(folder):
            if name.startswith("lib") and ".so" in name:
                by_name.setdefault(
                    name, [ldcache.Entry(name, f"{folder}/{name}", ldcache.FLAGS.get(processor, 0))]
                )
    return by_name


def _conf_folders(machine: Machine, path: str, left: list[int]) -> Iterator[str]:
    """The folders that an ld.so.conf file and the files that it includes list. left: how many files may still
    be read."""
    left[0] -= 1
    for line in machine.text_seen(path, 1 << 16).splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["include"]:
            for pattern in words[1:]:
                for other in machine.glob(pattern if pattern.startswith("/") else f"/etc/{pattern}"):
                    if left[0] > 0:
                        yield from _conf_folders(machine, other, left)
        elif words and words[0].startswith("/"):
            yield words[0].partition("=")[0].rstrip("/")


def default_folders(machine: Machine, interpreter: str, processor: str) -> list[str]:
    """The loader's built-in folders, read from the loader's file; otherwise the usual ones for a system with
    this folder layout. Nix's and Guix's loaders search only their own folder."""
    if interpreter.startswith(STORES):
        return [posixpath.dirname(interpreter)]
    try:
        data = machine.read(interpreter, INTERPRETER_LIMIT) or b""
    except OSError:
        data = b""
    if built_in := _built_in(data):
        return list(built_in)
    triplet = f"{processor}-linux-gnu"
    if machine.is_dir(f"/usr/lib/{triplet}") or machine.is_dir(f"/lib/{triplet}"):
        return [f"/lib/{triplet}", f"/usr/lib/{triplet}", "/lib", "/usr/lib"]
    return ["/lib64", "/usr/lib64"] if machine.is_dir("/usr/lib64") else ["/lib", "/usr/lib"]


@functools.lru_cache(maxsize=2)
def _built_in(data: bytes) -> tuple[str, ...]:
    """The loader's built-in folders, read from the bytes of ld.so; () if they contain none."""
    match, end = None, data.find(NEXT_FOLDER)
    while match is None and end >= 0:  # match only where one folder name follows another
        match = DEFAULT_FOLDERS.search(data, data.rfind(b"\0", 0, end) + 1, end + 4096)
        end = data.find(NEXT_FOLDER, end + 1)
    found = match.group().rstrip(b"\0").split(b"\0") if match else []
    return tuple(folder.decode("utf-8", "replace").rstrip("/") for folder in found)


def glibc_numbers(version: str) -> tuple[int, int] | None:
    """The numbers in the name of a symbol version: (2, 36) for "GLIBC_2.36"; None for any other name."""
    match = re.match(r"GLIBC_(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None


def glibc(
    folders: Iterable[str], header: Callable[[str], elf.Elf | None]
) -> tuple[tuple[int, int] | None, str]:
    """The highest GLIBC_2.x that the first usable libc.so.6 of some folders defines, such as (2, 36), and the
    path of that file. (None, "") if there is none."""
    for folder in folders:
        path = posixpath.join(folder, "libc.so.6")
        library = header(path)
        if library is not None:
            return max(filter(None, map(glibc_numbers, library.gives)), default=None), path
    return None, ""
