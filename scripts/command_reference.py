"""Writes docs/reference.md, which contains the help of every command as `tfgpu-doctor COMMAND --help` prints
it.

    python scripts/command_reference.py [FILE]

Run this script with Python 3.11 or 3.12 after changing an option; other versions of argparse format help
differently. tests/completion fails if the page is out of date.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.cli import COMMANDS, GROUPS, _overview, _parser  # noqa: E402

FILE = ROOT / "docs" / "reference.md"
HEAD = """# Command reference

Made from `--help` by `python scripts/command_reference.py`; do not edit it by hand.
`tfgpu-doctor code` lists the finding codes; `doctor/render/schema.json` describes the JSON output.
"""


def made() -> str:
    """Return the text of the page: the overview, then each command in the same order."""
    os.environ["COLUMNS"] = "100"
    parts = [HEAD, f"```text\n{_overview().rstrip()}\n```\n"]
    for name in (name for names in GROUPS.values() for name in names):
        parts.append(f"## {name}\n\n{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.\n")
        parts.append(f"```text\n{_help(name)}\n```\n")
    return "\n".join(parts)


def _help(name: str) -> str:
    """Return the help of one command without its first sentence, which the page shows above it."""
    parser = _parser(name)
    parser.description = None
    return "\n".join(line.rstrip() for line in parser.format_help().rstrip().splitlines())


def main() -> None:
    """Write the page."""
    arguments = argparse.ArgumentParser(description="Write the command reference.")
    arguments.add_argument("file", nargs="?", type=Path, default=FILE)
    arguments.parse_args().file.write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main()
