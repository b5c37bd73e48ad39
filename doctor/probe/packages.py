"""What is installed in an environment, read from its files: every TensorFlow distribution, what it was built for, the
packages that decide whether it works, leftovers, and files that shadow it. Nothing is imported.

A distribution's name and version are those of its *.dist-info or *.egg-info folder (PyPA, "Recording installed
projects"); a conda package's those of its file in conda-meta.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from doctor.facts import (
    Absent,
    Dependency,
    Fact,
    Package,
    Source,
    Symptom,
    TensorFlowBuild,
    TensorFlowVersion,
    Unreadable,
)
from doctor.probe.build import BUILD_INFO, build_of, without_metadata
from doctor.probe.interpreter import Environment
from doctor.probe.leftovers import leftovers, strays
from doctor.probe.machine import Machine

TENSORFLOW = {
    "tensorflow",
    "tensorflow-gpu",
    "tensorflow-cpu",
    "tensorflow-intel",
    "tensorflow-macos",
    "tensorflow-cpu-aws",
    "tensorflow-aarch64",
    "tensorflow-rocm",
    "tensorflow-directml",
    "intel-tensorflow",
    "nvidia-tensorflow",
    "tf-nightly",
    "tf-nightly-gpu",
    "tf-nightly-cpu",
    "tf-nightly-intel",
    "tf-nightly-macos",
}
"""Distributions that install the module tensorflow, or a wheel of which does."""
TELLING = re.compile(
    r"pip|keras.*|tf-keras|numpy|protobuf|h5py|ml-dtypes|typing-extensions|absl-py|wrapt|gast|grpcio|flatbuffers|astunparse"
    r"|opt-einsum|six|termcolor|tensorboard|tensorflow-.*|tensorrt.*|nvidia-.*|cuda-.*|cupy.*|torch|jax|jaxlib|jax-cuda.*"
)
"""Packages that are named in a report: those that TensorFlow needs and those that bring NVIDIA's libraries."""
CONDA_TELLING = re.compile(
    r"tensorflow.*|_tflow_select|keras.*|numpy|protobuf|h5py|cudatoolkit|cuda.*|cudnn|libcu.*|libnv.*|nccl|python|ml_dtypes"
)
DEPENDENCIES = {"numpy", "protobuf", "keras", "h5py", "ml-dtypes", "typing-extensions", "tensorboard", "wrapt", "gast"}
METADATA_LIMIT = 1 << 18
MODULE_FOLDERS = ("tensorflow", "tensorflow_core")
"""The module's folder; in 1.15 to 2.1 all but a few files lie in tensorflow_core."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution: normalised name, version, its info folder and the folder that it was found in."""

    name: str
    version: str | None
    info: str
    folder: str


@dataclass(frozen=True, slots=True)
class Installed:
    """What the library probe needs: where TensorFlow lies, which release, and all distributions."""

    distributions: tuple[Distribution, ...] = ()
    tensorflow: Distribution | None = None
    location: str | None = None
    core: str | None = None
    build: TensorFlowBuild | None = None
    conda: tuple[tuple[str, str, str], ...] = ()


