"""The surroundings: operating system, kernel, glibc, CPU, container, WSL, scheduler, notebook service, environment.

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
from doctor.probe.cpu import cpu_flags
from doctor.probe.machine import Machine

VARIABLES = re.compile(
    r"(?:CUDA|CUDNN|NVIDIA|NCCL|TF|XLA|KERAS)(?:_\w+)?|SLURM_(?:JOB|STEP)?_?(?:GPUS|PARTITION)\w*|GPU_DEVICE_ORDINAL"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|PYTHONHOME|PYTHONNOUSERSITE|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV"
    r"|LOADEDMODULES|SINGULARITY_NV|APPTAINER_NV"
)
"""Environment variables that decide something about the GPU or about which TensorFlow runs."""
TERRAFORM = re.compile(r"TF_(?:VAR|CLI|LOG|TOKEN|DATA_DIR|WORKSPACE|INPUT|IN_AUTOMATION|PLUGIN|REGISTRY)\w*")
"""Terraform's variables, which begin with TF_ as well (developer.hashicorp.com, "Environment Variables")."""
SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|KEY|CREDENTIAL", re.IGNORECASE)
PATH_ON_WINDOWS = "PATH"

CONTAINER_FILES = (
    ("/.dockerenv", "docker"),
    ("/run/.containerenv", "podman"),
    ("/.singularity.d", "singularity"),
    ("/singularity", "singularity"),
)
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
    """OS, kernel and platform."""
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
    yield Platform(Source("the kernel" if machine.live else "the files of this root"), kind, machine.processor or None)


def _windows(machine: Machine) -> Iterator[Fact]:
    if machine.live:
        import platform

        build = platform.version()
        release = (
            "11" if platform.release() == "10" and int(build.rpartition(".")[2] or 0) >= 22000 else platform.release()
        )
        yield OperatingSystem(Source("the kernel", None, build), f"Windows {release}")
    else:
        yield OperatingSystem(Source("C:\\Windows\\System32"), "Windows")


def _macos(machine: Machine) -> Iterator[Fact]:
    text = machine.text("/System/Library/CoreServices/SystemVersion.plist") or ""
    match = re.search(r"<key>ProductVersion</key>\s*<string>([^<]+)", text)
    yield OperatingSystem(
        Source("/System/Library/CoreServices/SystemVersion.plist", None, match[1] if match else ""),
        f"macOS {match[1]}" if match else "macOS",
    )


def glibc(machine: Machine, version: tuple[int, int] | None, path: str) -> Iterator[Fact]:
    """The C library, as its libc.so.6 states it; musl is named, since no TensorFlow wheel runs on it."""
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
    """Whether the CPU has what TensorFlow's wheels are compiled for: AVX since 1.6 (release notes of 1.6.0)."""
    if machine.system != "linux" or machine.processor != "x86_64":
        return
    flags = cpu_flags(machine)
    if not flags:
        if machine.live:
            yield Unreadable(Source("/proc/cpuinfo"), "cpu features", "the file lists no flags")
        return
    if "avx" not in flags:
        text = " ".join(sorted(flag for flag in flags if flag.startswith(("sse", "ssse")))) or "no SSE flags"
        yield Symptom(Source("/proc/cpuinfo", None, f"flags: {text}; no avx"), "cpu-without-avx")


def surroundings(machine: Machine) -> Iterator[Fact]:
    """Container, scheduler, notebook service, and the simulated GPU where one is in use."""
    seen: set[str] = set()

    def kind(name: str, source: Source) -> Iterator[Fact]:
        if name not in seen:
            seen.add(name)
            yield EnvironmentKind(source, name)

    for path, name in CONTAINER_FILES:
        try:
            if machine.system == "linux" and machine.exists(path) and not root_is_a_disk(machine):
                yield from kind(name, Source(path))
        except OSError:
            continue
    for variable, name in MARKERS:
        if machine.env.get(variable):
            yield from kind(name, Source(f"${variable}", None, machine.env[variable]))
    container = machine.env.get("container", "")
    if container:
        yield from kind({"oci": "container"}.get(container, container), Source("$container", None, container))
    try:
        groups = "" if root_is_a_disk(machine) else machine.text("/proc/1/cgroup") or ""
    except OSError:
        groups = ""
    for word, name in (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc")):
        line = next((line for line in groups.splitlines() if word in line), None)
        if line is not None:
            yield from kind(name, Source("/proc/1/cgroup", None, line))
    if "slurm" not in seen and machine.system == "linux":
        sbatch = machine.which("sbatch") or machine.which("srun")
        if sbatch:
            source = Source(sbatch, None, "Slurm is installed and this is no job")
            yield from kind("slurm-login", source)
            yield Symptom(source, "login-node")
    yield from _jetson(machine)
    simulated = machine.env.get("TFGPU_DOCTOR_SIMULATION")
    if simulated:
        source = Source("$TFGPU_DOCTOR_SIMULATION", None, simulated)
        yield EnvironmentKind(source, "simulated-gpu")
        yield Symptom(source, "simulated-gpu", (("simulation", simulated),))


def root_is_a_disk(machine: Machine) -> bool:
    """Whether "/" is a whole disk or partition: then /.dockerenv is only left over from the image it was made of.

    A container's root is an overlay or another file system's folder (proc(5), mountinfo: fields 4, 5 and 10).
    """
    try:
        text = machine.text("/proc/self/mountinfo") or ""
    except OSError:
        return False
    for line in reversed(text.splitlines()):
        fields, _, behind = line.partition(" - ")
        parts, kind = fields.split(), behind.split()
        if len(parts) > 4 and parts[4] == "/" and len(kind) > 1:
            return parts[3] == "/" and re.fullmatch(r"/dev/(?:[svx]?vd|sd|hd|nvme|mmcblk|root)\w*", kind[1]) is not None
    return False


def _jetson(machine: Machine) -> Iterator[Fact]:
    """An NVIDIA Jetson: its GPU is no PCI device and its TensorFlow comes from NVIDIA."""
    if machine.system != "linux" or machine.processor != "aarch64":
        return
    release = machine.text("/etc/nv_tegra_release")
    model = machine.text("/proc/device-tree/model")
    if release is not None or (model and "jetson" in model.lower()):
        text = (model or release or "").strip("\0\n ")
        source = Source("/etc/nv_tegra_release" if release is not None else "/proc/device-tree/model", 1, text)
        yield EnvironmentKind(source, "jetson")
        yield Symptom(source, "jetson", (("model", text),))


def variables(machine: Machine) -> Iterator[Fact]:
    """The environment variables that decide something here."""
    for name in sorted(machine.env):
        wanted = VARIABLES.fullmatch(name) or (name.upper() == PATH_ON_WINDOWS and machine.system == "windows")
        if wanted and not SECRET.search(name) and not TERRAFORM.fullmatch(name):
            value = machine.env[name]
            yield EnvVar(Source("environment", None, f"{name}={value}"), name, value)
