"""TensorFlow's eras: ranges of releases with the same function names.

Read from the wheels: tf.config.experimental.set_memory_growth exists from 1.14 on,
tf.config.list_physical_devices and tf.config.set_visible_devices from 2.1 on,
tf.distribute.MultiWorkerMirroredStrategy from 2.4 on. tf.config.set_logical_device_configuration is already
in 2.3.0 (its experimental name still works in 2.21). TensorFlow 2.16 is the first release whose tf.keras is
Keras 3 (release notes of 2.16).
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAMES = {
    "1": "TensorFlow 1.x (sessions)",
    "any": "TensorFlow 1 and 2 (sessions of tf.compat.v1)",
    "2.0": "TensorFlow 2.0 to 2.3 (experimental names)",
    "2.4": "TensorFlow 2.4 to 2.15",
    "keras-3": "TensorFlow 2.16 and later (Keras 3)",
}
"""The name of each era, as the user sees it."""


@lru_cache(maxsize=256)
def era(version: str | None) -> str:
    """The era of a TensorFlow release: "1", "2.0", "2.4" or "keras-3" (also if the release is unknown).

    version: a release, or the span of the possible releases ("1.13.1 to 2.0.4"). The era of a span is that of
    its oldest release, whose names still exist in the newest; "any" if the span reaches from TensorFlow 1 to
    2.
    """
    oldest, _, newest = (version or "").partition(" to ")
    if newest and _numbers(oldest) < (2,) <= _numbers(newest):
        return "any"
    numbers = _numbers(oldest)
    if not numbers or numbers[0] >= 3 or numbers == (2,):
        return "keras-3"
    if numbers[0] < 2:
        return "1"
    if numbers[1] < 4:
        return "2.0"
    return "2.4" if numbers[1] < 16 else "keras-3"


def _numbers(version: str | None) -> tuple[int, ...]:
    """The major and the minor version, as far as the release is known."""
    return tuple(int(number) for number in re.findall(r"\d+", version or "")[:2])


def has_growth_variable(version: str | None) -> bool:
    """Whether a release reads TF_FORCE_GPU_ALLOW_GROWTH; True if the release is unknown.

    Read from libtensorflow_framework.so in the wheels of tensorflow-gpu: 1.12.0 contains the name, 1.11.0
    does not. For a span of releases, the newest one counts.
    """
    numbers = _numbers((version or "").rpartition(" to ")[2])
    return len(numbers) < 2 or numbers >= (1, 12)


def era_name(version: str | None) -> str:
    """The name of a release's era, as the user sees it."""
    return _NAMES[era(version)]


def config_module(version: str | None) -> str:
    """The module, as it is written in code, in which a TensorFlow 2 release has the functions that list
    devices and select them."""
    return "tf.config.experimental" if (2, 0) <= _numbers(version) < (2, 1) else "tf.config"


def has_keras(version: str | None) -> bool:
    """Whether a release has tf.keras (release notes of 1.4); True if the release is unknown. For a span of
    releases, the oldest one counts."""
    numbers = _numbers((version or "").partition(" to ")[0])
    return len(numbers) < 2 or numbers >= (1, 4)


def has_sessions(version: str | None) -> bool:
    """Whether a program for these releases gets its options through a session, as in TensorFlow 1."""
    return era(version) in ("1", "any")


def session_module(version: str | None) -> str:
    """The module, as it is written in code, that has the names of TensorFlow 1's sessions.

    Read from the wheels of 1.12.0 and 1.13.1: tf.compat.v1 exists from 1.13 on.
    """
    return "tf" if era(version) == "1" else "tf.compat.v1"
