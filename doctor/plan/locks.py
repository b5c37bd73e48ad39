"""Reads lock files: the exact versions that an installer's own resolver chose.

A lock file also contains packages of other platforms. A package counts if a chain of requirements whose
markers hold on the machine leads from the project to the package. Sources: the files that uv 0.9, Poetry 2,
conda-lock 3 and pixi 0.50 write, PEP 751.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence

from doctor import lazy
from doctor.backports import removesuffix
from doctor.facts import normalised
from doctor.plan.projects import poetry_spec
from doctor.plan.requested import CONCERNS, NEVER, PLATFORMS, FileContents, Requested, Unread
from doctor.plan.yaml_lines import entries
from doctor.values import dataclass, field

LINES = 200_000
"""The maximum number of lines to read from a lock file; the entry for one package may list hundreds of
files."""
PATHS = 6
"""The maximum number of paths to one package that are distinguished; a package with more paths always
counts."""
LONGEST_PATH = 30
"""The maximum number of markers on one path; a package with more markers on its path always counts."""
NAMESAKES = 30
"""The maximum number of releases of one package for which the dependency paths are followed. Any further
releases are treated as always required."""
_STRING = r"\"((?:[^\"\\]|\\.){0,4000})\""
_FIELD = lazy.compile(rf"([\w-]{{1,80}})\s{{0,9}}=\s{{0,9}}(?:{_STRING}|\[([^\[\]]{{0,2000}})\])")
_KEY = lazy.compile(r"([\w.\"-]{1,200})\s{0,9}=\s{0,9}(.*)")
_OF_EXTRA = lazy.compile(r"extra\s{0,9}==\s{0,9}(?:\"[^\"]{0,200}\"|'[^']{0,200}')")
_HERE = ("virtual", "editable", "directory")
"""The kinds of source in uv.lock for the project's own packages and for folders beside the project."""


@dataclass(frozen=True)
class _Edge:
    """A requirement that a locked package declares: an edge in the graph of requirements."""

    name: str
    extras: tuple[str, ...] = ()
    marker: str = ""
    version: str = ""


@dataclass
class _Package:
    """A [[package]] table. source: the address of the package, or one of _HERE; registry: the index from
    which the package comes; paths: the paths to the package, each given by the markers on it."""

    line: int
    name: str = ""
    version: str = ""
    source: str = ""
    registry: str = ""
    marker: str = ""
    edges: list[_Edge] = field(default_factory=list)
    optional: dict[str, list[_Edge]] = field(default_factory=dict)
    paths: list[frozenset[str]] = field(default_factory=list)

    @property
    def is_project(self) -> bool:
        """Whether this is the project itself or a folder beside it."""
        return self.source in _HERE


def toml_lock(lines: Sequence[str]) -> FileContents:
    """Read uv.lock, poetry.lock or pylock.toml."""
    packages, python = _read(lines)
    roots = [p for p in packages if p.is_project]
    _reach(packages, roots)
    counted = Counter(p.name for p in packages)
    index = next(
        (address for address, _ in Counter(p.registry for p in packages if p.registry).most_common(1)), ""
    )
    asked, unread = [], []
    for package in packages:
        if package.is_project or not package.version:
            continue
        marker, shown = _either(package.paths), f"{package.name}=={package.version}"
        if counted[package.name] > 1 and CONCERNS.search(package.name) and not marker and not package.marker:
            unread.append(
                Unread(
                    package.line,
                    shown,
                    f"the lock file contains several releases of {package.name}, and it is not known which of"
                    " them applies here",
                )
            )
            continue
        marks = [f"({part})" for part in (marker, package.marker) if part]
        address = package.source or (package.registry if package.registry != index else "")
        asked.append(
            Requested(
                package.name,
                f"=={package.version}",
                package.line,
                shown,
                (),
                " and ".join(marks),
                address=address,
                word=shown,
            )
        )
    return FileContents(tuple(asked), python, unread=tuple(unread), locked=True)


def _read(lines: Sequence[str]) -> tuple[list[_Package], Requested | None]:
    """Return the packages in a lock file, and the line that declares its Python version."""
    packages: list[_Package] = []
    python: Requested | None = None
    table, opened = "", ""
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if line in ("[[package]]", "[[packages]]"):
            packages.append(_Package(number))
            table, opened = "package", ""
            continue
        if line.startswith("[") and raw.startswith("["):
            table, opened = line.strip("[] ").replace("packages.", "package."), ""
            continue
        key = _KEY.match(line)
        if opened and not (key and not raw.startswith(" ")):
            if packages and line.startswith(("{", '"')):
                _edge(packages[-1], table, opened, line)
            opened = "" if line.startswith("]") else opened
            continue
        if key is None:
            continue
        name, value = key[1].strip('"'), key[2]
        if name in ("requires-python", "python-versions") and table in ("", "metadata"):
            found = re.match(_STRING, value)
            if found:
                python = Requested("python", poetry_spec(found[1]), number, line, word=found[1])
        elif packages and table.partition(".")[0] == "package":
            opened = name if value.strip() == "[" else ""
            _set(packages[-1], table, name, value, number)
    return packages, python


