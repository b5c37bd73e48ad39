"""Measures the figures in docs/performance.md, and prints them as a table.

    python scripts/benchmark.py [--runs 9] [--large 500] [--huge 1000] [--reports 10000] [--only
    start|simulate|large|many]

The times are medians of several warm runs of whole processes, with the interpreter that runs this script. The
time to start a command is also given as a multiple of the time of `python -c pass`, and the speed of reading
a large log as a multiple of grep's speed on the same file; in both cases, the two processes run alternately.
The budgets for starting a command and for each of many reports are multiples of the processor time of `python
-c pass` under the same load. Each run makes the logs again (with a fixed seed) in a temporary folder, which
is removed afterwards. Exit code 1 if a budget is exceeded.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
TOOL = [sys.executable, "-m", "doctor"]
PASS = [sys.executable, "-c", "pass"]
PASS_MS = 10
"""The milliseconds of processor time that PASS takes on the kind of machine for which the budgets were set,
when it is idle."""
MESSAGE = (
    "2026-01-02 03:04:05.678901: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not"
    " load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file: No such"
    " file or directory\n"
)
ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPATH": str(ROOT),
    "TFGPU_DOCTOR_TABLES": "",
}
"""The environment variables for the runs. Python may write bytecode, as it does for an installed tool."""


class Row(NamedTuple):
    """One row of the table. kept: whether the measurement is within the budget; None if there is no
    budget."""

    what: str
    measured: str
    against: str
    budget: str
    kept: bool | None


class Run(NamedTuple):
    """The cost of one process: elapsed seconds, seconds of processor time, highest memory use in MiB."""

    wall: float
    cpu: float
    mib: float


def run(command: list[str], stdin: Path | None = None) -> Run:
    """Run a command to its end and discard its output. Raises RuntimeError if the command crashes or reports
    that it could not do what was asked."""
    # the output goes to a file, because grep stops at the first match if it is /dev/null
    with open(stdin or os.devnull, "rb") as source, tempfile.TemporaryFile() as sink:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=source, stdout=sink, stderr=subprocess.DEVNULL, cwd=ROOT,
            env=ENVIRONMENT,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
    process.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command[:6])} exited with {process.returncode}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def medians(command: list[str], other: list[str], runs: int) -> tuple[Run, Run]:
    """Run two commands alternately, and return the median of each. The first run of each does not count."""
    run(command)
    run(other)
    pairs = [(run(command), run(other)) for _ in range(runs)]
    first, second = zip(*pairs)
    return _median(first), _median(second)


def _median(several: tuple[Run, ...]) -> Run:
    return Run(*(statistics.median(values) for values in zip(*several)))


def starts(folder: Path, runs: int) -> Iterator[Row]:
    """Measure the time that small commands take."""
    report = folder / "report.log"
    report.write_text(MESSAGE * 3 + "TensorFlow 2.10.0\n")
    commands = (
        ("`--version`", ["--version"], 60),
        ("`--help`", ["--help"], 60),
        ("`code cudnn-init-oom`", ["code", "cudnn-init-oom"], 60),
        ("`explain FILE --format json`", ["explain", str(report), "--format", "json"], 100),
        ("`explain FILE`", ["explain", str(report)], 150),
        ("`check --format json`", ["check", "--format", "json"], 300),
    )
    for name, words, budget in commands:
        ours, bare = medians([*TOOL, *words], PASS, runs)
        times = ours.cpu / bare.cpu
        yield Row(
            name,
            f"{1000 * ours.wall:.0f} ms ({1000 * ours.cpu:.0f} ms of processor time)",
            f"{times:.1f} times `python -c pass` ({1000 * bare.cpu:.0f} ms of processor time)",
            f"{budget} ms on a quiet machine, {budget / PASS_MS:.0f} times",
            times <= budget / PASS_MS,
        )


def simulated(runs: int) -> Iterator[Row]:
    """Measure the time that a simulated machine adds to a check. The first run compiles the simulated
    libraries and does not count."""
    check = [*TOOL, "check", "--format", "json"]
    inside, outside = medians([*TOOL, "simulate", "--", *check], check, runs)
    more = inside.wall - outside.wall
    yield Row(
        "what `simulate --` adds to `check`",
        f"{more:.2f} s ({inside.cpu - outside.cpu:.2f} s of processor time)",
        f"`check` alone {outside.wall:.2f} s",
        "1 s",
        more <= 1,
    )


def training_log() -> Iterator[str]:
    """Yield parts of the log of a long training run: progress, checkpoints, workers."""
    rng = random.Random(1)
    for step in itertools.count(1):
        done = step % 1875 * 30 // 1875
        kind = step % 10
        if kind < 6:
            yield (
                f"{step % 1875}/1875 [{'=' * done}>{'.' * (29 - done)}] - ETA: {rng.randint(0, 99)}s"
                f" - loss: {rng.random():.4f} - accuracy: {rng.random():.4f}\n"
            )
        elif kind < 8:
            yield (
                f"2026-01-02 03:{step % 60:02d}:{step % 59:02d}.{rng.randint(0, 999999):06d}: I"
                f" tensorflow/core/common_runtime/executor.cc:{step % 997}] [/device:CPU:0] Executor"
                f" start step {step}\n"
            )
        elif kind < 9:
            yield f"INFO:root:wrote checkpoint /data/run-{step}/model.ckpt-{step} lr={rng.random():.3e}\n"
        else:
            yield (
                f"I0102 03:04:05.{rng.randint(0, 999999):06d} {rng.randint(1000, 9999)}"
                f" service.cc:{step % 300}] worker {step % 16} took {rng.random():.3f} ms\n"
            )


def service_log() -> Iterator[str]:
    """Yield lines of a server's log. Every line has its own identifiers."""
    rng = random.Random(3)
    while True:
        yield (
            f"2026-01-02T03:04:05Z INFO pod-{rng.getrandbits(128):032x} request {rng.getrandbits(64):x} "
            f"served by node-{rng.getrandbits(32):x} in {rng.random():.3f} ms\n"
        )


