"""Reads shell files that set environment variables, without a shell: profile, activate.d, .bashrc, job
scripts.

This module understands assignments; `export`, `unset` and `source`; `if` with tests of files and strings;
`for` over names and patterns; `module load` and `module use`. Functions, `case` and `while` loops are
skipped. What a command would print is unknown, unless it makes Python print the folder of one of NVIDIA's
packages, as in TensorFlow's installation guide of 2.11 to 2.14. Source: POSIX, Shell Command Language, 2.6
and 2.9.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import Source
from doctor.probe.machine import Machine

if TYPE_CHECKING:
    from typing import TypeAlias

SIZE = 64 << 10
"""The maximum number of bytes to read from a file."""
DEPTH = 8
"""The longest chain of files that source each other."""
TURNS = 50
"""The maximum number of iterations of a loop."""
STEPS = 5000
"""The maximum number of statements to follow, in all files together."""
LOOPS = ("for", "while", "until", "select")
UNKNOWN = "\0"
"""Stands for a value that only running a command would show."""
_ASSIGNED = lazy.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_PACKAGE = lazy.compile(r"import nvidia(?:\.(\w{1,60}))?.{0,400}?__(?:file|path)__", re.DOTALL)
_VARIABLE = lazy.compile(r"\$(?:(\w+)|\{(\w+)(?:(:?[-+=])([^{}]*(?:\$\{\w+\}[^{}]*)*))?\})")
_INSIDE = r"\([^()]*(?:\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)[^()]*)*\)"
"""Matches brackets within brackets: command substitutions, and the Python code inside them."""
_WORD = lazy.compile(r"(?:\$" + _INSIDE + r"""|`[^`]*`|"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\`])+""")
_EXPORTS = lazy.compile(r"-\w{0,9}x\w{0,9}|--export")
_COMMAND = lazy.compile(r"\$" + _INSIDE + r"|`[^`]*`")
Statement: TypeAlias = "tuple[int, str, str]"
"""A statement: its line number, its text, and the operator before it ("", && or ||)."""


class StartFiles:
    """Interprets shell start files and records their effects on the environment. `env` is the resulting
    environment, `origins` the place where each value was set.

    modules: the names after `module load`, in order; module_paths: those after `module use`. site: the
    package folders of the examined Python environment.
    """

    def __init__(
        self,
        machine: Machine,
        env: Mapping[str, str],
        site: Sequence[str] = (),
        origins: Mapping[str, Source] | None = None,
    ) -> None:
        self.machine, self.site = machine, tuple(site)
        self.env = dict(env)
        self.origins = dict(origins or {})
        self.modules: list[str] = []
        self.module_paths: list[str] = []
        self._left = STEPS
        self._depth = 0
        self._where = ""

    @property
    def module_folders(self) -> list[str]:
        """The folders to search for modulefiles: those from `module use` and MODULEPATH."""
        return [*self.module_paths, *self.env.get("MODULEPATH", "").split(":")]

    def source(self, path: str) -> bool:
        """Follow a file; False if it does not exist or cannot be read."""
        if self._depth >= DEPTH:
            return False
        try:
            text = self.machine.text(path, SIZE)
        except OSError:  # Machine has noted the failure
            return False
        if text is None:
            return False
        self.follow(text, path)
        return True

    def follow(self, text: str, path: str) -> None:
        """Follow the text of a file."""
        before, self._where = self._where, path
        self._depth += 1
        try:
            self._run(list(_statements(text)))
        finally:
            self._where = before
            self._depth -= 1

    def filled(self, text: str) -> str:
        """The text with the variables that are known so far filled in."""

        def value(match: re.Match[str]) -> str:
            name, sign, other = match[1] or match[2], match[3] or "", match[4] or ""
            known = self.env.get(name, "")
            if "+" in sign:
                return self.filled(other) if known else ""
            if sign and not known:
                return self.filled(other)
            return known

        return _VARIABLE.sub(value, text)

    def set(self, name: str, value: str, where: str, line: int | None = None) -> None:
        """Set a variable that the file `where` sets at a line; unknown parts of a list of folders are left
        out.

        The line itself is not kept, because other variables in it may be secrets.
        """
        if UNKNOWN in value:
            if not name.endswith("PATH"):
                return
            value = ":".join(part for part in value.split(":") if part and UNKNOWN not in part)
            if not value:
                return
        self.env[name] = value
        self.origins[name] = Source(where, line, f"{name}={value}")

    # --- statements -------------------------------------------------------------------------------

    def _run(self, statements: list[Statement]) -> None:
        at, kept = 0, True
        frames: list[list[bool]] = []  # for each open `if`: whether this branch runs, whether one has run
        while at < len(statements) and self._left > 0:
            self._left -= 1
            line, text, operator = statements[at]
            at += 1
            first, _, rest = text.partition(" ")
            active = all(frame[0] for frame in frames)
            if first == "if":
                truth = active and self._true(rest)
                frames.append([truth, truth])
            elif first == "elif" and frames:
                outside = all(frame[0] for frame in frames[:-1])
                truth = outside and not frames[-1][1] and self._true(rest)
                frames[-1] = [truth, frames[-1][1] or truth]
            elif first in ("else", "then") and frames:
                if first == "else":
                    frames[-1][0] = not frames[-1][1]
                if rest:
                    statements.insert(at, (line, rest, ""))
            elif first == "fi" and frames:
                frames.pop()
            elif first in (*LOOPS, "case") or text.endswith(("() {", "(){")):
                end = _end(statements, at, first)
                if active and first == "for":
                    self._loop(rest, statements[at : end - 1])
                at = end
            elif active:
                if (operator == "&&" and not kept) or (operator == "||" and kept):
                    continue
                if first in ("return", "exit"):
                    return
                kept = self._simple(line, text)

    def _loop(self, head: str, body: list[Statement]) -> None:
        name, _, words = head.partition(" in ")
        body = [
            (line, text[3:] if text.startswith("do ") else text, op)
            for line, text, op in body
            if text != "do"
        ]
        values = [found for word in _words(words) for found in self._matching(self._expanded(word))]
        for value in values[:TURNS]:
            self.env[name.strip()] = value
            self._run(list(body))

    def _matching(self, word: str) -> list[str]:
        """The paths that match a pattern; a pattern with wildcards in more than two parts is skipped."""
        if not word.startswith("/") or not re.search(r"[*?\[]", word):
            return word.split()
        wildcards = sum(part.strip("*?[") != part for part in word.split("/"))
        return self.machine.glob(word) if wildcards <= 2 else []

    def _simple(self, line: int, text: str) -> bool:
        """Follow one command. Returns False if it is a test that fails."""
        words = _words(text)
        if not words:
            return True
        first = words[0]
        if first in ("[", "[[", "test"):
            return self._true(text)
        if first in ("export", "declare", "typeset", "readonly"):
            words = [word for word in words[1:] if not word.startswith("-")]
        elif first == "unset":
            for word in words[1:]:
                self.env.pop(word, None)
            return True
        elif first == "setenv" and len(words) > 2:  # csh
            self.set(words[1], self._expanded(words[2]), self._where, line)
            return True
        elif first == "set" and len(words) > 3 and _EXPORTS.fullmatch(words[1]):  # fish
            values = [value for word in words[3:] if (value := self._expanded(word))]
            self.set(words[2], ":".join(values), self._where, line)
            return True
        elif first in ("source", ".") and len(words) > 1:
            return self.source(posixpath.normpath(self._expanded(words[1])))
        elif first in ("module", "ml"):
            self._module(words[1:], short=first == "ml")
            return True
        for word in words:
            match = _ASSIGNED.fullmatch(word)
            if match is None:
                break
            value = self._expanded(match[3])
            value = self.env.get(match[1], "") + value if match[2] else value
            self.set(match[1], value, self._where, line)
        return True

    def _module(self, words: Sequence[str], *, short: bool) -> None:
        named = [self._expanded(word) for word in words if not word.startswith("-")]
        if named and named[0] == "use":
            self.module_paths += [path for word in named[1:] for path in word.split(":")]
        elif named and (short or named[0] in ("load", "add", "try-load")):
            self.modules += named if short and named[0] not in ("load", "add") else named[1:]

    # --- words ------------------------------------------------------------------------------------

    def _true(self, text: str) -> bool:
        """Whether a test succeeds. Commands, and tests that are not understood, count as successful."""
        text = text.strip()
        if text.endswith("then"):
            text = text[: -len("then")].rstrip().rstrip(";")
        words = _words(text)
        if not words or words[0] not in ("[", "[[", "test"):
            return not words or words[0] != "!"
        words = [word for word in words[1:] if word not in ("]", "]]")]
        wanted = True
        if words[:1] == ["!"]:
            wanted, words = False, words[1:]
        for glue, joined in (("-o", any), ("||", any), ("-a", all), ("&&", all)):
            if glue in words:
                at = words.index(glue)
                parts = (words[:at], words[at + 1 :])
                return joined(self._true(" ".join(["[", *part, "]"])) for part in parts) is wanted
        values = [self._expanded(word) for word in words]
        return self._holds(values) is wanted

    def _holds(self, values: Sequence[str]) -> bool:
        if len(values) == 1:
            return bool(values[0])
        if len(values) == 2:
            sign, value = values
            if sign in ("-n", "-z"):
                return bool(value) is (sign == "-n")
            if sign in ("-d", "-e", "-f", "-r", "-s", "-x", "-L", "-h"):
                return self.machine.is_dir(value) if sign == "-d" else self.machine.exists(value)
        if len(values) == 3 and UNKNOWN not in "".join(values):
            if values[1] in ("=", "=="):
                return values[0] == values[2]
            if values[1] == "!=":
                return values[0] != values[2]
        return True

    def _expanded(self, word: str) -> str:
        """The word with its variables filled in and its quotes removed."""
        result = []
        for piece in re.split(r"('[^']*')", word):
            if piece.startswith("'") and piece.endswith("'") and len(piece) > 1:
                result.append(piece[1:-1])
            else:
                text = _COMMAND.sub(self._printed, piece)
                text = re.sub(r'(?<!\\)"', "", text)
                result.append(re.sub(r"\\(.)", r"\1", self.filled(text)))
        text = "".join(result)
        if text == "~" or text.startswith("~/"):
            text = self.env.get("HOME", "/root") + text[1:]
        return text

    def _printed(self, match: re.Match[str]) -> str:
        """The output of a command: the folder of an NVIDIA package if the command prints that, otherwise
        unknown."""
        text = match[0]
        package = _PACKAGE.search(text)
        if package is not None:
            name = f"nvidia/{package[1]}" if package[1] else "nvidia"
            folder = next(
                (f"{base}/{name}" for base in self.site if self.machine.is_dir(f"{base}/{name}")), UNKNOWN
            )
            path = folder if "__path__" in text or folder == UNKNOWN else f"{folder}/__init__.py"
            for _ in range(text.count("dirname")):
                path = posixpath.dirname(path)
            return path or UNKNOWN
        if "dirname" in text and ("BASH_SOURCE" in text or "$0" in text):
            return posixpath.dirname(self._where)
        return UNKNOWN


def _words(text: str) -> list[str]:
    return [match[0] for match in _WORD.finditer(text)]


def _statements(text: str) -> Iterator[Statement]:
    """The statements of a file: its lines without comments, split at ; && and || outside quotes."""
    number = 1
    for joined in re.split(r"(?<!\\)\n", text):
        line = joined.replace("\\\n", "").strip()
        start = number
        number += joined.count("\n") + 1
        if line.startswith("#"):
            continue
        begin, operator = 0, ""
        cuts = re.finditer(_WORD.pattern.replace(r"[^\s", r"[^\s;&|#") + r"|&&|\|\||;+|&|\||\s#.*", line)
        tests = 0
        for match in cuts:
            sign = match[0]
            tests += sign == "[["
            tests -= sign == "]]"
            if sign.startswith((" #", "\t#")):
                line = line[: match.start()]
                break
            if tests or sign not in ("&&", "||", ";", ";;", "&", "|"):
                continue
            piece = line[begin : match.start()].strip()
            if piece:
                yield start, piece, operator
            begin, operator = match.end(), sign if sign in ("&&", "||") else ""
        piece = line[begin:].strip()
        if piece:
            yield start, piece, operator


def _end(statements: Sequence[Statement], at: int, first: str) -> int:
    """The index of the statement after the loop, case or function whose body begins at `at`. first: the first
    word of the construct, such as "for"; any unknown word means a function."""
    opening: tuple[str, ...] = ()
    closing = "}"
    if first in LOOPS:
        opening, closing = LOOPS, "done"
    elif first == "case":
        opening, closing = ("case",), "esac"
    depth = 1
    for place in range(at, len(statements)):
        text = statements[place][1]
        word = text.split(" ", 2)
        begins = word[1] if word[0] in ("do", "then", "else") and len(word) > 1 else word[0]
        if begins in opening or (not opening and text.endswith(("() {", "(){"))):
            depth += 1
        elif word[0] == closing:
            depth -= 1
            if depth == 0:
                return place + 1
    return len(statements)
