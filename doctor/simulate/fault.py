"""Describes a fault that a simulated machine can have, and the verdict that tfgpu-doctor should reach."""

from __future__ import annotations

from collections.abc import Callable

from doctor.simulate.scenario import Scenario
from doctor.values import dataclass


@dataclass(frozen=True)
class Fault:
    """One fault that a machine can have.

    code: the finding that states its cause. change: a function that adds the fault to a scenario. shown_by:
    what a program must do before the fault shows: "devices" (list the GPUs), "matmul", "kernels" (elementwise
    operations), "convolution", "jit" (a function compiled by XLA), "large" (allocate more memory than the GPU
    has), "collective" (train on two GPUs), "nvml" (an NVML client, not TensorFlow). logged: the finding that
    TensorFlow's log alone leads to, if the log reveals less than an examination of the machine ("": the same
    as `code`). on_machine: the finding that examining the machine leads to, if it differs; None: examining
    the machine does not show the fault. until: the last TensorFlow minor release on which the fault shows;
    None: it shows on all.
    """

    name: str
    code: str
    description: str
    change: Callable[[Scenario], Scenario]
    shown_by: str = "devices"
    logged: str = ""
    on_machine: str | None = ""
    until: tuple[int, int] | None = None

    def shows_on(self, tensorflow: str) -> bool:
        """Whether this TensorFlow release can show the fault."""
        return self.until is None or _minor(tensorflow) <= self.until

    @property
    def hides_library(self) -> bool:
        """Whether TensorFlow's default log hides the fault: since 2.12 the log does not name a library that
        fails to load, unless TF_CPP_VMODULE=dso_loader=1 is set."""
        codes = ("cuda-missing", "cudnn-missing", "library-broken", "cuda-version-mismatch")
        return self.code in codes or self.name == "cudnn-wrong-major"

    def logged_on(self, tensorflow: str) -> str:
        """The code that the default log of a TensorFlow release leads to."""
        if self.name == "nvml-missing" and _minor(tensorflow) < (2, 21):
            # From 2.21 on, TensorFlow loads NVML; without NVML, it registers no GPU and prints nothing.
            # Earlier releases work without NVML; up to 2.19 every import prints harmless but alarming
            # messages.
            return "benign-messages" if _minor(tensorflow) < (2, 20) else "healthy"
        if self.hides_library and self.logged != "undetermined":
            # 2.16.1 searches no folder of pip's CUDA packages except libcudart's, so that is its likeliest
            # cause.
            runtime = self.name in ("cuda-missing", "cuda-wrong-major", "cudart-missing")
            return "library-path" if _minor(tensorflow) == (2, 16) and not runtime else "cuda-missing"
        return self.logged or self.code


def _minor(tensorflow: str) -> tuple[int, int]:
    major, minor = tensorflow.split(".")[:2]
    return int(major), int(minor)
