"""Requirement files as lines: requirements.txt, pyproject.toml, environment.yml and a Dockerfile's pip lines.

In: a file's text. Out: what each line asks for, with its 1-based number. Nothing is read from disk, run or evaluated;
a line that means nothing to pip or conda is left out.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace

LIMIT = 20_000
"""Lines that are read of one file."""
_NAME = re.compile(r"^\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[([\w\s,.-]*)\])?\s*(.*)$", re.DOTALL)
_TAKES_IN = re.compile(r"(?:-(?P<short>[rc])\s*|--(?P<long>requirement|constraint)[\s=]+)(?P<file>\S+)")
_SPEC = re.compile(r"^\(?\s*((?:(?:===|==|!=|~=|>=|<=|>|<)\s*[\w.*+!-]+\s*,?\s*)*)\)?\s*$")


@dataclass(frozen=True, slots=True)
class Asked:
    """One requirement. name: normalised ("tensorflow-gpu"); extras; specifier as pip writes it (">=2.15,<2.17");
    marker: an environment marker, not evaluated; manager: pip or conda; group: the optional group that it is in, of
    which one or none is installed; file: where it stands, if not in the file that was read first."""

    name: str
    specifier: str
    line: int
    text: str
    extras: tuple[str, ...] = ()
    marker: str = ""
    manager: str = "pip"
    group: str = ""
    file: str = ""


@dataclass(frozen=True)
class Wanted:
    """What a file asks for: requirements, and the Python or image that it fixes, each with its line. brings_cuda: whether
    a command of a Dockerfile's last stage names CUDA, cuDNN or NVIDIA's packages. includes: the files that it names with
    -r, constraints: those that it names with -c. unread: lines about TensorFlow that mean nothing to pip."""

    requirements: tuple[Asked, ...] = ()
    python: Asked | None = None
    image: Asked | None = None
    brings_cuda: bool = False
    includes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    unread: tuple[Asked, ...] = ()


def read(text: str, name: str) -> Wanted:
    """By the file's name: pyproject.toml, *.yml, Dockerfile*; everything else as requirements.txt."""
    base = re.split(r"[\\/]", name)[-1].lower()
    text = "\n".join(text.splitlines()[:LIMIT])
    if base.endswith(".toml"):
        return _pyproject(text)
    if base.endswith((".yml", ".yaml")):
        return _conda(text)
    if "dockerfile" in base or "containerfile" in base:
        return _dockerfile(text)
    return _requirements(text)


def normal(name: str) -> str:
    """A distribution's name as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(text: str, line: int, shown: str = "", manager: str = "pip") -> Asked | None:
    """One requirement of pip's, or None for what is none."""
    body, _, marker = text.partition(";")
    if "@" in body and "://" in body:
        body = body.partition("@")[0]
    match = _NAME.match(body)
    if match is None:
        return None
    spec = _SPEC.match(match[3].strip())
    if spec is None:
        return None
    extras = tuple(normal(e.strip()) for e in (match[2] or "").split(",") if e.strip())
    return Asked(
        normal(match[1]),
        re.sub(r"\s+", "", spec[1]).rstrip(","),
        line,
        (shown or text).strip(),
        extras,
        marker.strip(),
        manager,
    )


def _logical(text: str, comment: bool = True) -> list[tuple[int, str]]:
    """Lines joined over trailing backslashes, with the number of the first, comments taken out."""
    found: list[tuple[int, str]] = []
    start, so_far = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw) if comment else raw
        start = start or number
        if line.rstrip().endswith("\\"):
            so_far += line.rstrip()[:-1] + " "
            continue
        found.append((start, so_far + line))
        start, so_far = 0, ""
    if so_far:
        found.append((start, so_far))
    return found


