# ruff: noqa
# mypy: ignore-errors
# The first part of every child's program (Python 3.6 or later). The child dies with its parent, and prints
# JSON lines.
import ctypes
import json
import os
import sys
import threading
import time

COOKIE = sys.argv[1]
LINES = []
ARRIVED = threading.Condition()
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL (linux/prctl.h)
sys.path[:] = [entry for entry in sys.path if entry]  # not the current folder: its files may shadow modules


def say(stage, **answer):
    answer["stage"] = stage
    answer["at"] = time.time()
    sys.stdout.write(COOKIE + json.dumps(answer, default=str) + COOKIE + "\n")
    sys.stdout.flush()


def _listen():
    """Read lines from the parent; end this process when the parent closes stdin or no longer runs."""
    buffer = b""
    while True:
        data = os.read(0, 4096)
        if not data:
            os._exit(0)
        buffer += data
        while b"\n" in buffer:
            line, buffer = buffer.split(b"\n", 1)
            with ARRIVED:
                LINES.append(line.decode())
                ARRIVED.notify_all()


def heard():
    """Wait for the parent's next line, and return it."""
    with ARRIVED:
        while not LINES:
            ARRIVED.wait()
        return LINES.pop(0)


_thread = threading.Thread(target=_listen)
_thread.daemon = True
_thread.start()
