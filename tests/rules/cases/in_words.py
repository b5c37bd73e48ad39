"""Causes that people state in a sentence or a title, with little or no log."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import cuinit, diagnosed, log, logged

PTXAS = "external/org_tensorflow/tensorflow/compiler/xla/service/gpu/nvptx_compiler.cc"

FIRES = (
    Fires(
        "xla-toolchain-missing",
        "XLA's compiler without a ptxas",
        log(
            "2.8.0",
            logged(
                "W",
                PTXAS,
                "Can't find ptxas binary in ${CUDA_DIR}/bin.  Custom ptxas location can be specified using"
                " $PATH.",
                79,
            ),
            logged("W", PTXAS, "Searched for CUDA in the following directories:", 80),
            logged("W", PTXAS, "  ./cuda_sdk_lib", 83),
        ),
        "Can't find ptxas",
        says=("XLA_FLAGS",),
    ),
    Fires(
        "gpu-hidden",
        "a scheduler that leaves the list empty",
        "After the upgrade of our scheduler no GPU is used: in each worker CUDA_VISIBLE_DEVICES is set to an"
        " empty string\n",
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
        "Horovod version: 0.18.2\nNCCL version: v2.4.8\nGPUs: 4 x V100\n\nAfter two hours all four ranks are"
        " stuck, and every GPU shows 100 %.\n",
        "all four ranks",
    ),
    Fires(
        "cuda-missing",
        "the sentence about the source directory, with CUDA's files missing",
        "I tensorflow/stream_executor/dso_loader.cc:119] Couldn't open CUDA library libcudart.so.8.0."
        " LD_LIBRARY_PATH: \nI tensorflow/stream_executor/dso_loader.cc:119] Couldn't open CUDA library"
        " libcublas.so.8.0. LD_LIBRARY_PATH: \nImportError: Error importing tensorflow.  Unless you are using"
        " bazel, you should not try to import tensorflow from its source directory;\n",
        "library libcudart.so.8.0",
    ),
    Fires(
        "cudnn-init-oom",
        "a status of cuDNN in a title",
        "# Training ends with CUDNN_STATUS_NOT_INITIALIZED\n\nRTX 2060, TensorFlow 2.3.0. Last week the same"
        " script ran.\n",
        "ends with",
        says=("set_memory_growth",),
    ),
    Fires(
        "cudnn-missing",
        "an image that brings CUDA alone",
        "FROM nvidia/cuda:11.2.2-base-ubuntu20.04\n\nWith that base tensorflow does not find the GPU, since"
        " the image does not contain cuDNN.\n",
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
        "pip install of that toolkit uninstalls my tensorflow-gpu and installs tensorflow, so the GPU is"
        " idle\n",
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
        "a report that says that the card needs a newer CUDA",
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
        "a report that says only that the process was killed",
        "# Preprocessing of the full set\n\nHalfway through, the script gets killed. There is no"
        " traceback.\n",
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
        "Num GPUs Available: 4\n\nThe multi-worker run is stuck in the first allreduce; with one worker it"
        " trains.\n",
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
        "a report that gives the CUDA that the card needs, not the installed CUDA",
        "The base image is too old for us: RTX 3070 cards are only supported by CUDA 11.1\n",
        "only supported",
    ),
    Fires(
        "nccl-failure",
        "a hang with several cards, and no more said",
        "# Training on 2 RTX GPUs never starts\n\nMulti-GPU training freezes at step 0; with a single card"
        " all is well.\n",
        "freezes at",
        says=("NCCL_P2P_DISABLE",),
    ),
    Fires(
        "cuda-version-mismatch",
        "an import that fails on Windows, with a CUDA of another release named",
        "- TensorFlow version: 1.10.0\n- CUDA version: 9.2\n- OS: Windows 10\n\nImportError: DLL load failed:"
        " Не найден указанный модуль.\n",
        "DLL load failed",
        words=("1.10",),
    ),
    Fires(
        "cuda-version-mismatch",
        "an import that fails on Linux, cut before its last line",
        "Today I upgraded tensorflow-gpu to 1.5 and cuda is 9.1\n\n  File"
        ' "/usr/lib/python3.5/site-packages/tensorflow/python/pywrap_tensorflow_internal.py", line 24, in'
        " swig_import_helper\n    _mod = imp.load_module('_pywrap_tensorflow_internal', fp, pathname,"
        " description)\n",
        "in swig_import_helper",
    ),
    Fires(
        "gpu-arch-too-new",
        "a Blackwell card, whose name nvidia-smi cut, under a release without code for it",
        "TensorFlow version: 2.19.0\n\nIt does not run on this laptop.\n"
        "|   0  NVIDIA RTX PRO 2000 Blac...    On  |   00000000:01:00.0 Off |                  N/A |\n",
        "RTX PRO 2000",
    ),
    Fires(
        "gpu-arch-too-new",
        "an Ampere card with conda's CUDA 10.1",
        "It takes ages until the first step.\n- Nvidia 3070\n- cudatoolkit (from conda) 10.1.243\n",
        "Nvidia 3070",
    ),
    Fires(
        "container-no-gpu",
        "a report that says that the container sees no GPU",
        "On the host the script trains on the card, but inside the container the GPU is not detected.\n",
        "not detected",
        says=("--gpus all",),
    ),
    Fires(
        "container-no-gpu",
        "nvidia's runtime, and no device node inside",
        "Started with --runtime nvidia:\n\n"
        + log(
            "1.12.0",
            cuinit("UNKNOWN ERROR (-1)"),
            diagnosed("no NVIDIA GPU device is present: /dev/nvidia0 does not exist"),
        ),
        "/dev/nvidia0",
    ),
    Fires(
        "tf-gpu-package-removed",
        "a release of tensorflow-gpu that there is not",
        "# Where is the GPU package of 2.13?\n\npip install tensorflow-gpu==2.13.0\n",
        "pip install",
        says=("tensorflow",),
    ),
    Fires(
        "tf-conflicting-packages",
        "several that are installed",
        "Solved: two versions of tensorflow were installed here, and the GPU was idle. I uninstalled all of"
        " them except tensorflow-gpu.\n",
        "two versions",
    ),
    Fires(
        "model-oom",
        "memory that runs out, in a sentence",
        "The fine-tuning runs out of memory on my GPU. Which layers could I freeze?\n",
        "out of memory",
    ),
    Fires(
        "device-not-found",
        "Keras' helper that sees no second card",
        "# multi_gpu_model does not see the second GPU\n\nIn Keras 2.2 with gpus=2.\n",
        "second GPU",
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
        "ImportError: libcublas.so.8.0: cannot open shared object file: No such file or directory\n\nError"
        " importing tensorflow.  Unless you are using bazel, you should not try to import tensorflow from its"
        " source directory;\n",
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
        "Is there a GRU without cuDNN kernel, so that I can have recurrent dropout? There is no cuDNN"
        " implementation of it.\n",
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
        "Jetson Orin NX, tensorflow==2.15.0+nv24.2 from NVIDIA.\n\ntf.config.list_physical_devices('GPU')"
        " returns []\n",
    ),
    NearMiss(
        "gpu-arch-too-new",
        "a card and a release that go together",
        "healthy",
        "My RTX 3080 needs CUDA 11, they say, and TensorFlow 2.10.0 with CUDA 11.2 is what I have. Which"
        " batch size is best?\n",
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
        "NCCL version: 2.4.8\n\n$ pip freeze | grep keras\nkeras==2.3.1\n\nHow do I freeze all but the last"
        " layer with four GPUs?\n",
    ),
    NearMiss(
        "gpu-hidden",
        "an empty string that no GPU suffers from",
        "undetermined",
        "Our launcher sets CUDA_VISIBLE_DEVICES to an empty string for the tests that need no graphics"
        " card.\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "a DLL that is there and cannot start",
        "tf-import-failed",
        "TensorFlow version: 1.10.0\nCUDA version: 9.2\nOS: Windows 7\n\n"
        "ImportError: DLL load failed: A dynamic link library (DLL) initialization routine failed.\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "a release that opens CUDA's libraries only when they are needed",
        "tf-import-failed",
        "TensorFlow version: 2.1.0\nCUDA version: 10.2\nOS: Windows 10\n\nImportError: DLL load failed: The"
        " specified module could not be found.\n",
    ),
    NearMiss(
        "library-path",
        "a folder of Python's on PATH",
        "tf-import-failed",
        "ImportError: DLL load failed: The specified module could not be found.\n\nPython's Scripts folder"
        " has to be on %PATH% for pip.\n",
    ),
    NearMiss(
        "gpu-arch-too-new",
        "an Ampere card under a release that has code for it",
        "undetermined",
        "TensorFlow version: 2.19.0\n\nIt does not run on this laptop.\n"
        "|   0  NVIDIA RTX 2000 Ada Gene...    On  |   00000000:01:00.0 Off |                  N/A |\n",
    ),
    NearMiss(
        "container-no-gpu",
        "a container whose GPU is slow",
        "undetermined",
        "Inside the container the GPU is detected. It is slower than on the host, though.\n",
    ),
    NearMiss(
        "tf-gpu-package-removed",
        "the last release that there was",
        "undetermined",
        "pip install tensorflow-gpu==2.11.0\n\nWhich CUDA goes with it?\n",
    ),
    NearMiss(
        "tf-conflicting-packages",
        "several that lie apart",
        "undetermined",
        "For the comparison two versions of tensorflow were tried, each in its own environment, on the same"
        " GPU.\n",
    ),
    NearMiss(
        "model-oom",
        "PyTorch's memory",
        "undetermined",
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity; 40.00"
        " MiB reserved in total by PyTorch)\n",
    ),
    NearMiss(
        "model-oom",
        "a heading of somebody's notes",
        "undetermined",
        "[OOM]\n\nOn a GPU: tf.data instead of arrays.\n",
    ),
)
