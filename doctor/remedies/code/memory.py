"""Code for TensorFlow's GPU memory: growth, limits, fractions, and several logical GPUs on one GPU."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.remedies.code.eras import config_module, era, has_sessions
from doctor.remedies.code.placement import session_1


def _chosen(version: str | None, gpus: Sequence[int]) -> str:
    """Lines of code that define the variable `gpus`, the list of GPUs to configure: `gpus`, or all if it is
    empty."""
    config = config_module(version)
    lines = f"import tensorflow as tf\ngpus = {config}.list_physical_devices('GPU')\n"
    if gpus:
        lines += f"gpus = [gpus[i] for i in {list(gpus)}]\n{config}.set_visible_devices(gpus, 'GPU')\n"
    return lines


def _indented(code: str) -> str:
    """The lines of code as the body of a loop."""
    return "    " + code.replace("\n", "\n    ")


def memory_growth(version: str | None = None, gpus: Sequence[int] = ()) -> str:
    """Code that makes TensorFlow allocate GPU memory as needed, not nearly all of it at the start; only on
    `gpus`, if given."""
    if has_sessions(version):
        return session_1(version, "config.gpu_options.allow_growth = True", gpus=gpus)
    if gpus:
        return (
            _chosen(version, gpus)
            + "for gpu in gpus:\n    tf.config.experimental.set_memory_growth(gpu, True)"
        )
    return (
        "import tensorflow as tf\n"
        f"for gpu in {config_module(version)}.list_physical_devices('GPU'):\n"
        "    tf.config.experimental.set_memory_growth(gpu, True)\n"
        "# before anything else uses the GPU"
    )


def _logical(version: str | None, gpu: str, limit: str, count: int = 1) -> str:
    """The call that divides one GPU into `count` logical GPUs of `limit` MiB each."""
    function, kind = "set_logical_device_configuration", "LogicalDeviceConfiguration"
    if era(version) == "2.0":
        function, kind = "set_virtual_device_configuration", "VirtualDeviceConfiguration"
    config = "tf.config.experimental" if era(version) == "2.0" else "tf.config"
    times = f" * {count}" if count > 1 else ""
    return f"{config}.{function}(\n    {gpu}, [{config}.{kind}(memory_limit={limit})]{times})"


def memory_limit(version: str | None = None, mib: int = 2048, gpus: Sequence[int] = ()) -> str:
    """Code that limits TensorFlow to `mib` MiB of the first GPU, or of each of `gpus`."""
    if has_sessions(version):
        add = f"config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[{mib}])"
        if len(gpus) > 1:
            return session_1(version, f"for _ in range({len(gpus)}):", f"    {add}", gpus=gpus)
        return session_1(version, f"{add}  # one for each GPU", gpus=gpus or (0,))
    if gpus:
        return _chosen(version, gpus) + "for gpu in gpus:\n" + _indented(_logical(version, "gpu", str(mib)))
    return _chosen(version, ()) + f"{_logical(version, 'gpus[0]', str(mib))}  # MiB, of the first GPU"


def memory_fraction(version: str | None = None, fraction: float = 0.4, gpus: Sequence[int] = ()) -> str:
    """Code that limits TensorFlow to a fraction of the GPU's memory (0 < fraction <= 1).

    TensorFlow 2 has no such setting: the code computes the limit from the memory size that the CUDA driver
    reports (cuDeviceTotalMem, which allocates no GPU memory and does not affect TensorFlow's start).
    """
    if has_sessions(version):
        fixed = f"config.gpu_options.per_process_gpu_memory_fraction = {fraction}"
        return session_1(version, fixed, gpus=gpus)
    several = len(gpus) > 1
    index, gpu = ("index", "gpu") if several else (gpus[0] if gpus else 0, "gpus[0]")
    limit = (
        f"cuda.cuDeviceGet(ctypes.byref(device), {index})\n"
        "cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)\n"
        f"limit = int({fraction} * total.value / 2**20)  # MiB\n" + _logical(version, gpu, "limit")
    )
    return (
        "import ctypes\nimport sys\n\n"
        + _chosen(version, gpus)
        + "cuda = ctypes.CDLL('nvcuda.dll' if sys.platform == 'win32' else 'libcuda.so.1')\n"
        "device, total = ctypes.c_int(), ctypes.c_size_t()\n"
        "if cuda.cuInit(0):\n    raise SystemExit('the NVIDIA driver does not start: tfgpu-doctor check')\n"
        + (f"for index, gpu in zip({list(gpus)}, gpus):\n{_indented(limit)}" if several else limit)
    )


def virtual_gpus(version: str | None = None, count: int = 2, mib: int = 2048, gpu: int = 0) -> str:
    """Code that makes one GPU look like `count` GPUs of `mib` MiB each, to try out code for several GPUs."""
    if has_sessions(version):
        limits = ", ".join([str(mib)] * count)
        add = f"config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[{limits}])"
        return session_1(version, add, gpus=(gpu,))
    return (
        _chosen(version, (gpu,) if gpu else ())
        + _logical(version, "gpus[0]", str(mib), count)
        + f"\nprint({config_module(version)}.list_logical_devices('GPU'))"
    )
