"""Creates cuDNN's handle without TensorFlow: with ample memory, with the GPU full, and again when memory is
free.

This distinguishes a lack of memory from a wrong version even if TensorFlow does not start: if the handle
cannot be created with ample memory, memory is not the cause.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

from doctor.backports import removeprefix
from doctor.errors import UnableError
from doctor.reproduce.results import Row
from doctor.reproduce.stage import MIB, Stage
from doctor.subprocesses import Child, ChildError, program
from doctor.values import dataclass, replace

SPOKEN = {"ample": "ample memory", "full": "GPU full", "again": "memory free again"}
SETTINGS = {
    "ample": "cudnnCreate at the start",
    "full": "cudnnCreate after allocating all memory",
    "again": "cudnnCreate after freeing the memory",
}


@dataclass(frozen=True, slots=True)
class Libraries:
    """The CUDA runtime and cuDNN that a process of the environment would load, and their folders."""

    cudart: str
    cudnn: str
    folders: tuple[str, ...]


def libraries(python: str | None, environment: dict[str, str]) -> Libraries:
    """The libraries in the environment of `python`, found in the same way as `check` finds them. environment:
    the variables of the processes. Raises UnableError if one is missing."""
    from doctor.facts import DriverCuda, LibraryFile, LibraryLoaded
    from doctor.probe import Machine, look

    facts = look(replace(Machine.here(), env=environment), python).facts
    loaded = {fact.name: fact.path for fact in facts.of(LibraryLoaded) if fact.path}
    files = sorted(facts.of(LibraryFile), key=lambda fact: not fact.searched, reverse=True)
    lying = {fact.name: fact.path for fact in files}  # those that the loader finds take precedence
    driver = next((_numbers(fact.version)[0] for fact in facts.of(DriverCuda)), 99)

    def path(stem: str) -> str:
        pattern = re.compile(rf"{stem}\.so(\.\d+)+$|{removeprefix(stem, 'lib')}64_\d+\.dll$", re.IGNORECASE)
        for found in (loaded, lying):
            names = sorted((name for name in found if pattern.match(name)), key=_numbers, reverse=True)
            if stem == "libcudart":  # a runtime of a later major version than the driver's fails
                names.sort(key=lambda name: _major(name) > driver)
            if names:
                return str(found[names[0]])
        raise UnableError(
            f"{stem} was not found in the environment in use",
            "`tfgpu-doctor check` shows which folders it searched; choose another environment with --python",
        )

    cudart, cudnn = path("libcudart"), path("libcudnn")
    paths = (cudart, cudnn, *loaded.values(), *lying.values())
    folders = [os.path.dirname(str(p)) for p in paths]  # noqa: PTH120
    return Libraries(cudart, cudnn, tuple(dict.fromkeys(folders)))


def _major(name: str) -> int:
    """The CUDA major version in a runtime's file name: libcudart.so.12, cudart64_110.dll."""
    number = _numbers(name.partition(".so.")[2] or name.partition("64_")[2])[0]
    return number // 10 if number >= 80 else number


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", name))


def attempts(stage: Stage, found: Libraries, limit: float, tell: Callable[[str], None]) -> list[Row]:
    """Make the attempts and return their rows. Each process has `limit` seconds. Raises UnableError if the
    libraries do not work."""
    rows: list[Row] = []
    for which in ("ample", "full"):
        tell(SPOKEN[which])
        rows += _run(stage, found, which, limit)
    return rows


def _run(stage: Stage, found: Libraries, which: str, limit: float) -> list[Row]:
    text = program("doctor.reproduce", "_handle.py")
    path = ":".join([*found.folders, *filter(None, [stage.environment.get("LD_LIBRARY_PATH")])])
    rows: list[Row] = []
    begin = stage.now
    arguments = [found.cudart, found.cudnn, which]
    with Child(stage.python, text, arguments, {**stage.environment, "LD_LIBRARY_PATH": path}) as child:
        try:
            for answer in child.answers(time.monotonic() + limit):
                end = stage.now
                if answer["stage"] == "failed":
                    if answer.get("cause") in ("library", "runtime"):
                        hint = "`tfgpu-doctor check` shows why"
                        raise UnableError(f"the libraries do not work: {answer['error']}", hint)
                elif answer["stage"] in SPOKEN:
                    rows.append(_row(stage, answer, begin, end))
                    begin = end
        except ChildError as problem:
            rows.append(_unfinished(stage, which, begin, str(problem)))
            return rows
        if not rows or (which == "full" and len(rows) < 2):
            rows.append(_unfinished(stage, which, begin, child.how_it_ended()))
    return rows


def _unfinished(stage: Stage, which: str, begin: float, why: str) -> Row:
    return Row(
        SPOKEN[which], SETTINGS[which], "unfinished", "undetermined", why, None, None, None, stage.now - begin
    )


def _row(stage: Stage, answer: dict[str, object], begin: float, end: float) -> Row:
    which, passed = str(answer["stage"]), answer["status"] == 0
    free = int(str(answer["free"])) // MIB
    # if the handle cannot be created with the GPU full, memory is lacking; with ample memory, the reason is
    # another one
    verdict = "healthy" if passed else "cudnn-init-oom" if which == "full" else "undetermined"
    held = None if which == "ample" else (stage.total_mib - free if which == "full" else 0)
    return Row(
        SPOKEN[which],
        SETTINGS[which],
        "passed" if passed else "failed",
        verdict,
        f"cudnnCreate: {answer['text']}",
        free,
        held,
        stage.lowest_between(begin, end),
        end - begin,
    )
