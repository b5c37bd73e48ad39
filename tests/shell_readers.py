"""Reads command lines as shells do, and returns the words that a program gets. The tests use a real sh. Lines
for cmd and PowerShell are read according to their documented rules ("Parsing C command-line arguments" and
"about_Parsing" on Microsoft Learn)."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path

from doctor import shell
from doctor.shell import Chain, Command, Export, Joined, Line, Literal, Output, Word

PAYLOADS = (
    "$(touch PWNED)",
    "`touch PWNED`",
    "; touch PWNED;",
    "|touch PWNED",
    "&touch PWNED&",
    "\ntouch PWNED\n",
    "'; touch PWNED; '",
    '"; touch PWNED; "',
    "2%a&calc.exe&",
    "-rhttps://evil.example/x",
    "--extra-index-url=https://evil.example/x",
    "$(touch${IFS}PWNED)",
    "git+https://evil.example/x",
    "x@https://evil.example/x",
    "https://evil.example/x.whl",
    "\u202etouch PWNED",
    "\x1b]0;x\x07touch PWNED",
    "\r\ntouch PWNED\r\n#",
    "\u201d; touch PWNED; \u201c",
    'a\\" & touch PWNED & \\"',
    "> PWNED",
    "\\",
    "~root/x",
    "!touch",
    "\x00\x9b2J",
)
"""Texts that a report may contain to make a reader run something other than the prescribed commands."""


class MisreadError(AssertionError):
    """A shell interprets a character that it should pass on."""


def cmd_words(text: str) -> list[str]:
    """Return the arguments that a program gets from a command line in cmd."""
    quoted = False
    for c in text:
        if c == '"':
            quoted = not quoted
        elif c in "%\r\n" or (c in "&|<>^()" and not quoted):
            raise MisreadError(f"cmd reads {c!r} in {text!r}")
    if quoted:
        raise MisreadError(f"an open quotation mark in {text!r}")
    return _c_words(text)


def _c_words(text: str) -> list[str]:
    """Return the arguments into which the C runtime splits a command line."""
    words: list[str] = []
    word, inside, quoted, i = "", False, False, 0
    while i < len(text):
        c = text[i]
        if c == "\\":
            run = len(text[i:]) - len(text[i:].lstrip("\\"))
            i += run
            if text[i : i + 1] == '"':
                word += "\\" * (run // 2)
                if run % 2:
                    word, i = word + '"', i + 1
            else:
                word += "\\" * run
            inside = True
            continue
        if c == '"':
            quoted, inside = not quoted, True
        elif c in " \t" and not quoted:
            if inside:
                words.append(word)
            word, inside = "", False
        else:
            word, inside = word + c, True
        i += 1
    return [*words, word] if inside else words


def powershell_words(text: str) -> list[str]:
    """Return the arguments that a program gets from a command line in PowerShell."""
    line, quoted = "", False
    for c in text:
        if c in '"\u201c\u201d\u201e':
            quoted, c = not quoted, '"'
        elif c in "$`\r\n" or (not quoted and c in "'\u2018\u2019\u201a\u201b;|&<>(){}@#,%"):
            raise MisreadError(f"PowerShell reads {c!r} in {text!r}")
        line += c
    if quoted:
        raise MisreadError(f"an open quotation mark in {text!r}")
    return _c_words(line)  # it passes the line to the C runtime with its quotes


def value(word: Word) -> str | None:
    """Return the text that a program must get, or None if the shell decides it."""
    if isinstance(word, str):
        return word
    if isinstance(word, shell.Path):
        return None if word.text.startswith("~/") else re.sub("^-", "./-", word.text)
    if isinstance(word, Joined):
        parts = [value(part) for part in word.parts]
        return None if None in parts else "".join(part or "" for part in parts)
    return None


def held(line: Line, platform: str) -> None:
    """Assert that a shell reads each command in a line as the arguments from which it was made."""
    if isinstance(line, Chain):
        for part in line.parts:
            held(part, platform)
        return
    words = line.argv if isinstance(line, Command) else (line.value,) if isinstance(line, Export) else ()
    if not words or isinstance(line, Literal):
        return
    for word in words:
        for part in word.parts if isinstance(word, Joined) else (word,):
            if isinstance(part, Output):
                held(part.command, platform)
    wanted = [value(word) for word in words]
    text = shell.rendered(Command(tuple(words)), platform)
    if any(isinstance(word, (Literal, Joined, Output)) for word in words):
        return  # lines that the shell must evaluate are run (`executed`)
    reads = [cmd_words, powershell_words] if platform == "windows" else [shlex.split]
    for read in reads:
        got = read(text)
        pairs = zip(got, wanted)
        assert all(b is None or a in (b, b.replace("./-", ".\\-")) for a, b in pairs), (text, got, wanted)


def executed(texts: Iterable[str], folder: Path) -> None:
    """Assert that the real bash reads every text as one complete command line, and that running the lines
    does not run anything from a payload. Every program is a stub, so only the shell itself acts."""
    stub = 'command_not_found_handle() { case "$*" in touch*|calc*|evil*) : > "$MARK";; esac; }\n'
    script = stub + "".join(f"(\n:\n{text}\n)\n" for text in texts)
    file, mark = folder / "script.sh", folder / "MARK"
    file.write_text(script, encoding="utf-8", errors="surrogateescape")
    checked = subprocess.run(
        ["/bin/bash", "-n", file], capture_output=True, text=True, timeout=60, check=False
    )
    assert checked.returncode == 0, checked.stderr
    environment = {"PATH": str(folder), "HOME": str(folder), "MARK": str(mark)}
    subprocess.run(
        ["/bin/bash", file], cwd=folder, env=environment, capture_output=True, timeout=120, check=False
    )
    made = {path.name for path in folder.iterdir()} - {"script.sh"}
    assert not made, made
