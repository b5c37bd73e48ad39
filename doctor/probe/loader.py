"""Simulates glibc's dynamic loader on files: which file would be loaded for a library name, and why.

Input: a machine, and a process's environment variables and program. Output: `Resolution`s. Nothing is loaded.
The search order is glibc's (elf/dl-load.c, _dl_map_object): what is already loaded under that name; DT_RPATH
of the caller, of the objects that loaded it and of the program (only if the caller has no DT_RUNPATH);
LD_LIBRARY_PATH; DT_RUNPATH of the caller; /etc/ld.so.cache; the loader's built-in folders. A file for another
processor or ELF class is skipped silently (open_verify); any other unusable file ends the search with an
error.

A library that dlopen loads must also find its symbols (doctor.probe.symbols). Not simulated: versioned
symbols, LD_AUDIT, setuid. LD_PRELOAD counts only as a possible source of symbols.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
from collections.abc import Iterator, Mapping

from doctor import lazy
from doctor.backports import removeprefix
from doctor.probe import containers, elf, ldcache, loader_places, symbols
from doctor.probe.cpu import subfolders
from doctor.probe.inside import reason
from doctor.probe.machine import Machine
from doctor.probe.project_files import UNREAD
from doctor.probe.resolution import Candidate, Loaded, Refused, Resolution, refused
from doctor.values import replace

NO_SUCH_FILE = "cannot open shared object file: No such file or directory"
OF_DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
"""Libraries that belong to the driver, not to the system or the environment."""
DEFAULT_STEP = "default folder"
ALWAYS_THERE = lazy.compile(
    r"(lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+|resolv)\.so\.\d+|ld-linux.*\.so\.\d|linux-vdso.*)$"
)
"""Libraries of the C and C++ runtimes. Every running Python interpreter finds them, even if a record leaves
them out; but an interpreter that Nix or Guix built does not find the C++ libraries (Loader.kept_in_store)."""
TOKEN = lazy.compile(r"\$(?:(ORIGIN|LIB|PLATFORM)|\{(ORIGIN|LIB|PLATFORM)\})")
OF_CPP = ("libstdc++.so.6", "libgcc_s.so.1")


class Loader:
    """The loader of one process. `program` is the path of the running program, `env` its environment
    variables."""

    def __init__(
        self, machine: Machine, env: Mapping[str, str], program: str | None = None, bits: int = 64
    ) -> None:
        self.machine, self.bits = machine, bits
        self.processor = machine.processor
        self.own_folder = ""  # TensorFlow's package, searched last for its own libraries
        self.objects: list[Loaded] = []
        self._headers: dict[str, elf.Elf | str | OSError | None] = {}
        self._unseen: list[tuple[str, str]] = []
        self._below: dict[str, tuple[str, ...]] = {}
        self.interpreter = "/lib64/ld-linux-x86-64.so.2"
        self.program: Loaded | None = None
        if program is not None:
            path = machine.resolve(program)
            header = self._header(path)
            if isinstance(header, elf.Elf):
                self.program = Loaded(path, header)
                self.processor = self.processor or header.machine
                self.interpreter = header.interpreter or self.interpreter
        elif self.processor == "aarch64":
            self.interpreter = "/lib/ld-linux-aarch64.so.1"
        named = loader_places.library_path(machine, env, self.interpreter if self.program else None)
        self.library_path = [(self._absolute(folder), via) for folder, via in named]
        with machine.noting() as unseen:
            self._cache = loader_places.cache(
                machine, self.processor, self.interpreter, self.program.path if self.program else ""
            )
            self.default_folders = loader_places.default_folders(machine, self.interpreter, self.processor)
        self.cache, self.cache_problem = self._cache.entries, self._cache.problem
        self._unseen += unseen.items()
        self.glibc, self.c_library = loader_places.glibc(self.default_folders, self.header)
        self._levels = subfolders(machine, self.glibc)
        self.preloaded = self._preloaded(env.get("LD_PRELOAD", ""))
        if self.program is not None:
            self.objects.append(self.program)
            self._load_needed(self.program, strict=False)

    # --- for callers ------------------------------------------------------------------------------

    def load(self, path: str) -> Resolution:
        """Load a file by its path, with its dependencies, as importing an extension module does."""
        header = self._header(path)
        if not isinstance(header, elf.Elf):
            if isinstance(header, OSError):
                why = reason(header)
                return Resolution(path, error=why, cause="unknown", culprit=path, unseen=((path, why),))
            cause = "absent" if header is None else "broken"
            return Resolution(path, error=header or NO_SUCH_FILE, cause=cause, culprit=path)
        if foreign := self.foreign(header):
            return Resolution(path, error=f"{path}: {foreign}", cause="broken", culprit=path)
        return self._map(
            posixpath.basename(path), Loaded(path, header, self.program), Candidate(path, "its path"), ()
        )

    def open(self, name: str, caller: Loaded | None = None) -> Resolution:
        """The result of dlopen(name) called from `caller` (by default the program); what it loads stays
        loaded."""
        known = self._known(name)
        if known is not None:
            return Resolution(name, known.path, "loaded before as a dependency")
        caller = caller or self.program
        try:
            found, header, skipped, shadowed = self._search(name, caller)
        except Refused as refusal:
            return refused(name, refusal, "", ())
        result = self._map(name, Loaded(found.path, header, caller), found, shadowed, bind=True)
        return replace(result, skipped=(*skipped, *result.skipped)) if skipped else result

    def loaded(self, name: str) -> Loaded | None:
        """The first loaded object with this file name, from any folder; None if there is none."""
        return next((entry for entry in self.objects if posixpath.basename(entry.path) == name), None)

    def folders(self, caller: Loaded | None = None) -> list[tuple[str, str]]:
        """The folders that are searched for a dlopen call from `caller`, each with the name of the search
        step. The loader's cache is not included."""
        return list(self._folders(caller or self.program))

    def header(self, path: str) -> elf.Elf | None:
        """A file's header; None if it is unusable or missing."""
        header = self._header(path)
        return header if isinstance(header, elf.Elf) else None

    def kept_in_store(self, name: str) -> str:
        """The path of a C++ runtime library in the store of Nix or Guix, if the store's own loader is used,
        which searches neither the system's folders nor this library's folder; "" if there is none, or if the
        search is not fully known."""
        alone = self.interpreter.startswith(loader_places.STORES) or self.glibc is None
        unknown = any(folder.startswith(UNREAD) for folder, _ in self.library_path)
        if not alone or unknown or name not in OF_CPP:
            return ""
        patterns = (f"{store}*gcc*/lib/{name}" for store in loader_places.STORES)
        return next((path for pattern in patterns for path in self.machine.glob(pattern)), "")

    # --- the search -------------------------------------------------------------------------------

    def _search(
        self, name: str, caller: Loaded | None
    ) -> tuple[Candidate, elf.Elf, tuple[Candidate, ...], tuple[Candidate, ...]]:
        """The file at which the search ends, its header, the files skipped before it, and the candidates
        after it. Raises Refused."""
        chosen: tuple[Candidate, elf.Elf] | None = None
        passed: list[Candidate] = []
        behind: list[Candidate] = []
        other_class = False
        seen: set[str] = set()
        unseen = [*self._unseen]
        for path, via in self._paths(name, caller):
            if path in seen:
                continue
            seen.add(path)
            header = self._header(path)
            if header is None:
                target = self.machine.readlink(path)
                if target is not None and chosen is None:
                    passed.append(Candidate(path, via, f"a link to {target}, which does not exist"))
                continue
            if isinstance(header, OSError):  # glibc then continues the search (elf/dl-load.c, open_path)
                if chosen is None and self.machine.exists(path):
                    passed.append(Candidate(path, via, reason(header)))
                else:
                    unseen.append((path, reason(header)))
                continue
            real = self.machine.resolve(path)
            if real != path and real in seen:
                continue
            seen.add(real)
            if isinstance(header, str):
                if chosen is not None:
                    behind.append(Candidate(path, via, header))
                    continue
                raise Refused(f"{path}: {header}", "broken", path, passed)
            problem = self.foreign(header)
            if problem:
                other_class |= chosen is None and header.bits != self.bits
                (behind if chosen else passed).append(Candidate(path, via, problem))
            elif chosen is None:
                chosen = (Candidate(path, via), header)
            else:
                behind.append(Candidate(path, via))
        if chosen is None:
            if name in OF_DRIVER:
                unseen += containers.driver_from_host(self.machine).items()
            blame = passed[0].path if passed else None
            error = f"wrong ELF class: ELFCLASS{96 - self.bits}" if other_class else NO_SUCH_FILE
            cause = "broken" if passed else "unknown" if unseen else "absent"
            raise Refused(f"{name}: {error}", cause, blame, passed, tuple(unseen) if not passed else ())
        return chosen[0], chosen[1], tuple(passed), tuple(behind)

    def _paths(self, name: str, caller: Loaded | None) -> Iterator[tuple[str, str]]:
        """Every path that the loader would try for a name, in the order in which it tries them, each with the
        name of the search step."""
        if "/" in name:
            yield self._absolute(name), "its path"
            return
        cached = False
        for folder, via in self._folders(caller):
            if via == DEFAULT_STEP and not cached:
                cached = True
                yield from self._cached(name)
            for below in self._subfolders(folder):
                yield posixpath.join(folder, below, name), via
        if not cached and not (caller and caller.header.no_default_folders):
            yield from self._cached(name)
        # every TensorFlow build has this folder in its RUNPATH or RPATH, but a copied file may have lost it
        if self.own_folder and name.startswith("libtensorflow"):
            yield posixpath.join(self.own_folder, name), "TensorFlow's own folder"

    def _folders(self, caller: Loaded | None) -> Iterator[tuple[str, str]]:
        """The folders that are searched, in order, each with the name of the step. Duplicates within a step
        are dropped, as in glibc."""
        if caller is None or caller.header.runpath is None:
            link, did_program = caller, False
            while link is not None:
                if link.header.rpath:
                    yield from self._expanded(link, link.header.rpath, f"RPATH of {link.path}")
                did_program |= link is self.program
                link = link.loader
            program = self.program
            if program is not None and program.header.rpath and not did_program:
                yield from self._expanded(program, program.header.rpath, f"RPATH of {program.path}")
        yield from self.library_path
        if caller is not None and caller.header.runpath:
            yield from self._expanded(caller, caller.header.runpath, f"RUNPATH of {caller.path}")
        if not (caller and caller.header.no_default_folders):
            for folder in self.default_folders:
                yield folder, DEFAULT_STEP

    def _expanded(self, owner: Loaded, folders: tuple[str, ...], via: str) -> Iterator[tuple[str, str]]:
        """Folders of an RPATH or RUNPATH with $ORIGIN, $LIB and $PLATFORM replaced (ld.so(8))."""
        multiarch = any("-linux-gnu" in folder for folder in self.default_folders)
        lib = f"lib/{self.processor}-linux-gnu" if multiarch else "lib64"
        values = {"ORIGIN": posixpath.dirname(owner.path), "LIB": lib, "PLATFORM": self.processor}
        for folder in dict.fromkeys(folders):
            filled = TOKEN.sub(lambda found: values[found[1] or found[2]], folder)
            yield self._absolute(filled), via

    def _absolute(self, folder: str) -> str:
        """The folder as an absolute, normalized path; "" and relative paths start at the current folder."""
        return posixpath.normpath(posixpath.join(self.machine.cwd or "/", folder))

    def _subfolders(self, folder: str) -> tuple[str, ...]:
        """The subfolders that are searched before a folder (glibc-hwcaps; in old glibc tls, haswell ...),
        then the folder itself."""
        if folder not in self._below:
            found = [
                below
                for below in self._levels
                if self.machine.is_dir(posixpath.join(folder, below.split("/")[0]))
                and self.machine.is_dir(posixpath.join(folder, below))
            ]
            self._below[folder] = (*found, "")
        return self._below[folder]

    def _cached(self, name: str) -> Iterator[tuple[str, str]]:
        """The file that ld.so.cache lists for a name: the best glibc-hwcaps entry for this CPU, otherwise the
        plain one."""
        flags = ldcache.FLAGS.get(self.processor)
        entries = [e for e in self.cache.get(name, ()) if flags is None or e.flags == flags]
        usable = [removeprefix(level, "glibc-hwcaps/") for level in self._levels]
        ranked = sorted(
            (e for e in entries if not e.hwcap or e.hwcap in usable),
            key=lambda e: (usable.index(e.hwcap) if e.hwcap else len(usable), not e.legacy_hwcap),
        )
        for entry in ranked[:1]:
            yield entry.path, self._cache.via

    # --- mapping ----------------------------------------------------------------------------------

    def _map(
        self,
        name: str,
        entry: Loaded,
        found: Candidate,
        shadowed: tuple[Candidate, ...],
        *,
        bind: bool = False,
    ) -> Resolution:
        """Add an object and its dependencies to the process; on failure, restore the previous state.

        bind: whether every symbol of each object must also resolve (RTLD_NOW)."""
        before = len(self.objects)
        entry.names.add(name)
        self.objects.append(entry)
        try:
            self._sound(entry)
            self._load_needed(entry, strict=True)
            if bind:
                self._bind(self.objects[before:])
        except Refused as refusal:
            del self.objects[before:]
            return refused(name, refusal, found.via, shadowed)
        return Resolution(name, entry.path, found.via, shadowed=shadowed)

    def _load_needed(self, first: Loaded, *, strict: bool) -> None:
        """Load an object's dependencies, breadth first (elf/dl-deps.c). Raises Refused if one fails to
        load."""
        queue = [first]
        while queue:
            entry = queue.pop(0)
            for name in entry.header.needed:
                if self._known(name) is not None:
                    continue
                try:
                    found, header, _, _ = self._search(name, entry)
                    added = Loaded(found.path, header, entry, {name})
                    self._sound(added)
                except Refused as refusal:
                    if not strict or (ALWAYS_THERE.match(name) and not self.kept_in_store(name)):
                        continue
                    cause = "unknown" if refusal.unseen else "broken"
                    culprit = refusal.culprit or name
                    raise Refused(refusal.error, cause, culprit, refusal.seen, refusal.unseen) from None
                self.objects.append(added)
                queue.append(added)

    def _sound(self, entry: Loaded) -> None:
        """Raise Refused if the file would fail to load because it is truncated, or was made for a newer
        glibc."""
        if entry.header.missing_bytes:
            missing = f"truncated: {entry.header.missing_bytes} bytes are missing"
            error = f"{entry.path}: {missing}; loading it ends the process with SIGBUS"
            raise Refused(error, "broken", entry.path)
        for library, version, weak in entry.header.wants:
            if weak or not version.startswith("GLIBC_2."):
                continue
            wanted = loader_places.glibc_numbers(version)
            if self.glibc and wanted and wanted > self.glibc:
                provider = self._known(library)
                where = provider.path if provider else library
                error = f"{where}: version `{version}' not found (required by {entry.path})"
                raise Refused(error, "broken", entry.path)

    def _bind(self, added: list[Loaded]) -> None:
        """Raise Refused if an object needs a symbol that no object in the process defines."""
        scope = [(other.path, other.header) for other in (*reversed(self.objects), *self.preloaded)]
        for entry in reversed(added):  # the dependencies are relocated first (elf/dl-open.c)
            name = symbols.unresolved(self.machine, entry.path, entry.header, scope)
            if name is not None:
                raise Refused(f"{entry.path}: undefined symbol: {name}", "broken", entry.path)

    def _known(self, name: str) -> Loaded | None:
        """The object in the process that is known by a name; None if there is none."""
        known = (entry for entry in self.objects if name in entry.names or name == entry.header.soname)
        return next(known, None)

    # --- reading ----------------------------------------------------------------------------------

    def _header(self, path: str) -> elf.Elf | str | OSError | None:
        """A file's header; otherwise the loader's error message, an OSError if it cannot be examined, or None
        if it does not exist."""
        if path not in self._headers:
            result: elf.Elf | str | OSError | None
            try:
                if not self.machine.may_read(path):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
                result = elf.of(self.machine, path)
            except elf.NotElf as problem:
                foreign = problem.header is not None and self.foreign(problem.header)
                result = problem.header if foreign else str(problem)
            except IsADirectoryError:
                result = "cannot read file data: Is a directory"
            except (FileNotFoundError, NotADirectoryError):
                result = None
            except OSError as problem:
                result = problem
            self._headers[path] = result
        return self._headers[path]

    def foreign(self, header: elf.Elf) -> str:
        """Why the loader skips a file with this header (another ELF class or processor); "" if it does not
        skip it."""
        if header.bits != self.bits:
            return f"wrong ELF class: {header.bits}-bit"
        if self.processor and header.machine != self.processor:
            return f"made for {header.machine}, not {self.processor}"
        return ""

    def _preloaded(self, value: str) -> list[Loaded]:
        """The libraries in LD_PRELOAD's value with an absolute path; they may provide symbols. Names without
        a path are left out."""
        headers = ((path, self._header(path)) for path in re.split("[: ]", value) if path.startswith("/"))
        return [Loaded(path, header) for path, header in headers if isinstance(header, elf.Elf)]
