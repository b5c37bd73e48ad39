"""pip's or uv's own resolver in dry-run over a requirement file: conflicts among plain Python packages."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

from doctor.errors import UnableError
from doctor.facts import Source
from doctor.findings import Finding
from doctor.install import interpreters
from doctor.plan import Outcome

LIMIT = 600
_NETWORK = re.compile(
    r"(?i)failed to establish|name resolution|max retries|dns error|connection refused|error sending request"
)


def command(path: str, python: str | None, here: str | None) -> list[str]:
    """The dry run for one file: uv resolves for any Python; pip for one that is on the machine.

    Raises UnableError where neither can.
    """
    uv = interpreters.uv()
    if uv is not None:
        version = ["--python-version", python] if python else []
        return [uv, "pip", "compile", "--quiet", "--no-header", *version, path]
    if re.search(r"\.(toml|ya?ml)$", path) or "dockerfile" in path.lower():
        raise UnableError(f"pip cannot resolve `{path}` by itself", "install uv, or name a requirements.txt")
    if here is None:
        raise UnableError(f"there is no Python {python} here to resolve for, and no uv", "install uv")
    return [
        here,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        "-r",
        path,
    ]


def resolved(outcome: Outcome, paths: Sequence[str], *, quiet: bool = False) -> Outcome:
    """The outcome with a finding for each file that does not resolve. Raises UnableError without a network."""
    findings = list(outcome.findings)
    for path in paths:
        python = outcome.ground.python
        here = interpreters.find(python) if python else sys.executable
        if not quiet and sys.stderr.isatty():
            print(f"Resolving {path} ...", file=sys.stderr)
        try:
            done = subprocess.run(command(path, python, here), capture_output=True, text=True, errors="replace",
                                  timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise UnableError(f"{path} was not resolved within {LIMIT} s") from late
        if done.returncode == 0:
            continue
        words = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        if _NETWORK.search("\n".join(words)):
            raise UnableError(
                "the package index could not be reached", "leave --resolve out: the tables need no network"
            )
        findings.insert(0, _finding(path, words))
    return replace(outcome, findings=tuple(findings))


def _finding(path: str, words: list[str]) -> Finding:
    text = " ".join(words)
    wheel = re.search(r"No matching distribution found for (\S+)", text)
    named = [w for w in words if re.search(r"(?i)tensorflow|error|conflict|because|requires|depends", w)][:6] or words[
        -3:
    ]
    return Finding(
        "tf-no-wheel" if wheel and "tensorflow" in wheel[1] else "python-dependency-conflict",
        "error",
        f"{path} does not resolve",
        "The installer's own resolver, run without installing anything, finds no set of releases that fits every line.",
        (Source(path, None, " ".join(named)[:400]),),
    )
