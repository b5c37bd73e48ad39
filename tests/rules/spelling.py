"""Composes texts as TensorFlow's releases print them, line by line.

`log("2.3.1", opened("libcudart.so.10.1"), refused("libcudnn.so.7"))` gives the lines with the wording, the
prefix and the source paths of that release. A plain string among the events is text from a program, a shell
or a person, and stays unchanged. Hosts, paths and dates are invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

Event: TypeAlias = "Callable[[Release], Iterable[str]]"


@dataclass
class Release:
    """A TensorFlow release, and how its log lines begin."""

    version: str
    windows: bool = False

    def __post_init__(self) -> None:
        parts = [int(p) for p in self.version.split(".")[:2]]
        self.number = (parts[0], parts[1])
        self._clock = count(1)

    def line(self, level: str, file: str, number: int, message: str, *, absl: bool = False) -> str:
        """Return one log line. file: the path of the source file under tensorflow/ in TensorFlow 2.0."""
        tick = next(self._clock)
        where = self._path(file)
        if self.number >= (2, 18) and absl:
            base = file.rsplit("/", 1)[-1]
            return (
                f"{level}0000 00:00:1741000{tick:03d}.{100000 + 7919 * tick % 899999}    4711"
                f" {base}:{number}] {message}"
            )
        if self.number <= (1, 0):
            return f"{level} {where}:{number}] {message}"
        return (
            f"2020-06-1{tick % 9} 09:{tick // 60:02d}:{tick % 60:02d}.{100000 + 7919 * tick % 899999}:"
            f" {level} {where}:{number}] {message}"
        )

    def _path(self, file: str) -> str:
        if self.number >= (2, 14) and file.startswith("stream_executor/"):
            return "external/local_xla/xla/" + file
        if self.number >= (2, 11) and file.startswith("stream_executor/"):
            return "tensorflow/compiler/xla/" + file
        if self.windows and self.number <= (1, 12):
            return (
                r"c:\tf_jenkins\workspace\rel-win\m\windows-gpu\py\36\tensorflow"
                + "\\"
                + file.replace("/", "\\")
            )
        return "tensorflow/" + file


def log(version: str, *events: Event | str, windows: bool = False) -> str:
    """Return the text that a run of one release prints."""
    release = Release(version, windows)
    lines: list[str] = []
    for event in events:
        lines += event.splitlines() if isinstance(event, str) else event(release)
    return "\n".join(lines) + "\n"


# --- versions


def versions(tensorflow: str, python: str = "") -> str:
    """The lines with versions that a careful person prints first."""
    message = f'>>> import tensorflow as tf\n>>> tf.__version__\n"{tensorflow}"'.replace('"', "'")
    return (f"Python {python} | packaged by conda-forge | (default)\n" if python else "") + message


def form(*, system: str, tensorflow: str, python: str = "", cuda: str = "", gpu: str = "") -> str:
    """TensorFlow's issue form, with its fields filled in."""
    rows = [
        "**System information**",
        f"- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): {system}",
        f"- TensorFlow version (use command below): {tensorflow}",
    ]
    rows += [f"- Python version: {python}"] if python else []
    rows += [f"- CUDA/cuDNN version: {cuda}"] if cuda else []
    rows += [f"- GPU model and memory: {gpu}"] if gpu else []
    return "\n".join(rows)


# --- the loader

DSO = "stream_executor/platform/default/dso_loader.cc"


def opened(*names: str) -> Event:
    """The messages that these libraries were loaded."""

    def lines(r: Release) -> Iterable[str]:
        for name in names:
            if r.number <= (1, 12):
                yield r.line(
                    "I",
                    "stream_executor/dso_loader.cc",
                    135,
                    f"successfully opened CUDA library {name} locally",
                )
            elif r.number < (2, 12):  # later releases print nothing if a library loads
                yield r.line("I", DSO, 44, f"Successfully opened dynamic library {name}")

    return lines


def refused(*names: str, path: str = "", error: str = "") -> Event:
    """The messages that these libraries cannot be loaded, with the search path that the messages quote."""

    def lines(r: Release) -> Iterable[str]:
        tail = f"; LD_LIBRARY_PATH: {path}" if path else ""
        for name in names:
            why = error or (
                f"{name} not found"
                if name.endswith(".dll")
                else f"{name}: cannot open shared object file: No such file or directory"
            )
            if r.number <= (1, 12):
                message = f"Couldn't open CUDA library {name}. LD_LIBRARY_PATH: {path}"
                yield r.line("I", "stream_executor/dso_loader.cc", 126, message)
            elif r.number <= (1, 14):
                yield r.line("I", DSO, 53, f"Could not dlopen library '{name}'; dlerror: {why}{tail}")
            else:
                yield r.line("W", DSO, 59, f"Could not load dynamic library '{name}'; dlerror: {why}{tail}")

    return lines


