"""The options for the form of an answer, as plain values, because they are sent to other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from doctor.values import dataclass

if TYPE_CHECKING:
    import argparse


@dataclass(frozen=True, slots=True)
class Options:
    """The options for the form of an answer.

    format: text, json, markdown or html. colour: write terminal escapes. width: columns for prose. symbols:
    whether the output's encoding contains more than ASCII. shared: redact names in text, because it goes to a
    file (in the other formats they are always redacted). trace: show the decisions that led to the verdict.
    node: the name of the machine in `fleet`, "" for none.
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
        """Return the options for the arguments of a command and the stream to write to."""
        trace: bool = getattr(args, "trace", False)
        encoding = getattr(stream, "encoding", None) or "utf-8"
        if args.format != "text":
            node: str = getattr(args, "node", None) or ""
            symbols = encoding.lower().startswith("utf")
            return cls(
                args.format, verbose=args.verbose, quiet=args.quiet, symbols=symbols, trace=trace, node=node
            )
        from doctor.render.symbols import has_symbols, wants_colour
        from doctor.render.width import width_of

        return cls(
            "text",
            wants_colour(stream, args.color),
            width_of(stream),
            args.verbose,
            args.quiet,
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
