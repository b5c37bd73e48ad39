"""Reads conda's environment.yml, and converts conda's match specifications into pip's form.

Source: conda's documentation, "Package match specifications", and the docstring of
conda.models.match_spec.MatchSpec.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor import lazy
from doctor.facts import normalised
from doctor.plan.requested import (
    CONCERNS,
    FileContents,
    Requested,
    Unread,
    bounds,
    pip_lines,
    unread,
    without_comment,
)
from doctor.values import replace

_NAME = lazy.compile(r"(?:[^\s\[\]=<>!~]{0,200}::)?([A-Za-z0-9_][\w.-]{0,200})(.*)", re.DOTALL)
_BRACKETS = lazy.compile(
    r"([\w-]{1,60})\s{0,9}=\s{0,9}(?:'([^']{0,200})'|\"([^\"]{0,200})\"|([^,\s\"']{1,200}))"
)


def conda(lines: Sequence[str]) -> FileContents:
    """Read the list under `dependencies:`, including the nested list for pip, in YAML's block style or in
    brackets."""
    asked: list[Requested] = []
    unreadable: list[Unread] = []
    python: Requested | None = None
    of_pip: list[tuple[int, str, str]] = []
    for number, line, body, is_for_pip in _items(lines):
        entry = None if is_for_pip else match_spec(body, number, line)
        if is_for_pip:
            of_pip.append((number, line.strip(), body))
        elif entry is None:
            unreadable += [unread(number, line, NOT_READ)] if CONCERNS.search(body) else []
        elif entry.name == "python":
            python = entry
        else:
            asked.append(entry)
    found = pip_lines(of_pip)
    return replace(
        found,
        requirements=tuple(sorted((*asked, *found.requirements), key=lambda one: one.line)),
        python=python,
        unread=tuple(sorted((*unreadable, *found.unread), key=lambda one: one.line)),
    )


NOT_READ = "this tool cannot read this form of conda's match specification"


def _items(lines: Sequence[str]) -> Iterator[tuple[int, str, str, bool]]:
    """Yield, for each item, the line's number, the line, the item, and whether the item is in the list for
    pip."""
    inside, pip_indent = False, -1
    for number, raw in enumerate(lines, 1):
        line = without_comment(raw).rstrip()
        if not line.strip():
            continue
        top = re.match(r"(\w[\w-]*)\s*:(.*)", line)
        if top:
            inside, pip_indent = top[1] == "dependencies", -1
            if inside and top[2].strip().startswith("["):
                for body in re.split(r",(?![^\[]{0,200}\])", top[2].strip()[1:].rstrip("]")):
                    yield number, line, body.strip().strip("\"'"), False
            continue
        stripped = line.lstrip()
        if not inside or not stripped.startswith("- "):
            continue
        indent, body = len(line) - len(stripped), stripped[2:].strip().strip("\"'")
        if re.fullmatch(r"pip\s*:", body):
            pip_indent = indent
            continue
        if indent <= pip_indent:
            pip_indent = -1
        yield number, line, body, pip_indent >= 0


def match_spec(body: str, number: int, line: str) -> Requested | None:
    """Convert a match specification to pip's form. Return None if the text is not one, or if pip's form
    cannot express it (alternatives, patterns).

    Examples: "cudatoolkit=11.2" (any 11.2), "cudnn==8.1.0", "conda-forge::cudnn=8.1=h123", "tensorflow 2.10.*
    cuda112*", "python >=3.8,<3.11", "tensorflow[version='>=2.10', build=cuda*]".
    """
    match = _NAME.fullmatch(body.strip())
    if match is None:
        return None
    rest, inner = match[2].strip(), ""
    if rest.endswith("]") and "[" in rest:
        rest, _, inner = rest[:-1].partition("[")
    given = {name: single or double or bare for name, single, double, bare in _BRACKETS.findall(inner)}
    version, build = _parts(rest.strip())
    spec = _specifier(given.get("version", version))
    if spec is None:
        return None
    return Requested(
        normalised(match[1]),
        spec,
        number,
        line.strip(),
        manager="conda",
        word=body.strip(),
        build=given.get("build", build),
    )


def _parts(rest: str) -> tuple[str, str]:
    """Return the version and build from the text after a package's name."""
    exact = re.fullmatch(r"(==?\s*[^\s=<>!~,]+)\s*=\s*(\S+)", rest)
    if exact:
        return f"=={exact[1].lstrip('= ')}", exact[2]  # if a build is given, the version is exact
    words = rest.split()
    if len(words) == 2 and re.match(r"[\d*=]", words[0]) and not re.search(r"[=<>!~,]$", words[0]):
        return words[0], words[1]
    return rest, ""


def _specifier(version: str) -> str | None:
    """Convert conda's version specification to pip's form. Return None if pip's form cannot express it."""
    version = version.strip()
    if version in ("", "*"):
        return ""
    if "|" in version or version.startswith("^"):
        return None
    found = []
    for part in version.split(","):
        part = part.strip()
        fuzzy = re.fullmatch(r"=(?!=)\s*([\w.!+-]+?)(?:\.?\*)?", part)
        plain = re.fullmatch(r"(?:==)?\s*(\d[\w.!+-]*?)(\.?\*)?", part)
        bound = re.fullmatch(r"(>=|<=|>|<|!=|~=)\s*([\w.!+-]+?)(\.\*)?", part)
        if fuzzy:
            found.append(f"=={fuzzy[1]}.*")
        elif plain:
            found.append(f"=={plain[1]}" + (".*" if plain[2] else ""))
        elif bound:
            found.append(bound[1] + bound[2] + (".*" if bound[3] and bound[1] == "!=" else ""))
        else:
            return None
    return bounds(",".join(found))
