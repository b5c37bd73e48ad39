"""tf-gpu-package-removed: the user requested tensorflow-gpu, which no longer exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding
from doctor.remedies import cures
from doctor.remedies.usual_steps import required
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.gpu_package import asked_for_the_stub

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "tf-gpu-package-removed",
    "The package tensorflow-gpu ended with release 2.11",
    explains=("tf-no-wheel", "tf-not-installed"),
    needs=("gpu-package-removed", "no-matching-distribution"),
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
    if not (said or asked):
        return
    row = case.tables.tensorflow("2.12.0", "tensorflow-gpu", "any") or case.tables.tensorflow(
        "2.11.0", "tensorflow-gpu"
    )
    cure = required(case, cures.another_build(case))
    yield found(
        "tf-gpu-package-removed",
        "tensorflow-gpu 2.12 is a stub that refuses to install; the GPU build is in the package tensorflow.",
        [*said[:2], *asked[:2]],
        tables=[row],
        steps=cure.steps,
        verify=cure.lists_gpus(case),
    )
