"""Feeds mutated reports to the whole reader for hours: bytes in, every format out, nothing but an answer allowed.

    pip install atheris
    python scripts/fuzz.py [--minutes 30] [--folder build/fuzz]

The seeds are the recorded logs and every signature's example; the dictionary holds the signatures' literals. An input
is a failure where anything but NotText is raised, a rule breaks, a line of evidence is not in the input, an answer
holds a character that a terminal could act on, or one input takes longer than --seconds. A failing input is kept in the
folder, and the exit code is not 0.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
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


def main() -> int:
    """Run the fuzzer for so many minutes; its exit code."""
    parser = argparse.ArgumentParser(description="Fuzz the reading of reports.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seconds", type=int, default=10, help="most seconds that one input may take (10)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--input", type=Path, help="check one input, such as a kept failure, without the fuzzer")
    args = parser.parse_args()
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
