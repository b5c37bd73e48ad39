"""CUDA and cuDNN as TensorFlow would meet them: what its dlopen calls would open, and what else lies on the disk.

The calls are acted out by doctor.probe.loader with TensorFlow's own library as the caller, since its RUNPATH counts.
Nothing is loaded.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from doctor.facts import (
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
from doctor.probe.interpreter import Environment
from doctor.probe.loader import Loaded, Loader, Resolution
from doctor.probe.machine import Machine
from doctor.probe.packages import Installed
from doctor.probe.places import Found, on_disk
from doctor.probe.toolkits import versions
from doctor.probe.wanted import Wanted, platform_of, wanted
from doctor.tables import Tables

FRAMEWORKS = ("libtensorflow_framework.so.2", "libtensorflow_framework.so.1", "libtensorflow_framework.so")
EXTENSIONS = (
    "python/_pywrap_tensorflow_internal.so",
    "python/_pywrap_tensorflow.so",
    "libtensorflow_cc.so.2",
)
"""What `import tensorflow` loads; in 2.x of the last years the extension needs libtensorflow_cc."""
OF_CUDA = ("libcudart", "libcublas", "libcudnn", "libcufft", "libcurand", "libcusolver", "libcusparse")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One library that TensorFlow opens and what would come of it."""

    name: str
    needed: bool
    resolution: Resolution


def examine(
    machine: Machine, environment: Environment, installed: Installed, facts: list[Fact], tables: Tables
) -> tuple[list[Fact], Loader]:
    """Facts about the libraries, and the loader in the state after TensorFlow's import."""
    loader = Loader(machine, machine.env, environment.program)
    result: list[Fact] = []
    if loader.cache_problem:
        result.append(Unreadable(Source("/etc/ld.so.cache"), "loader cache", loader.cache_problem))
    version = next((f for f in facts if isinstance(f, TensorFlowVersion)), None)
    platform = platform_of(machine.system, machine.processor)
    needs = Wanted()
    if version is not None:
        needs = wanted(tables, version.version, version.package, platform, installed.build)
    caller = _import(machine, loader, installed, result) if installed.core is not None else None
    outcomes = [Outcome(name, needed, loader.open(name, caller)) for name, needed in needs.names]
    for outcome in outcomes:
        result += _said(machine, outcome, needs, caller)
    searched = {machine.resolve(folder) for folder, _ in loader.folders(caller)}
    of_cache = {posixpath.dirname(entries[0].path) for entries in loader.cache.values()}
    searched |= {machine.resolve(folder) for folder in of_cache}
    opened = {machine.resolve(o.resolution.path): o for o in outcomes if o.resolution.path}
    files = on_disk(machine, environment, loader)
    result += _files(files, outcomes, opened, searched, machine)
    result += versions(machine, environment, installed, files, {posixpath.dirname(path) for path in opened}, searched)
    result += _parts_of_cudnn(machine, outcomes)
    return result, loader


def _import(machine: Machine, loader: Loader, installed: Installed, result: list[Fact]) -> Loaded | None:
    """Act out `import tensorflow`, say why it would fail; the object whose dlopen calls follow comes out."""
    core = installed.core or ""
    for name in (*EXTENSIONS, *FRAMEWORKS):
        path = f"{core}/{name}"
        if not machine.exists(path):
            continue
        outcome = loader.load(path)
        if outcome.error:
            detail = (("file", path), ("error", outcome.error), ("culprit", outcome.culprit or ""))
            result.append(Symptom(Source(path, None, outcome.error), "tensorflow-library-fails", detail))
            result += _linked(path, outcome)
        break
    for name in FRAMEWORKS:
        path = f"{core}/{name}"
        known = loader.loaded(path)
        if known is not None:
            return known
    for name in (*FRAMEWORKS, *EXTENSIONS):
        path = f"{core}/{name}"
        try:
            return Loaded(path, elf.of(machine, path), loader.program)
        except (OSError, elf.NotElf):
            continue
    return None


