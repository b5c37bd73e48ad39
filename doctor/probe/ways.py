"""Chooses which way of starting the program is examined, and finds out what the other ways would change.

On a live machine, the examined way is this process. In another root it is the first of these that exists: a
service, notebook, editor or job that refers to the environment's Python; the container's first process; the
activated environment of its user.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from doctor.facts import (
    Absent,
    Fact,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    LibraryWanted,
    Source,
    Symptom,
)
from doctor.probe import interpreter, python_paths
from doctor.probe.accounts import account_of
from doctor.probe.interpreter import Environment, FoundPython
from doctor.probe.libraries import unserved
from doctor.probe.machine import Machine
from doctor.probe.missing import missing
from doctor.probe.packages import Installed
from doctor.probe.places import LIBRARY
from doctor.values import dataclass, field, replace

if TYPE_CHECKING:
    from doctor.probe.starts import Start  # at run time it is imported only if needed

SOFTWARE = (
    *(f"{root}/software/{name}/*" for root in ("/opt/*", "/apps", "/apps/*", "/sw", "", "/easybuild")
      for name in ("CUDA", "cuDNN")),
    *(f"{root}/opt/spack/*/*/{name}-*" for root in ("/opt/spack", "/spack", "/home/*/spack")
      for name in ("cuda", "cudnn")),
)  # fmt: skip
"""The folders in which EasyBuild and Spack install the software of their modules."""


@dataclass
class Ways:
    """The ways to start the program on one machine. `machine` has the variables of the way that is examined
    first.

    candidates: the ways that people may use to start the program, the one in `machine` first; () if the
    process and its variables are known.
    chosen: the way that is examined; None if it is the process in `machine`.
    plain: the way without any activation; None if it is the same as the way in `machine`, or not known.
    unseen: the files that set variables but could not be read, each with the reason.
    python: the result of interpreter.find; None if it has not been called.
    """

    machine: Machine
    candidates: tuple[Start, ...] = ()
    plain: Start | None = None
    chosen: Start | None = None
    unseen: Mapping[str, str] = field(default_factory=dict)
    python: FoundPython | None = None

    @classmethod
    def of(cls, machine: Machine, python: str | None) -> Ways:
        """Find the ways to start the program on a machine. python: the interpreter or environment that was
        requested, if any. Raises NoPythonError as doctor.probe.interpreter.find does."""
        if machine.live or machine.env or machine.system != "linux":
            return cls(machine)
        from doctor.probe import starts

        with machine.noting() as unseen:
            plain = starts.base(machine)
        found = replace(machine, env=_for_search(plain))
        where = interpreter.find(found, python)
        executable, prefix = where.executable, where.folder
        machine = replace(machine, account=account_of(machine, prefix))
        candidates: tuple[Start, ...] = (plain,)
        if prefix is not None:
            site = tuple(python_paths.site_folders(machine, prefix, None))
            with machine.noting() as unseen:
                plain = starts.base(machine, prefix, site)
                active = starts.activated(machine, plain, prefix, site)
            if plain.kind == "login":
                candidates = tuple(starts.explicit(machine, prefix, site)) or (active,)
            elif not starts.is_python(starts.first_program(machine), prefix):
                # a user who starts a program there may first activate the environment
                candidates = (plain, active)
        if plain.kind == "login" and not any(_has_tensorflow(machine, where, s) for s in candidates):
            version = None
            if python is not None and prefix is not None:
                version = python_paths.paths(machine, prefix, executable).version
            for start in starts.of_tensorflow(machine, plain, version):
                other = where if python is not None else interpreter.find(_started(machine, start))
                if _has_tensorflow(machine, other, start):
                    where, candidates, executable = other, (start,), other.executable
                    break
        set_by = python_paths.behind_wrapper(machine, executable)[1] if executable is not None else {}
        candidates = tuple(_wrapped(start, set_by, executable or "") for start in candidates)
        visible = [start for start in candidates if not _hides(start)]
        candidates = (*visible, *(start for start in candidates if start not in visible))
        first = candidates[0]
        known = where if where.found_by else None
        return cls(_started(machine, first), candidates, plain, first, unseen, known)

    def better(self, facts: Sequence[Fact], environment: Environment, installed: Installed) -> Machine | None:
        """The machine with the variables of another way to start the program, if that way finds all needed
        libraries and the first way does not; otherwise None."""
        names = _needed(facts)
        if not _failing(facts) or _broken(facts):
            return None
        for start in self.candidates[1:]:
            if not _hides(start) and not unserved(self.machine, start.env, environment, installed, names):
                self.chosen = start
                return _started(self.machine, start)
        return None

    def explained(self, facts: list[Fact], environment: Environment, installed: Installed) -> list[Fact]:
        """The facts, with symptoms that say what another way to start the program would change."""
        failing = _failing(facts)
        if self.machine.system != "linux" or not _needed(facts) or _broken(facts):
            return facts
        env = self.chosen.env if self.chosen is not None else self.machine.env
        by_module = self.chosen is not None and self.chosen.kind == "modules"
        if not failing and not env.get("LD_LIBRARY_PATH") and not by_module:
            return facts
        from doctor.probe import starts
        from doctor.probe.module_files import modules

        here = starts.Start("process", "this process", self.machine.env, self.machine.origins)
        chosen = self.chosen or here
        if not failing:
            return [*facts, *self._only_so(chosen, facts, environment, installed)]
        names = _needed(facts)
        for start in self._others(chosen, environment):
            other = start.env.get("LD_LIBRARY_PATH") != chosen.env.get("LD_LIBRARY_PATH")
            if other and not unserved(self.machine, start.env, environment, installed, names):
                return [*facts, _would_serve(start, chosen, failing)]
        known = modules(self.machine)
        loaded = starts.with_modules(self.machine, chosen, failing, known)
        if loaded is not None and not unserved(self.machine, loaded.env, environment, installed, names):
            facts = [*facts, _would_serve(loaded, chosen, failing)]
        folders = [folder for module in known for folder in module.folders()]
        return [_in_doubt(fact, self.unseen) for fact in _with_files(self.machine, facts, folders)]

    def _others(self, chosen: Start, environment: Environment) -> Iterator[Start]:
        """The ways to start the program other than the chosen one."""
        from doctor.probe import starts

        machine, prefix = self.machine, environment.prefix
        yield from (start for start in self.candidates if start is not chosen)
        own = starts.first_process(machine)
        if own and chosen.kind == "process":
            yield starts.of_first_process(own)
        if prefix is None:
            return
        login = starts.base(machine, prefix, environment.path)
        under = starts.Start("process", "", machine.env) if chosen.kind == "process" else login
        yield starts.activated(machine, under, prefix, environment.path)
        yield login
        if chosen.kind == "process":
            yield from starts.explicit(machine, prefix, environment.path)

    def _only_so(
        self, chosen: Start, facts: Sequence[Fact], environment: Environment, installed: Installed
    ) -> Iterator[Fact]:
        """Yield a symptom if the libraries are found only because an activation, a notebook, a service or a
        job sets variables."""
        if chosen.kind == "modules":  # without them there is no TensorFlow
            yield _symptom("start-needed", chosen, ("tensorflow",))
            return
        folders = chosen.env.get("LD_LIBRARY_PATH")
        if not folders or not any(
            isinstance(f, LibraryLoaded) and "LD_LIBRARY_PATH" in f.source.text for f in facts
        ):
            return
        from doctor.probe import starts

        plain, prefix = self.plain, environment.prefix
        start = chosen
        if plain is None and prefix is not None:  # for this process: does an activation set LD_LIBRARY_PATH?
            unset = {name: value for name, value in chosen.env.items() if name != "LD_LIBRARY_PATH"}
            bare = starts.Start("login", "", unset)
            start = starts.activated(self.machine, bare, prefix, environment.path)
            plain = bare if start.origin("LD_LIBRARY_PATH") is not None else None
        if plain is None or plain.env.get("LD_LIBRARY_PATH") == folders:
            return
        missing = unserved(self.machine, plain.env, environment, installed, _needed(facts))
        if missing:
            yield _symptom("start-needed", start, missing)


def _has_tensorflow(machine: Machine, python: FoundPython, start: Start) -> bool:
    """Whether the Python interpreter finds a module named tensorflow if it is started in this way."""
    if python.folder is None:
        return False
    found = python_paths.paths(_started(machine, start), python.folder, python.executable)
    folders = (*python_paths.named_folders(machine, start.env, found.version), *found.folders)
    return any(machine.is_dir(f"{folder}/tensorflow") for folder in folders)


def _in_doubt(fact: Fact, unseen: Mapping[str, str]) -> Fact:
    """Return the fact. If it reports a missing library, and a file that may list the library's folder could
    not be read, return it with an unknown cause instead."""
    what = fact.what if isinstance(fact, Absent) and fact.what in ("cuda", "cudnn") else ""
    if isinstance(fact, LibraryNotLoaded) and fact.cause == "absent":
        what = "libraries"
    return missing(fact.source, what, unseen) if unseen and what else fact


def _wrapped(start: Start, values: Mapping[str, str], program: str) -> Start:
    """Return `start` with the variables that the program itself sets. In a path variable, the program's own
    folders come before the inherited ones."""
    env = {name: f"{value}:{start.env[name]}" if start.env.get(name) and name.endswith("PATH") else value
           for name, value in values.items()}  # fmt: skip
    if not env:
        return start
    return replace(
        start, env={**start.env, **env}, origins={**start.origins, **dict.fromkeys(env, Source(program))}
    )


def _started(machine: Machine, start: Start) -> Machine:
    """The machine with the variables of this way to start a program."""
    return replace(machine, env=dict(start.env), origins=start.origins)


def _for_search(start: Start) -> Mapping[str, str]:
    """The variables to use in the search for Python: the variables of `start`, but PATH only for a container,
    because a login shell's PATH does not show which Python interpreter is used."""
    return start.env if start.kind == "container" else {k: v for k, v in start.env.items() if k != "PATH"}