def _set(package: _Package, table: str, name: str, value: str, number: int) -> None:
    """Set one key of a package from a line in the lock file."""
    string = re.match(_STRING, value)
    if table == "package" and name == "name" and string:
        package.name = normalised(string[1])
    elif table == "package" and name == "version" and string:
        package.version, package.line = string[1], number
    elif table == "package" and name in ("marker", "markers") and string:
        package.marker = string[1].replace('\\"', '"')
    elif table == "package" and name == "source":
        given = _fields(value)
        package.registry = given.get("registry", "")
        package.source = (
            next((k for k in _HERE if k in given), "") or given.get("git", "") or given.get("url", "")
        )
    elif table == "package.source" and name == "url" and string:
        package.registry = string[1]
    elif value.strip() != "[":
        _edge(package, table, name, value)


def _edge(package: _Package, table: str, key: str, value: str) -> None:
    """Add the requirements in a line to a package."""
    if table == "package.dependencies":  # Poetry: name = "spec" or {version, markers, extras}
        given = _fields(value)
        # a lock contains an extra's packages only if something requests the extra: its marker always holds
        marker = _OF_EXTRA.sub("python_version > '0'", given.get("markers", ""))
        package.edges.append(_Edge(normalised(key), _words(given.get("extras", "")), marker))
        return
    if table == "package.extras" or (table == "package" and key not in ("dependencies",)):
        return
    optional = table in ("package.optional-dependencies", "package.dev-dependencies")
    for part in re.findall(r"\{[^{}]{0,4000}\}", value) if table == "package" or optional else ():
        given = _fields(part)
        if "name" in given:
            edge = _Edge(
                normalised(given["name"]),
                _words(given.get("extra", "")),
                given.get("marker", ""),
                given.get("version", ""),
            )
            (package.optional.setdefault(normalised(key), []) if optional else package.edges).append(edge)


def _fields(text: str) -> dict[str, str]:
    """Return the keys and values of an inline table; the value of a list is its text."""
    return {key: (string or words).replace('\\"', '"') for key, string, words in _FIELD.findall(text)}


def _words(text: str) -> tuple[str, ...]:
    return tuple(normalised(word) for word in re.findall(r"[\w.-]+", text))


def _reach(packages: Sequence[_Package], roots: Sequence[_Package]) -> None:
    """Fill in `paths` for each package: the paths to it, each given by markers that must all hold. roots: the
    packages where the paths begin; if empty, they begin at every package that no other package requires."""
    by_name: dict[str, list[_Package]] = {}
    for package in packages:
        by_name.setdefault(package.name, []).append(package)
    if not roots:
        required = {
            edge.name
            for p in packages
            for edge in (*p.edges, *(e for more in p.optional.values() for e in more))
        }
        roots = [p for p in packages if p.name not in required]
    todo: deque[tuple[_Package, str]] = deque()
    seen: set[tuple[int, str, frozenset[str]]] = set()
    arrivals: Counter[tuple[int, str]] = Counter()

    def arrive(package: _Package, extra: str, path: frozenset[str]) -> None:
        """Note a path to a package, or to one of its extras, unless it adds nothing to the known paths."""
        if (id(package), extra, path) in seen:
            return
        seen.add((id(package), extra, path))
        if not extra:
            if any(known <= path for known in package.paths):
                return
            package.paths = (
                [frozenset()]
                if len(package.paths) >= PATHS
                else [w for w in package.paths if not path <= w] + [path]
            )
        elif arrivals[id(package), extra] > PATHS:
            return
        arrivals[id(package), extra] += 1
        todo.append((package, extra))

    for root in roots:
        arrive(root, "", frozenset())
        for extra in root.optional:  # the project's own extras and groups
            arrive(root, extra, frozenset())
    while todo:
        package, extra = todo.popleft()
        paths = package.paths or [frozenset()]
        for edge in package.optional.get(extra, ()) if extra else package.edges:
            for target in (
                p for p in by_name.get(edge.name, ())[:NAMESAKES] if edge.version in ("", p.version)
            ):
                for path in paths:
                    longer = path | {edge.marker} if edge.marker and edge.marker not in path else path
                    longer = frozenset() if len(longer) > LONGEST_PATH else longer
                    for wanted in ("", *edge.extras):
                        arrive(target, wanted, longer)