def normalised(name: str) -> str:
    """A distribution's name in the form in which names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(machine: Machine, folders: tuple[str, ...]) -> tuple[tuple[Distribution, ...], list[Fact]]:
    """Every distribution in the folders, the first of a name winning as in an import; and what could not be read."""
    found: dict[str, Distribution] = {}
    facts: list[Fact] = []
    for folder in folders:
        if not folder.endswith(("-packages", "site-packages", ".egg")) and not machine.is_dir(folder):
            continue
        try:
            names = machine.names(folder)
        except OSError as problem:
            facts.append(Unreadable(Source(folder), "python packages", problem.strerror or str(problem)))
            continue
        for entry in names:
            match = re.fullmatch(r"(.+?)(?:-([^-]+))?(?:-py\d[\d.]*)?(?:-[\w.]+)?\.(?:dist|egg)-info", entry)
            if match and not entry.startswith("~"):
                name = normalised(match[1])
                found.setdefault(name, Distribution(name, match[2], f"{folder}/{entry}", folder))
    return tuple(found.values()), facts


def examine(machine: Machine, environment: Environment) -> tuple[Installed, list[Fact]]:
    """TensorFlow and the packages around it."""
    installed, facts = distributions(machine, environment.path)
    mine = [entry for entry in installed if entry.name in TENSORFLOW]
    location, core = _module(machine, environment.path)
    conda = tuple(_conda(machine, environment.prefix)) if environment.conda and environment.prefix else ()
    owner = _owner(machine, mine, location) if mine else None
    build: TensorFlowBuild | None = None
    ordered = sorted(mine, key=lambda entry: (entry is not owner, entry.name != "tensorflow", entry.name))
    for entry in ordered:
        module = location if entry is owner or entry.folder == posixpath.dirname(location or "") else None
        version = entry.version or _metadata_version(machine, entry)
        if version is None:
            facts.append(Unreadable(Source(entry.info), "tensorflow", "its version is not stated"))
            continue
        text = f"{entry.name} {version}" + (f" ({_installer(machine, entry)})" if _installer(machine, entry) else "")
        facts.append(TensorFlowVersion(Source(entry.info, None, text), version, entry.name, location=module))
    here = [entry for entry in mine if entry.folder == posixpath.dirname(location or "")]
    if len(here) > 1 and owner is not None:
        names = ", ".join(f"{entry.name} {entry.version}" for entry in here)
        source = Source(owner.info, None, f"{names} share one folder; the files are those of {owner.name}")
        facts.append(Symptom(source, "tensorflow-several", (("packages", names), ("owner", owner.name))))
    if location is not None and core is not None:
        build = build_of(machine, core)
        if build is not None:
            facts.append(build)
        if owner is None:
            facts += without_metadata(machine, location, core)
    elif mine and not any(entry.name in ("tensorflow-intel", "tensorflow-macos") for entry in mine):
        names = ", ".join(f"{entry.name} {entry.version}" for entry in mine)
        source = Source(mine[0].info, None, f"{names} is listed, its module is not there")
        facts.append(Symptom(source, "tensorflow-files-missing", (("packages", names),)))
    facts += leftovers(machine, environment, location)
    facts += strays(machine, environment, location)
    if not mine and location is None:
        where = environment.executable or environment.prefix or "python"
        text = f"no TensorFlow in {len(environment.path)} folders of its path"
        facts.append(Absent(Source(where, None, text), "tensorflow"))
    facts += _packages(machine, installed, conda, environment)
    if owner is not None:
        facts += _dependencies(machine, owner)
    return Installed(installed, owner, location, core, build, conda), facts


def _module(machine: Machine, folders: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The folder of the module tensorflow, as an import would find it, and the folder of its libraries."""
    for folder in folders:
        if machine.exists(f"{folder}/tensorflow/__init__.py"):
            core = f"{folder}/tensorflow_core"
            has_core = machine.exists(f"{core}/python/__init__.py")
            return f"{folder}/tensorflow", core if has_core else f"{folder}/tensorflow"
    return None, None


def _owner(machine: Machine, mine: list[Distribution], location: str | None) -> Distribution | None:
    """Which of several distributions wrote the files: the one whose RECORD has the hash of build_info.py on disk."""
    if location is None:
        return mine[0] if len(mine) == 1 else None
    here = [entry for entry in mine if entry.folder == posixpath.dirname(location)] or mine
    # tensorflow 2.11 to 2.18.0 on Windows and 2.13 to 2.15.0 on macOS are empty and bring the real one along
    real = [entry for entry in here if entry.name in ("tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws")]
    if len(here) == 1:
        return here[0]
    import base64
    import hashlib

    base = posixpath.dirname(location)
    for module in MODULE_FOLDERS:
        data = machine.read(f"{base}/{module}/{BUILD_INFO}")
        if data is None:
            continue
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        line = f"{module}/{BUILD_INFO},sha256={digest}"
        owners = [entry for entry in here if line in (machine.text(f"{entry.info}/RECORD", 16 << 20) or "")]
        if len(owners) == 1:
            return owners[0]
    return real[0] if real else here[0]


