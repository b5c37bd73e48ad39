"""Short emails and answers without a log that say what the cause was and what fixed it, in English and other
languages."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss

FIRES = (
    Fires(
        "cudnn-version-mismatch",
        "another cuDNN cured it",
        "In the end I could fix this by going back to cuDNN 7.0.5.\n",
        "7.0.5",
    ),
    Fires(
        "cudnn-version-mismatch",
        "what was changed stands first",
        "Upgrading cuDNN to 8.6 fixed the error.\n",
        "8.6",
    ),
    Fires(
        "cuda-missing",
        "somebody sees that it is not installed",
        "It looks as if you do not have CUDA installed on it.\n",
        "CUDA",
    ),
    Fires(
        "tf-not-installed",
        "in a sentence",
        "Jupyter says that the module 'tensorflow' was not found\n",
        "not found",
    ),
    Fires(
        "gpu-renumbered",
        "an answer",
        "That is right: CUDA renumbers the cards that a process sees.\n",
        "renumbers",
    ),
    Fires(
        "container-no-gpu",
        "compose beside run",
        "There is no GPU with docker-compose, while docker run shows it.\n",
        "docker-compose",
    ),
    Fires(
        "tf-windows-native",
        "no GPU since a release",
        "On native Windows there is no GPU any more from 2.11 on.\n",
        "2.11",
    ),
    Fires("tf-windows-native", "the same in Spanish", "En 2.11 ya no hay GPU en Windows\n", "2.11"),
    Fires(
        "cpu-no-avx",
        "a processor that lacks it",
        "It turned out that the processor of this VM has no AVX, so TF 2 dies.\n",
        "AVX",
    ),
    Fires(
        "cpu-no-avx",
        "a wheel for newer machines",
        "The wheel is built with AVX and won't start on my old laptop.\n",
        "AVX",
    ),
    Fires(
        "gpu-bad-state",
        "a GPU that stopped",
        "My GPU stops working whenever the PC wakes up from sleep mode\n",
        "wakes up",
    ),
    Fires(
        "gpu-renumbered",
        "one card, called 0",
        "It will say GPU 0 since only one card is visible to it\n",
        "GPU 0",
    ),
    Fires(
        "nccl-failure",
        "Linux and nothing else",
        "As it happens NCCL is made for Linux alone, I am on Windows\n",
        "NCCL",
    ),
    Fires(
        "memory-leak",
        "models that stay",
        "I think Keras keeps every model in memory until Python ends\n",
        "keeps",
    ),
    Fires(
        "memory-leak",
        "one model after the other",
        "memory fills while I am building new models in a loop\n",
        "loop",
    ),
    Fires(
        "memory-leak",
        "it grows with each",
        "The memory climbs with every fold until there is none\n",
        "climbs",
    ),
    Fires(
        "tf-api-version", "a module that is gone", "Version 2 no longer has the contrib module\n", "contrib"
    ),
    Fires(
        "tf-api-version",
        "code of an earlier time",
        "This repo was only written for tensorflow 1.13, sorry\n",
        "1.13",
    ),
    Fires(
        "python-dependency-conflict",
        "the advice that is printed",
        " 1. Downgrade the protobuf package to 3.20.x or lower.\n",
        "protobuf",
    ),
    Fires(
        "python-dependency-conflict",
        "two that do not go together",
        "h5py 3 is not compatible with tensorflow 2.1 on this box\n",
        "h5py",
    ),
    Fires(
        "cudnn-init-oom",
        "a handle in a sentence",
        "Each run ends: could not create cudnn handle\n",
        "cudnn handle",
    ),
    Fires(
        "gpu-absent",
        "no card of that maker",
        "Must I install CUDA? My computer has no NVIDIA card\n",
        "no NVIDIA",
    ),
    Fires(
        "gpu-absent",
        "a Mac with another card",
        "On macOS: the card in my iMac is a Radeon, how to install CUDA?\n",
        "Radeon",
    ),
    Fires(
        "cuda-version-mismatch",
        "one that came in",
        "pip took TF 2.15, and this one can't use CUDA 11\n",
        "CUDA 11",
    ),
    Fires(
        "gpu-memory-held",
        "a notebook that was closed",
        "I shut down the other notebook and it works now\n",
        "notebook",
    ),
    Fires("gpu-memory-held", "the same in Korean", "이전 노트북을 종료하니 GPU 메모리가 남네요\n", "노트북"),
    Fires("gpu-memory-held", "the same in Chinese", "关掉其他的 notebook 之后 GPU 就能用了\n", "notebook"),
    Fires(
        "gpu-memory-held",
        "the same in French",
        "tous les GPU étaient occupés par d'autres notebooks\n",
        "notebooks",
    ),
    Fires(
        "driver-too-old",
        "an update that cured",
        "Everything works after updating the NVIDIA driver\n",
        "driver",
    ),
    Fires("driver-too-old", "the same in German", "Der NVIDIA-Treiber war zu alt für CUDA 11\n", "Treiber"),
    Fires("driver-too-old", "the same in French", "le pilote NVIDIA était trop ancien\n", "pilote"),
    Fires(
        "driver-not-loaded",
        "not since an update",
        "Since Secure Boot is on the nvidia driver is not loaded\n",
        "Secure Boot",
    ),
    Fires(
        "cudnn-missing",
        "the same in German",
        "Die GPU wird nicht erkannt: es fehlte nur noch cuDNN\n",
        "cuDNN",
    ),
    Fires(
        "tf-conflicting-packages",
        "the same in Portuguese",
        "o pip põe tensorflow por cima do tensorflow-gpu\n",
        "tensorflow-gpu",
    ),
    Fires(
        "gpu-config-conflict",
        "a number that hides nothing",
        "2021-05-02 10:11:12.131415: E tensorflow/core/common_runtime/direct_session.cc:154] Invalid"
        " argument: 'visible_device_list' listed an invalid GPU id '-1' but visible device count is 2\n",
        "visible_device_list",
        says=("CUDA_VISIBLE_DEVICES=-1",),
    ),
    Fires(
        "gpu-arch-too-old", "older than any build", "Will my GPU do? It has compute capability 2.1\n", "2.1"
    ),
)

NEAR_MISSES = (
    NearMiss(
        "cudnn-version-mismatch",
        "another cuDNN changed nothing",
        "undetermined",
        "I updated cuDNN to 8.1 and it did not help\n",
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "a note of a release",
        "undetermined",
        "We upgraded to cuDNN 8.6 in this image, which is fine for TF 2.12\n",
    ),
    NearMiss(
        "tf-not-installed",
        "a module of it",
        "undetermined",
        "the file tensorflow/module was missing in the list of not found pages\n",
    ),
    NearMiss(
        "gpu-renumbered",
        "something else is renumbered",
        "undetermined",
        "TensorFlow's nightly builds were renumbered in 2019\n",
    ),
    NearMiss(
        "container-no-gpu",
        "compose without a word on GPUs",
        "undetermined",
        "docker run works and docker-compose too, for both services\n",
    ),
    NearMiss(
        "tf-windows-native",
        "up to the release",
        "undetermined",
        "Up to 2.10 there is GPU support on Windows, I have 2.9\n",
    ),
    NearMiss(
        "cpu-no-avx",
        "a processor that has it",
        "undetermined",
        "The processor has AVX and AVX2, what else is needed?\n",
    ),
    NearMiss(
        "driver-libcuda-missing",
        "a line of an image",
        "undetermined",
        "FROM nvidia/cuda:12.2.0-base\nENV NVIDIA_DRIVER_CAPABILITIES=compute,utility\n",
    ),
    NearMiss(
        "gpu-bad-state",
        "a sleep of the program",
        "undetermined",
        "My GPU is not used while the program is in time.sleep\n",
    ),
    NearMiss(
        "gpu-renumbered",
        "the first card",
        "undetermined",
        "I start with CUDA_VISIBLE_DEVICES=0 and the program reports GPU:0\n",
    ),
    NearMiss(
        "nccl-failure",
        "what is installed",
        "undetermined",
        "NCCL 2.18 is installed on Linux, from the package\n",
    ),
    NearMiss(
        "memory-leak",
        "a model on disk",
        "undetermined",
        "Keras keeps every model in the folder of checkpoints\n",
    ),
    NearMiss(
        "tf-api-version",
        "a module in use",
        "undetermined",
        "It needs the contrib module of TF 1.15, which I have\n",
    ),
    NearMiss(
        "tf-api-version", "a GPU and a release", "undetermined", "My GPU is not used with TensorFlow 2\n"
    ),
    NearMiss(
        "gpu-absent",
        "the processor's maker",
        "undetermined",
        "An AMD Ryzen CPU with an NVIDIA RTX 3060 card here\n",
    ),
    NearMiss(
        "gpu-absent",
        "a Mac and no word of its card",
        "undetermined",
        "How do I install TensorFlow on macOS?\n",
    ),
    NearMiss(
        "gpu-memory-held",
        "a notebook of one's own",
        "undetermined",
        "I ran the other notebook on the GPU first, fine\n",
    ),
    NearMiss(
        "driver-too-old",
        "an update without a cure",
        "undetermined",
        "Updating the NVIDIA driver didn't help\n",
    ),
    NearMiss("driver-too-old", "a driver that is new", "undetermined", "Der NVIDIA-Treiber ist neu\n"),
    NearMiss(
        "driver-not-loaded",
        "a question about it",
        "undetermined",
        "Does the nvidia driver need Secure Boot off?\n",
    ),
    NearMiss(
        "gpu-config-conflict",
        "a number that is too high",
        "device-not-found",
        "2021-05-02 10:11:12.131415: E tensorflow/core/common_runtime/direct_session.cc:154] Invalid"
        " argument: 'visible_device_list' listed an invalid GPU id '5' but visible device count is 2\n",
    ),
    NearMiss(
        "gpu-arch-too-old",
        "a card that is new enough",
        "undetermined",
        "Will my GPU do? It has compute capability 7.5\n",
    ),
)
