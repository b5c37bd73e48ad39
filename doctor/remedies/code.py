"""Code for a program that uses TensorFlow, spelled as its release knows it.

Eras: 1 (sessions, ConfigProto), 2.0 to 2.3 (tf.config.experimental) and 2.4 on (stable names). The names were
checked against the shipped wheels: tf.config.experimental.set_memory_growth exists from 1.14 on,
tf.config.list_physical_devices and tf.config.set_visible_devices from 2.1 on,
tf.config.set_logical_device_configuration and tf.config.LogicalDeviceConfiguration from 2.4 on.
"""

from __future__ import annotations

import re


def era(version: str | None) -> str:
    """ "1", "2.0" or "2.4" for a TensorFlow release; "2.4" where it is not known."""
    if not version:
        return "2.4"
    numbers = [int(n) for n in re.findall(r"\d+", version)[:2]]
    if not numbers or numbers[0] >= 3:
        return "2.4"
    if numbers[0] < 2:
        return "1"
    return "2.0" if len(numbers) > 1 and numbers[1] < 4 else "2.4"


def memory_growth(version: str | None = None) -> str:
    """Allocate GPU memory as it is needed rather than nearly all of it at the start."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\n"
            "config = tf.ConfigProto()\n"
            "config.gpu_options.allow_growth = True\n"
            "session = tf.Session(config=config)\n"
            "# with Keras: tf.keras.backend.set_session(session)"
        )
    listing = (
        "tf.config.experimental.list_physical_devices" if era(version) == "2.0" else "tf.config.list_physical_devices"
    )
    return (
        "import tensorflow as tf\n"
        f"for gpu in {listing}('GPU'):\n"
        "    tf.config.experimental.set_memory_growth(gpu, True)\n"
        "# before anything else uses the GPU"
    )


def memory_limit(version: str | None = None, mib: int = 2048) -> str:
    """Take no more than `mib` MiB of the first GPU."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\n"
            "config = tf.ConfigProto()\n"
            "config.gpu_options.per_process_gpu_memory_fraction = 0.4  # of the GPU's memory\n"
            "session = tf.Session(config=config)"
        )
    if era(version) == "2.0":
        return (
            "import tensorflow as tf\n"
            "gpus = tf.config.experimental.list_physical_devices('GPU')\n"
            "tf.config.experimental.set_virtual_device_configuration(\n"
            f"    gpus[0], [tf.config.experimental.VirtualDeviceConfiguration(memory_limit={mib})])"
        )
    return (
        "import tensorflow as tf\n"
        "gpus = tf.config.list_physical_devices('GPU')\n"
        f"tf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(memory_limit={mib})])"
    )


def soft_placement(version: str | None = None) -> str:
    """Let TensorFlow put an op without a GPU kernel on the CPU."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\n"
            "config = tf.ConfigProto(allow_soft_placement=True)\n"
            "session = tf.Session(config=config)"
        )
    return "import tensorflow as tf\ntf.config.set_soft_device_placement(True)"


def pin_to_cpu(version: str | None = None) -> str:
    """Put ops on the CPU by hand."""
    return "with tf.device('/cpu:0'):\n    ...  # the ops that have no GPU kernel, int32 variables among them"


def log_placement(version: str | None = None) -> str:
    """Print where each op runs."""
    if era(version) == "1":
        return "session = tf.Session(config=tf.ConfigProto(log_device_placement=True))"
    return "import tensorflow as tf\ntf.debugging.set_log_device_placement(True)  # before any op"


def list_gpus(version: str | None = None) -> str:
    """One line that prints the GPUs that TensorFlow registered."""
    if era(version) == "1":
        return "from tensorflow.python.client import device_lib; print(device_lib.list_local_devices())"
    if era(version) == "2.0":
        return "import tensorflow as tf; print(tf.config.experimental.list_physical_devices('GPU'))"
    return "import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))"


def convolution(version: str | None = None) -> str:
    """One line that runs a convolution, so that cuDNN has to make its handle."""
    if era(version) == "1":
        return (
            "import tensorflow as tf; s = tf.Session(); "
            "print(s.run(tf.nn.conv2d(tf.ones([1, 8, 8, 1]), tf.ones([3, 3, 1, 1]), [1, 1, 1, 1], 'SAME')).shape)"
        )
    return (
        "import tensorflow as tf; print(tf.nn.conv2d(tf.ones([1, 8, 8, 1]), tf.ones([3, 3, 1, 1]), 1, 'SAME').device)"
    )


def clear_session(version: str | None = None) -> str:
    """Forget the graphs and models of earlier folds or trials."""
    return (
        "import gc\nimport tensorflow as tf\n"
        "# after each fold or trial\n"
        "del model\ntf.keras.backend.clear_session()\ngc.collect()"
    )


def compat_v1(version: str | None = None) -> str:
    """Run TensorFlow 1 code on TensorFlow 2."""
    return "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()"
