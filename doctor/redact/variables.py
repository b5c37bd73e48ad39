"""Lists the environment variables that affect the GPU or decide which TensorFlow is imported, and says which
parts of their values a shared report may show.

Only variables listed here are read from an environment. Sources: CUDA C++ Programming Guide, "CUDA
Environment Variables"; NVIDIA Container Toolkit, "Specialized Configurations"; NCCL, "Environment Variables";
TensorFlow's ReadBoolFromEnvVar, ReadInt64FromEnvVar and ReadStringFromEnvVar calls; OpenXLA's GPU flags;
Keras's configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from doctor import lazy
from doctor.redact.secret import REMOVED, secrecy

_WORDS = lazy.compile(
    r"CUDA_(?:VISIBLE_DEVICES|DEVICE_ORDER|VERSION|CACHE_(?:DISABLE|MAXSIZE)|LAUNCH_BLOCKING"
    r"|MODULE_(?:DATA_)?LOADING|(?:FORCE|DISABLE)_(?:PTX_)?JIT|DEVICE_MAX_CONNECTIONS"
    r"|DEVICE_WAITS_ON_EXCEPTION|MANAGED_FORCE_DEVICE_ALLOC|AUTO_BOOST|SCALE_LAUNCH_QUEUES|ENABLE_\w+"
    r"|DISABLE_\w+|MPS_(?!PIPE|LOG)\w+|(?:PKG|DRIVER|CUDART)_VERSION)"
    r"|CUDNN_(?:VERSION|LOG(?:INFO|LEVEL|ERR|WARN)_DBG|FRONTEND_\w+)"
    r"|NVIDIA_(?:VISIBLE_DEVICES|DRIVER_CAPABILITIES|REQUIRE_\w+|DISABLE_REQUIRE|TF32_OVERRIDE"
    r"|MIG_\w+_DEVICES|PRODUCT_NAME|TENSORFLOW_VERSION|BUILD_ID|IMEX_CHANNELS|GDS|MOFED|NVSWITCH|GDRCOPY"
    r"|FABRIC_\w+|CTK_\w+)"
    r"|NCCL_(?!COMM_ID|SOCKET_IFNAME_ADDR|\w*(?:FILE|CONF|ADDR|HOST))\w+"
    r"|TF_(?:CPP|GPU|CUDNN8?|CUBLAS|CUDA|XLA|FORCE|ENABLE|DISABLE|USE|NUM|MIN|MAX|PER_DEVICE|NEED|ADJUST"
    r"|AUTOTUNE|ROCM|TENSORRT|TRT|ONEDNN|MKL|LAYOUT|AUTO_MIXED_PRECISION|SYNC|KERNEL|FUNCTION|WHILE|CONV"
    r"|BATCHNORM|FUSED|GRAPPLER|EAGER|PJRT|PLUGGABLE|DETERMINISTIC|INTER_?OP|INTRA_?OP|FP16|FP32|TF32|BFC"
    r"|PREALLOCATE|VISIBLE)(?:_\w+)?"
    r"|TF2_BEHAVIOR|XLA_(?:FLAGS|PYTHON_CLIENT_\w+|GPU_\w+)|KERAS_(?:BACKEND|NNX_\w+|FLOATX)"
    r"|SLURM_(?:JOB|STEP)?_?(?:GPUS|PARTITION)\w*|GPU_DEVICE_ORDINAL|PYTHONNOUSERSITE|CONDA_DEFAULT_ENV"
    r"|LOADEDMODULES|SINGULARITY_NV|APPTAINER_NV|SNAP_NAME"
)
"""Matches the names of variables whose values are words, numbers, flags and lists of these."""
_PATHS = lazy.compile(
    r"CUDA_(?:HOME|PATH(?:_V\d+_\d+)?|ROOT|DIR|(?:BIN|LIB|INC)_PATH|TOOLKIT_(?:ROOT(?:_DIR)?|PATH)|CACHE_PATH"
    r"|MPS_(?:PIPE|LOG)_DIRECTORY)|CUDNN_(?:PATH|HOME|DIR|ROOT|INCLUDE_DIR|LIBRARY|LIB_DIR)|LD_LIBRARY_PATH"
    r"|LD_PRELOAD|PYTHONPATH|PYTHONHOME|VIRTUAL_ENV|CONDA_PREFIX|KERAS_HOME|PATH|Path"
)
MISSPELT = r"(?!CUDA_VISIBLE_DEVICES(?!\w))CUDA_VIS[A-Z]{2,8}_D[A-Z]{3,8}"
"""Matches misspellings of CUDA_VISIBLE_DEVICES, which CUDA does not read."""
_FIRST = (
    *("CUD", "NVIDIA_", "NCCL_", "TF_", "TF2_", "XLA_", "KERAS_", "SLURM_", "GPU_", "PYTHONNO", "CONDA_"),
    *("LOADEDMODULES", "SINGULARITY_NV", "APPTAINER_NV", "SNAP_NAME"),
)
"""The prefixes of names whose values are words. This quick test comes first, because compiling the pattern
takes a while and most variables have other prefixes."""
CONFIG = "TF_CONFIG"
_PLAIN = lazy.compile(r"[\w.,:;*+=@/|<>!() \[\]\"'-]*")
_LONGEST_WORD = 80


def decides(name: str) -> bool:
    """Whether the variable affects TensorFlow or the GPU; only then is its value read."""
    listed = _PATHS.fullmatch(name) or (name.startswith(_FIRST) and _WORDS.fullmatch(name))
    return name == CONFIG or (bool(listed) and not secrecy(name))


def kept(name: str, value: str, hide: Callable[[str], str]) -> str:
    """The value of an environment variable in the form that a shared report may show: kept, redacted or
    removed.

    hide: a function that removes names and secrets from a string.
    """
    if name == CONFIG:
        return config(value)
    if not decides(name):
        return REMOVED if value else value
    if _PATHS.fullmatch(name) or name.endswith("FLAGS"):
        return hide(value)
    pieces = re.split(r"[,;: ]", value)
    if not _PLAIN.fullmatch(value) or any(len(piece) > _LONGEST_WORD for piece in pieces):
        return REMOVED
    return hide(value)


def config(value: str) -> str:
    """Return the value of TF_CONFIG with its structure and ports but without hosts; REDACTED if it is not
    JSON."""
    try:
        return json.dumps(_structure(json.loads(value), 0))
    except (ValueError, RecursionError):
        return REMOVED if value.strip() else value


_KNOWN_WORDS = {
    "chief", "worker", "ps", "evaluator", "master", "cluster", "task", "type", "index", "environment",
    "cloud", "rpc_layer", "grpc", "local", "job", "service", "trial", "coordinator",
}  # fmt: skip


def _structure(value: Any, depth: int) -> Any:
    if depth > 20:
        raise ValueError("too deep")
    if isinstance(value, dict):
        return {
            (key if key in _KNOWN_WORDS else REMOVED): _structure(item, depth + 1)
            for key, item in list(value.items())[:100]
        }
    if isinstance(value, list):
        return [_structure(item, depth + 1) for item in value[:1000]]
    if isinstance(value, str) and value not in _KNOWN_WORDS:
        port = re.search(r":(\d{1,5})$", value)
        return f"HOST:{port[1]}" if port else "HOST" if value else ""
    return value


_IN_TEXT = lazy.compile(r"\bTF_CONFIG(?P<by>\\{0,3}[\"']?\]?\s{0,4}[=:]\s{0,4})(?P<quote>[\"']?)(?=\{|\\+\")")


def without_config(text: str) -> str:
    """The text with the hosts removed from each TF_CONFIG value; if a value cannot be parsed, the rest of its
    line is removed."""
    if CONFIG not in text:
        return text
    parts, at = [], 0
    for match in _IN_TEXT.finditer(text):
        if match.start() < at:
            continue
        parts.append(text[at : match.end()])
        end = text.find("\n", match.end())
        at = len(text) if end < 0 else end
        try:
            value, length = json.JSONDecoder().raw_decode(text[match.end() : at])
            parts.append(json.dumps(_structure(value, 0)))
            at = match.end() + length
        except (ValueError, RecursionError):
            parts.append(REMOVED)
    return "".join(parts) + text[at:]
