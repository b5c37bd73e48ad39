"""Bytes to text: which encoding a report has, and what wraps it (a notebook).

In: bytes as they were read. Out: `Text` with the line numbers of the input. Raises NotText for input that holds
no text at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from doctor.logs.text import Text, clean, split

SAMPLE = 65_536


class NotText(ValueError):
    """The input is binary, or empty."""


def decode(data: bytes) -> str:
    """Text from bytes: a byte-order mark decides, then UTF-16 without one, UTF-8, and a legacy code page.

    PowerShell's `>` writes UTF-16 with a byte-order mark; Windows tools in Chinese write GBK.
    Raises NotText where nothing readable comes out.
    """
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return data.decode("utf-32", "replace")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:].decode("utf-8", "replace")
    sample = data[:SAMPLE]
    zeros = sample.count(0)
    if zeros > len(sample) // 5:
        odd = sample[1::2].count(0)
        even = sample[::2].count(0)
        if min(odd, even) * 8 < max(odd, even):
            return data.decode("utf-16-le" if odd > even else "utf-16-be", "replace")
    control = sum(sample.count(bytes([c])) for c in (*range(0, 9), *range(14, 27), *range(28, 32)))
    if control > max(8, len(sample) // 10):
        raise NotText("binary data, no text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 4:  # cut in the middle of a letter
            return data.decode("utf-8", "replace")
    high = sum(1 for byte in sample if byte >= 0x80)
    pairs = 0
    try:
        pairs = sum(1 for letter in sample.decode("gbk", "ignore") if "\u4e00" <= letter <= "\u9fff")
    except UnicodeDecodeError:
        pairs = 0
    if high and pairs * 2 >= high * 0.7:
        return data.decode("gbk", "replace")
    broken = data.decode("utf-8", "replace")
    if broken.count("\ufffd") * 200 < len(broken):
        return broken
    return data.decode("latin-1")


def _notebook(text: str) -> Iterator[tuple[int, str]] | None:
    """The cells and outputs of a Jupyter notebook, with the lines of the JSON that holds them; None for other text."""
    head = text[:4000].lstrip()
    if not head.startswith("{") or '"cells"' not in text:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        return None
    return _cells(text, cells)


def _cells(text: str, cells: list[object]) -> Iterator[tuple[int, str]]:
    raw = text.split("\n")
    at = 0
    for piece in _strings(cells):
        for part in piece.split("\n"):
            if not part.strip():
                continue
            encoded = json.dumps(part, ensure_ascii=False)[1:-1]
            plain = json.dumps(part)[1:-1]
            place = next((i for i in range(at, min(at + 2000, len(raw))) if encoded in raw[i] or plain in raw[i]), None)
            if place is not None:
                at = place
            yield at + 1, clean(part)


def _strings(cells: list[object]) -> Iterator[str]:
    """Sources and outputs of notebook cells, in order."""
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        yield _joined(cell.get("source"))
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            if not isinstance(output, dict):
                continue
            yield _joined(output.get("text"))
            data = output.get("data")
            if isinstance(data, dict):
                yield _joined(data.get("text/plain"))
            yield _joined(output.get("traceback"), "\n")
            if output.get("ename"):
                yield f"{output.get('ename')}: {output.get('evalue')}"


def _joined(value: object, by: str = "") -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return by.join(part for part in value if isinstance(part, str))
    return ""


def read(data: bytes, name: str) -> Text:
    """Bytes of one report as `Text`. Raises NotText for binary or empty input."""
    if not data.strip():
        raise NotText("empty")
    text = decode(data).replace("\r\n", "\n")
    total = text.count("\n") + (not text.endswith("\n"))
    cells = _notebook(text)
    return Text.of(name, cells if cells is not None else split(text), total)
