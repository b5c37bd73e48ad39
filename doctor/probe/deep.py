"""Runs TensorFlow in a child process, with limits on time and output, and makes it use each GPU.

doctor.logs reads the output in the same way as pasted reports. A crash, a hang or too much output becomes a
fact. If the run and the static probes disagree, both results are reported.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.facts import (
    Fact,
    Facts,
    Gpu,
    GpuRegistered,
    LibraryLoaded,
    LibraryNotLoaded,
    OperatingSystem,
    Platform,
    PythonVersion,
    Source,
    Symptom,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.probe.interpreter import Environment
from doctor.probe.machine import Machine
from doctor.probe.running import Ran, run_program
from doctor.probe.script import between, cookie, listed, script

OUTPUT_LIMIT = 4 << 20
"""The number of bytes to keep of TensorFlow's output: an allocator that retries can write gigabytes."""
LOG = "TensorFlow's log (check --deep)"
QUIETED = ("TF_CPP_MIN_LOG_LEVEL", "TF_CPP_MIN_VLOG_LEVEL", "TF_CPP_MAX_VLOG_LEVEL")
"""Variables that suppress TensorFlow's messages or bury them in others; they are unset for this run."""
KNOWN_BETTER = (OperatingSystem, Platform, PythonVersion, TensorFlowVersion)
"""Types of facts that a log only implies, but that the static probes read from files."""


def examine(machine: Machine, environment: Environment, static: Facts, limit: float) -> Iterator[Fact]:
    """Facts from a run of TensorFlow. limit: seconds; static: the facts of the other probes."""
    assert environment.executable is not None
    if static.absent("tensorflow") is not None:
        return
    mark = cookie()
    env = {name: value for name, value in machine.env.items() if name not in QUIETED}
    # 2.12 and later hide which library is missing unless its loader logs verbosely
    # (tsl/platform/default/dso_loader.cc)
    env["TF_CPP_VMODULE"] = ",".join(filter(None, (env.get("TF_CPP_VMODULE"), "dso_loader=1")))
    env["PYTHONUNBUFFERED"] = "1"
    argv = [environment.executable, "-B", "-c", script("_ask_tensorflow.py"), mark]
    ran = run_program(argv, limit, env, OUTPUT_LIMIT)
    stages = [entry for entry in between(ran.out, mark) if isinstance(entry, dict)]
    yield from _ended(ran, stages, limit)
    yield from logged(ran.err)
    for entry in stages:
        yield from _of_stage(machine, entry, simulated=static.has("simulated-gpu"))
    yield from _disagreements(machine, static, stages)


def _ended(ran: Ran, stages: list[dict[str, Any]], limit: float) -> Iterator[Fact]:
    """The facts about how the process ended, if it failed."""
    last = str(stages[-1].get("stage")) if stages else "nothing"
    if ran.timed_out:
        text = f"it did not end within {limit:.0f} s; its last output: {last}"
        kind, more = "deep-hung", ("seconds", f"{limit:.0f}")
    elif ran.failure:
        text = ran.failure
        kind, more = "deep-failed", ("error", text)
    elif ran.status is not None and ran.status < 0:
        try:
            name = signal.Signals(-ran.status).name
        except ValueError:
            name = f"signal {-ran.status}"
        text = f"killed by {name}; its last output: {last}"
        kind, more = "deep-crashed", ("signal", name)
    elif last != "done":
        text = f"ended with status {ran.status}; its last output: {last}"
        kind, more = "deep-failed", ("error", text)
    else:
        return
    source = Source("TensorFlow's process", None, text)
    yield Symptom(source, kind, (("stage", last), more))
    if more == ("signal", "SIGILL"):
        yield Symptom(source, "illegal-instruction")


def logged(text: str, name: str = LOG) -> Iterator[Fact]:
    """The facts that doctor.logs finds in TensorFlow's output. name: the name of the output in evidence."""
    if not text.strip():
        return
    from doctor import logs

    with contextlib.suppress(logs.NotText):
        facts = logs.read(text.encode("utf-8", "replace"), name)
        yield from (fact for fact in facts if not isinstance(fact, KNOWN_BETTER))


