"""Finds the Python environment in use: which interpreter, and where it looks for packages.

The search order is VIRTUAL_ENV, CONDA_PREFIX, python3 and python on PATH, and the interpreter that runs
tfgpu-doctor. The interpreter runs a script that reports its folders (_ask_python.py). If no program may be
run (in another root), or if the interpreter does not answer, its files are read instead.
"""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Mapping
from typing import NamedTuple

from doctor import lazy
from doctor.facts import EnvironmentKind, Fact, PythonVersion, Source, Symptom, Unreadable
from doctor.probe.machine import Machine
from doctor.probe.missing import missing
from doctor.probe.python_paths import (
    behind_shim,
    behind_wrapper,
    environment_of,
    environments,
    named_folders,
    paths,
    site_folders,
)
from doctor.probe.script import listed, run_script
from doctor.values import dataclass, field, replace

LIMIT = 15.0
"""The interpreter's time limit in seconds: a cold start from a network file system takes several seconds."""
_VERSION = lazy.compile(r"\d+\.\d+\.\d+(?:[abcr]\d+)?\Z")
_MINOR = lazy.compile(r"python3\.\d{1,2}")
IN_ENVIRONMENT = ("bin/python", "bin/python3", "python.exe", "Scripts/python.exe")


class NoPythonError(ValueError):
    """The requested interpreter or environment does not exist."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python environment. Its paths are as the examined machine sees them.

    path: the folders that Python searches for packages, in order; before: PYTHONPATH and the current folder,
    which come first; prefix: the environment's folder; program: the real program file, whose RPATH affects
    the loader; problem: why the environment is only partly known, so `path` may lack folders.
    """

    executable: str | None
    found_by: str
    version: str | None = None
    bits: int | None = None
    prefix: str | None = None
    program: str | None = None
    path: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    conda: bool = False
    facts: tuple[Fact, ...] = field(default=())
    problem: str = ""


class FoundPython(NamedTuple):
    """The result of `find`: the interpreter's path (None if there is none, or if only its environment was
    found), how it was found ("" if it was not), and the environment's folder (None if unknown)."""

    executable: str | None
    found_by: str
    folder: str | None


def find(machine: Machine, wanted: str | None = None) -> FoundPython:
    """Find the interpreter to examine. wanted: the path or name of an interpreter, or an environment's
    folder; None means the interpreter in use. Raises NoPythonError if `wanted` does not exist."""
    if wanted is not None:
        wanted = _whole_path(machine, wanted)
        with machine.noting() as unseen:
            machine.status(wanted)
        for reason in unseen.values():
            raise NoPythonError(f"{wanted} cannot be examined: {reason}")
        if machine.is_dir(wanted):
            inside = _inside(machine, wanted)
            if inside is None and not site_folders(machine, wanted, None):
                why = "neither bin/python nor python.exe is in it"
                for link in (f"{wanted}/bin/python3", f"{wanted}/bin/python"):
                    target = machine.readlink(link)
                    if target is not None:
                        why = f"{link} leads to {target}, which does not exist"
                raise NoPythonError(f"{wanted} contains no Python: {why}")
            return FoundPython(inside, "--python", wanted)
        if not machine.exists(wanted):
            if "/" not in wanted and (on_path := machine.which(wanted)):
                return FoundPython(on_path, "--python", None)
            around = posixpath.dirname(posixpath.dirname(wanted))
            if not machine.live and machine.readlink(wanted) and site_folders(machine, around, None):
                # the interpreter is on a disk that is not part of the copy
                return FoundPython(None, "--python", around)
            raise NoPythonError(f"{wanted} does not exist")
        return FoundPython(wanted, "--python", environment_of(machine, wanted))
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = machine.env.get(variable)
        if folder:
            inside = _inside(machine, folder)
            if inside is not None or site_folders(machine, folder, None):
                return FoundPython(inside, f"${variable}", folder)
    for name in ("python3", "python"):
        on_path = machine.which(name)
        if on_path is not None and "WindowsApps" not in on_path:
            return FoundPython(on_path, "PATH", environment_of(machine, on_path))
    if machine.live:
        return FoundPython(sys.executable, "default (the Python that runs tfgpu-doctor)", sys.prefix)
    every = [folder for folder in environments(machine) if _has_packages(machine, folder)]
    for folder in every:
        for inside in _pythons(machine, folder):
            if any(machine.is_dir(f"{path}/tensorflow") for path in paths(machine, folder, inside).folders):
                return FoundPython(inside, "a search for TensorFlow", folder)
    if every:
        return FoundPython(_inside(machine, every[0]), "a search for interpreters", every[0])
    return FoundPython(None, "", None)


