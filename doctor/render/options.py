"""The options for the form of an answer, as plain values, because they are sent to other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from doctor.values import dataclass

if TYPE_CHECKING:
    import argparse


@dataclass(frozen=True, slots=True)
class Options:
    """The options for the form of an answer.

    format: text, json, markdown or html. width: columns for prose. symbols: whether the encoding has more
    than ASCII.

    shared: redact text, because it goes to a file (the other formats are always redacted). trace: show the
    decisions that led to the verdict. node: the name of the machine in `fleet`, "" for none.
    """

    format: str = "text"
    colour: bool = False
    width: int = 80
    verbose: int = 0
    quiet: bool = False
    symbols: bool = True
    shared: bool = False
    trace: bool = False
    node: str = ""

    @classmethod
    def of(cls, args: argparse.Namespace, stream: TextIO) -> Options:
        """The options from the command line and the output stream."""
        form = getattr(args, "format", "text")
        verbose, quiet = int(getattr(args, "verbose", 0) or 0), bool(getattr(args, "quiet", False))
        trace = bool(getattr(args, "trace", False))
        encoding = getattr(stream, "encoding", None) or "utf-8"
        if form != "text":
            node = str(getattr(args, "node", None) or "")
            symbols = encoding.lower().startswith("utf")
            return cls(form, verbose=verbose, quiet=quiet, symbols=symbols, trace=trace, node=node)
        from doctor.render.symbols import has_symbols, wants_colour
        from doctor.render.width import width_of

        colour = wants_colour(stream, getattr(args, "color", "auto"))
        return cls(
            form,
            colour,
            width_of(stream),
            verbose,
            quiet,
            has_symbols(encoding),
            is_file(stream),
            trace,
        )


def is_file(stream: TextIO) -> bool:
    """Whether the stream writes to a file."""
    import os
    import stat

    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):  # a text stream in memory, or a closed stream
        return False
