"""Tests that the printed commands run only what the tool prescribes, whatever a report or a recorded machine
contains."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor import validated
from doctor.diagnose import diagnose
from doctor.errors import DefectError, UsageError
from doctor.facts import (
    CudaVersion,
    DriverVersion,
    EnvironmentKind,
    Fact,
    Facts,
    Glibc,
    Gpu,
    LibraryFile,
    LibraryNotLoaded,
    OperatingSystem,
    Platform,
    PythonVersion,
    Source,
    Symptom,
)
from doctor.findings import Diagnosis, Step
from doctor.logs import read
from doctor.logs.signatures import catalogue
from doctor.plan import PlanContext, VersionRequest, make_plans
from doctor.probe import examine
from doctor.probe.machine import Machine
from doctor.shell import Path as ShellPath, commands_of, one_line
from tests.rules.cases import FIRES
from tests.rules.situation import bundled, diagnosed
from tests.sampling import each, sampled
from tests.shell_readers import PAYLOADS, executed, held

RECORDS = Path(__file__).resolve().parents[1] / "data" / "machines"
INDEXES = {
    "--extra-index-url",
    *(row["index"] for row in bundled().store.all("nvidia_builds") if row.get("index")),
}
"""The index options and addresses of NVIDIA's wheels for its boards, from the tables."""
PIP_OPTIONS = {
    "--force-reinstall",
    "--no-cache-dir",
    "--upgrade",
    "--no-cache",
    "--no-deps",
    "--reinstall",
    "--python",
    "--prefer-binary",
}


def steps_of(diagnosis: Diagnosis) -> Iterator[Step]:
    for finding in diagnosis.findings:
        yield from finding.prescription
        if finding.proof is not None:
            yield finding.proof


def safe(diagnosis: Diagnosis, platform: str, *, report: bool) -> list[str]:
    """Assert that a shell reads every command in a diagnosis as the arguments from which it was made. Returns
    the texts for sh. report: whether the facts come from a text. Words from a text may get into a command
    only as a version, a name or a path of a known form.
    """
    texts = []
    for step in steps_of(diagnosis):
        if step.command is None:
            assert step.kind != "shell"
            continue
        where = step.platform or platform
        assert step.text.isprintable()
        if step.kind != "shell":
            continue
        held(step.command, where)
        if where != "windows":
            texts.append(step.text)
        for command in commands_of(step.command):
            words = [word if isinstance(word, str) else "" for word in command.argv]
            if report:
                assert not re.search(r"evil|PWNED|calc\.exe", step.text), step.text
            if "install" in words and {"pip", "uv"} & set(words[:4]):
                asked = words[words.index("install") + 1 :]
                wrong = [
                    w
                    for w in asked
                    if w and w not in PIP_OPTIONS | INDEXES and validated.requirement(w) is None
                ]
                assert not wrong, step.text
    return texts


def filled(fact: Fact, payload: str, *, whole: bool) -> Iterator[Fact]:
    """Yield copies of the fact with a payload in each of its text fields in turn: instead of the text if
    `whole`, otherwise after it."""
    for field in dataclasses.fields(fact):
        value = getattr(fact, field.name)
        if field.name in ("source", "code") or (isinstance(fact, Symptom) and field.name == "kind"):
            continue
        if isinstance(value, str):
            yield dataclasses.replace(fact, **{field.name: payload if whole else value + payload})
        elif value is None:
            yield dataclasses.replace(fact, **{field.name: payload})
        elif isinstance(fact, Symptom):
            changed = tuple((name, payload if whole else text + payload) for name, text in fact.detail)
            yield dataclasses.replace(fact, detail=changed)


def judged_with(facts: Facts, changed: list[Fact], platform: str) -> Diagnosis | None:
    """Return the diagnosis, or None if a rule rejects a value that no reader can produce: then there is an
    error, and no command."""
    kept = changed if platform == "linux" else [f for f in changed if not isinstance(f, Platform)]
    more = [] if platform == "linux" else [Platform(Source("moved"), platform)]
    try:
        return diagnose(Facts((*kept, *more), facts.kind, facts.name, facts.lines), bundled())
    except DefectError:
        return None


PARTS = 36
"""Each part tests every 36th case, because testing all of them is slow."""


@pytest.mark.parametrize("part", sampled(range(PARTS), 2))
def test_hostile_text_in_any_group_of_any_pattern_does_not_run(part: int, tmp_path: Path) -> None:
    """The input is text: in a pattern's own example, a payload replaces the words of each named group, and
    the tool reads the result."""
    payloads = itertools.cycle(PAYLOADS[part:] + PAYLOADS[:part])
    texts: set[str] = set()
    for signature in catalogue()[part::PARTS]:
        match = re.search(signature.pattern, signature.example, re.I)
        assert match is not None
        for name, value in match.groupdict().items():
            for whole in (True, False) if value is not None else ():
                start, end = match.span(name)
                payload = next(payloads)
                text = signature.example[: start if whole else end] + payload + signature.example[end:]
                diagnosis = diagnose(read(text.encode("utf-8", "replace"), "report"), bundled())
                texts.update(safe(diagnosis, "linux", report=True))
    assert texts
    executed(sorted(texts), tmp_path)


