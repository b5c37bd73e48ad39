"""Types that describe what a requirement file requests, line by line, and a reader for one requirement.

This module reads nothing from disk, and runs and evaluates nothing. Every reader takes time proportional to
the length of the text: patterns have at most one unbounded repeat before what they look for, and a line that
is longer than LINE or has more than BOUNDS version bounds is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor import lazy
from doctor.facts import normalised
from doctor.values import dataclass

LINES = 20_000
"""The most lines of one file to read."""
LINE = 20_000
"""The most characters of one line to read, including its continuation lines."""
BOUNDS = 200
"""The most version bounds of one requirement to read."""
_NAME = lazy.compile(r"([A-Za-z0-9][\w.-]{0,200})\s{0,20}(?:\[([^\]]{0,1000})\])?(.*)", re.DOTALL)
_BOUND = lazy.compile(r"\s*(===|==|!=|~=|>=|<=|>|<)\s*([\w.*+!-]+)\s*")
CONCERNS = lazy.compile(
    r"(?i)tensorflow|(?<![a-z])(?:tf-nightly|torch|pytorch|jax|jaxlib|cupy|nvidia|cuda|cudnn"
    r"|cudatoolkit)(?![a-z])"
)
"""Matches words in lines that affect TensorFlow or the CUDA libraries in its environment."""

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
"""The environment marker for each of conda's names of platforms."""
NEVER = "os_name == 'none'"
"""A marker that is never true."""


@dataclass(frozen=True)
class Asked:
    """One requirement. name: normalised ("tensorflow-gpu"); extras; specifier as pip writes it
    (">=2.15,<2.17"); marker: an environment marker, not evaluated; manager: pip, conda or docker; group: its
    optional group (at most one group is installed); file: the file that contains it, if that is not the file
    that was read first; address: the URL or path of the package, if it does not come from the package index;
    word: the requirement as written in the line; build: the build string of a conda package; shell: whether a
    shell reads the line; end: number and text of the last line of its instruction in a Dockerfile."""

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


@dataclass(frozen=True)
class Unread:
    """A line that could not be judged. why: the reason, as a sentence without a full stop; file: as in
    Asked."""

    line: int
    text: str
    why: str
    file: str = ""


@dataclass(frozen=True)
class Service:
    """A service of a compose file. image: the image that it starts; dockerfile: the path of the file from
    which its image is built, "" if none; gpu: whether it requests a GPU; file, line, text: where its entry
    begins; variables: as in Wanted."""

    name: str
    line: int
    text: str
    image: Asked | None = None
    dockerfile: str = ""
    gpu: bool = False
    file: str = ""
    variables: tuple[Asked, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """The content of a file: its requirements, and the Python or image that it requires, each with its line.
    brings_cuda: whether a command of a Dockerfile's last stage mentions CUDA, cuDNN or NVIDIA's packages;
    brings_python: whether a command installs a Python other than that of the image's system. found: the
    folders of pip's CUDA libraries that a command links to or puts on LD_LIBRARY_PATH ("cudnn"; "*" for all).
    includes: the files after -r; constraints: the files after -c. indexes: other package indexes. unread:
    lines that could not be judged. locked: whether an installer's resolver chose every version. services:
    those of a compose file. variables: the lines that set CUDA_VISIBLE_DEVICES or NVIDIA_VISIBLE_DEVICES,
    each with the value as specifier."""

    requirements: tuple[Asked, ...] = ()
    python: Asked | None = None
    image: Asked | None = None
    brings_cuda: bool = False
    brings_python: bool = False
    includes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    indexes: tuple[Asked, ...] = ()
    unread: tuple[Unread, ...] = ()
    locked: bool = False
    services: tuple[Service, ...] = ()
    found: tuple[str, ...] = ()
    variables: tuple[Asked, ...] = ()


def normal(name: str) -> str:
    """A distribution's normalised name (PEP 503)."""
    return normalised(name)


def bounds(text: str) -> str | None:
    """A version specifier without spaces and with each bound once; None if the text is not a specifier."""
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


def requirement(text: str, line: int, shown: str = "", manager: str = "pip") -> Asked | None:
    """The requirement that a text in pip's form states; None if the text is not a requirement."""
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
    extras = tuple(normal(e.strip()) for e in (match[2] or "").split(",") if e.strip())
    return Asked(
        normal(match[1]),
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
    """The record of a line that could not be judged. why: the reason; if it is empty, the text itself shows
    the reason."""
    if not why:
        parts = text.count(",") + 1
        why = (
            f"the line is longer than {LINE} characters"
            if len(text) > LINE
            else (
                f"the line has {parts} version bounds, but this tool reads at most {BOUNDS}"
                if parts > BOUNDS
                else (
                    "the line uses a variable that the file does not set"
                    if "$" in text
                    else (
                        "pip cannot read the line: a requirement consists of a name, extras in brackets, and"
                        " versions, as in tensorflow[and-cuda]>=2.16,<2.21"
                    )
                )
            )
        )
    return Unread(line, text.strip(), why)


def without_comment(line: str) -> str:
    """A line up to a # that starts a comment: at its beginning, or after white space."""
    at = line.find("#")
    while at > 0 and not line[at - 1].isspace():
        at = line.find("#", at + 1)
    return line if at < 0 else line[:at]


def logical(lines: Sequence[str], comment: bool = True) -> Iterator[tuple[int, str]]:
    """Yield the lines without comments and joined at trailing backslashes, each with its first line
    number."""
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
