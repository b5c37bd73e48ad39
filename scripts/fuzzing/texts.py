"""Makes inputs to read: the fuzzer's seeds and dictionary, pumped strings, and notebooks of random shape."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PUMPED = 200_000
"""The number of characters in a pumped text."""


def seeds(folder: Path) -> None:
    """Write the inputs with which the fuzzer starts."""
    from doctor.logs.signatures import catalogue

    folder.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(sorted((ROOT / "tests" / "data" / "logs").rglob("*.log"))):
        (folder / f"log-{number}").write_bytes(path.read_bytes()[:20_000])
    for number, signature in enumerate(catalogue()):
        (folder / f"example-{number}").write_bytes(signature.example.encode())
        (folder / f"utf16-{number}").write_bytes(signature.example.encode("utf-16"))


def dictionary(path: Path) -> None:
    """Write the literals of the signatures to a file in libFuzzer's format."""
    from doctor.logs.signatures import catalogue

    words = {literal for signature in catalogue() for literal in signature.literals}
    words |= {
        "\r",
        "\n",
        "\x1b[31m",
        "&#39;",
        "\\n",
        "> ",
        "```",
        '{"cells": [{"source": "',
        "\ufeff",
        "999999999999",
    }
    rows = ["".join(f"\\x{byte:02x}" for byte in word.encode()) for word in sorted(words)]
    path.write_text("".join(f'"{row}"\n' for row in rows))


def pumped_texts(rng: random.Random) -> Iterator[bytes]:
    """Yield strings made of words from the patterns, without end."""
    from doctor.logs.signatures import catalogue
    from tests.patterns.collect import others, signatures
    from tests.patterns.pumps import beginnings, pumped, pumps, words

    examples = [signature.example for signature in catalogue()]
    given = [*zip(signatures(), examples), *((pattern, "") for pattern in others())]
    while True:
        pattern, example = rng.choice(given)
        text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        start, piece = rng.choice(list(pumps(words(text, pattern.flags), beginnings(example))))
        piece += rng.choice(("", "", rng.choice(examples)[: rng.randint(1, 80)]))
        size = rng.choice((1_400, 19_000, PUMPED))
        line = pumped(start, piece, size)
        yield "\n".join(itertools.repeat(line, PUMPED // size)).encode("utf-8", "replace")


def notebook(rng: random.Random) -> bytes:
    """Return a notebook of random shape, sometimes a broken one."""
    from doctor.logs.signatures import catalogue

    def value(depth: int) -> object:
        kind = rng.randrange(7 if depth < 4 else 3)
        if kind < 3:
            return rng.choice(catalogue()).example * rng.choice((1, 1, 1, 50))
        if kind < 5:
            return [value(depth + 1) for _ in range(rng.randrange(5))]
        names = (
            "source",
            "outputs",
            "text",
            "data",
            "text/plain",
            "traceback",
            "ename",
            "evalue",
            "cells",
            "metadata",
        )
        return {rng.choice(names): value(depth + 1) for _ in range(rng.randrange(5))}

    cells = [
        {
            "outputs": [value(3) for _ in range(rng.randrange(4))],
            "source": value(2),
            **({} if rng.randrange(3) else {"x": value(0)}),
        }
        for _ in range(rng.choice((1, 20, 400)))
    ]
    text = json.dumps(
        {"cells": cells}, indent=rng.choice((None, None, 1)), ensure_ascii=bool(rng.randrange(2))
    )
    if rng.randrange(4) == 0:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(('"', "\\", "{", "", "\x00", "\n")) + text[at + rng.randrange(3) :]
    return text[:1_000_000].encode("utf-8", "replace")
