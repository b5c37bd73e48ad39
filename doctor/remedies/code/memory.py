"""Code for TensorFlow's GPU memory: growth, limits, fractions, and several logical GPUs on one GPU."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.remedies.code.eras import era, listing, visible

_SESSION = "session = tf.Session(config=config)\n# with Keras: tf.keras.backend.set_session(session)"


def _config_1(lines: Sequence[str], gpus: Sequence[int]) -> str:
    """TensorFlow 1 code for a session whose ConfigProto has these options; if `gpus` is not empty, the code
    also selects these GPUs."""
    chosen = [f"config.gpu_options.visible_device_list = '{','.join(map(str, gpus))}'"] if gpus else []
    return "\n".join(["import tensorflow as tf", "config = tf.ConfigProto()", *chosen, *lines, _SESSION])


def _chosen(version: str | None, gpus: Sequence[int]) -> str:
    """Lines of code that define `gpus`, the list of GPUs to configure."""
    lines = f"import tensorflow as tf\ngpus = {listing(version)}('GPU')\n"
    if gpus:
        lines += (
            f"gpus = [gpus[i] for i in {list(gpus)}]\n{visible(version)}.set_visible_devices(gpus, 'GPU')\n"
        )
    return lines


def memory_growth(version: str | None = None, gpus: Sequence[int] = ()) -> str:
    """Code that makes TensorFlow allocate GPU memory as needed, not nearly all of it at the start; only on
    `gpus`, if given."""
    if era(version) == "1":
        return _config_1(["config.gpu_options.allow_growth = True"], gpus)
    if gpus:
        return (
            _chosen(version, gpus)
            + "for gpu in gpus:\n    tf.config.experimental.set_memory_growth(gpu, True)"
        )
    return (
        "import tensorflow as tf\n"
        f"for gpu in {listing(version)}('GPU'):\n"
        "    tf.config.experimental.set_memory_growth(gpu, True)\n"
        "# before anything else uses the GPU"
    )


def _logical(version: str | None, gpu: str, limit: str, count: int = 1) -> str:
    """The call that divides one GPU into `count` logical GPUs of `limit` MiB each."""
    if era(version) == "2.0":
        function, kind = (
            "experimental.set_virtual_device_configuration",
            "experimental.VirtualDeviceConfiguration",
        )
    else:
        function, kind = "set_logical_device_configuration", "LogicalDeviceConfiguration"
    one = f"[tf.config.{kind}(memory_limit={limit})]"
    return f"tf.config.{function}(\n    {gpu}, {one}{f' * {count}' if count > 1 else ''})"


def memory_limit(version: str | None = None, mib: int = 2048, gpus: Sequence[int] = ()) -> str:
    """Code that limits TensorFlow to `mib` MiB of the first GPU, or of each of `gpus`."""
    if era(version) == "1":
        return _config_1(
            (
                [
                    f"config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[{mib}])  # one for"
                    " each GPU"
                ]
                if len(gpus) < 2
                else [
                    f"for _ in range({len(gpus)}):",
                    f"    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[{mib}])",
                ]
            ),
            gpus or (0,),
        )
    if not gpus:
        return (
            "import tensorflow as tf\ngpus ="
            f" {listing(version)}('GPU')\n{_logical(version, 'gpus[0]', str(mib))}  # MiB, of the first GPU"
        )
    return (
        _chosen(version, gpus)
        + "for gpu in gpus:\n    "
        + _logical(version, "gpu", str(mib)).replace("\n", "\n    ")
    )


def memory_fraction(version: str | None = None, fraction: float = 0.4, gpus: Sequence[int] = ()) -> str:
    """Code that limits TensorFlow to a fraction of the GPU's memory (0 < fraction <= 1).

    TensorFlow 2 has no such setting: the code computes the limit from the memory size that the CUDA driver
    reports (cuDeviceTotalMem, which allocates no GPU memory and does not affect TensorFlow's start).
    """
    if era(version) == "1":
        return _config_1([f"config.gpu_options.per_process_gpu_memory_fraction = {fraction}"], gpus)
    index = gpus[0] if gpus else 0
    return (
        "import ctypes\nimport sys\n\n"
        + _chosen(version, gpus)
        + "cuda = ctypes.CDLL('nvcuda.dll' if sys.platform == 'win32' else 'libcuda.so.1')\n"
        "device, total = ctypes.c_int(), ctypes.c_size_t()\n"
        "if cuda.cuInit(0):\n    raise SystemExit('the NVIDIA driver does not start: tfgpu-doctor check')\n"
        + (
            f"cuda.cuDeviceGet(ctypes.byref(device), {index})\n"
            "cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)\n"
            f"limit = int({fraction} * total.value / 2**20)  # MiB\n" + _logical(version, "gpus[0]", "limit")
            if len(gpus) < 2
            else (
                f"for index, gpu in zip({list(gpus)}, gpus):\n"
                "    cuda.cuDeviceGet(ctypes.byref(device), index)\n"
                "    cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)\n"
                f"    limit = int({fraction} * total.value / 2**20)  # MiB\n"
                "    "
            )
            + _logical(version, "gpu", "limit").replace("\n", "\n    ")
        )
    )


def virtual_gpus(version: str | None = None, count: int = 2, mib: int = 2048, gpu: int = 0) -> str:
    """Code that makes one GPU look like `count` GPUs of `mib` MiB each, to try out code for several GPUs."""
    if era(version) == "1":
        limits = ", ".join([str(mib)] * count)
        return _config_1(
            [f"config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[{limits}])"], (gpu,)
        )
    devices = (
        "tf.config.experimental.list_logical_devices"
        if era(version) == "2.0"
        else "tf.config.list_logical_devices"
    )
    chosen = _chosen(version, (gpu,) if gpu else ())
    return chosen + _logical(version, "gpus[0]", str(mib), count) + f"\nprint({devices}('GPU'))"
