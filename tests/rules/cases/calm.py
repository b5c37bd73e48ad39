"""Reports in which there is nothing to fix, or too little information."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import (
    cpu_features,
    created,
    cuinit,
    factories,
    form,
    found,
    ignore_cudart,
    loaded_cudnn,
    log,
    logged,
    no_cuda_drivers,
    no_module,
    numa,
    onednn,
    opened,
    refused,
    skipped,
    tf_trt,
    versions,
)

FIRES = (
    Fires(
        "healthy",
        "data that the program's own model does not accept",
        "InvalidArgumentError: Input to reshape is a tensor with 288768 values, but the requested shape has"
        " 786432\n",
        "Input to reshape",
    ),
    Fires(
        "healthy",
        "a strategy that names the GPUs which it uses",
        "INFO:tensorflow:Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0',"
        " '/job:localhost/replica:0/task:0/device:GPU:1')\n",
        "MirroredStrategy",
    ),
    Fires(
        "undetermined",
        "no device in notes on the package with CUDA, where nothing else is printed",
        "I ran conda install, which brought tensorflow-gpu 1.4.0\n# Device mapping: no known devices.\n",
        "no known devices",
        words=("fits several causes",),
    ),
    Fires(
        "healthy",
        "cuDNN that was made on a GPU, in a log that begins after the devices",
        log(
            "2.12.0",
            "Epoch 1/9",
            loaded_cudnn(8600),
            "60/60 [==============================] - 2s 9ms/step - loss: 1.3",
        ),
        "Loaded cuDNN version",
        words=("loaded cuDNN",),
    ),
    Fires(
        "healthy",
        "a notebook that prints the name of its device, below the code that would warn",
        "if not tf.test.gpu_device_name():\n    warnings.warn('There is no GPU here')\nelse:\n   "
        " print('Default GPU Device: {}'.format(tf.test.gpu_device_name()))\n\n    Default GPU Device:"
        " /device:GPU:0\n",
        "/device:GPU:0",
    ),
    Fires(
        "benign-messages",
        "NUMA, factories and TF-TRT around a GPU that works",
        log(
            "2.16.1",
            factories,
            tf_trt,
            numa,
            created("NVIDIA GeForce RTX 4070", "8.9", 9525),
            loaded_cudnn(8907),
        ),
        "Unable to register cuDNN factory",
        # a line of TF-TRT matches two signatures and counts once
        words=("5 lines sound alarming but are harmless", "A GPU is registered and in use"),
    ),
    Fires(
        "benign-messages",
        "TensorRT that does not open, the one missing library that means nothing",
        log(
            "2.9.1",
            refused("libnvinfer.so.7", "libnvinfer_plugin.so.7"),
            created("Tesla T4", "7.5", 13803),
            "782/782 [==============================] - 4s 5ms/step - loss: 0.6931",
        ),
        "'libnvinfer.so.7'",
    ),
    Fires(
        "benign-messages",
        "the allocator's hint is no failure",
        log(
            "2.11.0",
            created("NVIDIA GeForce RTX 2060", "7.5", 3900),
            "2023-02-03 10:11:12.131415: W tensorflow/tsl/framework/bfc_allocator.cc:290] Allocator"
            " (GPU_0_bfc) ran out of memory trying to allocate 2.13GiB with freed_by_count=0. The caller"
            " indicates that this is not a failure, but this may mean that there could be performance gains"
            " if more memory were available.",
            "Epoch 4/20",
        ),
        "ran out of memory trying to allocate",
    ),
    Fires(
        "benign-messages",
        "the timer of XLA's tuning complains, and the epochs go on",
        log(
            "2.17.0",
            "Epoch 1/12",
            logged(
                "E",
                "stream_executor/cuda/cuda_timer.cc",
                "Delay kernel timed out: measured time has sub-optimal accuracy. There may be a missing"
                " warmup execution, please investigate in Nsight Systems.",
            ),
            "64/64 - 21s - 329ms/step - loss: 0.7012",
        ),
        "Delay kernel timed out",
    ),
    Fires(
        "benign-messages",
        "XLA that cannot make one CUDA graph of its kernels, and spills registers",
        log(
            "2.15.0",
            "Epoch 1/3",
            "W0000 00:00:1702000000.101010    4711 graph_launch.cc:671] Fallback to op-by-op mode because"
            " memset node breaks graph update",
            "ptxas warning : Registers are spilled to local memory in function 'loop_fusion_7', 24 bytes"
            " spill stores, 24 bytes spill loads",
            "40/40 ━━━━━━━━━━━━━━━━━━━━ 9s 61ms/step - loss: 0.7120",
        ),
        "Fallback to op-by-op mode",
    ),
    Fires(
        "benign-messages",
        "a slow measurement that came to its end",
        log(
            "2.19.0",
            logged(
                "E", "external/local_xla/xla/service/slow_operation_alarm.cc", "The operation took 3.251104s"
            ),
            "40/40 ━━━━━━━━━━━━━━━━━━━━ 19s 61ms/step - loss: 0.7120",
        ),
        "The operation took",
    ),
    Fires(
        "benign-messages",
        "an optimiser of the graph that gives up",
        log(
            "1.15.0",
            logged(
                "E",
                "core/grappler/optimizers/meta_optimizer.cc",
                "model_pruner failed: Invalid argument: Invalid input graph.",
                533,
            ),
            "Epoch 2/9",
        ),
        "model_pruner failed",
    ),
    Fires(
        "benign-messages",
        "a cuBLAS that lacks a function which cuDNN can do without",
        log(
            "2.9.1",
            created("Tesla T4", "7.5", 13803),
            loaded_cudnn(8401),
            "Could not load symbol cublasGetSmCountTarget from libcublas.so.11. Error:"
            " /opt/envs/tensorflow-gpu/lib/python3.9/site-packages/tensorflow/python/../../../../"
            "libcublas.so.11:"
            " undefined symbol: cublasGetSmCountTarget",
            "12/12 [==============================] - 1s 13ms/step",
        ),
        "cublasGetSmCountTarget",
    ),
    Fires(
        "benign-messages",
        "an allocation is refused, a smaller one is not, and the training ends well",
        log(
            "1.9.0",
            created("GeForce GTX 1070", "6.1", 8110),
            logged(
                "E",
                "stream_executor/cuda/cuda_driver.cc",
                "failed to allocate 7.92G (8504279040 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
                936,
            ),
            "100/100 [==============================] - 3s 31ms/step - loss: 0.4410",
            "Process finished with exit code 0",
        ),
        "failed to allocate 7.92G",
        words=("requested less",),
    ),
    Fires(
        "undetermined",
        "a GPU is registered, and the process dies of something else",
        log(
            "2.5.0",
            created("Tesla T4", "7.5", 13803),
            "2021-08-10 09:00:00.100000: F tensorflow/core/platform/default/env.cc:73] Check failed: ret == 0"
            " (11 vs. 0)Thread creation via pthread_create() failed.",
        ),
        "pthread_create() failed",
    ),
    Fires(
        "healthy",
        "Linux and TensorFlow 2.4",
        log(
            "2.4.1",
            opened("libcudart.so.11.0", "libcuda.so.1"),
            found("Tesla V100-SXM2-16GB", "7.0"),
            opened("libcublas.so.11", "libcudnn.so.8"),
            created("Tesla V100-SXM2-16GB", "7.0", 14764),
        ),
        "Created TensorFlow device",
        verify="list_physical_devices",
    ),
    Fires(
        "healthy",
        "a list with one GPU in it",
        ">>> import tensorflow as tf\n>>>"
        " tf.config.list_physical_devices('GPU')\n[PhysicalDevice(name='/physical_device:GPU:0',"
        " device_type='GPU')]\n",
        "/physical_device:GPU:0",
    ),
    Fires(
        "undetermined",
        "an empty list and nothing else",
        ">>> import tensorflow as tf\n>>> tf.__version__\n'2.15.0'\n>>>"
        " tf.config.list_physical_devices('GPU')\n[]\n",
        "list_physical_devices",
        says=("tfgpu-doctor check", "nvidia-smi"),
    ),
    Fires(
        "undetermined",
        "one sentence from Windows with TensorFlow 2.8",
        form(system="Windows 10", tensorflow="2.8.0", python="3.9")
        + "\n\n>>> tf.test.is_gpu_available()\nFalse\n",
        "is_gpu_available()",
        says=('set "TF_CPP_VMODULE=dso_loader=1" && python',),
    ),
)

NEAR_MISSES = (
    NearMiss(
        "healthy",
        "a strategy on the processor",
        "undetermined",
        "INFO:tensorflow:Using MirroredStrategy with devices"
        " ('/job:localhost/replica:0/task:0/device:CPU:0',)\n",
    ),
    NearMiss(
        "healthy",
        "a GPU on which the training goes wrong",
        "undetermined",
        log(
            "2.8.0",
            created("GeForce RTX 2080", "7.5", 6500),
            "60/60 [==============================] - 2s 9ms/step - loss: nan",
        ),
    ),
    NearMiss(
        "healthy",
        "the code that would print a device's name, and no output",
        "undetermined",
        "print('Default GPU Device: {}'.format(tf.test.gpu_device_name()))\nprint('Found GPU at:"
        " {}'.format(name))\n",
    ),
    NearMiss(
        "benign-messages",
        "a measurement that is still at it",
        "undetermined",
        log(
            "2.19.0",
            logged(
                "E",
                "external/local_xla/xla/service/slow_operation_alarm.cc",
                "Trying algorithm eng4{} for conv %cudnn-conv.7 is taking a while...",
            ),
        ),
    ),
    NearMiss(
        "benign-messages",
        "registers that spill before memory runs out",
        "model-oom",
        log(
            "2.19.0",
            created("NVIDIA GeForce RTX 3070", "8.6", 6100),
            "ptxas warning : Registers are spilled to local memory in function 'loop_fusion_7', 24 bytes"
            " spill stores, 24 bytes spill loads",
            "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,112,112] and type float on"
            " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
        ),
    ),
    NearMiss(
        "benign-messages",
        "the same frightening lines, and the GPU is skipped",
        "cuda-missing",
        log(
            "2.16.1",
            form(system="Ubuntu 22.04", tensorflow="2.16.1"),
            onednn,
            factories,
            tf_trt,
            found("NVIDIA A10", "8.6"),
            numa,
            refused("libcudart.so.12"),
            skipped,
        ),
    ),
    NearMiss(
        "benign-messages",
        "only notices that alarm nobody",
        "healthy",
        log("2.11.0", cpu_features, onednn, created("Tesla T4", "7.5", 13803)),
    ),
    NearMiss(
        "benign-messages",
        "allocations are refused down to nothing, and no work follows",
        "gpu-memory-held",
        log(
            "1.9.0",
            created("GeForce GTX 1070", "6.1", 8110),
            logged(
                "E",
                "stream_executor/cuda/cuda_driver.cc",
                "failed to allocate 7.92G (8504279040 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
                936,
            ),
            logged(
                "E",
                "stream_executor/cuda/cuda_driver.cc",
                "failed to allocate 7.13G (7653851136 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
                936,
            ),
        ),
    ),
    NearMiss(
        "healthy",
        "CUDA opens and the driver does not",
        "driver-missing",
        log(
            "2.6.0",
            form(system="Ubuntu 20.04", tensorflow="2.6.0", gpu="GTX 1080 Ti"),
            opened("libcudart.so.11.0"),
            refused("libcuda.so.1"),
            cuinit("UNKNOWN ERROR (303)"),
            no_module("workbench"),
        ),
    ),
    NearMiss(
        "healthy",
        "a list that holds XLA_GPU and no GPU",
        "cuda-missing",
        log(
            "1.14.0",
            versions("1.14.0"),
            opened("libcuda.so.1"),
            refused("libcudart.so.10.0"),
            skipped,
            'name: "/device:XLA_GPU:0"',
            'device_type: "XLA_GPU"',
        ),
    ),
    NearMiss(
        "undetermined",
        "an empty list with the reason above it",
        "cuda-missing",
        log(
            "2.14.0", versions("2.14.0"), no_cuda_drivers, ">>> tf.config.list_physical_devices('GPU')", "[]"
        ),
    ),
    NearMiss(
        "undetermined",
        "a missing runtime on a machine that may have no GPU",
        "cuda-missing",
        log("2.5.0", refused("libcudart.so.11.0"), ignore_cudart),
    ),
)
