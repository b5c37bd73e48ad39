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
from doctor.logs.signatures.versions.cuda import plausible_cuda
from doctor.logs.signatures.versions.cudnn import cudnn_text, plausible_cudnn
from doctor.logs.signatures.versions.rows import LEAST
from doctor.logs.signatures.versions.spelling import DRIVER

_VERSION = r"(?:[ _-]?(?:versi\w{1,4}|ver\.?|release|版本|버전|バージョン))?"
_OF = r"versi\w{1,4} (?:of|de|von|di|del) (?:the )?"
_NAMES = (
    ("tensorflow", rf"(?:{_OF})?(?:tensorflow|tf)(?:[-_ ]?gpu)?{_VERSION}"),
    ("python", rf"(?:{_OF})?(?:python|py){_VERSION}"),
    ("cudnn", rf"(?:{_OF})?(?:nvidia )?cudnn{_VERSION}"),
    ("cuda", rf"(?:{_OF})?(?:nvidia )?cuda(?:[ _-]?(?:toolkit|sdk|runtime))?{_VERSION}"),
    (
        "driver",
        (
            rf"(?:{_OF})?(?:nvidia |gpu |graphics"
            rf" |grafik|nvidia-)?{DRIVER}(?: nvidia)?{_VERSION}"
        ),
    ),
    (
        "gpu",
        (
            r"gpus?(?: model)?(?: and memory| name| type)?|(?:graphics?|video)["
            r" -]?cards?|grafikkarte|graphics|显卡|carte graphique|tarjeta gr[aá]fica"
        ),
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
_FIRST = lazy.compile(
    r"\W{0,4}(?:[a-z][\w-]{0,20}[ =:v]{1,3}){0,2}v?(\d{1,3}(?:\.\d{1,5}){1,3})(?![\w/])", re.IGNORECASE
)
_PACKAGE = lazy.compile(r"\b(tensorflow[-_](?:gpu|cpu|macos|intel))\b", re.IGNORECASE)
_BITS = lazy.compile(r"\b(32|64)[ -]?bits?\b", re.IGNORECASE)


def field(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts from one form field, which consists of a label and a value."""
    label, value = match["label"].strip(), match["value"]
    what = next((name for name, pattern in _WHAT if pattern.fullmatch(label)), None)
    if what is None:
        return
    if what in ("cuda", "cudnn", "gpu") and _ABSENT.match(value):
        yield Symptom(source, "stated-absent", (("what", what),))
        return
    number = _FIRST.match(value)
    if number is None:
        return
    if LEAST.match(value, number.end()):
        return
    if what == "cuda" and "nvidia-smi" in value.lower():
        yield DriverCuda(source, number[1])
        return
    yield from stated(what, number[1], value, source)


def stated(what: str, version: str, value: str, source: Source) -> Iterator[Fact]:
    """Make the fact for a version in a field, if the version is plausible. what: tensorflow, python, cuda,
    cudnn or driver. value: the whole text of the field."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if what == "tensorflow" and ((major == 2 and minor <= 40) or (major == 1 and minor <= 15)):
        package = _PACKAGE.search(value)
        yield TensorFlowVersion(source, version, normalised(package[1]) if package else None, rank=FORM)
    elif what == "python" and major in (2, 3) and minor <= 20:
        bits = _BITS.search(value)
        yield PythonVersion(source, version, int(bits[1]) if bits else None, rank=FORM)
    elif what == "cuda" and plausible_cuda(version):
        yield CudaVersion(source, version, rank=FORM)
    elif what == "cudnn" and plausible_cudnn(version):
        yield CudnnVersion(source, cudnn_text(version), rank=FORM)
    elif what == "driver" and 170 <= major <= 999:
        yield DriverVersion(source, version, "any", FORM)


def both_absent(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts from a field "CUDA/cuDNN version" that says that CUDA, cuDNN or both are missing."""
    value = match["value"]
    cuda = re.search(
        r"(?:^|\bcuda\b)\W{0,3}(?:none\b|not installed|no (?:cuda|toolkit))", value, re.IGNORECASE
    )
    cudnn = re.search(r"(?:/|,|\bcudnn\b)\W{0,3}(?:none\b|not installed|no cudnn)", value, re.IGNORECASE)
    if cuda:
        yield Symptom(source, "stated-absent", (("what", "cuda"),))
    if cudnn:
        yield Symptom(source, "stated-absent", (("what", "cudnn"),))


def module(match: re.Match[str], source: Source) -> Fact | None:
    """Make the fact about a module that a cluster's `module` command loaded."""
    name, version = match["name"].lower(), match["version"]
    if name == "cudnn":
        return CudnnVersion(source, cudnn_text(version), rank=FORM) if plausible_cudnn(version) else None
    if name == "python":
        return PythonVersion(source, version, rank=FORM)
    return CudaVersion(source, version, rank=FORM) if plausible_cuda(version) else None


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
    return (
        TensorFlowVersion(source, match["version"], rank=INFERRED)
        if known and _GPU_WORD.search(line)
        else None
    )


_GPU_WORD = lazy.compile(r"\b(?:rtx|gtx|cuda|gpu)", re.IGNORECASE)
