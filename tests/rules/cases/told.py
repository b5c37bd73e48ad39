"""Causes that people tell in a sentence or a title, with little or no log beside it."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import log, logged

PTXAS = "external/org_tensorflow/tensorflow/compiler/xla/service/gpu/nvptx_compiler.cc"

FIRES = (
    Fires(
        "xla-toolchain-missing",
        "XLA's compiler without a ptxas",
        log(
            "2.8.0",
            logged("W", PTXAS, "Can't find ptxas binary in ${CUDA_DIR}/bin.  Custom ptxas location can be specified using $PATH.", 79),
            logged("W", PTXAS, "Searched for CUDA in the following directories:", 80),
            logged("W", PTXAS, "  ./cuda_sdk_lib", 83),
        ),
        "Can't find ptxas",
        says=("XLA_FLAGS",),
    ),
    Fires(
        "gpu-hidden",
        "a scheduler that leaves the list empty",
        "After the upgrade of our scheduler no GPU is used: in each worker CUDA_VISIBLE_DEVICES is set to an empty string\n",
        "empty string",
    ),
    Fires(
        "gpu-hidden",
        "the same as a title",
        "# [workers] GPUs unused since 0.9\n\nPrinted there, CUDA_VISIBLE_DEVICES is empty.\n",
        "is empty",
    ),
    Fires(
        "host-oom",
        "a title about RAM",
        "# Fine-tuning takes more and more RAM and is killed\n\nThe card is a GTX 1660 Ti.\n",
        "more RAM",
    ),
    Fires(
        "gpu-renumbered",
        "another card than the one that was named",
        "With CUDA_VISIBLE_DEVICES=2 in the script, but the training runs on GPU 3, says nvidia-smi\n",
        "runs on GPU 3",
    ),
    Fires(
        "nccl-failure",
        "a form that names NCCL, and a hang",
        "Horovod version: 0.18.2\nNCCL version: v2.4.8\nGPUs: 4 x V100\n\nAfter two hours all four ranks are stuck, and every GPU shows 100 %.\n",
        "all four ranks",
    ),
    Fires(
        "cuda-missing",
        "the sentence about the source directory, with CUDA's files missing",
        "I tensorflow/stream_executor/dso_loader.cc:119] Couldn't open CUDA library libcudart.so.8.0. LD_LIBRARY_PATH: \n"
        "I tensorflow/stream_executor/dso_loader.cc:119] Couldn't open CUDA library libcublas.so.8.0. LD_LIBRARY_PATH: \n"
        "ImportError: Error importing tensorflow.  Unless you are using bazel, you should not try to import tensorflow from its source directory;\n",
        "library libcudart.so.8.0",
    ),
    Fires(
        "cudnn-init-oom",
        "a status of cuDNN in a title",
        "# Training ends with CUDNN_STATUS_NOT_INITIALIZED\n\nRTX 2060, TensorFlow 2.3.0. Last week the same script ran.\n",
        "ends with",
        says=("set_memory_growth",),
    ),
    Fires(
        "cudnn-missing",
        "an image that brings CUDA alone",
        "FROM nvidia/cuda:11.2.2-base-ubuntu20.04\n\nWith that base tensorflow does not find the GPU, since the image does not contain cuDNN.\n",
        "does not contain",
    ),
    Fires(
        "cudnn-missing",
        "the same in Chinese",
        "tensorflow-gpu用不了，后来才发现没有安装cudnn\n",
        "没有安装",
    ),
    Fires(
        "tf-conflicting-packages",
        "Keras brought the CPU package",
        "After installing keras, tensorflow only uses the CPU; before that the GPU was there\n",
        "only uses",
    ),
    Fires(
        "tf-conflicting-packages",
        "a package that takes tensorflow-gpu away",
        "pip install of that toolkit uninstalls my tensorflow-gpu and installs tensorflow, so the GPU is idle\n",
        "uninstalls my",
    ),
    Fires(
        "tf-cpu-only",
        "pip's Arm wheel on a Jetson",
        "Jetson Orin NX, TensorFlow 2.15.0 from pip.\n\ntf.config.list_physical_devices('GPU') returns []\n",
        "TensorFlow 2.15.0",
    ),
    Fires(
        "gpu-arch-too-new",
        "a card that is said to need a newer CUDA",
        "Could the image be updated? My RTX 3080 needs CUDA 11.1, and the one in it is older.\n",
        "needs CUDA",
    ),
    Fires(
        "gpu-arch-too-new",
        "a release that is said not to serve a card",
        "Is there a way around it? TF 1.x does not support the RTX 3090.\n",
        "does not support",
    ),
    Fires(
        "host-oom",
        "a process that is said to be killed, and nothing else",
        "# Preprocessing of the full set\n\nHalfway through, the script gets killed. There is no traceback.\n",
        "gets killed",
    ),
    Fires("host-oom", "the same in Chinese", "数据集一大，训练几分钟后程序就被kill了，没有报错\n", "被kill"),
    Fires(
        "gpu-renumbered",
        "the first card, although another was named",
        "My model is still on GPU 0 although CUDA_VISIBLE_DEVICES=3 is exported\n",
        "although",
        says=("CUDA_DEVICE_ORDER",),
    ),
    Fires(
        "gpu-renumbered",
        "another order than the driver's tool has",
        "# GPU ids do not match those of nvidia-smi\n\nOn our box id 0 is the Titan for TensorFlow.\n",
        "do not match",
        says=("CUDA_DEVICE_ORDER",),
    ),
    Fires(
        "nccl-failure",
        "a hang at the all-reduce, with all cards registered",
        "Num GPUs Available: 4\n\nThe multi-worker run is stuck in the first allreduce; with one worker it trains.\n",
        "is stuck",
    ),
    Fires(
        "gpu-hidden",
        "a worker that prints an empty value",
        "In the worker os.environ['CUDA_VISIBLE_DEVICES'] is '', so tensorflow does not see the GPU\n",
        "is ''",
    ),
    Fires(
        "gpu-arch-too-new",
        "the CUDA that a card is said to need, which is not the one that is there",
        "The base image is too old for us: RTX 3070 cards are only supported by CUDA 11.1\n",
        "only supported",
    ),
    Fires(
        "nccl-failure",
        "a hang with several cards, and no more said",
        "# Training on 2 RTX GPUs never starts\n\nMulti-GPU training freezes at step 0; with a single card all is well.\n",
        "freezes at",
        says=("NCCL_P2P_DISABLE",),
    ),
)

NEAR_MISSES = (
    NearMiss(
        "nccl-failure",
        "several cards, and layers that are frozen",
        "undetermined",
        "For multi-GPU training, where do I freeze layers: before or inside the scope?\n",
    ),
    NearMiss(
        "host-oom",
        "a process that was stopped by hand",
        "undetermined",
        "It took too long, so I killed the script with Ctrl-C. Can it be made faster?\n",
    ),
    NearMiss(
        "healthy",
        "a run that hangs with a GPU registered",
        "undetermined",
        "Num GPUs Available: 1\n\nmodel.fit hangs before the first step\n",
    ),
    NearMiss(
        "gpu-renumbered",
        "nvidia-smi and numbers that agree",
        "undetermined",
        "GPU ids are those of nvidia-smi here. Which of the two cards should be used for the display?\n",
    ),
    NearMiss(
        "tf-import-failed",
        "a CUDA library that is missing, and the sentence that every failed import ends with",
        "cuda-missing",
        "ImportError: libcublas.so.8.0: cannot open shared object file: No such file or directory\n\n"
        "Error importing tensorflow.  Unless you are using bazel, you should not try to import tensorflow from its source directory;\n",
    ),
    NearMiss(
        "cudnn-init-oom",
        "PyTorch's cuDNN",
        "undetermined",
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED\n",
    ),
    NearMiss(
        "cudnn-missing",
        "layers without cuDNN",
        "undetermined",
        "Is there a GRU without cuDNN kernel, so that I can have recurrent dropout? There is no cuDNN implementation of it.\n",
    ),
    NearMiss(
        "tf-conflicting-packages",
        "Keras and tensorflow-gpu installed together",
        "undetermined",
        "After installing keras and tensorflow-gpu the GPU is not used. Where do I look first?\n",
    ),
    NearMiss(
        "tf-cpu-only",
        "NVIDIA's wheel on a Jetson",
        "undetermined",
        "Jetson Orin NX, tensorflow==2.15.0+nv24.2 from NVIDIA.\n\ntf.config.list_physical_devices('GPU') returns []\n",
    ),
    NearMiss(
        "gpu-arch-too-new",
        "a card and a release that go together",
        "undetermined",
        "My RTX 3080 needs CUDA 11, they say, and TensorFlow 2.10.0 with CUDA 11.2 is what I have. Which batch size is best?\n",
    ),
    NearMiss(
        "host-oom",
        "much RAM, and nothing that ended",
        "undetermined",
        "The input pipeline takes about 9 GB of RAM here. Is that to be expected of tf.data?\n",
    ),
    NearMiss(
        "gpu-renumbered",
        "one card named, and its memory the matter",
        "undetermined",
        "CUDA_VISIBLE_DEVICES=1 is set, but how much memory of it would be needed for this?\n",
    ),
    NearMiss(
        "nccl-failure",
        "a list of packages and layers that are frozen",
        "undetermined",
        "NCCL version: 2.4.8\n\n$ pip freeze | grep keras\nkeras==2.3.1\n\nHow do I freeze all but the last layer with four GPUs?\n",
    ),
    NearMiss(
        "gpu-hidden",
        "an empty string that no GPU suffers from",
        "undetermined",
        "Our launcher sets CUDA_VISIBLE_DEVICES to an empty string for the tests that need no graphics card.\n",
    ),
)
