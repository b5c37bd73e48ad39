"""The faults that can be simulated, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from doctor.backports import removeprefix
from doctor.simulate.gpus import find_gpu
from doctor.simulate.scenario import Scenario
from doctor.tables import Tables

# cuDNN API reference, "cudnnStatus_t": name, number up to cuDNN 8, number from cuDNN 9 on
_CUDNN = {
    "NOT_INITIALIZED": (1, 1001),
    "ALLOC_FAILED": (2, 4003),
    "INTERNAL_ERROR": (4, 4000),
    "EXECUTION_FAILED": (8, 5000),
}


@dataclass(frozen=True)
class Fault:
    """A way in which a machine can be wrong.

    code: the finding that names its cause. change: what it does to a scenario.
    shown_by: what a program must do for it to show: "devices" (list the GPUs), "matmul", "kernels" (elementwise
    operations), "convolution", "jit" (a function compiled by XLA), "large" (allocate more than there is),
    "collective" (train on two GPUs), "nvml" (an NVML client, not TensorFlow).
    logged: the code that TensorFlow's log leads to where the log tells less than the machine ("" : the same code).
    on_machine: the code that looking at the machine leads to where that tells something else; None: it does not show
    from outside. until: the last TensorFlow minor release that it shows on; None: no last one.
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
        """Whether this TensorFlow release can show it."""
        return self.until is None or _minor(tensorflow) <= self.until

    @property
    def hides_library(self) -> bool:
        """Whether TensorFlow's log by default does not say what is wrong: since 2.12 it names no library that does not
        load, unless TF_CPP_VMODULE=dso_loader=1."""
        return self.code in ("cuda-missing", "cudnn-missing", "library-broken", "cuda-version-mismatch") or (
            self.name == "cudnn-wrong-major"
        )

    def logged_on(self, tensorflow: str) -> str:
        """The code that the default log of a TensorFlow release leads to."""
        if self.name == "nvml-missing" and _minor(tensorflow) < (2, 21):
            # NVML is opened from 2.21 on; without it no GPU is registered, and no word said. Before, all is well, and up to
            # 2.19 every import prints something alarming
            return "benign-messages" if _minor(tensorflow) < (2, 20) else "healthy"
        if self.hides_library and self.logged != "undetermined":
            # 2.16.1 does not look into the folders of pip's CUDA packages but libcudart's, which is the likeliest cause there
            runtime = self.name in ("cuda-missing", "cuda-wrong-major", "cudart-missing")
            return "library-path" if _minor(tensorflow) == (2, 16) and not runtime else "cuda-missing"
        return self.logged or self.code


def _minor(tensorflow: str) -> tuple[int, int]:
    major, minor = tensorflow.split(".")[:2]
    return int(major), int(minor)


def _gpu(*names: str) -> Callable[[Scenario], Scenario]:
    tables = Tables.bundled()
    return lambda s: s.with_gpus(*(find_gpu(name, tables) for name in names))


def _calls(*calls: str) -> Callable[[Scenario], Scenario]:
    return lambda s: s.striking(*calls)


def _damage(kind: str, *stems: str) -> Callable[[Scenario], Scenario]:
    """Another CUDA that the machine really has is out of sight, so that it does not step in."""
    return lambda s: replace(s.damaging(kind, *stems), hide_toolkit=True)


def _loading(status: int) -> tuple[str, ...]:
    """Every way of loading GPU code fails."""
    functions = ("cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary", "cuLibraryLoadData")
    return tuple(f"fail {function} {status}" for function in functions)


def _cuinit(
    name: str, status: int, code: str, description: str, *, nvml: int = 0, logged: str = "", on_machine: str | None = ""
) -> Fault:
    calls = [f"fail cuInit {status}"] + ([f"fail nvmlInit_v2 {nvml}"] if nvml else [])
    return Fault(
        name, code, f"{description} (cuInit gives {status})", _calls(*calls), logged=logged, on_machine=on_machine
    )


def _visible(name: str, value: str, description: str) -> Fault:
    return Fault(
        name,
        "gpu-hidden",
        f"CUDA_VISIBLE_DEVICES={value!r}: {description}",
        lambda s: s.with_variables(CUDA_VISIBLE_DEVICES=value),
    )


