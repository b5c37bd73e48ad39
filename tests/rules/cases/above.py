"""Reports from people who use programs on top of TensorFlow: workers, schedulers, container images,
installers."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import created, found, log, logged

DRIVER = "stream_executor/cuda/cuda_driver.cc"

FIRES = (
    Fires(
        "gpu-bad-state",
        "workers that were forked after TensorFlow had started",
        log(
            "2.13.0",
            logged(
                "E",
                DRIVER,
                "could not retrieve CUDA device count: CUDA_ERROR_NOT_INITIALIZED: initialization error",
                1278,
            ),
        ),
        "CUDA_ERROR_NOT_INITIALIZED",
        words=("forked",),
    ),
    Fires(
        "gpu-memory-held",
        "a kernel that finds no memory at its launch",
        "Non-OK-status: GpuLaunchKernel(FillKernel<float>, blocks, threads, 0, d.stream(), size, data)"
        " status: Internal: out of memory\n",
        "GpuLaunchKernel",
        says=("nvidia-smi",),
    ),
    Fires(
        "gpu-memory-held",
        "the second of two models",
        "It dies with out of memory when the second worker starts.\nOf course: TensorFlow takes all the GPU"
        " memory for the first model.\n",
        "takes all the GPU memory",
    ),
    Fires(
        "host-oom",
        "jobs that the kernel ended",
        "Two of the jobs were killed by OOM after an hour, each with 8 GB of RAM and a V100.\n",
        "killed by OOM",
        says=("free -h",),
    ),
    Fires(
        "device-not-found",
        "a list of devices that is cut off",
        "Cannot assign a device for operation stats: node stats was explicitly assigned to /device:GPU:1 but"
        " available devices are [ /job:localhost/replica:0/task:0/device:CPU:0,"
        " /job:localhost/replica:0/task:0/device:GPU:0, /job:local\n",
        "explicitly assigned",
    ),
    Fires(
        "tf-import-failed",
        "a version of libstdc++ in a sentence",
        "# After the update to 1.4\n\nEach start ends with ``GLIBCXX_3.4.22' not found``\n",
        "GLIBCXX_3.4.22",
        words=("libstdc++",),
    ),
    Fires(
        "python-dependency-conflict",
        "protobuf, as somebody says",
        "Since last week tensorflow cannot be imported on our build machine: the import fails because of"
        " protobuf.\n",
        "because of protobuf",
        says=("protobuf",),
    ),
    Fires(
        "tf-conflicting-packages",
        "a program that brings its own",
        "The setup installs tensorflow and that conflicts with the tensorflow-gpu that was there: the GPU is"
        " not used any more\n",
        "conflicts with",
    ),
    Fires(
        "tf-not-installed",
        "on a machine whose bus has no NVIDIA GPU, as the script reports it",
        "$ uname -srm\nLinux 6.8.0-45-generic x86_64\n\n$ lspci -nnk\n\n"
        "lspci | grep -i nvidia shows nothing\n\n"
        "$ python3 --version\nPython 3.12.3\n\n$ python3 gpus.py\n"
        "ModuleNotFoundError: No module named 'tensorflow'\n",
        "ModuleNotFoundError",
        says=("pip install tensorflow==",),
        never=("and-cuda",),
    ),
    Fires(
        "container-no-gpu",
        "a service of docker compose",
        "My docker compose service with tensorflow/tensorflow:2.15.0-gpu only sees the CPU.\n"
        "root@3f2:/# nvidia-smi\nbash: nvidia-smi: command not found\n"
        "[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]\n",
        "command not found",
        says=("capabilities: [gpu]",),
    ),
    Fires(
        "healthy",
        "a registered GPU with hardly any load",
        "GPU-Util in nvidia-smi shows 0-5% and training is as slow as on the CPU.\n"
        "[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]\n",
        "GPU:0",
        says=("tfgpu-doctor bench",),
    ),
    Fires(
        "container-no-gpu",
        "Apptainer without --nv, and an empty list",
        "$ apptainer shell tensorflow_2.15.sif\n>>> tf.config.list_physical_devices('GPU')\n[]\n",
        "apptainer shell",
        says=("--nv",),
    ),
    Fires(
        "gpu-bad-state",
        "a virtual GPU without a licence",
        "The guest's driver says that the device has no valid GRID license.\ncudaSetDevice() on GPU:0 failed."
        " Status: operation not supported\n",
        "GRID license",
        says=("licence",),
    ),
    Fires(
        "gpu-renumbered",
        "two cards that are called 0 and 1",
        "CUDA_VISIBLE_DEVICES='5,6' is exported first.\nThe training then takes GPU:0 and GPU:1, and does not"
        " care what I chose.\n",
        "takes GPU:0",
    ),
    Fires(
        "nccl-failure",
        "an example that stops with the second card",
        "# The example hangs once there are two GPUs\n\nBefore that all is well.\n",
        "hangs once",
    ),
    Fires(
        "cudnn-version-mismatch",
        "the name of the archive that was unpacked",
        "cudnn-8.0-linux-x64-v7.tgz is unpacked into /usr/local/cuda-8.0\n"
        "ImportError: libcudnn.so.6: cannot open shared object file: No such file or directory\n",
        "v7.tgz",
    ),
    Fires(
        "host-oom",
        "a pod that its node could not keep",
        "The worker was evicted after the first epoch.\nThe node was low on resource: memory.\n",
        "low on resource",
    ),
    Fires(
        "host-oom",
        "a shell that names itself",
        "$ python train.py\nzsh: killed     python train.py\n",
        "zsh: killed",
    ),
    Fires(
        "gpu-memory-held",
        "a neighbour, as nvidia-smi shows",
        "Out of memory at once: 23 of 24 GB are used by another python process.\n",
        "used by another",
    ),
    Fires(
        "container-no-gpu",
        "docker without --gpus, and an empty list",
        "$ docker run -it --rm tensorflow/tensorflow:2.11.0-gpu python\n>>>"
        " tf.config.list_physical_devices('GPU')\n[]\n",
        "docker run -it",
        says=("--gpus all",),
    ),
    Fires(
        "gpu-bad-state",
        "what CUDA answers without a licence",
        "InternalError: cudaSetDevice() on GPU:0 failed. Status: operation not supported\nIt is a GRID"
        " V100D-8Q.\n",
        "operation not supported",
        says=("licence",),
    ),
    Fires(
        "python-dependency-conflict",
        "NumPy 2, as somebody says",
        "tensorflow 2.15 cannot be loaded in the new image. The import fails because of numpy 2.\n",
        "because of numpy",
        says=("numpy",),
    ),
    Fires(
        "gpu-arch-too-new",
        "a question about cards of today",
        "Ampere cards are not supported by CUDA 10: will there be another image?\n",
        "not supported by",
    ),
    Fires(
        "tf-conflicting-packages",
        "what a program's setup asks for",
        "Its setup asks for tensorflow, which overrides tensorflow-gpu. Now all runs on the CPU.\n",
        "overrides",
    ),
    Fires(
        "device-not-found",
        "a device that is asked for, and no list",
        "Could not satisfy explicit device specification '/device:GPU:2' because no devices matching that"
        " specification are registered in this process\n",
        "GPU:2",
    ),
    Fires(
        "gpu-arch-too-new",
        "a card that wants more, and a page about it",
        "I have a RTX 3080 and this card wants a newer TF.\n\nSee"
        " https://blog.example/posts/how-to-install-tensorflow-2.4.0-on-ubuntu.html\n",
        "wants a newer TF",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "tf-cpu-only",
        "two times side by side",
        "undetermined",
        "On the GPU it takes 65 minutes, with the CPU version 75. Is the GPU really used?\n",
    ),
    NearMiss(
        "healthy",
        "a GPU, and a program that then says OOM",
        "undetermined",
        log(
            "1.13.1",
            "Yesterday it ran, today I get 'OOM'.",
            found("GeForce RTX 2080 Ti", "7.5"),
            created("GeForce RTX 2080 Ti", "7.5", 8620),
        ),
    ),
    NearMiss(
        "tf-conflicting-packages",
        "both were installed, and the GPU is used",
        "gpu-arch-too-new",
        "pip install tensorflow==1.12.0 tensorflow-gpu==1.12.0 keras\n\nRTX 2080 Ti: cuDNN launch failure :"
        " input shape ([16,3,32,32])\n",
    ),
    NearMiss(
        "container-no-gpu",
        "Apptainer with --nv, and an empty list",
        "undetermined",
        "$ apptainer exec --nv tf.sif python\n>>> tf.config.list_physical_devices('GPU')\n[]\n",
    ),
    NearMiss(
        "gpu-bad-state",
        "a licence that is there",
        "undetermined",
        "The vGPU has its license, and nvidia-smi lists it.\n",
    ),
    NearMiss(
        "container-no-gpu",
        "docker with --gpus, and an empty list",
        "undetermined",
        "$ docker run --gpus all -it tensorflow/tensorflow:2.11.0-gpu python\n>>>"
        " tf.config.list_physical_devices('GPU')\n[]\n",
    ),
    NearMiss(
        "gpu-memory-held",
        "a network that is used by another",
        "undetermined",
        "The embedding of the GPU model is used by another model. Which of them takes the memory?\n",
    ),
    NearMiss(
        "tf-gpu-package-removed",
        "a GPU that is gone",
        "tf-conflicting-packages",
        "The plugin brings tensorflow on top of my tensorflow-gpu, and the GPU is gone\n",
    ),
    NearMiss(
        "gpu-renumbered",
        "the one card that is there",
        "undetermined",
        "It takes GPU:0, which is the only card.\n",
    ),
    NearMiss(
        "python-dependency-conflict",
        "protobuf, which is only there",
        "undetermined",
        "The import of tensorflow prints a warning about the GPU, and protobuf is installed in version"
        " 3.20.3.\n",
    ),
)
