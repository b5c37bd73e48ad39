"""Finds obstacles to importing TensorFlow: remains of an incomplete removal, and other files named
tensorflow."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from doctor.facts import Fact, Source, Symptom
from doctor.probe.interpreter import Environment
from doctor.probe.machine import Machine


def leftovers(machine: Machine, environment: Environment, location: str | None) -> Iterator[Fact]:
    """Remains of an incompletely removed TensorFlow installation: pip's ~ensorflow folders, and module
    folders without __init__.py.

    location: the folder of the module that an import would find; None if there is none.
    """
    for folder in environment.path:
        for name in machine.names_seen(folder):
            if re.match(r"~+(ensorflow|f.nightly)", name):
                path = f"{folder}/{name}"
                text = "pip leaves a folder with a name like this behind if it cannot finish a removal"
                yield Symptom(Source(path, None, text), "tensorflow-leftover", (("path", path),))
        if location is not None:
            continue
        path = f"{folder}/tensorflow"
        with machine.noting() as unseen:
            hollow = machine.is_dir(path) and not machine.exists(f"{path}/__init__.py")
            inside = machine.names_seen(path) if hollow else []
        if hollow and not unseen:
            text = f"it contains no __init__.py, only {', '.join(inside[:4])}" if inside else "it is empty"
            detail = (("path", path), ("kind", "hollow"))
            yield Symptom(Source(path, None, text), "tensorflow-leftover", detail)


def strays(machine: Machine, environment: Environment, location: str | None) -> Iterator[Fact]:
    """Files or folders named tensorflow that an import would find before the real TensorFlow."""
    first = [machine.cwd] if machine.cwd else []
    behind = posixpath.dirname(location) if location else None
    for folder in dict.fromkeys((*first, *environment.before, *environment.path)):
        if folder == behind:
            break
        for name in ("tensorflow.py", "tensorflow/__init__.py"):
            path = f"{folder.rstrip('/')}/{name}"
            if machine.exists(path) and (location is None or not path.startswith(f"{location}/")):
                whose = (
                    "the current folder"
                    if folder == machine.cwd
                    else "PYTHONPATH"
                    if folder in environment.before
                    else "sys.path"
                )
                source = Source(path, None, f"in {whose}, before {location or 'any TensorFlow'}")
                yield Symptom(source, "stray-tensorflow-module", (("path", path),))