def _requirements(text: str) -> Wanted:
    asked: list[Asked] = []
    unread: list[Asked] = []
    named: dict[str, list[str]] = {"r": [], "c": []}
    for number, line in _logical(text):
        line = line.strip()
        include = _TAKES_IN.match(line)
        if include:
            named[include["short"] or include["long"][0]].append(include["file"])
        if not line or line.startswith("-"):
            continue
        found = requirement(re.sub(r"\s--\w[\w-]*[=\s]\S+", "", line), number, line)
        if found is not None:
            asked.append(found)
        elif re.match(r"tensorflow(-gpu)?\b(?![-./\\])", line, re.IGNORECASE):
            unread.append(Asked("tensorflow", "", number, line))
    return Wanted(tuple(asked), includes=tuple(named["r"]), constraints=tuple(named["c"]), unread=tuple(unread))


def _pyproject(text: str) -> Wanted:
    """The strings of [project] dependencies and optional-dependencies, and of [tool.poetry.dependencies].

    Read line by line rather than through a TOML parser: every finding has to name the line.
    """
    asked: list[Asked] = []
    python: Asked | None = None
    table, group, depth = "", "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        header = re.match(r"\[+\s*([^\]]+?)\s*\]+\s*(?:#.*)?$", line)
        if header and depth == 0:
            table = header[1].replace('"', "").replace(" ", "")
            continue
        key = re.match(r"([\w.\"-]+)\s*=\s*(.*)$", line)
        value = line
        if key and depth == 0:
            name, value = key[1].strip('"'), key[2]
            if (table == "project" and name == "requires-python") or (
                table.startswith("tool.poetry") and name == "python"
            ):
                spec = value.strip().strip("\"'")
                python = Asked("python", spec if table == "project" else _poetry_spec(spec), number, line)
                continue
            if table.startswith("tool.poetry") and table.endswith("dependencies"):
                found = _poetry(name, value, number, line)
                asked += [found] if found else []
                continue
            wanted = (table == "project" and name == "dependencies") or table in (
                "project.optional-dependencies", "dependency-groups")  # fmt: skip
            if not wanted:
                continue
        elif depth == 0:
            continue
        bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", value)
        depth_before = depth
        depth = max(0, depth + bare.count("[") - bare.count("]"))
        if key and depth_before == 0:
            group = key[1].strip('"') if table != "project" else ""
        for quoted in re.findall(r"\"([^\"]*)\"|'([^']*)'", value):
            found = requirement(quoted[0] or quoted[1], number, line)
            asked += [replace(found, group=group)] if found else []
    return Wanted(tuple(asked), python)


def _poetry(name: str, value: str, number: int, line: str) -> Asked | None:
    version = re.search(r"[\"']([^\"']+)[\"']", value)
    spec = _poetry_spec(version[1].strip() if version else "")
    extras = re.search(r"extras\s*=\s*\[([^\]]*)\]", value)
    inner = ",".join(re.findall(r"[\w-]+", extras[1])) if extras else ""
    named = f"[{inner}]" if inner else ""
    return requirement(f"{name}{named}{spec}", number, line)


def _poetry_spec(spec: str) -> str:
    """Poetry's own signs as pip writes them: ^2.18, ~2.18, 2.18, *."""
    caret = re.fullmatch(r"\^\s*(\d+)(?:\.(\d+))?[\w.]*", spec)
    if caret:
        return f">={spec.lstrip('^ ')},<{int(caret[1]) + 1}"
    if re.fullmatch(r"[\d.]+(\.\*)?", spec):
        return f"=={spec}"
    if spec.startswith("~") and not spec.startswith("~="):
        return "~=" + spec[1:].strip()
    return "" if spec == "*" else spec


def _conda(text: str) -> Wanted:
    """The list under `dependencies:`, pip's nested list included; YAML's block style, which conda writes."""
    asked: list[Asked] = []
    python: Asked | None = None
    includes: list[str] = []
    inside, pip_indent = False, -1
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        if not line.strip():
            continue
        if re.match(r"\w[\w-]*\s*:", line):
            inside = line.startswith("dependencies")
            continue
        item = re.match(r"(\s*)-\s+(.*)$", line)
        if not inside or not item:
            continue
        indent, body = len(item[1]), item[2].strip().strip("\"'")
        if body.rstrip() == "pip:":
            pip_indent = indent
            continue
        if pip_indent >= 0 and indent > pip_indent:
            include = _TAKES_IN.match(body)
            includes += [include["file"]] if include else []
            found = requirement(body, number, line)
            asked += [found] if found else []
            continue
        pip_indent = -1
        entry = _conda_entry(body, number, line)
        if entry is None:
            continue
        if entry.name == "python":
            python = entry
        else:
            asked.append(entry)
    return Wanted(tuple(asked), python, includes=tuple(includes))


def _conda_entry(body: str, number: int, line: str) -> Asked | None:
    """conda's match specification: "cudatoolkit=11.2", "conda-forge::cudnn=8.1=h123", "python >=3.8,<3.11"."""
    match = re.match(r"(?:[\w./-]+::)?([\w.-]+)\s*(.*)$", body)
    if match is None:
        return None
    spec = match[2].strip()
    single = re.match(r"=(?!=)\s*([\w.]+?)(?:\.\*|\*)?(?:\s*=\s*\S+)?$", spec)
    plain = re.match(r"==?\s*([\w.]+)(?:\s*=\s*\S+)?$", spec)
    if single:
        spec = f"=={single[1]}.*"
    elif plain:
        spec = f"=={plain[1]}"
    elif re.fullmatch(r"[\d.]+(\.\*)?(?:\s+\S+)?", spec):
        spec = f"=={spec.split()[0]}"
    return Asked(normal(match[1]), spec.replace(" ", ""), number, line.strip(), manager="conda")


def _dockerfile(text: str) -> Wanted:
    asked: list[Asked] = []
    python: Asked | None = None
    image: Asked | None = None
    brings_cuda = False
    for number, line in _logical(text):
        line = line.strip()
        origin = re.match(r"FROM\s+(?:--\S+\s+)*(\S+)", line, re.IGNORECASE)
        if origin:
            image = Asked(origin[1].split("@")[0].lower(), "", number, line, manager="docker")
            tag = re.search(r"(?:^|/)python:(\d+\.\d+)", image.name)
            python = Asked("python", f"=={tag[1]}.*", number, line) if tag else None
            asked, brings_cuda = [], False  # a later stage starts anew
            continue
        command = re.match(r"RUN\s+(.*)$", line, re.IGNORECASE | re.DOTALL)
        if command is None:
            continue
        brings_cuda = brings_cuda or re.search(r"(?i)cuda|cudnn|nvidia", command[1]) is not None
        for part in re.split(r"&&|;|\|\|", command[1]):
            asked += _pip_line(part, number, text)
    return Wanted(tuple(asked), python, image, brings_cuda)


def _pip_line(part: str, number: int, text: str) -> list[Asked]:
    """The requirements of one `pip install` or `uv pip install`."""
    try:
        words = shlex.split(part)
    except ValueError:
        return []
    for at, word in enumerate(words):
        if word == "install" and at and re.search(r"pip[\d.]*$", words[at - 1]):
            words = words[at + 1 :]
            break
    else:
        return []
    found: list[Asked] = []
    skip = False
    lines = text.splitlines()
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in ("-r", "-c", "-i", "-f", "-t", "--index-url", "--extra-index-url", "--requirement",
                                         "--target", "--find-links", "--constraint", "--python", "--platform")  # fmt: skip
            continue
        asked = requirement(word, number, part.strip())
        if asked is None:
            continue
        at = next((n for n in range(number, min(number + 60, len(lines) + 1)) if word in lines[n - 1]), number)
        found.append(Asked(asked.name, asked.specifier, at, lines[at - 1].strip(), asked.extras, asked.marker))
    return found
