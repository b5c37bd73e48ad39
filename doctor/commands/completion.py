"""`tfgpu-doctor completion`: print the completion file of a shell, or the manual page.

`python scripts/shell_files.py` makes these files from the options of the commands.
"""

from __future__ import annotations

import argparse

FORMATS = ("text",)
FILES = {
    "bash": "tfgpu-doctor.bash",
    "zsh": "_tfgpu-doctor",
    "fish": "tfgpu-doctor.fish",
    "man": "tfgpu-doctor.1",
}
EPILOG = """\
examples:
  eval "$(tfgpu-doctor completion bash)"                                for ~/.bashrc
  tfgpu-doctor completion zsh > ~/.zfunc/_tfgpu-doctor                  into a folder of $fpath
  tfgpu-doctor completion fish > ~/.config/fish/completions/tfgpu-doctor.fish
  tfgpu-doctor completion man > ~/.local/share/man/man1/tfgpu-doctor.1  then: man tfgpu-doctor"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `completion` to the parser."""
    parser.add_argument("shell", choices=FILES, help="the shell, or man for the manual page")


def run(args: argparse.Namespace) -> int:
    """Print the file for the chosen shell, or the manual page."""
    from doctor.render.output import write
    from doctor.resources import text

    write(args.output, text("doctor", f"shell_files/{FILES[args.shell]}"))
    return 0
