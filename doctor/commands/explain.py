"""`tfgpu-doctor explain`: diagnose each of the given reports (logs, issues, tool output)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from doctor.errors import DefectError, InputError

if TYPE_CHECKING:
    import argparse

    from doctor.inputs import Input
    from doctor.render import Options
    from doctor.render.progress import Progress

EPILOG = """\
examples:
  tfgpu-doctor explain train.log         a log, traceback, issue, notebook, pip or nvidia-smi output
  python train.py 2>&1 | tfgpu-doctor explain -
  tfgpu-doctor explain logs/ more/*.txt  all text files in a folder, and other files
  tfgpu-doctor explain https://github.com/OWNER/REPO/issues/1234 --comments
  tfgpu-doctor explain logs/ --summary   how often each cause occurs

Files may have any size: of a file above one megabyte, only the lines that can matter are examined.
With --format json, the answer for each report is one line.
Requests to GitHub use the token in GITHUB_TOKEN or GH_TOKEN if one is set."""

EMPTY_HINT = "did the program print anything? 2>&1 also captures standard error"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `explain` to the parser."""
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="FILE",
        help="file, folder, URL (http, https), or - for standard input",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="also show for each code what its rule found, what stopped it, or that it was not considered",
    )
    parser.add_argument(
        "--summary", action="store_true", help="print only a table that says how often each cause occurs"
    )
    parser.add_argument(
        "--comments", action="store_true", help="with the URL of an issue: also read its comments"
    )


class Answer(NamedTuple):
    """The result for one input: an answer with its verdict, or the reason why there is none.

    text: the answer in the requested format. severity: the highest among its findings. code, title: those of
    the verdict, or "" for a file in a folder that contains no text. defect: whether the tool itself failed.
    """

    name: str
    text: str = ""
    severity: str = ""
    code: str = ""
    title: str = ""
    failed: bool = False
    defect: bool = False
    error: str = ""
    hint: str = ""


def run(args: argparse.Namespace) -> int:
    """Diagnose each input and print the answers.

    Returns exit code 0; 1 if a finding is an error; 2 if an input could not be read; 70 if the tool itself
    failed on an input. Raises InputError (or DefectError) if no input could be read, UnableError if --output
    cannot be written.
    """
    from doctor import render
    from doctor.inputs import expand
    from doctor.printable import complain
    from doctor.render.output import destination

    inputs = list(expand(args.inputs or ["-"], comments=args.comments))
    summary = None
    if args.summary:
        from doctor.render import summary as summaries

        summary = summaries.Summary()
    failed = read = defects = worst = 0
    only = None
    if len(inputs) == 1 and summary is None and not args.output:  # if the only input fails, write nothing
        only = explained(inputs[0], render.Options.of(args, sys.stdout), progress_of(args))
        if only.failed:
            raise InputError(only.error, only.hint)
    with destination(args.output) as stream:
        options = render.Options.of(args, stream)
        before, between, after = render.around(options)
        if only is None:
            from doctor.commands.explain_many import answers

            every = answers(inputs, options, summary is not None, args)
        else:
            every = iter((only,))
        for answer in every:
            defects += answer.defect
            if answer.failed:
                failed += 1
                complain(answer.error, "" if args.quiet else answer.hint)
                continue
            if not answer.code:
                continue
            if summary is not None:
                summary.add(answer.code, answer.severity, answer.title, answer.name)
            else:
                stream.write((between if read else before) + answer.text)
            read += 1
            worst = max(worst, answer.severity == "error")
        if not read and failed:
            error = DefectError if defects else InputError
            raise error(f"none of the {failed} inputs could be read" if failed > 1 else "nothing was read")
        if not read:
            raise InputError(
                "the files contain no text", "pass text files, or a folder that contains text files"
            )
        if summary is not None:
            summary.unreadable = failed
            stream.write(before + summaries.show(summary, options))
        stream.write(after)
    return DefectError.exit_code if defects else 2 if failed else worst


def progress_of(args: argparse.Namespace) -> Progress:
    """Return the display of how much of the input was read."""
    from doctor.render.progress import Progress

    return Progress("MB", quiet=args.quiet, scale=1_000_000)


def explained(
    item: Input, options: Options, progress: Progress | None = None, *, brief: bool = False
) -> Answer:
    """Return the answer for one input. brief: leave its text empty."""
    from doctor import api
    from doctor.errors import CommandError
    from doctor.inputs import opened
    from doctor.logs import NotText
    from doctor.render import rendered

    _invite(item, options)
    try:
        with opened(item) as stream:
            diagnosis = api.explain(stream, item.name, progress=progress, processes=True).diagnosis
    except DefectError:
        raise
    except CommandError as error:
        hint = error.hint
        if isinstance(error.__cause__, NotText):
            if item.listed:
                return Answer(item.name)
            is_empty = str(error.__cause__) == "empty"
            hint = EMPTY_HINT if is_empty else "pass a text file"
        return Answer(item.name, failed=True, error=str(error), hint=hint)
    except (OSError, EOFError) as error:  # a file that has disappeared from its folder, a damaged archive
        reason = getattr(error, "strerror", None) or str(error)
        return Answer(item.name, failed=True, error=f"cannot read `{item.name}`: {reason}")
    finally:
        if progress is not None:
            progress.end()
    verdict = diagnosis.verdict
    text = "" if brief else rendered(diagnosis, options)
    return Answer(item.name, text, diagnosis.worst, verdict.code, verdict.title)


def _invite(item: Input, options: Options) -> None:
    """If the tool waits for text from a terminal, print what the user has to do."""
    if item.name == "-" and sys.stdin is not None and sys.stdin.isatty() and not options.quiet:
        from doctor.printable import say

        say("Paste the report, then press Ctrl-D (Ctrl-Z and Enter on Windows).")
