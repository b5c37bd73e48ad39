"""Defines mutations: changes that can happen to a report before somebody reads it, and that do not change its
meaning.

A mutation is a function that takes a text and a random generator and returns the changed text. The same seed
gives the same text. `MUTATIONS` lists all of them. No mutation removes anything that an expert needs. It does
not cut a message in the middle. It keeps versions, the line that names the cause, and the dates and source
paths that show which release printed the text (it changes a path only if the text names the release).
"""

from __future__ import annotations

import html
import json
import re
import textwrap
import unicodedata
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

Mutation: TypeAlias = "Callable[[str, Random], str]"


def changed(name: str, text: str) -> str:
    """Return a text after the mutation with this name. The name and the text are the seed of the random
    generator."""
    return MUTATIONS[name](text, Random(f"{name} {text}"))


def _each_line(change: Callable[[str], str]) -> Mutation:
    return lambda text, random: "\n".join(change(line) for line in text.split("\n"))


# --- which lines somebody wrote ----------------------------------------------------------------------

_MARKS = re.compile(
    r"[\w/]\.(?:cc|py|so|h)\b|Traceback|[A-Z]\w+(?:Error|Exception|Warning)\b|[A-Z]{3,}_[A-Z]{3,}|[={}<>\[\]"
    r"|$]|\w\(|\w/\w+/|\w=\w|::"
    r"|\b[IWEF]\d{4} |^\s*[IWEF]"
    r" |^\s{4}|>>>|\w_\w|^\S*\d{2}:\d{2}:\d{2}|^\s*(?:Status|ERROR|INFO|WARNING|Epoch)\b|---"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_WIDE = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_LOWER = re.compile(r"\b[a-z]{2,}\b")


def _written(line: str) -> bool:
    """Whether a person certainly wrote a line: it has several words and no sign of a program's output."""
    return _MARKS.search(line) is None and (len(_WORD.findall(line)) >= 5 or len(_WIDE.findall(line)) >= 10)


def _own_words(change: Callable[[str], str]) -> Mutation:
    """Make a mutation that changes only the lines that a person wrote, outside of code fences."""

    def mutation(text: str, random: Random) -> str:
        fenced, lines = False, []
        for line in text.split("\n"):
            fenced ^= line.lstrip().startswith(("```", "~~~"))
            sentences = [line] if fenced else re.split(r"(?<=[.!?])(?= )", line)
            lines.append("".join(change(s) if not fenced and _written(s) else s for s in sentences))
        return "\n".join(lines)

    return mutation


_RECORD = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d |[IWEF]\d{4} |[IWEF] (?:tensorflow|external|\.)|Traceback|File \"|\w*Error)",
    re.MULTILINE,
)


def _of_programs(change: Mutation) -> Mutation:
    """Make a mutation that changes a text only if programs printed at least three quarters of its lines,
    because a person's words do not go through a logger."""
    return lambda text, random: (
        change(text, random) if 4 * len(_RECORD.findall(text)) > 3 * (text.count("\n") + 1) else text
    )


# --- layout ------------------------------------------------------------------------------------------


