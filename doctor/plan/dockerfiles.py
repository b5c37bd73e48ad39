"""Reads a Dockerfile's last stage: its base image, and what its RUN lines install with pip, uv and conda.

Source: Docker's Dockerfile reference (ARG, ENV, FROM, RUN with its shell, exec and here-document forms). This
module runs nothing; it fills in only variables that the file itself sets.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from copy import copy

from doctor import lazy
from doctor.backports import removesuffix
from doctor.plan.conda import NOT_READ, match_spec
from doctor.plan.hidden import VARIABLES, variable
from doctor.plan.requested import CONCERNS, LINE, FileContents, Requested, Unread, requirement, unread
from doctor.values import dataclass, field, replace

_VARIABLE = lazy.compile(r"\$(?:(\w{1,80})|\{(\w{1,80})(?::?-([^}]{0,200}))?\})")
_PYTHON = lazy.compile(r"python-?3?\.\d+|python=|\buv\b|conda|mamba|pyenv|deadsnakes|Python-3")
"""Matches commands that may install a Python interpreter other than the image's own: python3.9, uv venv,
conda create."""
_OF_PIP = lazy.compile(r"nvidia-[\w-]{1,60}-cu\d+|and-cuda")
_FOLDERS = lazy.compile(r"nvidia/(\w{1,40})/lib")
_SOME = lazy.compile(r"(?:site|dist)-packages|nvidia/\S{1,40}/lib")
_FINDS = lazy.compile(r"symlink|\bln\s|ld\.so\.conf|ldconfig|LD_LIBRARY_PATH")
_HEREDOC = lazy.compile(r"<<-?[\"']?(\w+)[\"']?")
_PIP = lazy.compile(r"(?:.*/)?pip[\d.]*")
VALUE = 200
"""A variable's value is filled in only if it has at most this many characters, because values that refer to
one another can double in length each time."""
_CONDA = ("conda", "mamba", "micromamba")
_INDEX = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index", "--default-index")
"""The options of pip and uv whose value is the address of a package index."""
_WITH_VALUE = (
    *_INDEX, "-r", "-c", "-t", "--requirement", "--constraint", "--target", "--python", "--platform",
    "--prefix", "--root", "--python-version", "--implementation", "--abi", "--no-binary", "--only-binary",
    "--timeout", "--retries", "--proxy", "--cache-dir", "--trusted-host", "--progress-bar", "-n", "--name",
    "-p", "--channel", "--file", "--upgrade-strategy", "--torch-backend", "-e", "--editable",
)  # fmt: skip
"""The options of pip and conda that take a value."""


@dataclass
class _Stage:
    """What has been read so far from one build stage of the Dockerfile."""

    image: Requested | None = None
    python: Requested | None = None
    asked: list[Requested] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    indexes: list[Requested] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    brings_cuda: bool = False
    brings_python: bool = False
    found: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Requested] = field(default_factory=dict)

    def heir(self) -> _Stage:
        """Return a new stage that starts from this stage, for a FROM with this stage's name."""
        return replace(self, **{name: copy(value) for name, value in vars(self).items()})


def dockerfile(lines: Sequence[str]) -> FileContents:
    """Read a Dockerfile: what its last stage contains and installs."""
    stage = _Stage()
    stages: dict[str, _Stage] = {}
    globals_: dict[str, str] = {}
    began = False
    for first, last, line in _instructions(lines):
        word, _, rest = line.partition(" ")
        name, rest = word.upper(), rest.strip()
        if len(line) > LINE:
            stage.unread.append(unread(first, line))
        elif name == "FROM":
            began = True
            stage = _from(_filled(rest, globals_), first, line, stages)
        elif name in ("ARG", "ENV"):
            for key, value in _settings(rest):
                (stage.values if began else globals_)[key] = _filled(value, {**globals_, **stage.values})
                if began and name == "ARG" and not value:
                    stage.values[key] = globals_.get(key, "")
                stage.found += _folders(value) if key == "LD_LIBRARY_PATH" else []
                if began and name == "ENV" and key in VARIABLES:
                    at = next((n for n in range(first, last + 1) if key in lines[n - 1]), first)
                    alone = first == last and len(_settings(rest)) == 1
                    filled, text = stage.values[key], lines[at - 1].strip()
                    stage.variables[key] = variable(key, filled, at, text, alone)
        elif name == "RUN":
            stage.found += _folders(rest) if _FINDS.search(rest) else []
            stage.brings_cuda = stage.brings_cuda or (
                re.search(r"(?i)cuda|cudnn|nvidia", _OF_PIP.sub("", rest)) is not None
            )
            stage.brings_python = stage.brings_python or _PYTHON.search(rest) is not None
            _run(_Command(_filled(rest, stage.values), lines[first - 1 : last], first), stage)
    return FileContents(
        tuple(stage.asked),
        stage.python,
        stage.image,
        stage.brings_cuda,
        stage.brings_python,
        tuple(stage.includes),
        tuple(stage.constraints),
        tuple(stage.indexes),
        tuple(stage.unread),
        found=tuple(stage.found),
        variables=tuple(stage.variables.values()),
    )


