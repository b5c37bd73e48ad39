"""Makes facts from what people state in a form field, in a module's name or in a package's name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import (
    FORM,
    INFERRED,
    CudaVersion,
    CudnnVersion,
    DriverCuda,
    DriverVersion,
    Fact,
    PythonVersion,
    Source,
    Symptom,
    TensorFlowVersion,
    normalised,
)
from doctor.logs.signatures.versions.plausible import (
    cudnn_text,
    plausible_cuda,
    plausible_cudnn,
    plausible_driver,
    plausible_tensorflow,
)
from doctor.logs.signatures.versions.spelling import DRIVER

_VERSION = r"(?:[ _-]?(?:versi\w{1,4}|ver\.?|release|版本|버전|バージョン))?"
_OF = r"versi\w{1,4} (?:of|de|von|di|del) (?:the )?"
_NAMES = (
    ("tensorflow", rf"(?:{_OF})?(?:tensorflow|tf)(?:[-_ ]?gpu)?{_VERSION}"),
    ("python", rf"(?:{_OF})?(?:python|py){_VERSION}"),
    ("cudnn", rf"(?:{_OF})?(?:nvidia )?cudnn{_VERSION}"),
    ("cuda", rf"(?:{_OF})?(?:nvidia )?cuda(?:[ _-]?(?:toolkit|sdk|runtime))?{_VERSION}"),
    ("driver", rf"(?:{_OF})?(?:nvidia |gpu |graphics |grafik|nvidia-|显卡)?{DRIVER}(?: nvidia)?{_VERSION}"),
    (
        "gpu",
        r"gpus?(?: model)?(?: and memory| name| type)?|(?:graphics?|video)[ -]?cards?|grafikkarte|graphics"
        r"|显卡|carte graphique|tarjeta gr[aá]fica",
    ),
)
_WHAT = tuple((name, lazy.compile(pattern, re.IGNORECASE)) for name, pattern in _NAMES)
_ABSENT = lazy.compile(
    r"\W{0,3}(?:none\b(?: installed)?|not (?:yet )?(?:installed|present|there)\b|no(?:t installed)?(?= *$)|no"
    r" (?:cuda|cudnn|nvidia)\b[^.\n]{0,30}|nicht installiert|keine?\b|aucun\w*|ninguna?|未安装|没有)",
    re.IGNORECASE,
)
"""Matches an answer in a field that says that the software or GPU is absent. "N/A", a dash and an empty field
do not match."""
LEAST = lazy.compile(
    r"\s*(?:\+|or (?:later|newer|higher|above)|and (?:later|up)|以上|以降|이상|o superior|и выше|ou plus)",
    re.IGNORECASE,
)
"""Matches the text that follows a version if the version is a lower bound ("or later")."""
_FIRST = lazy.compile(
    r"\W{0,4}(?:[a-z][\w-]{0,20}[ =:v]{1,3}){0,2}v?(\d{1,3}(?:\.\d{1,5}){1,3})(?![\w/])", re.IGNORECASE
)
_PACKAGE = lazy.compile(r"\b(tensorflow[-_](?:gpu|cpu|macos|intel))\b", re.IGNORECASE)
_BITS = lazy.compile(r"\b(32|64)[ -]?bits?\b", re.IGNORECASE)


def product_of(label: str) -> str:
    """Return the product that a label names: tensorflow, python, cudnn, cuda, driver or gpu; "" for any other
    label."""
    return next((name for name, pattern in _WHAT if pattern.fullmatch(label)), "")


def field(match: re.Match[str], source: Source) -> Fact | None:
    """Make the fact from one form field, which consists of a label and a value. Return None if the label
    names no product, or if the value states neither an installed version nor that the product is absent."""
    what, value = product_of(match["label"].strip()), match["value"]
    if what in ("cuda", "cudnn", "gpu") and _ABSENT.match(value):
        return Symptom(source, "stated-absent", (("what", what),))
    number = _FIRST.match(value)
    if number is None or LEAST.match(value, number.end()):
        return None
    if what == "cuda" and "nvidia-smi" in value.lower():
        return DriverCuda(source, number[1])
    return version_fact(what, number[1], source, FORM, value)


def version_fact(what: str, version: str, source: Source, rank: int, value: str = "") -> Fact | None:
    """Make the fact for a version of a product. Return None if the product has no such release. what: the
    result of product_of. value: the whole text of the field, which may also contain the package's name, or
    "64 bit" for Python."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if what == "tensorflow" and plausible_tensorflow(major, minor):
        package = _PACKAGE.search(value)
        return TensorFlowVersion(source, version, normalised(package[1]) if package else None, rank=rank)
    if what == "python" and major in (2, 3) and minor <= 20:
        bits = _BITS.search(value)
        return PythonVersion(source, version, int(bits[1]) if bits else None, rank=rank)
    if what == "cuda" and plausible_cuda(version):
        return CudaVersion(source, version, rank=rank)
    if what == "cudnn" and plausible_cudnn(version):
        return CudnnVersion(source, cudnn_text(version), rank=rank)
    if what == "driver" and plausible_driver(version):
        return DriverVersion(source, version, "any", rank)
    return None


def both_absent(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts from a field "CUDA/cuDNN version" that says that CUDA, cuDNN or both are missing."""
    value = match["value"]
    for what, pattern in (
        ("cuda", r"(?:^|\bcuda\b)\W{0,3}(?:none\b|not installed|no (?:cuda|toolkit))"),
        ("cudnn", r"(?:/|,|\bcudnn\b)\W{0,3}(?:none\b|not installed|no cudnn)"),
    ):
        if re.search(pattern, value, re.IGNORECASE):
            yield Symptom(source, "stated-absent", (("what", what),))


def module(match: re.Match[str], source: Source) -> Fact | None:
    """Make the fact about a module that a cluster's `module` command loaded."""
    name = match["name"].lower().replace("cudatoolkit", "cuda")
    return version_fact(name, match["version"], source, FORM)


def package(match: re.Match[str], source: Source) -> Fact:
    """Make the symptom that states how TensorFlow was installed: the name of the distribution, its extra and
    its release."""
    found = {key: value for key, value in match.groupdict().items() if value}
    name = next(value for key, value in found.items() if key.startswith("name"))
    version = next((value for key, value in found.items() if key.startswith("version")), "")
    extra = "and-cuda" if "and-cuda" in match[0].lower().replace("_", "-") else ""
    return Symptom(
        source, "stated-package", (("name", normalised(name)), ("extra", extra), ("version", version))
    )


def bare_release(match: re.Match[str], source: Source) -> Fact | None:
    """Make the fact for a release number that has no name with it. Return None if the line does not mention a
    GPU, or if TensorFlow has no such release."""
    major, minor = (int(part) for part in match["version"].split(".")[:2])
    start = match.string.rfind("\n", 0, match.start()) + 1
    line = match.string[start : match.end() + 200].partition("\n")[0]
    known = 4 <= minor <= 15 if major == 1 else minor <= 21
    found = known and _GPU_WORD.search(line)
    return TensorFlowVersion(source, match["version"], rank=INFERRED) if found else None


_GPU_WORD = lazy.compile(r"\b(?:rtx|gtx|cuda|gpu)", re.IGNORECASE)