def skipped(r: Release) -> Iterable[str]:
    """The message that the GPU is skipped because a library is missing."""
    device = "core/common_runtime/gpu/gpu_device.cc"
    if r.number <= (1, 14):
        yield r.line(
            "W", device, 1663, "Cannot dlopen some GPU libraries. Skipping registering GPU devices..."
        )
    else:
        yield r.line(
            "W",
            device,
            1598,
            "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are"
            " installed properly if you would like to use GPU. Follow the guide at"
            " https://www.tensorflow.org/install/gpu for how to download and setup the required libraries for"
            " your platform.",
            absl=True,
        )
        yield "Skipping registering GPU devices..."


def no_cuda_drivers(r: Release) -> Iterable[str]:
    """The message that 2.12 and later print if libcudart cannot be loaded."""
    yield r.line(
        "I",
        "stream_executor/cuda/cudart_stub.cc",
        32,
        "Could not find cuda drivers on your machine, GPU will not be used.",
    )


def ignore_cudart(r: Release) -> Iterable[str]:
    """The message that 1.15 to 2.10 print after the first library that cannot be loaded."""
    yield r.line(
        "I",
        "stream_executor/cuda/cudart_stub.cc",
        29,
        "Ignore above cudart dlerror if you do not have a GPU set up on your machine.",
    )


# --- the driver


def cuinit(error: str, text: str = "") -> Event:
    """The message that cuInit failed. error: a symbolic name or "UNKNOWN ERROR (303)"."""

    def lines(r: Release) -> Iterable[str]:
        what = f"{error}: {text}" if text and r.number >= (1, 12) else error
        if r.number >= (2, 18):
            message = f"failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: {what}"
            yield r.line("E", "stream_executor/cuda/cuda_platform.cc", 51, message)
        else:
            yield r.line("E", "stream_executor/cuda/cuda_driver.cc", 318, f"failed call to cuInit: {what}")

    return lines


NO_DEVICE = ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")


def diagnosed(message: str) -> Event:
    """A log line from cuda_diagnostics.cc."""
    return lambda r: [r.line("I", "stream_executor/cuda/cuda_diagnostics.cc", 156, message)]


def no_module(host: str) -> Event:
    """The message that the kernel module is not loaded."""
    return diagnosed(
        f"kernel driver does not appear to be running on this host ({host}): /proc/driver/nvidia/version does"
        " not exist"
    )


# --- devices

DEVICE = "core/common_runtime/gpu/gpu_device.cc"


def found(name: str, capability: str, *, total: str = "", free: str = "", bus: str = "0000:01:00.0") -> Event:
    """The description of the graphics card that TensorFlow prints before it decides whether to use the
    card."""

    def lines(r: Release) -> Iterable[str]:
        major, minor = capability.split(".")
        yield r.line("I", DEVICE, 1618, "Found device 0 with properties: ")
        if r.number >= (2, 2):
            yield f"pciBusID: {bus} name: {name} computeCapability: {capability}"
            yield (
                f"coreClock: 1.71GHz coreCount: 34 deviceMemorySize: {total or '7.79GiB'}"
                " deviceMemoryBandwidth: 417.23GiB/s"
            )
        elif r.number >= (1, 4):
            yield f"name: {name} major: {major} minor: {minor} memoryClockRate(GHz): 1.71"
            yield f"pciBusID: {bus}"
            if r.number <= (1, 13):
                yield f"totalMemory: {total or '7.79GiB'} freeMemory: {free or '7.60GiB'}"
        else:
            yield f"name: {name}"
            yield f"major: {major} minor: {minor} memoryClockRate (GHz) 1.71"
            yield f"pciBusID {bus}"
            yield f"Total memory: {total or '7.79GiB'}"
            yield f"Free memory: {free or '7.60GiB'}"

    return lines


