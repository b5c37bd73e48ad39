"""Finds CUDA and cuDNN as TensorFlow does: the files that its dlopen calls would load, and other copies on
the disk.

doctor.probe.loader simulates the calls with TensorFlow's own library as the caller, because its RUNPATH
affects the search. Nothing is loaded.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from doctor.facts import (
    DriverVersion,
    Fact,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    LibraryWanted,
    Source,
    Symptom,
    TensorFlowVersion,
    Unreadable,
)
from doctor.probe import elf
from doctor.probe.driver import file_version
from doctor.probe.gpu_devices import SIMULATION
from doctor.probe.interpreter import Environment
from doctor.probe.loader import DEFAULT_STEP, OF_DRIVER, Loader
from doctor.probe.loader_places import CACHE, CONFIGURED, LIBRARY_PATH, STORES
from doctor.probe.machine import Machine
from doctor.probe.missing import missing
from doctor.probe.packages import EXTENSIONS, FRAMEWORKS, Installed
from doctor.probe.places import LIBRARY, Found, on_disk
from doctor.probe.resolution import Loaded, Resolution
from doctor.probe.toolkits import versions
from doctor.probe.wanted import Wanted, platform_of, wanted
from doctor.tables import Tables
from doctor.values import dataclass

OF_THE_SYSTEM = (LIBRARY_PATH, CACHE, CONFIGURED, DEFAULT_STEP)
"""Steps of the search that are the same for every program."""
CUDNN_PARTS = {
    "8": ("ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train"),
    "9": ("ops", "cnn", "adv", "graph", "heuristic", "engines_precompiled", "engines_runtime_compiled"),
}
"""The sub-libraries of cuDNN by its major version: the files in NVIDIA's packages."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One library that TensorFlow loads, and the result of the search for it."""

    name: str
    needed: bool
    resolution: Resolution


def examine(
    machine: Machine, environment: Environment, installed: Installed, facts: list[Fact], tables: Tables
) -> list[Fact]:
    """The facts about the libraries that TensorFlow loads, and about other copies of CUDA and cuDNN.

    facts: those of the package probe.
    """
    loader = Loader(machine, machine.env, environment.program)
    result: list[Fact] = []
    if loader.cache_problem:
        result.append(Unreadable(Source("/etc/ld.so.cache"), "loader cache", loader.cache_problem))
    version = next((f for f in facts if isinstance(f, TensorFlowVersion)), None)
    platform = platform_of(machine.system, machine.processor or loader.processor)
    release, package = (version.version, version.package) if version is not None else (None, None)
    with machine.noting() as hidden:
        caller: Loaded | None = None
        linked: tuple[str, ...] = ()
        if installed.core is not None:
            caller, linked = _import(machine, loader, environment, installed, result)
    needs = wanted(tables, release, package, platform, installed.build, linked)
    unknown = any(isinstance(f, Unreadable) and f.what == "tensorflow" for f in facts)
    if hidden and caller is None:  # the caller's RUNPATH is unknown, and the search depends on it
        unknown = True
        result.append(missing(Source(installed.core or ""), "libraries", hidden))
    whole = (
        not any(isinstance(fact, Symptom) and fact.kind == "tensorflow-library-fails" for fact in result)
        if caller is None
        else not (caller.header.missing_bytes or loader.foreign(caller.header))
    )
    names = needs.names if whole and not unknown else ()  # a library that fails to load loads nothing itself
    outcomes = [Outcome(name, needed, loader.open(name, caller)) for name, needed in names]
    for outcome in outcomes:
        result += _of_call(machine, outcome, needs, caller)
    needed = tuple(outcome.name for outcome in outcomes if outcome.needed)
    stored = loader.interpreter.startswith(STORES)
    if stored:
        maker = "Nix" if loader.interpreter.startswith("/nix/") else "Guix"
        text = f"the program's loader is {maker}'s, which searches none of the system's folders"
        result.append(Symptom(Source(loader.interpreter, None, text), "nix", (("maker", maker),)))
    if caller is not None:
        result += _driver(machine, loader, caller, alone=stored)
    result += _without_simulation(machine, environment, installed, needed)
    searched = {machine.resolve(folder) for folder, _ in loader.folders(caller)}
    of_cache = {posixpath.dirname(entries[0].path) for entries in loader.cache.values()}
    searched |= {machine.resolve(folder) for folder in of_cache}
    opened = {machine.resolve(o.resolution.path): o for o in outcomes if o.resolution.path}
    with machine.noting() as unseen:
        files = on_disk(machine, environment, loader)
    if environment.problem:
        unseen = {**unseen, environment.executable or environment.prefix or "python": environment.problem}
    result += _files(files, outcomes, opened, searched, machine)
    folders = {posixpath.dirname(path) for path in opened}
    cudnn = next(
        (o.resolution.path for o in outcomes if o.resolution.path and o.name.startswith("libcudnn.so")), None
    )
    result += versions(machine, environment, installed, files, folders, searched, unseen, cudnn)
    if all(outcome.resolution.path for outcome in outcomes if outcome.needed):
        from doctor.probe.compiler import missing_tools

        runtime = next((o.resolution.path for o in outcomes if o.name.startswith("libcudart.so")), None)
        result += missing_tools(machine, environment, installed, version, platform, tables, runtime)
    result += _parts_of_cudnn(machine, outcomes, loader)
    return result