def _has_packages(machine: Machine, folder: str) -> bool:
    """Whether an environment has a folder for packages. On Windows, this may be only the user's own package
    folder."""
    alone = machine.system == "windows" and bool(paths(machine, folder, None).folders)
    return alone or bool(site_folders(machine, folder, None))


def _whole_path(machine: Machine, wanted: str) -> str:
    """Return the requested path as an absolute path, because launch scripts and service units refer to
    environments by absolute path."""
    if machine.system == "windows" or wanted.startswith("/") or "/" not in wanted.rstrip("/"):
        return wanted
    return os.path.abspath(wanted) if machine.live else posixpath.normpath(f"/{wanted}")  # noqa: PTH100


def examine(machine: Machine, wanted: str | None = None, found: FoundPython | None = None) -> Environment:
    """The environment in use, with the facts about it. found: the result of `find`, if known. Raises
    NoPythonError as `find` does."""
    with machine.noting() as unseen:
        executable, found_by, folder = found or find(machine, wanted)
    if executable is None and folder is None:
        source = Source("VIRTUAL_ENV, CONDA_PREFIX, PATH", None, "no Python found")
        fact = missing(source, "python", unseen)
        problem = fact.reason if isinstance(fact, Unreadable) else ""
        return Environment(None, "", facts=(fact,), problem=problem)
    doubt = _passed_over(machine, folder, unseen)
    if "python" in machine.recorded or (executable is not None and machine.live):
        asked = _ask(machine, executable or "python", found_by)
        if isinstance(asked, Environment):
            return asked if doubt is None else _doubted(asked, doubt)
        doubt = asked
    with machine.noting() as unseen:
        read = _read(machine, executable, found_by, folder)
    if doubt is None and unseen:
        path, reason = next(iter(unseen.items()))
        return replace(read, problem=f"{path} could not be examined ({reason})")
    return read if doubt is None else _doubted(read, doubt)


def _doubted(environment: Environment, problem: Unreadable) -> Environment:
    return replace(environment, facts=(problem, *environment.facts), problem=problem.reason)


