"""Code for the placement of ops: visible GPUs, soft placement, the placement log, and device scopes."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.remedies.code.eras import config_module, era, has_sessions, session_module


def session_1(version: str | None, *lines: str, gpus: Sequence[int] = (), options: str = "") -> str:
    """TensorFlow 1 code for a session. lines: code that sets fields of `config`. gpus: the GPUs to select;
    () for all. options: the arguments of ConfigProto."""
    v1 = session_module(version)
    chosen = [f"config.gpu_options.visible_device_list = '{','.join(map(str, gpus))}'"] if gpus else []
    return "\n".join(
        [
            "import tensorflow as tf",
            f"config = {v1}.ConfigProto({options})",
            *chosen,
            *lines,
            f"session = {v1}.Session(config=config)",
            f"# with Keras: {v1}.keras.backend.set_session(session)",
        ]
    )


def visible_devices(version: str | None = None, gpus: Sequence[int] = (0,)) -> str:
    """Code that uses only these GPUs. `gpus` are TensorFlow's numbers; the process then numbers the chosen
    GPUs from GPU:0."""
    if has_sessions(version):
        return session_1(version, gpus=gpus)
    config = config_module(version)
    return (
        "import tensorflow as tf\n"
        f"gpus = {config}.list_physical_devices('GPU')\n"
        f"{config}.set_visible_devices([gpus[i] for i in {list(gpus)}], 'GPU')"
    )


def cpu_only(version: str | None = None) -> str:
    """Code that uses no GPU."""
    if has_sessions(version):
        return session_1(version, options="device_count={'GPU': 0}")
    return f"import tensorflow as tf\n{config_module(version)}.set_visible_devices([], 'GPU')"


def soft_placement(version: str | None = None) -> str:
    """Code that lets TensorFlow put an op without a GPU kernel on the CPU."""
    if has_sessions(version):
        return session_1(version, options="allow_soft_placement=True")
    return "import tensorflow as tf\ntf.config.set_soft_device_placement(True)"


def pin_to_cpu() -> str:
    """Code that puts ops on the CPU."""
    return "with tf.device('/cpu:0'):\n    ...  # the ops without a GPU kernel"


def log_placement(version: str | None = None) -> str:
    """Code that prints where each op runs."""
    if has_sessions(version):
        return session_1(version, options="log_device_placement=True")
    return "import tensorflow as tf\ntf.debugging.set_log_device_placement(True)  # before any op"


def device_placement(version: str | None = None, gpu: int = 0) -> str:
    """Code that chooses where ops run."""
    if has_sessions(version):
        v1 = session_module(version)
        # TensorFlow 2 otherwise runs ops at once, without a graph
        first = "tf.compat.v1.disable_eager_execution()\n" if era(version) == "any" else ""
        return (
            f"import tensorflow as tf\n{first}"
            "with tf.device('/cpu:0'):\n"
            f"    a = {v1}.random_normal([256, 256])\n"
            f"with tf.device('/gpu:{gpu}'):\n"
            "    product = tf.matmul(a, a)\n"
            f"config = {v1}.ConfigProto(allow_soft_placement=True)\n"
            f"with {v1}.Session(config=config) as session:\n"
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
