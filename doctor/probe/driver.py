"""The NVIDIA driver as files show it: kernel modules, device nodes, user-space libraries, Secure Boot, kernel log.

Nothing is loaded. Which version a library file has is read from its name (NVIDIA's driver installs libcuda.so.1 as a
link to libcuda.so.VERSION) or, where it has none, from the file's own text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from doctor.facts import (
    Absent,
    DeviceNode,
    DriverMismatch,
    DriverVersion,
    Fact,
    Gpu,
    KernelModule,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    Source,
    Symptom,
    Unreadable,
)
from doctor.probe.loader import Loader, Resolution
from doctor.probe.machine import Machine

MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nouveau", "nova_core")
VERSION_FILE = "/proc/driver/nvidia/version"
VERSION = re.compile(r"(?:Kernel Module(?: for \S+)?)\s+(\d+\.\d+(?:\.\d+)*)")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
USER_LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
NODES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/dxg")
MORE_NODES = "/dev/nvidia[0-9]*"
LOGS = ("/var/log/kern.log", "/var/log/syslog", "/var/log/messages")
KMSG = "/dev/kmsg"
LOG_TAIL = 512 << 10
"""Bytes of a kernel log that are read from its end."""
XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)(.*)")
FELL_OFF = re.compile(r"NVRM:.*GPU.*has fallen off the bus.*")
WSL_LIBRARIES = "/usr/lib/wsl/lib"


@dataclass(frozen=True, slots=True)
class Driver:
    """What other probes need to know of the driver: versions, and the files that would be opened."""

    kernel: str | None
    user: str | None
    libcuda: Resolution | None
    nvml: Resolution | None


def kernel_side(machine: Machine) -> Iterator[Fact]:
    """Kernel modules, the driver's version, device nodes, Secure Boot, modules built for other kernels only."""
    if machine.system != "linux":
        return
    loaded = _modules(machine)
    if loaded is None:
        yield Unreadable(
            Source("/proc/modules"), "nvidia kernel module", "neither /proc/modules nor /sys/module is there"
        )
    else:
        for name in MODULES:
            if name in loaded:
                yield KernelModule(Source(loaded[name], None, f"{name} is loaded"), name)
    version = kernel_version(machine)
    if version is not None:
        yield version
    elif loaded is not None and "nvidia" not in loaded and not _is_wsl(machine):
        yield Absent(Source("/proc/modules", None, "no module named nvidia"), "nvidia kernel module")
    yield from _nodes(machine)
    yield from _gpus_of_the_module(machine)
    try:
        state = machine.read(SECURE_BOOT, 16)
    except OSError as problem:
        yield Unreadable(Source(SECURE_BOOT), "secure boot", problem.strerror or str(problem))
    else:
        if state and state[-1] == 1:
            yield Symptom(Source(SECURE_BOOT, None, "the last byte is 1"), "secure-boot-enabled")
    if loaded is not None and "nvidia" not in loaded:
        yield from _built_for_others(machine)
    yield from _kernel_log(machine)


def kernel_version(machine: Machine) -> DriverVersion | None:
    """The version of the loaded kernel module."""
    text = machine.text(VERSION_FILE)
    for number, line in enumerate((text or "").splitlines(), 1):
        match = VERSION.search(line)
        if match:
            return DriverVersion(Source(VERSION_FILE, number, line), match[1], "kernel")
    module = machine.text("/sys/module/nvidia/version", 256)
    if module and re.fullmatch(r"\d+\.\d+(\.\d+)*", module.strip()):
        return DriverVersion(Source("/sys/module/nvidia/version", 1, module.strip()), module.strip(), "kernel")
    return None


def _modules(machine: Machine) -> dict[str, str] | None:
    """Names of loaded modules and where that was read; None where it cannot be told."""
    text = machine.text("/proc/modules")
    if text is not None:
        found = {line.split(" ", 1)[0]: "/proc/modules" for line in text.splitlines()}
        for name in MODULES:  # built into the kernel, they stand in /sys/module alone
            if name not in found and machine.is_dir(f"/sys/module/{name}"):
                found[name] = f"/sys/module/{name}"
        return found
    if machine.is_dir("/sys/module"):
        return {name: f"/sys/module/{name}" for name in machine.names("/sys/module")}
    return None


