"""Reads the facts and codes in a report of this tool from the report's structure, never from its sentences.

The Markdown of `check` ends with a block that contains every fact (doctor.probe.record), and its JSON
contains the same facts as `record`. The facts are judged again, so the verdict on a report is the verdict on
the machine. From a terminal report, or if the block is missing or damaged, only the codes and the listed
facts are read; `doctor.restated` then repeats the findings. Anyone may have changed a pasted report, so only
facts of known types and codes of known rules count, and the steps are always derived again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from doctor import lazy
from doctor.facts import (
    CudaVersion,
    CudnnVersion,
    DriverCuda,
    DriverVersion,
    EnvironmentKind,
    Fact,
    Facts,
    Gpu,
    GpuRegistered,
    LibraryLoaded,
    LibraryNotLoaded,
    OperatingSystem,
    OwnReport,
    Package,
    Platform,
    PythonVersion,
    RestatedFinding,
    Source,
    Symptom,
    TensorFlowVersion,
    Unreadable,
)
from doctor.logs.text import Text
from doctor.probe import record
from doctor.values import replace

TOOL = "tfgpu-doctor"
_VERDICT = lazy.compile(
    r"^ {0,4}(?:(?P<severity>error|warning|info) [·-] )?(?:(?P<sure>likely|possible, not proven) [·-] )?"
    r"(?P<code>[a-z0-9]+(?:-[a-z0-9]+){0,6}) [·-] (?:this machine|read from a report of tfgpu-doctor)\b",
    re.MULTILINE,
)
"""Matches the line under the title in a terminal report."""
_ALSO = lazy.compile(
    r"\((?P<severity>error|warning|info)(?:, (?P<sure>likely|possible,"
    r" not\s+proven))?,\s+(?P<code>[a-z0-9-]{2,60})\)$",
    re.MULTILINE,
)
_HEADLINE = lazy.compile(
    r"^\*\*(?P<lead>Cause|Likely cause|Possible cause|Not enough to tell|All is well"
    r"|Nothing to fix|Possibly nothing to fix): [^\n]{1,500}?\*\* \(`(?P<code>[a-z0-9-]{2,60})`\)$",
    re.MULTILINE,
)
_FOLDED = lazy.compile(
    r"^<summary>Also found: [^\n]{1,600}? \((?P<code>[a-z0-9-]{2,60})\)</summary>$", re.MULTILINE
)
_SEEN = lazy.compile(
    r"^What was seen:?\n\s*(?:```\w*\n)?(?P<rows>(?:[^\n`#<]{1,4000}\n){1,80})", re.MULTILINE
)
_SURENESS = {
    "likely": "likely",
    "Likely cause": "likely",
    "possible, not proven": "possible",
    "Possible cause": "possible",
    "Possibly nothing to fix": "possible",
}
"""The words of a report that limit how sure a finding is. A finding without such words is certain."""
_QUOTED = lazy.compile(r"^(?:> ?)+", re.MULTILINE)
_VERSIONS: dict[str, Any] = {
    "TensorFlow": TensorFlowVersion, "Python": PythonVersion, "CUDA": CudaVersion, "cuDNN": CudnnVersion,
    "NVIDIA driver": DriverVersion, "CUDA that the driver offers": DriverCuda,
}  # fmt: skip
_LABELS = (
    *_VERSIONS,
    *("TensorFlow package", "Keras", "GPU", "Operating system", "Platform", "Surroundings"),
    *("Libraries that did not open", "Libraries that opened", "Environment variables"),
    "GPUs that TensorFlow registered",
)
"""The same labels as in doctor.render.content.LABELS; a test compares the two lists."""
_VERSION = lazy.compile(r"\d[\w.+-]{0,40}")
_GPU = lazy.compile(
    r"(?P<name>[^(),][^(),]{0,80}?)(?: \((?:compute capability (?P<capability>\d+\.\d))?(?:,"
    r" )?(?:(?P<memory>\d{1,7}) MiB)?\))?(?:, |$)"
)


def read_own(text: str, name: str) -> Facts | None:
    """Return the facts in a report from this tool's `check`, or None for any other input. name: the input's
    name."""
    if TOOL not in text:
        return None
    text = text.replace("\r\n", "\n")
    if text.lstrip().startswith("{"):
        return _of_json(text, name)
    if "> " in text:
        text = _QUOTED.sub("", text)
    found = record.unpacked(text)
    if found is not None:
        return _own(found, name, "Markdown").plus(_around(text, name))
    return _by_structure(text, name)


def _own(facts: Facts, name: str, form: str) -> Facts:
    """Return the facts in a record, marked as read from a report."""
    own = OwnReport(Source(name, None, f"{TOOL} {form}, machine {facts.name}"[:400]), form)
    return Facts((own, *(f for f in facts if not isinstance(f, OwnReport))), "machine", _called(name))


def _around(text: str, name: str) -> Iterator[Fact]:
    """Yield a note if other text surrounds a Markdown report. That text is not read."""
    first = _HEADLINE.search(text)
    last = text.find(f"<sub>{TOOL} ")
    before = text[: first.start()] if first else ""
    after = text[last:].partition("\n")[2] if last >= 0 else ""
    own = ("This was seen on a simulated GPU", "Read from ")
    lines = [
        line for line in f"{before}\n{after}".split("\n") if line.strip() and not line.strip().startswith(own)
    ]
    if lines:
        number = f"{len(lines)} line{'s' if len(lines) > 1 else ''}"
        number += "; for this text, run `explain` separately"
        yield Unreadable(Source(name), "the text around the report", number)


def _called(name: str) -> str:
    return f"a report of {TOOL}" if name == "-" else f"a report of {TOOL} in {name}"


def _of_json(text: str, name: str) -> Facts | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    kept = document if document.get("kind") == record.KIND else document.get("record")
    try:
        return _own(record.from_record(kept), name, "JSON")
    except record.NotRecordError:
        return None


# --- the lines of `simulate` in a program's output ----------------------------------------------------

_BANNER = lazy.compile(
    rf"{TOOL} simulate: (?:a simulation(?:, there is no such| without a real) GPU|the simulation is over"
    r"|(?:exit|leave) the shell to end it"
    r"|NCCL does not work in this simulation)"
)


def without_own_lines(text: Text) -> tuple[Text, list[Fact]]:
    """Return the text without the lines of `simulate`, and a fact if the text comes from a simulation. The
    cards and versions in these lines are the user's choice, not evidence."""
    lines: list[tuple[int, str]] = []
    facts: list[Fact] = []
    for number, line in text.lines():
        banner = _BANNER.search(line)
        lines.append((number, line[: banner.start()] if banner else line))
        if banner and not facts:
            source = Source(text.name, number, line[banner.start() :].strip()[:400])
            faults = re.search(r"; faults: ([a-z0-9, -]{1,300});", line)
            detail = (("simulation", ""), ("faults", faults[1] if faults else ""))
            facts.append(Symptom(source, "simulated-gpu", detail))
    return (Text.of(text.name, lines, text.total), facts) if facts else (text, [])


