"""Reads the environment modules of computing centres: which modulefiles add the folders of CUDA's libraries
to a path, and by which module names they are loaded.

Lmod and Tcl are not needed: the code reads the paths that a modulefile prepends, appends and sets, and fills
in the modulefile's own variables. Sources: modulefile(4); Lmod documentation, "Lua Modulefile Functions"
and "How Lmod finds its modulefiles"; EasyBuild, "Module naming schemes"; Spack, "Modules".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from doctor import lazy
from doctor.backports import removesuffix
from doctor.probe.machine import Machine
from doctor.values import dataclass

SHARED = (
    "/opt",
    "/apps",
    "/sw",
    "/software",
    "/shared",
    "/cluster",
    "/nfs",
    "/data",
    "/soft",
    "/hpc",
    "/usr/local",
)
"""Folders in which computing centres install software."""
ROOTS = (
    "/usr/share/modules/modulefiles",
    "/usr/share/Modules/modulefiles",
    "/etc/modulefiles",
    "/usr/share/modulefiles",
    "/usr/share/lmod/lmod/modulefiles",
    "/modulefiles",
    "/apps/modules",
    "/sw/modules",
    "/software/modules",
    "/cm/shared/modulefiles",
    "/cm/local/modulefiles",
    "/easybuild/modules/all",
    *(
        f"{shared}{below}"
        for shared in SHARED
        for below in ("/modulefiles", "/*/modulefiles", "/*/*/modulefiles", "/modules/all", "/*/modules/all")
    ),
    *(f"{home}spack/share/spack/{kind}/*" for home in ("/", "/opt/", "/apps/", "/home/*/", "/opt/*/")
      for kind in ("modules", "lmod")),
    "/home/*/.local/easybuild/modules/all",
)  # fmt: skip
LISTS = (
    "/etc/lmod/modulespath", "/usr/share/lmod/lmod/init/.modulespath", "/etc/environment-modules/modulespath",
    "/usr/share/modules/init/.modulespath", "/usr/share/Modules/init/.modulespath",
)  # fmt: skip
"""Files that list the folders of modulefiles, one per line."""
NAMED = lazy.compile(r"cuda|cudnn|nvhpc|nvidia|tensorflow|(?:^|/)python/", re.IGNORECASE)
DEPTH = 4
FOLDERS_LIMIT = 400
SIZE = 64 << 10
_LUA = lazy.compile(
    r"^[ \t]{0,40}(prepend_path|append_path|setenv|pushenv|depends_on|load|try_load|always_load|local)\b["
    r" \t]{0,9}\(?([^\n]{0,2000})$",
    re.MULTILINE,
)
_TCL = lazy.compile(
    r"^[ \t]{0,40}(prepend-path|append-path|setenv|set|module["
    r" \t]{1,9}load|depends-on|depends-on-any|prereq)[ \t]{1,9}([^\n]{0,2000})$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Module:
    """A modulefile: its name for `module load`, its path, what it prepends and sets, and which modules it
    loads."""

    name: str
    path: str
    paths: tuple[tuple[str, str], ...]
    values: tuple[tuple[str, str], ...]
    loads: tuple[str, ...]

    def folders(self, variable: str = "LD_LIBRARY_PATH") -> tuple[str, ...]:
        """The folders that the module adds to a path variable."""
        return tuple(value for name, value in self.paths if name == variable)


def modules(machine: Machine, more: Iterable[str] = ()) -> list[Module]:
    """The modulefiles for CUDA, TensorFlow and Python; in each folder the newest is last. more: further
    roots."""
    roots: dict[str, None] = {}
    listed = [line.strip() for path in LISTS for line in machine.text_seen(path, SIZE).splitlines()]
    variable = machine.env.get("MODULEPATH", "").split(":")
    for pattern in (*more, *variable, *(line for line in listed if line.startswith("/")), *ROOTS):
        if pattern.startswith("/"):
            roots.update(
                dict.fromkeys(path for path in machine.glob(pattern.rstrip("/")) if machine.is_dir(path))
            )
    found: dict[str, Module] = {}
    left = [FOLDERS_LIMIT]
    for root in roots:
        for name, path in _files(machine, root, "", left):
            if machine.resolve(path) not in found:
                found[machine.resolve(path)] = _read(machine, name, path)
    return list(found.values())


def loaded(known: Iterable[Module], names: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
    """The environment after `module load` of these names; a name without a version means the last module of
    that name."""
    result = dict(env)
    by_name = {module.name: module for module in known}
    waiting = list(names)
    done: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        module = by_name.get(name) or next(
            (by_name[n] for n in sorted(by_name, reverse=True) if n.lower().startswith(f"{name.lower()}/")),
            None,
        )
        if module is None or module.name in done:
            continue
        done.add(module.name)
        waiting += module.loads
        result.update(module.values)
        for variable, folder in module.paths:
            before = result.get(variable, "")
            result[variable] = f"{folder}:{before}" if before else folder
    return result


def _files(
    machine: Machine, root: str, below: str, left: list[int], depth: int = 0
) -> Iterator[tuple[str, str]]:
    """The (name, path) of each modulefile below a root whose name or folders contain a word in NAMED.

    below: the folder to search, relative to the root; left: how many folders may still be searched.
    """
    left[0] -= 1
    if depth > DEPTH or left[0] < 0:
        return
    folder = posixpath.join(root, below) if below else root
    for name in machine.names_seen(folder):
        path, inside = posixpath.join(folder, name), posixpath.join(below, name)
        if machine.is_dir(path):
            yield from _files(machine, root, inside, left, depth + 1)
        elif not name.startswith(".") and NAMED.search(inside):
            yield removesuffix(inside, ".lua"), path


def _read(machine: Machine, name: str, path: str) -> Module:
    text = machine.text_seen(path, SIZE)
    lua = path.endswith(".lua")
    known: dict[str, str] = {"version": name.rpartition("/")[2]}
    paths: list[tuple[str, str]] = []
    values: list[tuple[str, str]] = []
    loads: list[str] = []
    for match in (_LUA if lua else _TCL).finditer(text):
        command, rest = match[1].replace("_", "-"), match[2].strip()
        if lua and rest.endswith(")"):
            rest = rest[:-1]
        if command == "local":
            variable, _, value = rest.partition("=")
            known[variable.strip()] = _lua_value(value.strip(), known)
            continue
        words = [_lua_value(word, known) for word in _lua_words(rest)] if lua else _tcl_words(rest, known)
        if command == "set" and len(words) > 1:
            known[words[0]] = words[1]
        elif command in ("setenv", "pushenv") and len(words) > 1:
            values.append((words[0], words[1]))
            known[words[0]] = words[1]
        elif command in ("prepend-path", "append-path") and len(words := _without_options(words)) > 1:
            paths += [(words[0], part) for part in words[1].split(":") if part.startswith("/")]
        elif command.split()[0] in ("depends-on", "load", "try-load", "always-load", "module", "prereq"):
            loads += words
    return Module(name, path, tuple(paths), tuple(values), tuple(loads))


def _without_options(words: list[str]) -> list[str]:
    """The arguments of prepend-path without its options; -d and --delim are dropped with the word that
    follows."""
    kept: list[str] = []
    passed = False
    for word in words:
        if not passed and not word.startswith("-"):
            kept.append(word)
        passed = word in ("-d", "--delim")
    return kept


def _lua_words(text: str) -> list[str]:
    """The arguments of a Lua call, split at commas outside quotes and brackets."""
    words, depth, quote, begin = [], 0, "", 0
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "({[":
            depth += 1
        elif sign in ")}]":
            depth -= 1
        elif sign == "," and depth == 0:
            words.append(text[begin:at])
            begin = at + 1
    return [word.strip() for word in (*words, text[begin:]) if word.strip()]


def _lua_value(text: str, known: Mapping[str, str]) -> str:
    """The value of a Lua expression that consists of strings, names, `..` and pathJoin; "" if it is
    unknown."""
    joined = re.fullmatch(r"pathJoin\s*\((.*?)\)?", text, re.DOTALL)
    if joined:
        return "/".join(_lua_value(word, known).rstrip("/") for word in _lua_words(joined[1]))
    parts = []
    for part in text.split(".."):
        part = part.strip()
        asked = re.fullmatch(r"os\.getenv\(\s*[\"'](\w+)[\"']\s*\)", part)
        quoted = re.fullmatch(r"[\"'](.*)[\"']|\[=*\[(.*)\]=*\]", part, re.DOTALL)
        if quoted:
            parts.append(quoted[1] if quoted[1] is not None else quoted[2])
        else:
            parts.append(known.get(asked[1] if asked else part, ""))
    return "".join(parts)


def _tcl_words(text: str, known: Mapping[str, str]) -> list[str]:
    text = re.sub(r"\$(?:::)?(?:env\((\w+)\)|\{?(\w+)\}?)", lambda m: known.get(m[1] or m[2], ""), text)
    return [
        a or b or c
        for a, b, c in re.findall(r'"([^"]{0,2000})"|\{([^{}]{0,2000})\}|([^\s"{}]{1,2000})', text)
    ]
