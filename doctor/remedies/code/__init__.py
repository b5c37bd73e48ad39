"""Code for a program that uses TensorFlow, with the names that its release has.

The one source of code for the prescriptions of findings and for `tfgpu-doctor snippet`. Every function takes
a TensorFlow version (None: a current one) and returns code to paste. tests/snippet runs each of them with
real TensorFlow 2, and compares the names for 1.x, 2.0 and 2.3 with those in the wheels.
"""

from doctor.remedies.code.checks import clear_session, compat_v1, convolution, list_gpus
from doctor.remedies.code.eras import ERAS, era, era_name, has_growth_variable
from doctor.remedies.code.memory import memory_fraction, memory_growth, memory_limit, virtual_gpus
from doctor.remedies.code.placement import (
    cpu_only,
    device_placement,
    log_placement,
    pin_to_cpu,
    soft_placement,
    visible_devices,
)
from doctor.remedies.code.several import multi_gpu, multi_worker
from doctor.remedies.code.variables import environment

__all__ = [
    "ERAS",
    "clear_session",
    "compat_v1",
    "convolution",
    "cpu_only",
    "device_placement",
    "environment",
    "era",
    "era_name",
    "has_growth_variable",
    "list_gpus",
    "log_placement",
    "memory_fraction",
    "memory_growth",
    "memory_limit",
    "multi_gpu",
    "multi_worker",
    "pin_to_cpu",
    "soft_placement",
    "virtual_gpus",
    "visible_devices",
]
