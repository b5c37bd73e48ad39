"""A process that was forked from one that uses CUDA, and gets none."""

from __future__ import annotations

from doctor.facts import CudaCallFailed
from doctor.findings import Finding, manual, python
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.registry import found


def forked(refusal: CudaCallFailed, picture: Picture) -> Finding:
    """The finding gpu-bad-state for a cuInit that is refused with CUDA_ERROR_NOT_INITIALIZED.

    CUDA does not outlive a fork: a child of a process that has used it gets error 3 from it (PyTorch, "Multiprocessing best
    practices", section CUDA in multiprocessing, and pytorch/pytorch issue 17357).
    """
    return found(
        "gpu-bad-state",
        "cuInit gives this error in a process that was forked from one that uses CUDA already: a worker of multiprocessing or of a data loader. The "
        "driver is well, and only that child has no GPU.",
        [refusal],
        title="CUDA cannot be started in a forked process",
        confidence="likely",
        steps=[
            python(
                'import multiprocessing\nmultiprocessing.set_start_method("spawn")  # first of all, before anything uses the GPU',
                "starts workers anew in place of forking them",
            ),
            manual("PyTorch's DataLoader: num_workers=0, or multiprocessing_context='spawn'; and nothing that workers import should use TensorFlow's GPU"),
            manual("Where no process is forked: restart the machine, as for a driver that hangs"),
        ],
        verify=commands.list_gpus(picture),
    )
