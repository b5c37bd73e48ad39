"""`tfgpu-doctor snippet`: print configuration code for a TensorFlow version."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from doctor.commands.numbers import whole
from doctor.commands.usage import suggestion
from doctor.errors import InputError, UsageError
from doctor.printable import as_json
from doctor.render.output import write

if TYPE_CHECKING:
    from doctor.remedies.snippets import Options, Snippet

FORMATS = ("text", "json", "markdown")
EPILOG = """\
examples:
  tfgpu-doctor snippet                           the list of snippets
  tfgpu-doctor snippet memory-growth
  tfgpu-doctor snippet memory-limit --gpus 0,1 --memory 2048 --tensorflow 2.15
  tfgpu-doctor snippet virtual-gpus --count 2 --memory 1024
  tfgpu-doctor snippet memory-limit --memory 40%
  tfgpu-doctor snippet cpu-only -q > use_cpu.py  only the code"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `snippet` to the parser."""
    parser.add_argument("name", nargs="?", help="the name of a snippet (default: list all)")
    parser.add_argument(
        "--gpus", type=_gpus, metavar="0,1", help="the GPUs' numbers in TensorFlow; `none` for no GPU"
    )
    parser.add_argument(
        "--memory",
        metavar="MIB",
        help="an amount of GPU memory: MiB (2048, 2GiB) or a part of the whole (40%%, 0.4)",
    )
    parser.add_argument(
        "--count", type=whole(1, 64), default=2, metavar="N", help="the number of logical GPUs (default: 2)"
    )
    parser.add_argument(
        "--tensorflow",
        metavar="V",
        help="write code for this release (default: the installed one)",
    )
    parser.add_argument("--python", metavar="ENV", help="the environment in which to look for TensorFlow")
    parser.add_argument(
        "--workers", metavar="HOST:PORT,...", default="", help="for multi-worker: all workers, in order"
    )
    parser.add_argument(
        "--index",
        type=int,
        default=0,
        metavar="N",
        help="for multi-worker: this machine's position in that list, from 0 (default: 0)",
    )


def _gpus(text: str) -> tuple[int, ...]:
    if text.strip().lower() in ("none", ""):
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts) or len(set(map(int, parts))) != len(parts):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a comma-separated list of distinct GPU numbers such as 0,1"
        )
    return tuple(int(part) for part in parts)


def run(args: argparse.Namespace) -> int:
    """Print the snippet, or the list, and return exit code 0. Raises UsageError for an unknown name or an
    invalid argument."""
    from doctor.remedies.snippets import SNIPPETS

    if args.name is None:
        write(args.output, _list(args))
        return 0
    if args.name not in SNIPPETS:
        raise UsageError(
            f"there is no snippet `{args.name}`",
            suggestion(args.name, SNIPPETS, "`tfgpu-doctor snippet` lists all snippets"),
        )
    options, origin = _requested(args)
    snippet = SNIPPETS[args.name](options)
    if args.format == "json":
        answer = _json(snippet, options, origin)
    elif args.format == "markdown":
        answer = _markdown(snippet, options)
    else:
        answer = _text(snippet, options, origin, args)
    write(args.output, answer)
    return 0


def _requested(args: argparse.Namespace) -> tuple[Options, str]:
    """Return the options of the requested snippet, and where its TensorFlow release comes from."""
    from doctor.remedies.snippets import Options

    mib, fraction = _memory(args.memory)
    version, origin = args.tensorflow, "--tensorflow"
    if version is not None and not version[:1].isdecimal():
        raise UsageError(f"{version!r} is not a TensorFlow release such as 2.15 or 1.15.5")
    if version is None:
        version, origin = installed(args.python)
    else:
        _known(version, quiet=args.quiet)
    workers = tuple(part.strip() for part in args.workers.split(",") if part.strip())
    if not 0 <= args.index < max(len(workers), 2):
        raise UsageError(
            f"--index {args.index} is not a position in a list of {max(len(workers), 2)} workers"
        )
    return Options(version, args.gpus, mib, fraction, args.count, workers, args.index), origin


def _known(version: str, *, quiet: bool) -> None:
    """If the tables do not contain the release, print a warning that names the releases that the code is
    for."""
    import re

    from doctor.plan.version_request import VersionRequest, check
    from doctor.printable import say
    from doctor.remedies.code import era_name
    from doctor.tables import Tables

    number = re.match(r"\d+(?:\.\d+)*", version)
    try:
        check(VersionRequest(number[0] if number else ""), Tables.bundled())
    except UsageError as error:
        if not quiet:
            say(f"{error}. The code is for {era_name(version)}.")


