"""How an answer looks, as plain values (they are sent to other processes)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    import argparse


class Options(NamedTuple):
    """format: text, json, markdown or html. width: columns of prose. symbols: the encoding has more than
    ASCII.

    shared: text goes to a file, which may be handed on (every other format is made for that). trace: what was
    decided on the way to the verdict follows. node: what `fleet` calls the machine, "" for none.
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
        """From the command line and the stream that is written to."""
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
    """Whether what is written to the stream stays in a file."""
    import os
    import stat

    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):  # a stream of text in memory, a closed one
        return False
