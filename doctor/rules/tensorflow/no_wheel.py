"""tf-no-wheel: pip has no TensorFlow for this Python, platform or architecture."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import PythonVersion, Symptom
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.gpu_package import asked_for_the_stub


@rule(
    "tf-no-wheel",
    "pip has no TensorFlow for this Python, platform or architecture",
    explains=("tf-not-installed", "tf-import-failed"),
    needs=("no-matching-distribution", "wheel-platform", "python-refused", "wheel-address-gone", "python-told", "musl-libc"),
)
def tf_no_wheel(picture: Picture) -> Iterator[Finding]:
    """pip has no TensorFlow for this Python, platform or architecture.

    ## What it means
    Each release has wheels for a few Python versions and platforms only, none for 32-bit systems. pip offers what fits the Python that runs it, and
    where nothing does it says "from versions: none".

    ## How it shows
    `Could not find a version that satisfies the requirement tensorflow`, `No matching distribution found`, `is not a supported wheel on this platform`.

    ## What to do
    Use a Python for which there is a wheel (uv or conda make one in a minute), a 64-bit one; or ask for a release that has a wheel for this Python.
    """
    facts = picture.facts
    said = facts.symptoms("no-matching-distribution", "wheel-platform", "python-refused", "wheel-address-gone")
    stub = asked_for_the_stub(picture)
    said = [s for s in said if s not in stub]
    musl = facts.symptoms("musl-libc") if facts.kind == "machine" else []
    if musl:
        yield _musl(picture, musl)
        return
    told = [s for s in facts.symptoms("python-told") if re.search(r"tensorflow|텐서플로", s.source.text, re.IGNORECASE)]
    if not said and not told:
        return
    # what follows is read where it is needed: few reports are of this kind, and each start would pay for it
    from doctor.remedies.cures import Cure
    from doctor.rules.tensorflow.available import environment, target
    from doctor.rules.tensorflow.unavailable import Reason, why_none

    narrow = [*facts.symptoms("python-32bit")[:1], *[p for p in facts.of(PythonVersion) if p.bits == 32][:1]]
    if narrow:
        reason = Reason(
            "This is a 32-bit Python or system, and TensorFlow has never had 32-bit wheels for it.",
            steps=(manual("Install a 64-bit Python (on a 64-bit operating system)"),),
        )
        release, cure = None, Cure(())
    else:
        reason = why_none(picture, gone=bool(said) and all(s.kind == "wheel-address-gone" for s in said))
        release = None if reason.enough else reason.target or target(picture)
        cure = environment(picture, release, reason.platform)
    shows = commands.run_python(picture, "import sys, struct, platform; print(sys.version, struct.calcsize('P') * 8, platform.machine())")
    yield found(
        "tf-no-wheel",
        reason.text,
        [*said[:3], *told[:2], *narrow, picture.python],
        tables=[*reason.rows, release if cure.steps else None],
        steps=[*reason.steps, *cure.steps, *reason.instead, shell(shows, "shows Python, word size and processor")],
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)", cure.python),
    )


def _musl(picture: Picture, signs: list[Symptom]) -> Finding:
    """A system whose C library no wheel of TensorFlow is made for."""
    return found(
        "tf-no-wheel",
        "This system's C library is musl (Alpine Linux); every wheel of TensorFlow for Linux is made for glibc, and "
        "neither installs nor loads here.",
        [*signs[:1], picture.os, picture.tensorflow],
        steps=[
            manual(
                "Use a system or an image with glibc: in the Dockerfile take python:3.12-slim (Debian) in place of "
                "python:3.12-alpine, or tensorflow/tensorflow:latest-gpu",
                platform="linux",
            )
        ],
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )
