"""A simulated NVIDIA GPU on which unmodified TensorFlow runs.

It consists of compiled stand-ins for the driver, NVML, the CUDA runtime, cuBLAS, cuDNN and the other
libraries that TensorFlow loads. Allocation, handles, placement and messages are TensorFlow's own; kernels do
not compute. See `about.TEXT`.

    scenario = prepare(python="/path/to/env", gpus=("RTX 3070",), faults=("cudnn-out-of-memory",))
    with environment(scenario) as simulation:
        subprocess.run([...], env=simulation.environment)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import lazy

if TYPE_CHECKING:
    from doctor.simulate.compilation import (
        CallError as CallError,
        SimulationError as SimulationError,
        build as build,
    )
    from doctor.simulate.fault import Fault as Fault
    from doctor.simulate.faults import FAULTS as FAULTS
    from doctor.simulate.lifecycle import (
        IN_FORCE as IN_FORCE,
        Simulation as Simulation,
        environment as environment,
    )
    from doctor.simulate.request import prepare as prepare
    from doctor.simulate.scenario import Scenario as Scenario

__getattr__ = lazy.names(
    __name__,
    {
        "CallError": "compilation",
        "FAULTS": "faults",
        "Fault": "fault",
        "IN_FORCE": "lifecycle",
        "Scenario": "scenario",
        "Simulation": "lifecycle",
        "SimulationError": "compilation",
        "build": "compilation",
        "environment": "lifecycle",
        "prepare": "request",
    },
)
