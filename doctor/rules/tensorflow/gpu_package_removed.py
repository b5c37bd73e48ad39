"""tf-gpu-package-removed: the user requested tensorflow-gpu, which no longer exists."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING

from doctor.case.span import log_day
from doctor.facts import SentenceKind
from doctor.findings import Finding
from doctor.remedies import cures
from doctor.remedies.usual_steps import required
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.gpu_package import asked_for_the_stub

if TYPE_CHECKING:
    from doctor.case import Case


FAILS = 0.5
"""A sentence counts as saying that an installation fails if the probability of that is higher than this."""
STUB = date(2022, 12, 1)
"""The stub 2.12.0 was published in this month."""


@rule(
    "tf-gpu-package-removed",
    "The package tensorflow-gpu ended with release 2.11",
    explains=("tf-no-wheel", "tf-not-installed"),
    needs=("gpu-package-removed", "no-matching-distribution", "gpu-package-unpinned"),
)
def tf_gpu_package_removed(case: Case) -> Iterator[Finding]:
    """The user tried to install tensorflow-gpu 2.12 or later, a stub that always fails.

    ## What it means
    Since 2.1, the package `tensorflow` contains the GPU build. `tensorflow-gpu` ended with release 2.11;
    release 2.12 is a stub whose installation fails on purpose.

    ## What you see
    `The "tensorflow-gpu" package has been removed! Please install "tensorflow" instead.`

    ## What to do
    Run `pip install 'tensorflow[and-cuda]'` on Linux and WSL2.
    """
    facts = case.facts
    said = facts.symptoms("gpu-package-removed")
    asked = asked_for_the_stub(case)
    unpinned = facts.symptoms("gpu-package-unpinned") if _installation_fails(case) else []
    if not (said or asked or unpinned):
        return
    row = case.tables.tensorflow("2.12.0", "tensorflow-gpu", "any") or case.tables.tensorflow(
        "2.11.0", "tensorflow-gpu"
    )
    cure = required(case, cures.another_build(case))
    yield found(
        "tf-gpu-package-removed",
        "tensorflow-gpu 2.12 is a stub that refuses to install; the GPU build is in the package tensorflow."
        + (" Without a version, pip takes this newest release." if unpinned else ""),
        [*said[:2], *asked[:2], *unpinned[:1]],
        confidence="certain" if said or asked else "likely",
        tables=[row],
        steps=cure.steps,
        verify=cure.lists_gpus(case),
    )


def _installation_fails(case: Case) -> bool:
    """Whether somebody writes that an installation fails, and nothing is older than the stub (December
    2022)."""
    day = log_day(case)
    fails = any(k.kind == "installation" and k.probability > FAILS for k in case.facts.of(SentenceKind))
    return fails and not case.loaded and "conda" not in case.environments and (day is None or day >= STUB)
