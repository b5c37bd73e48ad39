"""Feeds mutated reports to the whole reader for hours: bytes in, every format out, nothing but an answer
allowed.

    pip install atheris
    python scripts/fuzz.py [--minutes 30] [--folder build/fuzz]
    python scripts/fuzz.py --pumps [--minutes 30]        # without atheris
    python scripts/fuzz.py --machines [--minutes 30]     # without atheris

The seeds are the recorded logs and every signature's example; the dictionary holds the signatures' literals.
An input is a failure where anything but NotText is raised, a rule breaks, a line of evidence is not in the
input, an answer holds a character that a terminal could act on, or one input takes longer than --seconds. A
failing input is kept in the folder, and the exit code is not 0.

--pumps reads texts in which a pattern's own words are repeated, on one line and over many lines, beside them
notebooks of random shapes on one line and on many: each has to be read in a time that is in proportion to its
size.

--machines reads recorded machines and saved records of which parts were changed: files emptied, cut,
overwritten, grown, turned into links, pipes and folders, values of another type; and reports with what a
shell would run in them. Beside what is said above, no printed command may be read by a shell as other than
what it was made of.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.facts import Facts

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["TFGPU_DOCTOR_TABLES"] = ""


def check(data: bytes) -> None:
    """One input through everything. Raises AssertionError, or whatever the code under test raises."""
    from doctor.logs import NotText, read

    try:
        facts = read(data, "report.txt")
    except NotText:
        return
    judged(facts)


def judged(facts: Facts) -> None:
    """The facts through everything that follows."""
    from doctor.diagnose import diagnose
    from doctor.render import Options, rendered
    from doctor.tables import Tables
    from tests.shell_readers import held

    diagnosis = diagnose(facts, Tables.bundled())
    broken = [s for s in diagnosis.skipped if s.reason.startswith("the rule failed")]
    assert not broken, f"a rule broke: {broken[0].code}: {broken[0].reason}"
    for finding in diagnosis.findings:
        for step in (*finding.prescription, *([finding.proof] if finding.proof else [])):
            if step.kind == "shell" and step.command is not None:
                held(step.command, step.platform or "linux")
        for source in finding.evidence:
            if facts.kind == "report" and source.where == facts.name and source.line is not None:
                assert 1 <= source.line <= facts.lines, (
                    f"{finding.code} quotes line {source.line} of {facts.lines}"
                )
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


MACHINE_S = 8.0
"""Seconds of processor time that a changed machine may take."""


class Tree:
    """A recorded machine of which parts were changed; made anew in a folder from its seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        rng = random.Random(seed)
        record = rng.choice(
            sorted(path for path in (ROOT / "tests/data/machines").iterdir() if path.is_dir())
        )
        self.root = folder / "machine"
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(record, self.root, symlinks=True)
        paths = sorted(self.root.rglob("*"))
        self.changes = [f"{seed}: {record.name}"]
        for path in rng.sample(paths, rng.choice((1, 1, 3, 10, 40))):
            if os.path.lexists(path):
                self.changes.append(self._change(rng, path))

    def _change(self, rng: random.Random, path: Path) -> str:
        from tests.shell_readers import PAYLOADS

        regular = path.is_file() and not path.is_symlink()
        data = path.read_bytes() if regular else b""
        at = rng.randrange(len(data) + 1)
        kind = rng.choice(
            ("cut", "noise", "grown", "payload", "digits")
            if regular and rng.randrange(3)
            else ("link", "pipe", "folder", "empty", "loop")
        )
        if kind in ("cut", "noise", "grown", "payload", "digits"):
            more = {
                "cut": b"",
                "noise": rng.randbytes(rng.choice((1, 8, 4_000))) + data[at:],
                "grown": data[at : at + 300] * 20_000,
                "payload": rng.choice(PAYLOADS).encode() + data[at:],
                "digits": b"9" * rng.choice((1, 5, 5_000)) + data[at:],
            }
            path.chmod(0o644)
            path.write_bytes(data[:at] + more[kind])
        else:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
            if kind == "link":
                path.symlink_to(
                    rng.choice(
                        ("/etc/passwd", "../" * 40 + "etc/passwd", "/dev/zero", "/proc/self/mem", "x" * 250)
                    )
                )
            elif kind == "pipe":
                os.mkfifo(path)
            elif kind == "folder":
                path.mkdir()
            elif kind == "loop":
                path.symlink_to(path.name)
            else:
                path.touch()
        return f"{kind} at {path.relative_to(self.root)}"

    def check(self) -> None:
        """Examine and judge it. Raises AssertionError, or whatever the code under test raises."""
        from doctor.probe import examine
        from doctor.probe.machine import Machine

        try:
            machine = Machine.at(self.root)
        except ValueError:  # the machine's own record cannot be read, and the answer says so
            return
        judged(examine(machine))

    def __str__(self) -> str:
        return "\n".join(self.changes)


