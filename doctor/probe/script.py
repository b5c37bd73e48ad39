"""Provides the scripts that run in another process, and reads their output: JSON between cookies.

A cookie is a random word that only the script knows, so the output of a driver or a library cannot be
mistaken for the answer.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from doctor import resources

if TYPE_CHECKING:
    from doctor.probe.machine import Machine
    from doctor.probe.running import Ran


ANSWER_LIMIT = 256
"""The maximum number of entries, such as devices or processes, to read from a list in an answer."""
T = TypeVar("T")


def script(name: str) -> str:
    """The source of a script in this package."""
    return resources.text("doctor.probe", name)


def cookie() -> str:
    """A new cookie."""
    return secrets.token_hex(16)


def run_script(
    machine: Machine,
    question: str,
    python: Sequence[str],
    name: str,
    limit: float,
    arguments: Sequence[str] = (),
) -> tuple[Ran | None, list[Any]]:
    """Run a script of this package on a machine, or use the answer recorded under the name `question`.

    python: the interpreter and its options; limit: seconds. Returns the result of Machine.run and the JSON
    values that the script printed.
    """
    mark = cookie()
    ran = machine.run(question, [*python, "-c", script(name), mark, *arguments], limit)
    return ran, between(ran.out, None if question in machine.recorded else mark) if ran else []


def between(text: str, cookie: str | None) -> list[Any]:
    """The JSON values between pairs of cookies; without a cookie (in a record), each line that is JSON.

    Anything that is not JSON is left out.
    """
    pieces = text.splitlines() if cookie is None else text.split(cookie)[1::2]
    values = []
    for piece in pieces:
        try:
            values.append(json.loads(re.sub(r"^\W*(?=\{)", "", piece)))
        except ValueError:
            continue
    return values


def listed(value: Any, kind: type[T]) -> list[T]:
    """The entries of this type in a list, at most ANSWER_LIMIT; [] if the value is not a list."""
    entries = value[:ANSWER_LIMIT] if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, kind)]
