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


_PLAIN = frozenset(
    ["a", "an", "the", "this", "that", "my", "our", "your", "their", "its", "it", "is", "are", "was", "be", "am", "i", "we", "you", "he", "there", "here", "in", "on", "at", "of", "to", "from", "with", "under", "into", "for", "by", "as", "and", "or", "but", "also", "so", "just", "only", "have", "has", "had", "having", "use", "uses", "using", "used", "run", "runs", "running", "ran", "work", "works", "working", "do", "does", "did", "doesn", "don", "not", "no", "none", "nothing", "any", "some", "all", "can", "could", "will", "would", "may", "want", "trying", "try", "installed", "install", "installing", "installation", "installer", "setup", "set", "up", "version", "versions", "release", "build", "number", "model", "machine", "computer", "pc", "laptop", "server", "box", "system", "os", "operating", "platform", "distribution", "home", "pro", "tensorflow", "tf", "keras", "gpu", "gpus", "cpu", "cuda", "cudnn", "nvcc", "toolkit", "python", "py", "pip", "conda", "anaconda", "miniconda", "venv", "env", "environment", "virtualenv", "fresh", "new", "plain", "clean", "docker", "image", "container", "run", "driver", "drivers", "nvidia", "smi", "geforce", "gtx", "rtx", "quadro", "tesla", "titan", "super", "ti", "max", "card", "cards", "graphics", "graphic", "video", "hardware", "device", "devices", "memory", "gb", "gib", "windows", "win", "linux", "ubuntu", "debian", "fedora", "centos", "rocky", "arch", "manjaro", "mint", "pop", "wsl", "macos", "mac", "bit", "lts", "edition", "says", "say", "reports", "report", "shows", "show", "lists", "listed", "list", "empty", "see", "sees", "seen", "find", "finds", "found", "detect", "detects", "detected", "recognize", "recognized", "recognizes", "visible", "available", "physical", "config", "tf", "false", "true", "len", "num", "returns", "return", "gives", "prints", "output", "header", "which", "what", "where", "how", "import", "imports", "importing", "crash", "crashes", "crashed", "crashing", "die", "dies", "abort", "aborts", "fail", "fails", "failed", "first", "conv", "convolution", "layer", "step", "start", "starts", "begins", "training", "train", "trains", "batch", "fit", "call", "predict", "slow", "minutes", "slow", "place", "copied", "it", "via", "package", "packages", "name", "none", "yes", "microsoft", "process", "kernel", "xp", "sonoma", "ventura", "monterey", "apple", "m1", "m2", "uhd", "hd", "iris", "xe", "intel", "amd", "radeon", "define", "major", "minor", "patchlevel", "include", "usr", "cat", "grep", "when", "computed", "gets", "unset", "ld", "path", "dyld", "betriebssystem", "grafikkarte", "treiber", "versión", "versione", "version", "versionen", "de", "hi", "hey", "hello", "thanks", "thank", "anybody", "somebody", "idea", "any", "please", "help", "check", "whether", "valid", "combination", "okay", "ok", "right", "wrong", "correct", "together", "go", "goes", "anything", "change", "know", "works", "fine", "good", "best", "regards", "if", "onto", "get", "got", "getting", "method", "methods", "exception", "exceptions", "traceback", "ends", "end", "raises", "raise", "throws", "throw", "message", "messages", "nothing", "still", "always", "even", "after", "before", "now", "then", "while", "during", "since", "when", "as", "soon", "because", "first", "second", "third", "time", "times", "later", "quick", "quickly", "minute", "hour", "hours", "ten", "seconds", "lost", "sorry", "hangs", "hang", "stuck", "forever", "long", "until", "ages", "start-up", "startup", "whole", "point", "shut", "exit", "exits", "program", "programme", "script", "code", "notebook", "jupyter", "pycharm", "terminal", "shell", "prompt", "powershell", "cannot", "couldn", "shown", "seem", "seems", "appears", "appear", "exist", "exists", "present", "missing", "there", "anything", "everything", "own", "private", "office", "lab", "university", "cluster", "node", "workstation", "desktop", "wanted", "wants", "need", "needs", "needed", "like", "would", "used", "make", "makes", "made", "problem", "error", "expected", "behavior", "behaviour", "current", "should", "bug", "reproduced", "nightly", "issue", "type", "custom", "code", "source", "binary", "host"]
)
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
