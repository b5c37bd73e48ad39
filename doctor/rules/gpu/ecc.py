"""The finding for a GPU whose memory had errors that ECC could not correct."""

from __future__ import annotations

from doctor import validated
from doctor.facts import Symptom
from doctor.findings import Finding, manual, shell
from doctor.rules.linux import as_root
from doctor.rules.registry import found
from doctor.shell import run


def memory_errors(errors: list[Symptom]) -> Finding:
    """The finding gpu-bad-state for uncorrectable errors in a GPU's memory."""
    gpu = validated.gpu(errors[0].get("gpu")) or "0"
    return found(
        "gpu-bad-state",
        "The GPU's memory has had uncorrectable errors since the driver was loaded. A program that hits"
        " such an error ends with CUDA_ERROR_ECC_UNCORRECTABLE; a program that starts later may run on the"
        " remaining memory.",
        errors[:4],
        title="The GPU's memory has uncorrectable errors",
        confidence="likely",
        steps=[
            shell(
                run("nvidia-smi", "-i", gpu, "-q", "-d", "ECC,PAGE_RETIREMENT,ROW_REMAPPER"),
                "shows the errors, and the memory taken out of use",
            ),
            as_root(
                run("sudo", "nvidia-smi", "-i", gpu, "--gpu-reset"),
                "replaces the faulty memory with spare memory; stop every program that uses the GPU first",
            ),
            manual("If the errors return, ask the vendor to replace the card"),
        ],
        verify=run("nvidia-smi", "-i", gpu, "-q", "-d", "ECC"),
    )
