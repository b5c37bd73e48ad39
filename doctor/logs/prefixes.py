"""Removes the prefixes that log collectors, and programs that quote text, put before each line. A prefix
would break up messages that span several lines, and make a person's text look like a program's output."""

from __future__ import annotations

import re
from itertools import islice

from doctor import lazy

HEAD = 2_000
"""Prefixes are removed only if the first one occurs within this many characters from the beginning of the
input."""
LAYERS = 3
"""At most this many prefixes, each added by a different program, are removed from a line."""
ALL = 0.9
"""A prefix counts as a prefix of all lines if at least this share of the lines has it, because some programs
split lines."""

_COLOUR = r"(?:\x1b\[[\d;]{0,12}m)?"
_PASSED_ON = lazy.compile(
    r"^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d) std(?:err|out) [FP] "
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z |.{0,28}\[\d+,\d+\]<std(?:err|out)>:"
    rf"|{_COLOUR}[a-z][\w.-]{{0,60}}[-_]\d{{1,5}} {{1,30}}\| ?{_COLOUR} ?"
    r"|\[pod/[\w./-]{1,160}\] |\(\w{0,60} ?pid=\d{1,8}(?:, ip=[\w.:]{3,40})?\) "
    r"|\[(?:default|rank)\d{1,4}\]: ?|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}) [\w.-]{1,64} (?:python[\d.]{0,5}"
    r"|dockerd?|podman|conmon|[0-9a-f]{12}|bash|sh|env)\[\d{1,8}\]: )",
    re.MULTILINE,
)
"""Matches the prefixes added by container runtimes (Kubernetes' CRI), GitHub's runners, mpirun, docker
compose, kubectl --prefix, Ray, torchrun, and the system journal (for the output of a service)."""
_MARKS = (" std", "Z ", "<std", " |", "[pod/", "pid=", "[default", "[rank", "]: ")
"""Each of these prefixes contains one of these texts."""
_BEFORE_EVERY = (lazy.compile(r"^\d{1,4}: ", re.MULTILINE), lazy.compile(r"^ {0,6}\d{1,6}\t", re.MULTILINE))
"""Matches the prefixes that srun --label and cat -n add. Unless every line has the prefix, it may be part of
the text."""
_QUOTED = lazy.compile(r">{1,2}(?!>) ?(?:>(?!>) ?)?")
"""Matches the quotation marks (>) of Markdown and mail, but not the prompt of Python (>>>)."""
_WROTE = lazy.compile(
    r"(?:on|am|le|el|em|il|op) .{6,120}(?:wrote|schrieb.{0,60}|a écrit|escribió|escreveu|ha"
    r" scritto|schreef.{0,60}) ?:\s*$",
    re.IGNORECASE,
)
"""Matches the line with which mail programs introduce a quotation ("On 3 May, Jane wrote:")."""
RUN = 3
"""Lines that begin with a quotation mark count as a quotation only if at least this many follow one another,
or if a line before them introduces a quotation."""


def peeled(text: str) -> str:
    """Return the text with the prefix removed from each line. The number of lines stays the same."""
    if text.startswith(">") or "\n>" in text:
        text = _unquoted(text)
    for _ in range(LAYERS):
        head = text[:HEAD]
        first = _PASSED_ON.search(head) if any(mark in head for mark in _MARKS) else None
        if first is None:
            break
        if first.start() and len(list(islice(_PASSED_ON.finditer(text), 2))) < 2:
            break
        text = _PASSED_ON.sub("", text)
    for mark in _BEFORE_EVERY if text[:1] == " " or text[:1].isdecimal() else ():
        if mark.match(text):
            marked = len(mark.findall(text))
            if marked >= RUN and marked >= ALL * len([line for line in text.split("\n") if line.strip()]):
                text = mark.sub("", text)
    return text


def _unquoted(text: str) -> str:
    """Return the text with the quotation marks (>) removed from each run of quoted lines."""
    lines = text.split("\n")
    begin = 0
    while begin < len(lines):
        end = begin
        while end < len(lines) and _QUOTED.match(lines[end]):
            end += 1
        answered = 0 < begin < end and _WROTE.match(lines[begin - 1][:300]) is not None
        if answered:
            lines[begin - 1] = ""
        if answered or end - begin >= RUN:
            lines[begin:end] = [lines[i][_end(lines[i]) :] for i in range(begin, end)]
        begin = end + 1
    return "\n".join(lines)


def _end(line: str) -> int:
    found = _QUOTED.match(line)
    return found.end() if found else 0