def unserved(
    machine: Machine,
    env: Mapping[str, str],
    environment: Environment,
    installed: Installed,
    names: tuple[str, ...],
) -> tuple[str, ...]:
    """The libraries among `names` that a process with these variables could not load after importing
    TensorFlow."""
    loader = Loader(machine, env, environment.program)
    caller = _import(machine, loader, environment, installed, [])[0] if installed.core is not None else None
    return tuple(name for name in names if loader.open(name, caller).path is None)


def _without_simulation(
    machine: Machine, environment: Environment, installed: Installed, names: tuple[str, ...]
) -> Iterator[Fact]:
    """If a simulated GPU is in use, whose libraries replace the environment's own: a symptom that says which
    of the libraries `names` would not load without the simulation."""
    simulated = machine.env.get(SIMULATION)
    if not simulated:
        return
    folder = posixpath.normpath(posixpath.dirname(simulated)) + "/"
    env = dict(machine.env)
    for variable in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
        parts = re.split("[: ]" if variable == "LD_PRELOAD" else ":", env.get(variable, ""))
        own = (part for part in parts if part and not posixpath.normpath(part).startswith(folder))
        env[variable] = ":".join(own)
    asked = tuple(name for name in names if name not in OF_DRIVER)
    missing = unserved(machine, env, environment, installed, asked)
    text = (
        f"without the simulation, these libraries would not load: {', '.join(missing)}"
        if missing
        else "without the simulation, all the libraries would load"
    )
    detail = (("missing", ", ".join(missing)), ("asked", ", ".join(asked)))
    yield Symptom(Source(f"${SIMULATION}", None, text), "simulated-libraries", detail)


def _import(
    machine: Machine, loader: Loader, environment: Environment, installed: Installed, result: list[Fact]
) -> tuple[Loaded | None, tuple[str, ...]]:
    """Simulate `import tensorflow` and report why it would fail. Returns the object whose dlopen calls
    follow, and the CUDA libraries that TensorFlow's own files are linked to (in the builds of NVIDIA and of
    distributions)."""
    _import_standard_library(machine, loader, environment)
    core = loader.own_folder = installed.core or ""
    linked: list[str] = []
    for name in (*EXTENSIONS, *FRAMEWORKS):
        path = f"{core}/{name}"
        if not machine.exists(path):
            continue
        outcome = loader.load(path)
        linked += _linked_to_cuda(loader, path, core)
        if outcome.unseen:
            result.append(missing(Source(path), "libraries", dict(outcome.unseen)))
        elif outcome.error and outcome.culprit not in linked:
            # for a culprit in `linked`, the dlopen call is simulated later, with the same result
            kept = loader.kept_in_store(outcome.culprit or "")
            detail = (
                ("file", path),
                ("error", outcome.message),
                ("culprit", outcome.culprit or ""),
                ("elsewhere", kept),
            )
            result.append(Symptom(Source(path, None, outcome.message), "tensorflow-library-fails", detail))
            result += _linked(path, outcome)
        break
    for name in FRAMEWORKS:
        known = loader.loaded(name)
        if known is not None:
            return known, tuple(linked)
    for name in (*FRAMEWORKS, *EXTENSIONS):
        path = f"{core}/{name}"
        try:
            return Loaded(path, elf.of(machine, path), loader.program), tuple(linked)
        except (FileNotFoundError, NotADirectoryError, elf.NotElf):
            continue
        except OSError:  # Machine has noted the failure
            break
    return None, tuple(linked)


