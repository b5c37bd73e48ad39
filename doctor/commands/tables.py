"""`tfgpu-doctor tables`: look up rows of the compatibility tables, with their sources; refresh and verify the
tables."""

from __future__ import annotations

import argparse

from doctor.commands.usage import suggestion
from doctor.errors import UnableError, UsageError
from doctor.tables import PLATFORMS

TABLES = {
    "tensorflow": "what each release was built for and needs",
    "driver": "the highest CUDA and the GPUs that a driver supports",
    "cuda": "a toolkit's drivers and libraries",
    "cudnn": "the CUDA majors and GPUs of a cuDNN release",
    "gpu": "a GPU by name, PCI id or compute capability",
    "library": "what a library belongs to, and which releases load it",
    "trap": "known defects of releases and combinations",
}
"""Each table, and what a look-up in it prints."""
ACTIONS = ("refresh", "verify")
FORMATS = ("text", "json", "markdown")

EPILOG = """\
examples:
  tfgpu-doctor tables tensorflow 2.15.1      what this release was built for and needs
  tfgpu-doctor tables tensorflow 1.14 --package tensorflow-gpu
  tfgpu-doctor tables driver 535.183.01      the highest CUDA and the GPUs that it supports
  tfgpu-doctor tables cuda 12.5              a toolkit's drivers and libraries; 12: its releases
  tfgpu-doctor tables cudnn 9.10             the CUDA majors and GPUs of a cuDNN release
  tfgpu-doctor tables gpu RTX 3080           by name, PCI id (10de:2206) or compute capability (8.6)
  tfgpu-doctor tables library libcudnn.so.8  what a library belongs to, and which releases load it
  tfgpu-doctor tables trap                   known traps
  tfgpu-doctor tables refresh [--undo]       read new releases into your own data folder
  tfgpu-doctor tables verify 2.15.1 2.21.0   read these releases again and compare them with the table"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tables` to the parser."""
    parser.add_argument(
        "table",
        nargs="?",
        metavar="TABLE",
        help=(
            f"the table to look in ({', '.join(TABLES)}), or an action ({', '.join(ACTIONS)}); without one,"
            " list the tables"
        ),
    )
    parser.add_argument("key", nargs="*", help="a version, a name, a PCI id ...; for verify: releases")
    parser.add_argument(
        "--package", metavar="NAME", help="for tensorflow: the distribution (default: tensorflow)"
    )
    parser.add_argument(
        "--platform",
        choices=(*PLATFORMS, "linux", "windows", "wsl"),
        metavar="NAME",
        help=(
            f"for tensorflow: {', '.join(PLATFORMS)}; for driver: linux, windows, wsl (default: Linux x86-64)"
        ),
    )
    parser.add_argument(
        "--undo", action="store_true", help="for refresh: go back to the tables that ship with the tool"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help=(
            "for refresh and verify: also read the libraries in the wheels (about 0.5 GB for a GPU release);"
            " only on Linux on x86-64, because the tool loads a library to see which others it loads"
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Print the rows, or run the action. Returns exit code 0; 1 if verify finds a difference or refresh finds
    rows that break a rule.

    Raises UsageError for a row that does not exist (the message names the nearest ones), UnableError
    if the package index cannot be read or --output cannot be written.
    """
    from doctor.render.fold import columns_of, fold
    from doctor.render.output import destination

    if args.table not in (None, *TABLES, *ACTIONS):
        raise UsageError(
            f"unknown table `{args.table}`",
            suggestion(args.table, (*TABLES, *ACTIONS), "`tfgpu-doctor tables` lists the tables"),
        )
    if args.table in ACTIONS:
        from contextlib import redirect_stdout

        from doctor.tables.upkeep import run as keep_up

        with destination(args.output) as out, redirect_stdout(out):
            return keep_up(args)
    from doctor.tables import Tables
    from doctor.tables.answers import Found, NoSuchRowError
    from doctor.tables.lookup import look_up
    from doctor.tables.store import TableError

    try:
        if args.table is None:
            rows = [{"table": table, "shows": words} for table, words in TABLES.items()]
            found = Found(rows, columns=("table", "shows"))
        else:
            found = look_up(Tables.bundled(), args.table, " ".join(args.key), args.package, args.platform)
    except NoSuchRowError as miss:
        raise UsageError(str(miss)) from miss
    except TableError as error:
        raise UnableError(str(error), "run `tfgpu-doctor tables refresh --undo`") from error
    with destination(args.output) as out:
        text = found.render(args.format)
        if args.format == "text":
            text = fold(text, columns_of(out) or (100 if found.single else 0))
        out.write(text + "\n")
    return 0
