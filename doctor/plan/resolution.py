"""Judges whether pip can install the packages that a file requests together, as far as the tables contain
their requirements.

The search tries the releases of TensorFlow and the frameworks in the tables, the newest first, with the
requirements in their METADATA. For every other package it compares only the version bounds. It needs no
network. If the search finds no solution, pip finds none either. If the search finds a solution, pip may still
fail because of packages that are not in the tables.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.plan.context import PlanContext
from doctor.plan.requested import Requested, requirement
from doctor.plan.specifiers import satisfiable
from doctor.tables import Framework, NvidiaWheel, TensorFlowRelease, dotted
from doctor.tables.ordering import is_final, order
from doctor.tables.versions import minor
from doctor.values import cached_property, dataclass, field, replace

TRIES = 3000
"""The maximum number of releases that one search tries."""
EXTRA = "and-cuda"
TENSORFLOW = ("tensorflow", "tensorflow-gpu")
"""The distributions of TensorFlow that the tables contain."""


class TooManyTriesError(Exception):
    """Raised if the search has tried TRIES releases without finding an answer."""


@dataclass(frozen=True)
class Need:
    """A requirement. row: the release that declares it, or None if a line of the file contains it."""

    name: str
    specifier: str
    extras: tuple[str, ...] = ()
    row: TensorFlowRelease | Framework | None = None


@dataclass
class Solution:
    """A way to install the packages that the lines request together. releases: the chosen release of each
    package in the tables; needs: by package, all requirements for it; extras: by package, the requested
    extras; unknown: requirements for packages in the tables that no release in the tables fulfils."""

    releases: dict[str, TensorFlowRelease | Framework] = field(default_factory=dict)
    needs: dict[str, tuple[Need, ...]] = field(default_factory=dict)
    extras: dict[str, frozenset[str]] = field(default_factory=dict)
    unknown: tuple[Need, ...] = ()

    def copy(self) -> Solution:
        """Return a copy with its own dictionaries."""
        return Solution(dict(self.releases), dict(self.needs), dict(self.extras), self.unknown)


class Solver:
    """Searches for solutions on one machine."""

    def __init__(self, context: PlanContext) -> None:
        self.context = context
        self._stated: dict[tuple[str, str, frozenset[str]], tuple[Need, ...]] = {}
        self._wheels: dict[tuple[str, str], NvidiaWheel | None] = {}
        self._tries = 0

    @cached_property
    def frameworks(self) -> Mapping[str, tuple[Framework, ...]]:
        """The frameworks' releases that support the context's Python version, by package, newest first."""
        found: dict[str, list[Framework]] = {}
        for row in self.context.tables.frameworks():
            found.setdefault(row.package, [])
            if self._takes_python(row.pythons, row.requires_python):
                found[row.package].append(row)
        return {
            name: tuple(sorted(rows, key=lambda r: order(r.version), reverse=True))
            for name, rows in found.items()
        }

    def releases(self, name: str) -> Sequence[TensorFlowRelease | Framework] | None:
        """Return every final release of a package that supports the context's Python version, newest first,
        or None if the tables lack the package."""
        if name in TENSORFLOW:
            rows = [
                r for r in self.context.releases if r.package == name and not r.yanked and is_final(r.version)
            ]
            fit = [r for r in rows if self._takes_python(r.pythons, None)]
            return sorted(fit, key=lambda r: order(r.version), reverse=True)
        return self.frameworks.get(name)

    def _takes_python(self, pythons: Sequence[str], requires: str | None) -> bool:
        """Whether a release supports the context's Python. pythons: the versions with a wheel; requires: the
        Requires-Python of a release without such a list."""
        python = self.context.python
        if python is None:
            return True
        if pythons:
            return minor(python) in pythons
        try:
            return requires is None or SpecifierSet(requires).contains(
                f"{minor(python)}.0" if python.count(".") < 2 else python
            )
        except InvalidSpecifier:
            return True

    def solve(self, lines: Iterable[Requested], *, apart: bool = False) -> Solution | None:
        """Find a way to install the packages that the lines request together. Return None if there is none.

        apart: accept only a solution in which no two of NVIDIA's packages install the same library into the
        same folder. Raises TooManyTriesError.
        """
        self._tries = 0
        needs = [Need(line.name, line.specifier, line.extras) for line in lines]
        # packages outside the tables first: their bounds leave fewer releases to try
        needs.sort(key=lambda need: self.releases(need.name) is not None)
        return next(self._search(tuple(needs), Solution(), apart), None)

    def _search(self, todo: tuple[Need, ...], so_far: Solution, apart: bool) -> Iterator[Solution]:
        """Yield the solutions that extend `so_far` and fulfil the requirements `todo`, those with the newest
        releases first."""
        found = so_far.copy()
        waiting = list(todo)
        while waiting:
            need = waiting.pop(0)
            others = found.needs.get(need.name, ())
            bound = ",".join(dict.fromkeys(n.specifier for n in (*others, need) if n.specifier))
            if not satisfiable(bound):
                return
            found.needs[need.name] = (*others, need)
            if apart and need.name.startswith("nvidia-") and self._overlaps(need.name, found):
                return
            extras = found.extras.get(need.name, frozenset()) | set(need.extras)
            chosen = found.releases.get(need.name)
            if chosen is not None:
                if not holds(chosen.version, need.specifier):
                    return
                if extras != found.extras[need.name]:
                    waiting += self._of(chosen, extras)
                    found.extras[need.name] = extras
                continue
            known = self.releases(need.name)
            if known is None:
                continue
            if not any(holds(row.version, need.specifier) for row in self._all(need.name)):
                found.unknown = (*found.unknown, need)
                continue
            fit = [row for row in known if holds(row.version, bound)]
            if EXTRA in extras and any(self._has_extra(row) for row in fit):
                fit = [row for row in fit if self._has_extra(row)]
            for row in fit:
                self._tries += 1
                if self._tries > TRIES:
                    raise TooManyTriesError
                one = found.copy()
                one.releases[need.name], one.extras[need.name] = row, extras
                yield from self._search((*self._of(row, extras), *waiting), one, apart)
            return
        yield found

    def _all(self, name: str) -> Sequence[TensorFlowRelease | Framework]:
        """Return the releases of a package in the tables, for any Python version."""
        if name in TENSORFLOW:
            return [row for row in self.context.releases if row.package == name]
        return self.context.tables.frameworks(name)

    def _has_extra(self, row: TensorFlowRelease | Framework) -> bool:
        return isinstance(row, Framework) or bool(row.extras.get(EXTRA))

    def _of(self, row: TensorFlowRelease | Framework, extras: frozenset[str]) -> tuple[Need, ...]:
        """Return the requirements that a release declares, including those for the given extras."""
        key = (row.package, row.version, extras)
        if key not in self._stated:
            lines = list(row.requires)
            for extra in sorted(extras):
                more = row.extras.get(extra, ())
                lines += (
                    [f"{name}{spec}" for name, spec in more.items()]
                    if isinstance(more, Mapping)
                    else list(more)
                )
            asked = [one for one in (requirement(line, 0) for line in lines) if one is not None]
            self._stated[key] = tuple(
                Need(one.name, one.specifier, one.extras, row)
                for one in asked
                if counts(one.marker, self.context, False)
            )
        return self._stated[key]

    def _overlaps(self, name: str, found: Solution) -> bool:
        return any(self.shared(name, other, found) for other in found.needs if other.startswith("nvidia-"))

    def shared(self, one: str, other: str, found: Solution) -> tuple[str, ...]:
        """Return the libraries that two of NVIDIA's packages both install into the same folder, so that the
        package that is installed last overwrites the other's files."""
        first, second = self._wheel(one, found), self._wheel(other, found)
        if (
            one == other
            or first is None
            or second is None
            or first.folder is None
            or first.folder != second.folder
        ):
            return ()
        return tuple(sorted(set(first.libraries) & set(second.libraries)))

    def _wheel(self, name: str, found: Solution) -> NvidiaWheel | None:
        """Return the newest wheel of a package that the requirements allow. If the tables contain none that
        they allow, return the newest of all its wheels."""
        bound = ",".join(
            dict.fromkeys(need.specifier for need in found.needs.get(name, ()) if need.specifier)
        )
        if (name, bound) not in self._wheels:
            rows = sorted(self.context.tables.nvidia_wheels(name), key=lambda row: dotted(row.version))
            fit = [row for row in rows if holds(row.version, bound)] or rows
            self._wheels[name, bound] = fit[-1] if fit else None
        return self._wheels[name, bound]


def counts(marker: str, context: PlanContext, unknown: bool = True) -> bool:
    """Whether a marker holds on the machine. unknown: the answer for a marker about Python if the Python
    version is not known."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    if context.python is None and "python" in marker:
        return unknown
    system = {"windows": "win32", "macos": "darwin"}.get(context.kind, "linux")
    here = {
        "sys_platform": system,
        "platform_system": {"win32": "Windows", "darwin": "Darwin"}.get(system, "Linux"),
        "os_name": "nt" if system == "win32" else "posix",
        "platform_machine": {"windows-amd64": "AMD64"}.get(
            context.platform, context.platform.partition("-")[2]
        ),
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "python_version": context.python or "",
        "python_full_version": f"{context.python}.0" if context.python else "",
        "extra": "",
    }
    try:
        return Marker(marker).evaluate(here)
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
        return True


@functools.lru_cache(50_000)
def holds(version: str, specifier: str) -> bool:
    """Whether a version fulfils a specifier; True if the specifier cannot be read."""
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True


def pinned(line: Requested, version: str) -> Requested:
    """Return the line with a pin to this version in place of its specifier."""
    return replace(line, specifier=f"=={version}")