def _nodes(machine: Machine) -> Iterator[Fact]:
    """Device nodes, and whether this user may open them."""
    found = list(dict.fromkeys([*(path for path in NODES if machine.exists(path)), *machine.glob(MORE_NODES)]))
    for path in found:
        may = machine.may_open(path)
        yield DeviceNode(Source(path, None, "may be opened" if may else "permission denied"), path, may)
    if not any(re.fullmatch(r"/dev/(nvidia\d+|dxg)", path) for path in found) and machine.is_dir("/dev"):
        yield Absent(Source("/dev", None, "no /dev/nvidia0 and no /dev/dxg"), "device nodes")


def _gpus_of_the_module(machine: Machine) -> Iterator[Fact]:
    """GPUs that the kernel module drives: /proc/driver/nvidia/gpus/BUS/information."""
    for path in machine.glob("/proc/driver/nvidia/gpus/*/information"):
        text = machine.text(path) or ""
        values = dict(re.findall(r"^([^:\n]+):\s*(.*?)\s*$", text, re.MULTILINE))
        bus = values.get("Bus Location") or posixpath.basename(posixpath.dirname(path))
        model = values.get("Model")
        uuid = values.get("GPU UUID")
        yield Gpu(
            Source(path, 1, f"Model: {model}, Bus Location: {bus}"),
            name=model if model and model != "Unknown" else None,
            bus_id=bus.lower(),
            uuid=uuid if uuid and "?" not in uuid else None,
        )


def _built_for_others(machine: Machine) -> Iterator[Fact]:
    """A module that is on disk: for the running kernel (then it does not load) or only for others (a kernel update)."""
    release = (machine.text("/proc/sys/kernel/osrelease", 256) or "").strip()
    places = (
        "updates/dkms",
        "updates",
        "extra",
        "extra/nvidia",
        "kernel/drivers/video",
        "kernel/drivers/video/nvidia",
        "weak-updates",
    )
    kernels: list[tuple[str, str]] = []
    for base in ("/lib/modules", "/usr/lib/modules"):
        for kernel in _quiet_names(machine, base):
            for place in places:
                names = _quiet_names(machine, f"{base}/{kernel}/{place}")
                name = next((n for n in names if re.match(r"nvidia(-current)?\.ko", n)), None)
                if name:
                    kernels.append((kernel, f"{base}/{kernel}/{place}/{name}"))
                    break
    if not kernels:
        return
    mine = next((path for kernel, path in kernels if kernel == release), None)
    if mine is not None:
        yield Symptom(Source(mine, None, f"built for the running kernel {release}"), "driver-module-not-loaded")
    else:
        built = ", ".join(dict.fromkeys(kernel for kernel, _ in kernels))
        detail = (("running", release), ("built", built))
        yield Symptom(
            Source(kernels[0][1], None, f"built for {built}; {release} is running"),
            "driver-module-for-other-kernel",
            detail,
        )


def _quiet_names(machine: Machine, folder: str) -> list[str]:
    try:
        return machine.names(folder)
    except OSError:
        return []


def _kernel_log(machine: Machine) -> Iterator[Fact]:
    """Xid errors and GPUs that fell off the bus, each kind once, from the kernel's log where it may be read."""
    seen: set[tuple[str, str]] = set()
    for path in (*LOGS, KMSG):
        try:
            text = machine.kernel_messages(LOG_TAIL) if path == KMSG else machine.tail(path, LOG_TAIL)
        except OSError:
            continue
        for line in (text or "").splitlines():
            if "NVRM" not in line:
                continue
            match = XID.search(line)
            if match and ("xid", match[2]) not in seen:
                seen.add(("xid", match[2]))
                detail = (("xid", match[2]), ("bus", match[1]))
                yield Symptom(Source(path, None, line), "xid", detail)
            elif FELL_OFF.search(line) and ("bus", "") not in seen:
                seen.add(("bus", ""))
                yield Symptom(Source(path, None, line), "gpu-lost")
            elif "API mismatch" in line and ("api", "") not in seen:
                seen.add(("api", ""))
                yield Symptom(Source(path, None, line), "nvrm-api-mismatch")


def _is_wsl(machine: Machine) -> bool:
    return "microsoft" in (machine.text("/proc/sys/kernel/osrelease", 256) or "").lower()


# --- user space -----------------------------------------------------------------------------------


