"""Divides GPUs into instances, by MIG profiles with the names that nvidia-smi uses, such as "3g.20gb,1g.5gb".

Source: NVIDIA MIG User Guide, "Supported GPUs", "MIG Device Names", "Supported MIG Profiles".
"""

from __future__ import annotations

import re
from collections import Counter

from doctor import lazy
from doctor.simulate.compilation import CallError
from doctor.simulate.machine import Instance, SimulatedGpu
from doctor.values import replace

OFF, EMPTY = "off", "empty"
_PROFILE = lazy.compile(r"(\d)g\.(\d{1,3})gb(\+me(?:\.all)?|-me|\+gfx)?", re.IGNORECASE)
# The number of a profile's first GPU instance, by the profile's slices, as `nvidia-smi mig -lgi` shows it in
# the guide.
_FIRST_NUMBER = {1: 7, 2: 3, 3: 1, 4: 1, 7: 0}


def is_divisible(name: str, capability: str) -> bool:
    """Whether a GPU can be divided: data-centre chips since Ampere, and the larger RTX PRO cards of
    Blackwell."""
    return capability in ("8.0", "9.0", "10.0", "10.3") or bool(
        re.search(r"RTX PRO [456]000.{0,60}Blackwell", name)
    )


def divided(gpu: SimulatedGpu, division: str) -> SimulatedGpu:
    """The GPU, divided as requested. division: profiles separated by commas, "empty" for MIG mode without
    instances, or "off".

    An instance has the memory in its profile's name, and its slices' share of the multiprocessors, rounded to
    an even number: 14 per slice on an A100, as on a real A100. Raises CallError for profiles that do not
    exist or do not fit.
    """
    if division == OFF:
        return gpu
    if not gpu.divisible:
        raise CallError(
            f"{gpu.name} cannot be divided (MIG is a feature of A100, A30, H100, H200, B200 and similar GPUs)"
        )
    if division == EMPTY:
        return replace(gpu, instances=())
    total = 4 if "A30" in gpu.name or "RTX PRO" in gpu.name else 7
    share = gpu.multiprocessors // total // 2 * 2
    instances: list[Instance] = []
    numbers: Counter[int] = Counter()
    for profile in division.split(","):
        match = _PROFILE.fullmatch(profile.strip())
        if match is None or int(match[1]) not in _FIRST_NUMBER or int(match[1]) > total:
            raise CallError(
                f"{profile!r} is not a MIG profile of {gpu.name}: profiles look like 1g.5gb, 2g.10gb, 3g.20gb"
            )
        slices = int(match[1])
        first = _FIRST_NUMBER[slices]
        number = first + numbers[first]
        numbers[first] += 1
        name = profile.strip().lower()
        instances.append(Instance(name, number, slices, int(match[2]) * 1024, share * slices))
    if (
        sum(one.slices for one in instances) > total
        or sum(one.memory_mib for one in instances) > gpu.memory_mib
    ):
        size = f"{total} slices and {gpu.memory_mib // 1024} GiB"
        raise CallError(f"{division} does not fit on {gpu.name}, which has {size}")
    return replace(gpu, instances=tuple(sorted(instances, key=lambda one: one.number)))
