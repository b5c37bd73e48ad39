"""Reports whose cure depends on the platform, the surroundings or another maker's software."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import log, opened

FIRES = (
    Fires(
        "benign-messages",
        "the DirectML plugin at work on an AMD card",
        log(
            "2.10.0",
            "I tensorflow/c/logging.cc:34] DirectML: creating device on adapter 1 (AMD Radeon RX 7800 XT)",
            "W tensorflow/core/common_runtime/pluggable_device/pluggable_device_bfc_allocator.cc:28]"
            " Overriding allow_growth setting because force_memory_growth was requested by the device.",
        ),
        "force_memory_growth",
        words=("AMD Radeon RX 7800 XT through the DirectML plugin", "lets its memory grow"),
    ),
    Fires(
        "gpu-absent",
        "an AMD card on Windows",
        'Windows 10 with an AMD Radeon RX 580. print(tf.config.list_physical_devices("GPU")) gives []\n',
        "RX 580",
        says=('tensorflow-cpu==2.10.0 tensorflow-directml-plugin==0.4.0.dev230202 "numpy<2"',),
    ),
    Fires(
        "wsl-driver",
        "a program in WSL2 that looks for libcuda.so without a number",
        "WSL2 with Ubuntu 22.04 and conda activate yolo, RTX 4060\nOSError: libcuda.so: cannot open shared"
        " object file: No such file or directory\n",
        "OSError",
        says=('LD_LIBRARY_PATH="/usr/lib/wsl/lib', "$CONDA_PREFIX/etc/conda/activate.d"),
        never=("apt remove", "wsl --update", "driver 4"),
        verify="ctypes.CDLL('libcuda.so')",
    ),
    Fires(
        "nccl-failure",
        "Horovod on a Mac, built for NCCL",
        "NCCL error when I import horovod\ndlopen(/usr/local/lib/python3.7/site-packages/horovod/tensorflow/"
        "mpi_lib.cpython-37m-darwin.so, 6): Symbol not found: _ncclCommInitRank\n",
        "NCCL error",
        says=("pip install --no-cache-dir horovod", "unset HOROVOD_GPU_ALLREDUCE"),
        never=("NCCL_P2P_DISABLE", "ip -br addr"),
        verify="horovod.tensorflow",
    ),
    Fires(
        "nccl-failure",
        "a container with little shared memory, and TensorFlow 1",
        "docker run --gpus all nvcr.io/nvidia/tensorflow:19.12-tf1-py3, horovodrun -np 4 python train.py\n"
        "ncclCommInitRank failed: unhandled system error\n",
        "ncclCommInitRank",
        says=("--shm-size=1g --ulimit memlock=-1",),
        verify="tf.Session(config=c).run(hvd.allreduce",
    ),
    Fires(
        "driver-not-loaded",
        "open modules under a Pascal card in TrueNAS, which has no package manager",
        "TrueNAS 25.10.1 with a Tesla P40\nNVRM: installed in this system is not supported by open\n"
        "NVRM: nvidia.ko because it does not include the required GPU\n"
        "NVRM: GPU 0000:04:00.0: RmInitAdapter failed! (0x24:0x72:1603)\n",
        "nvidia.ko because",
        says=("TrueNAS release before 25.10",),
        never=("apt",),
    ),
    Fires(
        "driver-not-loaded",
        "open modules under a Pascal card in Ubuntu",
        "Ubuntu 24.04, GTX 1080 Ti\nNVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05 \n"
        "$ nvidia-smi\nNo devices were found\n",
        "Open Kernel Module",
        says=("sudo apt install nvidia-driver-580",),
    ),
    Fires(
        "driver-missing",
        "a card in Unraid, whose plugin installs the driver",
        "Unraid 6.12, GTX 1660. bash: nvidia-smi: command not found. Could not load dynamic library"
        " 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared object file\n",
        "libcuda.so.1",
        says=("plugin Nvidia Driver",),
        never=("apt", "ubuntu-drivers"),
    ),
    Fires(
        "tf-not-installed",
        "R that uses another Python than the environment with TensorFlow",
        "In the terminal, /home/rstudio/.virtualenvs/r-dl has TensorFlow. In R, library(tensorflow) and"
        " tf$constant(1) give: ModuleNotFoundError: No module named 'tensorflow'\n",
        "ModuleNotFoundError",
        says=('reticulate::use_virtualenv("r-dl", required = TRUE)',),
        never=("pip install",),
        verify="Rscript -e",
    ),
    Fires(
        "tf-not-installed",
        "R without a known environment",
        "> library(tensorflow)\n> tf$constant(1)\nModuleNotFoundError: No module named 'tensorflow'\n",
        "ModuleNotFoundError",
        says=("tensorflow::install_tensorflow()",),
        never=("pip install",),
    ),
    Fires(
        "library-path",
        "conda's libraries in the report's own words",
        "conda installed cudatoolkit and cudnn in my environment, but tensorflow does not pick them up,"
        " because their folder is not on the path of the loader.\n",
        "cudatoolkit",
        says=("$CONDA_PREFIX/etc/conda/activate.d",),
        never=("ld.so.conf.d",),
    ),
    Fires(
        "tf-api-version",
        "tf.contrib, which compat.v1 lacks",
        "ModuleNotFoundError: No module named 'tensorflow.contrib'\nTensorFlow 2.6, Python 3.8, Ubuntu\n",
        "tensorflow.contrib",
        says=("conda create -y -n tf1 python=3.7", "tensorflow==1.15.5"),
        never=("tf_upgrade_v2", "compat.v1 as tf"),
        verify="tf.contrib",
    ),
    Fires(
        "tf-no-wheel",
        "a Keras that needs TensorFlow 1",
        "Windows 10, Python 2.7\n$ pip install keras==2.1.3\nERROR: No matching distribution found for"
        " tensorflow (from keras==2.1.3)\n",
        "No matching distribution",
        says=('tensorflow==1.15.5 "protobuf<3.21" keras==2.1.3 "h5py<3"',),
        never=("platform.machine",),
    ),
    Fires(
        "library-broken",
        "a part of cuDNN that Windows does not find",
        "Windows 11, TensorFlow 2.7.0, CUDA 11.2\n"
        "Could not load library cudnn_cnn_infer64_8.dll. Error code 126\n",
        "Error code 126",
        says=("Copy all DLLs", "where.exe cudnn*64_*.dll"),
        words=("in no folder on PATH",),
        verify="conv2d",
    ),
    Fires(
        "tf-import-failed",
        "an unknown release on Windows, which must not be replaced by the newest",
        'File "C:\\Python35\\lib\\site-packages\\tensorflow\\python\\pywrap_tensorflow.py", line 41\n'
        "ImportError: DLL load failed: The specified module could not be found.\n"
        "Failed to load the native TensorFlow runtime.\n",
        "DLL load failed",
        says=("PACKAGE==RELEASE", "pip list"),
        never=("--no-cache-dir tensorflow",),
        words=("tensorflow-gpu before 1.14",),
    ),
    Fires(
        "benign-messages",
        "a program that is slower on the GPU",
        log(
            "2.4.0",
            "Training of my agent became slower with the GPU, a Tesla K80.",
            opened("libcudart.so.11.0"),
            "I tensorflow/compiler/jit/xla_gpu_device.cc:99] Not creating XLA devices,"
            " tf_xla_enable_xla_devices not set",
        ),
        "Not creating XLA",
        says=("larger batches",),
        words=("A small model with small batches is often slower on a GPU",),
    ),
    Fires(
        "gpu-hidden",
        "a program's file that sets the variable itself",
        "On Ubuntu, worker.py cannot find my GPU, an RTX 3080. Its first line sets CUDA_VISIBLE_DEVICES=-1.\n"
        "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n",
        "worker.py",
        says=("In worker.py, remove the line that sets CUDA_VISIBLE_DEVICES",),
        never=("unset",),
    ),
    Fires(
        "driver-missing",
        "Ubuntu 16.04, whose ubuntu-drivers has no command install",
        "Ubuntu 16.04, GTX 1660. bash: nvidia-smi: command not found. Could not load dynamic library"
        " 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared object file\n",
        "libcuda.so.1",
        says=("sudo ubuntu-drivers autoinstall",),
    ),
    Fires(
        "gpu-hidden",
        "a shell that sets the variable for a program's file",
        "On Ubuntu, my GPU is an RTX 3080.\n$ export CUDA_VISIBLE_DEVICES=-1; python worker.py\n"
        "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n",
        "export",
        says=("unset CUDA_VISIBLE_DEVICES",),
        never=("In worker.py",),
    ),
    Fires(
        "gpu-hidden",
        "an unknown setting that hides the GPU",
        "tf 1.13.1, CUDA 10.0, cudnn 7.5, RTX 2070. no CUDA-capable device is detected, so training is on the"
        " CPU. What do I change in the config?\n",
        "no CUDA-capable",
        says=("code, configuration and command line for the number of a GPU",),
    ),
)

NEAR_MISSES = (
    NearMiss(
        "gpu-absent",
        "an Intel GPU that the DirectML plugin uses",
        "benign-messages",
        log("2.10.0", "c/logging.cc:34] DirectML: creating device on adapter 0 (Intel(R) UHD Graphics 630)"),
    ),
)
