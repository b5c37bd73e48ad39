"""Cases about the placement of ops, several GPUs, and programs that crash."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import (
    created,
    cudnn_failed,
    form,
    loaded_cudnn,
    log,
    logged,
    opened,
    refused,
    skipped,
    versions,
)

CPU0 = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU0 = "/job:localhost/replica:0/task:0/device:GPU:0"

FIRES = (
    Fires(
        "op-no-gpu-kernel",
        "an op on strings, as 1.8 says it",
        "NotFoundError: No registered 'Shape' OpKernel for GPU devices compatible with node Shape ="
        " Shape[T=DT_STRING, out_type=DT_INT32]\n",
        "No registered 'Shape'",
    ),
    Fires(
        "device-not-found",
        "an early release that gives no reason",
        "InvalidArgumentError: Cannot assign a device to node 'layer2/weights': Could not satisfy explicit"
        " device specification '/gpu:2'\n\t [[Node: layer2/weights = Variable[container=\"\", dtype=DT_FLOAT,"
        ' shape=[8,8], _device="/gpu:2"]()]]\n',
        "Could not satisfy",
        says=("allow_soft_placement",),
    ),
    Fires(
        "op-no-gpu-kernel",
        "a hash table beside a multiplication that a GPU can do",
        "2020-07-30 09:50:55.366291: W tensorflow/core/common_runtime/colocation_graph.cc:1017] Failed to"
        " place the graph without changing the devices of some resources.\nColocation Debug"
        " Info:\nHashTableV2: CPU \nMul: GPU CPU XLA_CPU XLA_GPU \n",
        "HashTableV2: CPU",
    ),
    Fires(
        "device-not-found",
        "every op could run on XLA_GPU, none on GPU",
        "2020-07-30 09:50:55.366291: W tensorflow/core/common_runtime/colocation_graph.cc:1017] Failed to"
        " place the graph without changing the devices of some resources.\nColocation Debug Info:\nAdd: CPU"
        " XLA_CPU XLA_GPU \n  conv/weights (VariableV2) /device:GPU:0\n",
        "Failed to place the graph",
        words=("XLA_GPU",),
    ),
    Fires(
        "device-not-found",
        "the rest of the message is cut off",
        "Cannot assign a device for operation 'a': Operation was explicitly assigned to /device:GPU:0\n",
        "explicitly assigned",
    ),
    Fires(
        "op-no-gpu-kernel",
        "an op that Apple's plugin lacks",
        "NotFoundError: No registered 'RngReadAndSkip' OpKernel for 'GPU' devices compatible with node {{node"
        " RngReadAndSkip}}\n\t.  Registered:  device='CPU'\n",
        "RngReadAndSkip",
    ),
    Fires(
        "nccl-failure",
        "no NCCL on Windows, in a sentence",
        "MirroredStrategy on two cards: NCCL is not available on Windows\n",
        "not available",
    ),
    Fires(
        "gpu-config-conflict",
        "growth and a limit, in a sentence",
        "TensorFlow 2.3: why are memory growth and a memory limit incompatible? I want an upper bound and"
        " growth below it.\n",
        "incompatible",
    ),
    Fires(
        "gpu-config-conflict",
        "memory growth without the GPU",
        "tf.config.experimental.set_memory_growth(True)\nTypeError: set_memory_growth() missing 1 required"
        " positional argument: 'enable'\n",
        "missing 1 required",
        words=("two arguments",),
    ),
    Fires(
        "gpu-config-conflict",
        "a limit for the CPU",
        "ValueError: Setting memory limit on CPU is currently not supported\n",
        "limit on CPU",
        words=("CPU",),
    ),
    # --- op-no-gpu-kernel
    Fires(
        "op-no-gpu-kernel",
        "TensorFlow 2 places a graph of version 1 by order",
        log(
            "2.3.0",
            versions("2.3.0"),
            created("Tesla T4", "7.5", 13803),
            f"InvalidArgumentError: Could not satisfy device specification '{GPU0}'. enable_soft_placement=0."
            f" Supported device types [CPU]. All available devices [{CPU0}, {GPU0}].",
        ),
        "Could not satisfy device specification",
        says=("tf.config.set_soft_device_placement(True)", "with tf.device('/cpu:0')"),
        never=("ConfigProto",),
    ),
    Fires(
        "op-no-gpu-kernel",
        "a lookup table in TensorFlow 1.4",
        log(
            "1.4.0",
            versions("1.4.0"),
            created("Tesla K80", "3.7", 10000),
            "InvalidArgumentError (see above for traceback): Cannot assign a device for operation 'table':"
            " Could not satisfy explicit device specification '/device:GPU:0' because no supported kernel for"
            " GPU devices is available.",
        ),
        "no supported kernel for GPU devices",
        says=("tf.ConfigProto(allow_soft_placement=True)",),
        never=("tf.config.",),
    ),
    # --- device-not-found
    Fires(
        "device-not-found",
        "the second GPU of a machine that has one",
        log(
            "1.15.0",
            versions("1.15.0"),
            created("GeForce GTX 1080", "6.1", 7439),
            "InvalidArgumentError: Cannot assign a device for operation x: node x was explicitly assigned to"
            f" /device:GPU:1 but available devices are [ {CPU0}, {GPU0} ]. Make sure the device specification"
            " refers to a valid device.",
        ),
        "explicitly assigned to /device:GPU:1",
        says=("allow_soft_placement",),
    ),
    Fires(
        "device-not-found",
        "multi_gpu_model with one GPU",
        log(
            "1.14.0",
            created("GeForce GTX 1080", "6.1", 7439),
            "ValueError: To call `multi_gpu_model` with `gpus=2`, we expect the following devices to be"
            " available: ['/cpu:0', '/gpu:0', '/gpu:1']. However this machine only has: ['/cpu:0',"
            " '/gpu:0'].",
        ),
        "we expect the following devices",
    ),
    # --- gpu-renumbered
    Fires(
        "gpu-renumbered",
        "card 1 is GPU:0",
        log(
            "2.8.0",
            "export CUDA_VISIBLE_DEVICES=1",
            created("NVIDIA TITAN RTX", "7.5", 22300, bus="0000:41:00.0"),
        ),
        "CUDA_VISIBLE_DEVICES=1",
        says=("CUDA_DEVICE_ORDER=PCI_BUS_ID",),
    ),
    # --- known-release-bug
    Fires(
        "known-release-bug",
        "2.21.0 and a cuDNN that cannot serve it",
        log(
            "2.21.0",
            versions("2.21.0", "3.12.3"),
            created("NVIDIA L4", "8.9", 21000),
            loaded_cudnn(90501),
            "tensorflow.python.framework.errors_impl.InternalError: Autotuner could not find any supported"
            " configs for HLO: %cudnn-conv-bias-activation.3",
        ),
        "Autotuner could not find",
        says=("nvidia-cudnn-cu12<10", "tensorflow==2.20.0"),
    ),
    # --- ptx-jit-or-kernel-crash
    Fires(
        "ptx-jit-or-kernel-crash",
        "XLA measured every program for an operation, and none ran",
        log(
            "2.20.0",
            created("NVIDIA GeForce RTX 3070", "8.6", 6100),
            loaded_cudnn(91002),
            "INTERNAL: Autotuning failed for HLO: %loop_fusion.2 = f32[64,24,24]{2,1,0} fusion(%param_1),"
            " kind=kInput with error: NOT_FOUND: No valid config found!",
        ),
        "Autotuning failed",
        says=("jit_compile=False", "smaller batch"),
    ),
    # --- nccl-failure
    Fires(
        "nccl-failure",
        "shared memory of a container is full",
        log(
            "2.9.0",
            created("NVIDIA A100-SXM4-40GB", "8.0", 38000),
            created("NVIDIA A100-SXM4-40GB", "8.0", 38000, index=1, physical=1, bus="0000:47:00.0"),
            "node3:771:902 [1] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on"
            " device",
        ),
        "NCCL WARN",
        says=("NCCL_DEBUG=INFO", "NCCL_P2P_DISABLE=1"),
    ),
    Fires(
        "nccl-failure",
        "a Windows build has no NCCL",
        form(system="Windows 10", tensorflow="2.4.0", gpu="2x RTX 2080 Ti")
        + "\nInvalidArgumentError: No OpKernel was registered to support Op 'NcclAllReduce' used by {{node"
        ' NcclAllReduce}} with these attrs: [reduction="sum"]\n',
        "NcclAllReduce",
        says=("HierarchicalCopyAllReduce", "set NCCL_DEBUG=INFO"),
        never=("export ",),
    ),
    # --- ptx-jit-or-kernel-crash
    Fires(
        "ptx-jit-or-kernel-crash",
        "cuDNN refuses an empty tensor",
        "F tensorflow/stream_executor/cuda/cuda_dnn.cc:534] Check failed:"
        " cudnnSetTensorNdDescriptor(handle_.get(), elem_type, nd, dims.data(), strides.data()) =="
        " CUDNN_STATUS_SUCCESS (3 vs. 0)batch_descriptor: {count: 0 feature_map_count: 32 spatial: 14 14"
        " value_min: 0.000000}\nAborted (core dumped)\n",
        "Check failed",
    ),
    Fires(
        "ptx-jit-or-kernel-crash",
        "an illegal address in the middle of training",
        log(
            "2.6.0",
            created("NVIDIA GeForce RTX 3090", "8.6", 22100),
            "Epoch 3/50",
            logged(
                "E",
                "stream_executor/cuda/cuda_event.cc",
                "Error polling for event status: failed to query event: CUDA_ERROR_ILLEGAL_ADDRESS: an"
                " illegal memory access was encountered",
            ),
        ),
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        says=("export CUDA_LAUNCH_BLOCKING=1",),
    ),
    Fires(
        "ptx-jit-or-kernel-crash",
        "Windows ends a kernel that takes too long",
        log(
            "1.12.0",
            form(system="Windows 10", tensorflow="1.12.0"),
            created("GeForce GTX 960M", "5.0", 1397),
            "could not synchronize on CUDA context: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
            windows=True,
        ),
        "CUDA_ERROR_LAUNCH_FAILED",
        says=("set CUDA_LAUNCH_BLOCKING=1",),
        never=("dmesg",),
    ),
    Fires(
        "ptx-jit-or-kernel-crash",
        "a kernel is started with a grid that the card cannot have",
        log(
            "2.0.0",
            created("GeForce GTX 1660", "7.5", 4600),
            logged(
                "F",
                "core/kernels/cwise_op_gpu.cu.h",
                "Non-OK-status: GpuLaunchKernel( Elementwise<T>, blocks, threads, 0, stream, args) status:"
                " Internal: invalid configuration argument",
            ),
        ),
        "invalid configuration argument",
    ),
    Fires(
        "ptx-jit-or-kernel-crash",
        "XLA's compiler aborts on the second of several cards",
        log(
            "2.16.1",
            "CUDA_VISIBLE_DEVICES=1",
            created("NVIDIA A10", "8.6", 20800),
            loaded_cudnn(8907),
            "F0000 00:00:1715000000.123456    4711 ir_emitter_unnested.cc:2281] Check failed: emitted.ok()"
            " operand types differ",
            "*** Check failure stack trace: ***",
        ),
        "ir_emitter_unnested.cc",
        says=("jit_compile=False",),
        never=("dmesg",),
    ),
    # --- device-not-found, in an editor's wrapped comment
    Fires(
        "device-not-found",
        "a graph of a cluster's worker, opened on a workstation; the editor broke the lines",
        "    Restoring stops with:\n    Cannot assign a device for operation Const: Operation was explicitly"
        " assigned to\n    /job:worker/task:3/device:GPU:0 but available devices are ["
        " /job:localhost/replica:0/task:0/device:CPU:0 ].\n",
        "was explicitly assigned to",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "device-not-found",
        "no reason given, and an op that has no kernel",
        "op-no-gpu-kernel",
        "Cannot assign a device to node 'a': Could not satisfy explicit device specification '/gpu:0'\nCannot"
        " assign a device to node 'b': Could not satisfy explicit device specification '/gpu:0' because no"
        " supported kernel for GPU devices is available\n",
    ),
    NearMiss(
        "op-no-gpu-kernel",
        "the table of a graph that trains all the same",
        "healthy",
        log(
            "2.3.0",
            created("GeForce RTX 2080", "7.5", 6786),
            "2020-07-30 09:50:55.366291: W tensorflow/core/common_runtime/colocation_graph.cc:1017] Failed to"
            " place the graph without changing the devices of some resources.",
            "Colocation Debug Info:",
            "HashTableV2: CPU ",
            "Mul: GPU CPU ",
            "Epoch 1/2",
            "100/100 [==============================] - 3s 30ms/step - loss: 0.4301",
            "Epoch 2/2",
            "100/100 [==============================] - 3s 30ms/step - loss: 0.2301",
        ),
    ),
    NearMiss(
        "op-no-gpu-kernel",
        "an op that the CPU lacks",
        "undetermined",
        "NotFoundError: No registered 'Foo' OpKernel for 'CPU' devices compatible with node {{node Foo}}\n",
    ),
    NearMiss(
        "nccl-failure",
        "NCCL, which somebody installed",
        "undetermined",
        "I installed NCCL on Linux, where do I find its manual?\n",
    ),
    NearMiss(
        "gpu-config-conflict",
        "growth alone, which does not help",
        "undetermined",
        "I set memory growth and nothing changed\n",
    ),
    NearMiss(
        "gpu-config-conflict",
        "a call of somebody's own without an argument",
        "undetermined",
        "TypeError: set_batch_size() missing 1 required positional argument: 'n'\n",
    ),
    NearMiss(
        "op-no-gpu-kernel",
        "the op has a kernel, the device is not there",
        "device-not-found",
        "Cannot assign a device for operation 'MatMul': node MatMul was explicitly assigned to /device:GPU:3"
        f" but available devices are [ {CPU0}, {GPU0} ]. Make sure the device specification refers to a valid"
        " device.\n",
    ),
    NearMiss(
        "device-not-found",
        "/gpu:0 is not there, and the text shows why",
        "cuda-missing",
        log(
            "1.15.0",
            opened("libcuda.so.1"),
            refused("libcudart.so.10.0"),
            skipped,
            "Cannot assign a device for operation a: node a was explicitly assigned to /device:GPU:0 but"
            f" available devices are [ {CPU0} ].",
        ),
    ),
    NearMiss(
        "gpu-renumbered",
        "CUDA_VISIBLE_DEVICES=0 renumbers nothing",
        "healthy",
        log("2.8.0", "export CUDA_VISIBLE_DEVICES=0", created("NVIDIA TITAN RTX", "7.5", 22300)),
    ),
    NearMiss(
        "nccl-failure",
        "several GPUs and one model that does not fit",
        "model-oom",
        log(
            "2.9.0",
            created("NVIDIA A100-SXM4-40GB", "8.0", 38000),
            "INFO:tensorflow:Using MirroredStrategy with devices"
            " ('/job:localhost/replica:0/task:0/device:GPU:0',)",
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
            f" shape[4096,4096,64] and type float on {GPU0} by allocator GPU_0_bfc",
        ),
    ),
    NearMiss(
        "ptx-jit-or-kernel-crash",
        "cuDNN fails to start",
        "cudnn-init-oom",
        log("2.3.0", created("GeForce RTX 2060", "7.5", 4901), cudnn_failed("CUDNN_STATUS_NOT_INITIALIZED")),
    ),
    NearMiss(
        "ptx-jit-or-kernel-crash",
        "no kernel image for a new card",
        "gpu-arch-too-new",
        log(
            "2.4.0",
            versions("2.3.0"),
            created("GeForce RTX 3070", "8.6", 6500),
            "tensorflow.python.framework.errors_impl.InternalError: CUDA runtime implicit initialization on"
            " GPU:0 failed. Status: device kernel image is invalid",
        ),
    ),
    NearMiss(
        "ptx-jit-or-kernel-crash",
        "XLA's compiler aborts for want of its tools",
        "xla-toolchain-missing",
        log(
            "2.13.0",
            created("NVIDIA A10", "8.6", 20800),
            "2023-08-10 09:00:00.100000: F tensorflow/compiler/xla/service/gpu/nvptx_compiler.cc:619] ptxas"
            " returned an error during compilation of ptx to sass: 'INTERNAL: Couldn't invoke ptxas"
            " --version'",
        ),
    ),
    NearMiss(
        "known-release-bug",
        "2.16.1 that does not find pip's libraries has its own code",
        "library-path",
        log("2.16.1", "pip install tensorflow[and-cuda]==2.16.1", versions("2.16.1"), skipped),
    ),
)
