"""Cases about the CUDA and cuDNN libraries and XLA's tools."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import (
    cpu_features,
    created,
    cudnn_failed,
    form,
    found,
    ignore_cudart,
    log,
    logged,
    no_cuda_drivers,
    numa,
    opened,
    refused,
    skipped,
    versions,
)

TEN = (
    "libcudart.so.10.0",
    "libcublas.so.10.0",
    "libcufft.so.10.0",
    "libcurand.so.10.0",
    "libcusolver.so.10.0",
    "libcusparse.so.10.0",
)
CUDNN = "stream_executor/cuda/cuda_dnn.cc"

FIRES = (
    Fires(
        "cuda-version-mismatch",
        "conda's CUDA libraries, beside a TensorFlow from pip that has the extra and-cuda",
        'conda list | grep -E "tensorflow|cud"\n'
        "cudatoolkit               11.8.0               h6a678d5_0\n"
        "cudnn                     8.9.2.26               cuda11_0\n"
        "tensorflow                2.15.0          pypi_0    pypi\n"
        "2024-05-02 11:03:17.482911: W tensorflow/core/common_runtime/gpu/gpu_device.cc:2256] Cannot dlopen"
        " some GPU libraries. Please make sure the missing libraries mentioned above are installed properly"
        " if you would like to use GPU.\nSkipping registering GPU devices...\n[]\n",
        "cudatoolkit  ",
    ),
    Fires(
        "cudnn-version-mismatch",
        "no cuDNN for an op, and the line that says why is not pasted",
        "It worked until yesterday, on Colab.\n\nNode: 'model_1/Conv1/Conv2D'\nDNN library is not found.\n"
        "\t [[{{node model_1/Conv1/Conv2D}}]] [Op:__inference_train_function_63390]\n",
        "DNN library is not found.",
    ),
    Fires(
        "cuda-missing",
        "libraries that did not open, of a release that names them above what was pasted",
        log("2.8.0", cpu_features) + "Skipping registering GPU devices...\n",
        "Skipping registering",
        words=("the lines before the message",),
    ),
    Fires(
        "cudnn-version-mismatch",
        "a cuDNN that has dropped Pascal, and XLA that finds nothing to run",
        log(
            "2.20.0",
            created("Tesla P40", "6.1", 21000),
            "I0000 00:00:1761030000.101010    4711 cuda_dnn.cc:529] Loaded cuDNN version 91400",
            "INTERNAL: Autotuning failed for HLO: %cudnn-conv.4 = (f32[8,16,32,32], u8[0]) custom-call(%a,"
            " %b) with error: NOT_FOUND: No valid config found!",
        ),
        "Loaded cuDNN version 91400",
        says=("nvidia-cudnn-cu12==9.10.2.21",),
        words=("compute capability 6.1",),
    ),
    Fires(
        "cudnn-version-mismatch",
        "a cuDNN that has dropped Pascal, and says itself that the card is not its own",
        "Ubuntu 22.04, TensorFlow 2.19.0, cuDNN 9.14.0, NVIDIA GeForce GTX 1080\nE0000"
        " 00:00:1761030000.101010    4711 cuda_dnn.cc:522] Could not create cudnn handle:"
        " CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH\n",
        "cuDNN 9.14.0",
        says=("nvidia-cudnn-cu12==9.10.2.21",),
        words=("compute capability 6.1",),
    ),
    Fires(
        "cudnn-version-mismatch",
        "the same on Volta in the words of 2.21, where a newer cuDNN is no cure",
        log(
            "2.21.0",
            created("Tesla V100-PCIE-16GB", "7.0", 14500),
            "I0000 00:00:1761030000.101010    4711 cuda_dnn.cc:529] Loaded cuDNN version 92000",
            "INTERNAL: Autotuner could not find any supported configs for HLO: %cudnn-conv-bias-activation.5",
        ),
        "Loaded cuDNN version 92000",
        says=("nvidia-cudnn-cu12==9.10.2.21",),
        words=("compute capability 7.0",),
    ),
    Fires(
        "cudnn-version-mismatch",
        "a newer cuDNN than the card is served by, in a form, and convolutions that fail",
        "- TensorFlow version: 2.19.0\n- CUDA/cuDNN version: 12.5 / 9.14.0\n- GPU model: GTX 1080 Ti\n\n"
        "tensorflow.python.framework.errors_impl.NotFoundError: No algorithm worked!  Error messages: none\n",
        "9.14.0",
    ),
    Fires(
        "cuda-version-mismatch",
        "CUDA 10.0 in the form, and the file of 10.1",
        "- OS Platform: Windows 10\n- TensorFlow version: 2.1.0\n- CUDA/cuDNN version: 10.0\n\n"
        "Could not load dynamic library 'cudart64_101.dll'; dlerror: cudart64_101.dll not found\n",
        "10.0",
    ),
    Fires(
        "library-path",
        "the very CUDA of the file stands in a list",
        "- Windows 10\n- tensorflow-gpu 2.2.0\n- Python 3.8.3\n- CUDA version 10.1 (update2)\n\nCould not"
        " load dynamic library 'cudart64_101.dll'\n",
        "cudart64_101.dll",
    ),
    Fires(
        "cuda-version-mismatch",
        "a reader's words for the message, beside another CUDA in the form",
        "- Windows 10\n- TensorFlow version: 2.1.0\n- CUDA/cuDNN version: 10.2 / 7.6\n- GPU: GTX 1050\ncannot"
        " opened dynamic library cudart64_101.dll\n",
        "cudart64_101.dll",
    ),
    Fires(
        "cuda-missing",
        "a library that is not found, in Spanish",
        "Al importar tensorflow dice que no se encuentra cublas64_11.dll\n",
        "cublas64_11",
    ),
    Fires(
        "cuda-missing",
        "the same in Korean",
        "tensorflow 실행하면 cudart64_101.dll을 찾을 수 없다고 나옵니다\n",
        "cudart64_101",
    ),
    Fires(
        "cudnn-missing",
        "cuDNN, in German",
        "Beim Start von TensorFlow: cudnn64_8.dll fehlt\n",
        "cudnn64_8",
    ),
    Fires(
        "cuda-version-mismatch",
        "a release whose files are named after it",
        "- CUDA: 8.0\n- cuDNN: 5.1\nImportError: libcudart.so.7.5: cannot open shared object file: No such"
        " file or directory\n",
        "libcudart.so.7.5",
        words=("8.0",),
    ),
    Fires(
        "cuda-version-mismatch",
        "in a sentence, without a log",
        "Found it: TensorFlow 2.3 does not work with CUDA 11, so the GPU list stayed empty\n",
        "does not work with CUDA 11",
    ),
    Fires(
        "cuda-version-mismatch",
        "another CUDA that helped",
        "My GTX 1070 was ignored. I downgraded CUDA from 10.2 to 10.1 and now it is detected\n",
        "downgraded",
    ),
    Fires(
        "cuda-version-mismatch",
        "the same in Chinese",
        "tensorflow-gpu一直用不了，CUDA 10.2降到10.1之后就好了\n",
        "10.2降到",
    ),
    Fires(
        "cudnn-version-mismatch",
        "in a sentence, without a log",
        "In my case it was a mismatch between the CUDA and cuDNN versions\n",
        "mismatch",
    ),
    # --- cuda-version-mismatch
    Fires(
        "cuda-version-mismatch",
        "TensorFlow 2.3 on a machine with CUDA 11.0",
        log(
            "2.3.1",
            form(system="Ubuntu 18.04", tensorflow="2.3.1", python="3.7", cuda="11.0/8", gpu="GTX 1080"),
            refused("libcudart.so.10.1", path="/usr/local/cuda-11.0/lib64"),
            ignore_cudart,
            opened("libcuda.so.1"),
            skipped,
        ),
        "'libcudart.so.10.1'",
        says=("cudatoolkit=10.1",),
        never=("[and-cuda]",),
        words=("10.1", "11.0"),
    ),
    Fires(
        "cuda-version-mismatch",
        "TensorFlow 1.12 linked to CUDA 9.0 and a machine with 10.0",
        versions("1.12.0", "3.6.7")
        + "\nImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory\n"
        + "Failed to load the native TensorFlow runtime.\n$ nvcc --version\nCuda compilation tools, release"
        " 10.0, V10.0.130\n",
        "ImportError: libcublas.so.9.0",
        never=("[and-cuda]",),
        words=("9.0",),
    ),
    Fires(
        "cuda-version-mismatch",
        "Windows and TensorFlow 2.4 with the DLLs of CUDA 11.2 only in part",
        log(
            "2.4.0",
            form(system="Windows 10", tensorflow="2.4.0", python="3.8", cuda="CUDA 10.1, cuDNN 7.6"),
            refused("cudart64_110.dll"),
            ignore_cudart,
            opened("nvcuda.dll"),
            found("GeForce GTX 1650", "7.5"),
            refused("cublas64_11.dll"),
            skipped,
            windows=True,
        ),
        "'cudart64_110.dll'",
        never=("[and-cuda]", "export ", "ldconfig"),
    ),
    Fires(
        "cuda-version-mismatch",
        "the distribution's package, as the reporter tells it",
        "on Arch the CUDA package is the newest, 9.1.85\nImportError: libcublas.so.9.0: cannot open shared"
        " object file: No such file or directory\n",
        "libcublas.so.9.0",
        words=("CUDA 9.1",),
    ),
    Fires(
        "cuda-version-mismatch",
        "no log, only the two versions and an idle GPU",
        "tensorflow-gpu==2.3.1 with CUDA 9.2 does not use my GPU at all, any idea?\n",
        "CUDA 9.2",
        words=("has no log that shows",),
    ),
    Fires(
        "cuda-version-mismatch",
        "the good run after the cure stands above the error",
        log("1.5.0", created("GeForce GTX 1060", "6.1", 4712))
        + "\nBefore that it was: ImportError: Could not find 'cudart64_90.dll'. TensorFlow requires that this"
        " DLL be installed in a directory that is named in your %PATH% environment variable.\nand in the"
        " bin folder was cudart64_92.dll, of CUDA 9.2\n",
        "Could not find 'cudart64_90.dll'",
    ),
    # --- cudnn-version-mismatch
    Fires(
        "cudnn-version-mismatch",
        "another cuDNN helped, and nothing else is stated",
        "solved: cudnn 6.0 was on my PC, tensorflow 1.2 with cudnn 5.1 works\n",
        "cudnn 6.0",
    ),
    Fires(
        "cudnn-version-mismatch",
        "TensorFlow 2.11 loads an older cuDNN",
        log(
            "2.11.0",
            versions("2.11.0", "3.9.16"),
            created("NVIDIA GeForce RTX 3060", "8.6", 9800),
            logged(
                "E",
                CUDNN,
                "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.  CuDNN library"
                " needs to have matching major version and equal or higher minor version. If using a binary"
                " install, upgrade your CuDNN library.",
            ),
            "Node: 'model/conv1/Conv2D'\nDNN library is not found.\n\t [[{{node model/conv1/Conv2D}}]]",
        ),
        "Loaded runtime CuDNN library",
        words=("8.0.5", "8.1.0"),
        says=("ldconfig -p | grep libcudnn",),
        never=("allow_growth", "set_memory_growth"),
    ),
    Fires(
        "cudnn-version-mismatch",
        "TensorFlow 0.12 with packed numbers",
        log(
            "0.12.1",
            opened("libcudnn.so.5"),
            logged(
                "E",
                CUDNN,
                "Loaded runtime CuDNN library: 5005 (compatibility version 5000) but source was compiled with"
                " 5105 (compatibility version 5100).  If using a binary install, upgrade your CuDNN library"
                " to match.",
            ),
        ),
        "source was compiled with 5105",
        words=("5.0.5", "5.1.5"),
    ),
    Fires(
        "cudnn-version-mismatch",
        "libcudnn.so.7 wanted, cuDNN 8 on disk",
        log(
            "2.3.0",
            opened("libcudart.so.10.1", "libcublas.so.10"),
            refused("libcudnn.so.7"),
            skipped,
            "$ ls /usr/lib/x86_64-linux-gnu | grep cudnn",
            "/usr/lib/x86_64-linux-gnu/libcudnn.so.8.0.4",
        ),
        "'libcudnn.so.7'",
        words=("cuDNN 7",),
    ),
    Fires(
        "cudnn-version-mismatch",
        "a function that an old TensorFlow calls and this cuDNN lacks",
        "F tensorflow/stream_executor/cuda/cuda_dnn.cc:204] could not find cudnnGetFilterNdDescriptor_v3 in"
        " cudnn DSO; dlerror: /usr/local/lib/python2.7/dist-packages/tensorflow/python/_pywrap_tensorflow.so:"
        " undefined symbol: cudnnGetFilterNdDescriptor_v3\n",
        "in cudnn DSO",
        words=("cudnnGetFilterNdDescriptor_v3",),
    ),
    # --- library-broken
    Fires(
        "library-broken",
        "cuDNN 8 on Windows without zlib",
        log(
            "2.10.0",
            created("NVIDIA GeForce RTX 3050", "8.6", 5472),
            "Could not locate zlibwapi.dll. Please make sure it is in your library path!",
            windows=True,
        ),
        "zlibwapi.dll",
        says=("zlibwapi.dll",),
        never=("[and-cuda]",),
    ),
    Fires(
        "library-broken",
        "a part of cuDNN with one of its dependencies missing, after the device was made",
        log(
            "2.8.0",
            created("NVIDIA GeForce RTX 3050", "8.6", 5472),
            "Could not load library cudnn_cnn_infer64_8.dll. Error code 126",
            "Please make sure cudnn_cnn_infer64_8.dll is in your library path!",
            windows=True,
        ),
        "Error code 126",
    ),
    Fires(
        "library-broken",
        "a download that was cut short",
        log(
            "2.4.0",
            opened("libcudart.so.11.0"),
            refused("libcusolver.so.10", error="/opt/cuda/lib64/libcusolver.so.10: file too short"),
            skipped,
        ),
        "file too short",
    ),
    Fires(
        "library-broken",
        "libcusolver that misses libnvJitLink",
        log(
            "2.11.0",
            opened("libcudart.so.11.0"),
            refused(
                "libcusolver.so.11",
                error="libnvJitLink.so.12: cannot open shared object file: No such file or directory",
            ),
            skipped,
        ),
        "libnvJitLink.so.12",
        words=("libnvJitLink.so.12",),
    ),
    Fires(
        "library-broken",
        "a part of cuDNN, and a TensorFlow for CUDA 11",
        "TensorFlow 2.9.1 on Ubuntu 20.04\nCould not load library libcudnn_cnn_train.so.8. Error:"
        " /opt/cudnn/libcudnn_cnn_train.so.8: file too short\n",
        "file too short",
        says=("--force-reinstall nvidia-cudnn-cu11==8.",),
        never=("cu12",),
        words=("libcudnn_cnn_train.so.8 is found",),
    ),
    Fires(
        "library-broken",
        "a file that is cut off, and nothing shows which release of its package is installed",
        "Ubuntu 22.04\nCould not load library libcudnn_ops_infer.so.8. Error:"
        " /opt/cudnn/libcudnn_ops_infer.so.8: file too short\n",
        "file too short",
        says=("in the same version: `pip show nvidia-cudnn-cu1", "==VERSION"),
    ),
    # --- library-path
    Fires(
        "library-path",
        "the file is on disk and no folder of it is searched",
        log(
            "2.6.0",
            opened("libcuda.so.1"),
            refused("libcudart.so.11.0", path="/usr/lib/mpi/lib"),
            skipped,
            "$ find / -name 'libcudart.so.11*'",
            "/opt/nvidia/cuda-11.2/lib64/libcudart.so.11.0",
        ),
        "'libcudart.so.11.0'",
        says=('export LD_LIBRARY_PATH="/opt/nvidia/cuda-11.2/lib64',),
    ),
    Fires(
        "library-path",
        "TensorFlow 2.16.1 does not search pip's folders",
        log(
            "2.16.1",
            "$ pip install tensorflow[and-cuda]==2.16.1",
            form(system="Ubuntu 22.04", tensorflow="2.16.1", python="3.11", gpu="RTX 3090"),
            numa,
            skipped,
        ),
        "Cannot dlopen some GPU libraries",
        says=("os.symlink", "tensorflow[and-cuda]==2.16.2"),
    ),
    Fires(
        "library-path",
        "pip brought the libraries, and one that is not named does not open",
        log(
            "2.18.0",
            '$ poetry add "tensorflow[and-cuda]"',
            form(system="Fedora 41", tensorflow="2.18.0", python="3.12"),
            skipped,
        ),
        "Cannot dlopen some GPU libraries",
        words=("pip installed",),
    ),
    Fires(
        "library-path",
        "it works in a terminal and not in the IDE, on Windows",
        log(
            "2.5.0",
            form(system="Windows 10", tensorflow="2.5.0", python="3.8", cuda="11.2"),
            "In a terminal it works fine, in PyCharm I get:",
            refused("cudart64_110.dll"),
            ignore_cudart,
            windows=True,
        ),
        "'cudart64_110.dll'",
        never=("export ", "ldconfig", "[and-cuda]"),
        words=("terminal",),
    ),
    Fires(
        "library-path",
        "the advice right below the error",
        "q: ImportError: libcufft.so.9.0: cannot open shared object file: No such file or directory\na: put"
        " this into .bashrc\nexport LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/opt/cuda/lib64\n",
        "libcufft.so.9.0",
        says=("LD_LIBRARY_PATH",),
    ),
    # --- cuda-missing
    Fires(
        "cuda-missing",
        "TensorFlow 2.15 in a fresh environment on Linux",
        log(
            "2.15.0",
            form(system="Ubuntu 22.04", tensorflow="2.15.0", python="3.10", gpu="RTX 3060"),
            no_cuda_drivers,
            found("NVIDIA GeForce RTX 3060", "8.6"),
            skipped,
        ),
        "Cannot dlopen some GPU libraries",
        says=("TF_CPP_VMODULE=dso_loader=1", "tensorflow[and-cuda]==2.15.1"),
        never=("tensorflow-gpu", "[and-cuda]==2.15.0"),
        verify="list_physical_devices",
    ),
    Fires(
        "cuda-missing",
        "TensorFlow 2.4 with no CUDA at all",
        log(
            "2.4.1",
            form(system="Linux Mint 20", tensorflow="2.4.1", python="3.8", gpu="GTX 1660 Ti"),
            refused("libcudart.so.11.0"),
            ignore_cudart,
            opened("libcuda.so.1"),
            refused(
                "libcublas.so.11",
                "libcublasLt.so.11",
                "libcufft.so.10",
                "libcusolver.so.10",
                "libcusparse.so.11",
                "libcudnn.so.8",
            ),
            skipped,
        ),
        "'libcudart.so.11.0'",
        says=("cudatoolkit=11.0",),
        never=("[and-cuda]",),
    ),
    Fires(
        "cuda-missing",
        "Windows and TensorFlow 1.13's own check",
        form(system="Windows 10", tensorflow="1.13.1", python="3.6")
        + "\nImportError: Could not find 'cudart64_100.dll'. TensorFlow requires that this DLL be installed"
        " in a directory that is named in your %PATH% environment variable. Download and install CUDA 10.0"
        " from this URL: https://developer.nvidia.com/cuda-10.0-download-archive\n",
        "Could not find 'cudart64_100.dll'",
        says=("CUDA Toolkit 10.0",),
        never=("[and-cuda]", "LD_LIBRARY_PATH"),
        verify="python -c",
    ),
    # --- cudnn-missing
    Fires(
        "cudnn-missing",
        "CUDA 11.2 from the toolkit, no cuDNN",
        log(
            "2.7.0",
            versions("2.7.0", "3.9.7"),
            opened(
                "libcudart.so.11.0", "libcuda.so.1", "libcublas.so.11", "libcublasLt.so.11", "libcufft.so.10"
            ),
            refused("libcudnn.so.8"),
            skipped,
        ),
        "'libcudnn.so.8'",
        says=("cuDNN 8",),
        words=("libcudnn.so.8",),
    ),
    Fires(
        "cudnn-missing",
        "TensorFlow 1.0 on Windows",
        log("1.0.1", opened("cublas64_80.dll"), refused("cudnn64_5.dll", path="C:\\cuda\\bin"), windows=True),
        "cudnn64_5.dll",
        never=("ldconfig",),
    ),
    Fires(
        "cudnn-version-mismatch",
        "cuDNN does not start, and the log says that the memory is free",
        log(
            "2.17.0",
            created("NVIDIA A10", "8.6", 20800),
            cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"),
            logged(
                "E",
                "stream_executor/cuda/cuda_dnn.cc",
                "Memory usage: 23353098240 bytes free, 23696637952 bytes total.",
            ),
            "tensorflow.python.framework.errors_impl.FailedPreconditionError: DNN library initialization"
            " failed. Look at the errors above for more details.",
        ),
        "bytes free",
        words=("21.7 of the GPU's 22.1 GiB were free",),
    ),
    # --- xla-toolchain-missing
    Fires(
        "xla-toolchain-missing",
        "libdevice under conda",
        log(
            "2.11.0",
            "(tf) mira@bench:~$ conda activate tf",
            created("NVIDIA A10", "8.6", 20000),
            logged(
                "W",
                "compiler/xla/service/gpu/llvm_gpu_backend/gpu_backend_lib.cc",
                "libdevice is required by this HLO module but was not found at ./libdevice.10.bc",
            ),
            "error: libdevice not found at ./libdevice.10.bc",
        ),
        "error: libdevice not found",
        says=("cuda-nvcc", "--xla_gpu_cuda_data_dir=$CONDA_PREFIX"),
    ),
    Fires(
        "xla-toolchain-missing",
        "no compiler for PTX in 2.20",
        log(
            "2.20.0",
            versions("2.20.0", "3.12.3"),
            created("NVIDIA L4", "8.9", 21000),
            "tensorflow.python.framework.errors_impl.InternalError: No PTX compilation provider is available."
            " Neither ptxas/nvlink nor nvjtlink is available.",
        ),
        "No PTX compilation provider",
        says=("nvidia-cuda-nvcc-cu12<13.0,>=12.5.82",),
    ),
    Fires(
        "cudnn-version-mismatch",
        "the message wrapped in a comment",
        "# the GPU fails with: Loaded runtime CuDNN library: 9.1.0 but source was compiled\n    # with: 9.3.0"
        " ... No DNN in stream executor\n",
        "9.1.0",
    ),
    Fires(
        "library-broken",
        "a part of cuDNN 8 that asks for libcuda.so in WSL",
        log(
            "2.10.0",
            "Linux 5.15.153.1-microsoft-standard-WSL2",
            created("NVIDIA GeForce RTX 3060", "8.6", 9800),
            "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object"
            " file: No such file or directory",
        ),
        "libcuda.so",
        says=("/usr/lib/wsl/lib",),
    ),
    Fires(
        "library-broken",
        "the same without WSL",
        log(
            "2.10.0",
            created("NVIDIA GeForce RTX 3060", "8.6", 9800),
            "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object"
            " file: No such file or directory",
        ),
        "libcuda.so",
        says=("libcuda.so.1",),
        never=("/usr/lib/wsl/lib",),
    ),
    Fires(
        "xla-toolchain-missing",
        "no compiler for PTX, and nothing else on the line",
        "RuntimeError: No PTX compilation provider is available\n",
        "No PTX compilation provider",
    ),
    Fires(
        "xla-toolchain-missing",
        "a ptxas that is older than the card",
        log(
            "2.18.0",
            created("NVIDIA GeForce RTX 5090", "12.0", 29800),
            "Falling back to the CUDA driver for PTX compilation; ptxas does not support CC 12.0",
        ),
        "does not support CC 12.0",
        says=("CUDA 12.8 or newer",),
    ),
    Fires(
        "xla-toolchain-missing",
        "the same, where the release is stated",
        log(
            "2.18.0",
            versions("2.18.0", "3.12.3"),
            created("NVIDIA GeForce RTX 5090", "12.0", 29800),
            "Falling back to the CUDA driver for PTX compilation; ptxas does not support CC 12.0",
        ),
        "does not support CC 12.0",
        says=("install nvidia-cuda-nvcc-cu12",),
        never=("12.5",),  # the ptxas of the CUDA of the release
    ),
    Fires(
        "library-path",
        "no library is named, and the folder of pip's libraries is the cure",
        'TensorFlow only warns "Cannot dlopen some GPU libraries" and takes the CPU. Before the'
        ' start:\nexport LD_LIBRARY_PATH=$(python -c "import os, nvidia.cusolver;'
        " print(os.path.dirname(nvidia.cusolver.__file__) + '/lib')\")\n",
        "export LD_LIBRARY_PATH",
    ),
    Fires(
        "cudnn-missing",
        "a skipped GPU where cuDNN was not installed",
        "TensorFlow 2.15.0, CUDA 12.2 is installed but I did not install cuDNN.\n\n"
        + log(
            "2.15.0",
            logged(
                "W",
                "core/common_runtime/gpu/gpu_device.cc",
                "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are"
                " installed properly if you would like to use GPU.",
            ),
        ),
        "did not install cuDNN",
    ),
    Fires(
        "cuda-missing",
        "the runtime's stub answers because the runtime did not open",
        "InternalError: cudaGetDevice() failed. Status: cudaGetErrorString symbol not found.\n",
        "symbol not found",
        words=("libcudart, the CUDA runtime, did not open",),
    ),
    Fires(
        "cuda-version-mismatch",
        "the same after an update of CUDA, with a release that only a path shows",
        "I updated my CUDA version to 10.1.\n"
        '  File "C:\\me\\lib\\site-packages\\tensorflow_core\\python\\client\\session.py", line 699, in'
        " __init__\n"
        "tensorflow.python.framework.errors_impl.InternalError: cudaGetDevice() failed. Status:"
        " cudaGetErrorString symbol not found.\n",
        "symbol not found",
        words=("CUDA 10.0", "names CUDA 10.1"),
    ),
    Fires(
        "cuda-version-mismatch",
        "the same with a stated release",
        "TensorFlow 2.0.0, CUDA 10.1\n"
        "InternalError: cudaGetDevice() failed. Status: cudaGetErrorString symbol not found.\n",
        "cudaGetErrorString",
        words=("TensorFlow 2.0.0 loads that of CUDA 10.0",),
    ),
    Fires(
        "library-broken",
        "a DLL that cuDNN needs, in a Chinese sentence",
        "用 TensorFlow 2.9 训练，最后一句说找不到 zlibwapi.dll\n",
        "zlibwapi.dll",
        says=("zlibwapi.dll",),
    ),
    Fires(
        "library-broken",
        "the same in Japanese",
        "TensorFlow 2.9: zlibwapi.dll が見つかりません\n",
        "zlibwapi.dll",
    ),
    Fires(
        "library-broken",
        "a part of cuDNN, in a German sentence",
        "TensorFlow sagt, dass libcudnn_ops_infer.so.8 fehlt.\n",
        "libcudnn_ops_infer.so.8",
    ),
    Fires(
        "library-path",
        "a service of R, beside a plain session of the same user",
        "rstudio-server, tensorflow 1.8:\nImportError: libcublas.so.9.0: cannot open shared object file: No"
        " such file or directory\nA plain R session on the same machine loads it without any error.\n",
        "ImportError",
        never=("pip install",),
    ),
    Fires(
        "library-path",
        "a notebook, beside the terminal of a German user",
        "Im Notebook von VS Code:\nImportError: libcublas.so.9.0: cannot open shared object file: No such"
        " file or directory\nIm Terminal läuft dasselbe Skript.\n",
        "ImportError",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "cudnn-version-mismatch",
        "the same words of a card that is too new for its cuDNN",
        "gpu-arch-too-new",
        "Ubuntu 22.04, TensorFlow 2.16.1, cuDNN 8.9.7, NVIDIA GeForce RTX 5090\nE0000 00:00:1761030000.101010"
        "    4711 cuda_dnn.cc:522] Could not create cudnn handle: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH\n",
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "a card that this cuDNN serves",
        "ptx-jit-or-kernel-crash",
        log(
            "2.20.0",
            created("Tesla T4", "7.5", 13900),
            "I0000 00:00:1761030000.101010    4711 cuda_dnn.cc:529] Loaded cuDNN version 91400",
            "INTERNAL: Autotuning failed for HLO: %cudnn-conv.4 = (f32[8,16,32,32], u8[0]) custom-call(%a,"
            " %b) with error: NOT_FOUND: No valid config found!",
        ),
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "a second card that this cuDNN serves, on which the work may have been",
        "cudnn-init-oom",
        "- TensorFlow version: 2.19.0\n- CUDA/cuDNN version: 12.5 / 9.14.0\n- GPU model: GTX 1080 Ti and RTX"
        " 3090\n\ntensorflow.python.framework.errors_impl.NotFoundError: No algorithm worked!  Error"
        " messages: none\n",
    ),
    NearMiss(
        "ptx-jit-or-kernel-crash",
        "an autotuner that had no memory left to measure in",
        "model-oom",
        log(
            "2.20.0",
            created("NVIDIA GeForce RTX 3070", "8.6", 6100),
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9126805504 bytes.",
            "INTERNAL: Autotuning failed for HLO: %loop_fusion.2 = f32[64,24,24]{2,1,0} fusion(%param_1),"
            " kind=kInput with error: NOT_FOUND: No valid config found!",
        ),
    ),
    NearMiss(
        "cuda-version-mismatch",
        "a condition, not a word about the CUDA that is there",
        "cuda-missing",
        "Could not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found\n"
        "Stop and ask us if GPU, CUDA and driver do not match on your laptop.\n",
    ),
    NearMiss(
        "library-path",
        "a folder that was put onto PATH in vain",
        "cuda-missing",
        "Could not load dynamic library 'cudart64_101.dll'; dlerror: cudart64_101.dll not found\nI added a"
        " folder to PATH, and it is as before\n",
    ),
    NearMiss(
        "cuda-missing",
        "a library that is there, in Spanish",
        "undetermined",
        "Ya tengo cublas64_11.dll en la carpeta, y tensorflow importa bien\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "the release that the file is named after",
        "library-path",
        "- CUDA: 7.5\n- cuDNN: 5.1\nImportError: libcudart.so.7.5: cannot open shared object file: No such"
        " file or directory\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "a report that says that the CUDA fits the release",
        "undetermined",
        "TensorFlow 2.4 works with CUDA 11.0, I read. Is that so?\n",
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "a mismatch of something else",
        "undetermined",
        "a mismatch between the CUDA book and the cuDNN manual confused me\n",
    ),
    NearMiss(
        "library-broken",
        "the file is whole, Windows had no memory left for it",
        "host-oom",
        "Could not load library cudnn_ops_train64_8.dll. Error code 1455\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "the same two versions, in a build of one's own",
        "undetermined",
        "TensorFlow 2.3.1 compiled from source with CUDA 9.2 does not use my GPU at all, any idea?\n",
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "one version named twice",
        "undetermined",
        "cudnn 8.1.0 from the site and cudnn 8.1.1 from conda work the same, my question is another\n",
    ),
    NearMiss(
        "library-path",
        "the variable was set before, and the error comes all the same",
        "cuda-missing",
        "export LD_LIBRARY_PATH=/opt/cuda/lib64\npython train.py\nImportError: libcufft.so.9.0: cannot open"
        " shared object file: No such file or directory\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "the CUDA of nvidia-smi's header is what the driver offers",
        "cuda-missing",
        log(
            "2.4.1",
            "| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |",
            form(system="Ubuntu 20.04", tensorflow="2.4.1", gpu="GTX 1060"),
            refused("libcudart.so.11.0", "libcublas.so.11", "libcudnn.so.8"),
            skipped,
        ),
    ),
    NearMiss(
        "cuda-version-mismatch",
        "cuDNN alone does not open",
        "cudnn-missing",
        log(
            "1.15.0",
            *(opened(name) for name in TEN),
            refused("libcudnn.so.7", path="/usr/local/cuda-10.0/lib64"),
            skipped,
        ),
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "a cuDNN of a higher minor version is what it may be",
        "cudnn-init-oom",
        log(
            "2.6.0",
            created("NVIDIA GeForce GTX 1650", "7.5", 2153),
            "2021-09-10 10:00:00.000001: I tensorflow/stream_executor/cuda/cuda_dnn.cc:369] Loaded cuDNN"
            " version 8204",
            cudnn_failed("CUDNN_STATUS_NOT_INITIALIZED"),
        ),
    ),
    NearMiss(
        "library-broken",
        "the same library simply not there",
        "cuda-missing",
        log(
            "2.4.0",
            opened("libcuda.so.1"),
            found("Tesla P4", "6.1"),
            refused("libcudart.so.11.0", "libcusolver.so.10"),
            skipped,
        ),
    ),
    NearMiss(
        "library-path",
        "another version is on disk, not the one that is opened",
        "cuda-version-mismatch",
        log(
            "2.6.0",
            opened("libcuda.so.1"),
            refused("libcudart.so.11.0"),
            skipped,
            "$ find / -name 'libcudart.so*'",
            "/opt/nvidia/cuda-10.2/lib64/libcudart.so.10.2",
        ),
    ),
    NearMiss(
        "library-path",
        "2.17 finds pip's folders by itself; here nothing was installed from pip's extra",
        "cuda-missing",
        log(
            "2.17.0",
            form(system="Ubuntu 22.04", tensorflow="2.17.0", python="3.11", gpu="RTX 3090"),
            numa,
            skipped,
        ),
    ),
    NearMiss(
        "cuda-missing",
        "a missing library and a GPU that is registered after all",
        "benign-messages",
        log("2.5.0", refused("libnvinfer.so.7"), ignore_cudart, created("Tesla T4", "7.5", 13803)),
    ),
    NearMiss(
        "cuda-missing",
        "the same words on Windows with 2.12: no CUDA would help there",
        "tf-windows-native",
        log(
            "2.12.0",
            form(system="Windows 11", tensorflow="2.12.0", gpu="RTX 3060"),
            no_cuda_drivers,
            "My GPU is not detected.",
            windows=True,
        ),
    ),
    NearMiss(
        "cudnn-missing",
        "cuDNN and CUDA both missing",
        "cuda-missing",
        log(
            "2.5.0",
            opened("libcuda.so.1"),
            found("Tesla T4", "7.5"),
            refused("libcudart.so.11.0", "libcudnn.so.8"),
            skipped,
        ),
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "cuDNN does not start, and the log says that no memory is left",
        "cudnn-init-oom",
        log(
            "2.17.0",
            created("NVIDIA A10", "8.6", 20800),
            cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"),
            logged(
                "E",
                "stream_executor/cuda/cuda_dnn.cc",
                "Memory usage: 98041856 bytes free, 23696637952 bytes total.",
            ),
            "tensorflow.python.framework.errors_impl.FailedPreconditionError: DNN library initialization"
            " failed. Look at the errors above for more details.",
        ),
    ),
    NearMiss(
        "xla-toolchain-missing",
        "the driver compiles in ptxas's place, and training goes on",
        "healthy",
        log(
            "2.9.0",
            created("NVIDIA GeForce RTX 3090", "8.6", 22100),
            logged(
                "W", "stream_executor/gpu/asm_compiler.cc", "Relying on driver to perform ptx compilation."
            ),
            "782/782 [==============================] - 14s 11ms/step - loss: 1.2039",
        ),
    ),
    NearMiss(
        "cuda-version-mismatch",
        "the runtime's stub answers beside the CUDA that the release loads",
        "cuda-missing",
        "TensorFlow 2.0.0, CUDA 10.0\n"
        "InternalError: cudaGetDevice() failed. Status: cudaGetErrorString symbol not found.\n",
    ),
    NearMiss(
        "library-path",
        "a plain session that fails, too",
        "cuda-missing",
        "rstudio-server, tensorflow 1.8:\nImportError: libcublas.so.9.0: cannot open shared object file: No"
        " such file or directory\nA plain R session does not work either.\n",
    ),
)
