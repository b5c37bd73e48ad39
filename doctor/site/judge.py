"""Answers the page's calls. A call consists of a name, parameters and bytes; the answer is plain data.

In the browser, the page's worker calls `answer_json` through Pyodide; `tfgpu-doctor serve` calls `answer`.
Both get the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from doctor import api
from doctor.errors import CommandError, UsageError

LARGEST = 64 << 20
"""The largest size of a report in bytes; it is limited because a browser holds several copies in memory."""


def explain(data: bytes, *, name: str = "-", platform: str = "") -> dict[str, Any]:
    """Return the diagnosis of a report. platform: the machine's platform, used if the report does not show
    it; "" if it is not known. Raises CommandError."""
    if len(data) > LARGEST:
        raise UsageError(
            f"`{name}` is larger than {LARGEST >> 20} MiB",
            "run `tfgpu-doctor explain FILE`, which has no such limit, or paste only what matters",
        )
    return _shown(api.explain(data, name, platform=platform or None))


def plan(_data: bytes, *, cpu: str = "", **version_request: str) -> dict[str, Any]:
    """Return the plans for a described machine; the parameters are those of `api.plan`. Raises CommandError.

    Without a description, a Linux machine is assumed: this machine is not meant, because it may only run the
    browser or serve the page.
    """
    given: dict[str, Any] = {name: value.strip() for name, value in version_request.items() if value.strip()}
    unknown = set(given) - {"tensorflow", "python", "cuda", "cudnn", "os", "gpu", "driver"}
    if unknown:
        raise UsageError(f"`plan` does not have these options: {', '.join(sorted(unknown))}")
    report = api.plan(**{"os": "Linux", **given}, cpu=bool(cpu))
    return {"plan": report.to_dict(), "markdown": report.render("markdown")}


def check(_data: bytes) -> dict[str, Any]:
    """Return the diagnosis of this machine. Raises CommandError."""
    return _shown(api.check())


def _shown(report: api.Report) -> dict[str, Any]:
    return {"report": report.to_dict(), "markdown": report.render("markdown")}


IN_BROWSER: dict[str, Callable[..., dict[str, Any]]] = {"explain": explain, "plan": plan}
HERE = {**IN_BROWSER, "check": check}
"""The calls that `serve` answers. It runs on the machine that `check` examines, and a browser does not."""


def answer(
    call: str, parameters: Mapping[str, str], data: bytes = b"", *, here: bool = False
) -> dict[str, Any]:
    """Return the answer to a call, or `{"error": why, "hint": what to do}` if it fails, even because of a
    defect of this code.

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
    except Exception as error:  # noqa: BLE001 a defect of this code, as in doctor.cli
        message = f"an internal error in tfgpu-doctor: {type(error).__name__}: {error}"[:400]
        return {"error": message, "hint": "please report it, with the pasted text if you may share it"}


def answer_json(call: str, parameters: str, data: bytes) -> str:
    """Do the same as `answer` for a caller in another language: the parameters and the answer are JSON."""
    import json

    return json.dumps(answer(call, json.loads(parameters), data))
