"""All faults that can be simulated, by name."""

from __future__ import annotations

from doctor.simulate.fault import Fault
from doctor.simulate.faults.computing import COMPUTING
from doctor.simulate.faults.driver import DRIVER
from doctor.simulate.faults.gpus import GPUS
from doctor.simulate.faults.libraries import LIBRARIES

FAULTS: dict[str, Fault] = {fault.name: fault for fault in (*DRIVER, *GPUS, *LIBRARIES, *COMPUTING)}
