"""XLA's tools: ptxas, nvlink, libdevice."""

from __future__ import annotations

from doctor.facts import Fact, Source, Symptom
from doctor.logs.signatures.signature import Maker, Signature, sig


def defect(release: str, cure: str) -> Maker:
    """A function that makes the symptom of a defect of one release from a match. cure: what to do, as a
    sentence."""

    def make(match: object, source: Source) -> Fact:
        return Symptom(source, "known-defect", (("release", release), ("cure", cure)))

    return make


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "libdevice-missing",
        ("libdevice",),
        r"libdevice not found|(?:Can't|Could not|Couldn't|Cannot) find"
        r" libdevice|libdevice\.10\.bc[^\n]{0,30}(?:not found|No such file)"
        r"|libdevice is required by this HLO module",
        "INTERNAL: libdevice not found at ./libdevice.10.bc",
        origin="tensorflow/compiler/xla/service/gpu/llvm_gpu_backend/gpu_backend_lib.cc",
    ),
    sig(
        "ptxas-missing",
        ("ptxas", "nvlink", "no ptx compilation provider"),
        r"Couldn't invoke ptxas|No PTX compilation provider is available|Couldn't find a suitable version of"
        r" (?:ptxas|nvlink)|ptxas(?: was)? not found|Failed to launch ptxas"
        r"|Couldn't get ptxas version|couldn't find ptxas|Can't find ptxas binary|ptxas: (?:command )?not"
        r" found",
        "Couldn't get ptxas version string: INTERNAL: Couldn't invoke ptxas --version",
    ),
    sig(
        "ptxas-failed",
        (
            "ptxas exited with",
            "nvlink exited with",
            "ptxas fatal",
            "ptxas failed",
            "ptxas too old",
            "ptxas does not support",
            "ptx assembler is too old",
            "ptxas returned an error during compilation",
        ),
        r"ptxas returned an error during compilation of ptx to sass|Loaded PTX assembler is too old|nvlink"
        r" exited with non-zero error code -?\d+|ptxas exited with"
        r" non-zero error code -?\d+|ptxas does not support CC \d+|ptxas fatal\s*:[^\n]{0,160}|ptxas too old",
        "INTERNAL: ptxas exited with non-zero error code 65280, output: ptxas fatal   : Value 'sm_86' is not"
        " defined for option 'gpu-name'",
    ),
    sig(
        "relies-on-driver",
        (
            "relying on driver to perform ptx compilation",
            "falling back to the cuda driver for ptx",
            "back to the gpu driver for ptx",
            "we fallback to the nvidia driver for some compilation",
        ),
        r"We fallback to the NVIDIA driver for some compilation|Relying on driver to perform ptx compilation"
        r"|Falling back to the CUDA driver for PTX"
        r" compilation|back to the GPU driver for PTX",
        "Relying on driver to perform ptx compilation. ",
        origin="tensorflow/stream_executor/gpu/redzone_allocator.cc",
    ),
    sig(
        "ptxas-old",
        "you are using ptxas",
        r"You are using ptxas (?P<version>[\d.]+\d), which is (?:older than|in range)",
        "*** WARNING *** You are using ptxas 11.0.194, which is older than 11.1. ptxas before 11.1 is known"
        " to miscompile XLA code",
    ),
    sig(
        "jit-failed",
        ("jit compilation failed", "autotuner could not compile any configs"),
        r"JIT compilation failed|Autotuner could not compile any configs",
        "UNKNOWN: JIT compilation failed. [Op:Pow]",
    ),
    sig(
        "autotuning-failed",
        ("autotuning failed for hlo", "no valid config found"),
        r"Autotuning failed for HLO|(?:NOT_FOUND|INTERNAL): No valid config found",
        "INTERNAL: Autotuning failed for HLO: %fusion.3 = f32[16,16]{1,0} fusion(%p0), kind=kCustom with"
        " error: NOT_FOUND: No valid config found!",
        origin="xla/backends/autotuner/autotuner.cc, Autotuner::TuneBestConfig and PickBestConfig",
    ),
    sig(
        "known-defect",
        "autotuner could not find any supported configs",
        r"Autotuner could not find any supported configs",
        "INTERNAL: Autotuner could not find any supported configs for HLO: %cudnn-conv-bias-activation.7",
        defect(
            "2.21.0", "Bring cuDNN up to a release after 9.5.1, which cannot serve what XLA asks of it here"
        ),
        seen_in="==2.21.*",
    ),
)
