"""The list of recordings: every fault of the simulation, mistakes in users' programs, and failures that need
no GPU at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from doctor.simulate.fault import Fault
from doctor.simulate.faults import FAULTS

# the codes for a machine without a driver and for a healthy machine depend on the release: see catalogue()
NO_DRIVER, CALM = "no driver", "nothing wrong"
LOADER_VERBOSE = {"TF_CPP_VMODULE": "dso_loader=1"}


@dataclass(frozen=True)
class Recording:
    """One log to record. name: the name of the file. code: the verdict that `explain` must give. program: a
    file in tests/simulate/programs. faults, gpus: the faults and the GPUs of the simulated machine.
    simulated: whether to run on a simulated machine; otherwise the program runs on this machine. variables:
    environment variables. timeout: the seconds after which the program is killed. only: the beginnings of the
    TensorFlow versions on which the failure can happen; empty for all versions.
    """

    name: str
    code: str
    program: str
    arguments: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = True
    timeout: float = 180.0
    only: tuple[str, ...] = ()

    def fits(self, tensorflow: str) -> bool:
        """Whether the failure can happen on this release."""
        return not self.only or any(tensorflow.startswith(start) for start in self.only)


def _of_fault(fault: Fault, tensorflow: str) -> list[Recording]:
    code = fault.logged_on(tensorflow)
    plain = Recording(fault.name, code, fault.shown_by, faults=(fault.name,))
    if fault.name == "driver-hangs":
        return [replace(plain, timeout=30.0)]
    if not fault.hides_library:
        return [plain]
    named = Recording(
        f"{fault.name}.loader-verbose",
        fault.logged or fault.code,
        fault.shown_by,
        faults=(fault.name,),
        variables=LOADER_VERBOSE,
    )
    return [plain, named]


_USERS = (
    Recording("healthy-devices", CALM, "devices"),
    Recording("healthy-fit", CALM, "convolution"),
    Recording("healthy-two-gpus", CALM, "devices", gpus=("RTX 3070", "RTX 3070")),
    Recording("healthy-collective", CALM, "collective", gpus=("RTX 3070", "RTX 3070"), only=("2.21",)),
    Recording(
        "renumbered", CALM, "devices", gpus=("RTX 3070", "T4"), variables={"CUDA_VISIBLE_DEVICES": "1"}
    ),
    Recording("growth-cures", CALM, "convolution", arguments=("growth",), faults=("cudnn-out-of-memory",)),
    Recording(
        "growth-by-variable-cures",
        CALM,
        "convolution",
        faults=("cudnn-out-of-memory",),
        variables={"TF_FORCE_GPU_ALLOW_GROWTH": "true"},
    ),
    Recording(
        "async-allocator",
        CALM,
        "convolution",
        faults=("cudnn-out-of-memory",),
        variables={"TF_GPU_ALLOCATOR": "cuda_malloc_async"},
    ),
    Recording("growth-late", "gpu-config-too-late", "growth_late"),
    Recording("logical-late", "gpu-config-too-late", "logical_late"),
    Recording("visible-late", "gpu-config-too-late", "visible_late"),
    Recording("growth-partial", "gpu-config-conflict", "growth_partial", gpus=("RTX 3070", "RTX 3070")),
    Recording("growth-and-limit", "gpu-config-conflict", "growth_and_limit"),
    Recording("limit-too-small", "memory-limit-misfit", "limit_too_small"),
    Recording("limit-too-large", "model-oom", "limit_too_large"),
    Recording("out-of-memory", "model-oom", "large"),
    Recording("int32-variable", "op-no-gpu-kernel", "int32_variable"),
    Recording("string-op", "op-no-gpu-kernel", "string_op"),
    Recording("bad-ordinal", "device-not-found", "bad_ordinal"),
    Recording("session-placement", CALM, "session_placement"),
)

_BARE = (
    Recording("no-driver", NO_DRIVER, "devices", simulated=False),
    Recording("no-driver-verbose", "driver-missing", "devices", simulated=False, variables=LOADER_VERBOSE),
    Recording("no-driver-is-gpu-available", NO_DRIVER, "is_gpu_available", simulated=False),
    Recording("no-driver-hard-placement", NO_DRIVER, "bad_ordinal", simulated=False),
    Recording("no-driver-session-placement", NO_DRIVER, "session_placement", simulated=False),
    Recording("no-driver-mirrored", NO_DRIVER, "mirrored", simulated=False),
    Recording(
        "cpu-wanted", NO_DRIVER, "convolution", simulated=False, variables={"CUDA_VISIBLE_DEVICES": "-1"}
    ),
    Recording("api-session", "tf-api-version", "session", simulated=False),
    Recording("api-gpu-options", "tf-api-version", "gpu_options", simulated=False),
    Recording("api-contrib", "tf-api-version", "contrib", simulated=False),
    Recording("api-multi-gpu-model", "tf-api-version", "multi_gpu_model", simulated=False),
)


def catalogue(tensorflow: str) -> tuple[Recording, ...]:
    """Return the recordings to make with one TensorFlow release."""
    major, minor = map(int, tensorflow.split(".")[:2])
    release = major, minor
    meant = {
        # up to 2.17, the log says only that libcudart does not load; from 2.18 on, also that cuInit fails
        NO_DRIVER: "cuda-missing" if release < (2, 18) else "driver-missing",
        # up to 2.19, every import prints alarming lines: TensorRT not found, factories registered twice
        CALM: "benign-messages" if release < (2, 20) else "healthy",
    }
    faults = [
        recording
        for fault in FAULTS.values()
        if fault.shows_on(tensorflow)
        for recording in _of_fault(fault, tensorflow)
    ]
    every = (*faults, *_USERS, *_BARE)
    return tuple(replace(one, code=meant.get(one.code, one.code)) for one in every if one.fits(tensorflow))