def _cudnn_status(name: str, status: str) -> Fault:
    def change(scenario: Scenario) -> Scenario:
        return scenario.striking(f"fail cudnnCreate {_CUDNN[status][scenario.is_cudnn_9]}")

    text = f"creating the cuDNN handle fails with CUDNN_STATUS_{status} although memory is free"
    return Fault(name, "cudnn-init-oom", text, change, "convolution", on_machine=None)


def _broken(name: str, kind: str, description: str, *, logged: str = "") -> Fault:
    return Fault(name, "library-broken", f"libcudnn {description}", _damage(kind, "libcudnn"), logged=logged)


def _short_of_memory(handle: str) -> Callable[[Scenario], Scenario]:
    """A handle that needs a quarter of the GPU: more than TensorFlow's default allocation leaves, which is the larger
    of 300 MiB and a twentieth, and on newer GPUs up to 1.8 GiB more (MinSystemMemory in TensorFlow's gpu_device.cc)."""
    return lambda s: s.setting(**{f"{handle}__handle_mib": max(s.least_memory_mib // 4, 600)})


def _old_driver(scenario: Scenario) -> Scenario:
    """The last branch before the one that the runtime's major release needs."""
    if scenario.machine.libraries.cuda_number >= 12000:
        return scenario.with_driver("470.82.01", 11040)
    return scenario.with_driver("440.33.01", 10020)


def _old_cudnn(scenario: Scenario) -> Scenario:
    return scenario.setting(cudnn__version=90000 if scenario.is_cudnn_9 else 8100)


def _failing_cudnn(function: str) -> Callable[[Scenario], Scenario]:
    return lambda s: s.striking(f"fail {function} {_CUDNN['EXECUTION_FAILED'][s.is_cudnn_9]}")


def _compute_mode(mode: int, held_mib: int) -> Callable[[Scenario], Scenario]:
    def change(scenario: Scenario) -> Scenario:
        gpus = (replace(gpu, compute_mode=mode) for gpu in scenario.machine.gpus)
        return replace(scenario.with_gpus(*gpus), held_mib=(held_mib,) if held_mib else scenario.held_mib)

    return change


def _kernel_error(status: int) -> Callable[[Scenario], Scenario]:
    """The first matrix product goes wrong, and with it every call after it: the context cannot be used any more."""
    products = ("cublasSgemm_v2", "cublasGemmEx", "cublasLtMatmul")
    return lambda s: s.striking(*(f"poison {product} {status}" for product in products))


def _ecc_error(scenario: Scenario) -> Scenario:
    gpu = replace(find_gpu("A100", Tables.bundled()), ecc_errors=1)
    return _kernel_error(214)(scenario.with_gpus(gpu))


def _held(scenario: Scenario) -> Scenario:
    """All but 200 MiB, less than a context takes."""
    return replace(scenario, held_mib=tuple(gpu.memory_mib - 200 for gpu in scenario.machine.gpus))


def _catalogue() -> tuple[Fault, ...]:
    return (
        # --- the driver --------------------------------------------------------------------------
        Fault(
            "no-gpu",
            "gpu-absent",
            "the driver's libraries are installed and there is no GPU",
            lambda s: replace(s.with_gpus(), kernel_driver=None, device_nodes=False).striking("fail nvmlInit_v2 9"),
        ),
        Fault(
            "driver-not-loaded",
            "driver-not-loaded",
            "the driver's libraries are installed, its kernel module does not run",
            lambda s: replace(s, kernel_driver=None, device_nodes=False).striking(
                "fail cuInit 100", "fail nvmlInit_v2 9"
            ),
            logged="gpu-absent",  # the log says that there is no device, not that a GPU is in the machine
        ),
        Fault(
            "libcuda-missing",
            "driver-libcuda-missing",
            "the kernel module runs, and this process finds no libcuda.so.1",
            _damage("missing", "libcuda"),
        ),
        Fault(
            "driver-mismatch",
            "driver-library-mismatch",
            "the kernel module is 535.129.03 and the libraries are of another version (cuInit gives 803, nvmlInit 18)",
            lambda s: replace(s, kernel_driver="535.129.03").striking("fail cuInit 803", "fail nvmlInit_v2 18"),
        ),
        Fault("driver-too-old", "driver-too-old", "the driver is older than the CUDA runtime needs", _old_driver),
        Fault(
            "cuda-compat",
            "cuda-compat-package",
            "libcuda comes from a forward-compatibility package, on a GPU that it does not support (cuInit gives 804)",
            lambda s: replace(s, kernel_driver="535.129.03", compatibility_package=True).striking("fail cuInit 804"),
            logged="driver-library-mismatch",  # the log does not say where libcuda came from
        ),
        Fault(
            "no-device-nodes",
            "device-permission",
            "the device files /dev/nvidia* are missing (cuInit gives 304)",
            lambda s: replace(s, device_nodes=False).striking("fail cuInit 304", "fail nvmlInit_v2 4"),
        ),
        _cuinit("operating-system", 304, "device-permission", "the driver may not open its device files", nvml=4),
        _cuinit("not-permitted", 800, "device-permission", "a policy forbids this process to use the GPU", nvml=4),
        _cuinit("init-out-of-memory", 2, "gpu-memory-held", "no memory is left for the driver itself"),
        _cuinit(
            "driver-stub",
            34,
            "library-path",
            "the toolkit's stub of libcuda is found in place of the driver's",
        ),
        _cuinit(
            "driver-insufficient",
            35,
            "driver-too-old",
            "the driver says that it is older than what asks",
        ),
        _cuinit("not-initialized", 3, "gpu-bad-state", "the driver does not come up"),
        _cuinit("invalid-device", 101, "gpu-bad-state", "the driver stumbles over a GPU that it cannot start"),
        _cuinit("no-device", 100, "gpu-hidden", "the driver says that there is no device"),
        _cuinit(
            "fabric-manager",
            802,
            "gpu-bad-state",
            "the fabric manager of an NVSwitch machine does not run",
        ),
        _cuinit(
            "compat-unsupported",
            804,
            "driver-library-mismatch",
            "after an upgrade within one driver branch",
        ),
        _cuinit("mps-failed", 805, "gpu-bad-state", "the Multi-Process Service is not to be reached"),
        _cuinit("unknown-error", 999, "gpu-bad-state", "the driver is in a bad state, as after suspend"),
        Fault(
            "driver-hangs",
            "gpu-bad-state",
            "cuInit and nvmlInit never return",
            _calls("hang cuInit", "hang nvmlInit_v2"),
            logged="benign-messages",
        ),
        Fault(
            "driver-crashes",
            "gpu-bad-state",
            "cuInit crashes with SIGSEGV",
            _calls("crash cuInit"),
            logged="undetermined",
        ),
        # --- NVML --------------------------------------------------------------------------------
        Fault(
            "nvml-missing",
            "driver-libcuda-missing",
            "there is no libnvidia-ml.so.1, as in a container without the driver's utility part",
            _damage("missing", "libnvidia-ml"),
            logged="undetermined",
        ),
        Fault("nvml-no-permission", "device-permission", "nvmlInit gives 4", _calls("fail nvmlInit_v2 4"), "nvml"),
        Fault("nvml-driver-not-loaded", "driver-not-loaded", "nvmlInit gives 9", _calls("fail nvmlInit_v2 9"), "nvml"),
        Fault("nvml-mismatch", "driver-library-mismatch", "nvmlInit gives 18", _calls("fail nvmlInit_v2 18"), "nvml"),
        Fault(
            "nvml-unknown-error",
            "gpu-bad-state",
            "nvmlInit gives 999, as in a container that has lost its device files",
            _calls("fail nvmlInit_v2 999"),
            "nvml",
            logged="device-permission",
        ),
        Fault(
            "nvml-blocked",
            "gpu-bad-state",
            "nvmlInit gives 17: the operating system has blocked the request",
            _calls("fail nvmlInit_v2 17"),
            "nvml",
        ),
        Fault(
            "gpu-needs-reset",
            "gpu-bad-state",
            "the GPU waits for a reset",
            _calls("fail cuInit 999", "fail nvmlDeviceGetHandleByIndex_v2 16"),
        ),
        Fault(
            "gpu-lost",
            "gpu-bad-state",
            "the GPU has fallen off the bus",
            _calls("fail cuInit 999", "fail nvmlDeviceGetHandleByIndex_v2 15", "fail nvmlDeviceGetMemoryInfo 15"),
        ),
        # --- the GPU -----------------------------------------------------------------------------
        Fault("gpu-too-old", "gpu-arch-too-old", "a GTX 680 (compute capability 3.0)", _gpu("GTX 680")),
        Fault(
            "gpu-no-kernels",
            "gpu-arch-too-old",
            "a Tesla K80 (compute capability 3.7), for which the build has no kernels",
            lambda s: _gpu("K80")(s).striking("fail cudaLaunchKernel 209", *_loading(209)),
            "kernels",
        ),
        Fault("gpu-too-new", "gpu-arch-too-new", "an RTX 5090 (compute capability 12.0)", _gpu("RTX 5090")),
        Fault(
            "few-multiprocessors",
            "gpu-arch-too-old",
            "beside an RTX 3070 a GTX 1050 Ti with too few multiprocessors",
            _gpu("RTX 3070", "GTX 1050 Ti"),
        ),
        _visible("hidden", "-1", "all are hidden"),
        _visible("hidden-empty", "", "set and empty: all are hidden"),
        _visible("hidden-index", "7", "there is no such GPU"),
        _visible("hidden-uuid", "GPU-00000000", "there is no such GPU"),
        _visible("hidden-mig", "MIG-8932f937-d72c-4106-c12f-20bd9faed9f6", "there is no such MIG instance"),
        _visible("hidden-duplicate", "0,0", "a repeated entry hides all"),
        _visible("hidden-first-invalid", "-1,0", "an invalid entry hides itself and all after it"),
        Fault(
            "mig-empty",
            "gpu-reserved",
            "an A100 in MIG mode on which no instance is made",
            lambda s: s.with_gpus(replace(find_gpu("A100", Tables.bundled()), instances=())),
            logged="gpu-hidden",  # the log says only that the driver shows no device
        ),
        Fault("prohibited-mode", "gpu-bad-state", "the compute mode is Prohibited", _compute_mode(2, 0)),
        Fault(
            "exclusive-mode",
            "gpu-bad-state",
            "the compute mode is Exclusive Process and another process is in",
            _compute_mode(3, 1000),
        ),
        # --- libraries ---------------------------------------------------------------------------
        Fault(
            "cuda-missing",
            "cuda-missing",
            "no CUDA library is there",
            _damage(
                "missing",
                "libcudart",
                "libcublas",
                "libcublasLt",
                "libcufft",
                "libcurand",
                "libcusolver",
                "libcusparse",
                "libcudnn",
            ),
        ),
        *(
            Fault(
                f"{removeprefix(stem, 'lib').lower()}-missing",
                "cuda-missing",
                f"{stem} is not there",
                _damage("missing", stem),
            )
            for stem in ("libcudart", "libcublas", "libcublasLt", "libcufft", "libcusolver", "libcusparse")
        ),
        Fault(
            "curand-missing",
            "cuda-missing",
            "libcurand is not there, which TensorFlow opens up to 2.13",
            _damage("missing", "libcurand"),
            on_machine=None,
            until=(2, 13),
        ),
        Fault("cudnn-missing", "cudnn-missing", "libcudnn is not there", _damage("missing", "libcudnn")),
        Fault(
            "cudnn-wrong-major",
            "cudnn-version-mismatch",
            "libcudnn of another major version is there",
            _damage("wrong-major", "libcudnn"),
            logged="cudnn-missing",
        ),
        Fault(
            "cuda-wrong-major",
            "cuda-version-mismatch",
            "the CUDA libraries of another major version are there",
            _damage("wrong-major", "libcudart", "libcublas", "libcublasLt", "libcufft", "libcusolver", "libcusparse"),
            logged="cuda-missing",
        ),
        _broken("cudnn-empty", "empty", "is a file of no bytes"),
        _broken("cudnn-truncated", "truncated", "is cut off", logged="undetermined"),
        _broken("cudnn-text", "text", "is a git-LFS pointer"),
        _broken("cudnn-other-machine", "other-machine", "is made for aarch64", logged="cudnn-missing"),
        _broken("cudnn-32-bit", "32-bit", "is a 32-bit file"),
        _broken("cudnn-needs-missing", "needs-missing", "needs a library that is not there"),
        _broken("cudnn-undefined-symbol", "undefined-symbol", "needs a symbol that no library has"),
        _broken("cudnn-dangling", "dangling", "is a link to nothing", logged="cudnn-missing"),
        Fault(
            "no-ptxas",
            "xla-toolchain-missing",
            "neither ptxas nor libdevice is to be found",
            lambda s: replace(s, hide_toolkit=True, toolkit=False),
            "jit",
            on_machine=None,
        ),
        Fault(
            "nccl-missing",
            "nccl-failure",
            "two GPUs, and no libnccl for what they have to tell each other",
            lambda s: _damage("missing", "libnccl")(_gpu("RTX 3070", "RTX 3070")(s)),
            "collective",
            on_machine=None,
        ),
        # --- cuDNN, cuBLAS, memory ---------------------------------------------------------------
        Fault(
            "cudnn-out-of-memory",
            "cudnn-init-oom",
            "the cuDNN handle needs more than TensorFlow's default allocation leaves; memory growth cures it",
            _short_of_memory("cudnn"),
            "convolution",
            on_machine=None,
        ),
        _cudnn_status("cudnn-not-initialized", "NOT_INITIALIZED"),
        _cudnn_status("cudnn-internal-error", "INTERNAL_ERROR"),
        _cudnn_status("cudnn-alloc-failed", "ALLOC_FAILED"),
        Fault(
            "cudnn-too-old",
            "cudnn-version-mismatch",
            "cuDNN is older than the one the build was compiled with",
            _old_cudnn,
            "convolution",
        ),
        Fault(
            "cublas-not-initialized",
            "cudnn-init-oom",
            "creating the cuBLAS handle fails with CUBLAS_STATUS_NOT_INITIALIZED although memory is free",
            _calls("fail cublasCreate_v2 1"),
            "matmul",
            on_machine=None,
        ),
        Fault(
            "cublas-out-of-memory",
            "cudnn-init-oom",
            "the cuBLAS handle needs more than TensorFlow's default allocation leaves; memory growth cures it",
            _short_of_memory("cublas"),
            "matmul",
            on_machine=None,
        ),
        Fault(
            "no-algorithm",
            "cudnn-init-oom",
            "cuDNN offers no algorithm for the convolution",
            lambda s: s.setting(cudnn__engines=0),
            "convolution",
            on_machine=None,
        ),
        Fault(
            "cudnn-execution-failed",
            "cudnn-init-oom",
            "every algorithm of the convolution fails",
            _failing_cudnn("cudnnBackendExecute"),
            "convolution",
            on_machine=None,
        ),
        Fault("memory-held", "gpu-memory-held", "another process holds nearly all memory of the GPU", _held),
        Fault(
            "small-memory",
            "model-oom",
            "a GTX 1650 with 4 GiB, too small for the model",
            _gpu("GTX 1650"),
            "large",
            on_machine=None,
        ),
        # --- while kernels run -------------------------------------------------------------------
        Fault(
            "illegal-address",
            "ptx-jit-or-kernel-crash",
            "a kernel reads outside its memory",
            _kernel_error(700),
            "matmul",
            on_machine=None,
        ),
        Fault(
            "launch-failed",
            "ptx-jit-or-kernel-crash",
            "a kernel fails",
            _kernel_error(719),
            "matmul",
            on_machine=None,
        ),
        Fault(
            "ecc-error",
            "gpu-bad-state",
            "an A100 whose memory has an uncorrectable error",
            _ecc_error,
            "matmul",
        ),
        Fault(
            "unsupported-ptx",
            "driver-too-old",
            "the PTX is newer than the driver's compiler",
            _calls(*_loading(222)),
            "jit",
            on_machine=None,
        ),
        Fault(
            "invalid-ptx",
            "gpu-arch-too-new",
            "the driver cannot compile the PTX for the GPU",
            _calls(*_loading(218)),
            "jit",
            on_machine=None,
        ),
    )


FAULTS: dict[str, Fault] = {fault.name: fault for fault in _catalogue()}
