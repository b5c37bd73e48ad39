"""gpu-config-conflict: settings exclude each other, or were passed wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, manual, python
from doctor.remedies import code, commands
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of

if TYPE_CHECKING:
    from doctor.case import Case

_TWO_DEVICES = (
    "Two parts of one process map GPU:0 to different devices: a session's visible_device_list and TensorFlow"
    " 2's own configuration."
)
MESSAGES = {
    "cannot differ": "The program set memory growth for only some of the visible GPUs; the setting must be"
    " the same for all of them.",
    "mapped to multiple": _TWO_DEVICES,
    "different GPU config": _TWO_DEVICES,
    "virtual devices configured": "The program set both memory growth and a fixed memory limit for one GPU;"
    " they exclude each other.",
    "limit on CPU": "The program set a memory limit for the CPU; only GPUs accept one.",
    "() missing": "tf.config.experimental.set_memory_growth requires two arguments: one PhysicalDevice, and"
    " True or False.",
}
"""What TensorFlow's messages about contradicting settings mean, by words of the messages."""


@rule(
    "gpu-config-conflict",
    "GPU settings exclude each other or were passed wrongly",
    explains=("device-not-found",),
    needs=(
        "config-conflict",
        "config-wrong-object",
        "invalid-ordinal",
        "gpu-index-error",
        "variable-misspelt",
    ),
)
def gpu_config_conflict(case: Case) -> Iterator[Finding]:
    """GPU settings exclude each other, or were passed wrongly.

    ## What it means
    Memory growth must be the same for all visible GPUs; growth and a fixed limit exclude each other; visible
    devices must be physical devices and must agree with CUDA_VISIBLE_DEVICES; one process can map each GPU
    only once. CUDA ignores a variable with a misspelt name.

    ## What you see
    `Memory growth cannot differ between GPU devices`, `Cannot set memory growth on device when virtual
    devices configured`, `TensorFlow device (GPU:0) is being mapped to multiple devices`, `'list' object has
    no attribute 'device_type'`.

    ## What to do
    Set growth for every GPU in a loop, or first choose one GPU with `tf.config.set_visible_devices`; set
    either growth or a limit; pass PhysicalDevice objects one by one.
    """
    facts = case.facts
    conflict = facts.symptoms("config-conflict", "config-wrong-object")
    ordinals = facts.symptoms("invalid-ordinal")
    named = [s for s in ordinals if s.get("entry")]
    if named and not conflict:
        yield found(
            "gpu-config-conflict",
            f"visible_device_list accepts only the numbers of visible GPUs, and {named[0].get('entry')} is"
            " not a number.",
            named[:2],
            steps=[manual('Write the numbers of the GPUs into visible_device_list: "0", or "0,1" for two')],
            verify=commands.list_gpus(case),
        )
        return
    negative = [s for s in ordinals if s.get("id").startswith("-")]
    if negative and not conflict:
        yield found(
            "gpu-config-conflict",
            f"visible_device_list accepts only the numbers of visible GPUs, and {negative[0].get('id')} is "
            "not one of them. CUDA_VISIBLE_DEVICES=-1 hides all GPUs.",
            negative[:2],
            steps=[
                manual(
                    "Set the environment variable CUDA_VISIBLE_DEVICES=-1 before the program starts, and"
                    " leave visible_device_list empty"
                ),
                manual(
                    "Or set the number of GPUs to 0 in the options of the session: device_count={'GPU': 0} of"
                    ' ConfigProto in Python, putDeviceCount("GPU", 0) of its builder in Java'
                ),
            ],
            verify=commands.list_gpus(case),
        )
        return
    misspelt = facts.symptoms("variable-misspelt")
    if misspelt and not conflict and case.env.get("CUDA_VISIBLE_DEVICES") is None:
        name, machine = misspelt[0].get("name"), facts.kind == "machine"
        yield found(
            "gpu-config-conflict",
            f"CUDA reads the variable CUDA_VISIBLE_DEVICES. {name} is a different name,"
            f" so setting it does nothing.",
            misspelt[:2],
            title="The variable that chooses the GPUs is misspelt",
            severity="warning" if machine else "",  # the GPUs work, but the choice has no effect
            confidence="likely",
            steps=[
                manual(
                    f"Write CUDA_VISIBLE_DEVICES in place of {name} where it is set, and start the program"
                    " again"
                    if machine
                    else f"Set CUDA_VISIBLE_DEVICES instead of {name}, before the program imports TensorFlow"
                )
            ],
            verify=commands.list_gpus(case),
        )
        return
    if not conflict:
        return
    first = conflict[0].source.text
    text = next((text for words, text in MESSAGES.items() if words in first), "") or (
        "ConfigProto without parentheses is the class: the program set the option on the class instead of on"
        " an instance, ConfigProto()."
        if conflict[0].get("option")
        else "The call requires one PhysicalDevice from tf.config.list_physical_devices('GPU') but got"
        " something else."
        if conflict[0].kind == "config-wrong-object"
        else "GPU settings contradict each other."
    )
    steps = [
        python(
            code.memory_growth(version_of(case)), "sets memory growth for every GPU; remove any memory limit"
        )
    ]
    if text == _TWO_DEVICES:
        steps = [
            python(
                code.visible_devices(version_of(case), (0,)),
                "choose the GPU only here, before the first op (in a group of processes, by the process's"
                " rank)",
            ),
            manual(
                "Remove visible_device_list and device_count from every ConfigProto: one process can map a"
                " GPU only once"
            ),
        ]
    yield found("gpu-config-conflict", text, conflict[:2], steps=steps, verify=commands.list_gpus(case))