def one_line() -> Iterator[str]:
    """Yield parts of one very long line of words."""
    rng = random.Random(2)
    words = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(2, 9))) for _ in range(5000)]
    while True:
        yield " ".join(rng.choices(words, k=20_000)) + " "


def write_log(path: Path, parts: Iterator[str], megabytes: int) -> None:
    """Write a log of this size to a file. In the middle is the one message that decides the verdict."""
    size = megabytes * 1_000_000
    written = 0
    message = MESSAGE
    with path.open("w") as stream:
        while written < size:
            part = next(parts)
            if message and written > size // 2:
                part += message if part.endswith("\n") else f"{message.strip()} "
                message = ""
            written += stream.write(part)


def large(folder: Path, runs: int, megabytes: int, huge: int) -> Iterator[Row]:
    """Measure the time and the memory that it takes to read large logs. grep gets the same literals to search
    for as the tool."""
    from doctor.logs.scan import triggers

    words = folder / "patterns"
    words.write_bytes(b"".join(word + b"\n" for word in triggers()))
    logs: list[tuple[str, Callable[[], Iterator[str]], int]] = [
        ("a training log", training_log, megabytes),
        ("a server's log with identifiers", service_log, megabytes),
    ]
    if huge:
        logs += [("a training log", training_log, huge), ("one line", one_line, huge)]
    path = folder / "large.log"
    for name, make, size in logs:
        write_log(path, make(), size)
        _sync(path)
        yield from _beside_grep(f"{name} of {size} MB", path, words, size, max(3, runs // 3))
        if size == huge:
            stdin = run([*TOOL, "explain", "-", "--format", "json"], path)
            yield Row(
                f"{name} of {size} MB from standard input",
                f"{stdin.wall:.1f} s, {stdin.mib:.0f} MiB",
                "",
                "100 MiB",
                stdin.mib < 100,
            )
        path.unlink()


def _beside_grep(name: str, path: Path, words: Path, megabytes: int, runs: int) -> Iterator[Row]:
    """Compare the speed at which `explain` reads a file with grep's speed. A file of one line has no budget,
    because grep stops at the first match in a line."""
    ours = ["explain", str(path), "--format", "json"]
    grep = shutil.which("grep")
    whole = "one line" not in name
    if grep is None:
        first, compared, kept = run([*TOOL, *ours]), "no grep here", None
    else:
        first, theirs = medians([*TOOL, *ours], [grep, "-c", "-F", "-f", str(words), str(path)], runs)
        ratio = theirs.wall / first.wall
        compared = f"{ratio:.2f} of the speed of `grep -F -f` with as many patterns ({theirs.wall:.2f} s)"
        kept = ratio >= 0.5 if whole else None
    yield Row(
        name,
        f"{first.wall:.2f} s ({megabytes / first.wall:.0f} MB/s), {first.cpu:.2f} s of processor time,"
        f" {first.mib:.0f} MiB",
        compared if whole else "",
        "0.5 of grep's speed, 100 MiB" if whole else "100 MiB",
        kept is not False and first.mib < 100,
    )


def _sync(path: Path) -> None:
    """Wait until a file has been written to disk, because pending writes slow down processes that read the
    file."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def many(folder: Path, reports: int) -> Iterator[Row]:
    """Measure the time to explain a folder of short reports, which are copies of recorded logs. PASS runs
    before and after each call."""
    logs = sorted((ROOT / "tests" / "data" / "logs").rglob("*.log"))
    texts = [path.read_bytes() for path in logs if path.stat().st_size < 20_000] or [MESSAGE.encode()]
    place = folder / "reports"
    place.mkdir()
    for number in range(reports):
        (place / f"{number:06d}.log").write_bytes(texts[number % len(texts)])
    calls, bare = [], [run(PASS) for _ in range(20)]
    for _ in range(3):
        calls.append(run([*TOOL, "explain", str(place), "--format", "json"]))
        bare += [run(PASS) for _ in range(20)]
    ours, start = _median(tuple(calls)), _median(tuple(bare))
    cores = os.cpu_count() or 1
    share = ours.cpu / reports / start.cpu
    yield Row(
        f"{reports} reports in one call",
        f"{ours.wall:.1f} s, {reports / ours.wall:.0f} per second on {cores} cores",
        f"{1000 * ours.cpu / reports:.2f} ms of processor time each, {share:.3f} of `python -c pass`"
        f" ({1000 * start.cpu:.1f} ms)",
        f"1 ms on a quiet machine (1000 per second and core), {1 / PASS_MS:.1f} of `pass`",
        share <= 1 / PASS_MS,
    )


def main() -> int:
    """Measure and print the table. Returns 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description="Measure the budgets.")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--large", type=int, default=500, metavar="MB")
    parser.add_argument("--huge", type=int, default=1000, metavar="MB", help="0: leave it out")
    parser.add_argument("--reports", type=int, default=10_000)
    parser.add_argument("--only", choices=("start", "simulate", "large", "many"))
    args = parser.parse_args()
    if not hasattr(os, "wait4"):
        print("benchmark.py needs a POSIX system", file=sys.stderr)
        return 3
    kept = True
    print("| what | measured | compared | budget | |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="tfgpu-doctor-benchmark-") as name:
        folder = Path(name)
        parts = {
            "start": lambda: starts(folder, args.runs),
            "simulate": lambda: simulated(args.runs),
            "large": lambda: large(folder, args.runs, args.large, args.huge),
            "many": lambda: many(folder, args.reports),
        }
        for part, rows in parts.items():
            if args.only not in (None, part):
                continue
            for row in rows():
                mark = "" if row.kept is None else "kept" if row.kept else "not kept"
                kept = kept and row.kept is not False
                print(f"| {row.what} | {row.measured} | {row.against} | {row.budget} | {mark} |", flush=True)
    load = os.getloadavg()[0]
    print(
        f"\n{os.cpu_count()} cores, load {load:.1f} at the end, Python {sys.version.split()[0]}",
        file=sys.stderr,
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
