"""Rules: facts and tables in, findings out. Each rule is one function; its docstring is the page of its code."""

from __future__ import annotations

from functools import lru_cache

from doctor.rules.registry import RULES, Rule

__all__ = ["Rule", "all_rules"]


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order in which a person should act on their findings."""
    import doctor.rules.calm
    import doctor.rules.hardware
    import doctor.rules.libraries
    import doctor.rules.memory
    import doctor.rules.placement
    import doctor.rules.tensorflow  # noqa: F401 (importing a family registers its rules)

    return tuple(RULES[code] for code in ORDER)


ORDER = (
    # what stands in the way before TensorFlow starts
    "tf-not-installed",
    "tf-gpu-package-removed",
    "tf-no-wheel",
    "cpu-no-avx",
    "python-dependency-conflict",
    "tf-conflicting-packages",
    "tf-import-failed",
    "tf-api-version",
    # the machine
    "container-no-gpu",
    "wsl-driver",
    "cuda-compat-package",
    "driver-library-mismatch",
    "driver-not-loaded",
    "device-permission",
    "driver-libcuda-missing",
    "gpu-hidden",
    "gpu-bad-state",
    "driver-missing",
    "gpu-absent",
    "driver-too-old",
    "gpu-arch-too-old",
    "gpu-arch-too-new",
    # the libraries
    "tf-windows-native",
    "tf-cpu-only",
    "known-release-bug",
    "cudnn-version-mismatch",
    "library-broken",
    "cuda-version-mismatch",
    "library-path",
    "cuda-missing",
    "cudnn-missing",
    "xla-toolchain-missing",
    # the run
    "gpu-config-too-late",
    "gpu-config-conflict",
    "memory-limit-misfit",
    "gpu-memory-held",
    "memory-leak",
    "model-oom",
    "cudnn-init-oom",
    "host-oom",
    "nccl-failure",
    "ptx-jit-or-kernel-crash",
    "op-no-gpu-kernel",
    "device-not-found",
    "gpu-renumbered",
    # nothing to fix
    "benign-messages",
    "healthy",
    "undetermined",
)
