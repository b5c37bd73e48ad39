"""Creates the facts about a machine that is not examined but described: by options, or by the JSON from an
earlier check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor import lazy
from doctor.errors import InputError, UsageError
from doctor.facts import (
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    EnvironmentKind,
    Fact,
    Facts,
    Glibc,
    Gpu,
    OperatingSystem,
    Platform,
    PythonVersion,
    Source,
    Symptom,
)
from doctor.tables import Tables, dotted
from doctor.tables.arm import only_with_arm

_MACHINES = {
    "aarch64": "aarch64",
    "arm64": "aarch64",
    "x86_64": "x86_64",
    "x86-64": "x86_64",
    "amd64": "x86_64",
}
_LINUX = lazy.compile(
    r"linux|gnu|ubuntu|debian|mint|pop|rhel|red ?hat|centos|rocky|alma|fedora|suse|sles|opensuse|arch|manjaro"
    r"|amazon|oracle|kali|gentoo|nixos|alpine|jetson|l4t"
)
"""Matches the beginning of the name of a Linux distribution, in lower case."""
_OTHERS = lazy.compile(
    r"(?i)\b(?:amd|ati|radeon|instinct|fire(?:pro|gl)|rx ?(?:vega|[4-9]\d{2,3})|mi\d{2,3}x?|intel|arc"
    r"|iris|uhd|gaudi|apple|mali|adreno)\b|\bm[1-9] (?:pro|max|ultra)\b"
)
"""Matches names of GPUs from makers other than NVIDIA."""


def described(
    tables: Tables,
    *,
    os: str | None = None,
    gpu: list[str] | None = None,
    driver: str | None = None,
    python: str | None = None,
    cuda: str | None = None,
    cudnn: str | None = None,
) -> Facts:
    """Return the facts about a machine that is described by options. Raises UsageError for an option whose
    value is unknown or ambiguous."""
    facts: list[Fact] = []
    gpus = [_gpu(name, tables) for name in gpu or ()]
    arm = next(
        (row for fact in gpus if (row := only_with_arm(tables.store, fact.name, fact.compute_capability))),
        None,
    )
    facts += (
        _system(os, arm) if os else [Platform(Source("assumed"), "linux", "aarch64" if arm else "x86_64", 3)]
    )
    facts += gpus
    for kind, option, version, example in (
        (DriverVersion, "--driver", driver, "535.183.01"),
        (PythonVersion, "--python", python, "3.12"),
        (CudaVersion, "--cuda", cuda, "12.2"),
        (CudnnVersion, "--cudnn", cudnn, "8.9"),
    ):
        if version:
            facts.append(kind(Source(option, None, version), _number(version, option, example)))
    return Facts(tuple(facts), "machine", "a described machine")


def _number(text: str, option: str, example: str) -> str:
    """Return the version without a leading letter ("v2", "R535"). Raises UsageError if the text is not a
    version."""
    try:
        dotted(text)
    except ValueError:
        raise UsageError(f"{option} {text}: not a version", f"for example: {option} {example}") from None
    return text.strip().lstrip("vVrR")


def _system(text: str, arm: Mapping[str, Any] | None) -> list[Fact]:
    """Return the facts that the value of --os implies. arm: the table row for a requested GPU that exists
    only in machines with an Arm CPU, or None. Raises UsageError for an unknown system."""
    source = Source("--os", None, text)
    low = text.lower()
    machine = next((name for word, name in _MACHINES.items() if word in low), None)
    if arm is not None and machine == "x86_64":
        raise UsageError(
            f"--os {text}: {arm['name']} exists only in machines with an Arm CPU",
            "omit the processor, or write aarch64",
        )
    machine = "aarch64" if arm is not None else machine
    facts: list[Fact] = []
    if "wsl" in low:
        facts.append(Platform(source, "wsl", machine or "x86_64"))
    elif low.startswith("win"):
        facts.append(Platform(source, "windows", machine or "x86_64"))
    elif low.startswith(("mac", "darwin", "os x", "osx")):
        facts.append(
            Platform(source, "macos", "x86_64" if machine == "x86_64" or "intel" in low else "arm64")
        )
    elif low.startswith(("docker", "container")):
        facts += [Platform(source, "linux", machine or "x86_64"), EnvironmentKind(source, "docker")]
    elif _LINUX.match(low):
        jetson = low.startswith(("jetson", "l4t"))
        facts.append(Platform(source, "linux", machine or ("aarch64" if jetson else "x86_64")))
        if jetson:
            facts.append(EnvironmentKind(source, "jetson"))
        if low.startswith("alpine"):
            facts.append(Symptom(source, "musl-libc"))
    else:
        raise UsageError(
            f"--os {text}: unknown operating system",
            "for example: 'Ubuntu 24.04', 'Debian 12', 'RHEL 9', 'Windows 11', 'WSL', 'macOS arm64', 'linux"
            " aarch64'",
        )
    name = re.sub(r"\s{0,4}\b(?:aarch64|arm64|x86[-_]64|amd64)\b", "", text, flags=re.IGNORECASE).strip()
    if name.lower() not in ("linux", "wsl", "wsl2", "docker", "container", ""):
        facts.append(
            OperatingSystem(
                source, re.sub(r"(?i)\s{0,4}\bon wsl2?\b|\s{0,4}\(?\bwsl2?\b\)?", "", name).strip() or name
            )
        )
    return facts


def _gpu(text: str, tables: Tables) -> Gpu:
    """Return the GPU that a name, PCI id or compute capability means. Raises UsageError if it is unknown or
    if models with the name differ."""
    source = Source("--gpu", None, text)
    capability = tables.capability(text)
    found = tables.gpu(text)
    numeric = re.fullmatch(r"(?i)\d{1,2}\.\d|(?:sm|compute)_?\d{2,3}[af]?", text.strip())
    if capability is not None:
        return Gpu(source, None if numeric else text, capability)
    options = sorted({g.capability for g in found if g.capability}, key=dotted)
    if options:
        raise UsageError(
            f"--gpu {text}: models with this name differ in compute capability: {', '.join(options)}",
            "use the compute capability (nvidia-smi --query-gpu=compute_cap --format=csv) or the PCI id"
            " (lspci -nn) instead",
        )
    if _OTHERS.search(text):
        raise UsageError(
            f"--gpu {text}: not an NVIDIA GPU, so no TensorFlow build with CUDA can use it",
            "--gpu none plans for the CPU; AMD's tensorflow-rocm, Intel's intel-extension-for-tensorflow and"
            " Apple's tensorflow-metal are other builds, which are not in the tables",
        )
    raise UsageError(
        f"--gpu {text}: not in the tables", "use its compute capability (--gpu 8.6) or its PCI id instead"
    )


def machine_file(path: str, tables: Tables) -> Facts:
    """Read the facts from a file that `check --format json` or `check --save` wrote on another machine.
    Raises InputError."""
    import json
    from pathlib import Path

    from doctor.probe import record

    try:
        text = Path(path).read_bytes()[: record.SIZE_LIMIT + 1].decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read `{path}`: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read `{path}`: it is not UTF-8 text") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"`{path}` is not JSON: {error}",
            "create it on that machine: tfgpu-doctor check --format json --output FILE",
        ) from error
    kept = document.get("record", document) if isinstance(document, dict) else None
    if isinstance(kept, dict) and kept.get("kind") == record.KIND:
        try:
            return record.from_record(kept)
        except record.NotRecordError as error:
            raise InputError(f"`{path}`: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("facts"), dict):
        raise InputError(
            f"`{path}` is not the JSON output of `tfgpu-doctor check`",
            "create it on that machine: tfgpu-doctor check --format json --output FILE",
        )
    return from_check(document["facts"], path)


def _place(entry: Mapping[str, Any]) -> str | None:
    """Return the source of a fact in the JSON output of `check`, or None if it has none. The source shows
    whether a library belongs to the system or to an environment."""
    evidence = entry.get("evidence")
    first = evidence[0] if isinstance(evidence, list) and evidence else None
    source = first.get("source") if isinstance(first, Mapping) else None
    return source if isinstance(source, str) else None


def from_check(facts: Mapping[str, Any], name: str) -> Facts:
    """Return the facts that a plan needs from the JSON output of `check`. Facts with an unexpected form are
    left out. name: the file."""

    def value(key: str) -> Any:
        entry = facts.get(key)
        return entry.get("value") if isinstance(entry, Mapping) else None

    def text(key: str) -> str | None:
        found = value(key)
        return found if isinstance(found, str) and found else None

    found: list[Fact] = []
    os, platform = text("os"), text("platform")
    machine = next((m for word, m in _MACHINES.items() if os and word in os.lower()), None)
    if platform in ("linux", "windows", "wsl", "macos"):
        found.append(Platform(Source(name, None, platform), platform, machine))
    if os:
        found.append(OperatingSystem(Source(name, None, os), os))
    for key, kind in (("driver", DriverVersion), ("python", PythonVersion)):
        version = text(key)
        if version and re.match(r"\d", version):
            found.append(kind(Source(name, None, f"{key}: {version}"), version))
    for key, library in (("cuda", CudaVersion), ("cudnn", CudnnVersion)):
        version = text(key)
        if version and re.match(r"\d", version):
            found.append(library(Source(name, None, f"{key}: {version}"), version, _place(facts[key])))
    gpus = value("gpus")
    for gpu in gpus if isinstance(gpus, list) else ():
        if isinstance(gpu, Mapping):
            capability, called = gpu.get("compute_capability"), gpu.get("name")
            source = Source(name, None, str(called or capability))
            known = isinstance(capability, str) and re.fullmatch(r"\d+\.\d", capability)
            model = called if isinstance(called, str) else None
            found.append(Gpu(source, model, capability if known else None))
    surroundings = value("environment")
    for kind_ in surroundings if isinstance(surroundings, list) else ():
        found.append(EnvironmentKind(Source(name), str(kind_)))
    glibc = text("glibc")
    if glibc:
        found.append(Glibc(Source(name), glibc))
    return Facts(tuple(found), "machine", name)
