"""Feeds mutated reports to the whole reader for hours: bytes in, every format out, nothing but an answer allowed.

    pip install atheris
    python scripts/fuzz.py [--minutes 30] [--folder build/fuzz]
    python scripts/fuzz.py --pumps [--minutes 30]        # without atheris

The seeds are the recorded logs and every signature's example; the dictionary holds the signatures' literals. An input
is a failure where anything but NotText is raised, a rule breaks, a line of evidence is not in the input, an answer
holds a character that a terminal could act on, or one input takes longer than --seconds. A failing input is kept in the
folder, and the exit code is not 0.

--pumps reads texts in which a pattern's own words are repeated, on one line and over many lines, beside them notebooks of
random shapes on one line and on many: each has to be read in a time that is in proportion to its size.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["TFGPU_DOCTOR_TABLES"] = ""


def check(data: bytes) -> None:
    """One input through everything. Raises AssertionError, or whatever the code under test raises."""
    from doctor.diagnose import diagnose
    from doctor.logs import NotText, read
    from doctor.render import Options, rendered
    from doctor.tables import Tables

    try:
        facts = read(data, "report.txt")
    except NotText:
        return
    diagnosis = diagnose(facts, Tables.bundled())
    broken = [s for s in diagnosis.skipped if s.reason.startswith("the rule failed")]
    assert not broken, f"a rule broke: {broken[0].code}: {broken[0].reason}"
    for finding in diagnosis.findings:
        for source in finding.evidence:
            if source.where == facts.name and source.line is not None:
                assert 1 <= source.line <= facts.lines, f"{finding.code} quotes line {source.line} of {facts.lines}"
    for form in ("text", "json", "markdown", "html"):
        text = rendered(diagnosis, Options(form, verbose=1))
        bad = {c for c in text if not c.isprintable() and c != "\n"}
        assert not bad, f"{form} holds {sorted(map(hex, map(ord, bad)))}"
        text.encode("utf-8")
        if form == "json":
            json.loads(text)


def seeds(folder: Path) -> None:
    """Write the inputs that the fuzzer starts from."""
    from doctor.logs.signatures import catalogue

    folder.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(sorted((ROOT / "tests" / "data" / "logs").rglob("*.log"))):
        (folder / f"log-{number}").write_bytes(path.read_bytes()[:20_000])
    for number, signature in enumerate(catalogue()):
        (folder / f"example-{number}").write_bytes(signature.example.encode())
        (folder / f"utf16-{number}").write_bytes(signature.example.encode("utf-16"))


def dictionary(path: Path) -> None:
    """Write the literals in libFuzzer's format."""
    from doctor.logs.signatures import catalogue

    words = {literal for signature in catalogue() for literal in signature.literals}
    words |= {"\r", "\n", "\x1b[31m", "&#39;", "\\n", "> ", "```", '{"cells": [{"source": "', "\ufeff", "999999999999"}
    rows = ["".join(f"\\x{byte:02x}" for byte in word.encode()) for word in sorted(words)]
    path.write_text("".join(f'"{row}"\n' for row in rows))


PUMPED = 200_000
"""Characters of a pumped text."""
EACH_S, BESIDE_S = 15e-6, 1.0
"""Seconds of processor time that reading a text may take for each character, and beside that."""


def pumped_texts(rng: random.Random) -> Iterator[bytes]:
    """Texts made of the patterns' own words, without end."""
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
    """A notebook of random shape, sometimes broken."""
    from doctor.logs.signatures import catalogue

    def value(depth: int) -> object:
        kind = rng.randrange(7 if depth < 4 else 3)
        if kind < 3:
            return rng.choice(catalogue()).example * rng.choice((1, 1, 1, 50))
        if kind < 5:
            return [value(depth + 1) for _ in range(rng.randrange(5))]
        names = ("source", "outputs", "text", "data", "text/plain", "traceback", "ename", "evalue", "cells", "metadata")
        return {rng.choice(names): value(depth + 1) for _ in range(rng.randrange(5))}

    cells = [
        {"outputs": [value(3) for _ in range(rng.randrange(4))], "source": value(2), **({} if rng.randrange(3) else {"x": value(0)})}
        for _ in range(rng.choice((1, 20, 400)))
    ]
    text = json.dumps({"cells": cells}, indent=rng.choice((None, None, 1)), ensure_ascii=bool(rng.randrange(2)))
    if rng.randrange(4) == 0:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(('"', "\\", "{", "", "\x00", "\n")) + text[at + rng.randrange(3) :]
    return text[:1_000_000].encode("utf-8", "replace")


def pump(minutes: float, folder: Path, seed: int) -> int:
    """Read pumped texts and notebooks for so many minutes; 1 where one failed or took too long, and was kept."""
    rng = random.Random(seed)
    texts = pumped_texts(rng)
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes
    tried = failed = 0
    slowest = 0.0
    while time.monotonic() < end:
        data = notebook(rng) if rng.randrange(5) == 0 else next(texts)
        started = time.process_time()
        problem = ""
        try:
            check(data)
        except Exception as error:  # noqa: BLE001 (whatever is raised is a finding)
            problem = f"{type(error).__name__}: {error}"[:300]
        taken = time.process_time() - started
        slowest = max(slowest, taken)
        if not problem and taken > BESIDE_S + EACH_S * len(data):
            problem = f"{taken:.1f} s for {len(data)} bytes"
        tried += 1
        if problem:
            failed += 1
            kept = folder / f"pump-{seed}-{tried}"
            kept.write_bytes(data)
            print(f"{kept}: {problem}", flush=True)
    print(f"{tried} texts (seed {seed}), {failed} failed, the slowest took {slowest:.2f} s of processor time")
    return 1 if failed else 0


def main() -> int:
    """Run the fuzzer for so many minutes; its exit code."""
    parser = argparse.ArgumentParser(description="Fuzz the reading of reports.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seconds", type=int, default=10, help="most seconds that one input may take (10)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--input", type=Path, help="check one input, such as a kept failure, without the fuzzer")
    parser.add_argument("--pumps", action="store_true", help="pumped texts and notebooks, without the fuzzer")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of --pumps")
    args = parser.parse_args()
    if args.pumps:
        return pump(args.minutes, args.folder, args.seed)
    if args.input:
        started = time.monotonic()
        check(args.input.read_bytes())
        print(f"nothing wrong with {args.input} ({time.monotonic() - started:.2f} s)")
        return 0
    try:
        import atheris
    except ImportError:
        print("fuzz.py needs atheris: pip install atheris", file=sys.stderr)
        return 3
    with atheris.instrument_imports(include=["doctor"]):
        from doctor.rules import all_rules

        all_rules()
    corpus = args.folder / "corpus"
    seeds(corpus)
    dictionary(args.folder / "words")
    options = [
        sys.argv[0],
        f"-max_total_time={int(args.minutes * 60)}",
        f"-timeout={args.seconds}",
        f"-dict={args.folder / 'words'}",
        f"-artifact_prefix={args.folder}/",
        "-max_len=20000",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        str(corpus),
    ]
    atheris.Setup(options, check)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
