"""Reads an environment's packages from its files: every TensorFlow distribution, what it was built for, the
packages that decide whether it works, leftovers, and files that shadow TensorFlow. Nothing is imported.

A distribution's name and version come from its *.dist-info or *.egg-info folder (PyPA, "Recording installed
projects"), those of a conda package from its file in conda-meta.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import (
    Dependency,
    Fact,
    Package,
    Source,
    Symptom,
    TensorFlowBuild,
    TensorFlowVersion,
    Unreadable,
    normalised,
)
from doctor.probe import addons
from doctor.probe.build import BUILD_INFO, build_of, without_metadata
from doctor.probe.distribution import Distribution, requirements, version_of
from doctor.probe.inside import reason
from doctor.probe.interpreter import Environment
from doctor.probe.leftovers import leftovers, strays
from doctor.probe.machine import Machine
from doctor.probe.missing import missing
from doctor.values import dataclass

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
"""Distributions with a wheel that installs the module tensorflow."""
REPORTED = lazy.compile(
    r"pip|keras.*|tf-keras|numpy|protobuf|h5py|ml-dtypes|typing-extensions|absl-py|wrapt|gast|grpcio"
    r"|flatbuffers|astunparse"
    r"|opt-einsum|six|termcolor|tensorboard|tensorflow-.*|tensorrt.*|nvidia-.*|cuda-.*|cupy.*|torch|jax"
    r"|jaxlib|jax-cuda.*"
)
"""Packages that reports list: those that TensorFlow needs and those with NVIDIA's libraries."""
REPORTED_OF_CONDA = lazy.compile(
    r"tensorflow.*|_tflow_select|keras.*|numpy|protobuf|h5py|cudatoolkit|cuda.*|cudnn|libcu.*|libnv.*|nccl"
    r"|python|ml_dtypes"
)
DEPENDENCIES = {
    "numpy",
    "protobuf",
    "keras",
    "h5py",
    "ml-dtypes",
    "typing-extensions",
    "tensorboard",
    "wrapt",
    "gast",
}
DIRECTML = ("tensorflow-directml-plugin", "tensorflow-directml")
RECORD_LIMIT = 16 << 20
INFO = lazy.compile(r"(.+?)(?:-(\d[^-]*))?(?:-py\d[\d.]*)?(?:-[\w.]+)?\.(?:dist|egg)-info")
EGG = lazy.compile(r"(.{1,120}?)-([^-]{1,80})-py\d[\d.]{0,8}(?:-[\w.-]{1,80})?\.egg")
FRAMEWORKS = ("libtensorflow_framework.so.2", "libtensorflow_framework.so.1", "libtensorflow_framework.so")
EXTENSIONS = (
    "python/_pywrap_tensorflow_internal.so",
    "python/_pywrap_tensorflow.so",
    "libtensorflow_cc.so.2",
)
"""The extension modules that `import tensorflow` loads; in recent 2.x releases they need libtensorflow_cc."""
MODULE_FOLDERS = ("tensorflow", "tensorflow_core")
"""The module's folder; in 1.15 to 2.1 nearly all files are in tensorflow_core."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What the library probe needs: TensorFlow's folder and release, and all distributions."""

    distributions: tuple[Distribution, ...] = ()
    tensorflow: Distribution | None = None
    location: str | None = None
    core: str | None = None
    build: TensorFlowBuild | None = None
    conda: tuple[tuple[str, str, str], ...] = ()


def distributions(machine: Machine, folders: tuple[str, ...]) -> tuple[tuple[Distribution, ...], list[Fact]]:
    """Return every distribution in the folders, and facts about folders that could not be read. If several
    distributions have the same name, only the first is returned, because an import uses that one."""
    found: dict[str, Distribution] = {}
    facts: list[Fact] = []
    for folder in folders:
        if not folder.endswith(("-packages", ".egg")) and not machine.is_dir(folder):
            continue
        try:
            names = machine.names(folder)
        except OSError as problem:
            facts.append(Unreadable(Source(folder), "python packages", reason(problem)))
            continue
        own = "EGG-INFO" in names and EGG.fullmatch(posixpath.basename(folder))
        if own:  # an egg from easy_install: a separate folder on the path, or a zip file
            names = [*names, posixpath.basename(folder)]
        for entry in names:
            match = INFO.fullmatch(entry) or EGG.fullmatch(entry)
            if match and not entry.startswith("~"):
                name = normalised(match[1])
                info = f"{folder}/EGG-INFO" if own and entry == names[-1] else f"{folder}/{entry}"
                found.setdefault(name, Distribution(name, match[2], info, folder))
    return tuple(found.values()), facts


