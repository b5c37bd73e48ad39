"""Represents command lines as data. Only this module turns them into text for a shell.

A command is a list of arguments. An argument that is a plain `str` is data, and is always quoted, whatever it
contains. Shell syntax (a variable, a file name pattern, a redirection) is a `Literal`, whose text must be a
string constant in the source of this program. The rendering depends on the platform: `sh` for Linux, WSL and
macOS; `windows` for text that cmd and PowerShell read in the same way.
"""

from __future__ import annotations

import re
from typing import Union

from doctor import lazy
from doctor.values import dataclass


class RefusedError(ValueError):
    """A value that cannot be written safely for a shell. value: its printable form."""

    def __init__(self, value: str) -> None:
        self.value = one_line(value)
        super().__init__(f"no command that is safe to paste can contain {self.value!r}")


@dataclass(frozen=True, slots=True)
class Literal:
    """Shell syntax that is a constant in the source of this program, never the value of a variable."""

    text: str


@dataclass(frozen=True, slots=True)
class Path:
    """A file or folder. A leading ~/ means the home folder, and a leading - does not start an option."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """The output of one command as an argument for another command: $(...)."""

    command: Line


@dataclass(frozen=True, slots=True)
class Joined:
    """One argument that consists of several parts."""

    parts: tuple[str | Literal | Path | Output, ...]


Word = Union[str, Literal, Path, Output, Joined]


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments. variables: environment variables that are set only for it."""

    argv: tuple[Word, ...]
    variables: tuple[tuple[str, Word], ...] = ()


@dataclass(frozen=True, slots=True)
class Export:
    """Sets an environment variable for the shell and the programs that it starts."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Chain:
    """Several lines joined by an operator: && or | or || or ;."""

    operator: str
    parts: tuple[Line, ...]


Line = Union[Command, Export, Chain, Literal]
"""The types of command lines."""


def run(*argv: Word, **variables: Word) -> Command:
    """Return a program with its arguments. variables: environment variables that are set only for it."""
    return Command(argv, tuple(variables.items()))


def sequence(*parts: Line) -> Chain:
    """Lines that run in order; each runs only if the lines before it succeeded."""
    return Chain("&&", parts)


def piped(*parts: Line) -> Chain:
    """Lines that form a pipe: each reads the output of the line before it."""
    return Chain("|", parts)


def argv(line: Line | None) -> tuple[Word, ...]:
    """Return the arguments of a line that is a single command; () for any other line."""
    return line.argv if isinstance(line, Command) else ()


def commands_of(line: Line | None) -> tuple[Command, ...]:
    """Return every command of a line, in order, including those of a chain and those whose output is an
    argument."""
    if isinstance(line, Chain):
        return tuple(command for part in line.parts for command in commands_of(part))
    words = line.argv if isinstance(line, Command) else (line.value,) if isinstance(line, Export) else ()
    parts = [part for word in words for part in (word.parts if isinstance(word, Joined) else (word,))]
    inner = tuple(c for part in parts if isinstance(part, Output) for c in commands_of(part.command))
    return (line, *inner) if isinstance(line, Command) else inner


def rendered(line: Line, platform: str) -> str:
    """The text of a line for the shell of a platform (linux, wsl, macos, windows).

    Raises RefusedError if a value cannot be written safely for that shell.
    """
    return windows(line) if platform == "windows" else sh(line)


def one_line(text: str) -> str:
    """The text on one line: each run of spaces, line breaks, control characters and bidirectional control
    characters becomes one space.

    Every comment line passes through this function, so that no part of it becomes a command.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def comment(text: str, mark: str = "#") -> str:
    """A comment line for a script. Nothing in the text can end the comment. mark: # for sh, rem for cmd."""
    return f"{mark} {one_line(text if mark == '#' else re.sub('[&|<>^]', ' ', text))}"


# sh

_PLAIN = lazy.compile(r"[\w@%+=:,./-]+", re.ASCII)
_SPECIAL_IN_QUOTES = lazy.compile(r'["$`\\!]')


def sh(line: Line) -> str:
    """The text of a line for sh, bash, zsh and fish. Raises RefusedError for control characters, because
    terminals act on them."""
    if isinstance(line, Literal):
        return line.text
    if isinstance(line, Chain):
        return f" {line.operator} ".join(map(sh, line.parts)).replace(" ; ", "; ")
    if isinstance(line, Export):
        return f"export {line.name}={_sh_word(line.value)}"
    program, *arguments = line.argv
    # without quotes, a first word with = would be an assignment
    first = f"'{program}'" if isinstance(program, str) and "=" in program else _sh_word(program)
    return " ".join((*(f"{n}={_sh_word(v)}" for n, v in line.variables), first, *map(_sh_word, arguments)))


