"""Types that describe, line by line, what a requirement file requests, and functions that read pip's
requirements.

This module reads nothing from disk, and runs and evaluates nothing. Every reader takes time proportional to
the length of the text: in each pattern, at most one unbounded quantifier comes before the text to find, and a
line that is longer than LINE or has more than BOUNDS version bounds is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import Source, normalised
from doctor.values import dataclass

if TYPE_CHECKING:
    from typing import TypeAlias

LINES = 20_000
"""The maximum number of lines to read from one file."""
LINE = 20_000
"""The maximum number of characters in a line, including its continuation lines; longer lines are not read."""
BOUNDS = 200
"""The maximum number of version bounds in a requirement; a requirement with more is not read."""
_NAME = lazy.compile(r"([A-Za-z0-9][\w.-]{0,200})\s{0,20}(?:\[([^\]]{0,1000})\])?(.*)", re.DOTALL)
_INCLUDED = lazy.compile(r"(?:-(?P<short>[rc])\s*|--(?P<long>requirement|constraint)[\s=]\s*)(?P<file>\S+)")
_INDEX = lazy.compile(r"(?:-[if]\s*|--(?:index-url|extra-index-url|find-links)[\s=]\s*)(?P<address>\S+)")
_BOUND = lazy.compile(r"\s*(===|==|!=|~=|>=|<=|>|<)\s*([\w.*+!-]+)\s*")
CONCERNS = lazy.compile(
    r"(?i)tensorflow|(?<![a-z])(?:tf-nightly|torch|pytorch|jax|jaxlib|cupy|nvidia|cuda|cudnn"
    r"|cudatoolkit)(?![a-z])"
)
"""Matches a word that shows that a line affects TensorFlow or the CUDA libraries in its environment."""

PLATFORMS = {
    "linux-64": "sys_platform == 'linux' and platform_machine == 'x86_64'",
    "linux-aarch64": "sys_platform == 'linux' and platform_machine == 'aarch64'",
    "linux-ppc64le": "platform_machine == 'ppc64le'",
    "win-64": "sys_platform == 'win32'",
    "win-arm64": "sys_platform == 'win32' and platform_machine == 'ARM64'",
    "osx-64": "sys_platform == 'darwin' and platform_machine == 'x86_64'",
    "osx-arm64": "sys_platform == 'darwin' and platform_machine == 'arm64'",
    "linux": "sys_platform == 'linux'",
    "win": "sys_platform == 'win32'",
    "osx": "sys_platform == 'darwin'",
    "unix": "sys_platform != 'win32'",
    "noarch": "",
}
"""The environment marker for each of conda's platform names."""
NEVER = "os_name == 'none'"
"""A marker that is never true."""


@dataclass(frozen=True)
class Requested:
    """What a line requests: a package, a Python version, an image, a package index or the value of a
    variable.

    name: normalised ("tensorflow-gpu"); specifier: as pip writes it (">=2.15,<2.17"); marker: an environment
    marker, not evaluated; manager: pip, conda or docker; group: its optional group (at most one group is
    installed); file: the file that contains it, if another file includes that file; address: the URL or path
    of the package, if it does not come from the package index; word: the requirement as written in the line;
    build: the build string of a conda package; shell: whether a shell reads the line; end: in a Dockerfile,
    the number and text of the instruction's last line.
    """

    name: str
    specifier: str
    line: int
    text: str
    extras: tuple[str, ...] = ()
    marker: str = ""
    manager: str = "pip"
    group: str = ""
    file: str = ""
    address: str = ""
    word: str = ""
    build: str = ""
    shell: bool = False
    end: tuple[int, str] = (0, "")

    def source(self, name: str) -> Source:
        """Return the line as evidence. name: the file, unless the line has its own file."""
        return Source(self.file or name, self.line, self.text)

    def unread(self, why: str) -> Unread:
        """Return the record that the line could not be judged, with the reason (see Unread)."""
        return Unread(self.line, self.text, why, self.file)


@dataclass(frozen=True)
class Unread:
    """A line that could not be judged. why: the reason, as a sentence without a full stop; file: as in
    Requested."""

    line: int
    text: str
    why: str
    file: str = ""


@dataclass(frozen=True)
class Service:
    """A service of a compose file. image: the image that it starts; dockerfile: the path of the file from
    which its image is built, "" if none; gpu: whether the service requests a GPU; file, line, text: where its
    entry begins; variables: as in FileContents."""

    name: str
    line: int
    text: str
    image: Requested | None = None
    dockerfile: str = ""
    gpu: bool = False
    file: str = ""
    variables: tuple[Requested, ...] = ()


@dataclass(frozen=True)
class FileContents:
    """What a file requests: its requirements, and the Python version or image that it requires, each with its
    line.

    brings_cuda: whether a command of a Dockerfile's last stage mentions CUDA, cuDNN or NVIDIA's packages;
    brings_python: whether a command installs a Python interpreter other than the image's own. found: the
    folders of pip's CUDA libraries that a command links to or puts on LD_LIBRARY_PATH ("cudnn"; "*" for all).
    includes: the files named after -r; constraints: the files named after -c. indexes: package indexes other
    than the default. unread: lines that could not be judged. locked: whether an installer's resolver chose
    every version. services: the services of a compose file. variables: the lines that set
    CUDA_VISIBLE_DEVICES or NVIDIA_VISIBLE_DEVICES, each with its value as the specifier."""

    requirements: tuple[Requested, ...] = ()
    python: Requested | None = None
    image: Requested | None = None
    brings_cuda: bool = False
    brings_python: bool = False
    includes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    indexes: tuple[Requested, ...] = ()
    unread: tuple[Unread, ...] = ()
    locked: bool = False
    services: tuple[Service, ...] = ()
    found: tuple[str, ...] = ()
    variables: tuple[Requested, ...] = ()


