"""Examines a machine for `doctor.api.check`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from doctor.api import Report, diagnosed

if TYPE_CHECKING:
    from doctor.facts import Facts


def checked(
    python: str | None,
    root: str | None,
    deep: bool,
    *,
    record: str | None,
    limit: float,
    tell: Callable[[str], None] | None,
    printed: str,
) -> Report:
    """Diagnose a machine. The parameters, and the errors raised, are those of `doctor.api.check`."""
    from doctor.errors import UsageError

    if record is not None:
        for option, given in (("python", python), ("root", root), ("deep", deep)):
            if given:
                raise UsageError(
                    f"--from and --{option} cannot be used together: --from reads a saved file and examines"
                    " no machine"
                )
        return diagnosed(_recorded(record))
    if root and deep:
        raise UsageError("--root and --deep cannot be used together: nothing under another root is run")
    facts, times = _examined(python, root, limit if deep else None, tell)
    if printed:
        from doctor.probe import deep as tensorflow

        facts = facts.plus(list(tensorflow.logged(printed, "what TensorFlow printed")))
    return Report(diagnosed(facts).diagnosis, times)


def _recorded(path: str) -> Facts:
    """Return the facts in a file that `check --save` wrote."""
    from doctor.errors import InputError
    from doctor.probe import record

    try:
        return record.load(path)
    except record.NotRecordError as problem:
        raise InputError(
            f"cannot read `{path}`: {problem}", "`tfgpu-doctor check --save FILE` writes such a file"
        ) from problem
    except OSError as problem:
        raise InputError(f"cannot read `{path}`: {problem.strerror}") from problem


def _examined(
    python: str | None, root: str | None, limit: float | None, tell: Callable[[str], None] | None
) -> tuple[Facts, tuple[tuple[str, float], ...]]:
    """Return the facts of this machine, or of another machine's files, and the seconds that each probe took.
    limit: seconds for the deep check; None for no deep check."""
    from doctor.errors import InputError, UnableError
    from doctor.probe import Machine, NoPythonError, look

    try:
        machine = Machine.at(root) if root else Machine.here()
    except (NotADirectoryError, ValueError) as problem:
        raise InputError(str(problem)) from problem
    try:
        seen = look(machine, python)
    except NoPythonError as problem:
        raise InputError(
            str(problem), "--python accepts an interpreter or the folder of an environment, such as ~/venv"
        ) from problem
    facts = seen.facts
    if limit is not None:
        if seen.environment is None or seen.environment.executable is None:
            raise UnableError("found no Python to start TensorFlow with", "choose one with --python")
        if tell is not None:
            tell(f"Starting TensorFlow in {seen.environment.executable} (at most {limit:.0f} s) ...")
        from doctor.probe import deep

        facts = facts.plus(list(deep.examine(machine, seen.environment, facts, limit)))
    return facts, tuple(seen.times.items())
