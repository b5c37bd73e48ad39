"""Whole texts as people paste them: two runs in one text, only a title, only a header line, or somebody
else's test."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import (
    created,
    cuinit,
    form,
    found,
    loaded_cudnn,
    log,
    no_cuda_drivers,
    no_module,
    numa,
    opened,
    refused,
    skipped,
)

FIRES = (
    Fires(
        "cuda-missing",
        "a run before the cure and one after it",
        log("2.17.0", skipped)
        + "\nThen I did a `pip install tensorflow[and-cuda]` in the same image, and look:\n"
        + ">>> tf.config.list_physical_devices('GPU')\n[PhysicalDevice(name='/physical_device:GPU:0',"
        " device_type='GPU')]\n",
        "Cannot dlopen some GPU libraries",
        words=("belongs to another run, which got a GPU", "line 4 shows a change"),
    ),
    Fires(
        "cuda-missing",
        "it works on the other machine, which is shown first",
        log(
            "2.12.0",
            "At work:",
            created("NVIDIA RTX A4000", "8.6", 14102),
            loaded_cudnn(8600),
            "At home:",
            no_cuda_drivers,
        )
        + "\nNum GPUs Available:  0\n",
        "Could not find cuda drivers",
        words=("belongs to another run, which got a GPU",),
    ),
    Fires(
        "driver-not-loaded",
        "a reboot helped",
        log("2.9.1", cuinit("CUDA_ERROR_UNKNOWN"), no_module("lab-7"))
        + "\nnvidia-smi: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA"
        " driver.\n\nAfter a reboot:\n" + log("2.9.1", created("NVIDIA GeForce RTX 3060", "8.6", 9979)),
        "failed call to cuInit",
        words=("belongs to another run, which got a GPU",),
    ),
    Fires(
        "undetermined",
        "an older image sees the GPU, and nothing says why",
        "$ docker run --gpus all tensorflow/tensorflow:latest-gpu python gpus.py\nNum GPUs Available:  0\n"
        "$ docker run --gpus all tensorflow/tensorflow:2.14.0-gpu python gpus.py\nNum GPUs Available:  1\n",
        "Available:  0",
        words=("Line 4 is of another run",),
    ),
    Fires(
        "wsl-driver",
        "a container under WSL with a libcuda of its own",
        "Docker Desktop, WSL2 (Ubuntu 22.04)\n"
        + log("2.16.1", cuinit("CUDA_ERROR_NOT_FOUND", "named symbol not found")),
        "named symbol not found",
    ),
    Fires(
        "driver-too-old",
        "older than the driver that came with the first release of that CUDA",
        form(system="Ubuntu 16.04", tensorflow="1.2.0", cuda="8.0/5.1", gpu="GTX 970")
        + "\nNVIDIA driver 361.42\nIt does not see the GPU.\n",
        "361.42",
        words=("needs driver 375.26",),
    ),
    Fires(
        "healthy",
        "NCCL says that it is ready",
        log(
            "2.11.0",
            created("Tesla V100-SXM2-16GB", "7.0", 14756),
            "node7:88:240 [0] NCCL INFO comm 0x7f2c rank 0 nranks 2 - Init COMPLETE",
        ),
        "Created device",
    ),
    Fires(
        "cuda-missing",
        "a Jetson board whose build is linked to NVTX",
        "Jetson Nano, no CUDA on it yet\nImportError: libnvToolsExt.so.1: cannot open shared object file: No"
        " such file or directory\n\nFailed to load the native TensorFlow runtime.\n",
        "libnvToolsExt.so.1",
    ),
    Fires(
        "cuda-version-mismatch",
        "the TensorFlow that is named fits CUDA 9.0, and the one that is imported wants 8.0",
        "Here it is CUDA 9.0, cuDNN 7.0 and tensorflow-gpu 1.6.0.\n>>> import tensorflow\n"
        "ImportError: libcublas.so.8.0: cannot open shared object file: No such file or directory\n",
        "ImportError: libcublas.so.8.0",
        says=("list",),
        words=("The imported TensorFlow loads libcublas.so.8.0 of CUDA 8.0", "CUDA 9.0 is installed"),
    ),
    Fires(
        "cuda-missing",
        "a guide that gets past protobuf first",
        "Step 3: `TypeError: Descriptors cannot be created directly.` Take protobuf 3.20.\nStep 4: run it\n"
        + log("2.9.1", refused("libcudart.so.11.0", "libcublas.so.11"), skipped),
        "'libcudart.so.11.0'",
    ),
    Fires(
        "python-dependency-conflict",
        "what comes after a run that found no library",
        log("2.9.1", refused("libcudart.so.11.0", "libcublas.so.11"), skipped)
        + "\nToday, after `pip install -U protobuf`, even this no more:\n"
        "TypeError: Descriptors cannot be created directly.\n",
        "Descriptors cannot be created directly",
    ),
    Fires(
        "tf-cpu-only",
        "the build's own word against the name of conda's package",
        ">>> tf.test.is_built_with_cuda()\nFalse\n\ntensorflow                2.15.0         "
        " cuda120py311h0000000_1    conda-forge\n\nThe GPU is not used.\n",
        "is_built_with_cuda",
    ),
    Fires(
        "tf-cpu-only",
        "a Mac, whatever the release",
        "My MacBook, a fresh environment:\n>>> tf.config.list_physical_devices('GPU')\n[]\n",
        "list_physical_devices",
    ),
    Fires(
        "gpu-hidden",
        "the variable is emptied, and the libraries open all the same",
        "$ export CUDA_VISIBLE_DEVICES=\n$ python train.py\n"
        + log("1.12.0", opened("libcublas.so.9.0", "libcudnn.so.7", "libcuda.so.1")),
        "export CUDA_VISIBLE_DEVICES=",
    ),
    Fires(
        "gpu-arch-too-new",
        "a Pascal card under CUDA 7.5",
        "With CUDA 7.5 and TensorFlow 0.10.0 on a GTX 1070 the loss is nan from the first step, on the CPU it"
        " is not.\n",
        "GTX 1070",
    ),
    Fires(
        "xla-toolchain-missing",
        "an old ptxas on PATH, and the driver compiles in its place",
        log(
            "2.2.0",
            created("NVIDIA GeForce RTX 2070", "7.5", 6500),
            "2020-09-01 10:00:00.000000: W tensorflow/stream_executor/gpu/redzone_allocator.cc:314] Internal:"
            " ptxas exited with non-zero error code 65280, output: ptxas fatal   : Value 'sm_75' is not"
            " defined for option 'gpu-name'",
            "Relying on driver to perform ptx compilation. ",
            "27/27 [==============================] - 8s 301ms/step - loss: 0.2495",
        ),
        "ptxas fatal",
    ),
    Fires(
        "python-dependency-conflict",
        "a NumPy that is older than a compiled module wants",
        "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xe\nand the"
        " import of tensorflow stops\n",
        "0x10",
        says=("numpy>=1.23,<2",),
        words=("compiled for NumPy 1.23 or later",),
    ),
    Fires(
        "python-dependency-conflict",
        "a module for a NumPy that the stated TensorFlow does not take",
        "tensorflow==2.4.1\nRuntimeError: module compiled against API version 0xe but this version of numpy"
        " is 0xd\n",
        "0xe",
        says=("numpy~=1.19.2",),
        never=("pip install 'numpy",),
        words=("belongs to another package",),
    ),
    Fires(
        "python-dependency-conflict",
        "a module for a NumPy that the stated TensorFlow takes too",
        "tensorflow==2.12.0\nRuntimeError: module compiled against API version 0x10 but this version of numpy"
        " is 0xf\n",
        "0x10",
        says=(">=1.23",),
    ),
    Fires(
        "cuda-missing",
        "another package asks for another CUDA than the stated TensorFlow's",
        "tensorflow-gpu==2.4.1\nImportError: libcudart.so.10.0: cannot open shared object file: No such file"
        " or directory\n",
        "cannot open",
        says=("First find the file that loads the library",),
        words=("TensorFlow 2.4.1 loads libcudart.so.11.0",),
    ),
    Fires(
        "python-dependency-conflict",
        "nothing but a title",
        "tensorflow fails: compiled with API 0xf installed 0xd\n",
        "0xf",
        says=("numpy>=1.22",),
    ),
    Fires(
        "python-dependency-conflict",
        "the arrow of a notebook points into generated code",
        "     20   containing_type=None,\n     21   fields=[\n---> 22     _descriptor.FieldDescriptor(\n    "
        " 23       name='dim', full_name='tensorflow.TensorShapeProto.dim', index=0,\n",
        "--->",
    ),
    Fires(
        "cuda-version-mismatch",
        "what deviceQuery was built with",
        'Device 0: "GeForce GTX 1070"\n  CUDA Driver Version / Runtime Version          10.1 / 10.1\n  CUDA'
        " Capability Major/Minor version number:    6.1\n\ntensorflow-gpu 1.13.1 says ImportError: DLL load"
        " failed: The specified module could not be found.\n",
        "Runtime Version",
    ),
    Fires(
        "cuda-version-mismatch",
        "a link that gives a file the name of another version",
        "ImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory\n"
        "$ sudo ln -s /usr/lib/x86_64-linux-gnu/libcublas.so.9.1"
        " /usr/lib/x86_64-linux-gnu/libcublas.so.9.0\n",
        "sudo ln -s",
    ),
    Fires(
        "cuda-version-mismatch",
        "a file that somebody says to have",
        log("2.16.1", refused("libcudart.so.12"), skipped)
        + "\nIn this environment we have `libcudart.so.11`.\n",
        "we have",
    ),
    Fires(
        "tf-no-wheel",
        "the words of an old pip",
        "$ pip install tensorflow-gpu\n  Could not find any downloads that satisfy the requirement"
        " tensorflow-gpu\nNo distributions at all found for tensorflow-gpu\n",
        "Could not find any downloads",
    ),
    Fires(
        "gpu-arch-too-old",
        "a log that breaks off before it says so",
        log(
            "2.2.0",
            opened("libcuda.so.1"),
            found("Quadro K2000", "3.0"),
            opened("libcudart.so.10.1", "libcublas.so.10"),
        ),
        "libcudart.so.10.1",
        words=("3.0", "3.5"),
    ),
    Fires(
        "gpu-arch-too-old",
        "the minimum after the number",
        "Why is this?\ntensorflow-gpu 1.13.0rc0: compute capability 6.0 is required, says the log\nGPU:"
        " GeForce GTX 970\n",
        "6.0 is required",
        words=("5.2", "6.0"),
    ),
    Fires(
        "tf-api-version",
        "a name that each release of TensorFlow 1 has, missing beside a stated one: Python loads another",
        "- TensorFlow version: 1.9.0\n\nAttributeError: module 'tensorflow' has no attribute 'placeholder'\n",
        "'placeholder'",
        says=("sys.executable",),
        words=("TensorFlow 1.9.0, which the report states, has tf.placeholder", "loads TensorFlow 2"),
    ),
    Fires(
        "benign-messages",
        "Apple's plugin, by its optimizer's line alone",
        "2023-06-06 10:00:00.000000: I"
        " tensorflow/core/grappler/optimizers/custom_graph_optimizer_registry.cc:114] Plugin optimizer for"
        " device_type GPU is enabled.\n120/120 [==============================] - 9s 71ms/step - loss:"
        " 0.61\n",
        "Plugin optimizer",
    ),
    Fires(
        "undetermined",
        "harmless lines beside a GPU that is said not to be used",
        log("2.4.1", found("Tesla T4", "7.5"), numa) + "\nMy GPU is not used by TensorFlow\n",
        "is not used",
    ),
    Fires(
        "gpu-absent",
        "a notebook for which no GPU was chosen",
        "https://colab.research.google.com/\n"
        + log(
            "2.3.0",
            opened("libcuda.so.1"),
            cuinit("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
            no_module("4f0c1be2a977"),
        ),
        "CUDA_ERROR_NO_DEVICE",
        says=("Change runtime type",),
    ),
    Fires(
        "undetermined",
        "libraries that open, and a GPU that is said to be missing",
        "No GPU devices found\n"
        + log("2.4.1", found("Tesla T4", "7.5"), opened("libcudart.so.11.0", "libcudnn.so.8")),
        "No GPU devices found",
    ),
    Fires(
        "gpu-arch-too-old",
        "the title alone says that the GPU is left out",
        "# Ignoring visible gpu device\n\n" + log("1.3.0", found("Quadro K2200", "5.0"), numa),
        "Ignoring visible gpu device",
        words=("The complete line in the log",),
    ),
    Fires(
        "driver-too-old",
        "the message as somebody spelt it",
        "Cuda driver version is insuficient for my runtime, it says\n",
        "insuficient",
    ),
    Fires(
        "cuda-missing",
        "a runtime that the stated release does not open",
        "tensorflow 2.3.0, horovod 0.19\nOSError: libcudart.so.10.0: cannot open shared object file: No such"
        " file or directory\n",
        "libcudart.so.10.0",
        words=("TensorFlow 2.3.0 loads libcudart.so.10.1", "a package in the same process"),
    ),
    Fires(
        "tf-cpu-only",
        "the package for the GPU cured it",
        "Keras left my card alone. I installed the GPU version of tensorflow and now it works\n",
        "the GPU version",
    ),
    Fires(
        "tf-cpu-only",
        "the cure before its name",
        "no GPU in keras; solved by installing tensorflow-gpu\n",
        "solved by",
    ),
    Fires(
        "gpu-absent",
        "a machine that does not have one",
        "The machine that this runs on doesn't have a GPU\n" + log("2.4.1", cuinit("UNKNOWN ERROR (303)")),
        "UNKNOWN ERROR (303)",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "gpu-hidden",
        "one of several processes of a job is meant to see no GPU",
        "healthy",
        log(
            "2.4.1",
            cuinit("CUDA_ERROR_NO_DEVICE"),
            created("Tesla V100-SXM2-16GB", "7.0", 14756),
            loaded_cudnn(8005),
        ),
    ),
    NearMiss(
        "cuda-version-mismatch",
        "an image that is started only for nvidia-smi",
        "undetermined",
        "My container of tensorflow/tensorflow:2.2.1-gpu finds no GPU.\nThis works: docker run --rm --gpus"
        " all nvidia/cuda:11.0-base nvidia-smi\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "a link between two names of one version",
        "cuda-missing",
        "ImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory\n$ sudo ln"
        " -s /usr/lib/x86_64-linux-gnu/libcublas.so.9.0.176 /usr/lib/x86_64-linux-gnu/libcublas.so.9.0\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "a file that somebody does not have",
        "cuda-missing",
        log("2.16.1", refused("libcudart.so.12"), skipped)
        + "\nIn this environment there is no `libcudart.so.11` either, and I do not have"
        " `libcudart.so.10.1`.\n",
    ),
    NearMiss(
        "python-dependency-conflict",
        "generated code that a traceback only passes",
        "undetermined",
        "---> 22     x = model(batch)\n     23     _descriptor.FieldDescriptor(\n",
    ),
    NearMiss(
        "tf-no-wheel",
        "an old pip that finds no downloads of something else",
        "undetermined",
        "$ pip install tensorflow-gpu frobnicate\n  Could not find any downloads that satisfy the requirement"
        " frobnicate\n",
    ),
    NearMiss(
        "tf-conflicting-packages",
        "both are installed, and it is the build for CUDA that is imported",
        "cuda-missing",
        log(
            "2.7.0",
            "tensorflow and tensorflow-gpu are both installed",
            refused("libcudart.so.11.0", "libcublas.so.11"),
            skipped,
        ),
    ),
    NearMiss(
        "tf-cpu-only",
        "tensorflow-cpu is the way out that was taken",
        "gpu-absent",
        log("2.3.0", cuinit("CUDA_ERROR_NO_DEVICE"))
        + "\nThis machine has no GPU, so:\n$ pip uninstall tensorflow\n$ pip install"
        " tensorflow-cpu\n",
    ),
    NearMiss(
        "tf-cpu-only",
        "a Mac of the days when CUDA served it",
        "undetermined",
        "macOS 10.12\nexport DYLD_LIBRARY_PATH=/usr/local/cuda/lib\nThe GPU is not used.\n",
    ),
    NearMiss(
        "gpu-hidden",
        "the variable names the one card that is there",
        "healthy",
        "$ export CUDA_VISIBLE_DEVICES=0\n$ python train.py\n"
        + log("1.12.0", opened("libcublas.so.9.0", "libcudnn.so.7", "libcuda.so.1")),
    ),
    NearMiss(
        "gpu-arch-too-new",
        "a Maxwell card under CUDA 7.5",
        "undetermined",
        "With CUDA 7.5 and TensorFlow 0.10.0 on a GTX 970 the loss is nan from the first step, on the CPU it"
        " is not.\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "a library of the CUDA that is named",
        "library-path",
        "Here it is CUDA 9.0, cuDNN 7.0 and tensorflow-gpu 1.6.0.\n>>> import tensorflow\n"
        "ImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory\n",
    ),
    NearMiss(
        "wsl-driver",
        "a named symbol that is not found on plain Linux",
        "gpu-bad-state",
        "Ubuntu 22.04\n" + log("2.16.1", cuinit("CUDA_ERROR_NOT_FOUND", "named symbol not found")),
    ),
    NearMiss(
        "driver-too-old",
        "a driver between the first release of CUDA 8.0 and its update",
        "undetermined",
        form(system="Ubuntu 16.04", tensorflow="1.2.0", cuda="8.0/5.1", gpu="GTX 970")
        + "\nNVIDIA driver 370.28\nIt does not see the GPU.\n",
    ),
    NearMiss(
        "healthy",
        "the last that is seen of a run is NCCL looking for its network",
        "undetermined",
        log(
            "2.11.0",
            created("Tesla V100-SXM2-16GB", "7.0", 14756),
            loaded_cudnn(8100),
            "node7:88:240 [0] NCCL INFO Bootstrap : Using eth0:10.1.0.7<0>",
            "node7:88:240 [0] NCCL INFO NET/Socket : Using [0]eth0:10.1.0.7<0>",
        ),
    ),
    NearMiss(
        "cuda-missing",
        "NVTX, which another library wants and TensorFlow does not need",
        "undetermined",
        'File "site-packages/torch/__init__.py", line 118, in _load_global_deps\n'
        "OSError: libnvToolsExt.so.1: cannot open shared object file: No such file or directory\n",
    ),
    NearMiss(
        "library-path",
        "the command did not help",
        "undetermined",
        "I tried this and it has not worked:\n\nexport LD_LIBRARY_PATH=/opt/cuda-11.2/lib64\n\nTensorFlow"
        " 2.5, still nothing\n",
    ),
    NearMiss(
        "gpu-arch-too-old",
        "a log that breaks off, and a card that the builds take",
        "undetermined",
        log(
            "2.2.0",
            opened("libcuda.so.1"),
            found("Tesla K80", "3.7"),
            opened("libcudart.so.10.1", "libcublas.so.10"),
        ),
    ),
    NearMiss(
        "gpu-arch-too-old",
        "a bound is no card's capability",
        "undetermined",
        "tensorflow-gpu 1.13.1: compute capability 3.5 is the minimum, I read\nGPU: GeForce GTX 970\n",
    ),
    NearMiss(
        "tf-import-failed",
        "a name that TensorFlow 1 has, asked of TensorFlow 2",
        "tf-api-version",
        "- TensorFlow version: 2.9.0\n\nAttributeError: module 'tensorflow' has no attribute 'placeholder'\n",
    ),
    NearMiss(
        "tf-import-failed",
        "a name of TensorFlow 2, asked of TensorFlow 1",
        "tf-api-version",
        "- TensorFlow version: 1.9.0\n\nAttributeError: module 'tensorflow' has no attribute 'function'\n",
    ),
    NearMiss(
        "gpu-absent",
        "a container that somebody starts, and a word of Colab",
        "container-no-gpu",
        "It works on Colab. Here: docker run -it tensorflow/tensorflow:2.3.0-gpu\n"
        + log(
            "2.3.0",
            opened("libcuda.so.1"),
            cuinit("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
            no_module("4f0c1be2a977"),
        ),
    ),
    NearMiss(
        "driver-too-old",
        "a driver that is in use",
        "undetermined",
        "The CUDA driver version is in the file below\n",
    ),
    NearMiss(
        "tf-cpu-only",
        "another release of the package for the GPU",
        "undetermined",
        "I installed tensorflow-gpu==1.12 and it works now\n",
    ),
    NearMiss(
        "tf-cpu-only",
        "the package for the GPU, which worked for a time",
        "undetermined",
        "I installed the GPU version of tensorflow and it worked for a week, since Monday the GPU is not"
        " used\n",
    ),
    NearMiss("tf-cpu-only", "the same once more", "undetermined", "reinstalling tensorflow-gpu fixed it\n"),
    NearMiss(
        "gpu-absent",
        "a machine that does have one",
        "driver-missing",
        "The machine that this runs on does have a GPU\n" + log("2.4.1", cuinit("UNKNOWN ERROR (303)")),
    ),
)
