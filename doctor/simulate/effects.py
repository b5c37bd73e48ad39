"""The changes that faults make to a scenario: failing calls, damaged libraries, hidden devices, memory held
by other processes."""

from __future__ import annotations

from collections.abc import Callable

from doctor.simulate.fault import Fault
from doctor.simulate.gpus import find_gpu
from doctor.simulate.scenario import Scenario
from doctor.tables import Tables
from doctor.values import replace

# cuDNN API reference, "cudnnStatus_t": name, number up to cuDNN 8, number since cuDNN 9
_CUDNN = {
    "NOT_INITIALIZED": (1, 1001),
    "ALLOC_FAILED": (2, 4003),
    "INTERNAL_ERROR": (4, 4000),
    "EXECUTION_FAILED": (8, 5000),
}


def gpu(*names: str) -> Callable[[Scenario], Scenario]:
    tables = Tables.bundled()
    return lambda s: s.with_gpus(*(find_gpu(name, tables) for name in names))


def failing_calls(*calls: str) -> Callable[[Scenario], Scenario]:
    return lambda s: s.with_failing_calls(*calls)


def damage(kind: str, *stems: str) -> Callable[[Scenario], Scenario]:
    """A function that damages libraries of a scenario. It also hides any real CUDA on the machine, because
    TensorFlow would use it instead."""
    return lambda s: replace(s.with_damage(kind, *stems), hide_toolkit=True)


def loading(status: int) -> tuple[str, ...]:
    """The lines for `SimulatedMachine.calls` that make every way of loading GPU code fail with a status."""
    functions = ("cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary", "cuLibraryLoadData")
    return tuple(f"fail {function} {status}" for function in functions)


def cuinit(name: str, status: int, code: str, description: str, *, nvml: int = 0) -> Fault:
    """The fault that cuInit returns a status. nvml: the status that nvmlInit returns; 0 if it works."""
    calls = [f"fail cuInit {status}"] + ([f"fail nvmlInit_v2 {nvml}"] if nvml else [])
    return Fault(name, code, f"{description} (cuInit returns {status})", failing_calls(*calls))


def nvml(name: str, status: int, code: str, more: str = "", *, logged: str = "") -> Fault:
    """The fault that nvmlInit returns a status. more: the end of its description."""
    calls = failing_calls(f"fail nvmlInit_v2 {status}")
    return Fault(name, code, f"nvmlInit returns {status}{more}", calls, "nvml", logged=logged)


def visible(name: str, value: str, description: str) -> Fault:
    """The fault in which CUDA_VISIBLE_DEVICES is set to `value`."""
    return Fault(
        name,
        "gpu-hidden",
        f"CUDA_VISIBLE_DEVICES={value!r}: {description}",
        lambda s: s.with_variables(CUDA_VISIBLE_DEVICES=value),
    )


def cudnn_status(name: str, status: str) -> Fault:
    def change(scenario: Scenario) -> Scenario:
        return scenario.with_failing_calls(f"fail cudnnCreate {_CUDNN[status][scenario.is_cudnn_9]}")

    text = f"creating the cuDNN handle fails with CUDNN_STATUS_{status} although memory is free"
    return Fault(name, "cudnn-init-oom", text, change, "convolution", on_machine=None)


def broken(name: str, kind: str, description: str, *, logged: str = "") -> Fault:
    """The fault that libcudnn is damaged. kind: see damage.py."""
    return Fault(name, "library-broken", f"libcudnn {description}", damage(kind, "libcudnn"), logged=logged)


def short_of_memory(handle: str) -> Callable[[Scenario], Scenario]:
    """A function that makes a handle need a quarter of the GPU's memory. TensorFlow's default allocation
    leaves less: the larger of 300 MiB and a twentieth of the memory, on newer GPUs up to 1.8 GiB more
    (MinSystemMemory in TensorFlow's gpu_device.cc)."""
    return lambda s: s.setting(**{f"{handle}__handle_mib": max(s.least_memory_mib // 4, 600)})


def old_driver(scenario: Scenario) -> Scenario:
    """The scenario with a driver from the last branch that is too old for the CUDA runtime's major
    release."""
    if scenario.machine.libraries.cuda_number >= 12000:
        return scenario.with_driver("470.82.01", 11040)
    return scenario.with_driver("440.33.01", 10020)


def old_cudnn(scenario: Scenario) -> Scenario:
    """The scenario with the first release of cuDNN 9, or with cuDNN 8.1."""
    return scenario.setting(cudnn__version=90000 if scenario.is_cudnn_9 else 8100)


def failing_cudnn(function: str) -> Callable[[Scenario], Scenario]:
    return lambda s: s.with_failing_calls(f"fail {function} {_CUDNN['EXECUTION_FAILED'][s.is_cudnn_9]}")


def compute_mode(mode: int, held_mib: int) -> Callable[[Scenario], Scenario]:
    """A function that sets the compute mode of all GPUs (2: Prohibited, 3: Exclusive Process), and lets
    another process hold memory of the first GPU."""

    def change(scenario: Scenario) -> Scenario:
        gpus = (replace(gpu, compute_mode=mode) for gpu in scenario.machine.gpus)
        return replace(scenario.with_gpus(*gpus), held_mib=(held_mib,) if held_mib else scenario.held_mib)

    return change


def kernel_error(status: int) -> Callable[[Scenario], Scenario]:
    """A function that makes the first matrix product fail, and also every later call, because the context
    becomes unusable."""
    products = ("cublasSgemm_v2", "cublasGemmEx", "cublasLtMatmul")
    return lambda s: s.with_failing_calls(*(f"poison {product} {status}" for product in products))


def ecc_error(scenario: Scenario) -> Scenario:
    gpu = replace(find_gpu("A100", Tables.bundled()), ecc_errors=1)
    return kernel_error(214)(scenario.with_gpus(gpu))


def held(scenario: Scenario) -> Scenario:
    """The scenario in which another process leaves only 200 MiB free, less than a context needs."""
    return replace(scenario, held_mib=tuple(gpu.memory_mib - 200 for gpu in scenario.machine.gpus))
