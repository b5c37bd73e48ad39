"""Code for the placement of ops: visible GPUs, soft placement, the placement log, and device scopes."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.remedies.code.eras import era, listing, visible


def visible_devices(version: str | None = None, gpus: Sequence[int] = (0,)) -> str:
    """Code that uses only these GPUs. `gpus` are TensorFlow's numbers; the process then numbers the chosen
    GPUs from GPU:0."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\n"
            "config = tf.ConfigProto()\n"
            f"config.gpu_options.visible_device_list = '{','.join(map(str, gpus))}'\n"
            "session = tf.Session(config=config)\n"
            "# with Keras: tf.keras.backend.set_session(session)"
        )
    return (
        "import tensorflow as tf\n"
        f"gpus = {listing(version)}('GPU')\n"
        f"{visible(version)}.set_visible_devices([gpus[i] for i in {list(gpus)}], 'GPU')"
    )


def cpu_only(version: str | None = None) -> str:
    """Code that uses no GPU."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\n"
            "config = tf.ConfigProto(device_count={'GPU': 0})\n"
            "session = tf.Session(config=config)\n"
            "# with Keras: tf.keras.backend.set_session(session)"
        )
    return f"import tensorflow as tf\n{visible(version)}.set_visible_devices([], 'GPU')"


def soft_placement(version: str | None = None) -> str:
    """Code that lets TensorFlow put an op without a GPU kernel on the CPU."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\n"
            "config = tf.ConfigProto(allow_soft_placement=True)\n"
            "session = tf.Session(config=config)"
        )
    return "import tensorflow as tf\ntf.config.set_soft_device_placement(True)"


def pin_to_cpu(version: str | None = None) -> str:
    """Code that puts ops on the CPU."""
    return "with tf.device('/cpu:0'):\n    ...  # the ops that have no GPU kernel, int32 variables among them"


def log_placement(version: str | None = None) -> str:
    """Code that prints where each op runs."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\nsession = tf.Session(config=tf.ConfigProto(log_device_placement=True))"
        )
    return "import tensorflow as tf\ntf.debugging.set_log_device_placement(True)  # before any op"


def device_placement(version: str | None = None, gpu: int = 0) -> str:
    """Code that chooses where ops run."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\n"
            "with tf.device('/cpu:0'):\n"
            "    a = tf.random_normal([256, 256])\n"
            f"with tf.device('/gpu:{gpu}'):\n"
            "    product = tf.matmul(a, a)\n"
            "config = tf.ConfigProto(allow_soft_placement=True)\n"
            "with tf.Session(config=config) as session:\n"
            "    print(session.run(product).shape)"
        )
    return (
        "import tensorflow as tf\n"
        "with tf.device('/CPU:0'):\n"
        "    a = tf.random.normal([256, 256])\n"
        f"with tf.device('/GPU:{gpu}'):\n"
        "    product = tf.matmul(a, a)\n"
        "print(a.device, product.device)"
    )
