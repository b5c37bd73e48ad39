"""Examines the NVIDIA driver from files: kernel modules, device nodes, user-space libraries, Secure Boot,
kernel log.

Nothing is loaded. The version of a library is read from its file name: NVIDIA's driver installs libcuda.so.1
as a link to libcuda.so.VERSION.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator, Mapping

from doctor import lazy
from doctor.facts import (
    RUNNING_KERNEL,
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
from doctor.probe import containers, fabric, kernel_log, kernels, mig
from doctor.probe.gpu_devices import DXG, WSL, behind_dxg, in_wsl, nvidia_nodes, tegra, tegra_nodes
from doctor.probe.inside import reason
from doctor.probe.loader import OF_DRIVER, Loader
from doctor.probe.machine import Machine
from doctor.probe.missing import missing
from doctor.probe.resolution import Resolution
from doctor.values import dataclass, replace

MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nouveau", "nova_core")
VERSION_FILE = "/proc/driver/nvidia/version"
VERSION = lazy.compile(r"(?:Kernel Module(?: for \S+)?)\s+(\d+\.\d+(?:\.\d+)*)")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
CONTROL, UVM = "/dev/nvidiactl", "/dev/nvidia-uvm"
MODPROBE = "/usr/bin/nvidia-modprobe"
"""The setuid-root program that loads the modules and creates the device nodes when a program first needs
them."""
WSL_LIBRARIES = f"{WSL}/lib"


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver's data for other probes: the kernel module's version (None if it is not loaded), and the
    results of the searches for the libraries in OF_DRIVER."""

    kernel: str | None
    libraries: tuple[Resolution, ...]


def kernel_side(machine: Machine) -> Iterator[Fact]:
    """Facts about the part of the driver that runs in the kernel: loaded modules, driver version, device
    nodes, Secure Boot, modules built only for other kernels."""
    if machine.system != "linux":
        return
    with machine.noting() as unseen:
        loaded = _modules(machine)
    if loaded is None:
        what, why = "nvidia kernel module", "neither /proc/modules nor /sys/module exists"
        source = Source("/proc/modules")
        yield missing(source, what, unseen) if unseen else Unreadable(source, what, why)
    else:
        for name in MODULES:
            if name in loaded:
                yield KernelModule(Source(loaded[name], None, f"{name} is loaded"), name)
    version = kernel_version(machine)
    if version is not None:
        yield version
        if version.source.where == VERSION_FILE:
            kind = "open" if "Open Kernel Module" in version.source.text else "closed"
            yield Symptom(version.source, "kernel-modules", (("kind", kind),))
    elif loaded is not None and "nvidia" not in loaded and _has_a_module(machine):
        yield missing(Source("/proc/modules", None, "no module named nvidia"), "nvidia kernel module", unseen)
    yield from _nodes(machine, loaded or {})
    yield from _gpus_of_the_module(machine)
    yield from mig.divided(machine)
    try:
        state = machine.read(SECURE_BOOT, 16)
    except OSError as problem:
        yield Unreadable(Source(SECURE_BOOT), "secure boot", reason(problem))
    else:
        if state and state[-1] == 1:
            yield Symptom(Source(SECURE_BOOT, None, "the last byte is 1"), "secure-boot-enabled")
    stopped = loaded is None and containers.at_rest(machine)
    if (stopped or (loaded is not None and "nvidia" not in loaded)) and not containers.inside(machine):
        yield from kernels.built_for_others(machine, stopped=stopped)
    if version is not None and not containers.inside(machine):
        yield from fabric.manager(machine, version.version)
    yield from kernel_log.messages(machine, loaded=loaded is not None and "nvidia" in loaded)


def kernel_version(machine: Machine) -> DriverVersion | None:
    """The version of the loaded kernel module."""
    text = machine.text(VERSION_FILE)
    for number, line in enumerate((text or "").splitlines(), 1):
        match = VERSION.search(line)
        if match:
            return DriverVersion(Source(VERSION_FILE, number, line), match[1], "kernel")
    path = "/sys/module/nvidia/version"
    version = (machine.text(path, 256) or "").strip()
    if re.fullmatch(r"\d+\.\d+(\.\d+)*", version):
        return DriverVersion(Source(path, 1, version), version, "kernel")
    return None


def _modules(machine: Machine) -> dict[str, str] | None:
    """The loaded modules' names, each with the file that lists it; None if neither file exists."""
    text = machine.text("/proc/modules")
    if text is not None:
        found = {line.split(" ", 1)[0]: "/proc/modules" for line in text.splitlines()}
        for name in MODULES:  # a module built into the kernel is only in /sys/module
            if name not in found and machine.is_dir(f"/sys/module/{name}"):
                found[name] = f"/sys/module/{name}"
        return found
    if machine.is_dir("/sys/module"):
        return {name: f"/sys/module/{name}" for name in machine.names("/sys/module")}
    return None


def _has_a_module(machine: Machine) -> bool:
    """Whether a kernel module named nvidia is expected. WSL2 and Tegra boards have none: their GPUs have
    other drivers."""
    return not in_wsl(machine) and not behind_dxg(machine) and tegra(machine) is None