def _hides(start: Start) -> bool:
    """Whether this way to start a program hides all GPUs from it."""
    value = start.env.get("CUDA_VISIBLE_DEVICES")
    return value is not None and value.strip() in ("", "-1")


def _needed(facts: Sequence[Fact]) -> tuple[str, ...]:
    """The libraries that TensorFlow needs to use a GPU, without the driver's: no path variable leads to
    those."""
    wanted = (fact.name for fact in facts if isinstance(fact, LibraryWanted) and fact.needed)
    return tuple(name for name in wanted if not name.startswith(("libcuda.", "libnvidia-")))


def _failing(facts: Sequence[Fact]) -> tuple[str, ...]:
    """The needed libraries that would not load."""
    needed = set(_needed(facts))
    return tuple(fact.name for fact in facts if isinstance(fact, LibraryNotLoaded) and fact.name in needed)


def _broken(facts: Sequence[Fact]) -> bool:
    return any(isinstance(fact, LibraryNotLoaded) and fact.cause == "broken" for fact in facts)


def _would_serve(start: Start, chosen: Start, missing: tuple[str, ...]) -> Symptom:
    """The symptom that the libraries `missing` would load with `start`, but do not with `chosen`."""
    origin = chosen.origins.get("")
    failing = (
        ("of", chosen.name),
        ("of_kind", chosen.kind),
        ("of_file", origin.where if origin is not None else ""),
    )
    return _symptom("start-would-serve", start, missing, failing)