def examine(machine: Machine, environment: Environment) -> tuple[Installed, list[Fact]]:
    """Examine TensorFlow and the packages around it. Returns the data for the library probe, and the
    facts."""
    folders = tuple(dict.fromkeys((*environment.before, *environment.path)))
    with machine.noting() as unseen:
        installed, facts = distributions(machine, folders)
        location, core = _module(machine, folders)
    if environment.problem:
        unseen = {environment.executable or environment.prefix or "python": environment.problem, **unseen}
    mine = [entry for entry in installed if entry.name in TENSORFLOW]
    conda = tuple(_conda(machine, environment.prefix)) if environment.conda and environment.prefix else ()
    owner = _owner(machine, mine, location) if mine else None
    build: TensorFlowBuild | None = None
    ordered = sorted(mine, key=lambda entry: (entry is not owner, entry.name != "tensorflow", entry.name))
    for entry in ordered:
        module = location if entry is owner or entry.folder == posixpath.dirname(location or "") else None
        version = version_of(machine, entry)
        if version is None:
            facts.append(Unreadable(Source(entry.info), "tensorflow", "its files do not state its version"))
            continue
        installer = _installer(machine, entry)
        text = f"{entry.name} {version}" + (f" ({installer})" if installer else "")
        facts.append(TensorFlowVersion(Source(entry.info, None, text), version, entry.name, location=module))
    here = [entry for entry in mine if entry.folder == posixpath.dirname(location or "")]
    here = [entry for entry in here if entry is owner or not _empty(machine, entry, here)]
    if len(here) > 1 and owner is not None:
        names = ", ".join(f"{entry.name} {entry.version}" for entry in here)
        source = Source(owner.info, None, f"{names} share one folder; its files belong to {owner.name}")
        facts.append(Symptom(source, "tensorflow-several", (("packages", names), ("owner", owner.name))))
    if location is not None and core is not None:
        build = build_of(machine, core)
        if build is not None:
            facts.append(build)
        if owner is None:
            facts += without_metadata(machine, location, core)
    elif mine and unseen:
        facts.append(missing(Source(mine[0].info), "tensorflow", unseen))
    elif mine:
        names = ", ".join(f"{entry.name} {entry.version}" for entry in mine)
        source = Source(mine[0].info, None, f"listed, but the module is missing: {names}")
        facts.append(Symptom(source, "tensorflow-files-missing", (("packages", names),)))
    with machine.noting() as hidden:
        gutted = core is not None and machine.system == "linux" and not native(machine, core)
    if gutted and core is not None and not hidden and not unseen:
        text = "it contains none of TensorFlow's own libraries: an installation or a removal stopped halfway"
        detail = (("packages", owner.name if owner else ""),)
        facts.append(Symptom(Source(core, None, text), "tensorflow-files-missing", detail))
    facts += leftovers(machine, environment, location)
    facts += strays(machine, environment, location)
    if not mine and location is None:
        where = environment.executable or environment.prefix or "python"
        if folders or unseen or machine.live:  # a Python that runs reports its folders, or why it cannot
            text = f"no TensorFlow in the {len(folders)} folders on its sys.path"
            facts.append(missing(Source(where, None, text), "tensorflow", unseen))
        else:  # the Windows Store's Python, for example, keeps its packages elsewhere
            why = "the folders of its packages were not found"
            facts.append(Unreadable(Source(where), "tensorflow", why))
    facts += _packages(machine, installed, conda, environment)
    facts += _of_other_makers(machine, installed)
    if owner is not None:
        facts += _dependencies(machine, owner)
        used = version_of(machine, owner)
        facts += addons.mismatched(machine, installed, used) if used and location is not None else ()
    return Installed(installed, owner, location, core, build, conda), facts


