"""Driver faults: in its kernel module, libcuda and NVML."""

from __future__ import annotations

from doctor.simulate.effects import cuinit, damage, failing_calls, nvml, old_driver
from doctor.simulate.fault import Fault
from doctor.values import replace

DRIVER: tuple[Fault, ...] = (
    Fault(
        "no-gpu",
        "gpu-absent",
        "the driver's libraries are installed, but there is no GPU",
        lambda s: replace(s.with_gpus(), kernel_driver=None, device_nodes=False).with_failing_calls(
            "fail nvmlInit_v2 9"
        ),
    ),
    Fault(
        "driver-not-loaded",
        "driver-not-loaded",
        "the driver's libraries are installed, but its kernel module is not loaded",
        lambda s: replace(s, kernel_driver=None, device_nodes=False).with_failing_calls(
            "fail cuInit 100", "fail nvmlInit_v2 9"
        ),
        logged="gpu-absent",  # the log says that there is no device; it does not show the GPU in the machine
    ),
    Fault(
        "libcuda-missing",
        "driver-libcuda-missing",
        "the kernel module is loaded, but this process finds no libcuda.so.1",
        damage("missing", "libcuda"),
    ),
    Fault(
        "driver-mismatch",
        "driver-library-mismatch",
        "the kernel module has version 535.129.03, but the libraries have another version (cuInit returns"
        " 803, nvmlInit 18)",
        lambda s: replace(s, kernel_driver="535.129.03").with_failing_calls(
            "fail cuInit 803", "fail nvmlInit_v2 18"
        ),
    ),
    Fault("driver-too-old", "driver-too-old", "the driver is older than the CUDA runtime needs", old_driver),
    Fault(
        "cuda-compat",
        "cuda-compat-package",
        "libcuda comes from a forward-compatibility package that does not support the GPU (cuInit returns"
        " 804)",
        lambda s: replace(s, kernel_driver="535.129.03", compatibility_package=True).with_failing_calls(
            "fail cuInit 804"
        ),
        logged="driver-library-mismatch",  # the log does not say where libcuda came from
    ),
    Fault(
        "no-device-nodes",
        "device-permission",
        "the device files /dev/nvidia* are missing (cuInit returns 304)",
        lambda s: replace(s, device_nodes=False).with_failing_calls("fail cuInit 304", "fail nvmlInit_v2 4"),
    ),
    cuinit("operating-system", 304, "device-permission", "the driver may not open its device files", nvml=4),
    cuinit("not-permitted", 800, "device-permission", "a policy forbids this process to use the GPU", nvml=4),
    cuinit("init-out-of-memory", 2, "gpu-memory-held", "no memory is left for the driver itself"),
    cuinit(
        "driver-stub",
        34,
        "library-path",
        "the toolkit's stub libcuda is found instead of the driver's libcuda",
    ),
    cuinit(
        "driver-insufficient", 35, "driver-too-old", "the driver reports that it is too old for the caller"
    ),
    cuinit("not-initialized", 3, "gpu-bad-state", "the driver does not initialize"),
    cuinit("invalid-device", 101, "gpu-bad-state", "the driver fails because one GPU does not initialize"),
    cuinit("no-device", 100, "gpu-hidden", "the driver reports that there is no device"),
    cuinit(
        "fabric-manager", 802, "gpu-bad-state", "the fabric manager of an NVSwitch machine is not running"
    ),
    cuinit("compat-unsupported", 804, "driver-library-mismatch", "the driver was upgraded within one branch"),
    cuinit("mps-failed", 805, "gpu-bad-state", "the Multi-Process Service cannot be reached"),
    cuinit("unknown-error", 999, "gpu-bad-state", "the driver is in a bad state, as after suspend"),
    Fault(
        "driver-hangs",
        "gpu-bad-state",
        "cuInit and nvmlInit never return",
        failing_calls("hang cuInit", "hang nvmlInit_v2"),
        logged="benign-messages",
    ),
    Fault(
        "driver-crashes",
        "gpu-bad-state",
        "cuInit crashes with SIGSEGV",
        failing_calls("crash cuInit"),
        logged="undetermined",
    ),
    Fault(
        "nvml-missing",
        "driver-libcuda-missing",
        "libnvidia-ml.so.1 is missing, as in a container without the driver capability `utility`",
        damage("missing", "libnvidia-ml"),
        logged="undetermined",
    ),
    nvml("nvml-no-permission", 4, "device-permission"),
    nvml("nvml-driver-not-loaded", 9, "driver-not-loaded"),
    nvml("nvml-mismatch", 18, "driver-library-mismatch"),
    nvml(
        "nvml-unknown-error",
        999,
        "gpu-bad-state",
        ", as in a container that has lost its device files",
        logged="device-permission",
    ),
    nvml("nvml-blocked", 17, "gpu-bad-state", ": the operating system has blocked the request"),
    Fault(
        "gpu-needs-reset",
        "gpu-bad-state",
        "the GPU needs a reset",
        failing_calls("fail cuInit 999", "fail nvmlDeviceGetHandleByIndex_v2 16"),
    ),
    Fault(
        "gpu-lost",
        "gpu-bad-state",
        "the GPU has fallen off the bus",
        failing_calls(
            "fail cuInit 999", "fail nvmlDeviceGetHandleByIndex_v2 15", "fail nvmlDeviceGetMemoryInfo 15"
        ),
    ),
)
