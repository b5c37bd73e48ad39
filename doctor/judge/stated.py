"""What the tables decide where a report states an environment and what is observed, and no program names a cause.

In: a `Picture`, what goes together in it, and what rules found. Out: the code that explains the observation best, or
None where the tables have no say. One row for each code: which observations it explains; their order is the order in
which one cause hides the next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.facts import CudaCallFailed
from doctor.judge.compatibility import NO_DEVICE_SEEN
from doctor.logs.signatures.versions.spelling import of_another
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
    "gpu-arch-too-old": ("no device", "crash"),
    "cuda-missing": ("no device", "import"),
    "cuda-version-mismatch": ("no device", "import"),
    "cudnn-missing": ("no device", "crash", "import"),
    "cudnn-version-mismatch": ("crash", "no device", "import"),
    "gpu-arch-too-new": ("slow", "crash", "no device"),
}
"""Which observations a cause explains; a cause stands before those that it hides."""


OPENED = ("cuda-missing", "cuda-version-mismatch", "cudnn-missing", "cudnn-version-mismatch")
"""Codes that stop the import only of builds that are linked against CUDA's libraries."""


def observed(picture: Picture) -> list[str]:
    """What is observed, by the names of OBSERVED."""
    seen = [name for name, kinds in OBSERVED.items() if picture.facts.has(*kinds)]
    if "no device" not in seen and any(device.count == 0 for device in picture.registered):
        seen.append("no device")
    return seen


BY_VERSIONS = ("driver-too-old", "driver-too-new", "cuda-version-mismatch", "cudnn-version-mismatch", "gpu-arch-too-old", "gpu-arch-too-new")
"""Codes to which rules come from stated versions, too."""
HIDES = ("gpu-absent", "container-no-gpu", "tf-windows-native", "tf-cpu-only", "tf-gpu-package-removed", "tf-no-wheel")
"""Codes beside which no library, driver or kernel matters."""


def decided(picture: Picture, parts: Sequence[Part], findings: Sequence[Finding] = ()) -> str | None:
    """The code of the part that does not fit and that explains best what is observed; None where all fits.

    findings: what rules found. Where a rule came to one of those codes, too, it stays, but for what hides it.
    """
    seen = observed(picture)
    slow = "slow" in seen or "crash" in seen  # a compilation at the first start is no fault by itself
    misfits = {part.code for part in parts if part.code and (part.fits is False or (part.slow and slow))}
    order = [code for code in EXPLAINS if code in misfits]
    linked = picture.build is not None and dotted(picture.build.version) < (1, 15)  # CUDA's libraries stop the import itself
    fitting = [
        code for code in order
        if any(name in EXPLAINS[code] and (name != "import" or linked or code not in OPENED) for name in seen)
    ]  # fmt: skip
    if "crash" in seen or "slow" in seen:
        fitting.sort(key=lambda code: code != "gpu-arch-too-new" or "slow" not in seen)
    asked = [code for code in order if code != "tf-no-wheel"]  # somebody who has it has another Python than was read
    found = [f.code for f in findings if f.code in misfits and (f.confidence != "possible" or not seen)]
    if found and not any(code in HIDES for code in fitting):
        return found[0]
    return next(iter(fitting or ([] if seen or picture.facts.has("works-said") else asked)), None)


