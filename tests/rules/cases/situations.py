"""Situations described in a sentence or two, with little or no program output."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss

FIRES = (
    Fires(
        "device-permission",
        "root sees the GPU and the user does not",
        "TensorFlow lists the GPU as root but not as my normal user.\n",
        "as root but not",
        says=("nvidia-modprobe",),
    ),
    Fires(
        "device-permission",
        "the same with sudo",
        "Without sudo the program finds no GPU, with sudo it does. Ubuntu 20.04, TF 2.8.\n",
        "Without sudo",
    ),
    Fires(
        "gpu-renumbered",
        "Windows counts the cards in another order",
        "In the task manager the Intel graphics are GPU 0 and the RTX 3060 is GPU 1, but TensorFlow says it"
        " runs on GPU:0. Which one is that?\n",
        "task manager",
    ),
    Fires(
        "tf-no-wheel",
        "pip's complaint in other words",
        "On my Mac pip install tensorflow-gpu doesn't find any version.\n",
        "doesn't find any version",
        never=("tensorflow-gpu",),
    ),
    Fires(
        "container-no-gpu",
        "TensorFlow's image for the CPU",
        "docker run --gpus all -it tensorflow/tensorflow:2.9.1-jupyter bash\n>>>"
        " tf.config.list_physical_devices('GPU')\n[]\n",
        "2.9.1-jupyter",
        says=("tensorflow/tensorflow:2.9.1-gpu-jupyter",),
        words=("is for the CPU",),
    ),
    Fires(
        "container-no-gpu",
        "the same image, without a tag",
        "I start it by docker run --gpus all tensorflow/tensorflow bash. Num GPUs Available: 0\n",
        "docker run --gpus all",
        says=("tensorflow/tensorflow:latest-gpu",),
    ),
    Fires(
        "driver-too-old",
        "a driver's branch, and no release of it",
        "TensorFlow 2.16.1, NVIDIA driver 470, Ubuntu 20.04. The GPU is not used.\n",
        "driver 470",
    ),
    Fires(
        "gpu-absent",
        "a card of another maker, and a program that only lists the CPU",
        "There is a Radeon RX 580 in my PC, and tensorflow only shows the CPU.\n",
        "only shows the CPU",
    ),
    Fires(
        "tf-cpu-only",
        "the CPU package, and a card called by its name",
        "pip list says tensorflow-cpu 2.9.1. Why is my GTX 1660 not used?\n",
        "tensorflow-cpu",
    ),
    Fires(
        "cuda-version-mismatch",
        "a library that is asked for, and the CUDA that is there",
        "TF 1.14 looks for libcudart.so.10.0 but I have CUDA 10.1 here.\n",
        "libcudart.so.10.0",
        words=("10.1",),
    ),
    Fires(
        "gpu-hidden",
        "an emptied variable, and a list without GPUs",
        'The notebook begins with os.environ["CUDA_VISIBLE_DEVICES"] = "" and the list of GPUs is empty.\n',
        "CUDA_VISIBLE_DEVICES",
    ),
    Fires(
        "tf-windows-native",
        "a sentence is the only word on the system",
        "TF 2.13 on native Windows: my 4090 is ignored.\n",
        "2.13",
    ),
    Fires(
        "tf-no-wheel",
        "a message without its second half",
        "Python 3.12 and tensorflow 2.15: no matching distribution\n",
        "no matching distribution",
    ),
    Fires(
        "memory-leak",
        "the last fold",
        "Cross validation with KFold: always out of GPU memory in fold 4, each fold alone fits.\n",
        "in fold 4",
    ),
    Fires(
        "memory-leak",
        "a count that is not exact",
        "After about 30 trials of the tuner I get OOM, then a restart helps.\n",
        "After about 30 trials",
    ),
    Fires(
        "cudnn-version-mismatch",
        "the two versions in a sentence",
        "TF was compiled with cuDNN 8.6 but only 8.4 is loaded, the convolution fails.\n",
        "compiled with cuDNN 8.6",
        words=("8.4",),
    ),
    Fires(
        "driver-missing",
        "the stub's answer, and no more of the line",
        "A fresh Ubuntu with nouveau, and TensorFlow says UNKNOWN ERROR (303).\n",
        "UNKNOWN ERROR (303)",
    ),
    Fires(
        "gpu-hidden",
        "a variable that was looked at",
        "echo $CUDA_VISIBLE_DEVICES prints -1 here, and TensorFlow finds no GPU.\n",
        "prints -1",
    ),
    Fires(
        "wsl-driver",
        "the first WSL",
        "WSL 1, Ubuntu 20.04: there is no GPU in tensorflow.\n",
        "WSL 1",
        says=("wsl --set-version Ubuntu 2",),
    ),
    Fires(
        "wsl-driver",
        "its kernel",
        "4.4.0-19041-Microsoft\n>>> tf.config.list_physical_devices('GPU')\n[]\n",
        "-Microsoft",
        never=("apt remove",),
        words=("WSL 1",),
    ),
    Fires(
        "tf-windows-native",
        "a fall back in a sentence",
        "Windows 11, TensorFlow 2.15.0: everything falls back to the CPU.\n",
        "2.15.0",
    ),
    Fires(
        "ptx-jit-or-kernel-crash",
        "a routine of cuBLAS on a card that is known",
        "TensorFlow 1.14.0, RTX 2080\nfailed to run cuBLAS routine cublasSgemm_v2:"
        " CUBLAS_STATUS_EXECUTION_FAILED\n",
        "cublasSgemm_v2",
        says=("Turing needs CUDA 10.0",),
    ),
    Fires(
        "cuda-version-mismatch",
        "a pair that was never tested",
        "TensorFlow 1.14 is not tested with CUDA 10.1; with 10.0 it trains on the GPU.\n",
        "not tested",
    ),
    Fires(
        "cudnn-init-oom",
        "a variable that only hides what fails",
        "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to"
        " initialize\nWith os.environ['CUDA_VISIBLE_DEVICES'] = '/gpu:0' it runs, but the GPU is not used"
        " then.\n",
        "Failed to get convolution algorithm",
    ),
    Fires(
        "wsl-driver",
        "its name of 2016",
        "Bash on Ubuntu on Windows: TensorFlow finds no GPU.\n",
        "Bash on Ubuntu",
    ),
    Fires(
        "model-oom",
        "one batch that fits and one that does not",
        "OOM with batch size 32 at the first step, with 4 it trains.\n",
        "batch size 32",
    ),
    Fires(
        "tf-conflicting-packages",
        "both in a sentence, with their versions",
        "pip list shows tensorflow 1.14.0, tensorflow-gpu 1.14.0, and the GPU is not used.\n",
        "tensorflow-gpu 1.14.0",
    ),
    Fires(
        "gpu-memory-held",
        "another user's program",
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory. nvidia-smi shows PID 2231, python, of another user with"
        " 7800MiB.\n",
        "another user",
    ),
    Fires(
        "tf-no-wheel",
        "a Python that cannot install it",
        "Python 3.9 can't install tensorflow 1.14 here.\n",
        "can't install",
    ),
    Fires(
        "cuda-version-mismatch",
        "the CUDA that is there first",
        "CUDA 11.2 is installed and TensorFlow 2.3.1 asks for cudart64_101.dll.\n",
        "cudart64_101.dll",
        words=("11.2",),
    ),
    Fires(
        "op-no-gpu-kernel",
        "a message that was cut",
        "Cannot assign a device for operation lookup: no supported kernel for GPU\n",
        "no supported kernel",
    ),
    Fires(
        "healthy",
        "a line that was cut before it names the card",
        "I tensorflow/core/common_runtime/gpu/gpu_device.cc:1525] Created device"
        " /job:localhost/replica:0/task:0/device:GPU:0 with 6000 MB memory\n",
        "6000 MB",
    ),
    Fires(
        "driver-too-old",
        "a branch that is wished for, and the release that is there",
        "Can we get driver 418? TensorFlow 1.14.0 finds no GPU, and the NVIDIA driver here is 384.145.\n",
        "384.145",
        words=("384.145",),
    ),
    Fires(
        "driver-not-loaded",
        "the first words of nvidia-smi's message",
        "Since the last update: NVIDIA-SMI has failed\n",
        "NVIDIA-SMI has failed",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "device-permission",
        "packages that root installs",
        "undetermined",
        "I installed it with sudo pip, not as a normal user.\n",
    ),
    NearMiss(
        "gpu-absent",
        "a question that only names the CPU",
        "undetermined",
        "This only shows the CPU time of a Radeon driver. Is TensorFlow any good?\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "a library that is asked for, and there",
        "undetermined",
        "It wants libcudart.so.10.1 and finds it.\n",
    ),
    NearMiss(
        "tf-windows-native",
        "the other system is only compared",
        "undetermined",
        "With TF 2.13 the GPU is not used. On Windows it works.\n",
    ),
    NearMiss(
        "memory-leak",
        "a count, and a limit that is met at once",
        "undetermined",
        "After about 30 trials the search ends as it should, memory is fine.\n",
    ),
    NearMiss(
        "gpu-hidden",
        "a variable that shows a card",
        "undetermined",
        "echo $CUDA_VISIBLE_DEVICES prints 0 here, and TensorFlow finds no GPU.\n",
    ),
    NearMiss(
        "model-oom",
        "two batches that both work",
        "undetermined",
        "With batch size 32 it trains, with 4 it trains too, only slower.\n",
    ),
    NearMiss(
        "tf-conflicting-packages",
        "two releases of one package",
        "undetermined",
        "I tried tensorflow 2.3.0, then tensorflow 2.4.0: the GPU is not used.\n",
    ),
    NearMiss(
        "healthy",
        "a device that was only asked for",
        "undetermined",
        "It should say Created device GPU:0 with all of its memory.\n",
    ),
    NearMiss(
        "tf-not-installed", "advice", "undetermined", "Make sure that tensorflow is not installed twice.\n"
    ),
    NearMiss(
        "gpu-memory-held",
        "somebody's training, and nothing that fails",
        "undetermined",
        "先生がGPUで学習を回しています。\n",
    ),
    NearMiss(
        "gpu-renumbered",
        "a task manager that shows an idle card",
        "undetermined",
        "The task manager shows 3 % on GPU 1.\n",
    ),
    NearMiss(
        "tf-no-wheel",
        "another package that is not found",
        "undetermined",
        "pip install cannot find the package of my colleague.\n",
    ),
    NearMiss(
        "container-no-gpu",
        "an image for the GPU beside the one for the CPU",
        "undetermined",
        "tensorflow/tensorflow:2.9.1 and tensorflow/tensorflow:2.9.1-gpu both print:\n>>>"
        " tf.config.list_physical_devices('GPU')\n[]\n",
    ),
)
