"""tf-gpu-package-removed: pip was asked for tensorflow-gpu after its end."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.findings import Finding
from doctor.picture import Picture
from doctor.remedies import cures
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.gpu_package import asked_for_the_stub


@rule(
    "tf-gpu-package-removed",
    "pip was asked for tensorflow-gpu, which ended with 2.11",
    explains=("tf-no-wheel", "tf-not-installed"),
    needs=("gpu-package-removed", "no-matching-distribution"),
)
def tf_gpu_package_removed(picture: Picture) -> Iterator[Finding]:
    """pip was asked for tensorflow-gpu 2.12 or later, a stub that only fails.

    ## What it means
    Since 2.1 the package `tensorflow` holds the GPU build; `tensorflow-gpu` ended with 2.11, and 2.12 is a stub whose installation fails on purpose.

    ## How it shows
    `The "tensorflow-gpu" package has been removed! Please install "tensorflow" instead.`

    ## What to do
    `pip install 'tensorflow[and-cuda]'` on Linux and WSL2.
    """
    facts = picture.facts
    said = facts.symptoms("gpu-package-removed")
    asked = asked_for_the_stub(picture)
    if not said and not asked:
        return
    row = picture.tables.tensorflow("2.12.0", "tensorflow-gpu", "any") or picture.tables.tensorflow(
        "2.11.0", "tensorflow-gpu"
    )
    cure = cures.another_build(picture)
    yield found(
        "tf-gpu-package-removed",
        "tensorflow-gpu 2.12 is a stub that refuses to install; the GPU build is in the package tensorflow.",
        [*said[:2], *asked[:2]],
        tables=[row] if row else [],
        steps=cure.steps,
        verify=cure.lists_gpus(picture),
    )