def _either(paths: Sequence[frozenset[str]]) -> str:
    """Return the marker that holds if all markers on at least one path hold, or "" if it always holds. A
    package without a path always counts."""
    if not paths or frozenset() in paths:
        return ""
    return " or ".join("(" + " and ".join(f"({marker})" for marker in sorted(path)) + ")" for path in paths)


def conda_lock(lines: Sequence[str]) -> FileContents:
    """Read conda-lock.yml: the conda and pip packages for each platform."""
    found: dict[int, dict[str, tuple[str, int, str]]] = {}
    for entry in entries(lines):
        if len(entry.path) == 3 and entry.path[0] == "package" and isinstance(entry.path[1], int):
            found.setdefault(entry.path[1], {})[str(entry.path[2])] = (entry.value, entry.line, entry.text)
    asked = []
    for item in found.values():
        value = {key: given[0] for key, given in item.items()}
        if not value.get("name") or not value.get("version"):
            continue
        number = item["version"][1]
        file = _conda_file(value.get("url", ""))
        marker = PLATFORMS.get(value.get("platform", "noarch"), NEVER)
        asked.append(
            _locked(
                value["name"],
                value["version"],
                number,
                marker,
                value.get("manager") == "pip",
                file[2] if file else "",
            )
        )
    return _with_python(asked)


def pixi_lock(lines: Sequence[str]) -> FileContents:
    """Read pixi.lock. Each environment is a group of its own, because any of them may be in use."""
    asked = []
    for entry in entries(lines):
        path = entry.path
        if (
            len(path) == 6
            and path[0] == "environments"
            and path[2] == "packages"
            and path[5] in ("conda", "pypi")
        ):
            file = _conda_file(entry.value) if path[5] == "conda" else _python_file(entry.value)
            if file:
                marker = PLATFORMS.get(str(path[3]), NEVER)
                asked.append(
                    _locked(file[0], file[1], entry.line, marker, path[5] == "pypi", file[2], str(path[1]))
                )
    return _with_python(asked)


def explicit(lines: Sequence[str]) -> FileContents:
    """Read conda's explicit list: the package addresses after the line @EXPLICIT."""
    asked = []
    for number, line in enumerate(lines, 1):
        address = line.strip().partition("#")[0]
        file = _conda_file(address)
        if file:
            marker = PLATFORMS.get(address.rpartition("/")[0].rpartition("/")[2], "")
            asked.append(_locked(file[0], file[1], number, marker, False, file[2]))
    return _with_python(asked)


def _conda_file(address: str) -> tuple[str, str, str] | None:
    """Return the name, version and build of a conda package, from its file name (conda's documentation,
    "Package naming conventions"), or None for another file."""
    file = address.rpartition("/")[2]
    stem = removesuffix(removesuffix(file, ".conda"), ".tar.bz2")
    parts = stem.rsplit("-", 2)
    return (parts[0], parts[1], parts[2]) if stem != file and len(parts) == 3 and all(parts) else None


def _python_file(address: str) -> tuple[str, str, str] | None:
    """Return (name, version, "") for a wheel or source archive, or None for any other file. The third item is
    the build, which only conda packages have."""
    file = re.split(r"[#?]", address, maxsplit=1)[0].rpartition("/")[2]
    stem = removesuffix(removesuffix(file, ".whl"), ".tar.gz")
    parts = stem.split("-") if file.endswith(".whl") else stem.rsplit("-", 1)
    return (parts[0], parts[1], "") if stem != file and len(parts) > 1 and all(parts[:2]) else None


def _locked(
    name: str, version: str, number: int, marker: str, of_pip: bool, build: str, group: str = ""
) -> Requested:
    """Return the record of a locked package."""
    shown = f"{normalised(name)}=={version}"
    manager = "pip" if of_pip else "conda"
    return Requested(
        normalised(name),
        f"=={version}",
        number,
        shown,
        (),
        marker,
        manager,
        group=group,
        word=shown,
        build=build,
    )


def _with_python(asked: Sequence[Requested]) -> FileContents:
    """Return the result for these lines. A line for Python is not a requirement; it declares the
    environment's Python version."""
    pythons = [line for line in asked if line.name == "python" and line.manager == "conda"]
    minors = {".".join(line.specifier[2:].split(".")[:2]) for line in pythons}
    python = None
    if len(minors) == 1:
        first = pythons[0]
        python = Requested(
            "python", f"=={min(minors)}.*", first.line, first.text, manager="conda", word=first.word
        )
    rest = tuple(line for line in asked if line.name != "python")
    return FileContents(rest, python, locked=True)
