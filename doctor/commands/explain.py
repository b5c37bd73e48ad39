"""`tfgpu-doctor explain`: diagnose each of the given reports (logs, issues, tool output)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
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

MANY = 32
"""If there are more reports than this, all cores read them."""
EMPTY_HINT = "did the program print anything? 2>&1 also captures standard error"
ALONE = 0.25
"""For this many seconds at the start, only this process reads reports: it compiles the patterns that most
reports need, before it starts other processes, which inherit them."""


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
        help="also show for each code whether its rule fired, what stopped it, or that it was not considered",
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
        only = _explained(inputs[0], render.Options.of(args, sys.stdout), _progress(args))
        if only.failed:
            raise InputError(only.error, only.hint)
    with destination(args.output) as stream:
        options = render.Options.of(args, stream)
        before, between, after = render.around(options)
        for answer in [only] if only else _answers(inputs, options, summary is not None, args):
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


def _progress(args: argparse.Namespace) -> Progress:
    from doctor.render.progress import Progress

    return Progress("MB", quiet=args.quiet, scale=1_000_000)


def _explained(
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


# --- many reports ------------------------------------------------------------------------------------


def _answers(
    inputs: Sequence[Input], options: Options, brief: bool, args: argparse.Namespace
) -> Iterator[Answer]:
    """Yield the answers in the order of the inputs. If there are many, all cores read them."""
    import os

    cores = os.cpu_count() or 1
    if len(inputs) <= MANY or cores == 1:
        for item in inputs:
            yield _safely(item, options, brief, _progress(args))
        return
    from functools import partial

    from doctor.render.progress import Progress

    progress = Progress("reports", len(inputs), quiet=args.quiet)
    for answer in _on_all_cores(partial(_safely, options=options, brief=brief), inputs, cores):
        progress()
        if answer.failed or not args.output:
            progress.end()
        yield answer
    progress.end()


def _on_all_cores(work: Callable[[Input], Answer], inputs: Sequence[Input], cores: int) -> Iterator[Answer]:
    """Yield the result of `work` for each input, in the order of the inputs.

    This process reads the first inputs before it starts the others, so that whatever all of them need is
    loaded and compiled only once.
    """
    import gc
    from time import monotonic

    from doctor.logs.large import pooled

    end = monotonic() + ALONE
    here = 0
    for here, item in enumerate(inputs, 1):
        yield work(item)
        if here == MANY or monotonic() > end:
            break
    rest = inputs[here:]
    if not rest:
        return
    gc.freeze()  # objects that exist now live to the end, so the collector need not examine them again
    with pooled().Pool(cores, _quiet) as pool:
        yield from pool.imap(work, rest, chunksize=max(1, min(128, len(rest) // (cores * 4))))


def _quiet() -> None:
    """Ignore Ctrl-C in a child process; the parent handles it and ends its children."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _safely(item: Input, options: Options, brief: bool, progress: Progress | None = None) -> Answer:
    """Return the answer for one of many inputs. An internal error becomes a failed answer, and the other
    inputs are still read."""
    import os

    try:
        return _explained(item, options, progress, brief=brief)
    except Exception as error:
        if os.environ.get("TFGPU_DOCTOR_TRACEBACK"):
            raise
        said = f"an internal error while reading `{item.name}`: {type(error).__name__}: {error}"[:400]
        return Answer(item.name, failed=True, defect=True, error=said)
