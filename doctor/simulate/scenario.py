"""Describes what to simulate: a machine and its faults."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.simulate.machine import SimulatedGpu, SimulatedMachine, cuda_number
from doctor.tables import Tables
from doctor.values import dataclass, field, replace

DEFAULT_DRIVER = "550.54.14"


@dataclass(frozen=True)
class Damage:
    """A defect of one library's file.

    kind: see damage.py. stem: "libcudnn", for example; the machine decides the version in the file's name.
    """

    kind: str
    stem: str


@dataclass(frozen=True)
class Scenario:
    """A machine and its state.

    kernel_driver: the version of the kernel module; None: no module is loaded; "": the same version as the
    driver's. device_nodes: whether /dev/nvidia* exist. held_mib: the memory that another process holds on
    each GPU. toolkit: whether XLA finds the stand-in for a CUDA toolkit. hide_toolkit: hide the real
    machine's /usr/local/cuda* and ptxas. variables: environment variables of the command.
    compatibility_package: libcuda comes from a cuda-compat folder.
    """

    machine: SimulatedMachine
    kernel_driver: str | None = ""
    device_nodes: bool = True
    held_mib: tuple[int, ...] = ()
    toolkit: bool = True
    hide_toolkit: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    damages: tuple[Damage, ...] = ()
    compatibility_package: bool = False

    def with_machine(self, machine: SimulatedMachine) -> Scenario:
        """The scenario with the same state on another machine."""
        return replace(self, machine=machine)

    def with_failing_calls(self, *calls: str) -> Scenario:
        """The scenario with additional calls that fail, hang or crash ("fail cuInit 100")."""
        return self.with_machine(replace(self.machine, calls=(*self.machine.calls, *calls)))

    def setting(self, **settings: str | int) -> Scenario:
        """The scenario with additional machine settings; "__" in a name stands for a dot."""
        added = {name.replace("__", "."): value for name, value in settings.items()}
        return self.with_machine(replace(self.machine, settings={**self.machine.settings, **added}))

    def with_gpus(self, *gpus: SimulatedGpu) -> Scenario:
        """The scenario with these GPUs instead of its own."""
        return self.with_machine(replace(self.machine, gpus=gpus))

    def with_driver(self, version: str, cuda: int) -> Scenario:
        """The scenario with another driver, which supports CUDA up to `cuda` (12040 for 12.4)."""
        return self.with_machine(replace(self.machine, driver=version, driver_cuda=cuda))

    def with_damage(self, kind: str, *stems: str) -> Scenario:
        """The scenario with these libraries damaged in this way."""
        return replace(self, damages=(*self.damages, *(Damage(kind, stem) for stem in stems)))

    def with_variables(self, **variables: str) -> Scenario:
        """The scenario with additional environment variables."""
        return replace(self, variables={**self.variables, **variables})

    @property
    def least_memory_mib(self) -> int:
        """The memory of the smallest GPU."""
        return min(gpu.memory_mib for gpu in self.machine.gpus)

    @property
    def is_cudnn_9(self) -> bool:
        """Whether cuDNN is version 9 or later, which has other status numbers than earlier versions."""
        return self.machine.libraries.cudnn_number >= 90000


def driver_cuda_number(version: str, tables: Tables) -> int | None:
    """Return the highest CUDA version that a driver supports, as the number that the driver reports: 12040
    for 550.54.14; None for an unknown branch."""
    cuda = tables.driver_cuda(version)
    return None if cuda is None else cuda_number(cuda)
