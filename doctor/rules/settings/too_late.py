"""gpu-config-too-late: the settings come after the GPUs were initialised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, python
from doctor.remedies import code, commands
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "gpu-config-too-late",
    "The program changes GPU settings after TensorFlow has initialised the GPUs",
    needs=("config-too-late",),
)
def gpu_config_too_late(case: Case) -> Iterator[Finding]:
    """Memory growth, visible or logical devices are set after the GPUs were initialised.

    ## What it means
    These settings work only before TensorFlow's first use of a GPU. The GPUs start when the program, or a
    library that it imports, lists *logical* devices or creates a tensor, a strategy or a model.

    ## How it shows
    `Physical devices cannot be modified after being initialized` (also Virtual, Visible, Logical devices).

    ## What to do
    Move the settings to the top, right after `import tensorflow`; in a notebook restart the kernel first; or
    use TF_FORCE_GPU_ALLOW_GROWTH=true in the environment.
    """
    facts = case.facts
    late = facts.symptoms("config-too-late")
    yield found(
        "gpu-config-too-late",
        "The settings were changed after the GPUs had been initialised; something before them (an op, a"
        " model, a strategy, an import) had started TensorFlow's runtime.",
        late[:2],
        steps=[
            python(
                code.memory_growth(version_of(case)),
                "at the very top of the program, before other imports that use TensorFlow",
            ),
            *commands.growth_variable(
                case, version_of(case), "sets memory growth from outside, so it cannot come too late"
            ),
        ],
        verify=commands.list_gpus(case),
    )
