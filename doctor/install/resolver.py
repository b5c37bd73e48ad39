"""Runs pip's or uv's own resolver in dry-run mode on a requirements file, to find conflicts among plain
Python packages."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

from doctor import lazy
from doctor.errors import UnableError
from doctor.facts import Source
from doctor.findings import Finding
from doctor.install import interpreters
from doctor.plan import Outcome
from doctor.printable import say
from doctor.values import replace

LIMIT = 600
_NETWORK = lazy.compile(
    r"(?i)failed to establish|name resolution|max retries|dns error|connection refused|error sending"
    r" request|retrying \("
    r"|failed to fetch|request failed|timed out|certificate|proxy|unauthorized|forbidden|network"
    r" connectivity|40[137] client error"
)
_CONFLICT = lazy.compile(
    r"(?i)resolutionimpossible|conflicting dependencies|no solution found|because .{1,300} depends"
    r" on|requirements are unsatisfiable"
    r"|no matching distribution found|could not find a version that satisfies|requires a different python"
)
"""Matches what pip and uv print when they find no matching releases."""


def command(path: str, python: str | None, here: str | None) -> list[str]:
    """Return the dry-run command for one file. uv can resolve for any Python version, but pip only for an
    installed one.

    Raises UnableError if neither uv nor a suitable pip is available.
    """
    uv = interpreters.uv()
    if uv is not None:
        version = ["--python-version", python] if python else []
        return [uv, "pip", "compile", "--quiet", "--no-header", *version, path]
    if re.search(r"\.(toml|ya?ml)$", path) or "dockerfile" in path.lower():
        raise UnableError(f"pip cannot resolve `{path}` by itself", "install uv, or pass a requirements.txt")
    if here is None:
        raise UnableError(
            f"neither uv nor Python {python} is installed; one of them is needed to resolve the packages",
            "install uv",
        )
    pip = [here, "-m", "pip", "--disable-pip-version-check", "install"]
    return [*pip, "--dry-run", "--ignore-installed", "--quiet", "-r", path]


def resolved(outcome: Outcome, paths: Sequence[str], *, quiet: bool = False) -> Outcome:
    """Return the outcome, with an added finding for each file that cannot be resolved or that no resolver
    could check."""
    findings = list(outcome.findings)
    for path in paths:
        if not quiet and sys.stderr.isatty():
            say(f"Resolving {path} ...")
        more = _resolved(path, outcome.context.python)
        if more is not None:
            findings.insert(0, more)
    if paths:
        findings = [f for f in findings if (f.code, f.severity) != ("undetermined", "info")]
    return replace(outcome, findings=tuple(findings))


def _resolved(path: str, python: str | None) -> Finding | None:
    """Return a finding if the file cannot be resolved or no resolver could check it, or None if it
    resolves."""
    here = interpreters.find(python) if python else sys.executable
    try:
        done = subprocess.run(command(path, python, here), capture_output=True, text=True, errors="replace",
                              timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
    except UnableError as error:
        return _unresolved(path, str(error), error.hint)
    except subprocess.TimeoutExpired:
        return _unresolved(path, f"the resolver did not finish within {LIMIT} s")
    except OSError as error:
        return _unresolved(path, f"the resolver could not be started: {error.strerror}", "install uv")
    if done.returncode == 0:
        return None
    words = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    text = "\n".join(words)
    if _NETWORK.search(text):
        hint = "omit --resolve; the tables need no network"
        return _unresolved(path, "the package index could not be reached", hint, words)
    if not _CONFLICT.search(text):
        return _unresolved(path, "the resolver ended without a result", words=words)
    return _finding(path, words)


def _unresolved(path: str, why: str, hint: str = "", words: Sequence[str] = ()) -> Finding:
    """Return the finding for a file that no resolver checked, so only the tables can judge it."""
    seen = next((w for w in words if re.search(r"(?i)error|fail|no module", w)), words[-1] if words else why)
    return Finding(
        "undetermined",
        "warning",
        f"{path} was not resolved: {why}",
        "Neither pip nor uv resolved the file, so only the tables judged whether its lines fit together."
        + (f" What to do: {hint}." if hint else ""),
        (Source(path, None, seen[:400]),),
    )


def _finding(path: str, words: list[str]) -> Finding:
    text = " ".join(words)
    wheel = re.search(r"No matching distribution found for (\S+)", text)
    telling = re.compile("tensorflow|error|conflict|because|requires|depends", re.IGNORECASE)
    named = [word for word in words if telling.search(word)][:6] or words[-3:]
    return Finding(
        "tf-no-wheel" if wheel and "tensorflow" in wheel[1] else "python-dependency-conflict",
        "error",
        f"the requirements in {path} cannot be resolved",
        "The installer's own resolver, in a dry run that installs nothing, finds no set of releases that"
        " satisfies every line.",
        (Source(path, None, " ".join(named)[:400]),),
    )
