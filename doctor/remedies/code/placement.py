"""Code for the placement of ops: visible GPUs, soft placement, the placement log, and device scopes."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.remedies.code.eras import config_module, era


def session_1(*lines: str, gpus: Sequence[int] = (), options: str = "") -> str:
    """TensorFlow 1 code for a session. lines: code that sets fields of `config`. gpus: the GPUs to select;
    () for all. options: the arguments of ConfigProto."""
    chosen = [f"config.gpu_options.visible_device_list = '{','.join(map(str, gpus))}'"] if gpus else []
    return "\n".join(
        [
            "import tensorflow as tf",
            f"config = tf.ConfigProto({options})",
            *chosen,
            *lines,
            "session = tf.Session(config=config)",
            "# with Keras: tf.keras.backend.set_session(session)",
        ]
    )


def visible_devices(version: str | None = None, gpus: Sequence[int] = (0,)) -> str:
    """Code that uses only these GPUs. `gpus` are TensorFlow's numbers; the process then numbers the chosen
    GPUs from GPU:0."""
    if era(version) == "1":
        return session_1(gpus=gpus)
    config = config_module(version)
    return (
        "import tensorflow as tf\n"
        f"gpus = {config}.list_physical_devices('GPU')\n"
        f"{config}.set_visible_devices([gpus[i] for i in {list(gpus)}], 'GPU')"
    )


def cpu_only(version: str | None = None) -> str:
    """Code that uses no GPU."""
    if era(version) == "1":
        return session_1(options="device_count={'GPU': 0}")
    return f"import tensorflow as tf\n{config_module(version)}.set_visible_devices([], 'GPU')"


def soft_placement(version: str | None = None) -> str:
    """Code that lets TensorFlow put an op without a GPU kernel on the CPU."""
    if era(version) == "1":
        return (
            "import tensorflow as tf\n"
            "config = tf.ConfigProto(allow_soft_placement=True)\n"
            "session = tf.Session(config=config)"
        )
    return "import tensorflow as tf\ntf.config.set_soft_device_placement(True)"


def pin_to_cpu() -> str:
    """Code that puts ops on the CPU."""
    return (
        "with tf.device('/cpu:0'):\n    ...  # the ops without a GPU kernel, such as those on int32 variables"
    )


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
