"""Provides the scripts that run in another process, and reads their output: JSON between cookies.

A cookie is a random word that only the script knows, so the output of a driver or a library cannot be
mistaken for the answer.
"""

from __future__ import annotations

import json
import re
from typing import Any

from doctor import resources


def script(name: str) -> str:
    """The source of a script in this package."""
    return resources.text("doctor.probe", name)


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