def _passed_over(machine: Machine, folder: str | None, unseen: Mapping[str, str]) -> Unreadable | None:
    """Return a fact if a variable marks an environment as active but that environment could not be examined,
    so that another one was used; otherwise None."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        named = machine.env.get(variable)
        if named and named == folder:
            return None
        path = next((path for path in unseen if named and path.startswith(named)), None)
        if path is not None:
            reason = f"${variable} is {named}, which could not be examined ({unseen[path]})"
            return Unreadable(Source(path), "python", reason)
    return None


def _ask(machine: Machine, executable: str, found_by: str) -> Environment | Unreadable:
    """The environment as the interpreter reports it, or the reason why it did not answer."""
    for options in (("-I", "-B"), ("-E", "-s", "-B")):  # Python 2 knows no -I
        ran, answers = run_script(machine, "python", [executable, *options], "_ask_python.py", LIMIT)
        if answers and isinstance(answers[0], dict) and _VERSION.match(str(answers[0].get("version"))):
            return _answered(machine, executable, found_by, answers[0])
        if ran is None or ran.status != 2:
            break
    source = Source(executable, None, "asked for its sys.path")
    if ran is None or ran.timed_out:
        return Unreadable(source, "python", f"{executable} did not answer in {LIMIT:.0f} s")
    if ran.failure:
        return Unreadable(source, "python", f"{executable} did not answer: {ran.failure}")
    silent = "it printed something other than the answer" if ran.out.strip() else "no output"
    last = (ran.err.strip().splitlines() or [silent])[-1]
    return Unreadable(source, "python", f"{executable} did not answer (status {ran.status}): {last}")


def _answered(machine: Machine, executable: str, found_by: str, answer: dict[str, object]) -> Environment:
    def words(key: str) -> tuple[str, ...]:
        return tuple(listed(answer.get(key), str))

    prefix = str(answer.get("prefix") or "")
    bits = answer.get("bits")
    version = str(answer.get("version") or "")
    return _environment(
        machine,
        executable=str(answer.get("executable") or executable),
        found_by=found_by,
        version=version,
        bits=bits if isinstance(bits, int) else None,
        prefix=prefix,
        program=str(answer.get("real_executable") or executable),
        path=words("path"),
        before=words("python_path"),
        venv=answer.get("prefix") != answer.get("base_prefix"),
        build=_build(answer.get("implementation") == "pypy", bool(answer.get("free_threaded"))),
        stated_by="the interpreter's own sys.version_info",
    )


def _read(machine: Machine, executable: str | None, found_by: str, folder: str | None) -> Environment:
    """The environment as its files describe it."""
    prefix = folder or "/usr"
    if executable is not None and (real := behind_shim(machine, executable)) != executable:
        executable, prefix = real, environment_of(machine, real) or prefix
    elif executable is not None and (real := behind_wrapper(machine, executable)[0]) != executable:
        executable = real
        if not site_folders(machine, prefix, None):
            prefix = environment_of(machine, real) or prefix
    found = paths(machine, prefix, executable)
    program = executable or _inside(machine, prefix)
    if machine.system == "windows" and found.home:  # a venv's python.exe only starts the one in `home`
        program = f"{found.home.rstrip(chr(92))}\\python.exe"
    names = (*found.folders, program or "")
    return _environment(
        machine,
        executable=executable,
        found_by=found_by,
        version=found.version,
        bits=None,
        prefix=prefix,
        program=machine.resolve(program) if program else None,
        path=found.folders,
        before=tuple(named_folders(machine, machine.env, found.version)),
        venv=found.venv,
        build=_build(any(map(_PYPY.search, names)), any(map(_FREE_THREADED.search, names))),
        stated_by=found.stated_by,
    )


_FREE_THREADED = lazy.compile(r"/lib(?:64)?/python3\.\d{1,3}t/|/python3\.\d{1,3}t(?:\.exe)?$")
_PYPY = lazy.compile(r"/lib(?:64)?/pypy3|/pypy3?(?:\.\d{1,3})?(?:\.exe)?$")
"""Match a folder in the library folder, or the program, of CPython's free-threaded build (python3.13t) and of
PyPy. Other folders of a path may have any name."""


def _build(pypy: bool, free_threaded: bool) -> str:
    """The name of a Python build for which TensorFlow has no wheels; "" for CPython's default build. All
    wheels in the tables are tagged cpXY-cpXY; the free-threaded build accepts only cpXY-cpXYt, and PyPy only
    ppXY."""
    return "PyPy" if pypy else "the free-threaded build of CPython" if free_threaded else ""


def _environment(
    machine: Machine,
    *,
    executable: str | None,
    found_by: str,
    version: str | None,
    bits: int | None,
    prefix: str | None,
    program: str | None,
    path: tuple[str, ...],
    before: tuple[str, ...],
    venv: bool,
    build: str,
    stated_by: str,
) -> Environment:
    """Create an Environment and the facts about it. build: as `_build` returns it; stated_by: where the
    version comes from."""
    facts: list[Fact] = []
    conda = bool(prefix) and machine.is_dir(f"{prefix}/conda-meta")
    where = executable or prefix or "python"
    if version:
        source = Source(where, None, f"{version}, from {stated_by}; found by {found_by}")
        facts.append(PythonVersion(source, version, bits, executable))
    else:
        facts.append(Unreadable(Source(where), "python version", "its files do not state its version"))
    if build:
        facts.append(Symptom(Source(where, None, build), "python-without-wheels", (("build", build),)))
    if conda:
        facts.append(EnvironmentKind(Source(f"{prefix}/conda-meta"), "conda"))
    elif venv:
        facts.append(EnvironmentKind(Source(f"{prefix}/pyvenv.cfg"), "venv"))
    return Environment(
        executable, found_by, version, bits, prefix, program, path, before, conda, tuple(facts)
    )


def _pythons(machine: Machine, folder: str) -> list[str | None]:
    """The interpreters in an environment's folder: first the interpreter that `python3` starts (None if there
    is none), then those with a version in their names."""
    own = _inside(machine, folder)
    names = machine.names_seen(f"{folder}/bin") if machine.system != "windows" else []
    others = [f"{folder}/bin/{name}" for name in names if _MINOR.fullmatch(name)]
    return [own, *reversed(others)]


def _inside(machine: Machine, folder: str) -> str | None:
    """The first interpreter in an environment's folder; None if there is none."""
    for name in IN_ENVIRONMENT:
        path = f"{folder.rstrip('/')}/{name}"
        if machine.exists(path):
            return path
    return None