_WORDS = (
    "abort aborts after ages all also always am amd an anaconda and any anybody anything appear appears "
    "apple arch are as at available batch be because before begins behavior behaviour best betriebssystem "
    "binary bit box bug build but by call can cannot card cards cat centos change check clean cluster "
    "code combination computed computer conda config container conv convolution copied correct could "
    "couldn cpu crash crashed crashes crashing cuda cudnn current custom de debian define desktop detect "
    "detected detects device devices did die dies distribution do docker does doesn don driver drivers "
    "during dyld edition empty end ends env environment error even everything exception exceptions exist "
    "exists exit exits expected fail failed fails false fedora find finds fine first fit for forever "
    "found fresh from gb geforce get gets getting gib gives go goes good got gpu gpus grafikkarte graphic "
    "graphics grep gtx had hang hangs hardware has have having hd he header hello help here hey hi home "
    "host hour hours how idea if image import importing imports in include install installation installed "
    "installer installing intel into iris is issue it its jupyter just keras kernel know lab laptop later "
    "layer ld len library like linux list listed lists long lost lts mac machine macos made major make "
    "makes manjaro max may memory message messages method methods microsoft miniconda minor mint minute "
    "minutes missing model monterey my name need needed needs new nightly no node none not notebook "
    "nothing now num number nvcc nvidia of office ok okay on only onto operating or os our output own "
    "package packages patchlevel path pc physical pip place plain platform please point pop powershell "
    "predict present prints private pro problem process program programme prompt py pycharm python quadro "
    "quick quickly radeon raise raises ran recognize recognized recognizes regards release report reports "
    "reproduced return returns right rocky rtx run running runs say says script second seconds see seem "
    "seems seen sees server set setup shell should show shown shows shut since slow smi so some somebody "
    "sonoma soon sorry source start starts startup step still stuck super system ten tensorflow terminal "
    "tesla tf thank thanks that the their then there third this throw throws ti time times titan to "
    "together toolkit traceback train training trains treiber true try trying type ubuntu uhd under "
    "university unset until up use used uses using usr valid ventura venv version versione versionen "
    "versions versión very via video virtualenv visible want wanted wants was we what when where whether "
    "which while whole will win windows with work working works workstation would wrong wsl xe xp yes you "
    "your "
)
_PLAIN = frozenset((*_WORDS.split(), "array", "compatible", "incompatible", "compatibility", "incompatibility", "latest", "ready", "game"))
"""Words of sentences that state an environment, say what is observed, greet or ask, and name no cause."""
_STATUS = re.compile(r"\b[A-Z]{3,16}_[A-Z]{3,16}_[A-Z_]{2,40}\b")
"""The name of a status or of a variable: CUDA_ERROR_NO_DEVICE, CUDA_VISIBLE_DEVICES."""
_PROMPT = re.compile(r"(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[:~$#]|[$>] |(?:PS )?[A-Z]:\\)")
"""A line that begins with a shell's prompt."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_TOKEN = re.compile(r"\S{1,80}")


def uninstallable(picture: Picture, parts: Sequence[Part]) -> str | None:
    """The code of what pip cannot install by the tables, where a report says that pip does not."""
    codes = {part.code for part in parts if part.fits is False}
    seen = "installation" in observed(picture) and picture.facts.kind == "report"
    return next((code for code in ("tf-gpu-package-removed", "tf-no-wheel") if seen and code in codes), None)


def only_states(sentence: str) -> bool:
    """Whether a sentence only states an environment or what is observed: hardly a word of it says more.

    The prose model hears in such a sentence what reports with these words were mostly about; the tables know better.
    """
    if of_another(sentence) or _PROMPT.match(sentence):
        return True
    if _STATUS.search(sentence):
        return False
    words = [word for token in _TOKEN.findall(sentence) if not (token.isascii() and re.search(r"\d", token)) for word in _WORD.findall(token.lower())]
    more = [word for word in words if word not in _PLAIN]
    return len(more) <= len(words) // 6


def open_question(picture: Picture, findings: Sequence[Finding], parts: Sequence[Part]) -> bool:
    """Whether no program and no rule says more than that something is possible, or that versions do not go together."""
    facts = picture.facts
    if facts.kind != "report" or any(device.count for device in picture.registered) or picture.not_loaded or picture.loaded or facts.of(CudaCallFailed):
        return False
    codes = {part.code for part in parts if part.code}
    misfits = {*BY_VERSIONS, *codes}
    if codes & {"cuda-missing", "cudnn-missing", *HIDES}:
        misfits.add("library-path")  # nothing is there that a path could lead to
    return all(f.code == "undetermined" or (f.confidence == "possible" and f.code in EXPLAINS) or (f.code in misfits and f.confidence != "certain") for f in findings)
