"""Diagnoses several reports for `tfgpu-doctor explain`; all cores read them if there are many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.commands.explain import Answer, explained, progress_of

if TYPE_CHECKING:
    import argparse

    from doctor.inputs import Input
    from doctor.render import Options
    from doctor.render.progress import Progress

MANY = 32
"""If there are more reports than this, all cores read them."""
ALONE = 0.25
"""For this many seconds at the start, only this process reads reports: it compiles the patterns that most
reports need, before it starts other processes, which inherit them."""


def answers(
    inputs: Sequence[Input], options: Options, brief: bool, args: argparse.Namespace
) -> Iterator[Answer]:
    """Yield the answers in the order of the inputs. If there are many, all cores read them."""
    import os

    cores = os.cpu_count() or 1
    if len(inputs) <= MANY or cores == 1:
        for item in inputs:
            yield _safely(item, options, brief, progress_of(args))
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
        return explained(item, options, progress, brief=brief)
    except Exception as error:
        if os.environ.get("TFGPU_DOCTOR_TRACEBACK"):
            raise
        said = f"an internal error while reading `{item.name}`: {type(error).__name__}: {error}"[:400]
        return Answer(item.name, failed=True, defect=True, error=said)
