"""Signatures about compute capability: GPUs that TensorFlow ignores, and builds that lack code for a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Fact, Gpu, OtherGpu, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig


def ignored(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Gpu fact, if the message describes the GPU, and the Symptom: TensorFlow ignores the GPU
    because of its compute capability or its multiprocessor count."""
    group = match.groupdict()
    name = (group.get("name") or "").strip() or None
    if name or group.get("cc"):
        yield Gpu(source, name, group.get("cc"))
    kind = "gpu-ignored-multiprocessors" if group.get("cores") else "gpu-ignored-capability"
    yield Symptom(source, kind, tuple((k, v) for k, v in group.items() if v))


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "gpu-ignored",
        "ignoring visible gpu device|ignoring gpu device",
        r"Ignoring (?:visible )?gpu device \(device: \d+, name:"
        r" (?P<name>[^,\n]{1,70})(?:[,)][^\n]{0,120}?)?with (?:Cuda )?compute capability (?P<cc>\d+\.\d+)"
        r"\.?(?:[^\n]{0,40}minimum required Cuda capability is (?P<minimum>\d+\.\d+))?",
        "gpu_device.cc:1105] Ignoring visible gpu device (device: 0, name: GeForce GT 730, pci bus id:"
        " 0000:01:00.0, compute capability: 3.0) with Cuda compute capability 3.0. The minimum required Cuda"
        " capability is 3.5.",
        ignored,
        origin="tensorflow/core/common_runtime/gpu/gpu_device.cc",
    ),
    sig(
        "gpu-ignored",
        "ignoring visible gpu device|ignoring gpu device",
        r"Ignoring (?:visible )?gpu device \(device: \d+, name: (?P<name>[^,\n]{1,70})"
        r"(?:[^\n]{0,60}compute capability: (?P<cc>[\d.]+\d))?[^\n]{0,60}with (?:Cuda multiprocessor count"
        r"|core count): (?P<cores>\d+)",
        "Ignoring visible gpu device (device: 1, name: Quadro K620, pci bus id: 0000:02:00.0, compute"
        " capability: 5.0) with core count: 3. The minimum required count is 8. You can adjust this"
        " requirement with the env var TF_MIN_GPU_MULTIPROCESSOR_COUNT.",
        ignored,
    ),
    sig(  # a title, or a line that was cut off before the reason
        "gpu-ignored-capability",
        "ignoring visible gpu device|ignoring gpu device",
        r"Ignoring (?:visible )?gpu devices?\b(?![^\n]{0,300}\bwith )",
        "# Ignoring visible gpu device, how do I change that?",
        lambda m, s: Symptom(s, "gpu-ignored-capability", (("stated", "yes"),)),
    ),
    sig(
        "gpu-ignored",
        "ignoring gpu device|ignoring visible gpu device|multiprocessor count",
        r"Ignoring (?:visible )?gpu device with (?:Cuda multiprocessor|core) count: (?P<cores>\d+)",
        "Ignoring gpu device with Cuda multiprocessor count: 7. The minimum required count is 8.",
        ignored,
    ),
    sig(
        "minimum-capability",
        "minimum required cuda capability is|compute capability",
        r"minimum required Cuda capability is (?P<minimum>\d+\.\d+)"
        r"|(?:wants|requires?|needs?|minimum)\b[^\n]{0,40}\bcompute capability (?:of )?(?P<stated>\d\.\d)"
        r"|\bcompute capability (?:of )?(?P<bound>\d\.\d)(?: or (?:higher|above|later|newer|greater))?"
        r" (?:is|was|being|as) (?:the |a |its )?(?:minimum|lowest|required|needed)",
        "The minimum required Cuda capability is 3.5.",
        lambda m, s: Symptom(
            s, "minimum-capability", (("minimum", m["minimum"] or m["stated"] or m["bound"]),)
        ),
        near="minimum|want|require|need|lowest",
    ),
    sig(
        "jit-from-ptx",
        "not built with cuda kernel binaries compatible with compute capability",
        r"not built with CUDA kernel binaries compatible with compute capability (?P<cc>\d+\.\d+)a?",
        "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0. CUDA"
        " kernels will be jit-compiled from PTX, which could take 30 minutes or longer.",
        lambda m, s: (Symptom(s, "jit-from-ptx", (("cc", m["cc"]),)), Gpu(s, None, m["cc"])),
        seen_in=">=2.5",
        origin="tensorflow/core/common_runtime/gpu/gpu_device.cc",
    ),
    sig(  # the macro with which ops that people compile themselves check each launch
        "own-op-without-code",
        "cudacheckerror() failed|cuda kernel failed",
        r"(?:cudaCheckError\(\) failed in (?P<op>\w{1,80})"
        r"|CUDA kernel failed) ?: ?(?:invalid device function|no kernel image is available)",
        "cudaCheckError() failed in ROIPoolForward: invalid device function",
        origin="roi_pooling_op_gpu.cu.cc in Faster-RCNN_TF and its forks; the sampling ops of PointNet++",
    ),
    sig(  # the front end of nvcc counts the errors in a source file
        "own-op-not-compiled",
        "detected in the compilation of ",
        r"\d{1,4} errors? detected in the compilation of \"?(?P<file>[^\"\n]{0,200}?\w{1,80}\.cu)(?![\w.])",
        '10 errors detected in the compilation of "/tmp/upfirdn_2d.cu".',
        origin="nvcc (cudafe++)",
    ),
    sig(
        "ptx-invalid",
        "does not support target 'sm_|is not defined for option 'gpu-|"
        "unsupported gpu architecture 'compute_|cuda_error_invalid_handle|"
        "is not a recognized processor for this target",
        r"'(?P<llvm>sm_\d{2,3}a?)' is not a recognized processor for this target"
        r"|PTX version (?P<isa>[\d.]+\d) does not support target '(?P<target>sm_\w+)'"
        r"|Value 'sm_(?P<sm>\w+)' is not defined for option 'gpu-name'"
        r"|Value 'sm_(?:75|[89]\d|1\d\d)\w?' is not defined for option 'gpu-architecture'"
        r"|Unsupported gpu architecture 'compute_(?:75|[89]\d|1\d\d)\w?'"
        r"|'cuLaunchKernel[^\n]{0,160}CUDA_ERROR_INVALID_HANDLE",
        "PTX version 7.4 does not support target 'sm_89'",
    ),
    sig(  # TensorFlow's ROCm build prints for an AMD GPU what the CUDA build prints for an NVIDIA GPU
        "amd-gpu-ignored",
        "with amdgpu version",
        r"Ignoring visible gpu device \(device: \d+, name: (?P<name>[^,\n]{1,60}),[^\n]{0,80}\) with AMDGPU"
        r" version ?: (?P<version>gfx\w+)",
        "Ignoring visible gpu device (device: 0, name: Radeon RX 7600, pci bus id: 0000:03:00.0) with AMDGPU"
        " version : gfx1102. The supported AMDGPU versions are gfx1030, gfx900.",
        lambda m, s: (
            OtherGpu(s, m["name"], "amd"),
            Symptom(s, "amd-gpu-ignored", (("version", m["version"]),)),
        ),
        origin="tensorflow/core/common_runtime/gpu/gpu_device.cc",
    ),
    sig(
        "arch-mismatch",
        "_status_arch_mismatch|_status_not_supported_arch_mismatch",
        r"(?<![A-Za-z_])CU[A-Z]{2,8}_STATUS_(?:NOT_SUPPORTED_)?ARCH_MISMATCH",
        "could not create cudnn handle: CUDNN_STATUS_ARCH_MISMATCH",
    ),
    sig(
        "visible-list",
        "cuda_visible_devices is set to",
        r"CUDA_VISIBLE_DEVICES is set to (?P<value>[^\n]{0,40}?) - this hides all GPUs",
        "CUDA_VISIBLE_DEVICES is set to -1 - this hides all GPUs from CUDA",
    ),
    sig(
        "few-multiprocessors",
        "tf_min_gpu_multiprocessor_count",
        r"TF_MIN_GPU_MULTIPROCESSOR_COUNT",
        "You can adjust this requirement with the env var TF_MIN_GPU_MULTIPROCESSOR_COUNT.",
    ),
)