# --- by structure ------------------------------------------------------------------------------------


def _by_structure(text: str, name: str) -> Facts | None:
    found = [*_findings(text, name)]
    rows = _SEEN.search(text)
    if not found or rows is None:
        return None
    line = text.count("\n", 0, rows.start("rows")) + 1
    values = dict(_labelled(rows["rows"]))
    facts: list[Fact] = [OwnReport(Source(name, None, found[0].source.text), "text"), *found]
    for label, value in values.items():
        facts += _facts(label, value, Source(name, line, f"{label}: {value}"[:400]))
    package = values.get("TensorFlow package")
    facts = [replace(f, package=package) if isinstance(f, TensorFlowVersion) else f for f in facts]
    more = f"`{TOOL} check --format markdown` makes a report that contains every fact"
    facts.append(Unreadable(Source(name), "what the report does not list", more))
    return Facts(tuple(facts), "machine", _called(name))


def _findings(text: str, name: str) -> Iterator[RestatedFinding]:
    """Yield the findings that a report contains, the verdict first."""
    verdict = _VERDICT.search(text)
    if verdict is not None:
        matches = [verdict, *_ALSO.finditer(text, verdict.end())]
    else:
        verdict = _HEADLINE.search(text)
        if verdict is None or f"<sub>{TOOL} " not in text:
            return
        matches = [verdict, *_FOLDED.finditer(text, verdict.end())]
    for match in matches:
        groups = match.groupdict("")
        words = groups.get("lead") or groups.get("sure", "")
        sure = _SURENESS.get(" ".join(words.split()), "certain")
        source = Source(name, text.count("\n", 0, match.start("code")) + 1, match[0].strip()[:400])
        yield RestatedFinding(source, match["code"], groups.get("severity") or None, sure)


def _labelled(rows: str) -> Iterator[tuple[str, str]]:
    """Yield the listed facts as (label, value). A row without a label continues the previous row."""
    label, value = "", ""
    for row in rows.split("\n"):
        words = row.strip()
        begun = next((known for known in _LABELS if words.startswith(known + ":")), None)
        if begun is not None:
            if label:
                yield label, value
            label, value = begun, words[len(begun) + 1 :].strip()
        elif label and words:
            value += f" {words}"
    if label:
        yield label, value


def _facts(label: str, value: str, source: Source) -> Iterator[Fact]:
    if label in _VERSIONS:
        version = _VERSION.fullmatch(value)
        if version:
            yield _VERSIONS[label](source, value)
    elif label == "Keras" and _VERSION.fullmatch(value):
        yield Package(source, "keras", value)
    elif label == "GPU":
        for gpu in _GPU.finditer(value):
            yield Gpu(
                source, gpu["name"].strip(), gpu["capability"], int(gpu["memory"]) if gpu["memory"] else None
            )
    elif label == "Operating system":
        yield OperatingSystem(source, value[:80])
    elif label == "Platform" and value.lower() in ("linux", "windows", "wsl", "macos"):
        yield Platform(source, value.lower())
    elif label == "Surroundings":
        for kind in re.findall(r"[a-z][a-z0-9-]{1,30}", value):
            yield EnvironmentKind(source, kind)
            if kind == "simulated-gpu":
                yield Symptom(source, kind)
    elif label == "GPUs that TensorFlow registered" and re.fullmatch(r"[1-9]\d?", value):
        yield GpuRegistered(source, count=int(value))
    elif label in ("Libraries that opened", "Libraries that did not open"):
        for library in re.findall(r"[\w.+-]{3,80}", value):
            yield (
                LibraryLoaded(source, library)
                if label.endswith(" opened")
                else LibraryNotLoaded(source, library, cause="unknown")
            )
