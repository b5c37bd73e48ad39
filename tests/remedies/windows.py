"""What the printed steps do to a machine with Windows that is a folder."""

from __future__ import annotations

import re

from doctor.findings import Finding
from tests.probe.test_windows import CUDA, NAMES, Windows, dll

OLDER = b"#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 0\n#define CUDNN_PATCHLEVEL 5\n"
FIT = OLDER.replace(b"MINOR 0", b"MINOR 1").replace(b"LEVEL 5", b"LEVEL 1")
HOME = "C:\\" + CUDA.replace("/", "\\")


def cudnn(machine: Windows) -> None:
    machine.write(f"{CUDA}/bin/cudnn64_8.dll", dll(("cudnn_ops_infer64_8.dll",)))
    machine.write(f"{CUDA}/bin/cudnn_ops_infer64_8.dll", dll())
    machine.write(f"{CUDA}/include/cudnn_version.h", FIT)


def toolkit(machine: Windows) -> None:
    for name in NAMES:
        machine.write(f"{CUDA}/bin/{name}.dll", dll())
    cudnn(machine)


def on_path(machine: Windows, text: str) -> None:
    machine.env["PATH"] = text.replace("%PATH%", machine.env["PATH"])


STEPS = (
    (r'set "PATH=(.*)"', on_path),
    (r"Put zlibwapi.dll", lambda m: m.write("Windows/zlibwapi.dll", dll())),
    (r"winget install Microsoft.VCRedist", lambda m: m.write("Windows/System32/msvcp140_1.dll", dll())),
    (r"Install cuDNN 8 for CUDA 11.2", cudnn),
    (r"Install the CUDA Toolkit 11.2 and cuDNN 8", toolkit),
)


def carry_out(machine: Windows, finding: Finding) -> int:
    """Do the first of the steps that does something; how many did."""
    for step in finding.prescription:
        for pattern, change in STEPS:
            match = re.match(pattern, step.text)
            if match:
                change(machine, *match.groups())  # type: ignore[operator]
                return 1
    return 0
