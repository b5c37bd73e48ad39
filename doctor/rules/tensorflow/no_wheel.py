"""tf-no-wheel: pip has no TensorFlow for this Python, platform or architecture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import PythonVersion, Symptom
from doctor.findings import Finding, manual, shell
from doctor.remedies import commands
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.gpu_package import asked_for_the_stub

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "tf-no-wheel",
    "pip has no TensorFlow for this Python, platform or architecture",
    explains=("tf-not-installed", "tf-import-failed"),
    needs=(
        "no-matching-distribution",
        "wheel-platform",
        "python-refused",
        "wheel-address-gone",
        "musl-libc",
        "python-without-wheels",
    ),
)
def tf_no_wheel(case: Case) -> Iterator[Finding]:
    """pip has no TensorFlow for this Python, platform or architecture.

    ## What it means
    Each release has wheels for only a few Python versions and platforms, and none for 32-bit systems. pip
    offers only releases that fit the Python that runs pip; if none fits, it prints "from versions: none".

    ## What you see
    `Could not find a version that satisfies the requirement tensorflow`, `No matching distribution found`,
    `is not a supported wheel on this platform`.

    ## What to do
    Use a 64-bit Python for which TensorFlow has a wheel (uv or conda installs one in a minute). Or
    install a TensorFlow release that has a wheel for this Python.
    """
    facts = case.facts
    said = facts.symptoms(
        "no-matching-distribution", "wheel-platform", "python-refused", "wheel-address-gone"
    )
    stub = asked_for_the_stub(case)
    said = [s for s in said if s not in stub]
    if (musl := facts.symptoms("musl-libc")) and (facts.kind == "machine" or case.tensorflow is not None):
        yield _musl(case, musl)
        return
    other = facts.symptoms("python-without-wheels")
    if other and (said or facts.absent("tensorflow")):
        yield _other_python(case, other, said)
        return
    if not said:
        return
    # imported here because few reports need these modules, and importing them slows every start
    from doctor.remedies.cure import Cure
    from doctor.rules.tensorflow.available import environment, target
    from doctor.rules.tensorflow.unavailable import Reason, why_none

    narrow = [*facts.symptoms("python-32bit")[:1], *[p for p in facts.of(PythonVersion) if p.bits == 32][:1]]
    if narrow:
        reason = Reason(
            "This is a 32-bit Python or system, for which pip's index has no wheel of TensorFlow.",
            steps=(manual("Install a 64-bit Python (on a 64-bit operating system)"),),
        )
        release, cure = None, Cure(())
    else:
        reason = why_none(case, gone=all(s.kind == "wheel-address-gone" for s in said))
        release = None if reason.enough else reason.target or target(case)
        cure = environment(case, release, reason.platform)
    known = case.python is not None and case.platform is not None and cure.steps
    shows = commands.run_python(
        case, "import sys, struct, platform; print(sys.version, struct.calcsize('P') * 8, platform.machine())"
    )
    yield found(
        "tf-no-wheel",
        reason.text,
        [*said[:3], *narrow, case.python],
        tables=[*reason.rows, release if release is not None and cure.version == release.version else None],
        steps=[
            *reason.steps,
            *cure.steps,
            *reason.instead,
            *([] if known else [shell(shows, "shows Python's version, 32 or 64 bits, and the processor")]),
        ],
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)", cure.python),
    )


def _musl(case: Case, signs: list[Symptom]) -> Finding:
    """The finding for a system whose C library no TensorFlow wheel supports."""
    return found(
        "tf-no-wheel",
        "This system's C library is musl (Alpine Linux), but every TensorFlow wheel for Linux needs glibc."
        " No wheel installs or loads on this system.",
        [*signs[:1], case.os, case.tensorflow],
        confidence="certain" if case.facts.kind == "machine" else "likely",
        steps=[
            manual(
                "Use a system or an image with glibc. If a Dockerfile starts from an Alpine image such as"
                " python:3.12-alpine, use python:3.12-slim (Debian) or tensorflow/tensorflow:latest-gpu"
                " instead",
                platform="linux",
            )
        ],
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)"),
    )


def _other_python(case: Case, signs: list[Symptom], said: list[Symptom]) -> Finding:
    """The finding for a Python that is not CPython's default build."""
    from doctor.rules.tensorflow.available import environment, target

    release = target(case)
    cure = environment(case, release)
    return found(
        "tf-no-wheel",
        f"This Python is {'PyPy' if 'pypy' in signs[0].get('build').lower() else 'a free-threaded build'}."
        " Every TensorFlow wheel is made for CPython's default build, so none can be installed here.",
        [*said[:2], signs[0], case.python, case.facts.absent("tensorflow")],
        tables=[release],
        steps=cure.steps,
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)", cure.python),
    )
