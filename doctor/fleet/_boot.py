# ruff: noqa
# mypy: ignore-errors
# The program that runs on a node (Python 3.8 or later). It arrives on standard input (`f`), followed by a
# line of JSON and a zip archive of the tool's modules (the JSON states the size of the archive). It runs from
# memory and leaves no files.
import importlib.abc
import importlib.util
import io
import json
import os
import signal
import sys
import threading
import time
import zipfile

ORDER = json.loads(f.readline())
ARCHIVE = zipfile.ZipFile(io.BytesIO(f.read(ORDER["size"])))
NAMES = set(ARCHIVE.namelist())
BASE = os.sep + "sent by tfgpu-doctor" + os.sep  # an absolute path that does not exist
LOCK = threading.Lock()


class Modules(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Finds and loads the modules of the archive."""

    def __init__(self, name=""):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        stem = name.replace(".", "/")  # names in the archive have slashes
        for file, inside in ((stem + "/__init__.py", [BASE + stem]), (stem + ".py", None)):
            if file in NAMES:
                return importlib.util.spec_from_file_location(
                    name, BASE + file, loader=Modules(BASE + file), submodule_search_locations=inside
                )
        return None

    def get_filename(self, name):
        return self.name

    def get_data(self, path):
        name = path.replace(os.sep, "/")
        name = name[len(BASE) :] if name.startswith(BASE) else name
        if name not in NAMES:
            raise OSError(2, "it is not among the modules that were sent", path)
        with LOCK:
            return ARCHIVE.read(name)


ENDED = []
LATE = 124


def end(wait):
    """End this process in an orderly way; after some seconds, kill it."""
    ENDED.append(True)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(wait)
    os._exit(LATE)


def watch():
    """End the process when standard input closes, because nobody waits for the answer any more."""
    while os.read(0, 4096):
        pass
    end(5)


def limit():
    time.sleep(ORDER["limit"])
    end(5)


sys.meta_path.insert(0, Modules())
signal.signal(signal.SIGINT, signal.default_int_handler)  # the shell may have set SIGINT to be ignored
threading.Thread(target=limit, daemon=True).start()
if ORDER["watch"]:
    threading.Thread(target=watch, daemon=True).start()
words = ORDER["argv"]
if os.environ.get("TFGPU_DOCTOR_NODE"):
    words = words + ["--node", os.environ["TFGPU_DOCTOR_NODE"]]
mark = ORDER["mark"]


def marked():
    if mark:
        sys.stdout.write(mark + "\n")
        sys.stdout.flush()


def work():
    from doctor.cli import main

    marked()
    code = main(words)
    sys.stdout.flush()
    if ORDER["peers"]:
        from doctor.fleet import peers

        marked()
        peers.main(ORDER["peers"])
    marked()
    return code


try:
    code = work()
    sys.stdout.flush()
except KeyboardInterrupt:
    code = 130
os._exit(LATE if ENDED else code)  # do not wait for threads or an interrupted module
