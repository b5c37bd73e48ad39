"""Finds XLA's compiler tools where TensorFlow itself searches: ptxas, and libdevice.10.bc in nvvm/libdevice.

This covers only the wheels whose search is known from what releases 2.12 to 2.20 print if they find no tools
(tests/data/logs/simulated/*/no-ptxas.log; XLA, cuda_root_path.cc, subprocess_compilation.cc). Earlier
releases compile with XLA only if a program requests it. Keras's optimizers have compiled by default since
2.11, and `fit` since 2.16.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import Source, Symptom, TensorFlowVersion
from doctor.probe.fabric import STATUS
from doctor.probe.interpreter import Environment
from doctor.probe.machine import Machine
from doctor.probe.packages import Installed
from doctor.probe.places import toolkits
from doctor.tables import Tables, at_least, own_builds

FIRST = "2.11"
"""The first release whose Keras compiles with XLA by default."""
ROOTS = (
    ("", "2.18", "/usr/local/cuda-{cuda}"),
    ("", "", "/usr/local/cuda"),
    ("2.19", "", "/opt/cuda"),
    ("2.14", "", "{site}/nvidia/cuda_nvcc"),
    ("2.18", "", "{site}/tensorflow/cuda"),
    ("2.20", "", "{site}/../../.."),
)
"""The folders below which XLA looks: (the first release that looks there, the first release that no longer
looks there, the folder)."""
OF_DEBIAN = ("/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit")
"""The folders of Debian's CUDA toolkit."""
USUAL = "/usr/local/bin:/usr/bin:/bin"
TOOLS = {"ptxas": "bin/ptxas", "libdevice.10.bc": "nvvm/libdevice"}
COMPILER_WHEEL = lazy.compile(r"nvidia-cuda-nvcc-cu1[12]")
CUDA_OF_CONDA = lazy.compile(r"cudatoolkit|cuda-cudart|cuda-runtime|cuda-libraries|libcublas")
WITHOUT_COMPILER = ("torch", "cupy-cuda12x", "cupy-cuda11x")
"""Packages that install or use NVIDIA's wheels, but not the wheel that contains the compiler."""


def missing_tools(
    machine: Machine,
    environment: Environment,
    installed: Installed,
    release: TensorFlowVersion | None,
    platform: str,
    tables: Tables,
    runtime: str | None,
) -> Iterator[Symptom]:
    """The compiler tools that XLA would not find. runtime: the libcudart that TensorFlow loads."""
    owner, location, build = installed.tensorflow, installed.location, installed.build
    if release is None or owner is None or location is None or build is None or runtime is None:
        return
    row = tables.tensorflow(release.version, release.package, platform)
    of_wheel = row is not None and own_builds.of_wheel(
        row, release.version, build.gpu, build.cuda, build.cudnn, build.capabilities
    )
    by_conda = any(name.startswith("tensorflow") for name, _, _ in installed.conda)
    flags = machine.env.get("XLA_FLAGS", "")
    if not of_wheel or by_conda or not at_least(release.version, FIRST) or "fallback_to_driver" in flags:
        return
    site = posixpath.dirname(location)
    # a copy of another machine's files may contain only the libraries of a package
    names = [entry.name for entry in installed.distributions]
    packed = {f"{site}/nvidia/cuda_nvcc" for name in names if COMPILER_WHEEL.fullmatch(name)}
    if not packed and any(name.startswith("nvidia-cuda-nvcc") for name in names):
        return
    named = re.findall(r"--xla_gpu_cuda_data_dir=(\S+)", flags)
    known = {"cuda": ".".join((build.cuda or "").split(".")[:2]), "site": site}
    roots = named[-1:]  # if the flag is given several times, the last one counts
    roots += [
        posixpath.normpath(root.format(**known))
        for first, end, root in ROOTS
        if at_least(release.version, first or "0") and not (end and at_least(release.version, end))
    ]
    path = [*filter(None, machine.env.get("PATH", USUAL).split(":")), f"{environment.prefix}/bin"]

    def has(home: str, tool: str) -> bool:
        return home in packed or machine.exists(f"{home}/{TOOLS[tool]}")

    with machine.noting() as unseen:
        found = {tool: any(has(root, tool) for root in roots) for tool in TOOLS}
        found["ptxas"] |= any(machine.exists(f"{folder}/ptxas") for folder in path)
        lacks = [tool for tool in TOOLS if not found[tool]]
        others = [*packed, *toolkits(machine), *OF_DEBIAN, environment.prefix or "/"] if lacks else []
        other = next((home for home in others if all(has(home, tool) for tool in lacks)), "")
        sure = bool(lacks) and _sure(machine, installed, posixpath.dirname(machine.resolve(runtime)), other)
    if not lacks or unseen or (other and "PATH" not in machine.env and lacks[0] == "ptxas"):
        return
    text = f"{' and '.join(lacks)}: found neither on PATH nor below {', '.join(roots)}"
    detail = (("lacks", " ".join(lacks)), ("elsewhere", other), ("sure", "yes" if sure else ""))
    yield Symptom(Source("XLA's search for its compiler", None, text), "xla-tools-missing", detail)


def _sure(machine: Machine, installed: Installed, folder: str, other: str) -> bool:
    """Whether it is certain that the tools are absent, because the files in their usual place are complete.

    This is true if the package manager that installed the CUDA libraries in this folder lists its packages
    and none of them contains the compiler, or if the toolkit's folder of programs does not contain it.
    """
    if other:
        return True
    if installed.conda and not folder.startswith("/usr/"):
        names = [name for name, _, _ in installed.conda]
        return any(map(CUDA_OF_CONDA.fullmatch, names)) and not any("nvcc" in name for name in names)
    if "-packages/" in folder:
        return any(entry.name in WITHOUT_COMPILER for entry in installed.distributions)
    home = re.sub(r"/(?:lib|lib64|targets/[^/]+/lib)$", "", folder)
    if home in toolkits(machine) and machine.names_seen(f"{home}/bin"):
        return True
    status = machine.text_seen(STATUS)  # "" also if it is larger than the read limit
    return "\nPackage: cuda-cudart-" in f"\n{status}" and "Package: cuda-nvcc-" not in status
