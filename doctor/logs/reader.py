"""Turns the bytes of a report into a `Text`: detects the encoding, and extracts the text from a notebook.

The lines of a `Text` have the line numbers of the input. NotText is raised for input that contains no text.
"""

from __future__ import annotations

import re

from doctor import lazy
from doctor.logs.prefixes import peeled
from doctor.logs.text import Text

SAMPLE = 65_536
NARROWEST, WIDEST = 40, 140
"""The smallest and largest margins, in characters, at which text was wrapped."""


class NotText(ValueError):  # noqa: N818 (it describes the input, not a failure of this tool)
    """Raised for input that is binary or empty."""


_MAGIC = (
    b"\x89PNG",
    b"\x7fELF",
    b"PK\x03\x04",
    b"\xff\xd8\xff",
    b"GIF8",
    b"%PDF",
    b"\x89HDF",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"MZ\x90",
)
_CONTROL = bytes((*range(7), *range(14, 27), *range(28, 32)))
"""Control characters that no text contains. Bells, backspaces and escapes are not among them, because
programs print them."""


def encoding_of(data: bytes, *, whole: bool = True) -> str:
    """Return the name of the input's encoding. `data` is the whole input if `whole` is true, otherwise its
    beginning.

    A byte-order mark decides. Without one, the choice is between UTF-16, UTF-8, and the Windows code pages
    for Japanese, Korean, Chinese (both scripts) and western languages. PowerShell's `>` writes UTF-16 with a
    byte-order mark. Raises NotText for binary data.
    """
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if data.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if data.startswith(_MAGIC):
        raise NotText("binary data, no text")
    sample = data[:SAMPLE]
    zeros = sample.count(0)
    if zeros > len(sample) // 5:
        odd = sample[1::2].count(0)
        even = sample[::2].count(0)
        if min(odd, even) * 8 < max(odd, even):
            return "utf-16-le" if odd > even else "utf-16-be"
    control = len(sample) - len(sample.translate(None, _CONTROL))
    if control > max(8, len(sample) // 10):
        raise NotText("binary data, no text")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - (4 if whole else 8):  # the data ends within a letter
            return "utf-8"
    else:
        return "utf-8"
    if control > max(8, len(sample) // 50):
        raise NotText("binary data, no text")
    high = sum(1 for byte in sample if byte >= 0x80)
    # Japanese text always contains syllabic characters
    if _letters(sample, "cp932", "\u3040", "\u30ff") * 5 >= high:
        return "cp932"
    frequent = sorted((_frequent(sample, encoding), encoding) for encoding in _FREQUENT)
    if frequent[-1][0] >= 0.1 and frequent[-1][0] > 2 * frequent[-2][0]:
        return frequent[-1][1]
    if _letters(sample, "gb2312", "\u4e00", "\u9fff") * 2 >= high * 0.7:
        return "gbk"
    broken = sample.decode("utf-8", "replace")
    return "utf-8" if broken.count("\ufffd") * 200 < len(broken) else "cp1252"


_FREQUENT = {
    "cp949": "이다는을에의가로를은고하지기한사있수도서어해리인라나자니시",
    "gbk": "的一是不了在有我这个到们没错误显卡内存驱动无法安装时中出用请为会可以",
    "cp950": "的一是不了在有我這個到們沒錯誤顯卡記憶體驅動無法安裝時中出用請為會可以",
}
"""The most frequent letters in Korean and Chinese, by code page. If text is decoded with the wrong code page,
rare letters appear instead."""


def _frequent(sample: bytes, encoding: str) -> float:
    """Decode a sample with a code page. Return the share of its East Asian letters that are frequent in the
    code page's language."""
    high = [letter for letter in sample.decode(encoding, "ignore") if letter > "\u2fff"]
    return sum(letter in _FREQUENT[encoding] for letter in high) / len(high) if high else 0.0


def _letters(sample: bytes, encoding: str, first: str, last: str) -> int:
    return sum(1 for letter in sample.decode(encoding, "ignore") if first <= letter <= last)


def decode(data: bytes) -> str:
    """Decode bytes to text. Raises NotText for binary data."""
    return data.decode(encoding_of(data), "replace")


_LITERAL = lazy.compile(r"""b?(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*")""")
"""Matches input that consists of a single string literal of Python or JSON."""
_ESCAPED = lazy.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " ", "0": ""}


def _literal(text: str) -> str | None:
    """Return the value of a Python string or bytes literal or of a JSON string, or None for any other
    text."""
    if text[:1] not in ("'", '"', "b") or _LITERAL.fullmatch(text) is None:
        return None
    inside = _ESCAPED.sub(_character, text[1 + text.startswith("b") : -1])
    if text.startswith("b"):
        inside = inside.encode("latin-1", "replace").decode("utf-8", "replace")
    return inside.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _NAMED.get(escape[4], escape[4])
    return chr(int(code, 16)) if int(code, 16) < 0x110000 else "\ufffd"


def texts_of(text: str, name: str) -> Text | None:
    """Return the text in the strings of a JSON document, such as the title and body of an issue, or None if
    the input is not JSON or consists mostly of other values."""
    from doctor.logs.json_texts import strings_of

    strings = strings_of(text)
    return None if strings is None else _within(strings, name)


def _within(text: str, name: str) -> Text:
    """Make a `Text` from one string. It has its own line numbers, because all its lines may come from one
    line of the input."""
    text = peeled(text.replace("\r\n", "\n"))
    inner = name if name == "-" else f"{name} (its text)"
    return _rejoined(_cleaned(inner, text, text.count("\n") + 1))


def read(data: bytes, name: str) -> Text:
    """Read the bytes of one report as a `Text`. Raises NotText for binary or empty input."""
    if not data.strip():
        raise NotText("empty")
    text = decode(data).replace("\r\n", "\n")
    if "\n" not in text:  # from an old Mac; otherwise a carriage return alone belongs to a progress bar
        text = text.replace("\r", "\n")
    total = text.count("\n") + (not text.endswith("\n"))
    if not text.isascii():  # macOS decomposes accented letters
        from unicodedata import normalize

        text = normalize("NFC", text)
    text = peeled(text)
    literal = _literal(text.strip())
    if literal is not None:
        return _within(literal, name)
    if text[:4000].lstrip().startswith("{") and '"cells"' in text:
        from doctor.logs.json_texts import cells_of

        cells = cells_of(text)
        if cells is not None:
            return Text.of(name, cells, total)
    return _rejoined(Text.plain(name, text, total) or _cleaned(name, text, total))


def _cleaned(name: str, text: str, total: int) -> Text:
    """Make a `Text` from text whose lines may need cleaning."""
    from doctor.logs.cleaning import split

    return Text.of(name, split(text), total)


def _rejoined(text: Text) -> Text:
    """Return the text without the line ends that wrapping inserted."""
    margin = text.margin()
    if not NARROWEST <= margin <= WIDEST:
        return text
    from doctor.logs.margin import rejoined

    return rejoined(text, margin)