def _memory(text: str | None) -> tuple[int | None, float | None]:
    """Return the value of --memory as (MiB, None) or (None, fraction), or (None, None) without a value.
    Raises UsageError for any other text."""
    import re

    if text is None:
        return None, None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%|[kmgt]?i?b?)", text.strip().lower())
    if match:
        number, unit = float(match[1]), match[2]
        if (unit == "%" and 0 < number <= 100) or (unit == "" and 0 < number < 1):
            return None, number / 100 if unit == "%" else number
        mib = number * {"": 1, "m": 1, "g": 1024}.get(unit[:1], 0)
        if unit != "%" and mib >= 1 and mib == int(mib):
            return int(mib), None
    raise UsageError(f"--memory {text}: neither MiB (2048, 2GiB) nor a part of the GPU's memory (40%, 0.4)")


def installed(python: str | None) -> tuple[str | None, str]:
    """Return the version of TensorFlow in the environment in use, read from its files, and a text that says
    where it is. Without TensorFlow, the version is None and the text says so.

    Raises InputError if `python` is not an environment.
    """
    from doctor.simulate.libraries import find_interpreter, find_tensorflow

    try:
        interpreter = find_interpreter(python, ())
    except UsageError as error:
        raise InputError(str(error)) from error
    build = find_tensorflow(interpreter) if interpreter else None
    if build is None:
        return None, "no TensorFlow in the environment in use: written for a current release"
    return build.version, f"{build.package} in {build.site_packages}"


def _list(args: argparse.Namespace) -> str:
    from doctor.remedies.snippets import SNIPPETS, Options

    rows = [(name, make(Options()).title) for name, make in SNIPPETS.items()]
    if args.format == "json":
        names = [{"name": name, "title": title} for name, title in rows]
        return as_json({"schema": 1, "snippets": names}) + "\n"
    from doctor.render.fold import columns_of, fold

    return fold("".join(f"{name:<16}  {title}\n" for name, title in rows), columns_of(sys.stdout))


def _json(snippet: Snippet, options: Options, origin: str) -> str:
    from doctor import __version__
    from doctor.remedies import code

    document: dict[str, Any] = {
        "schema": 1,
        "tool": {"name": "tfgpu-doctor", "version": __version__},
        "name": snippet.name,
        "title": snippet.title,
        "tensorflow": options.tensorflow,
        "tensorflow_from": origin,
        "era": code.era_name(options.tensorflow),
        "code": snippet.code,
        "where": snippet.where,
        "environment": dict(snippet.environment),
        "notes": list(snippet.notes),
    }
    return as_json(document, indent=1) + "\n"


def _text(snippet: Snippet, options: Options, origin: str, args: argparse.Namespace) -> str:
    """Return the answer as code that can be pasted whole: all explanations are comments."""
    from doctor.remedies import code
    from doctor.render.fold import columns_of
    from doctor.render.wrap import hanging

    if args.quiet:
        return snippet.code + "\n"
    width = columns_of(sys.stdout) or 100

    def comment(text: str) -> str:
        return "\n".join(hanging(text, width, "# ", "#   ")) + "\n"

    out = comment(f"{snippet.name}: {snippet.title}. {code.era_name(options.tensorflow)}")
    if args.tensorflow is None:
        out += comment(f"TensorFlow {options.tensorflow}, from {origin}" if options.tensorflow else origin)
    out += comment(f"Where: {snippet.where}") + "\n" + snippet.code + "\n"
    if snippet.environment or snippet.notes:
        out += "\n"
    if snippet.environment:
        out += comment(f"Or without a change to the program: {_started(snippet)}")
    return out + "".join(comment(note) for note in snippet.notes)


def _started(snippet: Snippet) -> str:
    """Return a command that starts a program with the snippet's environment variables."""
    variables = " ".join(f"{name}={value}" for name, value in snippet.environment)
    return f"{variables} python YOUR_PROGRAM.py"


def _markdown(snippet: Snippet, options: Options) -> str:
    from doctor.remedies import code

    out = f"### {snippet.name}: {snippet.title}\n\n{code.era_name(options.tensorflow)}. {snippet.where}\n\n"
    out += f"```python\n{snippet.code}\n```\n"
    if snippet.environment:
        out += f"\nOr without a change to the program:\n\n```sh\n{_started(snippet)}\n```\n"
    return out + "".join(f"\n- {note}" for note in snippet.notes) + "\n"
