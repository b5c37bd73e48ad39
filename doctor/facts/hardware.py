"""Facts about GPUs, the NVIDIA driver and its device files."""

from __future__ import annotations

from doctor.facts.base import Fact
from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class DriverVersion(Fact):
    """A version of the NVIDIA driver. part: kernel (the loaded module), user (libcuda, NVML) or any."""

    version: str
    part: str = "any"
    rank: int = 0


@dataclass(frozen=True, slots=True)
class DriverCuda(Fact):
    """The highest CUDA version that the driver supports (cuDriverGetVersion, nvidia-smi's header)."""

    version: str


@dataclass(frozen=True, slots=True)
class Gpu(Fact):
    """An NVIDIA GPU. The memory is in MiB; the compute capability has the form "8.6", `pci_id` the form
    "10de:2484"."""

    name: str | None = None
    compute_capability: str | None = None
    memory_mib: int | None = None
    pci_id: str | None = None
    index: int | None = None
    bus_id: str | None = None
    uuid: str | None = None
    multiprocessors: int | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class OtherGpu(Fact):
    """A graphics device from another vendor (amd, intel, apple)."""

    name: str
    vendor: str


@dataclass(frozen=True, slots=True)
class GpuMemory(Fact):
    """The memory of one GPU at one moment, in MiB."""

    index: int
    total_mib: int | None = None
    used_mib: int | None = None
    free_mib: int | None = None


@dataclass(frozen=True, slots=True)
class GpuProcess(Fact):
    """A process that uses GPU memory. name: None if the user may not see it; memory_mib: in MiB; index: that
    of the GPU."""

    pid: int
    name: str | None = None
    memory_mib: int | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class KernelModule(Fact):
    """A loaded kernel module, such as nvidia, nvidia_uvm or nouveau."""

    name: str


@dataclass(frozen=True, slots=True)
class DeviceNode(Fact):
    """A device file such as /dev/nvidia0. accessible: whether this user may open the file; group: the group
    whose members may open it, "" if unknown or none."""

    path: str
    accessible: bool = True
    group: str = ""