IncludedFile: TypeAlias = "tuple[str, str | None, bool]"
"""A file that another file includes: its path, its text (None if it does not exist), and whether it only
constrains (-c)."""


def bounds(text: str) -> str | None:
    """Return a version specifier without spaces and without repeated bounds, or None if the text is not a
    specifier."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    found = []
    parts = text.split(",")
    for at, part in enumerate(parts):
        match = _BOUND.fullmatch(part)
        if match is not None:
            found.append(match[1] + match[2])
        elif part.strip() or at != len(parts) - 1:  # pip accepts one comma at the end
            return None
    found = list(dict.fromkeys(found))
    return ",".join(found) if len(found) <= BOUNDS else None


def requirement(text: str, line: int, shown: str = "", manager: str = "pip") -> Requested | None:
    """Read a requirement in pip's form. Return None if the text is not a requirement."""
    body, _, marker = text.partition(";")
    address = ""
    if "@" in body:
        name, _, address = body.partition("@")
        if "://" in address or address.strip().startswith(("/", ".")):
            body, address = name, address.strip()
        else:
            return None
    match = _NAME.fullmatch(body.strip())
    if match is None or not match[1][-1].isalnum():
        return None
    spec = bounds(match[3]) if match[3].strip() else ""
    if spec is None:
        return None
    extras = tuple(normalised(e.strip()) for e in (match[2] or "").split(",") if e.strip())
    return Requested(
        normalised(match[1]),
        spec,
        line,
        (shown or text).strip(),
        extras,
        marker.strip(),
        manager,
        address=address,
        word=body.strip(),
    )


def unread(line: int, text: str, why: str = "") -> Unread:
    """Make the record of a line that could not be judged. why: the reason; if it is empty, the reason is
    derived from the text."""
    parts = text.count(",") + 1
    if why:
        pass
    elif len(text) > LINE:
        why = f"the line is longer than {LINE} characters"
    elif parts > BOUNDS:
        why = f"the line has {parts} version bounds, but this tool reads at most {BOUNDS}"
    elif "$" in text:
        why = "the line uses a variable that the file does not set"
    else:
        why = (
            "pip cannot read the line: a requirement consists of a name, extras in brackets, and versions, as"
            " in tensorflow[and-cuda]>=2.16,<2.21"
        )
    return Unread(line, text.strip(), why)


def without_comment(line: str) -> str:
    """Return the part of a line before its comment. A # starts a comment at the beginning of the line or
    after white space."""
    at = line.find("#")
    while at > 0 and not line[at - 1].isspace():
        at = line.find("#", at + 1)
    return line if at < 0 else line[:at]


def logical(lines: Sequence[str], comment: bool = True) -> Iterator[tuple[int, str]]:
    """Yield the lines without comments, joined where a line ends with a backslash, each with the number of
    its first line."""
    start, parts = 0, []
    for number, raw in enumerate(lines, 1):
        line = without_comment(raw) if comment else raw
        start = start or number
        if line.rstrip().endswith("\\"):
            parts.append(line.rstrip()[:-1] + " ")
            continue
        yield start, "".join((*parts, line))
        start, parts = 0, []
    if parts:
        yield start, "".join(parts)


def pip_lines(lines: Iterable[tuple[int, str, str]]) -> FileContents:
    """Read lines in the form of requirements.txt. Each consists of its number, the text to show as evidence,
    and the text to read, without its comment."""
    asked: list[Requested] = []
    unreadable: list[Unread] = []
    indexes: list[Requested] = []
    files: dict[str, list[str]] = {"r": [], "c": []}
    for number, shown, line in lines:
        if len(line) > LINE:
            unreadable.append(unread(number, line))
            continue
        include, index = _INCLUDED.match(line), _INDEX.match(line)
        if include:
            files[include["short"] or include["long"][0]].append(include["file"])
            if "://" in include["file"]:
                unreadable.append(Unread(number, shown, "the file at this address was not downloaded"))
        elif index:
            indexes.append(Requested("", "", number, shown, address=index["address"]))
        if not line or (line.startswith("-") and not CONCERNS.search(line)) or include or index:
            continue
        bare = re.sub(r"\s--\w[\w-]*[=\s]\S+", "", line)
        found = None if "$" in bare.partition(";")[0] else requirement(bare, number, shown)
        if found is not None:
            asked.append(found)
        elif CONCERNS.search(line):
            known = re.search(r"://|^[./-]|\.whl", line)
            why = "the file at this address or path was not read" if known else ""
            unreadable.append(unread(number, shown, why))
    return FileContents(
        tuple(asked),
        includes=tuple(files["r"]),
        constraints=tuple(files["c"]),
        indexes=tuple(indexes),
        unread=tuple(unreadable),
    )