def _symptom(
    kind: str, start: Start, missing: tuple[str, ...], more: tuple[tuple[str, str], ...] = ()
) -> Symptom:
    value = start.env.get("LD_LIBRARY_PATH", "")
    source = start.origin("LD_LIBRARY_PATH") or start.origins.get("") or Source(start.name)
    detail = (
        ("missing", ", ".join(missing)),
        ("kind", start.kind),
        ("name", start.name),
        ("file", source.where),
        ("modules", " ".join(start.names)),
        ("value", value),
        *more,
    )
    return Symptom(source, kind, detail)


def _with_files(machine: Machine, facts: list[Fact], folders: Sequence[str]) -> list[Fact]:
    """The facts, with added facts for the CUDA libraries in `folders` and in the folders of modules,
    EasyBuild and Spack. Facts that say that these libraries are absent are left out."""
    homes = (home for pattern in SOFTWARE for home in machine.glob(pattern))
    of_homes = (f"{home}/{part}" for home in homes for part in ("lib64", "lib"))
    known = {fact.path for fact in facts if isinstance(fact, LibraryFile)}
    more: list[LibraryFile] = []
    for folder in dict.fromkeys((*folders, *of_homes)):
        for name in machine.names_seen(folder):
            path = posixpath.join(folder, name)
            if LIBRARY.fullmatch(name) and name[-1].isdigit() and path not in known and machine.exists(path):
                source = Source(path, None, "in a folder that the loader does not search")
                more.append(LibraryFile(source, name, path, None, False))
    stems = {fact.name.partition(".")[0] for fact in more}
    parts = {"cuda": "libcudart", "cudnn": "libcudnn"}
    kept = [f for f in facts if not (isinstance(f, Absent) and parts.get(f.what) in stems)]
    return [*kept, *more]