def _wrapped(width: int, *, hanging: str = "") -> Mutation:
    """Break lines between words, as editors, mail programs and web forms of trackers do."""
    wrap = textwrap.TextWrapper(
        width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    return _each_line(lambda line: "\n".join(wrap.wrap(line)) if len(line) > width else line)


def _cut(width: int) -> Mutation:
    """Break lines at a fixed column, even within words, as in text copied from a terminal."""
    return _each_line(lambda line: "\n".join(line[i : i + width] for i in range(0, len(line) or 1, width)))


def _prefixed(*prefixes: str) -> Mutation:
    """Put a prefix before each line. Several prefixes are used in turn."""
    return lambda text, random: "\n".join(
        prefixes[i % len(prefixes)] + line for i, line in enumerate(text.rstrip("\n").split("\n"))
    )


def _numbered(text: str, random: Random) -> str:
    return "\n".join(f"{i:6}\t{line}" for i, line in enumerate(text.split("\n"), 1))


def _mail(text: str, random: Random) -> str:
    quoted = _prefixed("> ")(_wrapped(72)(text, random), random)
    return f"On Tue, Jan 2, 2024 at 10:11 AM A. User wrote:\n{quoted}\n"


def _paragraphs_as_bullets(text: str, random: Random) -> str:
    return "\n".join(
        f"- {line}" if line.strip() and not line[0].isspace() else line for line in text.split("\n")
    )


def _fenced(text: str, random: Random) -> str:
    fence = "````" if "```" in text else "```"
    return f"{fence}\n{text.rstrip()}\n{fence}\n"


def _details(text: str, random: Random) -> str:
    return f"<details>\n<summary>Log</summary>\n\n{_fenced(text, random)}\n</details>\n"


def _notebook(text: str, random: Random) -> str:
    output = {"output_type": "stream", "name": "stderr", "text": text.splitlines(keepends=True)}
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": [], "outputs": [output]}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _coloured(text: str, random: Random) -> str:
    return "\n".join(
        f"\x1b[{random.choice((31, 32, 33, 90))}m{line}\x1b[0m" if random.random() < 0.5 else line
        for line in text.split("\n")
    )


def _tabs(text: str, random: Random) -> str:
    return re.sub(r" {2,8}", "\t", text)


# --- logs --------------------------------------------------------------------------------------------

_STAMP = re.compile(r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d{1,9})?: (?=[IWEF] )", re.MULTILINE)
_GLOG = re.compile(r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ ", re.MULTILINE)
_GLOG_UNSET = re.compile(r"^([IWEF])0000 \d\d:\d\d:\d{10}\.\d{6} +\d+ ", re.MULTILINE)
_SOURCE = re.compile(
    r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?: )?[IWEF]"
    r" (?:\./)?(?:tensorflow|external|xla)/[\w/.]+:\d+\] ",
    re.MULTILINE,
)
_RELEASE = re.compile(r"(?i)\b(?:tensorflow|tf)\b[^\n]{0,30}\b[12]\.\d{1,2}\b")
_NEUTRAL = re.compile(
    r"To enable the following instructions|oneDNN custom operations|computation_placer|All log messages"
    r" before absl|^\s*$"
    r"|^(?:hi|hello|hey|dear|thanks?|regards|best|cheers|greetings)\b[^.:]{0,40}[.!,]?\s*$",
    re.IGNORECASE,
)
"""Matches lines on which a diagnosis depends only if there are no others: lines that TensorFlow prints at
every start, empty lines, greetings."""


def _without_stamps(text: str, random: Random) -> str:
    text = _STAMP.sub("", text)
    return _GLOG.sub(r"\1 ", _GLOG_UNSET.sub(r"\1 ", text))


def _later(text: str, random: Random) -> str:
    """Move the run to another day of the year and another hour."""
    day, hour = f"{random.randint(1, 28):02}", f"{random.randint(0, 23):02}"
    return _STAMP.sub(lambda m: f"{m[1][:8]}{day} {hour}{m[2][2:]}{m[3] or ''}: ", text)


def _without_sources(text: str, random: Random) -> str:
    return _SOURCE.sub("", text)


def _other_lines(text: str, random: Random) -> str:
    """Change the line numbers of source files in log lines, as in another build of the same release."""
    return re.sub(r"(?<=\.cc:)\d+(?=\])", lambda m: str(int(m[0]) + random.randint(1, 40)), text)


_FOLDERS = (
    "tensorflow/stream_executor/",
    "tensorflow/compiler/xla/stream_executor/",
    "external/local_xla/xla/stream_executor/",
)


def _moved(text: str, random: Random) -> str:
    """Change source paths to those of an earlier or later release, if the text names its release."""
    if not _RELEASE.search(text):
        return text
    to = random.choice(_FOLDERS)
    return re.sub("|".join(sorted(_FOLDERS, key=len, reverse=True)), to, text)


def _without_head(text: str, random: Random) -> str:
    """Remove up to three neutral lines (see _NEUTRAL) at the beginning, unless the text is too short."""
    lines = text.split("\n")
    while len(lines) > 5 and len(lines) > text.count("\n") - 2 and _NEUTRAL.search(lines[0]):
        del lines[0]
    return "\n".join(lines)


def _without_tail(text: str, random: Random) -> str:
    lines = text.split("\n")
    while len(lines) > 1 and _NEUTRAL.search(lines[-1]):
        del lines[-1]
    return "\n".join(lines)


def _without_some(text: str, random: Random) -> str:
    """Remove about half of the neutral lines (see _NEUTRAL), but never the first line."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(line for line in rest if not _NEUTRAL.search(line) or random.random() < 0.5)])


def _training(text: str, random: Random) -> str:
    """Put lines from another program, on which no diagnosis depends, before the text."""
    before = [
        f"epoch-{i}: loader is ready, shard {random.randint(1, 900)}" for i in range(random.randint(4, 7))
    ]
    return "\n".join([*before, text])


# --- words -------------------------------------------------------------------------------------------

FILLERS = (
    "Unfortunately, ",
    "As far as I can see, ",
    "To be honest, ",
    "Well, ",
    "For some reason, ",
    "So, ",
    "Hmm, ",
    "Basically, ",
)
ADVERBS = ("apparently", "really", "actually", "simply", "obviously", "just", "currently", "somehow")
SYNONYMS = {
    "problem": "issue",
    "issue": "problem",
    "machine": "computer",
    "computer": "machine",
    "shows": "displays",
    "show": "display",
    "tried": "attempted",
    "big": "large",
    "huge": "enormous",
    "help": "assist",
    "fix": "solve",
    "solve": "fix",
    "folder": "directory",
    "remove": "delete",
    "removed": "deleted",
    "begins": "starts",
    "quick": "fast",
    "right": "correct",
    "wrong": "incorrect",
    "finds": "detects",
    "find": "detect",
    "use": "utilize",
    "uses": "utilizes",
    "using": "utilizing",
    "however": "yet",
    "message": "notice",
    "get": "receive",
    "got": "received",
    "whole": "entire",
    "also": "too",
    "maybe": "perhaps",
    "everything": "all of it",
    "always": "every time",
    "ideas": "suggestions",
    "idea": "clue",
    "need": "require",
    "needs": "requires",
    "seems": "appears",
    "correctly": "properly",
    "properly": "correctly",
    "still": "even now",
    "but": "yet",
    "look": "glance",
}
"""Words that can replace each other in a report of a fault."""
_VERB = re.compile(r"\b(is|are|does|do|can|cannot|was|has|have|will|would|did)\b(?= [a-z])")
_SENTENCE = re.compile(r"^( *)([A-Z])(?=[a-z]* [a-z])")


def _filler(line: str) -> str:
    start = _SENTENCE.search(line)
    if not start or len(_LOWER.findall(line)) < 4 or not line.isascii():
        return line
    word = re.compile(r"\w+").match(line, start.start(2))
    assert word is not None
    keeps = word[0] == "I" or not word[0].isalpha() or (len(word[0]) > 1 and not word[0][1:].islower())
    first = line[start.start(2)] if keeps else start[2].lower()
    return f"{line[: start.start(2)]}{FILLERS[len(line) % len(FILLERS)]}{first}{line[start.end(2) :]}"


def _adverb(line: str) -> str:
    adverb = ADVERBS[len(line) % len(ADVERBS)]
    return _VERB.sub(lambda m: f"{m[0]} {adverb}", line, 1) if line.isascii() else line


def _synonyms(line: str) -> str:
    return re.sub(r"\b[a-z]+\b", lambda m: SYNONYMS.get(m[0], m[0]), line) if line.isascii() else line


def _typographic(line: str) -> str:
    line = re.sub(r"(?<!\w)'([^'\n]*)'(?!\w)", "‘\\1’", re.sub(r'"([^"\n]*)"', "“\\1”", line))
    return line.replace("'", "’").replace("...", "…").replace(" - ", " – ")


def _without_diacritics(line: str) -> str:
    """Remove the diacritics of Latin letters, as people do on a foreign keyboard."""
    bare = "".join(unicodedata.normalize("NFD", c)[0] if "\u00c0" <= c <= "\u024f" else c for c in line)
    return bare.replace("ß", "ss").replace("ı", "i").replace("ł", "l").replace("ø", "o")


def _decomposed(text: str, random: Random) -> str:
    """Write letters and their accents as two characters, as macOS does."""
    return unicodedata.normalize("NFD", text)


AROUND = {
    "en": ("Hello everyone,", "Thanks in advance!"),
    "de": ("Hallo zusammen,", "Vielen Dank im Voraus!"),
    "fr": ("Bonjour à tous,", "Merci d'avance !"),
    "es": ("Hola a todos:", "¡Muchas gracias de antemano!"),
    "pt": ("Olá a todos,", "Muito obrigado desde já!"),
    "it": ("Ciao a tutti,", "Grazie mille in anticipo!"),
    "nl": ("Hallo allemaal,", "Alvast heel erg bedankt!"),
    "pl": ("Cześć wszystkim,", "Z góry dziękuję za pomoc!"),
    "ru": ("Всем привет,", "Заранее большое спасибо!"),
    "tr": ("Herkese merhaba,", "Şimdiden çok teşekkürler!"),
    "zh": ("大家好，", "先谢谢大家了！"),
    "ja": ("皆さん、こんにちは。", "よろしくお願いいたします。"),
    "ko": ("안녕하세요 여러분,", "미리 감사드립니다!"),
    "vi": ("Xin chào mọi người,", "Xin cảm ơn trước!"),
    "hi": ("सभी को नमस्ते,", "अग्रिम धन्यवाद!"),
}
"""Greetings and thanks in fifteen languages."""


def _greeted(text: str, random: Random) -> str:
    before, after = AROUND[random.choice(sorted(AROUND))]
    return f"{before}\n\n{text}\n\n{after}\n"


MUTATIONS: dict[str, Mutation] = {
    # mutations that break lines
    "wrapped at 72": _wrapped(72),
    "wrapped at 80": _wrapped(80),
    "wrapped at 100, hanging": _wrapped(100, hanging="    "),
    "cut at 80": _cut(80),
    "cut at 120": _cut(120),
    "double spaced": lambda text, random: text.replace("\n", "\n\n"),
    "spaces at the ends": _each_line(lambda line: line + "   "),
    "crlf": lambda text, random: text.replace("\n", "\r\n"),
    "tabs": _tabs,
    # prefixes of lines
    "quoted": _prefixed("> "),
    "mail": _mail,
    "quoted twice": _prefixed(">> "),
    "bullets": _paragraphs_as_bullets,
    "indented": _prefixed("    "),
    "numbered": _numbered,
    "compose": _prefixed("worker-0  | "),
    "compose, several": _prefixed("\x1b[36mtrainer_1  |\x1b[0m "),
    "kubernetes": _prefixed(
        "2024-01-01T00:00:00.000000000Z stdout F ", "2024-01-01T00:00:00.120000000Z stderr F "
    ),
    "kubectl, prefixed": _prefixed("[pod/trainer-0/tensorflow] "),
    "journal": _prefixed("Jan 02 03:04:05 gpu-box python3[4242]: "),
    "github": _prefixed("2024-01-02T03:04:05.1234567Z "),
    "slurm ranks": _prefixed("0: "),
    "ray": _prefixed("(TrainWorker pid=4242, ip=10.0.0.7) "),
    "mpi": _prefixed("[1,0]<stderr>:"),
    "torchrun": _prefixed("[default0]:"),
    "logger": _of_programs(_prefixed("2024-01-02 03:04:05,678 - INFO - ")),
    # wrappings of the whole text
    "fenced": _fenced,
    "details": _details,
    "escaped for html": lambda text, random: html.escape(text),
    "paragraphs of html": lambda text, random: f"<p>{html.escape(text)}</p>".replace("\n", "<br>\n"),
    "notebook": _notebook,
    "json": lambda text, random: json.dumps({"id": 7, "body": text}),
    "json, letters kept": lambda text, random: json.dumps(
        {"id": 7, "body": text}, indent=2, ensure_ascii=False
    ),
    "repr": lambda text, random: repr(text),
    "bytes": lambda text, random: repr(text.encode()) if text.isascii() else text,
    "coloured": _coloured,
    "twice": lambda text, random: f"{text}\n{text}",
    "each line twice": _each_line(lambda line: f"{line}\n{line}"),
    # parts that logs lose
    "without stamps": _without_stamps,
    "another day": _later,
    "without sources": _without_sources,
    "other line numbers": _other_lines,
    "moved sources": _moved,
    "cut head": _without_head,
    "cut tail": _without_tail,
    "cut within": _without_some,
    "lines before": _training,
    # other ways in which people write
    "filler": _own_words(_filler),
    "adverbs": _own_words(_adverb),
    "synonyms": _own_words(_synonyms),
    "typographic": _own_words(_typographic),
    "no-break spaces": _own_words(lambda line: line.replace(" ", "\u00a0")),
    "without diacritics": _own_words(_without_diacritics),
    "decomposed": _decomposed,
    "lower case": _own_words(str.lower),
    "upper case": _own_words(str.upper),
    "greeted": _greeted,
}