@pytest.mark.parametrize(
    ("platform", "part"), sampled(itertools.product(["linux", "windows"], range(PARTS)), 2)
)
def test_hostile_text_in_any_value_of_any_fact_does_not_run(platform: str, part: int, tmp_path: Path) -> None:
    """The input consists of facts, which no pattern checks. A payload is put into each text of each fact in
    the cases that make the codes fire."""
    payloads = itertools.cycle(PAYLOADS[part:] + PAYLOADS[:part])
    texts: set[str] = set()
    judged = 0
    seen: set[tuple[str, ...]] = set()
    for case in FIRES[part::PARTS]:
        facts = diagnosed(case.text).facts
        items = list(facts)
        for at, fact in enumerate(items):
            kind = (case.code, type(fact).__name__, getattr(fact, "kind", ""))
            if kind in seen:
                continue
            seen.add(kind)
            for whole in (True, False):
                for hostile in filled(fact, next(payloads), whole=whole):
                    diagnosis = judged_with(facts, [*items[:at], hostile, *items[at + 1 :]], platform)
                    if diagnosis is not None:
                        judged += 1
                        texts.update(safe(diagnosis, platform, report=True))
    assert judged > len(seen)
    executed(sorted(texts), tmp_path)


@pytest.mark.skipif(
    sys.platform == "win32", reason="the records contain symbolic links and names with colons"
)
@pytest.mark.parametrize(("platform", "name"), sampled(itertools.product(
    ["linux", "windows"], sorted((path.name for path in RECORDS.iterdir() if path.is_dir()), reverse=True),
), 2))  # fmt: skip
@pytest.mark.parametrize("most", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_hostile_text_in_any_value_of_a_recorded_machine_does_not_run(
    name: str, platform: str, most: int, tmp_path: Path
) -> None:
    """most: the largest number of facts of one kind that get a payload."""
    payloads = itertools.cycle(PAYLOADS)
    facts = examine(Machine.at(RECORDS / name))
    items = [f for f in facts if not isinstance(f, PythonVersion)]
    named = PythonVersion(Source("machine", None, "--python"), "3.11.2", None, "/srv/e v/bin/python")
    items.append(named)
    texts: set[str] = set()
    seen: collections.Counter[tuple[str, str]] = collections.Counter()
    for at, fact in enumerate(items):
        kind = (type(fact).__name__, getattr(fact, "kind", ""))
        seen[kind] += 1
        if seen[kind] > most:
            continue
        for whole in (True, False):
            for hostile in filled(fact, next(payloads), whole=whole):
                diagnosis = judged_with(facts, [*items[:at], hostile, *items[at + 1 :]], platform)
                if diagnosis is not None:
                    texts.update(safe(diagnosis, platform, report=False))
    assert texts or platform == "windows"
    executed(sorted(texts), tmp_path)


@pytest.mark.skipif(
    sys.platform == "win32", reason="the records contain symbolic links and names with colons"
)
def test_hostile_text_in_a_plan_for_a_recorded_machine_does_not_run(tmp_path: Path) -> None:
    payloads = itertools.cycle(PAYLOADS)
    items = list(examine(Machine.at(RECORDS / "simulated-rtx3070-2.18.1")))
    decide = (
        Gpu,
        OperatingSystem,
        PythonVersion,
        DriverVersion,
        Glibc,
        CudaVersion,
        Platform,
        EnvironmentKind,
    )
    texts: set[str] = set()
    for at, fact in enumerate(items):
        for hostile in filled(fact, next(payloads), whole=False) if isinstance(fact, decide) else ():
            facts = Facts((*items[:at], hostile, *items[at + 1 :]), "machine", "machine")
            try:
                outcome = make_plans(PlanContext(facts, bundled(), VersionRequest()))
            except (ValueError, KeyError, UsageError):
                continue  # the answer says what cannot be read
            for step in (s for plan in outcome.plans for s in plan.commands):
                assert one_line(step.text) == step.text
                if step.kind == "shell" and step.command is not None:
                    held(step.command, step.platform)
                    texts |= {step.text} if step.platform != "windows" else set()
    assert texts
    executed(sorted(texts), tmp_path)


@pytest.mark.parametrize(
    ("platform", "payload"), sampled(itertools.product(["linux", "windows"], PAYLOADS), 14)
)
def test_an_interpreter_with_any_name_runs_under_that_name(
    payload: str, platform: str, tmp_path: Path
) -> None:
    """`--python` gets a folder whose name is a command."""
    named = PythonVersion(Source("machine", None, "--python"), "3.11.2", None, f"/srv/{payload}/bin/python")
    forked = "CUDA_ERROR_NOT_INITIALIZED"  # its check starts the interpreter
    fault = next(row for row in FIRES if row.code == "gpu-bad-state" and forked in row.text)
    facts = Facts(
        (named, *diagnosed(fault.text).facts, Platform(Source("machine"), platform)), "machine", "machine"
    )
    diagnosis = diagnose(facts, bundled())
    texts = safe(diagnosis, platform, report=False)
    paths = [
        w
        for s in steps_of(diagnosis)
        for c in commands_of(s.command)
        for w in c.argv
        if isinstance(w, ShellPath)
    ]
    assert any(path.text == named.executable for path in paths)
    executed(texts, tmp_path)


REQUIRED = "tensorflow 2.15.0 requires {}, but you have numpy 2.0.1 which is incompatible.\n"


@each(
    "asked",
    [
        "git+https://evil.example/x",
        "numpy@https://evil.example/x",
        "--extra-index-url=https://evil.example/x",
        "-rhttps://evil.example/x",
        "evil==1.0",
        "numpy<2%a&calc.exe&",
        "./evil",
        "numpy===evil",
        "file:///evil",
    ],
)
def test_pips_output_in_a_report_installs_only_what_tensorflow_requires(asked: str) -> None:
    diagnosis = diagnosed(REQUIRED.format(asked))
    assert not [
        s.text for s in steps_of(diagnosis) if s.kind == "shell" and re.search("evil|calc|https", s.text)
    ]


def test_pips_output_in_a_report_gives_the_required_version() -> None:
    steps = [s.text for s in diagnosed(REQUIRED.format("numpy<2.0.0,>=1.23.5")).verdict.prescription]
    assert "python3 -m pip install 'numpy<2.0.0,>=1.23.5'" in steps


@pytest.mark.parametrize(
    "folder", ["/tmp/x", "/usr/$(touch PWNED)/lib64", "/home/e/Downloads", "/usr/local/cuda/../../tmp/x"]
)
def test_the_loader_gets_a_reported_folder_only_if_cuda_is_usually_there(folder: str) -> None:
    source = Source("report", 1, "ls")
    facts = (
        LibraryNotLoaded(source, "libcudart.so.11.0"),
        LibraryFile(source, "libcudart.so.11.0", f"{folder}/libcudart.so.11.0", searched=False),
        Platform(source, "linux"),
    )
    texts = [
        s.text
        for s in steps_of(diagnose(Facts(facts, "report", "report", 3), bundled()))
        if s.kind == "shell"
    ]
    assert texts
    assert not [text for text in texts if folder in text]
    known = dataclasses.replace(facts[1], path="/usr/local/cuda-11.2/lib64/libcudart.so.11.0")
    shown = steps_of(diagnose(Facts((facts[0], known, facts[2]), "report", "report", 3), bundled()))
    assert any('"/usr/local/cuda-11.2/lib64$' in s.text for s in shown)


@each("payload", PAYLOADS)
def test_only_a_number_is_used_as_the_number_of_a_gpu(payload: str) -> None:
    detail = (("gpu", f"0{payload}"), ("count", "3"))
    facts = Facts(
        (Symptom(Source("machine"), "ecc-errors", detail), Platform(Source("machine"), "linux")),
        "machine",
        "machine",
    )
    steps = [
        s for f in diagnose(facts, bundled()).findings if f.code == "gpu-bad-state" for s in f.prescription
    ]
    assert any("nvidia-smi -i 0 -q" in s.text for s in steps)


@pytest.mark.parametrize("name", ["x'); import os; os.system('touch PWNED')#.so", "a b.so", "-x.so"])
def test_a_custom_op_is_loaded_by_its_file_name_or_not_at_all(name: str) -> None:
    source = Source("report", 1, "tensorflow.python.framework.errors_impl.NotFoundError: undefined symbol")
    op = Symptom(source, "undefined-symbol", (("library", f"/home/e/{name}"), ("symbol", "_ZN10tensorflow")))
    diagnosis = diagnose(Facts((op,), "report", "report", 1), bundled())
    assert diagnosis.verdict.code == "tf-addon-mismatch"
    assert diagnosis.verdict.verify
    assert "load_op_library" not in diagnosis.verdict.verify


TLS = "ImportError: {}: cannot allocate memory in static TLS block\n"


@pytest.mark.parametrize(
    "path",
    [
        "/usr/$(touch${IFS}PWNED)/libgomp.so.1",
        "/tmp/libgomp.so.1",
        "/home/e/x/../site-packages/a.libs/libgomp.so.1",
    ],
)
def test_a_library_outside_the_environment_is_not_preloaded(path: str) -> None:
    steps = [s.text for s in diagnosed("import tensorflow as tf\n" + TLS.format(path)).verdict.prescription]
    assert not [text for text in steps if "LD_PRELOAD" in text]
    assert any("mport TensorFlow" in text for text in steps)