def _import_standard_library(machine: Machine, loader: Loader, environment: Environment) -> None:
    """Load the extension modules that `import tensorflow` loads before its own libraries, through shutil
    (CPython, Lib/shutil.py). A library that they load, such as libz.so.1, is then also available to cuDNN."""
    minor = ".".join((environment.version or "").split(".")[:2])
    prefix = posixpath.dirname(posixpath.dirname(environment.program or ""))
    if minor and prefix:
        for name in ("zlib", "_bz2", "_lzma"):
            for path in machine.glob(f"{prefix}/lib*/python{minor}*/lib-dynload/{name}.*.so")[:1]:
                loader.load(path)


def _linked_to_cuda(loader: Loader, path: str, core: str) -> list[str]:
    """The CUDA libraries to which a TensorFlow file and the other TensorFlow files that it needs are linked
    (DT_NEEDED), without duplicates."""
    found: dict[str, None] = {}
    queue = [path]
    for entry in queue:
        header = loader.header(entry)
        for name in header.needed if header is not None else ():
            if LIBRARY.fullmatch(name):
                found.setdefault(name)
            elif name.startswith("libtensorflow") and f"{core}/{name}" not in queue:
                queue.append(f"{core}/{name}")
    return list(found)


def _linked(path: str, outcome: Resolution) -> Iterator[Fact]:
    """The symptom for a glibc that is too old, as a log would show it."""
    if "GLIBC_" in outcome.error and "not found" in outcome.error:
        needs = outcome.error.partition("`")[2].partition("'")[0]
        detail = (("library", "libc.so.6"), ("needs", needs), ("by", outcome.culprit or path))
        yield Symptom(Source(outcome.culprit or path, None, outcome.error), "glibc-too-old", detail)


def _of_call(machine: Machine, outcome: Outcome, needs: Wanted, caller: Loaded | None) -> Iterator[Fact]:
    """The facts about one dlopen call: which file it would load, or why it would fail."""
    name, result = outcome.name, outcome.resolution
    yield LibraryWanted(Source(f"TensorFlow loads {name}", None, needs.known_by), name, outcome.needed)
    if result.unseen:
        yield missing(Source(f"search for {name}"), "libraries", dict(result.unseen))
        return
    who = posixpath.basename(caller.path) if caller is not None else "the program"
    if result.path is not None:
        real = machine.resolve(result.path)
        text = f"dlopen({name}) from {who} would load {result.path}, found by: {result.via}"
        if real != result.path:
            text += f" -> {posixpath.basename(real)}"
        yield LibraryLoaded(Source(result.path, None, text), name, result.path)
    else:
        where, error = result.blamed or f"search for {name}", result.message
        text = f"dlopen({name}) from {who} would fail: {error}"
        culprit = result.culprit
        if culprit is not None and posixpath.basename(culprit) == name:
            culprit = None
        yield LibraryNotLoaded(Source(where, None, text), name, error, result.cause or "unknown", culprit)


