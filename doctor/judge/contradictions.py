"""What rules a cause out, or nearly: signs in a case that it cannot live with.

In: a `Picture` and its compatibility. Out: for each code the facts that speak against it. One row for each sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import PROSE, Fact, Source
from doctor.tables import dotted

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.findings import Part
    from doctor.picture import Picture

Sign: TypeAlias = "Callable[[Picture], Sequence[Fact]]"

STARTS = ("tf-not-installed", "tf-no-wheel", "tf-gpu-package-removed", "cpu-no-avx")
"""Codes of what keeps TensorFlow from being there at all."""
NO_DRIVER = ("driver-missing", "driver-not-loaded", "driver-library-mismatch", "gpu-absent", "gpu-powered-off")
NO_DEVICE = (
    *STARTS, *NO_DRIVER, "driver-libcuda-missing", "device-permission", "container-no-gpu", "wsl-driver", "gpu-hidden",
    "gpu-reserved", "cuda-missing", "cuda-version-mismatch", "cudnn-missing", "library-path", "tf-cpu-only",
    "tf-windows-native", "tf-import-failed", "driver-too-new", "gpu-arch-too-old", "cuda-compat-package",
)  # fmt: skip
"""Codes of what keeps TensorFlow from making a GPU device."""


def _registered(picture: Picture) -> Sequence[Fact]:
    return [device for device in picture.registered if device.count]


def _driver_answers(picture: Picture) -> Sequence[Fact]:
    facts = picture.facts
    if facts.has("smi-no-driver", "smi-no-devices", "smi-not-found", "driver-mismatch"):
        return []
    return facts.symptoms("smi-works")


def _nvidia_gpu(picture: Picture) -> Sequence[Fact]:
    return picture.gpus


def _before_windows_lost_cuda(picture: Picture) -> Sequence[Fact]:
    """The last release with CUDA for Windows is 2.10 (its wheels; release notes of 2.11)."""
    known = picture.tensorflow
    try:
        old = known is not None and "." in known.version and dotted(known.version)[:2] <= (2, 10)
    except ValueError:
        return []
    return [known] if known is not None and old else []


def _not_windows(picture: Picture) -> Sequence[Fact]:
    place = picture.platform_fact
    return [place] if place is not None and place.kind != "windows" else []


def _on_a_mac(picture: Picture) -> Sequence[Fact]:
    place = picture.platform_fact
    return [place] if place is not None and place.kind == "macos" else []


def _imported(picture: Picture) -> Sequence[Fact]:
    """TensorFlow ran: it registered a device, opened a library or failed in a call of CUDA."""
    from doctor.facts import CudaCallFailed, LibraryLoaded

    facts = picture.facts
    return [*_registered(picture), *facts.of(CudaCallFailed), *facts.of(LibraryLoaded), *facts.symptoms("gpu-skipped")]


def _own_build(picture: Picture) -> Sequence[Fact]:
    """A build of somebody's own opens the CUDA that it was compiled with."""
    return picture.facts.symptoms("own-build")


SIGNS: tuple[tuple[str, Sign, tuple[str, ...]], ...] = (
    ("a GPU is registered", _registered, NO_DEVICE),
    ("the driver answers", _driver_answers, NO_DRIVER),
    ("an NVIDIA GPU is named", _nvidia_gpu, ("gpu-absent",)),
    ("a release with CUDA on Windows", _before_windows_lost_cuda, ("tf-windows-native",)),
    ("not Windows", _not_windows, ("tf-windows-native",)),
    ("macOS", _on_a_mac, ("wsl-driver",)),
    ("TensorFlow ran", _imported, STARTS),
    ("a build of one's own", _own_build, ("cuda-version-mismatch",)),
)
"""A sign, its name in the table of weights, and the codes that it speaks against."""

WELL = ("healthy", "benign-messages")
"""Codes that say that the GPU works."""
COMPLAINTS = ("gpu-list-empty", "gpu-not-used", "uses-cpu", "cpu-only-listed", "no-known-devices", "gpu-not-found")
"""Symptoms: the GPU is not there for TensorFlow, or is not used."""

PARTS = {
    "gpu": ("gpu-arch-too-old", "gpu-arch-too-new"),
    "driver": ("driver-too-old", "driver-too-new"),
    "cuda": ("cuda-version-mismatch",),
    "cudnn": ("cudnn-version-mismatch",),
    "python": ("tf-no-wheel",),
}
"""The codes that a part which fits speaks against."""


def against(picture: Picture, parts: Sequence[Part]) -> Iterator[tuple[str, str, tuple[Source, ...]]]:
    """(name of the sign, code, what speaks against it), for each sign that is there."""
    for name, sign, codes in SIGNS:
        facts = sign(picture)
        if facts:
            sources = tuple(dict.fromkeys(fact.source for fact in facts))[:2]
            yield from ((name, code, sources) for code in codes)
    for kind, codes in PARTS.items():
        several = [part for part in parts if part.part == kind]
        if several and all(part.fits and not part.slow for part in several):
            yield from (("it fits", code, several[0].evidence) for code in codes)
    misfits = [part for part in parts if part.fits is False and part.code and part.rank <= PROSE]
    if misfits and not _registered(picture):
        yield from (("something does not fit", code, misfits[0].evidence) for code in WELL)
    complaints = picture.facts.symptoms(*COMPLAINTS)
    if complaints and not _registered(picture):
        yield from (("the GPU is not used", code, (complaints[0].source,)) for code in WELL)
