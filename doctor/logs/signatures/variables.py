"""Signatures that recognise the setting of environment variables."""

from __future__ import annotations

import re

from doctor.facts import EnvVar, Fact, Source
from doctor.logs.signatures.signature import Signature, sig, spoken
from doctor.redact.variables import MISSPELT

_NAMES = r"(?:gpu|mig|all|none|void|no|nodevfiles)(?![a-z])"
"""Matches the entries other than numbers that a device list may contain: UUIDs, and words that the container
runtime and schedulers use."""


def env(match: re.Match[str], source: Source) -> Fact | None:
    """Create the EnvVar fact for an environment variable that was set. Return None if its value is not a
    device list but just a word in the sentence."""
    value = match["value"].strip()
    if (
        match["name"].upper().endswith("VISIBLE_DEVICES")
        and value[:1].isalpha()
        and not re.match(_NAMES, value, re.IGNORECASE)
    ):
        return None
    return EnvVar(source, match["name"].upper(), value.strip("'\"`").strip())


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "env-var",
        "cuda_visible_devices|nvidia_visible_devices|nvidia_driver_capabilities|hip_visible_devices",
        r"(?P<name>CUDA_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES|NVIDIA_DRIVER_CAPABILITIES)['\"]?\]?\s*(?:==?"
        r"|,|:)\s*(?P<value>\"[^\"\n]{0,60}\"|'[^'\n]{0,60}'|[\w,./:-]{0,60})(?![\w(])",
        'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"',
        env,
    ),
    sig(  # what the shell prints for the variable
        "env-var",
        "cuda_visible_devices",
        r"\becho \"?[$%]\{?(?P<name>CUDA_VISIBLE_DEVICES)\b[}%]?\"?\s*\n"
        r"\s{0,8}(?P<value>-?\d{1,3}(?:,-?\d{1,3}){0,15})\s*$",
        "$ echo $CUDA_VISIBLE_DEVICES\n-1",
        env,
        lines=2,
        at="value",
        near="echo ",
    ),
    sig(  # a name that CUDA does not read
        "variable-misspelt",
        "cuda_vis",
        rf"(?<!\w)(?P<name>{MISSPELT})(?:['\"]\])?\s?=\s?['\"]?(?:-?\d|['\"])",
        'os.environ["CUDA_VISIBLE_DEVICE"] = "0"',
    ),
    sig(  # a setting that a sentence states
        "env-var",
        "cuda_visible_devices",
        r"(?P<name>CUDA_VISIBLE_DEVICES)`? (?:is (?:set to )?|was (?:set to )?|to |as"
        r" )(?P<value>[`'\"]{0,2}-1)\b",
        'CUDA_VISIBLE_DEVICES is "-1"',
        env,
        near="-1",
    ),
    sig(  # according to the reporter, something empties the variable
        "visible-emptied",
        "cuda_visible_devices|set_cuda_visible_devices",
        r"CUDA_VISIBLE_DEVICES[`'\"]{0,2}\]?\)? (?:\w+ ){0,5}?(?:to |as |=+ ?)?(?:an? |the )?(?:empty"
        r" (?:string|list|value)|\[\]|''|\"\")"
        r"|(?:empty (?:string|list|value)|\[\]|''|\"\") (?:\w+ ){0,3}\$?CUDA_VISIBLE_DEVICES"
        r"|CUDA_VISIBLE_DEVICES\b[`'\"]?[^\n.]{0,20}\b(?:prints?|gives?|shows?|returns?|is|was|comes out)"
        r" (?:\w+ ){0,2}(?:empty|nothing|blank)\b"
        r"|(?:empt(?:y|ies|ied)|overwr\w+|overrid\w+) (?:\w+ ){0,3}?[`'\"]?\$?CUDA_VISIBLE_DEVICES",
        "in the worker CUDA_VISIBLE_DEVICES is set to an empty string",
    ),
    sig(
        "code-hides-gpus",
        "set_visible_devices(|device_count",
        r"set_visible_devices\(\s*(?:devices\s*=\s*)?\[\s*\]\s*,\s*(?:device_type\s*=\s*)?['\"]GPU['\"]"
        r"|device_count\s*=\s*\{[^}\n]{0,40}['\"]GPU['\"]\s*:\s*0\b",
        "tf.config.set_visible_devices([], 'GPU')",
    ),
    sig(
        "env-var",
        "ld_library_path=|ld_library_path =",
        r"(?P<name>LD_LIBRARY_PATH)\s*=\s*(?P<value>[^\s;\n]{1,300})",
        "export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/usr/local/cuda-11/lib64",
        env,
    ),
    sig(
        "env-var",
        "tf_force_gpu_allow_growth|tf_gpu_allocator|xla_flags|tf_cpp_min_log_level|tf_use_legacy_keras|"
        "cuda_device_order|cuda_home=|cuda_path=|cuda_home|cuda_path",
        # TensorFlow's own advice is not a setting (bfc_allocator.cc, mark_for_compilation_pass.cc)
        r"(?<!maybe the environment variable ')(?<!envvar )"
        r"(?P<name>TF_FORCE_GPU_ALLOW_GROWTH|TF_GPU_ALLOCATOR|XLA_FLAGS|TF_XLA_FLAGS|TF_CPP_MIN_LOG_LEVEL"
        r"|TF_USE_LEGACY_KERAS|CUDA_DEVICE_ORDER|CUDA_HOME|CUDA_PATH)['\"]?\]?\s*=\s*"
        r"(?P<value>\"[^\"\n]{0,120}\"|'[^'\n]{0,120}'|[^\s'\";]{0,120})",
        "export TF_GPU_ALLOCATOR=cuda_malloc_async",
        env,
    ),
    spoken(
        "env-var",
        "$cuda_visible_devices",
        r"\becho \$(?P<name>CUDA_VISIBLE_DEVICES)[`'\"]{0,2},? (?:(?:just|only|it|which) )?(?:prints?"
        r"|gives?|shows?|says|returns?|is|outputs?|->|=>)(?: me)?:? [`'\"]?(?P<value>-1|NoDevFiles)\b",
        "echo $CUDA_VISIBLE_DEVICES prints -1",
        lambda m, s: EnvVar(s, "CUDA_VISIBLE_DEVICES", m["value"]),
        near="-1|nodevfiles",
    ),
)
