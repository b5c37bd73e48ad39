"""Signatures of messages from cuDNN and cuBLAS: handles, algorithms, launches, and programs that crash on the
GPU."""

from __future__ import annotations

import re

from doctor.facts import CudnnMismatch, CudnnVersion, Fact, Source, Symptom
from doctor.logs.signatures.signature import Signature, glued, sig, spoken
from doctor.logs.signatures.supposed import denied, stated, supposed
from doctor.logs.signatures.versions.plausible import cudnn_text


def runtime_mismatch(match: re.Match[str], source: Source) -> Fact:
    """Create the CudnnMismatch fact: the cuDNN version that was loaded, and the one with which TensorFlow was
    compiled."""
    return CudnnMismatch(source, cudnn_text(match["loaded"]), cudnn_text(match["compiled"]))


def part_of_cudnn(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom for a part of cuDNN that does not load, or whose version differs from that of the
    other parts."""
    problem = (
        "has a different version from the other parts"
        if match["mixed"]
        else "does not load, or a library that it needs does not load"
    )
    return Symptom(source, "cudnn-part-broken", (("path", "A library"), ("problem", problem)))


def library_status(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Symptom for a status that a CUDA library returned, in any message. If the library has no
    memory for its own data, TensorFlow's memory pool left it none; other frameworks have no such pool."""
    detail = (("status", match["status"]),)
    if supposed(match) or denied(match):
        return None
    if match["host"]:
        return Symptom(source, "host-alloc-failed", detail)
    if match["full"]:
        return Symptom(source, "cuda-out-of-memory" if match["other"] else "cudnn-status-said", detail)
    return Symptom(source, "call-refused" if match["call"] else "routine-failed", detail)


_LIBRARIES = ("cublas", "cudnn", "cusolver", "cusparse")

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "cudnn-runtime-mismatch",
        "source was compiled",
        r"Loaded (?:runtime )?CuDNN library: (?P<loaded>[\d.]+\d)(?: \(compatibility version \d+\))? but"
        r" (?:the )?source was compiled(?:\s*\n[ \t#>*/|]*| )with:? (?P<compiled>[\d.]+\d)",
        "cuda_dnn.cc:417] Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.6.0.  CuDNN"
        " library needs to have matching",
        runtime_mismatch,
        lines=2,
        origin="tensorflow/stream_executor/cuda/cuda_dnn.cc",
    ),
    sig(
        "cudnn-version",
        "loaded cudnn version",
        r"Loaded cuDNN version (?P<version>\d{4,6})\b",
        "I tensorflow/stream_executor/cuda/cuda_dnn.cc:384] Loaded cuDNN version 8100",
        lambda m, s: CudnnVersion(s, cudnn_text(m["version"])),
        seen_in=">=2.5",
        origin="tensorflow/stream_executor/cuda/cuda_dnn.cc",
    ),
    sig(
        "cudnn-handle-failed",
        "could not create cudnn handle|local cudnn handle failed|compilation cudnn handle failed",
        r"could not create cudnn handle: (?P<status>CUDNN_STATUS_\w+)"
        r"|Creation of (?:compilation|local) cudnn handle failed",
        "E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle:"
        " CUDNN_STATUS_INTERNAL_ERROR",
        origin="tensorflow/stream_executor/cuda/cuda_dnn.cc",
    ),
    sig(
        "cudnn-part-broken",
        "cudnn_status_sublibrary_|cudnn_status_version_mismatch|_runtime_prerequisite_missing|"
        "_sublibrary_unavailable",
        r"CUDNN_STATUS_(?:(?P<mixed>(?:SUBLIBRARY_)?VERSION_MISMATCH)|SUBLIBRARY_LOADING_FAILED"
        r"|(?:NOT_SUPPORTED_)?(?:RUNTIME_PREREQUISITE_MISSING|SUBLIBRARY_UNAVAILABLE))\b",
        "E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:1]"
        " CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        part_of_cudnn,
        origin="cudnn_graph.h of cuDNN 9, cudnn_ops_infer.h of cuDNN 8",
    ),
    spoken(  # the status without its message, as in titles and sentences; PyTorch has "cuDNN error: …"
        "cudnn-status-said",
        (
            *glued(_LIBRARIES, ("_status_internal_error", "_status_not_initialized")),
            "could not create cudnn handle",
        ),
        r"(?<!cuDNN error: )(?<!CUDA error: )(?<!cudnn handle: )(?<!cublas handle: )"
        r"\b(?:CUDNN|CUBLAS|CUSOLVER|CUSPARSE)_STATUS_(?:INTERNAL_ERROR|NOT_INITIALIZED)\b"
        r"|could not create cudnn handle(?!: CUDNN_STATUS)",
        "What is CUDNN_STATUS_INTERNAL_ERROR?",
        stated("cudnn-status-said"),
    ),
    sig(
        "routine-failed",
        (
            *glued(_LIBRARIES, ("_status_",)),
            "cufft_exec_failed",
        ),
        r"(?P<other>\b(?:CUDA|cu[A-Z]\w{2,7}) ?error: |\bfailure \d{1,3}: )?(?<![A-Za-z_])(?P<status>"
        r"(?:CUBLAS|CUDNN|CUSOLVER|CUSPARSE)_STATUS_(?:(?P<ran>EXECUTION_FAILED|MAPPING_ERROR)|(?P<full>"
        r"(?:INTERNAL_ERROR_DEVICE_)?ALLOC(?:ATION)?_FAILED)|INTERNAL_ERROR_(?P<host>HOST)_ALLOCATION_FAILED"
        r"|(?P<call>BAD_PARAM|INVALID_VALUE|NOT_SUPPORTED))|CUFFT_(?P<fft>EXEC_FAILED))(?![A-Z])",
        "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(handle)`",
        library_status,
        origin="the headers of cuBLAS, cuDNN, cuSOLVER, cuFFT and cuSPARSE",
    ),
    sig(
        "conv-algorithm-failed",
        "failed to get convolution algorithm|cudnn failed to initialize",
        r"Failed to get convolution algorithm|cuDNN failed to initialize",
        "Failed to get convolution algorithm. This is probably because cuDNN failed to initialize, so try"
        " looking to see if a warning",
        seen_in=">=1.11,<2.9",
        origin="tensorflow/core/kernels/conv_ops.cc",
    ),
    sig(
        "dnn-not-found",
        "dnn library is not found|fail to find the dnn implementation|streamexecutor without dnn support|"
        "no dnn in stream executor|dnn library initialization failed|failed to find a dnn implementation|"
        "find the dnn implementation|find a dnn implementation",
        r"DNN library is not found|StreamExecutor without DNN support|Fail(?:ed)? to find (?:the|a) dnn"
        r" implementation|No DNN in stream executor|DNN library initialization failed",
        "UNIMPLEMENTED: DNN library is not found.",
    ),
    sig(
        "handle-memory",
        "memory usage: ",
        r"Memory usage: (?P<free>\d{1,15}) bytes free, (?P<total>\d{1,15}) bytes total",
        "cuda_dnn.cc:539] Memory usage: 173408256 bytes free, 25438126080 bytes total.",
        seen_in=">=2.14",
        origin="xla/stream_executor/cuda/cuda_dnn.cc, CudnnSupport::Init",
    ),
    sig(
        "no-algorithm",
        "no algorithm worked|algorithms! error|getconvolvealgorithms(|getrnnalgorithms(|->getconvolve|"
        "->getrnn|failed to allocate the scratch space|failed to allocate scratch memory|"
        "failed to allocate workspace for cublaslt",
        r"No algorithm worked|failed to allocate (?:the scratch space|scratch memory|workspace for cublasLt)"
        r"|Check failed: stream->parent\(\)->Get(?:Convolve|Rnn)\w*Algorithms",
        "OP_REQUIRES failed at conv_ops.cc:1106 : Not found: No algorithm worked!",
    ),
    sig(
        "cudnn-launch-failed",
        "cudnn launch failure|function launch failure|failed to enqueue convolution|thenrnnforward|"
        "thenrnnbackward|failed to enqueue fused convolution",
        r"cuDNN (?:Backward (?:Data|Filter) function )?launch failure"
        r"|failed to enqueue (?:fused )?convolution|Failed to call ThenRnn(?:Forward|Backward)\w*",
        "InternalError: cuDNN launch failure : input shape([32,64,28,28]) filter shape([3,3,64,64])",
    ),
    sig(
        "cublas-handle-failed",
        "failed to create cublas handle|failed to create cublaslt handle",
        r"failed to create cublas(?:Lt)? handle:? ?(?P<status>CUBLAS_STATUS_\w+|the library was not"
        r" initialized|[^\n]{3,60})?",
        "E tensorflow/stream_executor/cuda/cuda_blas.cc:428] failed to create cublas handle:"
        " CUBLAS_STATUS_NOT_INITIALIZED",
        origin="tensorflow/stream_executor/cuda/cuda_blas.cc",
    ),
    sig(
        "cusolver-handle-failed",
        "failed to create cusolverdn instance|cusolver_status_|cusolverdncreate|"
        "cusolver has not been initialized",
        r"Failed to create cuSolverDN instance|cuSolver has not been initialized"
        r"|CUSOLVER_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED|INTERNAL_ERROR)|cusolverDnCreate[^\n]{0,60}fail",
        "tensorflow/core/kernels/cuda_solvers.cc:159] Check failed: cusolverDnCreate(&cusolver_dn_handle) =="
        " CUSOLVER_STATUS_SUCCESS Failed to create cuSolverDN instance.",
    ),
    sig(
        "cufft-failed",
        "cufft plan|cufft 1d plan|cufft 2d plan|cufft 3d plan|cufft batched plan|to run cufft routine|cufft_",
        r"failed to (?:create|make|initialize|set (?:auto allocation for|work area for)) (?:cufft (?:[123]d "
        r"|batched )?plan|batched cufft plan)[^\n]{0,60}?(?::? ?(?P<status>CUFFT_[A-Z]\w{1,40})|[.:\n]|$)"
        r"|Failed to run cuFFT routine(?: \w{1,40})?:? ?(?P<s2>CUFFT_\w{1,40})?"
        r"|(?<!\w)CUFFT_(?:ALLOC|SETUP)_FAILED|(?<!\w)CUFFT_INTERNAL_ERROR",
        "E tensorflow/stream_executor/cuda/cuda_fft.cc:225] failed to make cuFFT batched plan:5",
        origin="tensorflow/stream_executor/cuda/cuda_fft.cc",
    ),
    sig(
        "blas-launch-failed",
        "launch failed|without blas support|failed to run cublas routine",
        r"Blas \w+ launch failed|StreamExecutor without BLAS support|failed to run cuBLAS routine:?"
        r"(?: (?P<routine>(?!CUBLAS_STATUS)\w+):?)?(?: (?P<status>CUBLAS_STATUS_\w+))?",
        "InternalError: Blas GEMM launch failed : a.shape=(128, 784), b.shape=(784, 256), m=128, n=256,"
        " k=784",
    ),
    sig(  # from `where`, `unique` and other ops that count with NVIDIA's CUB
        "launch-failed",
        "could not launch cub::",
        r"Could not launch cub::\w{1,40}[^\n]{0,300}\bstatus: (?P<error>invalid resource handle|invalid"
        r" configuration argument|invalid argument|too many resources requested for launch|unknown error)",
        "WhereOp: Could not launch cub::DeviceReduce::Sum to count number of true / nonzero indices. "
        " temp_storage_bytes: 5887, status: invalid resource handle",
        origin="tensorflow/core/kernels/where_op_gpu.cu.h, unique_op_gpu.cu.h,"
        " dynamic_partition_op_gpu.cu.cc",
    ),
    sig(
        "launch-failed",
        "unexpected event status: 1|gpu sync failed|launchkernel(|launchkernel (",
        r"Unexpected Event status: 1|GPU sync failed|(?:Gpu|Cuda)LaunchKernel ?\([^\n]{0,600}\bstatus: \w+:"
        r" (?:invalid configuration argument|invalid argument|unknown error)",
        "F tensorflow/core/common_runtime/gpu/gpu_event_mgr.cc:273] Unexpected Event status: 1",
    ),
    sig(
        "nan-results",
        "loss: nan|loss=nan|loss is nan|all nan|returns nan|nan loss|outputs nan|results are wrong|"
        "wrong results",
        r"loss(?:: |=)nan|loss is NaN|all NaNs?|returns NaNs?|NaN loss|outputs NaN",
        "60/60 [=====] - 2s - loss: nan - accuracy: 0.1",
    ),
    spoken(
        "hangs",
        "hang|freez|stuck|takes forever|takes minutes|very slow to start|takes a long time|hung|minutes",
        r"\b(?:hangs?"
        r"|hanging|hung|(?<!pip )(?<!pip3 )(?<!conda )freez(?:es?|ing)(?! [^\n.]{0,24}(?:graph|layer|model"
        r"|weight|backbone))|stuck|takes forever|takes (?:several |many |\d+ )?minutes|takes a long time)\b",
        "The first run hangs for minutes before anything happens",
    ),
    sig(
        "cudnn-symbol-missing",
        "cudnn dso",
        r"could not find (?P<symbol>cudnn\w+) in cudnn DSO|(?P<s2>\w*Convolution\w*) cudnn DSO dlerror",
        "could not find cudnnConvolutionBackwardFilter_v3 in cudnn DSO; dlerror:"
        " /usr/lib/_pywrap_tensorflow.so: undefined symbol: cudnnConvolutionBackwardFilter_v3",
        seen_in="0.5-0.12",
        origin="tensorflow/stream_executor/cuda/cuda_dnn.cc",
    ),
    sig(  # 3 is CUDNN_STATUS_BAD_PARAM: the arguments make no sense, usually because of an empty tensor
        "launch-failed",
        "== cudnn_status_success (3 vs. 0)",
        r"Check failed: (?P<call>cudnn\w+)\([^\n]{0,240}== CUDNN_STATUS_SUCCESS \(3 vs\. 0\)",
        "Check failed: cudnnSetTensorNdDescriptor(handle_.get(), elem_type, nd, dims.data(), strides.data())"
        " == CUDNN_STATUS_SUCCESS (3 vs. 0)",
    ),
    spoken(
        "cudnn-mismatch",
        "cudnn",
        r"\b(?:compiled|built) (?:with"
        r"|against|for) cudnn (?:version )?v?(?P<compiled>\d\.\d{1,2}(?:\.\d{1,2})?)\b[^\n]{0,16}?\b(?:but"
        r"|while|whereas|and)\b (?:(?:it|loads?|loaded|finds?|found|gets?|uses?|runs?|with|on|at|runtime"
        r"|there is|the|only|cudnn|version|has|have|I|is|v) ){0,6}?v?(?P<loaded>\d\.\d{1,2}(?:\.\d{1,2})?)\b",
        "compiled with cuDNN 8.6 but 8.4 is loaded",
        lambda m, s: CudnnMismatch(s, m["loaded"], m["compiled"]) if m["loaded"] != m["compiled"] else None,
        near=("compiled|built", "but|while|whereas|and"),
    ),
)