def created(
    name: str, capability: str, memory: int, *, index: int = 0, physical: int = 0, bus: str = "0000:01:00.0"
) -> Event:
    """The message about the GPU device that TensorFlow creates. memory: in MB, as printed."""

    def lines(r: Release) -> Iterable[str]:
        if r.number < (1, 5):
            message = (
                f"Creating TensorFlow device (/gpu:{index}) -> (device: {physical}, name: {name}, pci bus id:"
                f" {bus})"
            )
            yield r.line("I", DEVICE, 977, message)
            return
        card = f"device: {physical}, name: {name}, pci bus id: {bus}, compute capability: {capability}"
        job = f"/job:localhost/replica:0/task:0/device:GPU:{index} with {memory} MB memory"
        if r.number < (2, 6):
            yield r.line("I", DEVICE, 1304, f"Created TensorFlow device ({job}) -> physical GPU ({card})")
        else:
            yield r.line("I", DEVICE, 1510, f"Created device {job}:  -> {card}", absl=True)

    return lines


def loaded_cudnn(number: int) -> Event:
    """The message that cuDNN was loaded."""
    return lambda r: [
        r.line("I", "stream_executor/cuda/cuda_dnn.cc", 384, f"Loaded cuDNN version {number}", absl=True)
    ]


def cudnn_failed(status: str, driver: str = "") -> Event:
    """The message that cuDNN cannot create its handle."""

    def lines(r: Release) -> Iterable[str]:
        could = "could" if r.number < (1, 12) else "Could"
        yield r.line(
            "E",
            "stream_executor/cuda/cuda_dnn.cc",
            329,
            f"{could} not create cudnn handle: {status}",
            absl=True,
        )
        if driver:
            possibly = "possibly" if r.number < (1, 12) else "Possibly"
            message = f"{possibly} insufficient driver version: {driver}"
            yield r.line("E", "stream_executor/cuda/cuda_dnn.cc", 336, message, absl=True)

    return lines


def cublas_failed(r: Release) -> Iterable[str]:
    """The message that cuBLAS cannot create its handle."""
    status = "the library was not initialized" if r.number >= (2, 13) else "CUBLAS_STATUS_NOT_INITIALIZED"
    yield r.line(
        "E", "stream_executor/cuda/cuda_blas.cc", 238, f"failed to create cublas handle: {status}", absl=True
    )


def logged(level: str, file: str, message: str, number: int = 100) -> Event:
    """Any other log line."""
    return lambda r: [r.line(level, file, number, message, absl=True)]


# --- noise


def numa(r: Release) -> Iterable[str]:
    """The message about the NUMA node on a desktop machine."""
    node = (
        "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA"
        " node, so returning NUMA node zero"
    )
    tail = (
        ". See more at"
        " https://github.com/torvalds/linux/blob/v6.0/Documentation/ABI/testing/sysfs-bus-pci#L344-L355"
        if r.number >= (2, 12)
        else ""
    )
    yield r.line("I", "stream_executor/cuda/cuda_gpu_executor.cc", 981, node + tail)


def onednn(r: Release) -> Iterable[str]:
    """The message about oneDNN, the library for the CPU."""
    yield r.line(
        "I",
        "core/util/port.cc",
        104,
        "oneDNN custom operations are on. You may see slightly different numerical results due to"
        " floating-point round-off errors from different computation orders. To turn them off, set the"
        " environment variable `TF_ENABLE_ONEDNN_OPTS=0`.",
    )


def cpu_features(r: Release) -> Iterable[str]:
    """The message about CPU instructions."""
    if r.number >= (2, 5):
        message = (
            "This TensorFlow binary is optimized with oneAPI Deep Neural Network Library (oneDNN) to use the"
            " following CPU instructions in performance-critical operations:  AVX AVX2"
        )
    else:
        message = (
            "Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 FMA"
        )
    yield r.line("I", "core/platform/cpu_feature_guard.cc", 193, message)


def tf_trt(r: Release) -> Iterable[str]:
    """The message that TensorRT is not installed."""
    yield r.line("W", "compiler/tf2tensorrt/utils/py_utils.cc", 38, "TF-TRT Warning: Could not find TensorRT")


def factories(r: Release) -> Iterable[str]:
    """The message about plugins that are registered twice (2.14 and later)."""
    for plugin in ("cuFFT", "cuDNN", "cuBLAS"):
        message = (
            f"Unable to register {plugin} factory: Attempting to register factory for plugin {plugin} when"
            " one has already been registered"
        )
        yield r.line("E", f"stream_executor/cuda/cuda_{plugin[2:].lower()}.cc", 479, message, absl=True)
