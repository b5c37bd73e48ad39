"""Signatures that show how a run went on and ended: work after a message, and processes that aborted."""

from __future__ import annotations

import re

from doctor.facts import Fact, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig


def disk_full(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Symptom for a disk without space. Linux has the same words for other limits (ENOSPC): those
    of shared memory, file watches and semaphores."""
    other = re.search("shm|shared memory|posix_fallocate|inotify|watch|semaphore", source.text.lower())
    return None if other else Symptom(source, "disk-full")


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "work-done",
        "s/step|s/sample|s/epoch|global_step/sec|it/s]|finished with exit code 0",
        r"\d+/\d+ (?:\[={3,}\]|━{3,})[^\n]{0,30}\d(?:us|ms|s)/(?:step|sample|epoch)"
        r"|\d+/\d+ - \d+m?s (?:- )?\d+(?:us|ms|s)/(?:step|sample|epoch)"
        r"|global_step/sec: \d|100%\|[^\n]{0,240}it/s\]|Process finished with exit code 0(?!\d)",
        "782/782 [==============================] - 14s 11ms/step - loss: 1.2039",
        origin=(
            "keras/utils/generic_utils.py (Progbar), tensorflow/python/training/basic_session_run_hooks.py"
        ),
    ),
    sig(  # programs' own output about their training
        "losses-printed",
        "loss",
        r"\b(?:epochs?|steps?|iter(?:ation)?s?)\b\W{0,4}\d+\b[^\n]{0,80}?loss\W{0,4}\d+\.\d",
        "Epoch: 3 train_loss= 0.8123 accuracy= 0.71",
        near="epoch|step|iter",
    ),
    sig(  # TensorFlow runs, and the program passes it data, variables or files that do not go together
        "program-refused",
        "cannot feed value of shape|input to reshape is a tensor with|incompatible shapes: |"
        "dimensions must be equal, but are|logits and labels must|received a label value of|is not in [0, |"
        "not found in checkpoint|assign requires shapes of both tensors|"
        "attempting to use uninitialized value|concatop : dimensions of inputs should match|"
        "matrix size-incompatible|is incompatible with the layer|no gradients provided for any variable|"
        "shapes (",
        r"Cannot feed value of shape [^\n]{1,80} for Tensor"
        r"|Input to reshape is a tensor with \d{1,12} values|Incompatible shapes: \["
        r"|Dimensions must be equal, but are \d|logits and labels must (?:be|have) (?:broadcastable|the same)"
        r"|Received a label value of -?\d|indices\[[\d,]{1,20}\] = -?\d{1,12} is not in \[0, "
        r"|Key \S{1,120} not found in checkpoint|Assign requires shapes of both tensors to match"
        r"|Attempting to use uninitialized value|ConcatOp : Dimensions of inputs should match"
        r"|Matrix size-incompatible: In\[0\]|Input \d [^\n]{1,80} is incompatible with the layer"
        r"|No gradients provided for any variable"
        r"|Shapes \([^()\n]{0,60}\) and \([^()\n]{0,60}\) are incompatible",
        "ValueError: Cannot feed value of shape (4, 96, 96, 3) for Tensor 'conv5/b:0', which has shape"
        " '(512,)'",
        origin="tensorflow/python/client/session.py, tensorflow/core/kernels (reshape_op.h,"
        " cwise_ops_common.cc, sparse_xent_op.cc, gather_op.cc, assign_op.h, concat_op.cc, matmul_op.cc),"
        " tensorflow/core/framework/common_shape_fns.cc, tensorflow/core/common_runtime/executor.cc,"
        " tensorflow/core/util/tensor_bundle/tensor_bundle.cc, tensorflow/python/training/optimizer.py,"
        " tensorflow/python/framework/tensor_shape.py, keras/engine/input_spec.py",
    ),
    sig(
        "disk-full",
        "no space left on|disk quota exceeded|not enough space on the disk",
        r"No space left on (?:device|disk)|Disk quota exceeded|not enough space on the disk",
        "ResourceExhaustedError: /data/ckpt-12_temp/part-00000; No space left on device [Op:SaveV2]",
        disk_full,
        origin="the C library (strerror), tensorflow/core/platform/posix/error.cc",
    ),
    sig(
        "session-failed",
        "failed to create session",
        r"(?:InternalError|Internal|error)\b[^\n]{0,24}Failed to create session",
        "tensorflow.python.framework.errors_impl.InternalError: Failed to create session.",
        origin="tensorflow/core/common_runtime/direct_session.cc",
    ),
    sig(  # the exit codes of Windows: an access violation, a stack overrun, an abort
        "crash-status",
        "-10737|0xc0000005|0xc0000409|322122",
        r"exit code:? ?(?:-1073741819|-1073740791|3221225477|3221226505)\b"
        r"|\b(?:exit code|status|exited with|exception code)\b[^\n]{0,24}0xC0000(?:005|409)",
        "Process finished with exit code -1073740791 (0xC0000409)",
    ),
    sig(  # not because a data set ended ("Out of range") or values were wrong ("Invalid argument")
        "run-aborted",
        "startabort",
        r"Executor::StartAbort (?!Out of range|OUT_OF_RANGE|Cancel|CANCEL|Invalid|INVALID)"
        r"(?P<status>[A-Z][\w ]{2,30}): ",
        "W tensorflow/core/common_runtime/base_collective_executor.cc:217] BaseCollectiveExecutor::StartAbort"
        " Internal: cudaGetDevice() failed.",
        origin="tensorflow/core/common_runtime/base_collective_executor.cc",
    ),
    sig(
        "fatal-check",
        "f tensorflow/|f external/|f xla/|f ./|f .\\|f0|f1",
        r"(?:^|[\s:])F (?:\./|\.\\|\.\\\\)?(?:tensorflow|external|xla)/\S{1,160}\.(?:cc|h):\d+\]"
        r" (?P<what>[^\n]{1,160})|\bF[01]\d{3} \d\d:\d\d:[\d.]+\s+\d+ \w+\.cc:\d+\] (?P<what2>[^\n]{1,160})",
        "F tensorflow/core/platform/default/env.cc:72] Check failed: ret == 0 (11 vs. 0)Thread creation via"
        " pthread_create() failed.",
    ),
    sig(
        "xla-compile-crash",
        "f tensorflow/|f external/|f xla/|f0|f1",
        r"(?:^|[\s:])F (?:external/(?:local_xla"
        r"|org_tensorflow)/)?(?:tensorflow/compiler/)?xla/service/\S{1,120}\.cc:\d+\] (?P<what>[^\n]{1,160})"
        r"|\bF[01]\d{3} \d\d:\d\d:[\d.]+\s+\d+ (?:ir_emitter|triton|gpu_compiler|nvptx_compiler|llvm_"
        r"|hlo_|\w{0,40}(?:_triton|fusion|autotun|_rewriter))\w{0,40}\.cc:\d+\] (?P<what2>[^\n]{1,160})",
        "F external/local_xla/xla/service/gpu/ir_emitter_triton.cc:1021] Check failed:"
        " mlir::succeeded(mlir::verify(*module))",
        origin="xla/service/gpu/*.cc",
    ),
)