def _of_stage(machine: Machine, entry: Mapping[str, Any], *, simulated: bool) -> Iterator[Fact]:
    """The facts in the JSON answer that TensorFlow's process printed for one stage."""
    stage = entry.get("stage")
    error = str(entry.get("error") or "")
    if stage == "import" and error:
        yield Symptom(Source("import tensorflow", None, error), "deep-import-failed", (("error", error),))
    elif stage == "build" and not error:
        info = entry.get("info")
        info = info if isinstance(info, dict) else {}
        cuda, cudnn = (_version(info.get(key)) for key in ("cuda_version", "cudnn_version"))
        source = Source("tf.sysconfig.get_build_info()", None, f"is_built_with_cuda() {entry.get('cuda')}")
        yield TensorFlowBuild(source, bool(entry.get("cuda")), cuda, cudnn)
    elif stage == "devices" and error:
        source = Source("tf.config.list_physical_devices", None, error)
        yield Symptom(source, "deep-failed", (("stage", "devices"), ("error", error)))
    elif stage == "devices":
        yield from _devices(entry)
    elif stage == "operation":
        yield from _operation(entry, simulated=simulated)
    elif stage == "memory" and isinstance(entry.get("peak"), int):
        index = str(entry.get("gpu"))
        mib = entry["peak"] / (1 << 20)
        source = Source("tf.config.experimental.get_memory_info", None, f"GPU {index}: peak {mib:.1f} MiB")
        yield Symptom(source, "deep-memory", (("gpu", index), ("peak_mib", f"{mib:.1f}")))
    elif stage == "mapped":
        for path in listed(entry.get("files"), str):
            source = Source("/proc/PID/maps of TensorFlow's process", None, path)
            yield LibraryLoaded(source, soname(machine, path), path)


def _devices(entry: Mapping[str, Any]) -> Iterator[Fact]:
    gpus = listed(entry.get("gpus"), dict)
    where = "tf.config.list_physical_devices('GPU')"
    if not gpus:
        yield Symptom(Source(where, None, "[]"), "gpu-list-empty")
    else:
        text = "this check turned memory growth on in its process"
        yield Symptom(Source("check --deep", None, text), "growth-set")
    for index, gpu in enumerate(gpus):
        name = gpu.get("device") if isinstance(gpu.get("device"), str) else None
        capability = gpu.get("capability") if isinstance(gpu.get("capability"), str) else None
        text = f"{gpu.get('name')}: {name or 'no name'}, compute capability {capability}"
        yield GpuRegistered(Source(where, None, text), index, name=name)
        if capability:
            yield Gpu(Source(where, None, text), name=name, compute_capability=capability, index=index)


def _operation(entry: Mapping[str, Any], *, simulated: bool) -> Iterator[Fact]:
    index, op = str(entry.get("gpu")), str(entry.get("op"))
    detail = (("gpu", index), ("op", op))
    where = f"{op} on GPU {index}"
    error = str(entry.get("error") or "")
    if error:
        yield Symptom(Source(where, None, error), "deep-operation-failed", (*detail, ("error", error)))
        return
    kind, result = ("deep-operation", "right") if entry.get("right") else ("deep-operation-wrong", "wrong")
    seconds = str(entry.get("seconds"))
    text = f"{seconds} s on {entry.get('device')}, result {result}"
    if simulated:
        kind, text = "deep-operation-simulated", f"{text}: a simulated GPU does not compute"
    yield Symptom(Source(where, None, text), kind, (*detail, ("seconds", seconds)))


def _disagreements(machine: Machine, static: Facts, stages: list[dict[str, Any]]) -> Iterator[Fact]:
    """Symptoms for libraries that TensorFlow mapped from a place other than predicted, or that it mapped
    although they were predicted to fail."""
    files = next((listed(s.get("files"), str) for s in stages if s.get("stage") == "mapped"), [])
    mapped = {soname(machine, path): path for path in files}
    predicted = {fact.name: fact.path for fact in static.of(LibraryLoaded) if fact.path}
    for name, path in predicted.items():
        other = mapped.get(name)
        if other is not None and path is not None and machine.resolve(path) != other:
            yield _disagrees(name, path, other)
    for fact in static.of(LibraryNotLoaded):
        if fact.name in mapped:
            yield _disagrees(fact.name, fact.error or "would not load", mapped[fact.name])


def _disagrees(name: str, static: str, deep: str) -> Symptom:
    text = f"{name}: the files predict {static}; TensorFlow mapped {deep}"
    detail = (("library", name), ("static", static), ("deep", deep))
    return Symptom(Source("check --deep", None, text), "deep-disagrees", detail)


def soname(machine: Machine, path: str) -> str:
    """The SONAME of a mapped file, from its header; the file's name if that cannot be read."""
    from doctor.probe import elf

    try:
        return elf.of(machine, path).soname or posixpath.basename(path)
    except (OSError, elf.NotElf):
        return posixpath.basename(path)


def _version(value: object) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)*", value) else None
