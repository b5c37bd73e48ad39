"""Whole texts as people paste them: two runs in one, a title alone, a header line, somebody else's test."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import created, cuinit, loaded_cudnn, log, no_cuda_drivers, no_module, skipped

FIRES = (
    Fires(
        "cuda-missing",
        "a run before the cure and one after it",
        log("2.17.0", skipped)
        + "\nThen I did a `pip install tensorflow[and-cuda]` in the same image, and look:\n"
        + ">>> tf.config.list_physical_devices('GPU')\n[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]\n",
        "Cannot dlopen some GPU libraries",
        words=("of another run, which got a GPU", "(line 4)"),
    ),
    Fires(
        "cuda-missing",
        "it works on the other machine, which is shown first",
        log("2.12.0", "At work:", created("NVIDIA RTX A4000", "8.6", 14102), loaded_cudnn(8600), "At home:", no_cuda_drivers)
        + "\nNum GPUs Available:  0\n",
        "Could not find cuda drivers",
        words=("of another run, which got a GPU",),
    ),
    Fires(
        "driver-not-loaded",
        "a reboot helped",
        log("2.9.1", cuinit("CUDA_ERROR_UNKNOWN"), no_module("lab-7"))
        + "\nnvidia-smi: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n\nAfter a reboot:\n"
        + log("2.9.1", created("NVIDIA GeForce RTX 3060", "8.6", 9979)),
        "failed call to cuInit",
        words=("of another run, which got a GPU",),
    ),
    Fires(
        "undetermined",
        "an older image sees the GPU, and nothing says why",
        "$ docker run --gpus all tensorflow/tensorflow:latest-gpu python gpus.py\nNum GPUs Available:  0\n"
        "$ docker run --gpus all tensorflow/tensorflow:2.14.0-gpu python gpus.py\nNum GPUs Available:  1\n",
        "Available:  0",
        words=("Line 4 is of another run",),
    ),
)

NEAR_MISSES = (
    NearMiss(
        "gpu-hidden",
        "one of several processes of a job is meant to see no GPU",
        "healthy",
        log("2.4.1", cuinit("CUDA_ERROR_NO_DEVICE"), created("Tesla V100-SXM2-16GB", "7.0", 14756), loaded_cudnn(8005)),
    ),
)
