"""The command line: runs the command and returns the exit code. No other module decides how the process ends.

Exit codes: 0 no finding of severity error, 1 at least one, 2 wrong options or unreadable input, 3 the tool
could not do what was requested, 70 a defect of the tool itself, 130 interrupted.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from doctor import __version__

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import TypeVar

    Parsed = TypeVar("Parsed", bound=argparse.ArgumentParser)

COMMANDS = {
    "check": "diagnose this machine and the Python environment in use (the default)",
    "explain": "diagnose pasted reports: logs, tracebacks, pip and nvidia-smi output, whole issues",
    "plan": "before installing, find which TensorFlow, Python, CUDA, cuDNN and driver work together",
    "install": "install a plan in a new environment, test it, and remove it if the test fails",
    "reproduce": "cause a failure on purpose, then show which settings fix it",
    "snippet": "print configuration code for a TensorFlow version",
    "simulate": "run a command, even with real TensorFlow, on a simulated GPU",
    "devices": "show the GPUs, who uses them, and what a CUDA_VISIBLE_DEVICES value does",
    "fleet": "check many nodes (ssh, Slurm, Ray, Kubernetes) and say which differ",
    "bench": "measure at which problem sizes the GPU is faster than the CPU",
    "tables": "look up releases, drivers, GPUs and libraries in the compatibility tables",
    "mcp": "answer the requests of an AI assistant (Model Context Protocol)",
    "completion": "print completion for bash, zsh and fish, or the manual page",
    "serve": "serve a web page on this machine: paste logs, plan, look things up",
    "code": "explain a finding code; without a code, list all",
}
"""Each command with its description in --help. Its module, doctor.commands.NAME, is imported only if the
command is used."""

FORMATS = ("text", "json", "markdown", "html")
GROUPS = {
    "find the fault": ("check", "explain", "devices", "fleet", "code"),
    "install": ("plan", "install", "snippet", "tables"),
    "try it out": ("simulate", "reproduce", "bench"),
    "in other programs": ("serve", "mcp", "completion"),
}
"""The commands, grouped as --help shows them."""

UNABLE = 3
DEFECT = 70
INTERRUPTED = 130
ISSUES = "the issue tracker of tfgpu-doctor"


def _module(name: str) -> Any:
    """Import and return the module of a command."""
    import importlib

    return importlib.import_module(f"doctor.commands.{name}")


def shared_options(parser: argparse.ArgumentParser, forms: Sequence[str] = FORMATS) -> None:
    """Add the options that every command shares. forms: the values of --format."""
    group = parser.add_argument_group("output")
    if len(forms) > 1:
        group.add_argument(
            "--format",
            choices=forms,
            default="text",
            help="the format of the answer (default: text). User and host names are removed, except from text"
            " on a terminal or in a pipe",
        )
    group.add_argument("--output", metavar="FILE", help="write the answer to this file")
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="when to use colours (default: auto, which respects NO_COLOR)",
    )
    group.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="also show where each fact comes from and what was not examined",
    )
    group.add_argument("-q", "--quiet", action="store_true", help="show no progress and no hints")
    group.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 even if a finding has severity error"
    )


def _arguments(name: str, words: Sequence[str]) -> argparse.Namespace:
    """Return the arguments of one command. Ends the process after --help and for wrong arguments."""
    from doctor.commands.plain import Plain

    plain: Any = Plain()
    simple: argparse.Namespace | None = filled(plain, name).read(words)
    return _parser(name).parse_args(words) if simple is None else simple


def _parser(name: str) -> argparse.ArgumentParser:
    """Return the argument parser for one command."""
    from doctor.commands.usage import Formatter, Parser

    description = f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}."
    parser = Parser(prog=f"tfgpu-doctor {name}", description=description, formatter_class=Formatter)
    return filled(parser, name)


def filled(parser: Parsed, name: str) -> Parsed:
    """Add a command's options and examples to a parser, and return the parser."""
    module = _module(name)
    parser.epilog = module.EPILOG
    module.add_arguments(parser)
    shared_options(parser, getattr(module, "FORMATS", FORMATS))
    return parser


def _overview() -> str:
    lines = [
        "usage: tfgpu-doctor [COMMAND] [OPTIONS]",
        "",
        "Finds out why TensorFlow does not use an NVIDIA GPU, shows the evidence,",
        "and prints the commands that fix it.",
    ]
    for group, names in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {name:<11} {COMMANDS[name]}" for name in names)]
    lines += [
        "",
        "options:",
        "  --format text|json|markdown|html   the format of the answer",
        "  --output FILE                      write the answer to this file",
        "  --color auto|always|never          when to use colours (NO_COLOR is respected)",
        "  -v, --verbose    -q, --quiet       print more, or less",
        "  --exit-zero                        exit with 0 even if there are errors",
        "  --version    -h, --help",
        "",
        "`tfgpu-doctor COMMAND --help` lists all options. Exit codes: 0 no error found, 1 errors found,",
        "2 wrong options or unreadable input, 3 could not do what was requested, 70 a defect of the tool,",
        "130 interrupted.",
    ]
    return "\n".join(lines)


