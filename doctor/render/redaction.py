"""What is made for sharing tells what is wrong, not who or where somebody is.

The machine's own user, host and home are known from the environment; a report's are learnt from its home folders and
shell prompts, and then taken out wherever they stand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from doctor.facts import Fact
from doctor.redact import HOME, PUBLIC, Redactor

PROMPT = re.compile(
    r"(?<![\w.@/:-])(?P<user>[A-Za-z_][\w.-]{1,31})@(?P<host>[A-Za-z][\w.-]{1,63}[A-Za-z0-9])(?![\w@])(?!\.\w)"
)
"""user@host of a shell prompt, of ssh, of an e-mail address."""
COMMON = PUBLIC | {
    "all", "anaconda", "anaconda3", "app", "cuda", "docker", "files", "git", "gpu", "local", "localhost", "name", "nvidia",
    "python", "root", "tensorflow", "test", "the", "username", "work", "workspace", "you", "your", "yourname",
}  # fmt: skip
"""Words that stand in such places and tell nothing of a person."""


def for_sharing(facts: Iterable[Fact]) -> Callable[[str], str]:
    """A function that takes names, homes, tokens and passwords out of the texts of one machine or report."""
    redactor = Redactor.of(os.environ)
    names: dict[str, str] = {}
    for text in {fact.source.text for fact in facts} | {fact.source.where for fact in facts}:
        for match in HOME.finditer(text):
            names.setdefault(match["name"], "USER")
        for match in PROMPT.finditer(text):
            if match["user"].lower() != "git":
                names.setdefault(match["user"], "USER")
                names.setdefault(match["host"], "HOST")
    learnt = [(n, to) for n, to in names.items() if len(n) > 2 and n.lower() not in COMMON and not n.isdigit()]
    words = dict(sorted(learnt, key=lambda item: -len(item[0]))[:50])
    known = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, words)) + r")(?![\w-])") if words else None

    def redact(text: str) -> str:
        text = redactor(text)
        text = PROMPT.sub(lambda m: m[0] if m["user"].lower() == "git" else "USER@HOST", text)
        return known.sub(lambda m: words[m[0]], text) if known is not None else text

    return redact
