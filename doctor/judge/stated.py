"""What the tables decide where a report states an environment and what is observed, and no program names a cause.

In: a `Picture`, what goes together in it, and what rules found. Out: the code that explains the observation best, or
None where the tables have no say. One row for each code: which observations it explains; their order is the order in
which one cause hides the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.judge.compatibility import NO_DEVICE_SEEN
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.findings import Finding, Part
    from doctor.picture import Picture

OBSERVED = {
    "installation": ("install-fails-said",),
    "import": ("import-fails-said", "import-error-said"),
    "crash": ("crash-said",),
    "slow": ("slow-start-said",),
    "no device": NO_DEVICE_SEEN,
}
"""What is observed, and the symptoms that say so."""

EXPLAINS: dict[str, tuple[str, ...]] = {
    "tf-gpu-package-removed": ("installation",),
    "tf-no-wheel": ("installation",),
    "gpu-absent": ("no device",),
    "container-no-gpu": ("no device",),
    "tf-windows-native": ("no device",),
    "tf-cpu-only": ("no device",),
    "python-dependency-conflict": ("import",),
    "tf-conflicting-packages": ("no device", "import"),
    "driver-too-new": ("no device",),
    "driver-too-old": ("no device", "crash"),
    "cuda-missing": ("no device", "import"),
    "cuda-version-mismatch": ("no device", "import"),
    "cudnn-missing": ("no device", "crash", "import"),
    "cudnn-version-mismatch": ("crash", "no device", "import"),
    "gpu-arch-too-old": ("no device", "crash"),
    "gpu-arch-too-new": ("slow", "crash"),
}
"""Which observations a cause explains; a cause stands before those that it hides."""


OPENED = ("cuda-missing", "cuda-version-mismatch", "cudnn-missing", "cudnn-version-mismatch")
"""Codes that stop the import only of builds that are linked against CUDA's libraries."""


def observed(picture: Picture) -> list[str]:
    """What is observed, by the names of OBSERVED."""
    return [name for name, kinds in OBSERVED.items() if picture.facts.has(*kinds)]


def decided(picture: Picture, parts: Sequence[Part]) -> str | None:
    """The code of the part that does not fit and that explains best what is observed; None where all fits."""
    misfits = {part.code for part in parts if part.code and (part.fits is False or part.slow)}
    if not misfits:
        return None
    seen = observed(picture)
    order = [code for code in EXPLAINS if code in misfits]
    linked = picture.build is not None and dotted(picture.build.version) < (1, 15)  # CUDA's libraries stop the import itself
    fitting = [
        code for code in order
        if any(name in EXPLAINS[code] and (name != "import" or linked or code not in OPENED) for name in seen)
    ]  # fmt: skip
    if "crash" in seen or "slow" in seen:
        fitting.sort(key=lambda code: code != "gpu-arch-too-new" or "slow" not in seen)
    asked = [code for code in order if code != "tf-no-wheel" or len(order) == 1]
    return next(iter(fitting or ([] if seen else asked)), None)


def open_question(picture: Picture, findings: Sequence[Finding]) -> bool:
    """Whether no program and no rule says more than that something is possible."""
    facts = picture.facts
    if facts.kind != "report" or picture.registered or picture.not_loaded:
        return False
    return all(f.code == "undetermined" or f.confidence == "possible" for f in findings)
