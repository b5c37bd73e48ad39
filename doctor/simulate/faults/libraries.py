"""Faults of the CUDA libraries: missing, damaged, or of another version."""

from __future__ import annotations

from doctor.backports import removeprefix
from doctor.simulate.effects import broken, damage, gpu
from doctor.simulate.fault import Fault
from doctor.values import replace

_CUDA = ("libcudart", "libcublas", "libcublasLt", "libcufft", "libcusolver", "libcusparse")
LIBRARIES: tuple[Fault, ...] = (
    Fault(
        "cuda-missing",
        "cuda-missing",
        "no CUDA library is installed",
        damage("missing", *_CUDA, "libcurand", "libcudnn"),
    ),
    *(
        Fault(
            f"{removeprefix(stem, 'lib').lower()}-missing",
            "cuda-missing",
            f"{stem} is missing",
            damage("missing", stem),
        )
        for stem in _CUDA
    ),
    Fault(
        "curand-missing",
        "cuda-missing",
        "libcurand, which TensorFlow up to 2.13 loads, is missing",
        damage("missing", "libcurand"),
        on_machine=None,
        until=(2, 13),
    ),
    Fault("cudnn-missing", "cudnn-missing", "libcudnn is missing", damage("missing", "libcudnn")),
    Fault(
        "cudnn-wrong-major",
        "cudnn-version-mismatch",
        "only libcudnn of another major version is installed",
        damage("wrong-major", "libcudnn"),
        logged="cudnn-missing",
    ),
    Fault(
        "cuda-wrong-major",
        "cuda-version-mismatch",
        "only CUDA libraries of another major version are installed",
        damage("wrong-major", *_CUDA),
        logged="cuda-missing",
    ),
    broken("cudnn-empty", "empty", "is an empty file"),
    broken("cudnn-truncated", "truncated", "is truncated", logged="undetermined"),
    broken("cudnn-text", "text", "is a git-LFS pointer"),
    broken("cudnn-other-machine", "other-machine", "was built for aarch64", logged="cudnn-missing"),
    broken("cudnn-32-bit", "32-bit", "is a 32-bit file"),
    broken("cudnn-needs-missing", "needs-missing", "needs a library that is missing"),
    broken("cudnn-undefined-symbol", "undefined-symbol", "needs a symbol that no library defines"),
    broken("cudnn-dangling", "dangling", "is a dangling link", logged="cudnn-missing"),
    Fault(
        "no-ptxas",
        "xla-toolchain-missing",
        "ptxas and libdevice cannot be found",
        lambda s: replace(s, hide_toolkit=True, toolkit=False),
        "jit",
        on_machine=None,
    ),
    Fault(
        "nccl-missing",
        "nccl-failure",
        "two GPUs, but no libnccl for the communication between them",
        lambda s: damage("missing", "libnccl")(gpu("RTX 3070", "RTX 3070")(s)),
        "collective",
        on_machine=None,
    ),
)
