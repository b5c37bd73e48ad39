"""The command line: arguments in, exit code out. The only place that decides how the process ends."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    raise SystemExit("not yet")
