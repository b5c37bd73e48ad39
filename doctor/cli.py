"""The command line: arguments in, exit code out. The only place that decides how the process ends."""

from __future__ import annotations

import argparse
import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="tfgpu-doctor")
    sub = parser.add_subparsers(dest="command")
    from doctor.commands import explain

    p = sub.add_parser("explain")
    explain.add_arguments(p)
    p.add_argument("--format", default="json")
    p.add_argument("--output")
    args = parser.parse_args(argv)
    return explain.run(args)


if __name__ == "__main__":
    sys.exit(main())
