"""Signs that exclude a cause or make it very unlikely.

In: a `Case` and its compatibility. Out: for each code, the facts that contradict it. SIGNS has one row for
each sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import (
    PROSE,
    DriverVersion,
    Fact,
    GpuMemory,
    OtherGpu,
    Source,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.judge.answers import NO_DEVICE_SEEN
from doctor.tables import dotted

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.case import Case
    from doctor.findings import Part

Sign: TypeAlias = "Callable[[Case], Sequence[Fact]]"

STARTS = ("tf-not-installed", "tf-no-wheel", "tf-gpu-package-removed", "cpu-no-avx")
"""Codes of causes that keep TensorFlow from being installed or imported."""
NO_DRIVER = (
    "driver-missing",
    "driver-not-loaded",
    "driver-library-mismatch",
    "gpu-absent",
    "gpu-powered-off",
)
SHOWN = (
    *STARTS,
    *NO_DRIVER,
    "driver-libcuda-missing",
    "device-permission",
    "container-no-gpu",
    "wsl-driver",
    "gpu-hidden",
    "gpu-reserved",
    "tf-cpu-only",
    "tf-windows-native",
    "driver-too-new",
)
"""Codes of causes that hide the GPU from TensorFlow, or keep TensorFlow from requesting one."""
NO_DEVICE = (
    *SHOWN,
    "cuda-missing",
    "cuda-version-mismatch",
    "cudnn-missing",
    "library-path",
    "tf-import-failed",
    "gpu-arch-too-old",
    "cuda-compat-package",
)
"""Codes of causes that keep TensorFlow from creating a GPU device."""
OF_TENSORFLOW = (
    "cuda-missing",
    "cuda-version-mismatch",
    "cudnn-missing",
    "cudnn-version-mismatch",
    "library-path",
    "tf-cpu-only",
    "tf-windows-native",
    "tf-conflicting-packages",
    "xla-toolchain-missing",
    "cudnn-init-oom",
)
"""Codes that concern TensorFlow's own build and its libraries; other frameworks have their own builds and
libraries."""


def _registered(case: Case) -> Sequence[Fact]:
    return [device for device in case.registered if device.count]


def _runs_on_gpu(case: Case) -> Sequence[Fact]:
    """Return evidence of a registered GPU; none if one of TensorFlow's own checks ended the run: with a CUDA
    version that does not fit, TensorFlow registers the GPU but fails at the first kernel."""
    return [] if case.facts.has("fatal-check") else _registered(case)


def _found(case: Case) -> Sequence[Fact]:
    """Return evidence that TensorFlow lists a GPU that the driver showed to it (gpu_device.cc, "Found
    device", "Adding visible gpu devices")."""
    return [] if case.in_another_run or _none_shown(case) else case.facts.symptoms("gpu-shown")


def _shows_the_first(case: Case) -> Sequence[Fact]:
    """Return evidence that CUDA_VISIBLE_DEVICES begins with number 0, the first GPU of any machine with a
    GPU."""
    variable = case.env.get("CUDA_VISIBLE_DEVICES")
    first = variable.value.split(",")[0].strip() if variable is not None else ""
    return [variable] if variable is not None and first == "0" and not _none_shown(case) else []


def _none_shown(case: Case) -> bool:
    """Whether a process in the report saw no GPU: it had another value of CUDA_VISIBLE_DEVICES, or belongs to
    another run."""
    return case.facts.has("no-device-shown")


def _driver_answers(case: Case) -> Sequence[Fact]:
    facts = case.facts
    if facts.has("smi-no-driver", "smi-no-devices", "smi-not-found", "driver-mismatch"):
        return []
    shown = [known for known in facts.of(DriverVersion) if _SMI.search(known.source.text)]
    return [*facts.symptoms("smi-works"), *shown]


_SMI = lazy.compile(r"NVIDIA-SMI [\d.]{1,16} {1,40}Driver Version: ?\d")
"""Matches the head of nvidia-smi's table, which it prints only if the driver answers."""


def _nvidia_gpu(case: Case) -> Sequence[Fact]:
    return case.gpus


def _before_windows_lost_cuda(case: Case) -> Sequence[Fact]:
    """Return evidence that the release is 2.10 or older; 2.10 was the last with CUDA for Windows (its wheels;
    release notes of 2.11). If the release is unknown, the programs or bindings that the report mentions may
    limit it."""
    known = case.tensorflow
    try:
        if known is None and case.named and case.builds:
            return (
                [one.fact for one in case.named]
                if all(_had_cuda(build.version) for build in case.builds)
                else []
            )
        return [known] if known is not None and "." in known.version and _had_cuda(known.version) else []
    except ValueError:
        return []


def _before_the_stub(case: Case) -> Sequence[Fact]:
    """Return evidence of a request for tensorflow-gpu 2.11 or earlier. These releases contain code (PyPI), so
    the request does not fail because the package ended."""
    known = case.tensorflow
    try:
        return (
            [known]
            if known is not None and "." in known.version and dotted(known.version)[:2] <= (2, 11)
            else []
        )
    except ValueError:
        return []


def _had_cuda(version: str) -> bool:
    return dotted(version)[:2] <= (2, 10)


def _not_windows(case: Case) -> Sequence[Fact]:
    place = case.platform_fact
    return [place] if place is not None and place.kind != "windows" else []


def _on_a_mac(case: Case) -> Sequence[Fact]:
    place = case.platform_fact
    return [place] if place is not None and place.kind == "macos" else []


def _imported(case: Case) -> Sequence[Fact]:
    """Return evidence that TensorFlow ran: it registered a device, loaded a library or failed in a CUDA
    call."""
    from doctor.facts import CudaCallFailed, LibraryLoaded

    facts = case.facts
    return [
        *_registered(case),
        *facts.of(CudaCallFailed),
        *facts.of(LibraryLoaded),
        *facts.symptoms("gpu-skipped", "gpu-shown", *FAILURES),
    ]


def _built_with_cuda(case: Case) -> Sequence[Fact]:
    """Return TensorFlow's own statements that its build has CUDA; none if any statement says the contrary."""
    builds = case.facts.of(TensorFlowBuild)
    return [] if any(build.gpu is False for build in builds) else [build for build in builds if build.gpu]


def _release_with_cuda(case: Case) -> Sequence[Fact]:
    """Return the stated release if pip's package "tensorflow" of this release has CUDA on the platform of the
    case; none if the build may be another one: conda's, a distribution's or the user's own."""
    known = case.tensorflow
    others = case.facts.has("tensorflow-of-conda", "own-build", "conda-cpu-build", "mentions-cpu-build")
    if known is None or case.build is None or case.bound or others or "conda" in case.environments:
        return []
    plain = case.tables.tensorflow(known.version.split("+")[0], "tensorflow", case.table_platform)
    return [known] if plain is not None and plain.gpu else []


def _own_build(case: Case) -> Sequence[Fact]:
    """Return evidence that the user compiled TensorFlow: such a build loads the CUDA version with which it
    was compiled."""
    return case.facts.symptoms("own-build")


def _another_framework(case: Case) -> Sequence[Fact]:
    """Return evidence that the program in the report computes with PyTorch or another framework; none if
    anything shows that TensorFlow should use the GPU."""
    facts = case.facts
    asked = facts.has("gpu-list-empty", "cpu-only-listed", "gpu-skipped") or any(
        d.count for d in case.registered
    )
    return [] if asked else [one.fact for one in case.named if one.one("computes")]


def _driver_inside(case: Case) -> Sequence[Fact]:
    """Return evidence that the container has the host's driver: libcuda answers in it."""
    shown = case.facts.symptoms("no-device-shown")
    if not shown:
        return []
    from doctor.rules.driver.signs import gives_driver  # few reports need it

    return shown if gives_driver(case) else []


def _container_gets_gpu(case: Case) -> Sequence[Fact]:
    """Return evidence of a container that is started with the GPU, in a report that only asks a question; an
    answer may name the option as the cure."""
    from doctor.judge.stated import asked

    return case.facts.symptoms("gpus-flag") if asked(case) else []


def _one_build(case: Case) -> Sequence[Fact]:
    """Return the stated versions of tensorflow and tensorflow-gpu if both are the same release, and its
    package tensorflow has GPU code, too (1.15.0, and 2.1 or later): both wheels then contain the same build,
    so they do not conflict. Otherwise []."""
    stated = case.facts.of(TensorFlowVersion)
    build, names = case.build, {version.package or "tensorflow" for version in stated}
    if build is None or names != {"tensorflow", "tensorflow-gpu"}:
        return []
    plain = case.tables.tensorflow(build.version, "tensorflow", case.table_platform)
    one = len({version.version for version in stated}) == 1
    return stated if plain is not None and plain.gpu and one else []


def _no_gpu_meant(case: Case) -> Sequence[Fact]:
    """Return the stated release if nothing in a report is about a GPU: then a build without CUDA is no
    fault."""
    meant = bool(case.gpus) or case.facts.has("mentions-gpu", "low-use-said", *NO_DEVICE_SEEN)
    known = case.tensorflow
    return [] if meant or known is None or case.facts.kind != "report" else [known]


def _has_avx(case: Case) -> Sequence[Fact]:
    """Return evidence of a processor with AVX; none if a virtual machine may hide it."""
    hidden = case.facts.has("virtual-machine", "processor-without-avx", "no-avx", "cpu-instructions")
    return [] if hidden else case.facts.symptoms("processor-with-avx")


def _failed(case: Case) -> Sequence[Fact]:
    """Return messages in which a program reports a failure, if no GPU is registered or the failure ended the
    run."""
    from doctor.facts import CudaCallFailed

    facts = case.facts
    ended = facts.symptoms("fatal-check", "crash-status", "run-aborted")
    return ended if _registered(case) else [*ended, *facts.of(CudaCallFailed), *facts.symptoms(*FAILURES)]


def _ended_early(case: Case) -> Sequence[Fact]:
    """Return evidence that the program or the notebook's kernel ended early, with or without a message."""
    return case.facts.symptoms("process-died", "crash-said")


def _another_makers_gpu(case: Case) -> Sequence[Fact]:
    """Return the only graphics device in a report, if NVIDIA did not make it; otherwise none."""
    from doctor.rules.gpu.makers import only_another_makers

    return case.facts.of(OtherGpu) if only_another_makers(case) else []


FREE = 0.2
"""If less than this fraction of a GPU's memory is in use, memory is not the reason for a failure."""


def _memory_free(case: Case) -> Sequence[Fact]:
    """Return evidence from nvidia-smi that little of each GPU's memory is in use; none if more is in use."""
    shown = [m for m in case.facts.of(GpuMemory) if m.used_mib is not None and m.total_mib]
    return shown if all((m.used_mib or 0) < FREE * (m.total_mib or 0) for m in shown) else []


OF_NVIDIA = (
    "healthy",
    "gpu-memory-held",
    "gpu-hidden",
    "gpu-bad-state",
    "device-permission",
    "driver-not-loaded",
    "driver-too-old",
    "driver-library-mismatch",
    "cuda-missing",
    "cuda-version-mismatch",
    "cudnn-missing",
    "cudnn-version-mismatch",
    "library-path",
    "gpu-arch-too-new",
    "gpu-arch-too-old",
    "model-oom",
    "cudnn-init-oom",
)
"""Codes that concern an NVIDIA GPU in the machine."""


SIGNS: tuple[tuple[str, Sign, tuple[str, ...]], ...] = (
    (
        "a GPU is registered",
        _registered,
        tuple(code for code in NO_DEVICE if code != "cuda-version-mismatch"),
    ),
    ("a GPU is registered", _runs_on_gpu, ("cuda-version-mismatch",)),
    ("the driver shows the GPU", _found, SHOWN),
    ("CUDA_VISIBLE_DEVICES shows number 0", _shows_the_first, ("gpu-hidden",)),
    ("the driver answers", _driver_answers, NO_DRIVER),
    ("an NVIDIA GPU is named", _nvidia_gpu, ("gpu-absent",)),
    ("a release with CUDA on Windows", _before_windows_lost_cuda, ("tf-windows-native",)),
    ("a release before tensorflow-gpu ended", _before_the_stub, ("tf-gpu-package-removed",)),
    ("not Windows", _not_windows, ("tf-windows-native",)),
    ("macOS", _on_a_mac, ("wsl-driver",)),
    ("TensorFlow ran", _imported, STARTS),
    ("a build with CUDA", _built_with_cuda, ("tf-cpu-only", "tf-windows-native", *STARTS)),
    ("a release with CUDA", _release_with_cuda, ("tf-cpu-only",)),
    ("a self-made build", _own_build, ("cuda-version-mismatch",)),
    ("another framework computes", _another_framework, OF_TENSORFLOW),
    ("the driver is in the container", _driver_inside, ("container-no-gpu",)),
    ("the container is started with the GPU", _container_gets_gpu, ("container-no-gpu",)),
    ("no GPU is meant", _no_gpu_meant, ("tf-windows-native", "tf-cpu-only")),
    ("the processor has AVX", _has_avx, ("cpu-no-avx",)),
    ("one build with two names", _one_build, ("tf-conflicting-packages",)),
    ("the memory is free", _memory_free, ("gpu-memory-held",)),
    ("a program failed", _failed, ("healthy", "benign-messages")),
    ("a program ended early", _ended_early, ("healthy",)),
    ("the GPU is of another maker", _another_makers_gpu, (*OF_NVIDIA, "tf-windows-native", "tf-cpu-only")),
)
"""Each row: a sign's name in the table of weights, the function that finds it, and the codes that it
contradicts."""

FAILURES = (
    "no-kernel-image",
    "ptx-invalid",
    "xla-serves-no-device",
    "device-unknown",
    "device-unsatisfied",
    "no-gpu-kernel",
    "no-cpu-kernel",
    "oom-said",
)
"""Symptoms of a program that requested a GPU but could not use it, or that ran out of the GPU's memory."""

WELL = ("healthy", "benign-messages")
"""Codes for a GPU that works."""
PARTS = {
    "gpu": ("gpu-arch-too-old", "gpu-arch-too-new"),
    "driver": ("driver-too-old", "driver-too-new"),
    "cuda": ("cuda-version-mismatch",),
    "cudnn": ("cudnn-version-mismatch",),
    "python": ("tf-no-wheel",),
}
"""For each part, the codes that it contradicts if it fits."""


def against(case: Case, parts: Sequence[Part]) -> Iterator[tuple[str, str, tuple[Source, ...]]]:
    """Yield (name of the sign, code, evidence against that code) for each sign in the case."""
    for name, sign, codes in SIGNS:
        facts = sign(case)
        if facts:
            sources = tuple(dict.fromkeys(fact.source for fact in facts))[:2]
            yield from ((name, code, sources) for code in codes)
    for kind, codes in PARTS.items():
        several = [part for part in parts if part.part == kind]
        if several and all(part.fits and not part.slow for part in several):
            yield from (("it fits", code, several[0].evidence) for code in codes)
        elif several and {part.code for part in several if not part.fits} < set(codes):
            # a part that is too old is not too new
            yield from (("it fits", c, several[0].evidence) for c in codes if c != several[0].code)
    rows = [case.tables.architecture(gpu.compute_capability or "") for gpu in case.gpus]
    if rows and all(row is not None and row.last_driver is None for row in rows):
        yield "it fits", "driver-too-new", (case.gpus[0].source,)  # no branch has dropped such a card
    misfits = [part for part in parts if part.fits is False and part.code and part.rank <= PROSE]
    # without an NVIDIA GPU, messages about CUDA are harmless if nobody wants one
    without = bool(misfits) and {part.code for part in misfits} == {"gpu-absent"}
    well = WELL[:1] if without else WELL
    if misfits and not _registered(case):
        yield from (("something does not fit", code, misfits[0].evidence) for code in well)
    complaints = case.facts.symptoms(*NO_DEVICE_SEEN)
    if complaints and not _registered(case):
        yield from (("the GPU is not used", code, (complaints[0].source,)) for code in well)