def _metadata_version(machine: Machine, entry: Distribution) -> str | None:
    text = machine.text(f"{entry.info}/METADATA", METADATA_LIMIT) or machine.text(
        f"{entry.info}/PKG-INFO", METADATA_LIMIT
    )
    match = re.search(r"^Version:\s*(\S+)", text or "", re.MULTILINE)
    return match[1] if match else None


def _installer(machine: Machine, entry: Distribution) -> str:
    """pip, uv, conda ...: what the distribution says that it was installed by."""
    return (machine.text(f"{entry.info}/INSTALLER", 64) or "").strip()


def _packages(
    machine: Machine,
    installed: tuple[Distribution, ...],
    conda: tuple[tuple[str, str, str], ...],
    environment: Environment,
) -> Iterator[Fact]:
    """The packages that matter, pip's and conda's, and pip's TensorFlow over conda's."""
    by_conda = {normalised(name): version for name, version, _ in conda}
    for entry in installed:
        if not TELLING.fullmatch(entry.name) and entry.name not in TENSORFLOW:
            continue
        version = entry.version or _metadata_version(machine, entry)
        manager = "pip"
        if entry.name in by_conda and _installer(machine, entry) == "conda":
            manager = "conda"
        if entry.name not in TENSORFLOW:
            yield Package(
                Source(entry.info, None, f"{entry.name} {version}"), entry.name, version, manager, entry.folder
            )
        other = by_conda.get(entry.name)
        if (
            entry.name in TENSORFLOW
            and other is not None
            and version is not None
            and manager == "pip"
            and other != version
        ):
            source = Source(entry.info, None, f"pip: {entry.name} {version}; conda-meta: {other}")
            yield Symptom(source, "pip-over-conda", (("name", entry.name), ("pip", version), ("conda", other)))
    for name, version, build in conda:
        if CONDA_TELLING.fullmatch(name):
            path = f"{environment.prefix}/conda-meta/{name}-{version}-{build}.json"
            yield Package(
                Source(path, None, f"{name} {version} {build}"), normalised(name), version, "conda", environment.prefix
            )


def _conda(machine: Machine, prefix: str) -> Iterator[tuple[str, str, str]]:
    """(name, version, build) of every conda package, from the names in conda-meta."""
    try:
        names = machine.names(f"{prefix}/conda-meta")
    except OSError:
        return
    for entry in names:
        match = re.fullmatch(r"(.+)-([^-]+)-([^-]+)\.json", entry)
        if match:
            yield match[1], match[2], match[3]


def _dependencies(machine: Machine, owner: Distribution) -> Iterator[Fact]:
    """What TensorFlow's METADATA states that it needs, of the packages that break it, and its extra and-cuda's pins."""
    text = machine.text(f"{owner.info}/METADATA", METADATA_LIMIT) or ""
    for number, line in enumerate(text.splitlines(), 1):
        if line == "":
            break
        match = re.match(r"Requires-Dist:\s*([\w.-]+)\s*(?:\(([^)]*)\)|([^;]*))?\s*(?:;\s*(.*))?$", line)
        if not match:
            continue
        name, marker = normalised(match[1]), match[4] or ""
        specifier = re.sub(r"\s+", "", match[2] or match[3] or "")
        source = Source(f"{owner.info}/METADATA", number, line)
        if "extra" in marker:
            if "and-cuda" in marker and name.startswith(("nvidia-", "tensorrt")):
                yield Dependency(source, f"{owner.name}[and-cuda]", name, specifier)
        elif name in DEPENDENCIES and not marker:
            yield Dependency(source, owner.name, name, specifier)
