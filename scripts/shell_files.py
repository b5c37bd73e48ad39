"""Makes doctor/shell_files from the options of the commands: completion for bash, zsh and fish, and the
manual page.

    pip install shtab argparse-manpage
    python scripts/shell_files.py [FOLDER]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.cli import COMMANDS, GROUPS, filled  # noqa: E402
from doctor.commands.completion import FILES  # noqa: E402
from doctor.commands.tables import ACTIONS, TABLES  # noqa: E402
from doctor.commands.usage import Formatter  # noqa: E402
from doctor.rules import PLACES  # noqa: E402

FOLDER = ROOT / "doctor" / "shell_files"
PATHS = {"FILE": "FILE", "PATH": "FILE", "DIR": "DIRECTORY"}
"""Maps the metavar of an argument to the completion that shtab uses for it."""


class Wide(Formatter):
    """A help formatter that does not wrap lines, because the programs that display them do."""

    def __init__(self, prog: str, **options: object) -> None:
        super().__init__(prog, **{**options, "width": 10_000})


def parser() -> argparse.ArgumentParser:
    """Return one parser for all commands."""
    whole = argparse.ArgumentParser(
        "tfgpu-doctor",
        epilog=(
            "Exit codes: 0 no error found, 1 errors found, 2 wrong usage or unreadable input, 3 the task"
            " could not be done, 70 a defect in the tool."
        ),
        description=(
            "Finds out why TensorFlow does not use an NVIDIA GPU, shows the evidence, and prints the commands"
            " that fix it."
        ),
        formatter_class=Wide,
    )
    whole.add_argument("--version", action="store_true", help="print the version and the age of the tables")
    commands = whole.add_subparsers(metavar="COMMAND", title="commands")
    for name in (name for names in GROUPS.values() for name in names):
        line = COMMANDS[name]
        one = filled(
            commands.add_parser(
                name, help=line, description=f"{line[0].upper()}{line[1:]}.", formatter_class=Wide
            ),
            name,
        )
        for action in one._actions:
            if action.dest == "code":
                action.choices, action.metavar = sorted(PLACES), "CODE"
            elif action.dest == "table":
                action.choices = [*TABLES, *ACTIONS]
            elif action.choices is not None:
                action.choices = list(action.choices)
    return whole


def _completed(whole: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Mark every argument that shtab should complete with files or folders. Returns the parser."""
    import shtab

    (commands,) = (action for action in whole._actions if isinstance(action, argparse._SubParsersAction))
    for one in commands.choices.values():
        for action in one._actions:
            kind = PATHS.get(str(action.metavar)) or (
                "FILE" if action.dest in ("files", "inputs", "reports") else None
            )
            if kind and not action.choices:
                action.complete = getattr(shtab, kind)  # type: ignore[attr-defined]
    return whole


def _manual() -> str:
    from argparse_manpage.manpage import Manpage

    page = Manpage(parser())
    page.description = "why TensorFlow does not use an NVIDIA GPU"
    page.manual, page.date = "tfgpu-doctor", ""  # no date: the same options make the same page
    return re.sub(r"(?m)^'", r"\\&'", str(page))  # a quote at a line's beginning is a request to troff


def made() -> dict[str, str]:
    """Return the text of every file as a dictionary with the keys of FILES."""
    import shtab

    texts = {shell: shtab.complete(_completed(parser()), shell=shell) for shell in ("bash", "zsh", "fish")}
    return {
        name: "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
        for name, text in {**texts, "man": _manual()}.items()
    }


def main() -> None:
    """Write the files."""
    arguments = argparse.ArgumentParser(description="Write the completion files and the manual page.")
    arguments.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder = arguments.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made().items():
        (folder / FILES[name]).write_text(text, encoding="utf-8")
        print(f"{os.path.relpath(folder / FILES[name])} is written")


if __name__ == "__main__":
    main()