def _version() -> str:
    from doctor.tables import Tables

    return f"tfgpu-doctor {__version__} (tables of {Tables.bundled().date})"


def _complain(message: str, hint: str = "") -> None:
    from doctor.printable import complain

    complain(message, hint)


def _split(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the command and its arguments. Without a command, the name is `check`. Raises
    LookupError, with the word, if the first argument is neither a command nor an option."""
    arguments = list(argv)
    for i, word in enumerate(arguments):
        if word in COMMANDS:
            return word, arguments[:i] + arguments[i + 1 :]
        if not word.startswith("-") or word == "--":
            break
    if arguments and (arguments[0] == "-" or not arguments[0].startswith("-")):
        raise LookupError(arguments[0])
    return "check", arguments


def _instead_of(word: str) -> str:
    """Return a hint that says what to type instead of a word that is not a command."""
    import shlex
    from pathlib import Path

    from doctor.commands.usage import suggestion

    if word == "-" or Path(word).exists() or word.startswith(("https://", "http://")):
        return f"to diagnose it, run `tfgpu-doctor explain {shlex.quote(word)}`"
    return suggestion(word, COMMANDS, "`tfgpu-doctor --help` lists the commands")


def run(argv: Sequence[str]) -> int:
    """Run one command, and print its errors. Returns the exit code."""
    from doctor.errors import CommandError, DefectError

    if argv and argv[0] in ("-h", "--help", "help") and len(argv) == 1:
        from doctor.render.fold import columns_of, fold

        print(fold(_overview(), columns_of(sys.stdout), paragraphs=True))
        return 0
    if argv and argv[0] in ("--version", "-V"):
        print(_version())
        return 0
    try:
        name, arguments = _split(argv)
    except LookupError as error:
        word = str(error.args[0])
        _complain(f"there is no command `{word}`", _instead_of(word))
        return 2
    args = _arguments(name, arguments)
    try:
        code: int = _module(name).run(args)
    except DefectError:
        raise
    except CommandError as error:
        _complain(str(error), "" if args.quiet else error.hint)
        return error.exit_code
    return 0 if code == 1 and args.exit_zero else code


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code. An error becomes one line, and a traceback only if
    TFGPU_DOCTOR_TRACEBACK is set."""
    from doctor.errors import CommandError

    if "doctor.processes" in sys.modules:  # an earlier call in this process was interrupted
        sys.modules["doctor.processes"].resume()
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a legacy code page may lack letters; replace them
            stream.reconfigure(errors="replace")
    try:
        code = run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        if "doctor.processes" in sys.modules:  # a thread may be about to start a program
            sys.modules["doctor.processes"].stop()
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except RecursionError:
        _complain("the input is nested too deeply", "pass only the part that matters")
        return 2
    except MemoryError:
        _complain("there is not enough memory", "pass a smaller input, or free memory")
        return UNABLE
    except Exception as error:
        if os.environ.get("TFGPU_DOCTOR_TRACEBACK"):
            raise
        if isinstance(error, OSError):  # caused by the machine: a full disk, an unreadable file
            return _os_error(error)
        if isinstance(error, ModuleNotFoundError) and not (error.name or "doctor").startswith("doctor"):
            _complain(f"the Python package `{error.name}` is not installed", "reinstall tfgpu-doctor")
            return UNABLE
        return _defect(str(error) if isinstance(error, CommandError) else f"{type(error).__name__}: {error}")


class _Closed(io.TextIOBase):
    """Replaces a standard output that was closed before this program started (`>&-`). Writing to it raises
    OSError with that reason."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed", "standard output")


def _open_streams() -> None:
    """Reopen closed standard streams, so that the next opened file does not get their descriptor."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 it stays open until the end


def _silence_stdout() -> None:
    """Redirect standard output to the null device, so that Python's flush at exit does not fail."""
    try:  # noqa: SIM105
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # it has no descriptor, so nothing is flushed
        pass


def _os_error(error: OSError) -> int:
    """Print an error that the machine caused, such as a full disk, and a hint. Returns the exit code."""
    what = error.filename or "standard output"
    if error.filename is None or isinstance(sys.stdout, _Closed):
        _silence_stdout()
    reason = error.strerror or str(error) or type(error).__name__
    hint = (
        "write the answer to a file with --output FILE"
        if what == "standard output"
        else "to see where the error occurred, set TFGPU_DOCTOR_TRACEBACK=1"
    )
    _complain(f"cannot continue: `{what}`: {reason}", hint)
    return UNABLE


def _defect(what: str) -> int:
    _complain(
        f"an internal error in tfgpu-doctor: {what}"[:400],
        f"please report it to {ISSUES}, with the output of the same command after you set"
        " TFGPU_DOCTOR_TRACEBACK=1",
    )
    return DEFECT


def entry() -> NoReturn:
    """Run the command line, and end the process with the exit code.

    Frequent garbage collection takes a twentieth of the time of a short process, and the collection at its
    end a tenth. Both free little.
    """
    gc.set_threshold(100_000, 20, 20)
    code = main()
    gc.freeze()
    sys.exit(code)
