"""Compiles the libraries of the simulated machine, once for each version of their sources and of the
compiler.

They are kept in `$XDG_CACHE_HOME/tfgpu-doctor/simulate/HASH/` (`~/.cache` without that variable). The C
sources are in `sources/`; each source is compiled once, and each requested library is linked under its own
SONAME.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from doctor import resources
from doctor.errors import UnableError, UsageError
from doctor.folders import NO_HOME, cache_base, expanded
from doctor.printable import say
from doctor.simulate.ownership import make_private, stranger_at

_FLAGS = ("-O1", "-fPIC", "-fvisibility=hidden", "-pthread")
_COMMON = ("machine", "enter", "ledger")
_DRIVER = tuple(
    f"driver_{part}" for part in ("device", "context", "memory", "stream", "module", "graph", "errors")
)
# The sources of each library, by the part of its file name before ".so".
_SOURCES = {
    "libcuda": (*_COMMON, "visible_devices", *_DRIVER),
    "libnvidia-ml": (*_COMMON, "nvml", "nvml_device", "nvml_mig"),
    "libcudart": (*_COMMON, "runtime_device", "runtime_memory", "runtime_kernels"),
    "libcudnn": (*_COMMON, "cudnn"),
    "libcublas": (*_COMMON, "cublas"),
    "libcublasLt": (*_COMMON, "cublas_lt"),
    "libcufft": (*_COMMON, "math_libraries"),
    "libcurand": (*_COMMON, "math_libraries"),
    "libcusolver": (*_COMMON, "math_libraries"),
    "libcusparse": (*_COMMON, "math_libraries"),
    "libnccl": (*_COMMON, "nccl"),
    "files": ("files",),
    "memory_holder": ("memory_holder",),
}
_HEADERS = ("driver.h", "nvml.h", "runtime.h", "simulation.h")
SIMULATED = frozenset(stem for stem in _SOURCES if stem.startswith("lib"))
# The command that installs a C compiler and the C library's headers, by the name of the package manager.
_PACKAGES = {
    "apt-get": "sudo apt-get install gcc libc6-dev",
    "dnf": "sudo dnf install gcc glibc-devel",
    "yum": "sudo yum install gcc glibc-devel",
    "zypper": "sudo zypper install gcc glibc-devel",
    "pacman": "sudo pacman -S gcc",
    "apk": "apk add build-base",
    "brew": "brew install gcc",
    "conda": "conda install -c conda-forge gcc_linux-64 sysroot_linux-64",
}


class SimulationError(UnableError):
    """The request cannot be simulated here; the text says why and what to do."""


UNUSED_DAYS = 30
"""Days for which unused compiled libraries are kept; each version of the sources has its own libraries."""


class CallError(UsageError):
    """The options are wrong: an unknown name, or a number out of range."""


def source_files() -> list[str]:
    """The names of all C sources and headers."""
    return sorted({*_HEADERS, *(f"{part}.c" for parts in _SOURCES.values() for part in parts)})


def stem_of(file_name: str) -> str:
    """The name of a library without its version: "libcudnn" for libcudnn.so.9."""
    return file_name.split(".so")[0]


def build(file_names: Collection[str]) -> Path:
    """Compile the libraries that do not exist yet. Returns their folder.

    file_names: SONAMEs (libcudnn.so.9, libcuda.so.1), "files.so" (the preload library), "memory_holder".
    Raises SimulationError if this system or its compiler cannot do it, ValueError for any other name.
    """
    for name in file_names:
        if stem_of(name) not in _SOURCES:
            raise ValueError(f"there is no simulated {name}")
    if platform.system() != "Linux":
        raise SimulationError(
            f"a GPU can be simulated only on Linux (also in a container), not on {platform.system()}"
        )
    if not _has_glibc():
        raise SimulationError(
            "a GPU can be simulated only with glibc: TensorFlow's wheels do not run with another C library"
        )
    compiler = _compiler()
    sources = {name: resources.read("doctor.simulate", f"sources/{name}") for name in source_files()}
    folder = cache_folder() / _key(sources, compiler)
    _private(folder, file_names)
    missing = [name for name in file_names if not (folder / name).exists()]
    if missing:
        if sys.stderr.isatty():
            say("tfgpu-doctor: compiling the simulated libraries (only once; this takes a few seconds)")
        with _locked(folder):
            _make(folder, [name for name in missing if not (folder / name).exists()], sources, compiler)
        _forget(folder)
    with contextlib.suppress(OSError):  # a folder that belongs to root works too
        os.utime(folder)
    return folder


def _not_kept(folder: Path, error: OSError) -> SimulationError:
    return SimulationError(
        f"the compiled libraries cannot be kept in {folder}: {error.strerror}; set XDG_CACHE_HOME to a folder"
        " that you can write to"
    )


def _private(folder: Path, names: Collection[str]) -> None:
    """Create the folder if necessary. Raises SimulationError if other users could have written its files."""
    try:
        make_private(folder)
        said = stranger_at(folder, names)
    except OSError as error:
        raise _not_kept(folder, error) from error
    if said:
        raise SimulationError(
            f"the compiled libraries in {folder} are not used, because another user could have written them:"
            f" {said}",
            "set XDG_CACHE_HOME to a folder that only you can write to, or remove other users' write"
            f" permission and delete {cache_folder()}",
        )


def _forget(folder: Path) -> None:
    """Remove libraries of other versions of the sources or the compiler that have not been used for
    UNUSED_DAYS."""
    oldest = time.time() - UNUSED_DAYS * 86400
    for other in folder.parent.iterdir():
        if other != folder and other.is_dir() and not other.is_symlink() and other.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)


def cache_folder() -> Path:
    """The folder of compiled libraries. Raises SimulationError if neither XDG_CACHE_HOME nor a home folder
    leads to one."""
    named = os.environ.get("XDG_CACHE_HOME")
    base = expanded(named) if named else cache_base()
    if not base:
        raise SimulationError(f"there is no folder for the compiled libraries: {NO_HOME}; set XDG_CACHE_HOME")
    return Path(base) / "tfgpu-doctor" / "simulate"


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):
        return False


def _compiler() -> str:
    wished = os.environ.get("CC")
    for name in (wished,) if wished else ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return found
    if wished:
        raise SimulationError(
            f"CC is {wished!r}, which is not on PATH", "set CC to a C compiler, or unset it"
        )
    raise SimulationError(
        "no C compiler was found (cc, gcc or clang), but the simulated libraries must be"
        " compiled before their first use",
        how_to_get_a_compiler(),
    )


def how_to_get_a_compiler() -> str:
    """Return a sentence on how to install a compiler: with the command for this system's package manager, or
    with the commands for all known package managers if none is found."""
    here = next((name for name in _PACKAGES if shutil.which(name)), None)
    if here is None:
        return "install one: " + ", ".join(f"`{command}`" for command in _PACKAGES.values())
    then = {
        "brew": "; then set CC to its name, such as CC=gcc-15",
        "conda": "; then set CC=x86_64-conda-linux-gnu-gcc",
    }
    return f"install one: {_PACKAGES[here]}{then.get(here, '')}"


def _key(sources: dict[str, bytes], compiler: str) -> str:
    """A key that identifies the sources and the compiler. The compiler is identified by its file, because
    running it to get its version would double the start time."""
    real = Path(compiler).resolve()
    about = real.stat()
    digest = hashlib.sha256(
        f"{real} {about.st_size} {about.st_mtime_ns} {platform.machine()} {_FLAGS}".encode()
    )
    for name in sorted(sources):
        digest.update(name.encode() + b"\0" + sources[name])
    return digest.hexdigest()[:20]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Allow only one process to build at a time; the others then find the finished libraries."""
    import fcntl

    try:
        with open(folder / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise _not_kept(folder, error) from error


def _make(folder: Path, names: list[str], sources: dict[str, bytes], compiler: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    for abandoned in folder.glob(
        ".build-*"
    ):  # left by killed builds, because only this process holds the lock
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as text:
        work = Path(text)
        for name, content in sources.items():
            (work / name).write_bytes(content)
        objects = dict.fromkeys(source for name in names for source in _SOURCES[stem_of(name)])
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(lambda source: _run(compiler, *_FLAGS, "-c", f"{source}.c", cwd=work), objects))
            list(pool.map(lambda name: _link(compiler, name, work), names))
        for name in names:
            (work / f"{name}.linked").chmod(0o755)
            (work / f"{name}.linked").replace(folder / name)


def _link(compiler: str, name: str, work: Path) -> None:
    parts = [f"{source}.o" for source in _SOURCES[stem_of(name)]]
    shared = ["-shared", f"-Wl,-soname,{name}"] if ".so" in name else []
    _run(compiler, *shared, "-pthread", "-o", f"{name}.linked", *parts, "-ldl", cwd=work)


def link_variant(
    target: Path, soname: str, *, needs: str | None = None, code: str = "int nothing(void) { return 0; }"
) -> None:
    """Link a library that is broken on purpose: it has the given SONAME and contains only `code`.

    needs: the SONAME of a library that does not exist but on which the linked library depends.
    Raises SimulationError if the compiler fails.
    """
    link = (_compiler(), "-shared", "-fPIC")
    with tempfile.TemporaryDirectory(dir=target.parent) as text:
        work = Path(text)
        (work / "variant.c").write_text(code + "\n")
        parts = ["variant.c"]
        if needs:
            (work / "needed.c").write_text("int needed(void) { return 0; }\n")
            _run(*link, f"-Wl,-soname,{needs}", "-o", "needed.so", "needed.c", cwd=work)
            parts += ["-Wl,--no-as-needed", "./needed.so"]
        _run(*link, f"-Wl,-soname,{soname}", "-Wl,-z,now", "-o", str(target), *parts, cwd=work)


def _run(*command: str, cwd: Path) -> None:
    import subprocess

    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        hint = ""
        if re.search(r"fatal error: \w+\.h", done.stderr):
            hint = f"the C library's headers are missing; {how_to_get_a_compiler()}"
        raise SimulationError(
            f"{command[0]} could not build the simulated libraries:"
            f" {said[0] if said else 'it printed nothing'}",
            hint,
        )