def _module(machine: Machine, folders: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The folder of the module tensorflow that an import would find, and the folder of its libraries."""
    for folder in folders:
        module = f"{folder}/tensorflow"
        if machine.exists(f"{module}/__init__.py") and (
            machine.is_dir(f"{module}/python") or machine.is_dir(f"{folder}/tensorflow_core")
        ):  # any other folder of that name is a stray
            core = f"{folder}/tensorflow_core"
            return module, core if machine.exists(f"{core}/python/__init__.py") else module
    return None, None


def _of_other_makers(machine: Machine, installed: tuple[Distribution, ...]) -> Iterator[Fact]:
    """Symptoms for packages that let the installed TensorFlow use a GPU without CUDA: Apple's Metal and
    Microsoft's DirectML plugins, and AMD's build if AMD's kernel driver (/dev/kfd) is present."""
    here = {"macos": ("tensorflow-metal",), "windows": DIRECTML}.get(machine.system, ())
    if machine.exists("/dev/dxg"):
        here = DIRECTML
    elif machine.exists("/dev/kfd"):
        here = ("tensorflow-rocm",)
    for entry in installed:
        if entry.name in here:
            source = Source(entry.info, None, f"{entry.name} {entry.version}")
            yield Symptom(source, "plugin-device", (("name", entry.name),))


def native(machine: Machine, core: str) -> bool:
    """Whether TensorFlow's folder contains one of TensorFlow's own libraries."""
    return any(machine.exists(f"{core}/{name}") for name in (*EXTENSIONS, *FRAMEWORKS))


def _owner(machine: Machine, mine: list[Distribution], location: str | None) -> Distribution | None:
    """The distribution that wrote the files: the one whose RECORD has the hash of the build_info.py on
    disk."""
    if location is None:
        return mine[0] if len(mine) == 1 else None
    here = [entry for entry in mine if entry.folder == posixpath.dirname(location)] or mine
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
        owners = [
            entry for entry in here if line in (machine.text(f"{entry.info}/RECORD", RECORD_LIMIT) or "")
        ]
        if len(owners) == 1:
            return owners[0]
    return next((entry for entry in here if not _empty(machine, entry, here)), here[0])


def _empty(machine: Machine, entry: Distribution, beside: list[Distribution]) -> bool:
    """Whether a distribution is empty and only requires another, like tensorflow 2.11 to 2.18.0 on Windows,
    2.13 to 2.15 on macOS and 2.10 to 2.17 on Arm: it contains no file of the module, and requires an
    installed distribution that does."""
    record = machine.text(f"{entry.info}/RECORD", RECORD_LIMIT)
    if record is not None and record.strip() and re.search(r"^tensorflow(?:_core)?/", record, re.MULTILINE):
        return False
    others = {other.name for other in beside if other is not entry}
    return any(required.name in others for required in requirements(machine, entry))


def _installer(machine: Machine, entry: Distribution) -> str:
    """The installer (pip, uv, conda ...) that the distribution's metadata names."""
    return (machine.text(f"{entry.info}/INSTALLER", 64) or "").strip()


def _packages(
    machine: Machine,
    installed: tuple[Distribution, ...],
    conda: tuple[tuple[str, str, str], ...],
    environment: Environment,
) -> Iterator[Fact]:
    """Facts about the relevant packages from pip and conda, and a symptom if pip installed TensorFlow over
    conda's package."""
    by_conda = {normalised(name): version for name, version, _ in conda}
    for entry in installed:
        if not REPORTED.fullmatch(entry.name) and entry.name not in TENSORFLOW:
            continue
        name, version, other = entry.name, version_of(machine, entry), by_conda.get(entry.name)
        manager = "conda" if other is not None and _installer(machine, entry) == "conda" else "pip"
        if name not in TENSORFLOW:
            source = Source(entry.info, None, f"{name} {version}")
            yield Package(source, name, version, manager, entry.folder)
        elif manager == "pip" and other is not None and version is not None and other != version:
            source = Source(entry.info, None, f"pip: {name} {version}; conda-meta: {other}")
            yield Symptom(source, "pip-over-conda", (("name", name), ("pip", version), ("conda", other)))
    for name, version, build in conda:
        if REPORTED_OF_CONDA.fullmatch(name):
            path = f"{environment.prefix}/conda-meta/{name}-{version}-{build}.json"
            source = Source(path, None, f"{name} {version} {build}")
            yield Package(source, normalised(name), version, "conda", environment.prefix)


def _conda(machine: Machine, prefix: str) -> Iterator[tuple[str, str, str]]:
    """(name, version, build) of every conda package, from the names in conda-meta."""
    for entry in machine.names_seen(f"{prefix}/conda-meta"):
        match = re.fullmatch(r"(.+)-([^-]+)-([^-]+)\.json", entry)
        if match:
            yield match[1], match[2], match[3]


def _dependencies(machine: Machine, owner: Distribution) -> Iterator[Fact]:
    """TensorFlow's requirements in its METADATA: those for packages that can break it, and the pins in its
    extra and-cuda."""
    for required in requirements(machine, owner):
        by, name, marker = owner.name, required.name, required.marker
        if "extra" in marker and "and-cuda" in marker and name.startswith(("nvidia-", "tensorrt")):
            by = f"{owner.name}[and-cuda]"
        elif marker or name not in DEPENDENCIES:
            continue
        yield Dependency(required.source, by, name, required.versions)
