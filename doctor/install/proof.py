"""Proves an installation: examines the environment, starts TensorFlow in it, and reports what is proved and
what is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from doctor.backports import removeprefix
from doctor.rules import PLACES
from doctor.values import dataclass

LIMIT = 900
"""The check's time limit in seconds, including TensorFlow's start."""
_OF_BUILD = {"gpu-arch-too-old", "gpu-arch-too-new", "tf-cpu-only", "tf-windows-native"}
"""Findings about the build, which do not count if TensorFlow was installed for the CPU."""
_OTHERS = {"gpu-memory-held", "healthy", "benign-messages", "undetermined", "cpu-no-avx"}


def _family(*names: str) -> set[str]:
    """Return the codes whose rules are in these folders of doctor/rules."""
    return {code for code, place in PLACES.items() if place.partition(".")[0] in names}


OUTSIDE = frozenset(_OTHERS | _family("driver", "gpu", "passthrough") - _OF_BUILD)
"""Findings that do not count against the new environment, such as a machine without a GPU or without a loaded
driver."""
OF_CUDA = frozenset(_OF_BUILD | _family("libraries"))
"""Findings that do not count if TensorFlow was installed for the CPU."""


@dataclass(frozen=True)
class Proof:
    """The result of a proof. kind: proved (TensorFlow registered a GPU and computed on it), consistent
    (nothing is wrong in the environment, but this was not proved on a GPU), broken, or unknown (the check
    itself failed). sentences: the result as sentences. findings: the check's findings."""

    kind: str
    sentences: tuple[str, ...]
    findings: tuple[dict[str, Any], ...] = ()


def prove(env: Path, *, gpu: bool = True) -> Proof:
    """Run `check --python ENV --deep` in a separate process and read its answer. gpu: whether TensorFlow was
    installed for a GPU."""
    # not with PYTHONPATH: the environment's own Python would inherit it, and import this tool's packages
    package = str(Path(__file__).resolve().parent.parent.parent)
    start = (
        f"import sys; sys.path.insert(0, {package!r}); from doctor.cli import main;"
        " sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", start, "check", "--python", str(env), "--deep", "--format", "json"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Proof("unknown", (f"not proved: the check did not finish within {LIMIT} s",))
    try:
        document = json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines() or ["it printed nothing"]
        said = next((line for line in lines if line.startswith("tfgpu-doctor: ")), lines[-1])
        why = removeprefix(said, "tfgpu-doctor: ")
        return Proof("unknown", (f"not proved: the check itself failed: {why}",))
    return read(document, gpu=gpu)


def read(document: dict[str, Any], *, gpu: bool = True) -> Proof:
    """Return the proof that the JSON output of a check contains."""
    facts = document.get("facts", {})
    findings = tuple(document.get("findings", ()))
    errors = [f for f in findings if f.get("severity") == "error"]
    version = facts.get("tensorflow", {}).get("value")
    count = facts.get("registered_gpus", {}).get("value") or 0
    inside = [f for f in errors if f["code"] not in OUTSIDE and (gpu or f["code"] not in OF_CUDA)]
    if version is None:
        return Proof("broken", ("the check did not find TensorFlow in the environment",), findings)
    if inside:
        return Proof("broken", tuple(f"{f['code']}: {f['title']}" for f in inside), findings)
    if count and not errors:
        proved = (
            f"proved: TensorFlow {version} registered {count} GPU{'s' if count > 1 else ''} and ran a matrix"
            " product and a convolution on each"
        )
        return Proof("proved", (proved,), findings)
    if not gpu:
        on_cpu = f"installed and consistent: TensorFlow {version} starts and computes on the CPU"
        return Proof("consistent", (on_cpu,), findings)
    sound = (
        f"installed and consistent: TensorFlow {version} starts, and nothing inside the environment is wrong"
    )
    why = errors[0]["title"] if errors else "no GPU was registered"
    return Proof("consistent", (sound, f"not proved on a GPU here: {why}"), findings)
