"""Tests that requirements files of any size and shape are read in a time proportional to their size, or
refused with a clear message."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doctor.plan.requirements import read
from doctor.tables import Tables
from tests.plan.contexts import judged, left_out
from tests.sampling import sampled

if TYPE_CHECKING:
    from typing import TypeAlias

Cli: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"
PUMPS: dict[str, Callable[[int], str]] = {
    "bounds": lambda n: "tensorflow" + ">=1," * n,
    "different bounds": lambda n: "tensorflow" + ",".join(f">=1.{at}" for at in range(n)),
    "spaces": lambda n: "tensorflow" + " " * n + "x",
    "operators": lambda n: "tensorflow" + ">=" * n,
    "equals": lambda n: "tensorflow" + "=" * n,
    "dots": lambda n: "tensorflow==" + "1." * n,
    "brackets": lambda n: "[" * n + " " * n + "x",
    "header": lambda n: "[ " + " " * n + "x",
    "quotes": lambda n: 'dependencies = ["' + '"' * n,
    "options": lambda n: "tensorflow " + "--a " * n,
    "hashes": lambda n: "#" * n + " #" * n,
    "continued": lambda n: "RUN pip install \\\n" * n,
    "lines": lambda n: "RUN pip install tensorflow\n" * n,
    "doubling variables": lambda n: "ARG A=aaaa\n" + "ENV A=$A$A$A\n" * n,
    "open variables": lambda n: "RUN pip install " + "${a" * n,
    "commands": lambda n: "RUN " + "a && " * n,
    "stages": lambda n: "FROM a\n" * n,
    "here-documents": lambda n: "RUN <<EOF\n" * n,
    "words": lambda n: "RUN pip install " + "\\\n 'tensorflow>=2' " * n,
    "conda's lines": lambda n: "dependencies:\n" + "  - tensorflow=2.10\n" * n,
    "conda's list": lambda n: "dependencies: [" + "tensorflow=2," * n,
    "conda's brackets": lambda n: "dependencies:\n  - tensorflow[" + "version='" * n,
    "conda's channels": lambda n: "dependencies:\n  - " + "a::" * n,
    "poetry's extras": lambda n: "[tool.poetry.dependencies]\ntensorflow = {" + "extras = [" * n,
    "poetry's tables": lambda n: "".join(
        f'[tool.poetry.dependencies.a{at}]\nversion="1"\n' for at in range(n)
    ),
}


def seconds(work: Callable[[], object]) -> float:
    """Return the lowest processor time in three runs, in seconds."""
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize(("pump", "name"), sampled(
    itertools.product(PUMPS, ("requirements.txt", "pyproject.toml", "environment.yml", "Dockerfile")), 13,
))  # fmt: skip
def test_time_of_reading_grows_with_the_size_alone(name: str, pump: str) -> None:
    short, long = PUMPS[pump](500), PUMPS[pump](4000)
    once, more = seconds(lambda: read(short, name)), seconds(lambda: read(long, name))
    assert more < 0.05 + 20 * once, f"eight times the text takes {more / max(once, 1e-6):.0f} times as long"


def test_specifier_of_12_000_parts_is_judged_at_once_or_named(tables: Tables) -> None:
    start = time.process_time()
    same = judged(tables, "requirements.txt", "tensorflow[and-cuda]" + ",".join([">=2.15"] * 2_000) + "\n")
    assert left_out(same) == [], "a repeated bound counts as one bound"
    many = judged(
        tables, "requirements.txt", "tensorflow" + ",".join(f">=2.{at}" for at in range(2_000)) + "\n"
    )
    assert left_out(many) == [1]
    assert "2000 version bounds" in many.unexamined[0].explanation
    long = judged(tables, "requirements.txt", "tensorflow" + ">=1," * 12_000 + "\n")
    assert left_out(long) == [1]
    assert "longer than" in long.unexamined[0].explanation
    assert time.process_time() - start < 5


def test_many_lines_that_cannot_be_judged_are_counted(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tf-nightly\n" * 12_000)
    assert len(found.unexamined) < 50
    assert "further lines" in found.unexamined[-1].explanation


def test_lines_beyond_the_limit_are_named(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "\n" * 30_000 + "tensorflow==1.0\n")
    assert left_out(found) == [20_001]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda folder: (folder / "r.txt").write_bytes(b"a\n" * (3 << 20)), "larger than 4 MiB"),
        (
            lambda folder: (
                [(folder / f"{n}.txt").write_text(f"-r {n + 1}.txt\n") for n in range(80)]
                and (folder / "r.txt").write_text("-r 0.txt\n")
            ),
            "more than 50 files",
        ),
        (
            lambda folder: (
                (folder / "r.txt").write_text("-r big.txt\n-r big2.txt\n"),
                (folder / "big.txt").write_bytes(b"#a\n" * (1 << 20)),
                (folder / "big2.txt").write_bytes(b"#a\n" * (1 << 20)),
            ),
            "larger than 4 MiB together with the files that it includes",
        ),
        (
            lambda folder: (
                (folder / "r.txt").write_text("-r x.txt\n"),
                (folder / "x.txt").symlink_to("x.txt"),
            ),
            "x.txt",
        ),
        (
            lambda folder: (
                (folder / "r.txt").write_text("-r pipe\n"),
                __import__("os").mkfifo(folder / "pipe"),
            ),
            "not a regular file",
        ),
        (lambda folder: (folder / "r.txt").write_text("-r .\n"), "not a regular file"),
    ],
    ids=["large", "chain", "large together", "link to itself", "pipe", "folder"],
)
def test_file_that_cannot_be_read_is_refused_with_a_reason(
    cli: Cli, tmp_path: Path, make: Callable[[Path], object], word: str
) -> None:
    make(tmp_path)
    done = cli("plan", "--check", "--gpu", "RTX 3080", "-r", str(tmp_path / "r.txt"))
    assert done.returncode == 2
    assert word in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_files_that_include_each_other_are_read_once(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("-r b.txt\n-c b.txt\ntensorflow[and-cuda]==2.20.0\n")
    (tmp_path / "b.txt").write_text("-r a.txt\n-r ./b.txt\n-c a.txt\n")
    (tmp_path / "sub").mkdir()
    done = cli(
        "plan",
        "--check",
        "--gpu",
        "RTX 3080",
        "--os",
        "Ubuntu 24.04",
        "-r",
        str(tmp_path / "sub" / ".." / "a.txt"),
    )
    assert done.returncode == 0, done.stdout
