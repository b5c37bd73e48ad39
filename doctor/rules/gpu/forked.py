"""The finding for a process that cannot use CUDA because it was forked from a process that uses CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import CudaCallFailed
from doctor.findings import Finding, manual, python
from doctor.remedies import commands
from doctor.rules.registry import found

if TYPE_CHECKING:
    from doctor.case import Case


def forked(refusal: CudaCallFailed, case: Case) -> Finding:
    """The finding gpu-bad-state for a cuInit that fails with CUDA_ERROR_NOT_INITIALIZED. CUDA does not
    survive a fork: a child of a process that has used CUDA gets error 3 (PyTorch, "Multiprocessing best
    practices", section CUDA in multiprocessing, and pytorch/pytorch issue 17357).

    A spawned child imports the main program again, so the call must stand under the test of __name__; without
    `force`, a second call raises RuntimeError (Python, "multiprocessing", Contexts and start methods)."""
    return found(
        "gpu-bad-state",
        "CUDA returns this error in a process that was forked from a process that already uses CUDA, such as"
        " a worker of multiprocessing or of a data loader. The driver works; only the forked process has no"
        " GPU.",
        [refusal],
        title="CUDA cannot start in a forked process",
        confidence="likely",
        steps=[
            python(
                "import multiprocessing\n"
                'if __name__ == "__main__":\n'
                '    multiprocessing.set_start_method("spawn", force=True)\n'
                "    # then the code that starts the program",
                "starts new worker processes instead of forked ones; put it at the end of the main program,"
                " after the imports",
            ),
            manual(
                "If a library calls set_start_method or get_context with 'fork', write 'spawn' there instead;"
                " only for PyTorch's DataLoader, set num_workers=0 or multiprocessing_context='spawn'"
            ),
            manual("If the program forks no process, restart the machine, as for a driver that hangs"),
        ],
        verify=commands.list_gpus(case),
    )
