"""Faults of the GPUs themselves: too old, too new, hidden, in the wrong mode."""

from __future__ import annotations

from doctor.simulate.effects import compute_mode, gpu, loading, visible
from doctor.simulate.fault import Fault
from doctor.simulate.gpus import find_gpu
from doctor.tables import Tables
from doctor.values import replace

GPUS: tuple[Fault, ...] = (
    Fault("gpu-too-old", "gpu-arch-too-old", "a GTX 680 (compute capability 3.0)", gpu("GTX 680")),
    Fault(
        "gpu-no-kernels",
        "gpu-arch-too-old",
        "a Tesla K80 (compute capability 3.7), for which the build has no kernels",
        lambda s: gpu("K80")(s).with_failing_calls("fail cudaLaunchKernel 209", *loading(209)),
        "kernels",
    ),
    Fault("gpu-too-new", "gpu-arch-too-new", "an RTX 5090 (compute capability 12.0)", gpu("RTX 5090")),
    Fault(
        "few-multiprocessors",
        "gpu-arch-too-old",
        "a GTX 1050 Ti, which has too few multiprocessors, beside an RTX 3070",
        gpu("RTX 3070", "GTX 1050 Ti"),
    ),
    visible("hidden", "-1", "all GPUs are hidden"),
    visible("hidden-empty", "", "the value is empty, which hides all GPUs"),
    visible("hidden-index", "7", "there is no such GPU"),
    visible("hidden-uuid", "GPU-00000000", "there is no such GPU"),
    visible("hidden-mig", "MIG-8932f937-d72c-4106-c12f-20bd9faed9f6", "there is no such MIG instance"),
    visible("hidden-duplicate", "0,0", "a repeated entry hides all GPUs"),
    visible("hidden-first-invalid", "-1,0", "an invalid entry hides itself and all entries after it"),
    Fault(
        "mig-empty",
        "gpu-reserved",
        "an A100 in MIG mode without an instance",
        lambda s: s.with_gpus(replace(find_gpu("A100", Tables.bundled()), instances=())),
        logged="gpu-hidden",  # the log says only that the driver shows no device
    ),
    Fault("prohibited-mode", "gpu-bad-state", "the compute mode is Prohibited", compute_mode(2, 0)),
    Fault(
        "exclusive-mode",
        "gpu-bad-state",
        "the compute mode is Exclusive Process and another process uses the GPU",
        compute_mode(3, 1000),
    ),
)