def user_side(machine: Machine, loader: Loader, kernel: DriverVersion | None) -> tuple[list[Fact], Driver]:
    """The driver's user-space libraries that a process here would open, and the version that they are of."""
    facts: list[Fact] = []
    resolved: dict[str, Resolution] = {}
    user: str | None = None
    for name in USER_LIBRARIES:
        result = resolved[name] = loader.open(name)
        if result.path is None:
            source = Source(f"search for {name}", None, result.error)
            if name == "libcuda.so.1" or result.cause != "absent":
                facts.append(LibraryNotLoaded(source, name, result.error, result.cause))
            if result.cause == "absent":
                facts.append(Absent(source, "libcuda" if name == "libcuda.so.1" else "nvml"))
        else:
            real = machine.resolve(result.path)
            version = file_version(real, name)
            shown = f"{result.path} -> {posixpath.basename(real)}" if real != result.path else result.path
            source = Source(f"{result.path} ({result.via})", None, f"would be opened as {name}: {shown}")
            facts.append(LibraryLoaded(source, name, result.path))
            facts.append(LibraryFile(source, name, result.path, version, True))
            compat = is_compat(real) or is_compat(result.path)
            if compat:
                detail = (("path", result.path), ("version", version or ""))
                facts.append(Symptom(source, "cuda-compat-on-path", detail))
            if is_stub(real):
                facts.append(Symptom(source, "cuda-stub-on-path", (("path", result.path),)))
            elif version is not None and not compat and not real.startswith(WSL_LIBRARIES):
                facts.append(DriverVersion(source, version, "user"))
                user = user or version
        for other in result.shadowed:
            version = file_version(machine.resolve(other.path), name)
            facts.append(
                LibraryFile(
                    Source(other.path, None, f"behind {result.path}" if result.path else other.problem),
                    name,
                    other.path,
                    version,
                    True,
                )
            )
    if _is_wsl(machine):
        facts += _wsl(machine, resolved["libcuda.so.1"])
    if kernel is not None and user is not None and kernel.version != user:
        text = f"kernel module {kernel.version}, user-space libraries {user}"
        facts.append(DriverMismatch(Source(kernel.source.where, kernel.source.line, text), kernel.version, user))
    if kernel is None and all(result.path is None for result in resolved.values()) and not _is_wsl(machine):
        facts.append(
            Absent(
                Source(
                    "/proc/modules and search for libcuda.so.1",
                    None,
                    "no kernel module, no libcuda.so.1, no libnvidia-ml.so.1",
                ),
                "nvidia driver",
            )
        )
    kernel_number = kernel.version if kernel else None
    return facts, Driver(kernel_number, user, resolved["libcuda.so.1"], resolved["libnvidia-ml.so.1"])


def _wsl(machine: Machine, libcuda: Resolution) -> list[Fact]:
    """What goes wrong in WSL2: no Windows driver, or a Linux driver's libcuda before Windows' one."""
    here = f"{WSL_LIBRARIES}/libcuda.so.1"
    facts: list[Fact] = []
    if not machine.exists(here) and not machine.exists(f"{WSL_LIBRARIES}/libcuda.so"):
        text = "no libcuda.so: Windows has no NVIDIA driver for WSL"
        facts.append(Symptom(Source(WSL_LIBRARIES, None, text), "wsl-no-windows-driver"))
    elif libcuda.path is None:
        facts.append(
            Symptom(Source(here, None, "is there; the loader does not look there"), "wsl-library-not-searched")
        )
        facts.append(LibraryFile(Source(here), "libcuda.so.1", here, None, False))
    elif not machine.resolve(libcuda.path).startswith(WSL_LIBRARIES):
        real = machine.resolve(libcuda.path)
        source = Source(libcuda.path, None, f"{real} would be opened, {here} is Windows' driver")
        facts.append(Symptom(source, "wsl-linux-driver", (("path", real),)))
    return facts


def file_version(path: str, name: str) -> str | None:
    """A driver library's version, from its real file's name: libcuda.so.535.129.03 is 535.129.03."""
    stem = name.partition(".so")[0] + ".so."
    tail = posixpath.basename(path).partition(stem)[2]
    return tail if re.fullmatch(r"\d+\.\d+(\.\d+)*", tail) else None


def is_compat(path: str) -> bool:
    """Whether a libcuda lies in a forward-compatibility package's folder (/usr/local/cuda/compat)."""
    return "/compat/" in path


def is_stub(path: str) -> bool:
    """Whether it is the toolkit's stub for linking, which only returns CUDA_ERROR_STUB_LIBRARY."""
    return "/stubs/" in path
