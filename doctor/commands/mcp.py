"""`tfgpu-doctor mcp`: answer an AI assistant, as a Model Context Protocol (MCP) server on standard input and
output."""

from __future__ import annotations

import argparse
import sys

from doctor.errors import UnableError, UsageError
from doctor.printable import say

FORMATS = ("text",)
EPILOG = """\
examples:
  tfgpu-doctor mcp
  uvx --from /path/to/clone[mcp] tfgpu-doctor mcp  the same, without installing tfgpu-doctor first

Put the command into the assistant's configuration; the assistant starts it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `mcp` to the parser."""
    parser.add_argument(
        "--python", metavar="PATH", help="the interpreter or environment that check_machine examines"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until standard input ends. Raises UnableError if the MCP SDK is missing, UsageError for
    --output."""
    if args.output:
        raise UsageError("`tfgpu-doctor mcp` does not support --output")
    try:
        from doctor.mcp import server
    except ImportError as error:
        where = "needs Python 3.10 or later and " if sys.version_info < (3, 10) else "needs "
        raise UnableError(
            f"`tfgpu-doctor mcp` {where}version 2 or later of the package `mcp`",
            "run this in a clone of tfgpu-doctor, with Python 3.10 or later: pip install '.[mcp]'",
        ) from error
    if sys.stdin is None:
        raise UnableError("standard input is closed, so no assistant can send requests")
    if sys.stdin.isatty():
        say("tfgpu-doctor mcp: waiting for an assistant on standard input. Press Ctrl-C to end.")
    server(args.python).run("stdio")
    return 0
