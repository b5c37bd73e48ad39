"""Messages and stated facts that distinguish a cause from similar causes."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import (
    NO_DEVICE,
    created,
    cudnn_failed,
    cuinit,
    diagnosed,
    log,
    opened,
    skipped,
    versions,
)

SYMBOL = "undefined symbol: _ZTIN10tensorflow8OpKernelE"
MAPPED = (
    "failed call to cuInit: UNKNOWN ERROR (303)",
    "libcuda reported version is: Not found: was unable to find libcuda.so DSO loaded into this program",
)
REGISTERED_KERNELS = "Registered devices: [{devices}], Registered kernels:\n  device='GPU'; T in [DT_FLOAT]\n"

FIRES = (
    # --- add-ons and ops of one's own
    Fires(
        "tf-addon-mismatch",
        "a symbol of TensorFlow that a library lacks whose name nobody gives",
        f"Importing tensorflow-text ends in {SYMBOL}. CUDA 10.1 from NVIDIA, TensorFlow 2.2.0.\n",
        "_ZTIN10tensorflow8OpKernelE",
        words=("A library that was compiled against TensorFlow",),
    ),
    Fires(
        "tf-addon-mismatch",
        "an op whose kernels are for another GPU",
        "num fg: 17\ncudaCheckError() failed in ROIPoolForward: invalid device function\n",
        "invalid device function",
        says=("-arch=sm_NN",),
    ),
    Fires(
        "tf-addon-mismatch",
        "a plugin for another maker's devices that does not load in a newer TensorFlow",
        "tensorflow.python.framework.errors_impl.NotFoundError:"
        " C:\\Python310\\lib\\site-packages\\tensorflow-plugins\\tfdml_plugin.dll not found\n",
        "tfdml_plugin.dll",
        says=("tensorflow-directml-plugin",),
    ),
    Fires(
        "tf-addon-mismatch",
        "an add-on whose folder is named after TensorFlow, but is not TensorFlow's own",
        "NotFoundError: /opt/py/lib/python3.8/site-packages/tensorflow_gan/core/_ops.so: undefined symbol:"
        " _ZN10tensorflow12OpDefBuilder5InputESs\nTensorFlow 2.1.0\n",
        "undefined symbol",
        words=("_ops.so",),
    ),
    Fires(
        "tf-cpu-only",
        "the DirectML plugin on native Linux, where its library cannot be loaded",
        "Ubuntu\n2023-02-03 04:05:06.123456: W tensorflow/c/logging.cc:37] Could not load dynamic library"
        " 'libdirectml.0123abcd.so'; dlerror: libd3d12.so: cannot open shared object file: No such file or"
        " directory\n2023-02-03 04:05:06.123466: I tensorflow/c/logging.cc:34] DirectML device enumeration:"
        " found 0 compatible adapters.\n",
        "found 0 compatible adapters",
        never=("libd3d12",),
    ),
    Fires(
        "library-broken",
        "glibc's words for a library of another release",
        "/usr/local/cuda/lib64/libcublas.so: symbol free_gemm_select version libcublasLt.so.11 not defined in"
        " file libcublasLt.so.11 with link time reference\n",
        "free_gemm_select",
    ),
    # --- installers
    Fires(
        "tf-no-wheel",
        "setuptools finds nothing to download",
        "Searching for tensorflow-gpu==1.4.0\nNo local packages or working download links found for"
        " tensorflow-gpu==1.4.0\nPython 3.9.1\n",
        "No local packages",
    ),
    Fires(
        "tf-no-wheel",
        "easy_install's last word",
        "error: Could not find suitable distribution for Requirement.parse('tensorflow==1.15.0')\nPython"
        " 3.9.1\n",
        "Could not find suitable distribution",
    ),
    Fires(
        "tf-no-wheel",
        "poetry's resolver",
        "Because myproject depends on tensorflow-gpu (^1.15) which doesn't match any versions, version"
        " solving"
        " failed.\n",
        "which doesn't match any versions",
    ),
    Fires(
        "tf-no-wheel",
        "uv's resolver",
        "  Because there is no version of tensorflow==1.15.5 and you require tensorflow==1.15.5, we can"
        " conclude"
        " that your requirements are unsatisfiable.\n",
        "there is no version of",
    ),
    Fires(
        "tf-no-wheel",
        "pipenv says no more than that it failed, and no wheel is for this Python",
        "An error occurred while installing tensorflow-gpu==1.10.1 --hash=sha256:2872b24f8c86! Will try"
        ' again.\n  File "/usr/lib/python3.7/site-packages/pipenv/core.py", line 1874, in do_install\n',
        "python3.7",
    ),
    Fires(
        "tf-no-wheel",
        "an archive of the C library that was never made",
        "<Code>NoSuchKey</Code><Details>No such object:"
        " tensorflow/libtensorflow/libtensorflow-gpu-windows-x86_64-2.11.0.zip</Details>\n",
        "NoSuchKey",
    ),
    Fires(
        "tf-not-installed",
        "R finds no Keras in its Python, in a container that has the GPU",
        "> mnist <- dataset_mnist()\nError: Error loading Python module keras\n",
        "Error loading Python module",
    ),
    # --- the import
    Fires(
        "driver-missing",
        "the frame of the check before the import names the driver's DLL",
        "     61         try:\n---> 62           ctypes.WinDLL(build_info.nvcuda_dll_name)\n     63        "
        " except OSError:\n\nOSError: [WinError 126] The specified module could not be found\n",
        "nvcuda_dll_name",
    ),
    Fires(
        "cpu-no-avx",
        "a processor from before AVX, and a DLL that does not load",
        "ImportError: DLL load failed: A dynamic link library (DLL) initialization routine failed.\nThe"
        " processor is an Intel Core 2 Quad Q8400, Windows 10.\n",
        "Core 2 Quad",
    ),
    Fires(
        "cpu-no-avx",
        "a Pentium without AVX, by its model number",
        "tensorflow-gpu 1.6.0 on a Pentium G4560: the import ends without a message\n>>> import tensorflow\n"
        "Illegal instruction (core dumped)\n",
        "core dumped",
    ),
    Fires(
        "tf-import-failed",
        "a file of that name in the folder in which Python was started",
        'Traceback (most recent call last):\n  File "<stdin>", line 1, in <module>\n  File "tensorflow.py",'
        " line"
        " 2, in <module>\n    mnist = tf.keras\n",
        "tensorflow.py",
    ),
    # --- the driver
    Fires(
        "driver-libcuda-missing",
        "nvidia-smi answers, and TensorFlow's diagnosis finds no libcuda",
        log("1.7.0", cuinit("UNKNOWN_ERROR_303"), diagnosed(MAPPED[1])) + "nvidia-smi shows my GPU.\n",
        "was unable to find libcuda.so",
    ),
    Fires(
        "driver-library-mismatch",
        "somebody compares the two versions in a sentence",
        "libcuda says 384.111.0 while the loaded kernel module is still 384.90 after the update.\n",
        "384.111.0",
        words=("384.90",),
    ),
    Fires(
        "driver-not-loaded",
        "nvidia-docker cannot load a module of a driver that does not run",
        "nvidia-container-cli: initialization error: driver error: failed to process request\n\nand before"
        " that:\nError: Could not load UVM kernel module.\n",
        "failed to process request",
    ),
    Fires(
        "device-permission",
        "LXC, which is given its device files by hand",
        "In an lxc container:\n" + log("2.4.0", cuinit("CUDA_ERROR_UNKNOWN", "unknown error")),
        "lxc",
        says=("nvidia-modprobe",),
    ),
    Fires(
        "cuda-compat-package",
        "error 804 in what is only called a docker worker",
        "The docker worker stops with Error 804: forward compatibility was attempted on non supported HW\n",
        "804",
    ),
    # --- the GPU
    Fires(
        "gpu-hidden",
        "Windows opens the driver's DLL, which comes with a card, and is shown none",
        "Training does not find the card of my desktop, and I do not know why.\n"
        + log("2.3.0", opened("nvcuda.dll"), cuinit("CUDA_ERROR_NO_DEVICE", NO_DEVICE), windows=True),
        "CUDA_ERROR_NO_DEVICE",
    ),
    Fires(
        "gpu-hidden",
        "a Singularity container with the driver in it, whose job shows no device",
        'sbatch --gres=gpu:1 --wrap="singularity run --nv tool.sif train"\n-> CUDA_ERROR_NO_DEVICE: no'
        " CUDA-capable device is detected\n",
        "-> CUDA_ERROR_NO_DEVICE",
    ),
    Fires(
        "gpu-absent",
        "Intel's graphics alone, on which CUDA fails",
        "GPU is Intel (R) UHD Graphics 620.\n" + log("1.14.0", cuinit("CUDA_ERROR_UNKNOWN", "unknown error")),
        "UHD Graphics 620",
    ),
    Fires(
        "gpu-absent", "a Mac with Apple's processor", "How do I use the GPU of my Mac M1 for it?\n", "Mac M1"
    ),
    Fires(
        "gpu-absent",
        "a workstation card of AMD, and work that was done",
        "Mac Pro, 2x AMD FirePro D300, 6% at most.\n469/469 [==============================] - 170s"
        " 355ms/step\n",
        "FirePro D300",
    ),
    Fires(
        "gpu-arch-too-old",
        "an image that is invalid on a card that nobody names",
        "RuntimeError: CUDA runtime implicit initialization on GPU:0 failed. Status: device kernel image is"
        " invalid\n",
        "device kernel image is invalid",
    ),
    Fires(
        "gpu-arch-too-new",
        "a card whose owner writes GTX for RTX",
        "Windows 10, tensorflow-gpu 2.3.0, CUDA 10.1, GTX 3080. The loss is NaN.\n",
        "GTX 3080",
    ),
    Fires(
        "gpu-arch-too-new",
        "a series by its number, in Chinese",
        "我是40系的显卡，tensorflow-gpu==2.2.0，loss是nan\n",
        "40系",
    ),
    Fires(
        "gpu-arch-too-new",
        "a card by its number alone, in Chinese",
        "电脑是4090，tensorflow-gpu==2.2.0，CUDA 10.1，第二步就nan loss\n",
        "4090",
    ),
    Fires(
        "xla-toolchain-missing",
        "a ptxas that is older than the card, whose work the driver does",
        "Your CUDA software stack is old. We fallback to the NVIDIA driver for some compilation. The ptxas"
        " error"
        " was: ptxas fatal   : Value 'sm_86' is not defined for option 'gpu-name'\n",
        "software stack is old",
    ),
    Fires(
        "xla-toolchain-missing",
        "ptxas fails in XLA's compiler",
        "ptxas returned an error during compilation of ptx to sass: 'INTERNAL'\n",
        "ptx to sass",
    ),
    # --- placement
    Fires(
        "cuda-missing",
        "Keras counts XLA_GPU devices alone",
        "ValueError: To call `multi_gpu_model` with `gpus=4`, we expect the following devices to be"
        " available:"
        " ['/cpu:0', '/gpu:0', '/gpu:1']. However this machine only has: ['/cpu:0', '/xla_gpu:0',"
        " '/xla_gpu:1'].\n",
        "xla_gpu:0",
        words=("XLA_GPU is listed, but GPU is not",),
    ),
    Fires(
        "device-not-found",
        "an op that has kernels for the GPU only, in a process without one",
        "No OpKernel was registered to support Op 'ActiveShift2DOp' with these attrs.  "
        + REGISTERED_KERNELS.format(devices="CPU"),
        "ActiveShift2DOp",
    ),
    Fires(
        "device-not-found",
        "a message that was cut off before its reason",
        "Cannot assign a device to node 'encoder/Max': Could not satisfy explicit device specification\n",
        "Could not satisfy explicit",
        words=("cut off",),
    ),
    Fires(
        "op-no-gpu-kernel",
        "an op of TensorRT that was placed on the CPU",
        "Cannot assign a device for operation 'TRTEngineOp': Could not satisfy explicit device specification"
        " ''"
        " because no supported kernel for CPU devices is available.\n",
        "TRTEngineOp",
        words=("has no CPU kernel for it",),
    ),
    Fires(
        "ptx-jit-or-kernel-crash",
        "a count with NVIDIA's CUB that could not start",
        "InternalError: WhereOp: Could not launch cub::DeviceReduce::Sum to count number of true / nonzero"
        " indices.  temp_storage_bytes: 5887, status: invalid resource handle\n",
        "WhereOp",
    ),
    # --- memory
    Fires(
        "model-oom",
        "faceswap's words for a lack of memory",
        "You do not have enough GPU memory available to train the selected model at the selected settings.\n",
        "enough GPU memory",
    ),
    Fires(
        "gpu-memory-held",
        "GPUtil finds no GPU that is half free",
        "W:[server.py:85]:only 0 GPU(s) is available, but ask for 4\n",
        "only 0 GPU(s)",
    ),
    # --- Python
    Fires(
        "python-dependency-conflict",
        "pandas, whose compiled part does not load",
        "ImportError: C extension: None not built. If you want to import pandas from the source directory\n",
        "C extension",
    ),
    Fires(
        "tf-api-version",
        "a name that TensorFlow 2 does not have, in somebody's words",
        "On Colab with 2.8 it fails because tensorflow has no set_random_seed there.\n",
        "set_random_seed",
    ),
    # --- what a listing or a program shows
    Fires(
        "driver-missing",
        "lshw lists a card that no driver has claimed",
        "  *-display UNCLAIMED\n       description: 3D controller\n"
        "       product: GP107M [GeForce GTX 1050]\n       vendor: NVIDIA Corporation\nIt is slow. Why?\n",
        "UNCLAIMED",
    ),
    Fires(
        "gpu-arch-too-new",
        "the build has no code for an old board, as its message says",
        "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 5.3. CUDA"
        " kernels will be jit-compiled from PTX, which could take 30 minutes or longer.\n",
        "compatible with compute capability 5.3",
    ),
    Fires(
        "cudnn-missing",
        "the configuration of the sources finds no cuDNN",
        "Invalid path to cuDNN 6 toolkit. None of the following files can be found:\n"
        "/usr/local/cuda-8.0/lib64/libcudnn.so.6\n",
        "Invalid path to cuDNN",
    ),
    Fires(
        "library-path",
        "the toolkit fits, and TensorFlow names no library",
        versions("2.18.1")
        + "\n"
        + log("2.18.1", skipped)
        + "Cuda compilation tools, release 12.5, V12.5.40\n",
        "release 12.5",
    ),
    Fires(
        "gpu-absent",
        "CUDA calls the driver insufficient on a machine without a card",
        "There is no nvida card in my machine.\n"
        "CUDA driver version is insufficient for CUDA runtime version\n",
        "no nvida card",
    ),
    Fires(
        "library-path",
        "the stated CUDA contains the library that does not load",
        "CUDA 10.0 and TensorFlow 1.15 are installed.\nImportError: Could not find 'cudart64_100.dll'.\n",
        "CUDA 10.0",
    ),
    Fires(
        "cuda-version-mismatch",
        "a file of another release is in the folder",
        "Could not load dynamic library 'cudart64_101.dll'; dlerror: cudart64_101.dll not found\n"
        "The bin folder of the toolkit has a file cudart64_102.dll.\n",
        "cudart64_102.dll",
    ),
    Fires(
        "cuda-version-mismatch",
        "the library of an old CUDA on a Mac with a newer one",
        "ImportError: dlopen(_pywrap_tensorflow.so, 10): Library not loaded: @rpath/libcudart.7.5.dylib\n"
        "I have CUDA 8.0 installed.\n",
        "CUDA 8.0",
    ),
    Fires(
        "gpu-memory-held",
        "the free memory stands on the line of the total",
        "name: Tesla K80 Total memory: 11.17GiB Free memory: 437.38MiB\n"
        "ResourceExhaustedError: OOM when allocating tensor with shape[32,3,224,224]\n",
        "Free memory: 437.38MiB",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "tf-addon-mismatch",
        "TensorFlow's own library lacks the symbol",
        "tf-conflicting-packages",
        "ImportError: /usr/lib/python3/dist-packages/tensorflow/python/_pywrap_tensorflow_internal.so:"
        " undefined symbol: _ZN10tensorflow7functor\n",
    ),
    NearMiss(
        "device-not-found",
        "no GPU at all is among the devices, so that their number is not at fault",
        "cuda-missing",
        "To call `multi_gpu_model` with `gpus=2`, we expect the following devices to be available: ['/cpu:0',"
        " '/gpu:0', '/gpu:1']. However this machine only has: ['/cpu:0', '/xla_gpu:0'].\n",
    ),
    NearMiss(
        "cpu-no-avx",
        "an old processor, and an installation that no instruction stops",
        "tf-no-wheel",
        "Intel Core 2 Duo E8400\nERROR: Could not find a version that satisfies the requirement tensorflow"
        " (from versions: none)\nPython 3.13.0\n",
    ),
    NearMiss(
        "gpu-absent",
        "Intel's graphics beside NVIDIA's",
        "cuda-missing",
        "Intel(R) UHD Graphics 630 and a GeForce GTX 1650\nW dso_loader.cc:64] Could not load dynamic library"
        " 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file\n",
    ),
    NearMiss(
        "gpu-arch-too-new",
        "a series that is named as a bound",
        "undetermined",
        "cuda10只能在RTX20系及以下跑，tensorflow-gpu==1.12.0\n",
    ),
    NearMiss(
        "cuda-compat-package",
        "error 804 on a host, after an upgrade of the driver",
        "driver-library-mismatch",
        "After the update of my driver: Error 804: forward compatibility was attempted on non supported HW\n",
    ),
    NearMiss(
        "container-no-gpu",
        "libcuda answers inside the container",
        "gpu-hidden",
        "singularity exec --nv tool.sif python train.py\n"
        + log("2.11.0", cuinit("CUDA_ERROR_NO_DEVICE", NO_DEVICE)),
    ),
    NearMiss(
        "driver-missing",
        "the host has a driver, and the tool's own container was started without the GPU",
        "container-no-gpu",
        "I start the program with its docker image. The NVIDIA driver 535.104.05 is installed, but the GPU"
        " (RTX A4000) is not used.\n2023-10-11 09:15:01.100000: W tensorflow/compiler/xla/stream_executor/"
        "platform/default/dso_loader.cc:64] Could not load dynamic library 'libcuda.so.1'; dlerror:"
        " libcuda.so.1: cannot open shared object file: No such file or directory\n",
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "another process left the first of two cards almost no memory",
        "gpu-memory-held",
        log("2.9.1", created("Tesla P100-PCIE-16GB", "6.0", 203))
        + log("2.9.1", created("Tesla P100-PCIE-16GB", "6.0", 15405, index=1, physical=1, bus="0000:02:00.0"))
        + "Node: 'model/conv1d/Conv1D'\nDNN library is not found.\n",
    ),
    NearMiss(
        "undetermined",
        "a process asks for the GPU of its rank",
        "device-not-found",
        '  File "bench.py", line 62, in <module>\n'
        "    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')\n"
        "IndexError: list index out of range\n",
    ),
    NearMiss(
        "model-oom",
        "a hint about the host's memory, retold",
        "benign-messages",
        "On a server with 64 GB the cpu_allocator prints that the allocation exceeds 10% of memory.\n",
    ),
    NearMiss(
        "container-no-gpu",
        "a container on a machine that has only a CPU",
        "gpu-absent",
        "In a docker container on a machine with **CPU** only the output is\n"
        + log(
            "2.2.0",
            "Could not load dynamic library 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared"
            " object file: No such file or directory",
        ),
    ),
    NearMiss(
        "tf-windows-native",
        "a Linux image under Docker Desktop",
        "gpu-arch-too-new",
        "RTX 5080 Laptop (compute capability 12.0)\nOS: Windows 11 (Docker Desktop)\nContainer base:"
        " `nvcr.io/nvidia/tensorflow:25.02-tf2-py3`\nTensorFlow: `2.17.0+nv25.2`\nInference on the GPU fails:"
        " CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel failed. The card is newer than the build.\n",
    ),
    NearMiss(
        "gpu-memory-held",
        "an instance of a divided GPU has only its own memory",
        "cudnn-init-oom",
        log(
            "2.10.1",
            created("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0", 4384),
            cudnn_failed("CUDNN_STATUS_ALLOC_FAILED"),
        ),
    ),
)
