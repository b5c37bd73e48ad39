"""A simulated NVIDIA GPU on which unmodified TensorFlow runs.

It consists of compiled stand-ins for the driver, NVML, the CUDA runtime, cuBLAS, cuDNN and the other
libraries that TensorFlow loads. Allocation, handles, placement and messages are TensorFlow's own; kernels do
not compute. See `about.TEXT`.

    scenario = prepare(python="/path/to/env", gpus=("RTX 3070",), faults=("cudnn-out-of-memory",))
    with environment(scenario) as simulation:
        subprocess.run([...], env=simulation.environment)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.simulate.compilation import CallError, SimulationError, build
    from doctor.simulate.fault import Fault
    from doctor.simulate.faults import FAULTS
    from doctor.simulate.lifecycle import IN_FORCE, Simulation, environment
    from doctor.simulate.machine import SimulatedGpu, SimulatedMachine
    from doctor.simulate.request import prepare
    from doctor.simulate.scenario import Scenario

_WHERE = {
    "CallError": "compilation",
    "SimulationError": "compilation",
    "build": "compilation",
    "IN_FORCE": "lifecycle",
    "Simulation": "lifecycle",
    "environment": "lifecycle",
    "FAULTS": "faults",
    "Fault": "faults",
    "SimulatedGpu": "machine",
    "SimulatedMachine": "machine",
    "prepare": "request",
    "Scenario": "scenario",
}

__all__ = [
    "FAULTS",
    "IN_FORCE",
    "CallError",
    "Fault",
    "Scenario",
    "SimulatedGpu",
    "SimulatedMachine",
    "Simulation",
    "SimulationError",
    "build",
    "environment",
    "prepare",
]


def __getattr__(name: str) -> Any:
    """Import a public name of the package when it is first used, so that importing the package takes no
    time."""
    if name not in _WHERE:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"doctor.simulate.{_WHERE[name]}"), name)
