"""Runs one recording and writes its log and its sidecar."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from doctor.simulate import environment, prepare
from doctor.simulate.watchdog import MARK
from scripts.recordings.catalogue import Recording
from scripts.recordings.text import normalised

PROGRAMS = Path(__file__).resolve().parents[2] / "tests" / "simulate" / "programs"
_OUTPUT_CAP = 64 << 20  # bytes that a program may write before it is stopped (RLIMIT_FSIZE)
_HOME = {"python": "/home/user/venv", "project": "/home/user/project", "machine": "/home/user/simulation"}


def record(recording: Recording, python: Path) -> tuple[str, dict[str, Any]]:
    """Run a recording with an interpreter. Returns the normalised text that the program printed, and the
    content of the sidecar (the exit code is null if the program was killed at its time limit)."""
    with tempfile.TemporaryDirectory(prefix="recording-") as text:
        project = Path(text)
        (project / "train.py").write_text((PROGRAMS / f"{recording.program}.py").read_text())
        replacements = {
            str(project): _HOME["project"],
            str(python.parent.parent): _HOME["python"],
            platform.node(): "host",
            str(Path.home()): "/home/user",
        }
        base = _plain_environment(python) | dict(recording.variables)
        if not recording.simulated:
            output, code = _run(recording, python, project, base)
        else:
            scenario = prepare(python=str(python), gpus=recording.gpus, faults=recording.faults)
            with environment(scenario, base) as simulation:
                replacements[str(simulation.folder)] = _HOME["machine"]
                output, code = _run(recording, python, project, simulation.environment)
    log, what = normalised(output, replacements)
    assert MARK not in log, "the log still contains a path of the recording machine"
    sidecar = {
        "command": " ".join(["python", "train.py", *recording.arguments]),
        "program": f"tests/simulate/programs/{recording.program}.py",
        "faults": list(recording.faults),
        "gpus": list(recording.gpus),
        "variables": dict(recording.variables),
        "code": recording.code,
        "exit_code": code,
        "simulated": recording.simulated,
        "recorded": date.today().isoformat(),
        "normalised": what,
    }
    return log, sidecar


def write(folder: Path, name: str, tensorflow: str, log: str, sidecar: dict[str, Any]) -> Path:
    """Write a log and its sidecar. Returns the log's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.log"
    path.write_text(log, encoding="utf-8")
    document = {"tensorflow": tensorflow, **sidecar}
    path.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return path


def _plain_environment(python: Path) -> dict[str, str]:
    """Return the few environment variables of the recording machine that programs need."""
    return {
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _run(
    recording: Recording, python: Path, project: Path, variables: dict[str, str]
) -> tuple[str, int | None]:
    """Run the program. Return its standard output and standard error as one string, as a terminal shows them,
    and its exit code."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (_OUTPUT_CAP, _OUTPUT_CAP))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            # run by a shell, because the shell prints "Segmentation fault"
            ["/bin/sh", "-c", '"$0" train.py "$@"; exit $?', str(python), *recording.arguments],
            cwd=project,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=limit,
            start_new_session=True,
        )
        try:
            code: int | None = child.wait(recording.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()
            code = None
        output.seek(0)
        return output.read(8 << 20).decode("utf-8", "replace"), code
