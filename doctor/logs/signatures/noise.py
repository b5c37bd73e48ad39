"""Signatures of harmless lines that alarm people, each with the reason why it is harmless."""

from __future__ import annotations

from doctor.facts import Fact, Noise, Source
from doctor.logs.signatures.signature import Maker, Signature, sig


def _noise(kind: str, meaning: str) -> Maker:
    def make(match: object, source: Source) -> Fact:
        return Noise(source, kind, meaning)

    return make


def _harmless(
    kind: str, literals: str | tuple[str, ...], pattern: str, meaning: str, example: str, lines: int = 1
) -> Signature:
    return sig(kind, literals, pattern, example, _noise(kind, meaning), lines=lines)


SIGNATURES: tuple[Signature, ...] = (
    _harmless(  # level INFO in gpu_init.cc (0.x) and stream_executor/platform.cc
        "no-peer-access",
        "cannot enable peer access from device ordinal",
        r"cannot enable peer access from device ordinal \d{1,3} to device ordinal \d{1,3}",
        "data is copied between these two GPUs through the host's memory; each GPU works",
        "cannot enable peer access from device ordinal 0 to device ordinal 2",
    ),
    _harmless(
        "numa-node",
        "successful numa node read from sysfs had negative value|could not open file to read numa node|"
        "could not identify numa node|may have been built without numa support|"
        "may not have been built with numa support|built with numa support|built without numa support",
        r"successful NUMA node read from SysFS had negative value|could not open file to read NUMA node"
        r"|Could not identify NUMA node|built with(?:out)? NUMA support",
        "the kernel reports no NUMA node for the GPU, so TensorFlow uses node zero; on a machine with one"
        " processor socket, this has no disadvantage",
        "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA"
        " node, so returning NUMA node zero",
    ),
    _harmless(  # tensorflow/core/common_runtime/pluggable_device/pluggable_device_bfc_allocator.cc
        "plugin-memory-growth",
        "force_memory_growth was requested by the device",
        r"(?:Overriding allow_growth setting because )?force_memory_growth was requested by the device",
        "the plugin's device always lets its memory grow, whatever the program sets",
        "Overriding allow_growth setting because force_memory_growth was requested by the device.",
    ),
    _harmless(  # the entry script of NVIDIA's containers
        "compat-mode-enabled",
        "cuda forward compatibility mode enabled",
        r"CUDA Forward Compatibility mode ENABLED",
        "NVIDIA's container uses its own, newer libcuda on this data-centre GPU; the host's driver can stay",
        "NOTE: CUDA Forward Compatibility mode ENABLED.",
    ),
    _harmless(
        "factory-registered",
        "unable to register cudnn factory|unable to register cublas factory|unable to register cufft factory",
        r"Unable to register cu(?:DNN|BLAS|FFT) factory",
        "TensorFlow prints this at the import, with or without a GPU: the plugin is registered twice, and the"
        " second registration is ignored",
        "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has"
        " already been registered",
    ),
    _harmless(  # tensorflow/python/keras/mixed_precision/device_compatibility_check.py, 2.1 and later
        "mixed-precision-check",
        "mixed precision compatibility check|with dtype policy mixed_float16",
        r"Mixed precision compatibility check \(mixed_float16\)"
        r"|Your GPUs? (?:will likely|may) run (?:quickly|slowly) with dtype policy mixed_float16",
        "Keras reports whether the GPU is faster with 16-bit numbers (from compute capability 7.0 on); in any"
        " case, Keras uses the GPU",
        "Your GPU will likely run quickly with dtype policy mixed_float16 as it has compute capability of at"
        " least 7.0. Your GPU: NVIDIA GeForce RTX 3080, compute capability 8.6",
    ),
    _harmless(  # tensorflow/contrib/__init__.py, 1.13 to 1.15
        "contrib-notice",
        "the tensorflow contrib module will not be included",
        r"The TensorFlow contrib module will not be included in TensorFlow 2\.0",
        "a notice in case you move to TensorFlow 2 later; in TensorFlow 1, contrib works",
        "The TensorFlow contrib module will not be included in TensorFlow 2.0.",
    ),
    _harmless(
        "unknown-op",
        "for unknown op: ",
        r"OpKernel \('op: \"\w{1,60}\" device_type: \"\w{1,20}\"[^\n]{0,120}'\) for unknown op: \w{1,60}",
        "the build has a kernel but no op of this name (tensor_forest on Windows in TensorFlow 1.0 and 1.1);"
        " only that op is missing",
        'E op_kernel.cc:943] OpKernel (\'op: "BestSplits" device_type: "CPU"\') for unknown op: BestSplits',
    ),
    _harmless(
        "computation-placer",
        "computation placer already registered",
        r"computation placer already registered",
        "the import registers the same entries twice; the second registration is ignored",
        "computation placer already registered. Please check linkage and avoid linking the same target more"
        " than once.",
    ),
    _harmless(
        "tf-trt",
        "could not find tensorrt|libnvinfer|tf-trt warning",
        r"TF-TRT Warning|Could not find TensorRT|(?:Could not load|Could not dlopen)[^\n]{0,30}libnvinfer\w*",
        "TensorRT is an optional inference engine; TensorFlow uses the GPU without it",
        "TF-TRT Warning: Could not find TensorRT",
    ),
    _harmless(
        "asm-on-windows",
        "invoking gpu asm compilation is supported on cuda non-windows platforms only",
        r"Invoking GPU asm compilation is supported on Cuda non-Windows platforms only",
        "TensorFlow up to 2.10 prints this on Windows, where the driver compiles the remaining GPU code",
        "Internal: Invoking GPU asm compilation is supported on Cuda non-Windows platforms only",
    ),
    _harmless(
        "wsl-libcuda-no-link",
        "libcuda.so.1 is not a symbolic link",
        r"/usr/lib/wsl/lib/libcuda\.so\.1 is not a symbolic link",
        "a remark by ldconfig about the file that Windows mounts into WSL; the loader finds it anyway",
        "/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link",
    ),
    _harmless(
        "onednn",
        "onednn custom operations are on",
        r"oneDNN custom operations are on",
        "a notice about how the CPU computes",
        "oneDNN custom operations are on. You may see slightly different numerical results due to"
        " floating-point round-off errors",
    ),
    _harmless(
        "cpu-features",
        "this tensorflow binary is optimized|"
        "your cpu supports instructions that this tensorflow binary was not compiled to use|"
        "the tensorflow library wasn't compiled to use",
        r"This TensorFlow binary is optimized|Your CPU supports instructions that this TensorFlow binary was"
        r" not compiled to use|The TensorFlow library wasn't compiled to use \S+ instructions",
        "a notice about CPU instructions; it concerns only the speed of ops on the CPU",
        "Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 FMA",
    ),
    _harmless(
        "absl-init",
        "all log messages before absl::initializelog",
        r"All log messages before absl::InitializeLog\(\) is called",
        "a notice that only says where the first messages are printed",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    ),
    _harmless(
        "ten-percent",
        "exceeds 10% of",
        r"\b(?:cpu[ _]allocator|Allocation(?: of \d+)?) exceeds 10% of (?:the )?(?:free )?(?:system )?memory",
        "a hint that a tensor in the host's memory is large",
        "Allocation of 411041792 exceeds 10% of free system memory.",
    ),
    _harmless(
        "not-a-failure",
        "ran out of memory trying to allocate",
        r"ran out of memory trying to allocate[^\n]{0,120}(?:\n[^\n]{0,80}){0,2}?not a failure",
        "there was too little memory to try a faster algorithm, so TensorFlow uses one that needs less",
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB. The caller indicates that this"
        " is not a failure, but may mean",
        lines=3,
    ),
    _harmless(
        "cancelled-rendezvous",
        "end of sequence|rendezvous|executor start aborting|local rendezvous is aborting",
        r"OUT_OF_RANGE: End of sequence"
        r"|Executor start aborting|Local rendezvous is aborting with status: OUT_OF_RANGE",
        "the normal end of a dataset, printed as a status",
        "Local rendezvous is aborting with status: OUT_OF_RANGE: End of sequence",
    ),
    _harmless(
        "type-inference",
        "type inference failed. this indicates an invalid graph",
        r"Type inference failed\. This indicates an invalid graph",
        "an optimiser of TensorFlow 2.9 and 2.10 prints this about conditional branches; it does not affect"
        " the results",
        "Type inference failed. This indicates an invalid graph that escaped type checking.",
    ),
    _harmless(
        "xla-not-created",
        "not creating xla devices",
        r"Not creating XLA devices, tf_xla_enable_xla_devices not set",
        "XLA devices are off by default since TensorFlow 2.4; TensorFlow uses the GPU without them",
        "Not creating XLA devices, tf_xla_enable_xla_devices not set",
    ),
    _harmless(
        "cupti",
        "cupti",
        r"CUPTI (?:could not be loaded|error)|CUPTI_ERROR_INSUFFICIENT_PRIVILEGES|function cupti_interface_",
        "the profiler has no permission to read the GPU's counters; this does not affect training",
        "function cupti_interface_->Subscribe( &subscriber_, (CUpti_CallbackFunc)ApiCallback, this)failed"
        " with error CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
    ),
    _harmless(
        "layout-failed",
        "layout failed: invalid_argument|meta_optimizer",
        r"layout failed: INVALID_ARGUMENT",
        "an optimiser pass does not apply to this graph (one with dropout, for example), and is skipped",
        "layout failed: INVALID_ARGUMENT: Size of values 0 does not match size of permutation 4",
    ),
    _harmless(
        "dlopen-static",
        "gpu libraries are statically linked, skip dlopen check",
        r"GPU libraries are statically linked, skip dlopen check",
        "normal for TensorFlow 1.15 and 2.0 on Windows",
        "dlopen_checker_stub.cc:25] GPU libraries are statically linked, skip dlopen check.",
    ),
    _harmless(
        "np-dtype-warning",
        "passing (type, 1) or '1type' as a synonym of type is deprecated",
        r"Passing \(type, 1\) or '1type' as a synonym of type is deprecated",
        "TensorFlow 1.x prints this warning with newer releases of NumPy 1.x, but works",
        "FutureWarning: Passing (type, 1) or '1type' as a synonym of type is deprecated",
    ),
    _harmless(
        "cudart-ignore",
        "ignore above cudart dlerror",
        r"Ignore above cudart dlerror",
        "on a machine without a GPU, the missing CUDA runtime does not matter",
        "cudart_stub.cc:29] Ignore above cudart dlerror if you do not have a GPU set up on your machine.",
    ),
    _harmless(
        "delay-kernel",
        "delay kernel timed out|skipping the delay kernel",
        r"Delay kernel timed out: measured time has sub-optimal accuracy"
        r"|Skipping the delay kernel, measurement accuracy will be reduced",
        "a comparison of two algorithms was less exact than intended; the GPU works",
        "cuda_timer.cc:87] Delay kernel timed out: measured time has sub-optimal accuracy. There may be a"
        " missing warmup execution",
    ),
    _harmless(  # xla/service/gpu/runtime/graph_launch.cc, 2.14 to 2.16
        "graph-fallback",
        "fallback to op-by-op mode because",
        r"Fallback to op-by-op mode because \w+ node breaks graph update",
        "XLA could not start several kernels together as one CUDA graph, and starts them one by one instead",
        "W0000 00:00:1702000000.101010    4711 graph_launch.cc:671] Fallback to op-by-op mode because memset"
        " node breaks graph update",
    ),
    _harmless(  # xla/service/slow_operation_alarm.cc: the line that says that the operation has ended
        "slow-operation",
        "slow_operation_alarm",
        r"slow_operation_alarm\.cc:\d+\] The operation took \d",
        "XLA took a long time to compile or measure one operation, but finished",
        "E external/local_xla/xla/service/slow_operation_alarm.cc:133] The operation took 3.25s",
    ),
    _harmless(  # a message of ptxas, passed on by xla/stream_executor/cuda/subprocess_compilation.cc
        "register-spill",
        "registers are spilled to local memory in function",
        r"ptxas warning ?: Registers are spilled to local memory in function",
        "one compiled kernel needs more registers than the GPU has, and is therefore a little slower",
        "subprocess_compilation.cc:346] ptxas warning : Registers are spilled to local memory in function"
        " 'loop_fusion_7', 24 bytes spill stores, 24 bytes spill loads",
    ),
    _harmless(  # tensorflow/stream_executor/cuda/cuda_driver.cc before 1.13
        "second-context",
        "creating context when one is currently active",
        r"creating context when one is currently active; existing: 0x",
        "TensorFlow creates a context on each of several GPUs, one after the other",
        "W tensorflow/stream_executor/cuda/cuda_driver.cc:523] creating context when one is currently active;"
        " existing: 0x7f0c5d20",
    ),
    _harmless(  # tensorflow/core/grappler/optimizers/meta_optimizer.cc
        "optimizer-gave-up",
        "model_pruner failed|remapper failed|function_optimizer failed|dependency_optimizer failed",
        r"meta_optimizer\.cc:\d+\] (?:model_pruner|remapper|function_optimizer|dependency_optimizer) failed",
        "one of the graph optimisers failed; the graph runs without it",
        "E tensorflow/core/grappler/optimizers/meta_optimizer.cc:533] model_pruner failed: Invalid argument:"
        " Invalid input graph.",
    ),
    _harmless(
        "optional-symbol",
        "could not load symbol cublasgetsmcounttarget",
        r"Could not load symbol cublasGetSmCountTarget",
        "cuDNN looks for a cuBLAS function that older releases of CUDA 11 lack, and works without it",
        "Could not load symbol cublasGetSmCountTarget from cublas64_11.dll. Error code 127",
    ),
    _harmless(
        "mlir-disabled",
        "the mlir optimization passes|disabling mlir crash reproducer|"
        "mlir v1 optimization pass is not enabled",
        r"None of the MLIR [Oo]ptimization [Pp]asses are enabled"
        r"|MLIR V1 optimization pass is not enabled|disabling MLIR crash reproducer",
        "a notice about optional compiler passes",
        "None of the MLIR Optimization Passes are enabled (registered 2)",
    ),
)