def _linked(path: str, outcome: Resolution) -> Iterator[Fact]:
    """The glibc that is too old, under the name by which a log's reader knows it."""
    if "GLIBC_" in outcome.error and "not found" in outcome.error:
        needs = outcome.error.partition("`")[2].partition("'")[0]
        detail = (("library", "libc.so.6"), ("needs", needs), ("by", outcome.culprit or path))
        yield Symptom(Source(outcome.culprit or path, None, outcome.error), "glibc-too-old", detail)


def _said(machine: Machine, outcome: Outcome, needs: Wanted, caller: Loaded | None) -> Iterator[Fact]:
    """The facts of one call."""
    name, result = outcome.name, outcome.resolution
    yield LibraryWanted(Source(f"TensorFlow opens {name}", None, needs.known_by), name, outcome.needed)
    who = posixpath.basename(caller.path) if caller is not None else "the program"
    if result.path is not None:
        real = machine.resolve(result.path)
        text = f"dlopen({name}) from {who} would open {result.path}, found by: {result.via}"
        if real != result.path:
            text += f" -> {posixpath.basename(real)}"
        yield LibraryLoaded(Source(result.path, None, text), name, result.path)
    else:
        where = result.culprit if result.culprit and result.culprit.startswith("/") else f"search for {name}"
        if result.skipped and result.cause == "broken":
            where = result.skipped[0].path
        text = f"dlopen({name}) from {who} would fail: {result.error}"
        if result.skipped:
            text += f"; passed over: {result.skipped[0].path} ({result.skipped[0].problem})"
        culprit = result.culprit
        if culprit is not None and posixpath.basename(culprit) == name:
            culprit = None
        yield LibraryNotLoaded(Source(where, None, text), name, result.error, result.cause or "unknown", culprit)


def _files(
    files: list[Found], outcomes: list[Outcome], opened: dict[str, Outcome], searched: set[str], machine: Machine
) -> Iterator[Fact]:
    """Every CUDA library on the disk: which is opened, which is behind another, which lies where nobody looks."""
    decided = {o.name: o.resolution.path for o in outcomes if o.resolution.path}
    for found in files:
        folder = machine.resolve(posixpath.dirname(found.path))
        looked = folder in searched
        if found.real in opened:
            said = "would be opened"
        elif looked and found.name in decided:
            said = f"behind {decided[found.name]}"
        elif looked:
            said = "in a folder that the loader searches"
        else:
            said = "in a folder that the loader does not search"
        version = f", version {found.version}" if found.version else ""
        problem = f"; {found.problem}" if found.problem else ""
        yield LibraryFile(
            Source(found.path, None, said + version + problem), found.name, found.path, found.version, looked
        )


def _parts_of_cudnn(machine: Machine, outcomes: list[Outcome]) -> Iterator[Fact]:
    """cuDNN 8 and 9 are in parts that libcudnn opens when they are first used: a missing or broken one shows only then.

    Names: the files in NVIDIA's cuDNN 8 and 9 packages.
    """
    for outcome in outcomes:
        path = outcome.resolution.path
        if path is None or not outcome.name.startswith("libcudnn.so."):
            continue
        major = outcome.name.rpartition(".")[2]
        parts = {
            "8": ("ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train"),
            "9": ("ops", "cnn", "adv", "graph", "heuristic", "engines_precompiled", "engines_runtime_compiled"),
        }.get(major, ())
        folder = posixpath.dirname(path)
        files = [f"{folder}/libcudnn_{part}.so.{major}" for part in parts]
        if not any(machine.exists(file) for file in files):
            continue  # another layout than NVIDIA's: nothing can be said of its parts
        for file in files:
            problem = ""
            if not machine.exists(file):
                # NVIDIA's cudnn-jit packages leave the precompiled engines out on purpose
                problem = "" if "engines_precompiled" in file else "is not there"
            else:
                try:
                    header = elf.of(machine, file)
                    if header.missing_bytes:
                        problem = f"is truncated: {header.missing_bytes} bytes of it are missing"
                    elif header.machine != machine.processor:
                        problem = f"is made for {header.machine}"
                except elf.NotElf as bad:
                    problem = f"cannot be loaded: {bad}"
                except OSError as bad:
                    problem = f"cannot be read: {bad.strerror}"
            if problem:
                detail = (("path", file), ("library", outcome.name), ("problem", problem))
                yield Symptom(Source(file, None, problem), "cudnn-part-broken", detail)
