"""Compares the simulated loader with the real one: both must give the same answer for the same libraries,
including libraries with deliberate faults."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.probe.loader import Loader
from doctor.probe.machine import Machine
from tests.probe.shared_objects import compile_library, compile_program, needs_compiler
from tests.sampling import sampled

pytestmark = [
    needs_compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="glibc's loader is only on Linux"),
]

CALLER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
void open_it(const char *name) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map;
    if (!handle) printf("error\t%s\n", dlerror());
    else { dlinfo(handle, RTLD_DI_LINKMAP, &map); printf("path\t%s\n", map->l_name); }
    fflush(stdout);
}
"""
PROGRAM = (
    "void open_it(const char *); int main(int n, char **v) { for (int i = 1; i < n; i++) open_it(v[i]);"
    " return 0; }"
)
FOLDERS = ("first", "second", "third", "origin")
KINDS = (
    ("absent",) * 6
    + ("good",) * 4
    + (
        "empty",
        "text",
        "short text",
        "class",
        "machine",
        "dangling",
        "orphan",
        "cut",
        "folder",
        "symbol",
        "weak symbol",
    )
)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good library, a library that needs another library, and callers and programs with an RPATH, with a
    RUNPATH and with neither."""
    folder = tmp_path_factory.mktemp("parts")
    compile_library(folder / "libbase.so.1", soname="libbase.so.1")
    big = "static const char filling[1 << 18] = {1}; const char *show(void) { return filling; }\n"
    compile_library(folder / "libgood.so.1", soname="libgood.so.1", code=big)
    compile_library(folder / "liborphan.so.1", soname="libgood.so.1", needs=(folder / "libbase.so.1",))
    for name, how in (("symbol", ""), ("weak-symbol", " __attribute__((weak))")):
        code = (
            f"extern int gone_in_this_release(void){how}; int show(void) {{ return gone_in_this_release();"
            " }\n"
        )
        compile_library(folder / f"lib{name}.so.1", soname="libgood.so.1", code=code)
    origin = "$ORIGIN/../third:$ORIGIN/../origin"
    for name, flags in (
        ("plain", ()),
        ("rpath", (f"-Wl,--disable-new-dtags,-rpath,{origin}",)),
        ("runpath", (f"-Wl,--enable-new-dtags,-rpath,{origin}",)),
    ):
        caller = compile_library(
            folder / name / "libcaller.so", soname="libcaller.so", flags=flags, code=CALLER
        )
        for program in ("rpath", "runpath"):
            tag = "--disable-new-dtags" if program == "rpath" else "--enable-new-dtags"
            compile_program(
                folder / name / f"program-{program}",
                PROGRAM,
                needs=(caller,),
                flags=(f"-Wl,{tag},-rpath,$ORIGIN:$ORIGIN/../second",),
            )
    return folder


def place(kind: str, parts: Path, path: Path) -> None:
    """Put a library with one kind of fault at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    good = (parts / "libgood.so.1").read_bytes()
    if kind == "good":
        path.write_bytes(good)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text(
            "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 123456789\n"
        )
    elif kind == "short text":
        path.write_text("nothing\n")
    elif kind == "class":
        path.write_bytes(good[:4] + b"\x01" + good[5:])
    elif kind == "machine":
        path.write_bytes(good[:18] + (183).to_bytes(2, "little") + good[20:])
    elif kind == "dangling":
        path.symlink_to(path.parent / "nowhere.so")
    elif kind == "orphan":
        shutil.copy(parts / "liborphan.so.1", path)
    elif kind.endswith("symbol"):
        shutil.copy(parts / f"lib{kind.replace(' ', '-')}.so.1", path)
    elif kind == "cut":
        path.write_bytes(good[: len(good) // 2])
    elif kind == "folder":
        path.mkdir()


def really(program: Path, names: list[str], env: dict[str, str], cwd: Path) -> list[tuple[str, str]]:
    """Return the result of the real loader: ("path", file), ("error", text) or ("killed", signal)."""
    done = subprocess.run([program, *names], env=env, cwd=cwd, capture_output=True, text=True, timeout=30)
    results = [tuple(line.split("\t", 1)) for line in done.stdout.splitlines()]
    if done.returncode < 0:
        results.append(("killed", signal.Signals(-done.returncode).name))
    return results  # type: ignore[return-value]


def simulated(program: Path, names: list[str], env: dict[str, str], cwd: Path) -> list[tuple[str, str]]:
    """Return the result of the simulated loader, in the same form."""
    machine = Machine.here()
    machine.cwd = str(cwd)
    loader = Loader(machine, env, str(program))
    caller = loader.loaded("libcaller.so")
    assert caller is not None
    results = []
    for name in names:
        result = loader.open(name, caller)
        if "SIGBUS" in result.error:
            return [*results, ("killed", "SIGBUS")]
        results.append(("path", result.path) if result.path else ("error", result.error))
    return results


@pytest.mark.parametrize("seed", sampled(range(100), 10))
def test_the_same_file_or_the_same_error_over_random_layouts(seed: int, parts: Path, tmp_path: Path) -> None:
    chance = random.Random(seed)
    shutil.copytree(parts / chance.choice(["plain", "rpath", "runpath"]), tmp_path / "app")
    for folder in FOLDERS:
        place(chance.choice(KINDS), parts, tmp_path / folder / "libgood.so.1")
        place(
            chance.choice(("absent", "absent", "good", "machine")), parts, tmp_path / folder / "libbase.so.1"
        )
        if chance.random() < 0.2:
            place("good", parts, tmp_path / folder / "glibc-hwcaps" / "x86-64-v2" / "libgood.so.1")
    folders = chance.sample(["first", "second", "third", "", "nowhere"], 3)
    env = {"PATH": os.environ["PATH"]}
    if chance.random() < 0.8:
        env["LD_LIBRARY_PATH"] = chance.choice(":;").join(str(tmp_path / f) if f else "" for f in folders)
    names = ["libgood.so.1", "libbase.so.1", "libz.so.1", "libnowhere.so.1", "libgood.so.1"]
    program = tmp_path / "app" / chance.choice(["program-rpath", "program-runpath"])
    folder = tmp_path / "third"
    expected = really(program, names, env, folder)
    assert tidy(simulated(program, names, env, folder), folder) == tidy(expected, folder)


def tidy(results: list[tuple[str, str]], folder: Path) -> list[tuple[str, str]]:
    """Make paths absolute and remove "..", because the loader keeps paths as they were written, even relative
    ones."""
    tidied = []
    for kind, text in results:
        head, colon, rest = text.partition(":")
        if kind == "path":
            head = os.path.normpath(folder / head)
        elif kind == "error":
            head = Path(head).name
        tidied.append((kind, head + colon + rest))
    return tidied


def test_a_symbol_that_the_program_or_a_preloaded_library_defines_is_found(
    parts: Path, tmp_path: Path
) -> None:
    shutil.copytree(parts / "plain", tmp_path / "app")
    place("symbol", parts, tmp_path / "first" / "libgood.so.1")
    gives = "int gone_in_this_release(void) { return 1; }\n"
    giver = compile_library(tmp_path / "libgiver.so", code=gives)
    program = compile_program(
        tmp_path / "app" / "program", gives + PROGRAM, needs=(tmp_path / "app" / "libcaller.so",),
        flags=("-Wl,-rpath,$ORIGIN", "-rdynamic"),
    )  # fmt: skip
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(tmp_path / "first")}
    for chosen, added in (
        (program, {}),
        (tmp_path / "app" / "program-rpath", {"LD_PRELOAD": str(giver)}),
        (tmp_path / "app" / "program-rpath", {}),
    ):
        said = simulated(chosen, ["libgood.so.1"], {**env, **added}, tmp_path)
        assert tidy(said, tmp_path) == tidy(
            really(chosen, ["libgood.so.1"], {**env, **added}, tmp_path), tmp_path
        )
    assert "undefined symbol: gone_in_this_release" in said[0][1]


def test_every_library_in_the_cache_resolves_as_ldconfig_says() -> None:
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    if not Path(ldconfig).exists():
        pytest.skip("no ldconfig")
    listing = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True, timeout=30).stdout
    lines = [line.split() for line in listing.splitlines() if " => " in line]
    machine = Machine.here()
    loader = Loader(machine, {})
    assert sum(len(entries) for entries in loader.cache.values()) == len(lines)
    assert {(line[0], line[-1]) for line in lines} == {
        (entry.name, entry.path) for entries in loader.cache.values() for entry in entries
    }


def test_headers_are_read_as_pyelftools_reads_them(parts: Path) -> None:
    from elftools.elf.elffile import ELFFile

    from doctor.probe import elf

    files = [parts / "libgood.so.1", *parts.glob("*/program-*"), *parts.glob("*/libcaller.so")]
    files += [
        Path(sys.executable).resolve(),
        Path("/lib/x86_64-linux-gnu/libstdc++.so.6"),
        Path("/lib/x86_64-linux-gnu/libz.so.1"),
    ]
    for path in files:
        if not path.exists():
            continue
        with path.open("rb") as file:
            dynamic = ELFFile(file).get_section_by_name(".dynamic")
            tags: dict[str, list[str]] = {}
            for tag in dynamic.iter_tags():
                for key in ("needed", "soname", "rpath", "runpath"):
                    if hasattr(tag, key):
                        tags.setdefault(key, []).append(getattr(tag, key))
        ours = elf.of(Machine.here(), str(path))
        assert list(ours.needed) == tags.get("needed", [])
        assert ours.soname == tags.get("soname", [None])[0]
        assert ours.runpath == (tuple(tags["runpath"][0].split(":")) if "runpath" in tags else None)
        assert ours.missing_bytes == 0