def _nodes(machine: Machine, loaded: Mapping[str, str]) -> Iterator[Fact]:
    """Facts about device nodes: which exist, whether this user may open them, and which are missing."""
    with machine.noting() as unseen:
        single = nvidia_nodes(machine)
        others = [path for path in (CONTROL, UVM, DXG) if machine.exists(path)]
        integrated = tegra_nodes(machine)
        board = tegra(machine) is not None
        folder = machine.is_dir("/dev")
        made_at_need = machine.exists(MODPROBE) and not containers.inside(machine)
    for path in (*others, *single, *integrated):
        may = machine.may_open(path)
        source = Source(path, None, "may be opened" if may else "permission denied")
        yield DeviceNode(source, path, may, "" if may else machine.group_of(path))
    lacking = [path for path in (CONTROL, UVM) if path not in others]
    if made_at_need and "nvidia" in loaded:
        return
    # a Tegra's GPU has its own nodes; /dev/nvidia0 is the display's
    if single and lacking and not unseen and not board:
        text = f"{single[0]} exists, but {' and '.join(lacking)} {'does' if len(lacking) == 1 else 'do'} not"
        yield Symptom(Source("/dev", None, text), "device-node-missing", (("path", " ".join(lacking)),))
    if (stale := _stale(machine)) and not board:
        yield Symptom(Source(UVM, None, stale), "device-node-missing", (("path", UVM), ("stale", "yes")))
    if containers.at_rest(machine):
        unseen = {
            RUNNING_KERNEL: "this system is not running, and a kernel creates device nodes when it starts",
            **unseen,
        }
    if not single and not integrated and DXG not in others and (folder or unseen):
        yield missing(Source("/dev", None, "no /dev/nvidia0 and no /dev/dxg"), "device nodes", unseen)


def _stale(machine: Machine) -> str:
    """How the major number of nvidia-uvm's device node differs from the driver's; "" if it does not differ or
    is unknown. The driver's number changes at each boot. In LXC and nspawn the nodes are made by hand and fit
    only one boot; elsewhere the program that makes them gets the number from the driver."""
    if not any(kind in ("lxc", "nspawn") for kind, _ in containers.kinds(machine)):
        return ""
    listed = re.search(r"^ {0,8}(\d{1,4}) nvidia-uvm$", machine.text_seen("/proc/devices"), re.MULTILINE)
    node = machine.status(UVM)
    if listed is None or node is None or not stat.S_ISCHR(node.st_mode):
        return ""
    major = os.major(node.st_rdev)
    return f"its major number is {major}, but the driver's is {listed[1]}" if major != int(listed[1]) else ""


def _gpus_of_the_module(machine: Machine) -> Iterator[Fact]:
    """The GPUs that the kernel module drives, from /proc/driver/nvidia/gpus/BUS/information."""
    for path in machine.glob("/proc/driver/nvidia/gpus/*/information"):
        text = machine.text(path) or ""
        rows = (line.partition(":") for line in text.splitlines())
        values = {key: value.strip() for key, colon, value in rows if colon}
        bus = values.get("Bus Location") or posixpath.basename(posixpath.dirname(path))
        model = values.get("Model")
        uuid = values.get("GPU UUID")
        yield Gpu(
            Source(path, 1, f"Model: {model}, Bus Location: {bus}"),
            name=model if model and model != "Unknown" else None,
            bus_id=bus.lower(),
            uuid=uuid if uuid and "?" not in uuid else None,
        )


# --- user space -----------------------------------------------------------------------------------


