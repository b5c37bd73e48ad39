"""gpu-config-too-late: the program changes the settings after TensorFlow has initialised the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, Step, manual, python, shell
from doctor.remedies import code, commands
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import Export

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "gpu-config-too-late",
    "The program changes GPU settings after TensorFlow has initialised the GPUs",
    needs=("config-too-late",),
)
def gpu_config_too_late(case: Case) -> Iterator[Finding]:
    """The program sets memory growth, visible devices or logical devices after the GPUs were initialised.

    ## What it means
    These settings work only before TensorFlow's first use of a GPU. TensorFlow initialises the GPUs when the
    program, or a library that it imports, lists *logical* devices or creates a tensor, a strategy or a model.

    ## What you see
    `Physical devices cannot be modified after being initialized` (also Virtual, Visible, Logical devices).

    ## What to do
    Move the settings to the top of the program, right after `import tensorflow`; in a notebook, restart the
    kernel first. Or set the environment variable TF_FORCE_GPU_ALLOW_GROWTH=true.
    """
    late = case.facts.symptoms("config-too-late")[:2]
    release = version_of(case)
    kind = next((s.get("what").lower() for s in late if s.get("what")), "")
    growth = [
        *commands.growth_variable(
            case, release, "sets memory growth before the program starts, so it is never too late"
        )
    ]
    # context.py: set_memory_growth says Physical, set_logical_device_configuration Virtual devices
    settings: dict[str, tuple[str, list[Step]]] = {
        "virtual": (code.memory_limit(release), []),
        "logical": (code.memory_limit(release), []),
        "visible": (
            code.visible_devices(release),
            [shell(Export("CUDA_VISIBLE_DEVICES", "0"), "or chooses the GPUs before the program starts")],
        ),
    }
    setting, variable = settings.get(kind, (code.memory_growth(release), growth))
    yield found(
        "gpu-config-too-late",
        "The program changed the settings after TensorFlow had initialised the GPUs: an earlier op, model,"
        " strategy or import had started TensorFlow's runtime.",
        late,
        steps=[
            manual(
                "In a notebook, restart the kernel, run the cell with the setting before every other cell,"
                " and run it only once"
            ),
            python(
                setting,
                "put the setting, with your own values, at the very top of the program, before other imports"
                " that use TensorFlow",
            ),
            *variable,
        ],
        verify=commands.list_gpus(case),
    )