class Saved:
    """A saved record of a machine with changed parts, or a report with a payload in it; from its seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        rng = random.Random(seed)
        self.file = folder / "saved.json"
        self.text = rng.choice((self._record, self._report))(rng)

    @staticmethod
    def _record(rng: random.Random) -> str:
        from doctor.probe import examine, record
        from doctor.probe.machine import Machine
        from tests.shell_readers import PAYLOADS

        machine = rng.choice(
            sorted(path for path in (ROOT / "tests/data/machines").iterdir() if path.is_dir())
        )
        whole = RECORDS.setdefault(
            machine.name, json.dumps(record.to_record(examine(Machine.at(machine)), "1", "2026-01-01"))
        )
        value = json.loads(whole)
        for _ in range(rng.choice((1, 2, 8))):
            inner: Any = value
            key: Any = None
            while isinstance(inner, (dict, list)) and inner and (key is None or rng.randrange(8)):
                outer, key = inner, rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
                inner = outer[key]
            if key is not None:
                outer[key] = rng.choice(
                    (
                        None,
                        True,
                        -1,
                        10**400,
                        1.5,
                        "",
                        rng.choice(PAYLOADS),
                        f"{inner}{rng.choice(PAYLOADS)}",
                        [],
                        {},
                        [[{}]],
                    )
                )
        return json.dumps(value)

    @staticmethod
    def _report(rng: random.Random) -> str:
        from doctor.logs.signatures import catalogue
        from tests.shell_readers import PAYLOADS

        lines = [rng.choice(catalogue()).example for _ in range(rng.choice((1, 3, 12)))]
        for _ in range(rng.choice((1, 2, 6))):
            which = rng.randrange(len(lines))
            at = rng.randrange(len(lines[which]) + 1)
            lines[which] = (
                lines[which][:at] + rng.choice(PAYLOADS) + lines[which][at + rng.choice((0, 0, 4)) :]
            )
        return "\n".join(lines)

    def check(self) -> None:
        """Read and judge it. Raises AssertionError, or whatever the code under test raises."""
        from doctor.errors import InputError
        from doctor.plan.described import machine_file
        from doctor.probe import record
        from doctor.tables import Tables

        if not self.text.startswith("{"):
            check(self.text.encode("utf-8", "replace"))
            return
        self.file.write_text(self.text, encoding="utf-8", errors="surrogateescape")
        for load in (
            lambda: record.load(str(self.file)),
            lambda: machine_file(str(self.file), Tables.bundled()),
        ):
            try:
                facts = load()
            except (InputError, record.NotRecordError):
                continue
            judged(facts)

    def __str__(self) -> str:
        return self.text


RECORDS: dict[str, str] = {}


class Read:
    """A text that is read as a report."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def check(self) -> None:
        """Raises what `check` raises."""
        check(self.data)

    def __str__(self) -> str:
        return self.data.decode("utf-8", "replace")


def tried(inputs: Iterator[Tree | Saved | Read], minutes: float, folder: Path, name: str) -> int:
    """Check inputs for so many minutes; 1 where one failed or took too long, and was kept."""
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes
    count = failed = 0
    slowest = spent = 0.0
    while time.monotonic() < end:
        given = next(inputs)
        started = time.process_time()
        problem = ""
        try:
            given.check()
        except Exception as error:  # noqa: BLE001 (whatever is raised is a finding)
            problem = f"{type(error).__name__}: {error}"[:300]
        taken = time.process_time() - started
        slowest, spent, count = max(slowest, taken), spent + taken, count + 1
        if not problem and taken > (
            BESIDE_S + EACH_S * len(given.data) if isinstance(given, Read) else MACHINE_S
        ):
            problem = f"{taken:.1f} s"
        if problem:
            failed += 1
            kept = folder / f"{name}-{count}"
            kept.write_text(str(given), encoding="utf-8", errors="replace")
            print(f"{kept}: {problem}", flush=True)
    print(
        f"{count} inputs ({name}), {failed} failed, the slowest took {slowest:.2f} s of processor time, all"
        f" {spent:.0f} s"
    )
    return 1 if failed else 0


def main() -> int:
    """Run the fuzzer for so many minutes; its exit code."""
    parser = argparse.ArgumentParser(description="Fuzz the reading of reports.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seconds", type=int, default=10, help="most seconds that one input may take (10)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument(
        "--input", type=Path, help="check one input, such as a kept failure, without the fuzzer"
    )
    parser.add_argument("--pumps", action="store_true", help="pumped texts and notebooks, without the fuzzer")
    parser.add_argument(
        "--machines", action="store_true", help="changed machines, records and reports, without the fuzzer"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of --pumps and --machines")
    args = parser.parse_args()
    if args.pumps:
        rng = random.Random(args.seed)
        texts = pumped_texts(rng)
        pumped = (Read(notebook(rng) if rng.randrange(5) == 0 else next(texts)) for _ in itertools.count())
        return tried(pumped, args.minutes, args.folder, f"pump-{args.seed}")
    if args.machines:
        args.folder.mkdir(parents=True, exist_ok=True)
        seeds_ = itertools.count(args.seed)
        changed = (Tree(seed, args.folder) if seed % 3 == 0 else Saved(seed, args.folder) for seed in seeds_)
        return tried(changed, args.minutes, args.folder, f"machine-{args.seed}")
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
