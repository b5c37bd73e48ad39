"""What to simulate: a machine, and all that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.simulate.machine import SimulatedGpu, SimulatedMachine, cudnn_number
from doctor.tables import Tables
from doctor.values import dataclass, field, replace

DEFAULT_DRIVER = "550.54.14"


@dataclass(frozen=True)
class Damage:
    """Something wrong with one library's file.

    kind: see damage.py. stem: "libcudnn"; the version in the file's name is the machine's.
    """

    kind: str
    stem: str


@dataclass(frozen=True)
class Scenario:
    """A machine in a state.

    kernel_driver: the version of the kernel module; None: no module runs; "": the driver's own. device_nodes:
    whether /dev/nvidia* are there. held_mib: what another process holds on each GPU. toolkit: whether XLA
    finds the stand-in for a CUDA toolkit. hide_toolkit: the machine's own /usr/local/cuda* and ptxas are not
    to be seen. variables: environment variables of the command. compatibility_package: libcuda comes from a
    cuda-compat folder.
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

    def on(self, machine: SimulatedMachine) -> Scenario:
        """The same state on another machine."""
        return replace(self, machine=machine)

    def striking(self, *calls: str) -> Scenario:
        """With further calls that fail, hang or crash ("fail cuInit 100")."""
        return self.on(replace(self.machine, calls=(*self.machine.calls, *calls)))

    def setting(self, **settings: str | int) -> Scenario:
        """With further settings of the machine; "__" in a name stands for a dot."""
        added = {name.replace("__", "."): value for name, value in settings.items()}
        return self.on(replace(self.machine, settings={**self.machine.settings, **added}))

    def with_gpus(self, *gpus: SimulatedGpu) -> Scenario:
        """With these GPUs in place of its own."""
        return self.on(replace(self.machine, gpus=gpus))

    def with_driver(self, version: str, cuda: int) -> Scenario:
        """With another driver, which offers CUDA up to `cuda` (12040 for 12.4)."""
        return self.on(replace(self.machine, driver=version, driver_cuda=cuda))

    def damaging(self, kind: str, *stems: str) -> Scenario:
        """With these libraries damaged."""
        return replace(self, damages=(*self.damages, *(Damage(kind, stem) for stem in stems)))

    def with_variables(self, **variables: str) -> Scenario:
        """With further environment variables."""
        return replace(self, variables={**self.variables, **variables})

    @property
    def least_memory_mib(self) -> int:
        """The memory of the smallest GPU."""
        return min(gpu.memory_mib for gpu in self.machine.gpus)

    @property
    def is_cudnn_9(self) -> bool:
        """cuDNN 9 has other status numbers than its forerunners."""
        return cudnn_number(self.machine.libraries.cudnn) >= 90000


def driver_cuda_number(version: str, tables: Tables) -> int | None:
    """The highest CUDA of a driver as the driver says it: 550.54.14 gives 12040; None for an unknown
    branch."""
    cuda = tables.driver_cuda(version)
    if cuda is None:
        return None
    major, minor = cuda.split(".")
    return 1000 * int(major) + 10 * int(minor)
