"""Messages from other runtimes, loaders and builds about something that is missing, and cases in which one
cause must rank above another."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import created, log

VERSIONS = "TensorFlow 2.4.1, CUDA 10.1, cuDNN 7.6, RTX 3080, Windows 10. It ran for three hours, then:\n\n"
FRAME = '  File "D:\\work\\trainer.py", line 64, in train\n    batch = next(self.loader)\n'
REGISTERED = log("2.8.0", created("NVIDIA GeForce RTX 2080 Ti", "7.5", 9648))
LACKS = "cannot open shared object file: No such file or directory"

FIRES = (
    # --- memory, in each runtime's words
    *(
        Fires("host-oom", f"the words of {runtime}", f"{REGISTERED}\n{text}\n", text)
        for runtime, text in (
            ("the JVM", 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space'),
            ("R", "Error: cannot allocate vector of size 4.2 Gb"),
            ("OpenCV", "error: (-4:Insufficient memory) Failed to allocate 2488320 bytes"),
            ("PyTorch's loader", "RuntimeError: DataLoader worker (pid 2231) is killed by signal: Killed."),
            (
                "PyTorch on Windows",
                "DefaultCPUAllocator: not enough memory: you tried to allocate 1073741824 bytes.",
            ),
            (
                "Ray",
                "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
            ),
        )
    ),
    Fires(
        "model-oom",
        "the advice that TensorFlow appends to every such error, alone",
        "Hint: If you want to see a list of allocated tensors when OOM happens, add"
        " report_tensor_allocations_upon_oom to RunOptions for current allocation info.\n",
        "report_tensor_allocations_upon_oom",
    ),
    # --- a fault that a message names, beside versions that do not fit
    Fires(
        "host-oom",
        "the end of a traceback after hours, under versions that do not fit",
        f"{VERSIONS}Traceback (most recent call last):\n{FRAME}MemoryError: bad allocation\n",
        "bad allocation",
    ),
    Fires(
        "gpu-memory-held",
        "the GPU's memory runs out, under versions that do not fit",
        f"{VERSIONS}{FRAME}CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY\n",
        "CUDA_ERROR_OUT_OF_MEMORY",
    ),
    Fires(
        "library-broken",
        "a part of cuDNN that does not load, after TensorFlow registered the GPU",
        f"{REGISTERED}\nRuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED\n",
        "SUBLIBRARY_LOADING_FAILED",
    ),
    # --- loaders, by the class of the library
    Fires(
        "tf-import-failed", "Node's TensorFlow", f"Error: libtensorflow.so.2: {LACKS}\n", "libtensorflow.so.2"
    ),
    Fires(
        "tf-import-failed",
        "musl's loader, of the C++ runtime",
        "Error loading shared library libstdc++.so.6: No such file or directory (needed by /app/server)\n",
        "libstdc++.so.6",
    ),
    Fires(
        "tf-import-failed",
        "Java's binding",
        "java.lang.UnsatisfiedLinkError: no jnitensorflow in java.library.path: [/usr/lib64]\n",
        "jnitensorflow",
    ),
    Fires(
        "driver-missing",
        "Windows's dialog, of the driver",
        "The program can't start because nvcuda.dll is missing from your computer.\n",
        "nvcuda.dll",
    ),
    # --- builds, by the class of what they lack
    *(
        Fires(code, f"a build without {what}", f"{text}\n", text)
        for code, what, text in (
            (
                "library-path",
                "libcudart, by GNU ld",
                "/usr/bin/ld: cannot find -lcudart: No such file or directory",
            ),
            ("library-path", "libcuda, by GNU ld", "/usr/bin/ld: cannot find -lcuda"),
            ("library-path", "cudart.lib", "LINK : fatal error LNK1181: cannot open input file 'cudart.lib'"),
            ("cudnn-missing", "libcudnn, by lld", "ld.lld: error: unable to find library -lcudnn"),
            ("cudnn-missing", "cudnn.h", "conv.cu:3:10: fatal error: cudnn.h: No such file or directory"),
            (
                "cuda-missing",
                "cuda_runtime.h",
                "a.cc:1:10: fatal error: cuda_runtime.h: No such file or directory",
            ),
            ("cuda-missing", "nvcc", "/bin/sh: 1: nvcc: not found"),
            (
                "cuda-missing",
                "CMake's CUDA",
                "Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIRS)",
            ),
            ("tf-import-failed", "TensorFlow's C library", "/usr/bin/ld: cannot find -ltensorflow"),
            (
                "cuda-version-mismatch",
                "a compiler that nvcc takes",
                "crt/host_config.h:129:2: error: #error -- unsupported GNU version! gcc versions later than",
            ),
        )
    ),
)

NEAR_MISSES = (
    NearMiss(
        "library-path", "a library that is none of CUDA's", "undetermined", "/usr/bin/ld: cannot find -lz\n"
    ),
    NearMiss(
        "host-oom",
        "RAPIDS gives the GPU's memory C++'s name",
        "gpu-memory-held",
        "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: cudaErrorMemoryAllocation out of"
        " memory\n",
    ),
)
