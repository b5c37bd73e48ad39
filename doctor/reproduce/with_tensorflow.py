"""Runs TensorFlow so that cuDNN fails to start for lack of memory, and tries the settings that fix this.

Every attempt has the same memory pressure. First, another process allocates all but ROOM of the GPU's memory.
TensorFlow starts, and by default allocates nearly all the rest. Then the other process allocates what
TensorFlow left over, as a desktop or a second job may; the amount is measured in the first attempt and
repeated in the others. Then a convolution makes cuDNN create its handle. With the default settings no memory
is left for the handle; TensorFlow's own pool does not help, because cuDNN does not allocate from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from doctor.errors import UnableError
from doctor.remedies import code
from doctor.reproduce.results import Row
from doctor.reproduce.stage import MIB, Stage
from doctor.subprocesses import Child, ChildError, program
from doctor.values import dataclass, field

ROOM = 4096
"""The MiB that the other process leaves free at first; on a small GPU it leaves less."""
LIMIT = 1024
"""The limit in MiB in the mode `memory limit`."""
LOG = "TensorFlow's log"
_LOG_VARIABLES = ("TF_CPP_MIN_LOG_LEVEL", "TF_CPP_MIN_VLOG_LEVEL", "TF_CPP_MAX_VLOG_LEVEL")
_MEMORY_VARIABLES = ("TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR")


@dataclass(frozen=True)
class Mode:
    """One setting to try: its name, the usual notation, the code for the program, and environment
    variables."""

    name: str
    setting: str
    program: str = ""
    variables: dict[str, str] = field(default_factory=dict)


def modes(version: str | None) -> tuple[Mode, ...]:
    """The settings in the order in which they are tried. The first is the default, which should fail."""
    growth = code.environment(growth=True)
    allocator = code.environment(allocator=True)
    return (
        Mode("default", "nothing set"),
        Mode("memory growth", "set_memory_growth(gpu, True)", code.memory_growth(version)),
        Mode("memory limit", f"memory_limit={LIMIT}", code.memory_limit(version, LIMIT)),
        Mode("growth variable", _spoken(growth), variables=growth),
        Mode("async allocator", _spoken(allocator), variables=allocator),
    )


def _spoken(variables: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items())


def attempts(
    stage: Stage, python: str, version: str | None, limit: float, tell: Callable[[str], None]
) -> list[Row]:
    """Try every mode on the stage. `limit`: seconds for each. Raises UnableError if memory cannot be
    allocated."""
    rows: list[Row] = []
    extra: int | None = None  # what the other process allocates after TensorFlow's start, in MiB
    for mode in modes(version):
        tell(mode.name)
        row, extra = _attempt(stage, python, mode, limit, extra)
        rows.append(row)
    return rows


def _attempt(
    stage: Stage, python: str, mode: Mode, limit: float, extra: int | None
) -> tuple[Row, int | None]:
    """Try one mode. Returns its row, and the MiB that the other process allocated after TensorFlow's
    start."""
    begin, deadline = stage.now, time.monotonic() + limit
    # the user's variables must not hide lines of the log or fix the failure
    removed = (*_LOG_VARIABLES, *_MEMORY_VARIABLES)
    variables = {name: value for name, value in stage.environment.items() if name not in removed}
    holder_text, text = program("doctor.reproduce", "_hold.py"), program("doctor.reproduce", "_convolve.py")
    outcome, error, least = "unfinished", "", None
    with Child(stage.python, holder_text, [], stage.environment) as holder:
        try:
            ready = holder.wait_for("ready", min(deadline, time.monotonic() + 60))
            holder.tell(f"leave {min(ROOM, int(ready['free'] / MIB / 2))}")
            kept = holder.wait_for("held", min(deadline, time.monotonic() + 120))
        except ChildError as problem:
            raise UnableError(f"the GPU's memory cannot be allocated: {problem}") from problem
        free_before, held = int(kept["free"]) // MIB, int(kept["holds"]) // MIB
        with Child(python, text, [mode.program], {**variables, **mode.variables}) as tensorflow:
            try:
                for answer in tensorflow.answers(deadline):
                    if answer["stage"] == "started":
                        holder.tell("leave 0" if extra is None else f"take {extra}")
                        kept = holder.wait_for("held", deadline)
                        held, least = int(kept["holds"]) // MIB, int(kept["free"]) // MIB
                        if extra is None:
                            extra = int(kept["taken"]) // MIB
                        tensorflow.tell("go on")
                    elif answer["stage"] in ("passed", "failed"):
                        outcome, error = answer["stage"], str(answer.get("error", ""))
                        break
                if outcome == "unfinished":
                    outcome, error = "failed", tensorflow.how_it_ended()
            except ChildError as problem:
                error = str(problem)
            end = stage.now
            tensorflow.end()
            log = tensorflow.log
    verdict, line = judged(log, passed=outcome == "passed")
    # the lowest value that the other process saw may lie between two samples
    seen = (stage.lowest_between(begin, end), least)
    lowest = min((free for free in seen if free is not None), default=None)
    line = line or error
    row = Row(mode.name, mode.setting, outcome, verdict, line, free_before, held, lowest, end - begin)
    return row, extra


def judged(log: str, *, passed: bool) -> tuple[str, str]:
    """Return the code of the first finding for an attempt's log, and the line of the log that shows it ("" if
    there is none). passed: whether the attempt passed."""
    from doctor import logs
    from doctor.diagnose import diagnose
    from doctor.facts import Facts, GpuRegistered
    from doctor.tables import Tables
    from doctor.values import replace

    if not log.strip():
        return ("healthy" if passed else "undetermined"), ""
    try:
        facts = logs.read(log.encode(), LOG)
    except logs.NotText:
        return "undetermined", ""
    # the device's memory is what the reproduction's own process left
    items = [replace(f, memory_mib=None) if isinstance(f, GpuRegistered) else f for f in facts]
    whole = Facts(tuple(items), facts.kind, facts.name, facts.lines)
    finding = diagnose(whole, Tables.bundled()).findings[0]
    lines = [line.strip() for line in log.splitlines()]
    telling = next((line for line in lines if "Could not create cudnn handle" in line), "")
    if passed:
        return finding.code, next((line for line in lines if "Loaded cuDNN version" in line), "")
    evidence = next((source.text for source in finding.evidence if source.text), "")
    return finding.code, telling or evidence
