"""Reads pyproject.toml, pixi.toml and Pipfile line by line.

It does not use a TOML parser, because a parser loses the line numbers, which every finding needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor import lazy
from doctor.facts import normalised
from doctor.plan.conda import match_spec
from doctor.plan.requested import CONCERNS, PLATFORMS, FileContents, Requested, Unread, requirement, unread
from doctor.values import replace

_LISTS = ("project.optional-dependencies", "dependency-groups")
_PIXI = lazy.compile(
    r"(?:tool\.pixi\.)?(?:feature\.(?P<feature>[\w-]+)\.)?(?:target\.(?P<target>[\w-]+)\.)?(?P<of>pypi-|host-"
    r"|build-)?dependencies"
)
"""Matches the names of the dependency tables in pixi.toml, and of those under [tool.pixi] in
pyproject.toml."""
_ELSEWHERE = lazy.compile(r"\b(?:git|url|path|file|source|index)\s*=")
_KEY = lazy.compile(r"([\w.\"-]+)\s*=(.*)")
_QUOTED = lazy.compile(r"\"([^\"]*)\"|'([^']*)'")


def pyproject(lines: Sequence[str]) -> FileContents:
    """Read pyproject.toml or pixi.toml: [project] dependencies and optional-dependencies,
    [dependency-groups], and the tables of Poetry, uv and pixi."""
    reader = _Reader()
    for number, raw in enumerate(lines, 1):
        reader.take(number, raw.strip())
    found = [
        replace(a, address=reader.sources[a.name]) if a.name in reader.sources and not a.address else a
        for a in (*reader.asked, *reader.whole())
    ]
    return FileContents(
        tuple(found), reader.python, indexes=tuple(reader.indexes), unread=tuple(reader.unread)
    )


def pipfile(lines: Sequence[str]) -> FileContents:
    """Read a Pipfile: [packages] and [dev-packages] look like Poetry's tables, with pip's specifiers."""
    renamed = {
        "[packages]": "[tool.poetry.dependencies]",
        "[dev-packages]": "[tool.poetry.dependencies]",
        "[requires]": "[tool.poetry]",
    }
    given = [renamed.get(line.strip(), line) for line in lines]
    return pyproject(
        [re.sub(r"^python_version\s*=\s*\"([\d.]+)\"", r'python = "\1"', line) for line in given]
    )


class _Reader:
    """Collects what a pyproject.toml requests, line by line."""

    def __init__(self) -> None:
        self.asked: list[Requested] = []
        self.unread: list[Unread] = []
        self.indexes: list[Requested] = []
        self.python: Requested | None = None
        self.sources: dict[str, str] = {}
        self._tables: dict[str, list[tuple[int, str]]] = {}
        self._table, self._group, self._depth, self._listed = "", "", 0, False

    def take(self, number: int, line: str) -> None:
        """Read one line, from which surrounding white space has been removed."""
        if self._depth == 0 and line.startswith("["):
            end = line.rfind("]")
            self._table = line[:end].strip("[] \t").replace('"', "").replace(" ", "")
            return
        key = _KEY.match(line) if self._depth == 0 else None
        if key is None and self._depth == 0:
            return
        if key is None:
            self._strings(number, line, line)
            return
        name, value = key[1].strip('"'), key[2].strip()
        if (self._table == "project" and name == "requires-python") or (
            self._table.startswith("tool.poetry") and name == "python"
        ):
            spec = value.partition("#")[0].strip().strip("\"'")
            pinned = spec if self._table == "project" else poetry_spec(spec)
            self.python = Requested("python", pinned, number, line, word=value.strip())
            return
        if self._table == "project" and name == "dynamic" and "dependencies" in value:
            self.unread.append(Unread(number, line, "the project keeps its dependencies in another file"))
        if self._table.startswith("tool.uv.sources"):
            self.sources[normalised(name)] = value
        if name == "url" and re.match(r"tool\.(?:uv\.index|poetry\.source)|source", self._table):
            self.indexes.append(Requested("", "", number, line, address=value.strip("\"' ")))
        if (
            self._table == "tool.uv"
            and name in ("override-dependencies", "constraint-dependencies")
            and CONCERNS.search(value)
        ):
            self.unread.append(
                Unread(number, line, f"uv's {name} were not considered; uv.lock shows their result")
            )
        pixi = _PIXI.fullmatch(self._table)
        if pixi:
            self._pixi(pixi, name, value, number, line)
            return
        if self._table.startswith("tool.poetry"):
            table = re.search(r"dependencies(?:\.([\w-]+))?$", self._table)
            if table and table[1]:
                self._tables.setdefault(table[1], []).append((number, line))
            elif table:
                self._poetry(name, value, number, line)
            return
        of_uv = self._table == "tool.uv" and name == "dev-dependencies"
        self._listed = of_uv or (self._table == "project" and name == "dependencies") or self._table in _LISTS
        self._group = name if self._table in _LISTS else ""
        self._strings(number, value, line)

    def _strings(self, number: int, value: str, line: str) -> None:
        """Read the requirements in a line of a list, and note whether the list continues."""
        bare = _QUOTED.sub("", value)
        self._depth = max(0, self._depth + bare.count("[") - bare.count("]"))
        for quoted in _QUOTED.findall(value) if self._listed else ():
            word = quoted[0] or quoted[1]
            found = requirement(word, number, line)
            if found:
                self.asked.append(replace(found, group=self._group))
            elif CONCERNS.search(word):
                self.unread.append(unread(number, line))

    def _pixi(self, table: re.Match[str], name: str, value: str, number: int, line: str) -> None:
        """Read a line of a pixi table: a version as conda or pip writes it, or an inline table with version,
        extras and build."""
        given = {
            key: double or single
            for key, double, single in re.findall(
                r"([\w-]{1,60})\s{0,9}=\s{0,9}(?:\"([^\"]{0,300})\"|'([^']{0,300})')", value
            )
        }
        bare = _QUOTED.match(value)
        version = (
            given.get("version", "") if value.startswith("{") else (bare[1] or bare[2] or "") if bare else ""
        )
        if table["of"] == "pypi-":
            found = requirement(f"{name}{_extras(value)}{'' if version == '*' else version}", number, line)
        else:
            build = f", build='{given['build']}'" if "build" in given else ""
            found = match_spec(f"{name}[version='{version}'{build}]", number, line)
        marker = PLATFORMS.get(table["target"] or "", "")
        if found is None:
            if CONCERNS.search(name):
                self.unread.append(unread(number, line, "this tool cannot read a version in this form"))
        elif found.name == "python" and found.manager == "conda":
            self.python = self.python or found
        else:
            elsewhere = value if _ELSEWHERE.search(value) else ""
            self.asked.append(
                replace(found, group=table["feature"] or "", marker=marker, address=elsewhere, word=version)
            )

    def _poetry(self, name: str, value: str, number: int, line: str) -> None:
        """Read a line of a Poetry table: a version, or an inline table with version and extras."""
        if value.lstrip().startswith("{"):
            inner = re.search(r"\bversion\s*=\s*[\"']([^\"']*)[\"']", value)
            version = inner[1] if inner else ""
        else:
            plain = _QUOTED.search(value)
            version = (plain[1] or plain[2] or "") if plain else ""
        found = requirement(f"{name}{_extras(value)}{poetry_spec(version.strip())}", number, line)
        elsewhere = _ELSEWHERE.search(value) if "{" in value or not version else None
        if found is None or value.startswith("["):
            if CONCERNS.search(name):
                self.unread.append(Unread(number, line, "this tool cannot read a version in this form"))
        else:
            self.asked.append(replace(found, address=value if elsewhere else "", word=version))

    def whole(self) -> list[Requested]:
        """Return the packages that have their own table, such as [tool.poetry.dependencies.tensorflow]."""
        before = len(self.asked)
        for name, keys in self._tables.items():
            at = next((key for key in keys if key[1].startswith("version")), keys[0])
            self._poetry(name, "{" + ", ".join(line for _, line in keys) + "}", *at)
        found, self.asked = self.asked[before:], self.asked[:before]
        return found


def _extras(value: str) -> str:
    """Return the extras in an inline table as pip writes them ("[and-cuda]"), or "" if there are none."""
    listed = re.search(r"extras\s{0,9}=\s{0,9}\[([^\]]{0,500})\]", value)
    words = ",".join(re.findall(r"[\w-]+", listed[1])) if listed else ""
    return f"[{words}]" if words else ""


def poetry_spec(spec: str) -> str:
    """Convert a version from Poetry's form (^2.18, ~2.18, 2.18, *) to pip's form."""
    if "," in spec:
        return ",".join(poetry_spec(part.strip()) for part in spec.split(","))
    caret = re.fullmatch(r"\^\s*(\d+(?:\.\d+)*)", spec)
    if caret:
        numbers = [int(number) for number in caret[1].split(".")]
        first = next((at for at, number in enumerate(numbers) if number), len(numbers) - 1)
        return f">={caret[1]},<{'.'.join(map(str, (*numbers[:first], numbers[first] + 1)))}"
    if re.fullmatch(r"\d[\d.]*(\.\*)?", spec):
        return f"=={spec}"
    if spec.startswith("~") and not spec.startswith("~="):
        lowest = spec[1:].strip()
        kept = lowest.split(".")[:2]
        if not all(number.isdigit() for number in kept):
            return spec
        return f">={lowest},<{'.'.join((*kept[:-1], str(int(kept[-1]) + 1)))}"
    return "" if spec == "*" else spec
