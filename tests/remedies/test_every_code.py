"""Tests that for every finding code that `check` can report on a machine, some test follows the cure on such
a machine. A new code without such a test fails.

`test_next_check.py` follows the printed steps on each machine below, and asserts the code before and that the
machine is healthy afterwards; `tests/probe/test_simulated_faults.py` does the same with a simulated GPU.
"""

from __future__ import annotations

import ast

from doctor.probe.calls import SAME_AS_LOGGED
from doctor.rules import ORDER, rule_of
from tests.probe.test_vocabulary import FOLDER, documented
from tests.remedies.faulty import EVERY
from tests.remedies.test_next_check import DEEP, LATER, ON_WINDOWS

NO_MACHINE = {
    "tf-gpu-package-removed": "pip refuses the package, so that no environment holds it",
    "tf-api-version": "the program's own code is at fault, which no check reads",
    "known-release-bug": "the release fails in a program that XLA compiles, and no file shows that it will",
    "gpu-config-too-late": "the program configures its GPUs too late, in its own code",
    "memory-limit-misfit": "the program limits its own memory, in its own code",
    "memory-leak": "the program's memory grows while it runs",
    "model-oom": "the program's model is too large",
    "cudnn-init-oom": "the program takes the memory itself; the deep check leaves some, with memory growth",
    "host-oom": "the program's data fills the RAM, which is free again when the program has ended",
    "disk-full": "a disk that was full while the program ran may have space again",
    "nccl-failure": "the program's GPUs exchange data, which no check makes them do",
    "op-no-gpu-kernel": "the program places an op where no kernel is",
    "device-not-found": "the program names a device",
}
"""Codes that only a report can show, with the reason why no machine can."""
ONLY_OF_PROGRAMS = {"nccl-failure": {"peer-access"}}
"""Symptoms of calls that the probes do not make."""


def followed() -> set[str]:
    """Return the codes whose printed steps are followed on a machine. If a machine may get either of two
    codes, neither of them counts."""
    stated = [code for machines in (EVERY, ON_WINDOWS, DEEP) for code, _ in machines.values()]
    return {*(code for code in stated if "|" not in code), *({"tf-windows-native"} if LATER else ())}


def seen_on_machines() -> set[str]:
    """Return the names of all facts and symptoms that the probes find without starting TensorFlow, among
    other names."""
    made = {
        node.func.id
        for path in FOLDER.glob("*.py")
        if path.name != "deep.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return made | documented() | set(SAME_AS_LOGGED.values())


def test_every_code_has_a_machine_or_a_reason_why_none_shows_it() -> None:
    to_cure = {code for code in ORDER if rule_of(code).severity != "info"}
    assert to_cure - followed() - set(NO_MACHINE) == set(), (
        "follow its cure on a machine (tests/remedies/faulty.py), or give the reason in NO_MACHINE"
    )
    assert followed() & set(NO_MACHINE) == set(), "a machine shows it"


def test_no_probe_finds_what_only_a_report_can_show() -> None:
    seen = seen_on_machines()
    for code, why in NO_MACHINE.items():
        reads = {*rule_of(code).reads} & seen - ONLY_OF_PROGRAMS.get(code, set())
        assert not reads, f"{code} ({why}): a machine shows {reads}"
