"""Applies the effects of the printed steps to a Windows machine that is a folder."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from doctor.facts import DriverVersion, Gpu
from doctor.findings import Finding, Step
from doctor.tables import Tables
from tests.probe.machines import Folder
from tests.probe.test_windows import CUDA, FOLDER, NAMES, Windows, dll, in_registry

OLDER = b"#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 0\n#define CUDNN_PATCHLEVEL 5\n"
FIT = OLDER.replace(b"MINOR 0", b"MINOR 1").replace(b"LEVEL 5", b"LEVEL 1")
HOME = "C:\\" + CUDA.replace("/", "\\")
ENVIRONMENTS = "Users/me/miniconda3/envs"
SITE = "venv/Lib/site-packages"


def cudnn(machine: Windows) -> None:
    machine.write(f"{CUDA}/bin/cudnn64_8.dll", dll(("cudnn_ops_infer64_8.dll",)))
    machine.write(f"{CUDA}/bin/cudnn_ops_infer64_8.dll", dll())
    machine.write(f"{CUDA}/include/cudnn_version.h", FIT)


def toolkit(machine: Windows) -> None:
    for name in NAMES:
        machine.write(f"{CUDA}/bin/{name}.dll", dll())
    cudnn(machine)


def on_path(machine: Windows, text: str) -> None:
    machine.env["PATH"] = text.replace("%PATH%", machine.env["PATH"])


STEPS: tuple[tuple[str, Callable[..., object]], ...] = (
    (r'set "PATH=(.*)"', on_path),
    (r"Put zlibwapi.dll", lambda m: m.write("Windows/zlibwapi.dll", dll())),
    (r"winget install Microsoft.VCRedist", lambda m: m.write("Windows/System32/msvcp140_1.dll", dll())),
    (r"Install cuDNN 8\S* (?:or a later 8\.x )?for CUDA 11.2", cudnn),
    (r"Install the CUDA Toolkit 11.2 and cuDNN 8", toolkit),
)


def carry_out(machine: Windows, finding: Finding) -> int:
    """Carry out the first step that changes something. Returns the number of steps that did."""
    for step in finding.prescription:
        for pattern, change in STEPS:
            match = re.match(pattern, step.text)
            if match:
                change(machine, *match.groups())
                return 1
    return 0


# --- another TensorFlow, on Windows or under WSL


def with_later_tensorflow(
    root: Path, release: str, python: str, *, device: str, driver: str, cuda: bool
) -> Windows:
    """A machine with a release without GPU support. cuda: whether CUDA and cuDNN were installed for it, in
    vain."""
    machine = in_registry(Windows(root), FOLDER, device=device, driver=driver)
    machine.env["PATH"] = f"C:\\Windows;{FOLDER}"
    shutil.rmtree(root / f"{SITE}/tensorflow-2.10.0.dist-info")
    if not cuda:
        shutil.rmtree(root / "Program Files")
    machine.write("venv/pyvenv.cfg", f"home = C:\\Python\nversion = {python}.5\n".encode())
    tensorflow(machine, SITE, release, None, None)
    return machine


def tensorflow(machine: Windows, site: str, release: str, cuda: str | None, cudnn: str | None) -> None:
    """Put a TensorFlow release into site-packages as its wheel would."""
    info: dict[str, object] = {"is_cuda_build": cuda is not None}
    if cuda and cudnn:
        info.update(cuda_version="64_" + cuda.replace(".", ""), cudnn_version=f"64_{cudnn.split('.')[0]}")
    machine.write(f"{site}/tensorflow/__init__.py", b"raise RuntimeError\n")
    machine.write(f"{site}/tensorflow/python/platform/build_info.py", f"build_info = {info!r}\n".encode())
    package(machine, site, "tensorflow", release)


def package(machine: Windows, site: str, name: str, version: str) -> None:
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    machine.write(f"{site}/{name.replace('-', '_')}-{version}.dist-info/METADATA", text.encode())


def conda_create(machine: Windows, words: Sequence[str]) -> None:
    """Make an environment with conda-forge's python, cudatoolkit and cudnn."""
    env = f"{ENVIRONMENTS}/{words[words.index('-n') + 1]}"
    for word in words:
        name, _, version = word.partition("=")
        if version:
            machine.write(f"{env}/conda-meta/{name}-{version}.0-h1_0.json", b"{}")
        if name == "python":
            machine.write(f"{env}/python.exe", b"MZ")
        elif name == "cudatoolkit":
            assert version == "11.2", word
            for library in NAMES:
                machine.write(f"{env}/Library/bin/{library}.dll", dll())
        elif name == "cudnn":
            assert version == "8.1", word
            machine.write(f"{env}/Library/bin/cudnn64_8.dll", dll(("cudnn_ops_infer64_8.dll",)))
            machine.write(f"{env}/Library/bin/cudnn_ops_infer64_8.dll", dll())