def _driver(machine: Machine, loader: Loader, caller: Loaded, *, alone: bool) -> Iterator[Fact]:
    """The driver's libraries that TensorFlow finds in a folder that other programs might not search: one in
    TensorFlow's RUNPATH, as in Nix's builds, or in nix-ld's path.

    alone: whether TensorFlow's loader differs from the system's, so that it may not find the libraries that
    the system's loader finds.
    """
    for name in OF_DRIVER:
        found = loader.open(name, caller)
        if alone and found.path is None and found.cause == "absent" and name == OF_DRIVER[0]:
            source = Source(f"search for {name}", None, found.message)
            yield LibraryNotLoaded(source, name, found.message, "absent")
        if found.path is not None and found.via not in OF_THE_SYSTEM:
            source = Source(found.path, None, f"would be loaded as {name}, found by: {found.via}")
            yield LibraryLoaded(source, name, found.path)
            version = file_version(machine.resolve(found.path), name)
            if version is not None:
                yield DriverVersion(source, version, "user")


def _files(
    files: list[Found],
    outcomes: list[Outcome],
    opened: dict[str, Outcome],
    searched: set[str],
    machine: Machine,
) -> Iterator[Fact]:
    """A fact for each CUDA library on the disk: whether it would be loaded, is hidden by another, or is
    outside the search."""
    decided = {o.name: o.resolution.path for o in outcomes if o.resolution.path}
    for found in files:
        folder = machine.resolve(posixpath.dirname(found.path))
        is_searched = folder in searched
        if found.real in opened:
            text = "would be loaded"
        elif is_searched and found.name in decided:
            text = f"hidden by {decided[found.name]}"
        elif is_searched:
            text = "in a folder that the loader searches"
        else:
            text = "in a folder that the loader does not search"
        text += f", version {found.version}" if found.version else ""
        text += f"; {found.problem}" if found.problem else ""
        source = Source(found.path, None, text)
        yield LibraryFile(source, found.name, found.path, found.version, is_searched, found.problem)


def _parts_of_cudnn(machine: Machine, outcomes: list[Outcome], loader: Loader) -> Iterator[Fact]:
    """Faults in the sub-libraries of cuDNN 8 and 9. libcudnn loads each one at its first use, so a fault
    shows only then.

    A sub-library may be missing or damaged, or may need a missing system library (libz.so.1 in small images).
    """
    for outcome in outcomes:
        path = outcome.resolution.path
        if path is None or not outcome.name.startswith("libcudnn.so."):
            continue
        major = outcome.name.rpartition(".")[2]
        folder = posixpath.dirname(path)
        files = [f"{folder}/libcudnn_{part}.so.{major}" for part in CUDNN_PARTS.get(major, ())]
        if not any(machine.exists(file) for file in files):
            continue  # not NVIDIA's layout: nothing is known about its sub-libraries
        for file in files:
            problem, header = "", None
            try:
                header = elf.of(machine, file)
                if header.missing_bytes:
                    problem = f"is truncated: {header.missing_bytes} bytes are missing"
                elif machine.processor and header.machine != machine.processor:
                    problem = f"is made for {header.machine}"
            except elf.NotElf as bad:
                problem = f"cannot be loaded: {bad}"
            except (FileNotFoundError, NotADirectoryError):
                # NVIDIA's cudnn-jit packages leave the precompiled engines out on purpose
                problem = "" if "engines_precompiled" in file else "does not exist"
            except OSError as bad:
                problem = f"cannot be read: {bad.strerror}"
            if not problem and header is not None and header.needed:
                opened = loader.load(file)
                name, culprit = posixpath.basename(file), posixpath.basename(opened.culprit or "")
                # NVIDIA's own libraries are loaded earlier, wherever they are
                if opened.cause == "broken" and not culprit.startswith(("libcu", "libnv")):
                    source = Source(file, None, opened.error)
                    yield LibraryNotLoaded(source, name, opened.error, "broken", culprit or None)
            if problem:
                detail = (("path", file), ("library", outcome.name), ("problem", problem))
                yield Symptom(Source(file, None, problem), "cudnn-part-broken", detail)
