"""Reads the surroundings of a program: operating system, kernel, glibc, CPU, container, WSL, scheduler,
notebook service.

All of it comes from files and environment variables; nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import (
    EnvironmentKind,
    EnvVar,
    Fact,
    Glibc,
    Kernel,
    OperatingSystem,
    Platform,
    Source,
    Symptom,
    Unreadable,
)
from doctor.probe import containers
from doctor.probe.cpu import cpu_flags
from doctor.probe.gpu_devices import SIMULATION, tegra
from doctor.probe.machine import Machine
from doctor.redact.variables import MISSPELT, decides

SYSTEM_VERSION = "/System/Library/CoreServices/SystemVersion.plist"
MARKERS = (  # environment variable, kind
    ("SINGULARITY_CONTAINER", "singularity"),
    ("SINGULARITY_NAME", "singularity"),
    ("APPTAINER_CONTAINER", "singularity"),
    ("KUBERNETES_SERVICE_HOST", "kubernetes"),
    ("SLURM_JOB_ID", "slurm"),
    ("PBS_JOBID", "pbs"),
    ("LSB_JOBID", "lsf"),
    ("COLAB_RELEASE_TAG", "colab"),
    ("COLAB_GPU", "colab"),
    ("KAGGLE_KERNEL_RUN_TYPE", "kaggle"),
    ("LOADEDMODULES", "modules"),
    ("SAGEMAKER_INTERNAL_IMAGE_URI", "sagemaker"),
)


def operating_system(machine: Machine) -> Iterator[Fact]:
    """Facts about the operating system, the kernel and the platform."""
    kind = machine.system
    if machine.system == "windows":
        yield from _windows(machine)
    elif machine.system == "macos":
        yield from _macos(machine)
    else:
        release = machine.text("/etc/os-release") or machine.text("/usr/lib/os-release")
        if release is not None:
            values = dict(re.findall(r'^(\w+)=["\']?([^"\'\n]*)', release, re.MULTILINE))
            name = " ".join(part for part in (values.get("NAME"), values.get("VERSION_ID")) if part)
            if name:
                yield OperatingSystem(Source("/etc/os-release", None, values.get("PRETTY_NAME", name)), name)
    kernel = machine.text("/proc/sys/kernel/osrelease")
    if kernel is None:
        version = re.match(r"Linux version (\S+)", machine.text("/proc/version") or "")
        kernel = version[1] if version else None
    if kernel:
        kernel = kernel.strip()
        source = Source("/proc/sys/kernel/osrelease", 1, kernel)
        yield Kernel(source, kernel)
        if "microsoft" in kernel.lower() and machine.system == "linux":
            kind = "wsl"
            if "WSL2" not in kernel and kernel.endswith("-Microsoft"):
                yield Symptom(source, "wsl1")
    yield Platform(
        Source("the kernel" if machine.live else "the files in this root"), kind, machine.processor or None
    )


def _windows(machine: Machine) -> Iterator[Fact]:
    if machine.live:
        import platform

        build, release = platform.version(), platform.release()
        if release == "10" and int(build.rpartition(".")[2] or 0) >= 22000:
            release = "11"
        yield OperatingSystem(Source("the kernel", None, build), f"Windows {release}")
    else:
        yield OperatingSystem(Source("C:\\Windows\\System32"), "Windows")


def macos_release(machine: Machine) -> str:
    """The release of macOS, such as "10.13.6"; "" if its file does not show it."""
    match = re.search(r"<key>ProductVersion</key>\s*<string>([^<]+)", machine.text(SYSTEM_VERSION) or "")
    return match[1].strip() if match else ""


def _macos(machine: Machine) -> Iterator[Fact]:
    release = macos_release(machine)
    yield OperatingSystem(Source(SYSTEM_VERSION, None, release), f"macOS {release}".rstrip())


def glibc(machine: Machine, version: tuple[int, int] | None, path: str) -> Iterator[Fact]:
    """The C library's version, from its libc.so.6; a symptom for musl, on which no TensorFlow wheel runs."""
    if machine.system != "linux":
        return
    if version is not None:
        text = f"{version[0]}.{version[1]}"
        yield Glibc(Source(path, None, f"defines GLIBC_{text}"), text)
    else:
        musl = machine.glob("/lib/ld-musl-*.so.1")
        if musl:
            yield Symptom(Source(musl[0]), "musl-libc")


def cpu(machine: Machine) -> Iterator[Fact]:
    """A symptom if the CPU lacks the features that TensorFlow's wheels need: AVX since 1.6 (release notes of
    1.6.0)."""
    if machine.system != "linux" or machine.processor != "x86_64":
        return
    flags = cpu_flags(machine)
    if not flags:
        if machine.live:
            yield Unreadable(Source("/proc/cpuinfo"), "cpu features", "/proc/cpuinfo lists no flags")
        return
    if "avx" not in flags:
        text = " ".join(sorted(flag for flag in flags if flag.startswith(("sse", "ssse")))) or "no SSE flags"
        yield Symptom(Source("/proc/cpuinfo", None, f"flags: {text}; no avx"), "cpu-without-avx")


def surroundings(machine: Machine) -> Iterator[Fact]:
    """Facts about the container, the scheduler, the notebook service, and a simulated GPU in use."""
    seen: set[str] = set()

    def kind(name: str, source: Source) -> Iterator[Fact]:
        if name not in seen:
            seen.add(name)
            yield EnvironmentKind(source, name)

    for name, source in containers.kinds(machine):
        yield from kind(name, source)
    for variable, name in MARKERS:
        if machine.env.get(variable):
            yield from kind(name, Source(f"${variable}", None, machine.env[variable]))
    if "slurm" not in seen and machine.system == "linux":
        sbatch = machine.which("sbatch") or machine.which("srun")
        if sbatch:
            source = Source(sbatch, None, "Slurm is installed, but this process is not in a job")
            yield from kind("slurm-login", source)
            yield Symptom(source, "login-node")
    yield from _jetson(machine)
    simulated = machine.env.get(SIMULATION)
    if simulated:
        source = Source(f"${SIMULATION}", None, simulated)
        yield EnvironmentKind(source, "simulated-gpu")
        yield Symptom(source, "simulated-gpu", (("simulation", simulated),))


def _jetson(machine: Machine) -> Iterator[Fact]:
    """The symptom for an NVIDIA Jetson: its GPU is not a PCI device, and its TensorFlow comes from NVIDIA."""
    board = tegra(machine)
    if board is not None:
        source = Source(board.where, 1, board.text)
        yield EnvironmentKind(source, "jetson")
        yield Symptom(source, "jetson", (("model", board.text),))


def variables(machine: Machine) -> Iterator[Fact]:
    """The environment variables that affect TensorFlow or the GPU, and misspellings of
    CUDA_VISIBLE_DEVICES."""
    for name in sorted(machine.env):
        if name.startswith("CUDA_VIS") and re.fullmatch(MISSPELT, name):
            source = machine.origins.get(name, Source("environment", None, name))
            yield Symptom(source, "variable-misspelt", (("name", name),))
        if machine.system == "windows" if name.upper() == "PATH" else decides(name):
            value = machine.env[name]
            source = machine.origins.get(name, Source("environment", None, f"{name}={value}"))
            yield EnvVar(source, name, value)
