"""The faults that can be simulated, by name: a table of data, so it may be longer than 400 lines."""

from __future__ import annotations

from doctor.backports import removeprefix
from doctor.simulate.effects import (
    broken,
    compute_mode,
    cudnn_status,
    cuinit,
    damage,
    ecc_error,
    failing_calls,
    failing_cudnn,
    gpu,
    held,
    kernel_error,
    loading,
    old_cudnn,
    old_driver,
    short_of_memory,
    visible,
)
from doctor.simulate.fault import Fault
from doctor.simulate.gpus import find_gpu
from doctor.tables import Tables
from doctor.values import replace


def _catalogue() -> tuple[Fault, ...]:
    return (
        # --- the driver --------------------------------------------------------------------------
        Fault(
            "no-gpu",
            "gpu-absent",
            "the driver's libraries are installed and there is no GPU",
            lambda s: replace(s.with_gpus(), kernel_driver=None, device_nodes=False).striking(
                "fail nvmlInit_v2 9"
            ),
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
            damage("missing", "libcuda"),
        ),
        Fault(
            "driver-mismatch",
            "driver-library-mismatch",
            "the kernel module is 535.129.03 and the libraries are of another version (cuInit gives 803,"
            " nvmlInit 18)",
            lambda s: replace(s, kernel_driver="535.129.03").striking(
                "fail cuInit 803", "fail nvmlInit_v2 18"
            ),
        ),
        Fault(
            "driver-too-old", "driver-too-old", "the driver is older than the CUDA runtime needs", old_driver
        ),
        Fault(
            "cuda-compat",
            "cuda-compat-package",
            "libcuda comes from a forward-compatibility package, on a GPU that it does not support (cuInit"
            " gives 804)",
            lambda s: replace(s, kernel_driver="535.129.03", compatibility_package=True).striking(
                "fail cuInit 804"
            ),
            logged="driver-library-mismatch",  # the log does not say where libcuda came from
        ),
        Fault(
            "no-device-nodes",
            "device-permission",
            "the device files /dev/nvidia* are missing (cuInit gives 304)",
            lambda s: replace(s, device_nodes=False).striking("fail cuInit 304", "fail nvmlInit_v2 4"),
        ),
        cuinit(
            "operating-system", 304, "device-permission", "the driver may not open its device files", nvml=4
        ),
        cuinit(
            "not-permitted", 800, "device-permission", "a policy forbids this process to use the GPU", nvml=4
        ),
        cuinit("init-out-of-memory", 2, "gpu-memory-held", "no memory is left for the driver itself"),
        cuinit(
            "driver-stub",
            34,
            "library-path",
            "the toolkit's stub of libcuda is found in place of the driver's",
        ),
        cuinit(
            "driver-insufficient",
            35,
            "driver-too-old",
            "the driver says that it is older than what asks",
        ),
        cuinit("not-initialized", 3, "gpu-bad-state", "the driver does not come up"),
        cuinit("invalid-device", 101, "gpu-bad-state", "the driver stumbles over a GPU that it cannot start"),
        cuinit("no-device", 100, "gpu-hidden", "the driver says that there is no device"),
        cuinit(
            "fabric-manager",
            802,
            "gpu-bad-state",
            "the fabric manager of an NVSwitch machine does not run",
        ),
        cuinit(
            "compat-unsupported",
            804,
            "driver-library-mismatch",
            "after an upgrade within one driver branch",
        ),
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
        # --- NVML --------------------------------------------------------------------------------
        Fault(
            "nvml-missing",
            "driver-libcuda-missing",
            "there is no libnvidia-ml.so.1, as in a container without the driver's utility part",
            damage("missing", "libnvidia-ml"),
            logged="undetermined",
        ),
        Fault(
            "nvml-no-permission",
            "device-permission",
            "nvmlInit gives 4",
            failing_calls("fail nvmlInit_v2 4"),
            "nvml",
        ),
        Fault(
            "nvml-driver-not-loaded",
            "driver-not-loaded",
            "nvmlInit gives 9",
            failing_calls("fail nvmlInit_v2 9"),
            "nvml",
        ),
        Fault(
            "nvml-mismatch",
            "driver-library-mismatch",
            "nvmlInit gives 18",
            failing_calls("fail nvmlInit_v2 18"),
            "nvml",
        ),
        Fault(
            "nvml-unknown-error",
            "gpu-bad-state",
            "nvmlInit gives 999, as in a container that has lost its device files",
            failing_calls("fail nvmlInit_v2 999"),
            "nvml",
            logged="device-permission",
        ),
        Fault(
            "nvml-blocked",
            "gpu-bad-state",
            "nvmlInit gives 17: the operating system has blocked the request",
            failing_calls("fail nvmlInit_v2 17"),
            "nvml",
        ),
        Fault(
            "gpu-needs-reset",
            "gpu-bad-state",
            "the GPU waits for a reset",
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
        # --- the GPU -----------------------------------------------------------------------------
        Fault("gpu-too-old", "gpu-arch-too-old", "a GTX 680 (compute capability 3.0)", gpu("GTX 680")),
        Fault(
            "gpu-no-kernels",
            "gpu-arch-too-old",
            "a Tesla K80 (compute capability 3.7), for which the build has no kernels",
            lambda s: gpu("K80")(s).striking("fail cudaLaunchKernel 209", *loading(209)),
            "kernels",
        ),
        Fault("gpu-too-new", "gpu-arch-too-new", "an RTX 5090 (compute capability 12.0)", gpu("RTX 5090")),
        Fault(
            "few-multiprocessors",
            "gpu-arch-too-old",
            "beside an RTX 3070 a GTX 1050 Ti with too few multiprocessors",
            gpu("RTX 3070", "GTX 1050 Ti"),
        ),
        visible("hidden", "-1", "all are hidden"),
        visible("hidden-empty", "", "set and empty: all are hidden"),
        visible("hidden-index", "7", "there is no such GPU"),
        visible("hidden-uuid", "GPU-00000000", "there is no such GPU"),
        visible("hidden-mig", "MIG-8932f937-d72c-4106-c12f-20bd9faed9f6", "there is no such MIG instance"),
        visible("hidden-duplicate", "0,0", "a repeated entry hides all"),
        visible("hidden-first-invalid", "-1,0", "an invalid entry hides itself and all after it"),
        Fault(
            "mig-empty",
            "gpu-reserved",
            "an A100 in MIG mode without an instance",
            lambda s: s.with_gpus(replace(find_gpu("A100", Tables.bundled()), instances=())),
            logged="gpu-hidden",  # the log says only that the driver shows no device
        ),
        Fault("prohibited-mode", "gpu-bad-state", "the compute mode is Prohibited", compute_mode(2, 0)),
        Fault(
            "exclusive-mode",
            "gpu-bad-state",
            "the compute mode is Exclusive Process and another process uses the GPU",
            compute_mode(3, 1000),
        ),
        # --- libraries ---------------------------------------------------------------------------
        Fault(
            "cuda-missing",
            "cuda-missing",
            "no CUDA library is installed",
            damage(
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
                damage("missing", stem),
            )
            for stem in ("libcudart", "libcublas", "libcublasLt", "libcufft", "libcusolver", "libcusparse")
        ),
        Fault(
            "curand-missing",
            "cuda-missing",
            "libcurand is not there, which TensorFlow opens up to 2.13",
            damage("missing", "libcurand"),
            on_machine=None,
            until=(2, 13),
        ),
        Fault("cudnn-missing", "cudnn-missing", "libcudnn is not there", damage("missing", "libcudnn")),
        Fault(
            "cudnn-wrong-major",
            "cudnn-version-mismatch",
            "libcudnn of another major version is there",
            damage("wrong-major", "libcudnn"),
            logged="cudnn-missing",
        ),
        Fault(
            "cuda-wrong-major",
            "cuda-version-mismatch",
            "the CUDA libraries of another major version are there",
            damage(
                "wrong-major",
                "libcudart",
                "libcublas",
                "libcublasLt",
                "libcufft",
                "libcusolver",
                "libcusparse",
            ),
            logged="cuda-missing",
        ),
        broken("cudnn-empty", "empty", "is an empty file"),
        broken("cudnn-truncated", "truncated", "is cut off", logged="undetermined"),
        broken("cudnn-text", "text", "is a git-LFS pointer"),
        broken("cudnn-other-machine", "other-machine", "is made for aarch64", logged="cudnn-missing"),
        broken("cudnn-32-bit", "32-bit", "is a 32-bit file"),
        broken("cudnn-needs-missing", "needs-missing", "needs a library that is not there"),
        broken("cudnn-undefined-symbol", "undefined-symbol", "needs a symbol that no library has"),
        broken("cudnn-dangling", "dangling", "is a link to nothing", logged="cudnn-missing"),
        Fault(
            "no-ptxas",
            "xla-toolchain-missing",
            "ptxas and libdevice cannot be found",
            lambda s: replace(s, hide_toolkit=True, toolkit=False),
            "jit",
            on_machine=None,
        ),
        Fault(
            "nccl-missing",
            "nccl-failure",
            "two GPUs, and no libnccl for the communication between them",
            lambda s: damage("missing", "libnccl")(gpu("RTX 3070", "RTX 3070")(s)),
            "collective",
            on_machine=None,
        ),
        # --- cuDNN, cuBLAS, memory ---------------------------------------------------------------
        Fault(
            "cudnn-out-of-memory",
            "cudnn-init-oom",
            "the cuDNN handle needs more than TensorFlow's default allocation leaves; memory growth cures it",
            short_of_memory("cudnn"),
            "convolution",
            on_machine=None,
        ),
        cudnn_status("cudnn-not-initialized", "NOT_INITIALIZED"),
        cudnn_status("cudnn-internal-error", "INTERNAL_ERROR"),
        cudnn_status("cudnn-alloc-failed", "ALLOC_FAILED"),
        Fault(
            "cudnn-too-old",
            "cudnn-version-mismatch",
            "cuDNN is older than the one the build was compiled with",
            old_cudnn,
            "convolution",
        ),
        Fault(
            "cublas-not-initialized",
            "cudnn-init-oom",
            "creating the cuBLAS handle fails with CUBLAS_STATUS_NOT_INITIALIZED although memory is free",
            failing_calls("fail cublasCreate_v2 1"),
            "matmul",
            on_machine=None,
        ),
        Fault(
            "cublas-out-of-memory",
            "cudnn-init-oom",
            "the cuBLAS handle needs more than TensorFlow's default allocation leaves; memory growth"
            " cures it",
            short_of_memory("cublas"),
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
            failing_cudnn("cudnnBackendExecute"),
            "convolution",
            on_machine=None,
        ),
        Fault("memory-held", "gpu-memory-held", "another process holds nearly all memory of the GPU", held),
        Fault(
            "small-memory",
            "model-oom",
            "a GTX 1650 with 4 GiB, too small for the model",
            gpu("GTX 1650"),
            "large",
            on_machine=None,
        ),
        # --- while kernels run -------------------------------------------------------------------
        Fault(
            "illegal-address",
            "ptx-jit-or-kernel-crash",
            "a kernel reads outside its memory",
            kernel_error(700),
            "matmul",
            on_machine=None,
        ),
        Fault(
            "launch-failed",
            "ptx-jit-or-kernel-crash",
            "a kernel fails",
            kernel_error(719),
            "matmul",
            on_machine=None,
        ),
        Fault(
            "ecc-error",
            "gpu-bad-state",
            "an A100 whose memory has an uncorrectable error",
            ecc_error,
            "matmul",
        ),
        Fault(
            "unsupported-ptx",
            "driver-too-old",
            "the PTX is newer than the driver's compiler",
            failing_calls(*loading(222)),
            "jit",
            on_machine=None,
        ),
        Fault(
            "invalid-ptx",
            "gpu-arch-too-new",
            "the driver cannot compile the PTX for the GPU",
            failing_calls(*loading(218)),
            "jit",
            on_machine=None,
        ),
    )


FAULTS: dict[str, Fault] = {fault.name: fault for fault in _catalogue()}
