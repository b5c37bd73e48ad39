"""Signatures of messages about XLA's tools: ptxas, nvlink, libdevice."""

from __future__ import annotations

import re

from doctor.facts import Fact, LibraryNotLoaded, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig


def part_missing(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Symptom for a part of the toolkit that a compiler, linker or build script does not find. If
    the part is TensorFlow's own library, create a LibraryNotLoaded fact instead."""
    found = match.groupdict()
    by = "linker" if found["library"] or found["lib"] else "build"
    part = next(value for value in found.values() if value)
    stem = part.lower()
    if "tensorflow" in stem:
        return LibraryNotLoaded(source, f"lib{part.partition('.')[0].partition('/')[0]}", match[0])
    if by == "linker" and not stem.startswith(("cu", "nv", "nccl")):
        return None
    whole = by == "linker" and stem == "cuda"
    component = "driver" if whole else "cudnn" if "cudnn" in stem else "nccl" if "nccl" in stem else "cuda"
    return Symptom(source, "toolkit-part-missing", (("part", part), ("component", component), ("by", by)))


_NEWER_CUDNN = "Upgrade cuDNN to a release after 9.5.1: 9.5.1 lacks support for this op"

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "toolkit-refuses",
        "unsupported gnu version|unsupported microsoft visual studio version|unsupported clang version|"
        "unsupported gpu architecture 'compute_|mismatches the version that was used to compile",
        r"(?P<compiler>unsupported (?:GNU|clang|Microsoft Visual Studio) version)"
        r"|Unsupported gpu architecture '(?P<old>compute_(?:[1-3]\d|5[0-3]))'"
        r"|detected CUDA version \((?P<have>[\d.]{1,8})"
        r"\) mismatches the version that was used to compile \w{2,20} \((?P<wanted>[\d.]{1,8})\)",
        "crt/host_config.h:129:2: error: #error -- unsupported GNU version! gcc versions later than 8 are not"
        " supported!",
        origin="host_config.h and nvcc of the toolkit; torch/utils/cpp_extension.py",
    ),
    sig(
        "toolkit-part-missing",
        "cannot find -l|unable to find library -l|library not found for -l|cannot open input file '|"
        "cannot open file '|.h: no such file|.h': no such file|nvcc: |nvcc'|could not find cu|"
        "could not find nccl|no cmake_cuda_compiler|cuda_home environment|cannot find cuda library|"
        "cannot find cuda toolkit|could not find any c",
        r"(?:cannot find|unable to find library|library not found for) -l:?(?:lib)?(?P<library>\w{2,40})"
        r"|cannot open (?:input )?file '(?P<lib>\w{2,40})\.lib'"
        r"|fatal error[^\n]{0,40}: '?(?:[\w./+-]{0,200}/)?(?P<header>(?:cud\w{0,40}"
        r"|cu[a-z]{3,12}|nvToolsExt|nccl|tensorflow/c/c_api)\.h)'?: No such file"
        r"|(?:No such file or directory: '|sh: (?:\d: )?|bash: )(?P<other>(?:[\w./+-]{0,200}/)?nvcc)(?:'"
        r"|: (?:command )?not found)|(?:No (?P<o2>CMAKE_CUDA_COMPILER) could be found|(?P<o3>CUDA_HOME)"
        r" environment variable is not set|Could NOT find (?P<o4>CUDA|CUDNN|CUDAToolkit|NCCL) \(missing"
        r"|Could not find (?P<o5>CUDA Toolkit)|Cannot find (?P<o6>cuda (?:library \S{2,60}|toolkit path))"
        r"|Could not find any (?P<o7>cu\w{1,20}\.h) matching)",
        "/usr/bin/ld: cannot find -lcudart: No such file or directory",
        part_missing,
        origin="GNU ld, lld, Apple's ld64, MSVC's link; gcc; CMake; TensorFlow's find_cuda_config.py; torch's"
        " cpp_extension.py",
    ),
    sig(
        "libdevice-missing",
        "libdevice",
        r"libdevice not found|(?:Can't|Could not|Couldn't|Cannot) find libdevice"
        r"|libdevice\.10\.bc[^\n]{0,30}(?:not found|No such file)|libdevice is required by this HLO module",
        "INTERNAL: libdevice not found at ./libdevice.10.bc",
        origin="tensorflow/compiler/xla/service/gpu/llvm_gpu_backend/gpu_backend_lib.cc",
    ),
    sig(
        "ptxas-missing",
        "ptxas|nvlink|no ptx compilation provider",
        r"Couldn't invoke ptxas|No PTX compilation provider is available|Couldn't find a suitable version"
        r" of (?:ptxas|nvlink)|ptxas(?: was)? not found|Failed to launch ptxas|Couldn't get ptxas version"
        r"|couldn't find ptxas|Can't find ptxas binary|ptxas: (?:command )?not found",
        "Couldn't get ptxas version string: INTERNAL: Couldn't invoke ptxas --version",
    ),
    sig(
        "ptxas-failed",
        "ptxas exited with|nvlink exited with|ptxas fatal|ptxas failed|ptxas too old|ptxas does not support|"
        "ptx assembler is too old|ptxas returned an error during compilation",
        r"ptxas returned an error during compilation of ptx to sass|Loaded PTX assembler is too old"
        r"|nvlink exited with non-zero error code -?\d+|ptxas exited with non-zero error code -?\d+"
        r"|ptxas does not support CC \d+|ptxas fatal\s*:[^\n]{0,160}|ptxas too old",
        "INTERNAL: ptxas exited with non-zero error code 65280, output: ptxas fatal   : Value 'sm_86' is not"
        " defined for option 'gpu-name'",
    ),
    sig(
        "relies-on-driver",
        "relying on driver to perform ptx compilation|falling back to the cuda driver for ptx|"
        "back to the gpu driver for ptx|we fallback to the nvidia driver for some compilation",
        r"We fallback to the NVIDIA driver for some compilation|Relying on driver to perform ptx compilation"
        r"|Falling back to the CUDA driver for PTX compilation|back to the GPU driver for PTX",
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
        "jit compilation failed|autotuner could not compile any configs",
        r"JIT compilation failed|Autotuner could not compile any configs",
        "UNKNOWN: JIT compilation failed. [Op:Pow]",
    ),
    sig(
        "autotuning-failed",
        "autotuning failed for hlo|no valid config found",
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
        lambda m, s: Symptom(s, "known-defect", (("release", "2.21.0"), ("cure", _NEWER_CUDNN))),
        seen_in="==2.21.*",
    ),
)
