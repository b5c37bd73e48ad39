"""Captures what this process writes to file descriptor 2, to which TensorFlow's C++ code prints."""

from __future__ import annotations

import os
import threading

HEAD, KEPT = 256 << 10, 1 << 20
"""The maximum number of bytes of output to keep: HEAD from its beginning, KEPT in total."""
WAIT = 0.5
"""Time limit, in seconds, for reading the rest of the pipe at the end of a cell."""


class Captured:
    """Captures file descriptor 2 while a cell runs. It passes all bytes on, and keeps the first and the last
    of them (HEAD and KEPT)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._head, self._tail = bytearray(), bytearray()
        self._saved = self._read = -1

    def start(self) -> None:
        """Replace the descriptor with a pipe. Raises OSError if that fails; the descriptor is then
        unchanged."""
        saved = os.dup(2)
        try:
            read, write = os.pipe()
        except OSError:
            os.close(saved)
            raise
        inherits = os.get_inheritable(2)
        os.dup2(write, 2, inheritable=inherits)
        os.close(write)
        self._saved, self._read, self._inherits = saved, read, inherits
        self._thread = threading.Thread(target=self._pass_on, name="tfgpu-doctor", daemon=True)
        self._thread.start()

    def _pass_on(self) -> None:
        """Read until all writers have closed the pipe. A program that a cell started in the background may
        keep writing for a long time."""
        import select

        while True:
            if os.name == "posix":
                poll = getattr(select, "poll", None)
                if poll is None:
                    select.select([self._read], [], [])
                else:
                    waiting = poll()
                    waiting.register(self._read, select.POLLIN)
                    waiting.poll()
            with self._lock:
                data = os.read(self._read, 65536)
                room = HEAD - len(self._head)
                self._head += data[: max(0, room)]
                self._tail += data[max(0, room) :]
                del self._tail[: -(KEPT - HEAD)]
                rest = memoryview(data)
                while rest:
                    try:
                        rest = rest[os.write(self._saved, rest) :]
                    except OSError:  # nobody reads the output any more; the cell must not fail for that
                        break
            if not data:
                break
        os.close(self._read)
        os.close(self._saved)

    def stop(self) -> str:
        """Restore the descriptor, and return the text that was kept."""
        os.dup2(self._saved, 2, inheritable=self._inherits)
        self._thread.join(0 if os.name == "posix" else WAIT)
        if self._thread.is_alive():
            self._drain()
        held = self._lock.acquire(timeout=WAIT)
        try:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        finally:
            if held:
                self._lock.release()

    def _drain(self) -> None:
        """Wait until the current content of the pipe is read. Do not wait for programs that may still
        write."""
        import time

        end = time.monotonic() + WAIT
        while self._thread.is_alive() and time.monotonic() < end:
            with self._lock:
                if self._thread.is_alive() and _unread(self._read) == 0:
                    return
            time.sleep(0.001)


def _unread(descriptor: int) -> int:
    """Return the number of unread bytes in a pipe; 0 if it is closed or unknown."""
    try:
        import array
        import fcntl
        import termios

        count = array.array("i", [0])
        fcntl.ioctl(descriptor, termios.FIONREAD, count)
        return count[0]
    except (ImportError, OSError):
        return 0
