"""Makes a log independent of the machine, the day and the process that recorded it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

CAP = 60_000  # the number of characters kept of a log, half at its beginning and half at its end

_RULES: tuple[tuple[str, str, str], ...] = (
    ("times", r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", "2026-01-02 03:04:05.678901"),
    # absl: severity and date, time or seconds since 1970, thread
    ("times", r"^([IWEF]\d{4} \d\d:\d\d:\d\d)\.\d{6} +\d+ ", r"\1.678901    4242 "),
    ("times", r"^([IWEF]0000 00:00:)\d{10}\.\d{6} +\d+ ", r"\g<1>1767323045.678901    4242 "),
    ("times", r"\b\d+(\.\d+)?(ms|s|us)/(epoch|step)\b", r"0\2/\3"),
    ("times", r" - \d+s - ", " - 0s - "),
    ("addresses", r"0x[0-9a-f]{6,16}\b", "0x55d0c0de0000"),
    ("process numbers", r"\b(pid|process)([ =:]+)\d{2,}", r"\g<1>\g<2>4242"),
    ("names of compiled functions", r"(__inference_\w+?_)\d+\b", r"\g<1>42"),
    ("names of compiled functions", r"\b(__autograph_generated_file)\w+\.py", r"\1.py"),
    ("processor", r"^(To enable the following instructions: ).*?, in other", r"\1AVX2 FMA, in other"),
    ("paths and names", r"/tmp/pip-build-env-\w+", "/tmp/pip-build-env"),
    ("colours", r"\x1b\[[0-9;]*m", ""),
)


def normalised(text: str, replacements: Mapping[str, str]) -> tuple[str, list[str]]:
    """Replace everything in the text that differs from run to run. Returns the new text, and the kinds of
    things that were replaced. replacements: paths and names of this machine, and what replaces each; the
    longest are replaced first.
    """
    done: list[str] = []
    for old in sorted(filter(None, replacements), key=len, reverse=True):
        # a path anywhere, but a name only as a whole word
        pattern = re.escape(old) if "/" in old else rf"\b{re.escape(old)}\b"
        text, count = re.subn(pattern, lambda _, new=replacements[old]: new, text)
        if count:
            done.append("paths and names")
    for kind, pattern, new in _RULES:
        text, count = re.subn(pattern, new, text, flags=re.MULTILINE)
        if count:
            done.append(kind)
    lines = [line.rstrip() for line in text.splitlines()]
    kept = _capped("\n".join(_without_notices(lines)).strip() + "\n")
    return kept, sorted(set(done))


def _without_notices(lines: Iterable[str]) -> list[str]:
    """Return the text without pip's notices about its index and its own version, which only describe the
    recording machine."""
    notice = re.compile(
        r"^(Looking in (indexes|links)|\[notice\]|WARNING: Location |WARNING: Running pip as the 'root')"
    )
    return [line for line in lines if not notice.match(line)]


def _capped(text: str) -> str:
    if len(text) <= CAP:
        return text
    head, tail = text[: CAP * 2 // 3], text[-CAP // 3 :]
    left_out = text.count("\n") - head.count("\n") - tail.count("\n")
    return f"{head}\n[... {left_out} lines left out ...]\n{tail}"
