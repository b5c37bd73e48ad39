"""Finds the environment variables in Dockerfiles and compose files that hide every GPU.

Sources: CUDA C++ Programming Guide, section CUDA Environment Variables; NVIDIA Container Toolkit, section
NVIDIA_VISIBLE_DEVICES; Docker Engine, daemon/nvidia_linux.go: a request for GPUs overwrites that variable.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.case.visible_devices import hides
from doctor.facts import Source
from doctor.findings import Finding, manual
from doctor.plan.edits import edited
from doctor.plan.requested import FileContents, Requested
from doctor.values import replace

CUDA, CONTAINER = VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")


def variable(name: str, value: str, line: int, text: str, alone: bool = False) -> Requested:
    """Return the record of a line that sets a variable. alone: whether the line does nothing else."""
    return Requested(name, value, line, text, manager="docker", word=text if alone else "")


def hidden(wanted: FileContents, name: str) -> Iterator[Finding]:
    """Yield a finding for each variable that hides every GPU from the container. The value that a service
    sets takes precedence over the value in the image."""
    service = wanted.services[0] if wanted.services else None
    set_ = {line.name: line for line in wanted.variables}
    if service is not None:
        set_.update((line.name, replace(line, file=service.file)) for line in service.variables)
    for line in set_.values():
        value = line.specifier.strip()
        if "$" in value or not (hides(value) if line.name == CUDA else value.lower() in ("", "none", "void")):
            continue
        requested = line.name == CONTAINER and (service is None or service.gpu)
        file = line.file or name
        step = manual(
            f"{file}, line {line.line}: remove {line.name}, or list the GPUs in its value",
            f"in place of: {line.text}",
        )
        yield Finding(
            "gpu-hidden",
            "warning" if requested else "error",
            f'{line.name} is "{value}"'
            + (": NVIDIA's runtime adds no GPU" if requested else ", which hides every GPU"),
            (
                "The container gets a GPU only if Docker itself is asked for one (`--gpus all`, or a request"
                " in the service); such a request replaces the value of the variable."
                if requested
                else "TensorFlow computes on the CPU in this container, unless the code or the command that"
                " starts the container sets another value."
                if line.name == CUDA
                else "NVIDIA's runtime gives the container no GPU, and the service does not request one."
            ),
            (Source(file, line.line, line.text),),
            (),
            (replace(step, edit=edited(line, "", file)) if line.word else step,),
            confidence="likely",  # the command that starts the container may set another value
        )
