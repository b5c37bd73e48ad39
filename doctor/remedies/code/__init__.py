"""Code for a program that uses TensorFlow, with the function names of its release.

The prescriptions of findings and `tfgpu-doctor snippet` get all their code here. Each function returns code
to paste. If the code depends on the release, the function accepts a TensorFlow version (None: the newest
era). tests/snippet runs the code of each function with real TensorFlow 2, and compares the names for 1.x, 2.0
and 2.3 with those in the wheels.
"""

from typing import TYPE_CHECKING

from doctor import lazy

if TYPE_CHECKING:
    from doctor.remedies.code.checks import (
        clear_session as clear_session,
        compat_v1 as compat_v1,
        convolution as convolution,
        list_gpus as list_gpus,
        product as product,
    )
    from doctor.remedies.code.eras import (
        era as era,
        era_name as era_name,
        has_growth_variable as has_growth_variable,
        has_sessions as has_sessions,
    )
    from doctor.remedies.code.memory import (
        memory_fraction as memory_fraction,
        memory_growth as memory_growth,
        memory_limit as memory_limit,
        virtual_gpus as virtual_gpus,
    )
    from doctor.remedies.code.placement import (
        cpu_only as cpu_only,
        device_placement as device_placement,
        log_placement as log_placement,
        pin_to_cpu as pin_to_cpu,
        soft_placement as soft_placement,
        visible_devices as visible_devices,
    )
    from doctor.remedies.code.several import multi_gpu as multi_gpu, multi_worker as multi_worker
    from doctor.remedies.code.variables import environment as environment


__getattr__ = lazy.names(
    __name__,
    {
        "clear_session": "checks",
        "compat_v1": "checks",
        "convolution": "checks",
        "cpu_only": "placement",
        "device_placement": "placement",
        "environment": "variables",
        "era": "eras",
        "era_name": "eras",
        "has_growth_variable": "eras",
        "has_sessions": "eras",
        "list_gpus": "checks",
        "log_placement": "placement",
        "memory_fraction": "memory",
        "memory_growth": "memory",
        "memory_limit": "memory",
        "multi_gpu": "several",
        "multi_worker": "several",
        "pin_to_cpu": "placement",
        "product": "checks",
        "soft_placement": "placement",
        "virtual_gpus": "memory",
        "visible_devices": "placement",
    },
)