def pip_install(machine: Windows, name: str, requirements: Sequence[str], tables: Tables) -> None:
    """Do what pip does in a conda environment."""
    site = f"{ENVIRONMENTS}/{name}/Lib/site-packages"
    for wanted in map(Requirement, requirements):
        if wanted.name == "tensorflow":
            build = tables.tensorflow(str(wanted.specifier).lstrip("="), None, "windows-amd64")
            assert build is not None, wanted
            tensorflow(machine, site, build.version, build.cuda, build.cudnn)
        else:
            assert wanted.name == "numpy", wanted
            package(machine, site, "numpy", next(v for v in ("2.1.3", "1.26.4") if v in wanted.specifier))


def activate(machine: Windows, name: str) -> None:
    """Open a new prompt in which the environment is activated."""
    env = f"C:\\{ENVIRONMENTS}/{name}".replace("/", "\\")
    folders = (env, f"{env}\\Library\\bin", f"{env}\\Scripts", machine.env["PATH"])
    machine.env = {"CONDA_PREFIX": env, "SystemRoot": "C:\\Windows", "PATH": ";".join(folders)}


def newer_driver(machine: Windows, version: str) -> None:
    """Do what NVIDIA's driver installer does: put the version into the registry in Windows' format."""
    (gpu,) = machine.facts().of(Gpu)
    path, digits = machine.env["PATH"], version.replace(".", "")
    in_registry(machine, device=str(gpu.pci_id)[-4:], driver=f"31.0.1{digits[0]}.{digits[1:]}")
    machine.env["PATH"] = path


DRIVER = r"Install an NVIDIA driver ([\d.]+) or newer for the GPU on Windows"


def stay(machine: Windows, steps: Sequence[Step], tables: Tables) -> None:
    """Carry out every step of the alternative that stays on Windows."""
    for step in steps:
        driver = re.match(DRIVER, step.text)
        words = [] if driver else shlex.split(step.text)
        if driver is not None:
            newer_driver(machine, driver[1])
        elif words[:2] == ["conda", "create"]:
            conda_create(machine, words)
        elif words[:3] == ["conda", "run", "-n"]:
            if words[4:6] != ["python", "-c"]:  # a look at the GPUs changes nothing
                assert words[4:8] == ["python", "-m", "pip", "install"], step.text
                pip_install(machine, words[3], words[8:], tables)
        else:
            assert words[:2] == ["conda", "activate"], step.text
            activate(machine, words[2])


def under_wsl(machine: Windows, root: Path, cuda: str) -> Folder:
    """Make the Ubuntu system that `wsl --install` installs, with the driver from this Windows system and the
    CUDA version that the driver supports."""
    facts = machine.facts()
    (gpu,), (driver,) = facts.of(Gpu), facts.of(DriverVersion)
    inside = Folder(root, glibc="2.39").write("/dev/dxg", "")
    inside.write("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
    inside.write("/etc/os-release", 'NAME="Ubuntu"\nVERSION_ID="24.04"\n')
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        inside.library(f"/usr/lib/wsl/lib/{name}")
    inside.in_loader_cache("/usr/lib/wsl/lib")
    capability, name = gpu.compute_capability or "", gpu.name or ""
    return inside.answers(cuda=cuda, capability=capability, name=name, driver=driver.version)
