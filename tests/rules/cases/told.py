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
)

NEAR_MISSES = (
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
