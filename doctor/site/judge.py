"""Answers the page's calls. Input: the name of a call, its parameters and its bytes. Output: plain data.

The page's worker calls `answer_json` through Pyodide, `tfgpu-doctor serve` calls `answer`. Both get the same
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from doctor import api
from doctor.errors import CommandError, UsageError

LARGEST = 64 << 20
"""The largest size of a report in bytes; it is limited because a browser holds several copies in memory."""


def explain(data: bytes, *, name: str = "-", platform: str = "") -> dict[str, Any]:
    """The diagnosis of a report. platform: the machine's platform, if the report does not show it. Raises
    CommandError."""
    if len(data) > LARGEST:
        raise UsageError(
            f"`{name}` is larger than {LARGEST >> 20} MiB",
            "tfgpu-doctor explain FILE reads files of any size; or paste only the part that matters",
        )
    return _shown(api.explain(data, name, platform=platform or None))


def plan(_data: bytes, *, cpu: str = "", **version_request: str) -> dict[str, Any]:
    """The plans for a described machine; the parameters are those of `api.plan`. Raises CommandError.

    Without a description, a Linux machine is assumed, because this machine only runs the browser or serves
    the page.
    """
    given: dict[str, Any] = {name: value.strip() for name, value in version_request.items() if value.strip()}
    unknown = set(given) - {"tensorflow", "python", "cuda", "cudnn", "os", "gpu", "driver"}
    if unknown:
        raise UsageError(f"`plan` does not have these options: {', '.join(sorted(unknown))}")
    report = api.plan(**{"os": "Linux", **given}, cpu=bool(cpu))
    return {"plan": report.to_dict(), "markdown": report.render("markdown")}


def check(_data: bytes) -> dict[str, Any]:
    """The diagnosis of this machine. Raises CommandError."""
    return _shown(api.check())


def _shown(report: api.Report) -> dict[str, Any]:
    return {"report": report.to_dict(), "markdown": report.render("markdown")}


IN_BROWSER: dict[str, Callable[..., dict[str, Any]]] = {"explain": explain, "plan": plan}
HERE = {**IN_BROWSER, "check": check}
"""The calls that work if this code runs on the examined machine: those that work in the browser, and
`check`."""


def answer(
    call: str, parameters: Mapping[str, str], data: bytes = b"", *, here: bool = False
) -> dict[str, Any]:
    """The answer to a call, or `{"error": why, "hint": what to do}`, even if this code itself fails.

    here: whether this code runs on a machine that `check` may examine.
    """
    asked = (HERE if here else IN_BROWSER).get(call)
    try:
        if asked is None:
            raise UsageError(f"there is no call `{call}`")
        return asked(data, **parameters)
    except CommandError as error:
        return {"error": str(error), "hint": error.hint}
    except MemoryError:
        return {
            "error": "there is not enough memory",
            "hint": "paste only the part of the report that matters",
        }
    except RecursionError:
        return {"error": "the input is nested too deeply", "hint": "pass only the part that matters"}
    except Exception as error:  # noqa: BLE001 the last line of defence, as in doctor.cli
        said = f"an internal error of tfgpu-doctor: {type(error).__name__}: {error}"[:400]
        return {"error": said, "hint": "please report it, with the text that you pasted if you may share it"}


def answer_json(call: str, parameters: str, data: bytes) -> str:
    """The answer to a call, with JSON in and out, for a caller in another language."""
    import json

    return json.dumps(answer(call, json.loads(parameters), data))