def _printable(text: str) -> str:
    if not text.isprintable():
        raise RefusedError(text)
    return text


def sh_argument(text: str) -> str:
    """The text as one argument for sh: without quotes if that is safe, otherwise in quotes that keep every
    character. Raises RefusedError."""
    if _PLAIN.fullmatch(_printable(text)) and not text.startswith(("~", "=")):
        return text
    if ("'" in text or " " in text) and not _SPECIAL_IN_QUOTES.search(text):
        return f'"{text}"'
    return _in_single_quotes(text)


def _in_single_quotes(text: str) -> str:
    """The text in single quotes, with every character unchanged. A backslash before a quote or another
    backslash is placed outside the quotes, because fish treats it as an escape inside."""
    return "'" + re.sub(r"'|\\(?=['\\]|$)", lambda found: f"'\\{found[0]}'", text) + "'"


def _sh_word(word: Word) -> str:
    if isinstance(word, Literal):
        return word.text
    if isinstance(word, Output):
        return f'"$({sh(word.command)})"'
    if isinstance(word, Joined):
        return '"' + "".join(map(_sh_part, word.parts)) + '"'
    if isinstance(word, str):
        return sh_argument(word)
    if word.text.startswith("~/"):
        rest = word.text[2:]
        return "~/" + (sh_argument(rest) if rest else "")
    return sh_argument(f"./{word.text}" if word.text.startswith("-") else word.text)


def _sh_part(part: str | Literal | Path | Output) -> str:
    """One part of an argument, for use inside double quotes."""
    if isinstance(part, Literal):
        return part.text
    if isinstance(part, Output):
        return f"$({sh(part.command)})"
    text = _printable(part if isinstance(part, str) else part.text)
    home = "$HOME" if isinstance(part, Path) and text.startswith("~/") else ""
    text = text[1:] if home else text
    if not _SPECIAL_IN_QUOTES.search(text):
        return home + text
    return f'{home}"{_in_single_quotes(text)}"'


# cmd and PowerShell

_PLAIN_ON_WINDOWS = lazy.compile(r"[\w.+:/\\=-]+", re.ASCII)
_READ_IN_QUOTES = '"%$`\u201c\u201d\u201e'
"""Characters that have a special meaning inside double quotes: % in cmd; $, ` and typographic quotation marks
(which end a string) in PowerShell."""


def windows(line: Line) -> str:
    """The text of a line that cmd and PowerShell read in the same way, or that PowerShell rejects as a whole.

    Inside double quotes, < > & | ^ ( ) have no special meaning in either shell. Raises RefusedError for a
    value that one of them reads differently there, and for control characters.
    """
    if isinstance(line, Literal):
        return line.text
    if isinstance(line, Chain):
        return f" {line.operator} ".join(map(windows, line.parts))
    if isinstance(line, Export):
        return _set(line.name, line.value)
    words = " ".join(map(_windows_word, line.argv))
    return " && ".join((*(_set(name, value, closed=True) for name, value in line.variables), words))


def batch_file(command: Command) -> str:
    """The text of a command for a batch file, which only cmd reads. The caller must double each percent sign.

    Raises RefusedError for quotation marks and control characters.
    """
    return " ".join(_windows_word(word, '"') for word in command.argv)


def _set(name: str, value: Word, *, closed: bool = False) -> str:
    """The cmd command that sets a variable. closed: another command follows, so the space before it must not
    become part of the value."""
    text = _bare(value, _READ_IN_QUOTES)
    bare = not closed and _PLAIN_ON_WINDOWS.fullmatch(text)
    return f"set {name}={text}" if bare or not text else f'set "{name}={text}"'


def _windows_word(word: Word, refused: str = _READ_IN_QUOTES) -> str:
    if isinstance(word, Literal):
        return word.text
    text = _bare(word, refused)
    if isinstance(word, Path) and text.startswith("-"):
        text = f".\\{text}"
    if _PLAIN_ON_WINDOWS.fullmatch(text):
        return text
    ending = len(text) - len(text.rstrip("\\"))  # a backslash before the closing quote would keep it open
    return f'"{text}{chr(92) * ending}"'


def _bare(word: Word, refused: str) -> str:
    """The text of an argument that has no quotes. refused: the characters that it must not contain."""
    if isinstance(word, Joined):
        return "".join(_bare(part, refused) for part in word.parts)
    if isinstance(word, Output):
        raise RefusedError("$(...)")
    if isinstance(word, Literal):
        return word.text
    text = word if isinstance(word, str) else word.text
    if not text.isprintable() or set(text) & set(refused):
        raise RefusedError(text)
    return text
