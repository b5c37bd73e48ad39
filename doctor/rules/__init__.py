"""The rules, which turn facts and tables into findings. Each rule is one function; its docstring is the
documentation page of its finding code.

`PLACES` lists every code with the module of its rule, in the order in which a person should act on the
findings. It is written by hand, so that showing the page of one code imports no other rule. `python
scripts/rule_needs.py` writes needs.json, which lists the facts that each rule needs.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Dict

from doctor.rules.registry import RULES, Rule, RuleSet

__all__ = ["ORDER", "PLACES", "Rule", "RuleSet", "all_rules", "rule_of", "rule_set"]

PLACES = {
    # faults that show before TensorFlow starts
    "tf-not-installed": "tensorflow.not_installed",
    "tf-gpu-package-removed": "tensorflow.gpu_package_removed",
    "tf-no-wheel": "tensorflow.no_wheel",
    "cpu-no-avx": "tensorflow.no_avx",
    "python-dependency-conflict": "tensorflow.dependency_conflict",
    "tf-conflicting-packages": "tensorflow.conflicting_packages",
    "tf-addon-mismatch": "tensorflow.addon_mismatch",
    "tf-import-failed": "tensorflow.import_failed",
    "tf-api-version": "tensorflow.api_version",
    # the machine
    "container-no-gpu": "passthrough.container",
    "wsl-driver": "passthrough.wsl",
    "cuda-compat-package": "driver.compat_package",
    "driver-library-mismatch": "driver.library_mismatch",
    "driver-too-new": "driver.too_new",
    "gpu-powered-off": "gpu.powered_off",
    "gpu-reserved": "gpu.reserved",
    "driver-not-loaded": "driver.not_loaded",
    "device-permission": "gpu.permission",
    "driver-libcuda-missing": "driver.libcuda_missing",
    "gpu-hidden": "gpu.hidden",
    "gpu-bad-state": "gpu.bad_state",
    "driver-missing": "driver.missing",
    "gpu-absent": "gpu.absent",
    "driver-too-old": "driver.too_old",
    "gpu-arch-too-old": "gpu.arch_too_old",
    "gpu-arch-too-new": "gpu.arch_too_new",
    # the libraries
    "tf-windows-native": "tensorflow.windows_native",
    "tf-cpu-only": "tensorflow.cpu_only",
    "known-release-bug": "crash.release_bug",
    "cudnn-version-mismatch": "libraries.cudnn_version_mismatch",
    "library-broken": "libraries.broken",
    "cuda-version-mismatch": "libraries.cuda_version_mismatch",
    "library-path": "libraries.path",
    "cuda-missing": "libraries.cuda_missing",
    "cudnn-missing": "libraries.cudnn_missing",
    "xla-toolchain-missing": "libraries.toolchain_missing",
    # the run
    "gpu-config-too-late": "settings.too_late",
    "gpu-config-conflict": "settings.conflict",
    "memory-limit-misfit": "memory.limit_misfit",
    "gpu-memory-held": "memory.held",
    "memory-leak": "memory.leak",
    "model-oom": "memory.model",
    "cudnn-init-oom": "memory.cudnn_init",
    "host-oom": "memory.host",
    "disk-full": "crash.disk_full",
    "nccl-failure": "crash.nccl",
    "ptx-jit-or-kernel-crash": "crash.kernel",
    "op-no-gpu-kernel": "placement.no_gpu_kernel",
    "device-not-found": "placement.device_not_found",
    "gpu-renumbered": "placement.renumbered",
    # nothing to fix
    "benign-messages": "no_fault",
    "healthy": "no_fault",
    "undetermined": "undetermined",
}

ORDER = tuple(PLACES)
"""Every code, in the order in which a person should act on the findings."""


def rule_of(code: str) -> Rule:
    """The rule of one code. Imports no other rule. Raises KeyError for an unknown code."""
    import_module(f"doctor.rules.{PLACES[code]}")
    return RULES[code]


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of `PLACES`."""
    return tuple(rule_of(code) for code in ORDER)


class _Rules(Dict[str, Rule]):
    """Maps codes to rules; imports each rule when it is first used."""

    def __missing__(self, code: str) -> Rule:
        rule = self[code] = rule_of(code)
        return rule


@lru_cache(maxsize=1)
def rule_set() -> RuleSet:
    """Every rule with the facts that it needs, from needs.json. A rule is imported only when it is used; most
    reports use few."""
    import json

    from doctor import resources

    return RuleSet(json.loads(resources.read(__name__, "needs.json")), _Rules())
