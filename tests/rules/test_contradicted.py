"""Tests messages that show one cause on their own, together with a circumstance that shows another cause."""

from __future__ import annotations

import pytest

from tests.rules.situation import diagnosed

SITUATIONS = {
    "cudnnCreate is in every cuDNN: the library in which it was looked for is another one": (
        (
            "I tensorflow/core/common_runtime/gpu/gpu_device.cc:975] Creating TensorFlow device (/gpu:0) ->"
            " (device: 0, name: GeForce 940MX)\nF tensorflow/stream_executor/cuda/cuda_dnn.cc:222] Check"
            " failed: s.ok() could not find cudnnCreate in cudnn DSO; dlerror:"
            " /usr/lib/python2.7/site-packages/tensorflow/python/_pywrap_tensorflow.so: undefined symbol:"
            " cudnnCreate\n"
        ),
        "cudnn-missing",
    ),
    "a newer function that the loaded cuDNN lacks": (
        (
            "F tensorflow/stream_executor/cuda/cuda_dnn.cc:427] could not find"
            " cudnnGetConvolutionNdForwardOutputDim in cudnn DSO; dlerror: /usr/local/cuda/lib64/libcudnn.so:"
            " undefined symbol: cudnnGetConvolutionNdForwardOutputDim\n"
        ),
        "cudnn-version-mismatch",
    ),
    "a function of a cuBLAS that did not open": (
        (
            "I tensorflow/stream_executor/dso_loader.cc:105] Couldn't open CUDA library libcublas.so.8.0."
            " LD_LIBRARY_PATH: \nF tensorflow/stream_executor/cuda/cuda_blas.cc:263] Check failed: f !="
            " nullptr could not find cublasCreate_v2 in cuBLAS DSO; dlerror: undefined symbol:"
            " cublasCreate_v2\n"
        ),
        "cuda-missing",
    ),
    "ops that must share a GPU that is not among the devices": (
        (
            "Error: Cannot assign a device for operation w/Initializer: Could not satisfy explicit device"
            " specification '' because the node was colocated with a group of nodes that required"
            " incompatible device '/device:GPU:0'. All available devices"
            " [/job:localhost/replica:0/task:0/device:CPU:0,"
            " /job:localhost/replica:0/task:0/device:XLA_GPU:0].\n"
        ),
        "device-not-found",
    ),
    "an op of the GPU where only XLA has one": (
        (
            "No OpKernel was registered to support Op 'CudnnRNN' used by node lstm/CudnnRNN with these attrs:"
            " [seed=0]\nRegistered devices: [CPU, XLA_CPU, XLA_GPU]\nRegistered kernels:\n"
            "  device='GPU'; T in [DT_FLOAT]\n  device='GPU'; T in [DT_HALF]\n"
        ),
        "cuda-missing",
    ),
    "ops that must share a GPU that is there": (
        (
            "Error: Cannot assign a device for operation w/Initializer: Could not satisfy explicit device"
            " specification '' because the node was colocated with a group of nodes that required"
            " incompatible device '/device:GPU:0'. All available devices"
            " [/job:localhost/replica:0/task:0/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0].\n"
        ),
        "op-no-gpu-kernel",
    ),
    "an op of cuDNN without a kernel for any device": (
        (
            "InvalidArgumentError: No OpKernel was registered to support Op 'CudnnRNNCanonicalToParams' with"
            " these attrs.  Registered devices: [CPU], Registered kernels:\n  <no registered kernels>\n"
        ),
        "tf-cpu-only",
    ),
    "an op of cuDNN whose kernels are there and whose GPU is not": (
        (
            "InvalidArgumentError: No OpKernel was registered to support Op 'CudnnRNN' with these attrs. "
            " Registered devices: [CPU], Registered kernels:\n  device='GPU'; T in [DT_FLOAT]\n"
        ),
        "device-not-found",
    ),
    "a Python that did not suit, and a TensorFlow that was imported after that": (
        (
            "python版本太高，装不了tensorflow 1.7.0, so 3.6 it is. CUDA 11.0 is there.\nImportError: Could"
            " not find 'cudart64_90.dll'. TensorFlow requires that this DLL be installed in a directory that"
            " is named in your %PATH% environment variable.\n"
        ),
        "cuda-version-mismatch",
    ),
    "a session that fails on a card that is set to exclusive use": (
        (
            "The cards of this machine are set to exclusive use.\nE"
            " tensorflow/core/common_runtime/direct_session.cc:135] Internal: failed initializing"
            " StreamExecutor for CUDA device ordinal 0: Internal: failed call to cuDevicePrimaryCtxRetain:"
            " CUDA_ERROR_INVALID_DEVICE\ntensorflow.python.framework.errors_impl.InternalError: Failed to"
            " create session.\n"
        ),
        "gpu-bad-state",
    ),
    "WSL has no /dev/nvidiactl, for which the image's start script looks": (
        (
            "docker run --gpus all -it nvidia/tensorflow:20.03-tf2-py3 under WSL2 prints the following, and "
            "nvidia-smi in it lists the card and TF registers GPU:0. Can the message be dropped?\n"
            "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"
        ),
        "benign-messages|healthy",
    ),
    "the same words on Linux": (
        (
            "docker run -it nvidia/tensorflow:20.03-tf2-py3 on Ubuntu 20.04 prints\n"
            "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"
        ),
        "container-no-gpu",
    ),
    "forward compatibility is refused in a container, whose image has a libcuda of its own": (
        (
            "In the docker container: RuntimeError: CUDA failed with error forward compatibility was"
            " attempted on non supported HW\n"
        ),
        "cuda-compat-package",
    ),
    "forward compatibility is refused on the host": (
        (
            "Since apt upgraded the driver: cuInit: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward"
            " compatibility was attempted on non supported HW\n"
        ),
        "driver-library-mismatch",
    ),
    "the driver's open modules on a GPU before Turing": (
        (
            "[   87.358035] NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:1bb3)\n"
            "               NVRM: installed in this system is not supported by open\n"
            "               NVRM: nvidia.ko because it does not include the required GPU\n"
            "               NVRM: System Processor (GSP).\n"
            "[  988.289884] NVRM: GPU 0000:03:00.0: RmInitAdapter failed! (0x24:0x72:1603)\n"
        ),
        "driver-not-loaded",
    ),
    "root has the GPU in the container and a user has not": (
        (
            "In the container with --runtime nvidia as root the GPU is found, after su - user I see\n"
            "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
        ),
        "device-permission",
    ),
    "Singularity passed the driver in, and the process sees no device": (
        (
            "singularity run --nv model.sif\nE tensorflow/stream_executor/cuda/cuda_driver.cc:318] failed"
            " call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
        ),
        "gpu-hidden",
    ),
    "the second card is asked for where there is one": (
        (
            "It only uses my CPU. GTX 1070 (the only card), Windows 10.\nset CUDA_VISIBLE_DEVICES=1 &"
            " spleeter train\n"
        ),
        "gpu-hidden",
    ),
    "XLA takes no GPU as old as this": (
        (
            "F tensorflow/stream_executor/lib/statusor.cc:34] Attempting to fetch value instead of handling"
            " error Internal: no supported devices found for platform CUDA\nGPU: Quadro K420\n"
        ),
        "gpu-arch-too-old",
    ),
    "the first run alone is slow, on a GPU that is newer than the build": (
        (
            "The first sess.run() takes 20 minutes, all others are fast. RTX 3090, CUDA 11.1,"
            " tensorflow-gpu==2.2\n"
        ),
        "gpu-arch-too-new",
    ),
    "a kernel that is not of this CUDA, on a GPU that was registered": (
        (
            "I tensorflow/core/common_runtime/gpu/gpu_device.cc:1325] Created TensorFlow device"
            " (/job:localhost/replica:0/task:0/device:GPU:0 with 4915 MB memory) -> physical GPU (device: 0,"
            " name: GeForce RTX 2070 SUPER, pci bus id: 0000:01:00.0, compute capability: 7.5)\nF"
            " .\\tensorflow/core/kernels/random_op_gpu.h:227] Non-OK-status:"
            " GpuLaunchKernel(FillPhiloxRandomKernelLaunch<Distribution>) status: Internal: invalid device"
            " function\n\nTF 1.15.2, CUDA 10.2. When I went down to CUDA 10.0, it worked.\n"
        ),
        "cuda-version-mismatch",
    ),
}


@pytest.mark.parametrize(("text", "code"), SITUATIONS.values(), ids=SITUATIONS)
def test_the_circumstance_decides(text: str, code: str) -> None:
    assert diagnosed(text).findings[0].code in code.split("|")


def test_a_driver_below_xla_s_compiler_is_a_warning() -> None:
    verdict = diagnosed(
        "NVIDIA driver 550.144 with tensorflow 2.18.0:\nW"
        " external/local_xla/xla/service/gpu/nvptx_compiler.cc:930] The NVIDIA driver's CUDA version is 12.4"
        " which is older than the PTX compiler version 12.5.82. Because the driver is older than the PTX"
        " compiler version, XLA is disabling parallel compilation, which may slow down compilation.\n"
    ).findings[0]
    assert (verdict.code, verdict.severity) == ("driver-too-old", "warning")
