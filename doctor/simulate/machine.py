"""Describes the simulated machine: as Python values, and as the text that the C libraries read."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.backports import removeprefix
from doctor.values import dataclass, field

# Assumptions: how much memory a context and the handles need is not published, and differs between GPUs and
# releases.
CONTEXT_MIB = 256
CUDNN_HANDLE_MIB = 64
CUBLAS_HANDLE_MIB = 32


@dataclass(frozen=True)
class Instance:
    """An instance of a divided GPU (MIG): its profile ("1g.5gb"), its number, and its share of the GPU."""

    profile: str
    number: int
    slices: int
    memory_mib: int
    multiprocessors: int


@dataclass(frozen=True)
class SimulatedGpu:
    """One GPU, as its driver describes it.

    name: as NVIDIA's driver reports it. pci_id: "10de:2484". memory_mib: MiB of device memory. ecc_errors:
    uncorrectable memory errors since the driver was loaded. divisible: whether it can be divided (MIG).
    instances: its MIG instances; () with MIG mode on and no instance yet, None with MIG mode off.
    """

    name: str
    compute_capability: str
    memory_mib: int
    multiprocessors: int
    pci_id: str
    compute_mode: int = 0
    ecc_errors: int = 0
    divisible: bool = False
    instances: tuple[Instance, ...] | None = None

    def uuid(self, index: int) -> str:
        """A fixed identifier in NVIDIA's format; after "GPU-" it begins with 51 and the index."""
        device = int(self.pci_id[-4:], 16)
        return f"GPU-51{index:02x}{device:04x}-0000-4000-8000-{self.memory_mib:012x}"

    def instance_uuid(self, index: int, instance: Instance, driver: str) -> str:
        """The driver's identifier of an instance: its own UUID, or before R470 the GPU's UUID and two numbers
        (MIG User Guide, "CUDA Device Enumeration")."""
        if int(driver.split(".")[0]) < 470:
            return f"MIG-{self.uuid(index)}/{instance.number}/0"
        return f"MIG-52{index:02x}{instance.number:04x}-0000-5000-8000-{instance.memory_mib:012x}"


def pci_address(index: int) -> str:
    """The address of the GPU with this index on the simulated bus."""
    return f"0000:{index + 1:02x}:00.0"


@dataclass(frozen=True)
class Libraries:
    """The CUDA libraries on the machine.

    sonames: the file names, such as libcudart.so.12. cuda, cudnn: the versions that the libraries report, in
    dotted form. ptxas: the CUDA release of ptxas; "" if it is the same as that of the libraries.
    """

    sonames: tuple[str, ...]
    cuda: str
    cudnn: str
    ptxas: str = ""

    @property
    def cuda_number(self) -> int:
        """CUDA's version as a number: 12050 for 12.5.1."""
        return cuda_number(self.cuda)

    @property
    def cudnn_number(self) -> int:
        """cuDNN's version as a number: 8907 for 8.9.7, 90300 for 9.3.0."""
        return cudnn_number(self.cudnn)


def cuda_number(version: str) -> int:
    """CUDA's own number for a release: 12050 for 12.5.1."""
    major, minor = (int(part) for part in [*version.split("."), "0"][:2])
    return 1000 * major + 10 * minor


def cudnn_number(version: str) -> int:
    """cuDNN's own number for a release. The factor of the major version changed with cuDNN 9."""
    major, minor, patch = (int(part) for part in [*version.split("."), "0", "0"][:3])
    return (10000 if major >= 9 else 1000) * major + 100 * minor + patch


@dataclass(frozen=True)
class SimulatedMachine:
    """A machine to simulate.

    driver: its version, "550.54.14". driver_cuda: the highest CUDA version that it supports, 12040 for 12.4.
    settings: further keys for the machine's description file, which override those from the other fields.
    calls: which calls fail, and how: "fail cuInit 100", "hang cuInit", "crash cudnnCreate", "fail X 700 from
    3".
    """

    gpus: tuple[SimulatedGpu, ...]
    driver: str
    driver_cuda: int
    libraries: Libraries
    settings: Mapping[str, str | int] = field(default_factory=dict)
    calls: tuple[str, ...] = ()

    def text(self) -> str:
        """The description file that the C libraries read: lines of "key = value"."""
        libraries = self.libraries
        version_9 = libraries.cudnn_number >= 90000
        keys: dict[str, str | int] = {
            "driver.version": self.driver,
            "driver.cuda": self.driver_cuda,
            "runtime.cuda": libraries.cuda_number,
            # with minor-version compatibility, a runtime since CUDA 11 needs only a driver of its major
            # version
            "runtime.minimum_driver": libraries.cuda_number // 1000 * 1000,
            "context.mib": CONTEXT_MIB,
            "cudnn.version": libraries.cudnn_number,
            "cudnn.handle_mib": CUDNN_HANDLE_MIB,
            "cudnn.no_memory": 1001 if version_9 else 1,
            "cudnn.engines": 1,
            "cublas.version": libraries.cuda_number * 10,
            "cublas.handle_mib": CUBLAS_HANDLE_MIB,
            "cublas.no_memory": 1,
            "peer_access": 0,
            "memory_pools": 1,
        }
        for index, gpu in enumerate(self.gpus):
            keys.update(
                {
                    f"gpu.{index}.name": gpu.name,
                    f"gpu.{index}.compute_capability": gpu.compute_capability,
                    f"gpu.{index}.memory_mib": gpu.memory_mib,
                    f"gpu.{index}.multiprocessors": gpu.multiprocessors,
                    f"gpu.{index}.pci_address": pci_address(index),
                    f"gpu.{index}.pci_device_id": removeprefix(gpu.pci_id, "10de:"),
                    f"gpu.{index}.uuid": gpu.uuid(index),
                    f"gpu.{index}.compute_mode": gpu.compute_mode,
                    f"gpu.{index}.ecc_errors": gpu.ecc_errors,
                    f"gpu.{index}.mig": int(gpu.divisible) + (gpu.instances is not None),
                }
            )
        parts = [(index, gpu, part) for index, gpu in enumerate(self.gpus) for part in gpu.instances or ()]
        for number, (index, gpu, part) in enumerate(parts):
            keys.update(
                {
                    f"instance.{number}.gpu": index,
                    f"instance.{number}.gpu_instance": part.number,
                    f"instance.{number}.name": f"{gpu.name} MIG {part.profile}",
                    f"instance.{number}.slices": part.slices,
                    f"instance.{number}.memory_mib": part.memory_mib,
                    f"instance.{number}.multiprocessors": part.multiprocessors,
                    f"instance.{number}.uuid": gpu.instance_uuid(index, part, self.driver),
                }
            )
        keys.update(self.settings)
        lines = [f"{key} = {value}" for key, value in keys.items()]
        lines += [f"fault = {call}" for call in self.calls]
        return "\n".join(lines) + "\n"


def cudnn_release(machine: SimulatedMachine) -> str:
    """The cuDNN release that the machine reports: the one in its settings (as a number) if there is one,
    otherwise that of its libraries."""
    number = machine.settings.get("cudnn.version")
    if number is None:
        return machine.libraries.cudnn
    weight = 10000 if int(number) >= 90000 else 1000
    return f"{int(number) // weight}.{int(number) % weight // 100}.{int(number) % 100}"