def user_side(
    machine: Machine, loader: Loader, kernel: DriverVersion | None, of_kernel: Mapping[str, str]
) -> tuple[list[Fact], Driver]:
    """The facts about the driver's user-space libraries that a process on this machine would load, and a
    summary.

    of_kernel: the kernel's files that could not be read, each with the reason.
    """
    facts: list[Fact] = []
    resolved: dict[str, Resolution] = {}
    user: str | None = None
    for name in OF_DRIVER:
        what = "libcuda" if name == "libcuda.so.1" else "nvml"
        result = resolved[name] = loader.open(name)
        if result.path is None:
            source = Source(result.blamed or f"search for {name}", None, result.message)
            if not result.unseen and (name == "libcuda.so.1" or result.cause != "absent"):
                facts.append(LibraryNotLoaded(source, name, result.message, result.cause))
            if result.cause in ("absent", "unknown"):
                facts.append(missing(source, what, dict(result.unseen)))
        else:
            real = machine.resolve(result.path)
            version = file_version(real, name)
            shown = f"{result.path} -> {posixpath.basename(real)}" if real != result.path else result.path
            source = Source(f"{result.path} ({result.via})", None, f"would be loaded as {name}: {shown}")
            facts.append(LibraryFile(source, name, result.path, version, True))
            compat = is_compat(real) or is_compat(result.path)
            if compat:
                detail = (("path", result.path), ("version", version or ""))
                facts.append(Symptom(source, "cuda-compat-on-path", detail))
            if is_stub(real):
                alone = all(is_stub(machine.resolve(other.path)) for other in result.shadowed)
                # an image has the stub for linking; in a container the host's library comes first
                from_host = containers.driver_from_host(machine) if alone else {}
                if not from_host:
                    facts.append(Symptom(source, "cuda-stub-on-path", (("path", result.path),)))
                if alone:
                    unseen = (*result.unseen, *from_host.items())
                    error = "the search finds only the toolkit's stub"
                    resolved[name] = replace(result, path=None, cause="absent", error=error, unseen=unseen)
                    facts.append(missing(source, what, dict(unseen)))
            else:
                facts.append(LibraryLoaded(source, name, result.path))
                if version is not None and not compat and not real.startswith(WSL):
                    facts.append(DriverVersion(source, version, "user"))
                    user = user or version
                    facts += _of_the_module(machine, real, name, kernel, version)
        for other in result.shadowed:
            version = file_version(machine.resolve(other.path), name)
            source = Source(other.path, None, f"hidden by {result.path}" if result.path else other.problem)
            facts.append(LibraryFile(source, name, other.path, version, True))
    if in_wsl(machine):
        facts += _wsl(machine, resolved["libcuda.so.1"])
    if kernel is not None and user is not None and kernel.version != user:
        text = f"kernel module: version {kernel.version}; user-space libraries: version {user}"
        source = Source(kernel.source.where, kernel.source.line, text)
        facts.append(DriverMismatch(source, kernel.version, user))
    if kernel is None and all(result.path is None for result in resolved.values()) and not in_wsl(machine):
        text = "no kernel module, no libcuda.so.1, no libnvidia-ml.so.1"
        source = Source("/proc/modules and search for libcuda.so.1", None, text)
        of_libraries = {path: why for result in resolved.values() for path, why in result.unseen}
        facts.append(missing(source, "nvidia driver", {**of_kernel, **of_libraries}))
    return facts, Driver(kernel.version if kernel else None, tuple(resolved.values()))


def _of_the_module(
    machine: Machine, real: str, name: str, kernel: DriverVersion | None, version: str
) -> list[Fact]:
    """Return a fact if the folder contains a library with the kernel module's version, but the link `name`
    leads to another version; otherwise return []."""
    if kernel is None or version == kernel.version:
        return []
    beside = f"{posixpath.dirname(real)}/{name.partition('.so')[0]}.so.{kernel.version}"
    source = Source(beside, None, f"no link leads to it; {name} leads to version {version}")
    return [LibraryFile(source, name, beside, kernel.version, False)] if machine.exists(beside) else []


def _wsl(machine: Machine, libcuda: Resolution) -> list[Fact]:
    """Faults in WSL2: no Windows driver, or a Linux driver's libcuda that is found before the Windows
    driver's.

    A container on WSL2 has no /usr/lib/wsl/lib: the container runtime puts Windows' libcuda (libcuda.so.1.1)
    among the container's own libraries.
    """
    names = (f"{WSL_LIBRARIES}/libcuda.so.1", f"{WSL_LIBRARIES}/libcuda.so")
    with machine.noting() as unseen:
        of_windows = next(filter(machine.exists, names), None)
    if libcuda.path is not None:
        real = machine.resolve(libcuda.path)
        if real.startswith(WSL) or file_version(real, "libcuda.so.1") is None:
            return []
        text = f"the loader would load {real}, which is not a library of the Windows driver"
        return [Symptom(Source(libcuda.path, None, text), "wsl-linux-driver", (("path", real),))]
    if of_windows is not None:
        text = "exists, but the loader does not search its folder"
        return [
            Symptom(Source(of_windows, None, text), "wsl-library-not-searched"),
            LibraryFile(Source(of_windows), "libcuda.so.1", of_windows, None, False),
        ]
    if containers.inside(machine):
        return []
    if unseen:
        return [missing(Source(WSL_LIBRARIES), "libcuda", unseen)]
    text = "no libcuda.so: Windows has no NVIDIA driver for WSL"
    return [Symptom(Source(WSL_LIBRARIES, None, text), "wsl-no-windows-driver")]


def file_version(path: str, name: str) -> str | None:
    """The version in the real file name of a driver library: 535.129.03 for libcuda.so.535.129.03. None if it
    has none.

    A driver's version begins with three digits, so the libcuda.so.1.1 of WSL2 and of Jetson boards has no
    version in its name.
    """
    stem = name.partition(".so")[0] + ".so."
    tail = posixpath.basename(path).partition(stem)[2]
    return tail if re.fullmatch(r"\d{3}\.\d+(\.\d+)*", tail) else None


def is_compat(path: str) -> bool:
    """Whether a libcuda is in the folder of a forward-compatibility package (/usr/local/cuda/compat)."""
    return "/compat/" in path


def is_stub(path: str) -> bool:
    """Whether a libcuda is the toolkit's stub for linking, which only returns CUDA_ERROR_STUB_LIBRARY."""
    return "/stubs/" in path
