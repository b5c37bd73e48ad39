"""Runs many calls of the command in one process that forks for each call, for tests that do not depend on how
Python starts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FORKS = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import doctor.cli
from doctor import api
api.explain("tensorflow 2.15.0").render("html")  # what the calls would load one by one
given = json.load(sys.stdin)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for words in given["calls"]:
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(to_out, 1), os.dup2(to_err, 2)
        os.closerange(3, 64)
        if given["file size"]:
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (given["file size"],) * 2)
        sys.argv = ["tfgpu-doctor", *words]
        doctor.cli.entry()
        os._exit(99)
    os.close(to_out), os.close(to_err)
    said = [open(end, encoding="utf-8", errors="replace").read() for end in (out, err)]
    print(json.dumps([os.WEXITSTATUS(os.waitpid(child, 0)[1]), *said]), flush=True)
"""


class Ended(NamedTuple):
    """The result of a call."""

    code: int
    out: str
    err: str


def forked(
    calls: Sequence[Sequence[str]], *, before: Sequence[str] = (), file_size: int = 0, **options: Any
) -> list[Ended]:
    """Run calls of the command one after the other. before: a command that starts the process (setpriv ...).
    file_size: the largest file, in bytes, that a call may write; 0 for no limit."""
    # -B: with a limit on file sizes, the next process would find a truncated bytecode file
    argv = [*before, sys.executable, "-B", "-c", FORKS, str(ROOT)]
    given = json.dumps({"calls": [list(call) for call in calls], "file size": file_size})
    done = subprocess.run(
        argv, input=given, capture_output=True, text=True, timeout=240, check=False, **options
    )
    if done.returncode:
        raise OSError(done.stderr)
    return [Ended(*json.loads(row)) for row in done.stdout.splitlines()]
