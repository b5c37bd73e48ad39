"""Short programs that print one fact, and code that old programs need."""

from __future__ import annotations

from doctor.remedies.code.eras import config_module, has_keras, has_sessions, session_module


def list_gpus(version: str | None = None) -> str:
    """A line of code that prints the GPUs that TensorFlow registered."""
    if has_sessions(version):
        return "from tensorflow.python.client import device_lib; print(device_lib.list_local_devices())"
    return f"import tensorflow as tf; print({config_module(version)}.list_physical_devices('GPU'))"


def convolution(version: str | None = None) -> str:
    """A line of code that runs a convolution, so that cuDNN must create its handle."""
    steps = "[1, 1, 1, 1]" if has_sessions(version) else "1"
    return _computed(version, f"tf.nn.conv2d(tf.ones([1, 8, 8, 1]), tf.ones([3, 3, 1, 1]), {steps}, 'SAME')")


def product(version: str | None = None) -> str:
    """A line of code that multiplies two matrices, so that cuBLAS must create its handle."""
    return _computed(version, "tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))")


def _computed(version: str | None, operation: str) -> str:
    """A line of code that runs an operation and prints its device, or its shape if the release has
    sessions."""
    if has_sessions(version):  # in TensorFlow 2, only a graph has sessions
        v1 = session_module(version)
        graph = "" if v1 == "tf" else f"{v1}.disable_eager_execution(); "
        return f"import tensorflow as tf; {graph}s = {v1}.Session(); print(s.run({operation}).shape)"
    return f"import tensorflow as tf; print({operation}.device)"


def clear_session(version: str | None = None) -> str:
    """Code that releases the graphs and models of earlier folds or trials."""
    if not has_keras(version):
        return (
            "import gc\nimport tensorflow as tf\n"
            "# after each fold or trial\n"
            "session.close()\ntf.reset_default_graph()\ngc.collect()"
        )
    return (
        "import gc\nimport tensorflow as tf\n"
        "# after each fold or trial\n"
        "del model\ntf.keras.backend.clear_session()\ngc.collect()"
    )


def compat_v1() -> str:
    """Code that runs TensorFlow 1 code on TensorFlow 2."""
    return "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()"
