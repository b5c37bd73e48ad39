"""`tfgpu-doctor serve`: serve the web page from this machine. This page can also check the machine."""

from __future__ import annotations

import argparse
import os
import sys

from doctor.errors import UnableError, UsageError

EPILOG = """\
examples:
  tfgpu-doctor serve              prints the URL of the page, and opens it if there is a display
  tfgpu-doctor serve --port 8080  uses this port

Only programs on this machine that know the URL can reach the page. To open it on another machine, first run
`ssh -L 8080:127.0.0.1:8080 HOST` there. Ctrl-C ends the command."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serve` to the parser."""
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="the port to listen on (default: any free port)"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the URL of the page")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Raises UsageError for an invalid port, UnableError if the port is not available."""
    if not 0 <= args.port < 1 << 16:
        raise UsageError(f"--port {args.port}: a port is a number from 0 to 65535")
    from doctor.site.server import Server

    try:
        server = Server(args.port)
    except OSError as error:
        raise UnableError(
            f"cannot listen on port {args.port}: {error.strerror}", "leave out --port to use any free port"
        ) from error
    with server:
        try:
            print(server.address, flush=True)
            if not args.no_browser and _has_screen():
                import webbrowser

                webbrowser.open(server.address)
            server.serve_forever()
        except KeyboardInterrupt:  # the normal end
            return 0
    return 0


def _has_screen() -> bool:
    """Whether a browser would open in its own window, and not in this terminal."""
    return sys.platform in ("win32", "darwin") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
