"""Feeds mutated reports to the whole tool and checks the answers in every output format, for as long as you
like.

    pip install atheris
    python scripts/fuzz.py [--minutes 30] [--folder build/fuzz]
    python scripts/fuzz.py --pumps [--minutes 30]        # without atheris
    python scripts/fuzz.py --machines [--minutes 30]     # without atheris

The seeds are the recorded logs and the example of every signature; the dictionary contains the literals of
the signatures. An input fails if anything but NotText is raised, if a rule breaks, if a line of evidence is
not in the input, if an answer contains a character that a terminal could interpret, or if reading takes
longer than --seconds. A failing input is kept in the folder, and the exit code is not 0.

--pumps reads texts that repeat words from a pattern, on one line and over many lines, and notebooks of random
shapes, on one line and over many lines. The time to read a text must be proportional to its size.

--machines reads recorded machines and saved records with changed parts: files that are emptied, cut off,
overwritten, enlarged, or turned into links, pipes and folders, and values that are replaced with values of
another type. It also reads reports that contain text that a shell would run. In addition to the checks above,
a shell must split every printed command into exactly the arguments from which it was made.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["TFGPU_DOCTOR_TABLES"] = ""

from scripts.fuzzing.checks import check  # noqa: E402
from scripts.fuzzing.machines import Saved, Tree  # noqa: E402
from scripts.fuzzing.texts import dictionary, notebook, pumped_texts, seeds  # noqa: E402

EACH_S, BASE_S = 15e-6, 1.0
"""The seconds of processor time that reading an input may take: BASE_S, plus EACH_S for each character."""
MACHINE_S = 8.0
"""The seconds of processor time that checking a changed machine may take."""


class Read:
    """A text that is read as a report."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def check(self) -> None:
        """Read the text and check the answers. Raises whatever `checks.check` raises."""
        check(self.data)

    def __str__(self) -> str:
        return self.data.decode("utf-8", "replace")


def tried(inputs: Iterator[Tree | Saved | Read], minutes: float, folder: Path, name: str) -> int:
    """Check inputs for this many minutes. Inputs that fail or take too long are kept in the folder. Returns 1
    if there were any, otherwise 0."""
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
            BASE_S + EACH_S * len(given.data) if isinstance(given, Read) else MACHINE_S
        ):
            problem = f"{taken:.1f} s"
        if problem:
            failed += 1
            kept = folder / f"{name}-{count}"
            kept.write_text(str(given), encoding="utf-8", errors="replace")
            print(f"{kept}: {problem}", flush=True)
    print(
        f"{count} inputs ({name}), {failed} failed, the slowest took {slowest:.2f} s of processor time,"
        f" together {spent:.0f} s"
    )
    return 1 if failed else 0


def main() -> int:
    """Run the fuzzer for the requested minutes. Returns its exit code."""
    parser = argparse.ArgumentParser(description="Feed changed reports to the tool.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seconds", type=int, default=10, help="the time limit for one input (10)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument(
        "--input", type=Path, help="check one input, such as a failed input that was kept, without the fuzzer"
    )
    parser.add_argument("--pumps", action="store_true", help="check pumped texts, without the fuzzer")
    parser.add_argument(
        "--machines", action="store_true", help="check changed machines and records, without the fuzzer"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="for --pumps, --machines")
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
