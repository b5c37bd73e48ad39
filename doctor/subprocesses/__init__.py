"""Child processes for work that may hang, crash or print endlessly. They have limits, are controlled by
lines of text, and are never left behind.

A child's program is this package's guard (_guard.py) followed by a caller's script; Python runs the joined
text with `-c`. The child dies with its parent: the kernel kills it (Linux, PR_SET_PDEATHSIG), and it ends
itself when its stdin closes.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from doctor import processes, resources

OUTPUT_LIMIT = 4 << 20
"""The largest size in bytes of a child's log. A child that exceeds it is ended, because an allocator that
retries can write gigabytes."""
PATIENCE = 5.0
"""Seconds between asking a child to end and killing it."""


class ChildError(Exception):
    """A child did not answer correctly; the message says how it ended."""


def program(package: str, name: str) -> str:
    """The guard and the script `name` of `package`, joined into one program."""
    return resources.text("doctor.subprocesses", "_guard.py") + resources.text(package, name)


class Child:
    """A running child. Use it as a context manager: after the block the process no longer runs, whatever
    happened."""

    def __init__(
        self,
        python: str,
        text: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        limit: int = OUTPUT_LIMIT,
    ) -> None:
        """Start the child process. limit: the largest total size of its answers in bytes; a child that
        exceeds it is killed."""
        self._limit = limit
        self._cookie = secrets.token_hex(16)
        with processes.starting():
            self.process = subprocess.Popen(
                [python, "-B", "-c", text, self._cookie, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**environment, "PYTHONUNBUFFERED": "1"},
                **processes.options(),
            )
            processes.hold(self.process)
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._log: list[bytes] = []
        self._exceeded = 0
        """The limit in bytes that the child exceeded; 0 if it has exceeded none."""
        self._readers = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        try:
            for reader in self._readers:
                reader.start()
        except BaseException:  # for example Ctrl-C: no `with` block can end this child yet
            self._kill()
            processes.release(self.process)
            raise

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def _read_answers(self) -> None:
        assert self.process.stdout is not None
        size = 0
        with contextlib.suppress(ValueError, OSError):
            for line in iter(lambda: self.process.stdout.readline(1 << 20), b""):  # type: ignore[union-attr]
                size += len(line)
                if size > self._limit:
                    self._flood(self._limit)
                    break
                pieces = line.decode("utf-8", "replace").split(self._cookie)
                for piece in pieces[1::2]:
                    with contextlib.suppress(ValueError):
                        self._said.put(json.loads(piece))
        self._said.put(None)

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        size = 0
        with contextlib.suppress(ValueError, OSError):
            while data := os.read(self.process.stderr.fileno(), 1 << 16):
                if size < OUTPUT_LIMIT:
                    self._log.append(data)
                size += len(data)
                if size > OUTPUT_LIMIT and not self._exceeded:
                    self._flood(OUTPUT_LIMIT)

    def _flood(self, limit: int) -> None:
        """Kill the child because it exceeded this limit in bytes."""
        self._exceeded = limit
        self._kill()

    @property
    def log(self) -> str:
        """The child's output on stderr so far."""
        return b"".join(self._log).decode("utf-8", "replace")

    def answers(self, deadline: float) -> Iterator[dict[str, Any]]:
        """Yield the child's answers, one object after another, until it ends.

        deadline: a time on the clock of time.monotonic(). Raises ChildError when the deadline passes.
        """
        while True:
            try:
                answer = self._said.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self._kill()
                raise ChildError("no answer within the time limit") from None
            if answer is None:
                return
            yield answer

    def wait_for(self, stage: str, deadline: float) -> dict[str, Any]:
        """The next answer with this stage; others are dropped. Raises ChildError if the child ends before
        that."""
        for answer in self.answers(deadline):
            if answer.get("stage") == stage:
                return answer
        raise ChildError(self.how_it_ended())

    def tell(self, line: str) -> None:
        """Send a line to the child; do nothing if it has ended."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()

    def how_it_ended(self) -> str:
        """A description of how the child ended: status or signal, and the last line of its log."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(1)
        if self._exceeded:
            return f"its output exceeded {self._exceeded >> 20} MiB"
        status = self.process.returncode
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        last = f": {lines[-1][:300]}" if lines else ""
        if status is None:
            return "it did not end"
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"killed by {signal.Signals(-status).name}{last}"
        return f"ended with status {status}{last}"

    def end(self) -> None:
        """Close the child's stdin so that it ends, and kill it if it does not end. Ctrl-C does not prevent
        this."""
        interrupted = False
        with contextlib.suppress(OSError, ValueError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        except KeyboardInterrupt:
            interrupted = True
        self._kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        processes.release(self.process)
        for reader in self._readers:
            reader.join(1)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None and not any(reader.is_alive() for reader in self._readers):
                stream.close()
        if interrupted:
            raise KeyboardInterrupt

    def _kill(self) -> None:
        """Kill the child and its process group; processes that left the group are killed when the child is
        released."""
        processes.kill(self.process)