def _folders(text: str) -> list[str]:
    """Return the folders of pip's CUDA libraries that a string names, or "*" if it covers them with a pattern
    or variable."""
    return _FOLDERS.findall(text) or (["*"] if _SOME.search(text) else [])


def _instructions(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield each instruction: the numbers of its first and last line, and its text without comment lines."""
    at = 0
    while at < len(lines):
        first = at
        parts: list[str] = []
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.lstrip().startswith("#") or (parts and not line.strip()):
                continue
            parts.append(
                removesuffix(line.rstrip(), "\\").rstrip() if line.rstrip().endswith("\\") else line.strip()
            )
            if not line.rstrip().endswith("\\"):
                break
        text = " ".join(part.strip() for part in parts).strip()
        end = _HEREDOC.search(text) if text[:4].upper() == "RUN " else None
        while end and at < len(lines):
            at += 1
            if lines[at - 1].strip() == end[1]:
                break
            text += "\n" + lines[at - 1]
        if text:
            yield first + 1 + _blank(lines[first:at]), at, text


def _blank(lines: Sequence[str]) -> int:
    """Return the number of comment lines and empty lines at the beginning."""
    return next(
        (at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), 0
    )


def _settings(rest: str) -> list[tuple[str, str]]:
    """Return the names and values that an ARG or ENV instruction sets."""
    if "=" not in rest:
        key, _, value = rest.partition(" ")
        return [(key, value.strip())]
    try:
        words = shlex.split(rest)
    except ValueError:
        return []
    return [(key, value) for key, _, value in (word.partition("=") for word in words)]


def _filled(text: str, values: dict[str, str]) -> str:
    """Return the text with the values of known variables filled in. Unknown variables stay unchanged."""

    def value(match: re.Match[str]) -> str:
        known = values.get(match[1] or match[2]) or match[3]
        return known if known is not None and len(known) <= VALUE else match[0]

    return _VARIABLE.sub(value, text)


def _from(rest: str, number: int, line: str, stages: dict[str, _Stage]) -> _Stage:
    """Return the stage that a FROM instruction begins, and add it to `stages` if it has a name."""
    words = [word for word in rest.split() if not word.startswith("--")]
    if not words:
        return _Stage(unread=[Unread(number, line, "FROM names no image")])
    name = words[0].split("@")[0].lower()
    if name in stages:
        stage = stages[name].heir()
    else:
        stage = _Stage(Requested(name, "", number, line, manager="docker", word=words[0]))
        if "$" in name:
            stage.unread.append(unread(number, line))
        tag = re.search(r"(?:^|/)python:(\d+\.\d+)", name)
        stage.python = (
            Requested("python", f"=={tag[1]}.*", number, line, manager="docker", word=tag[1]) if tag else None
        )
    if len(words) == 3 and words[1].lower() == "as":
        stages[words[2].lower()] = stage
    return stage


class _Command:
    """A RUN instruction: its text with the variables filled in, and its original lines."""

    def __init__(self, text: str, lines: Sequence[str], first: int) -> None:
        self.text, self.lines, self.first = text, lines, first
        self._at = 0
        self.shell = not re.match(r"(?:--\S+\s+)*\[", text)

    def place(self, word: str) -> tuple[int, str]:
        """Return the number and text of the line that contains a word. The search starts at the line that was
        found last."""
        for part in (word, re.split(r"[=<>!~\[ ]", word)[0]):  # the version may come from a variable
            for at in (*range(self._at, len(self.lines)), *range(self._at)):
                if part and part in self.lines[at]:
                    self._at = at
                    return self.first + at, self.lines[at].strip()
        return self.first, self.lines[0].strip()

    def commands(self) -> list[list[str]]:
        """Return the words of each command in a RUN instruction."""
        text = re.sub(r"^(?:--\S+\s+)+", "", self.text)
        if text.startswith("["):
            try:
                words = json.loads(text)
            except ValueError:
                words = []
            if isinstance(words, list) and all(isinstance(word, str) for word in words) and words:
                if len(words) == 3 and words[1].lower() == "-c":
                    return _split(words[2])
                return [words]
        return _split(text)


def _split(text: str) -> list[list[str]]:
    """Return the words of each command in a shell line. Raises ValueError if a quotation mark is not
    closed."""
    reader = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";&|()")
    reader.whitespace_split = True
    reader.commenters = ""
    found: list[list[str]] = [[]]
    for word in reader:
        if re.fullmatch(r"[;&|()]+", word):
            found.append([])
        else:
            found[-1].append(word)
    return [words for words in found if words]


def _run(command: _Command, stage: _Stage) -> None:
    """Add the packages that a RUN instruction installs to the stage."""
    try:
        commands = command.commands()
    except ValueError:
        if CONCERNS.search(command.text) and "install" in command.text:
            stage.unread.append(
                unread(command.first, command.lines[0], "a quotation mark in this command is not closed")
            )
        return
    for words in commands:
        for at, word in enumerate(words[:-1]):
            before = words[at - 1] if at else ""
            if word == "install" and _PIP.fullmatch(before):
                _arguments(words[at + 1 :], "pip", command, stage)
            elif (word == "install" or (word == "create" and before in _CONDA)) and before.rpartition("/")[
                2
            ] in _CONDA:
                _arguments(words[at + 1 :], "conda", command, stage)
            elif (word == "add" and before == "uv") or (word == "sync" and before in ("uv", "pip")):
                named = [w for w in words[at + 1 :] if CONCERNS.search(w)]
                number, line = command.place(named[0] if named else word)
                stage.unread += (
                    [Unread(number, line, f"the packages that `{before} {word}` installs were not read")]
                    if named
                    else []
                )
            else:
                continue
            break


def _arguments(words: list[str], manager: str, command: _Command, stage: _Stage) -> None:
    """Add the requirements in one `pip install` or `conda install` command to the stage."""
    taken = ""
    for word in words:
        option, equals, value = word.partition("=")
        if taken or (word.startswith("-") and equals and option in _WITH_VALUE):
            if manager == "pip":
                _option(taken or option, word if taken else value, command, stage)
            elif (taken or option) in ("-f", "--file"):
                number, line = command.place(word)
                stage.unread.append(Unread(number, line, "the file with conda's package list was not read"))
            taken = ""
        elif word.startswith("-"):
            short = re.fullmatch(r"(-[rcif])(\S+)", word) if manager == "pip" else None
            if short:
                _option(short[1], short[2], command, stage)
            taken = word if word in _WITH_VALUE else ""
        else:
            number, line = command.place(word)
            found = match_spec(word, number, line) if manager == "conda" else _requirement(word, number, line)
            if isinstance(found, Requested):
                last = command.first + len(command.lines) - 1, command.lines[-1].strip()
                stage.asked.append(replace(found, word=word, shell=command.shell, end=last))
            elif isinstance(found, Unread):
                stage.unread.append(found)
            elif CONCERNS.search(word):
                stage.unread.append(unread(number, line, NOT_READ if manager == "conda" else ""))


def _requirement(word: str, number: int, line: str) -> Requested | Unread | None:
    """Read one argument of `pip install`. Return None if it is not a requirement that concerns TensorFlow or
    CUDA and could be read."""
    before = line.partition(word)[0]
    if re.search(r"[<>]", word) and word in line and not (before.count("'") % 2 or before.count('"') % 2):
        return (
            Unread(
                number,
                line,
                "the shell treats < and > outside quotes as redirections: put the requirement in quotes",
            )
            if CONCERNS.search(word)
            else None
        )
    if re.search(r"://|\.whl$|^[./]", word) and "@" not in word:
        return (
            Unread(number, line, "the file at this address or path was not read")
            if CONCERNS.search(word)
            else None
        )
    return None if "$" in word else requirement(word, number, line)


def _option(option: str, value: str, command: _Command, stage: _Stage) -> None:
    """Add the file or package index that an option of pip names to the stage."""
    if option in ("-r", "--requirement", "--file"):
        stage.includes.append(value)
    elif option in ("-c", "--constraint"):
        stage.constraints.append(value)
    elif option in _INDEX:
        number, line = command.place(value)
        stage.indexes.append(Requested("", "", number, line, manager="docker", address=value))
