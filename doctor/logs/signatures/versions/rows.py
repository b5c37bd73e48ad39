"""Signatures of versions in the rows of a Markdown table: `| cuDNN | 8.9.7 |`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import (
    PROSE,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    Fact,
    PythonVersion,
    Source,
    TensorFlowVersion,
)
from doctor.logs.signatures.signature import Signature, glued, sig, words
from doctor.logs.signatures.versions.cuda import plausible_cuda
from doctor.logs.signatures.versions.cudnn import cudnn_text, plausible_cudnn
from doctor.logs.signatures.versions.spelling import DRIVER, DRIVERS

LEAST = lazy.compile(
    r"\s*(?:\+|or (?:later|newer|higher|above)|and (?:later|up)|以上|以降|이상|o superior|и выше|ou plus)",
    re.IGNORECASE,
)
"""Matches the text that follows a version if the version is a lower bound ("or later")."""
_WHAT = (
    (
        "tensorflow",
        r"^(?:tensorflow|tf)(?:[ -]gpu)?(?: version|版本| 版本| 버전)?$|^versi\w+ (?:de|von|di) tensorflow$",
    ),
    ("cudnn", r"^(?:nvidia )?cudnn(?: version|版本| 版本| 버전)?$"),
    ("cuda", r"^(?:nvidia )?cuda(?: (?:toolkit|runtime|sdk))?(?: version|版本| 版本| 버전)?$"),
    (
        "driver",
        (
            r"^(?:nvidia |gpu )?driver(?: nvidia)?(?:"
            rf" version)?$|^(?:显卡)?{DRIVER}(?: nvidia)?$|^nvidia[- ]{DRIVER}$"
        ),
    ),
    ("python", r"^python(?: version|版本| 版本| 버전)?$"),
)


def row(match: re.Match[str], source: Source) -> Fact | None:
    """Make the fact that one row states. Return None for rows about other things, and for a lower bound."""
    if LEAST.match(match["rest"]):
        return None
    return stated(match["what"].strip().lower(), match["version"], source)


def columns(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts from a table with one row below a line with the names of the columns."""
    heads, values = (
        [cell.strip() for cell in match[name].strip(" |\t").split("|")] for name in ("heads", "values")
    )
    if len(heads) != len(values) or len(heads) < 2:
        return
    for head, value in zip(heads, values):
        version = re.fullmatch(r"[*_`]*v?(\d{1,3}(?:\.\d{1,5}){1,3})[*_`]*", value)
        fact = stated(head.strip("*_` ").lower(), version[1], source) if version else None
        if fact is not None:
            yield fact


def stated(what: str, version: str, source: Source) -> Fact | None:
    """Make the fact for a version of the software `what`. Return None if the software is unknown or has no
    such release."""
    kind = next((kind for kind, pattern in _WHAT if re.match(pattern, what)), None)
    major = int(version.split(".")[0])
    if kind == "tensorflow" and major <= 2:
        return TensorFlowVersion(source, version, rank=PROSE)
    if kind == "cudnn" and plausible_cudnn(version):
        return CudnnVersion(source, cudnn_text(version), rank=PROSE)
    if kind == "cuda" and plausible_cuda(version):
        return CudaVersion(source, version, rank=PROSE)
    if kind == "driver" and 170 <= major <= 999:
        return DriverVersion(source, version, "any", PROSE)
    if kind == "python" and major in (2, 3):
        return PythonVersion(source, version, rank=PROSE)
    return None


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "version-row",
        (
            *glued("|*`_ ", ("tf",)),
            *DRIVERS,
            *words("tensorflow|cudnn|cuda|python"),
        ),
        r"^[\s>]{0,6}\|\s{0,20}(?!\s)[*_`]{0,3}(?P<what>(?:tf|[^|\n*_`]{0,20}?(?:"
        rf" tf|tensorflow|cudnn|cuda|{DRIVER}"
        r"|python))[^|\n*_`]{0,20}?)(?<!\s)[*_`]{0,3}\s{0,30}\|\s{0,20}[*_`]{0,3}v?(?P<version>\d{1,3}"
        r"(?:\.\d{1,5}){1,3})(?P<rest>[^|\n]{0,60})\|",
        "| CUDA Toolkit | 12.4.1 | installed |",
        row,
        near="|",
        unlogged=True,
    ),
    sig(  # only one row: several rows are a table of versions that work together
        "version-columns",
        "tensorflow|cudnn",
        r"^[ \t]{0,6}\|(?P<heads>[^\n]{0,160}(?:tensorflow|cudnn)[^\n]{0,160})\|[ \t]{0,8}\n[ \t]{0,6}\|[-:|"
        r" \t]{3,200}\|[ \t]{0,8}\n[ \t]{0,6}\|(?P<values>[^\n]{1,240})\|[ \t]{0,8}(?=\n(?![ \t]{0,6}\|)|\Z)",
        "| python | tensorflow | cudnn |\n| --- | --- | --- |\n| 3.9 | 2.6.0 | 8.1 |",
        columns,
        lines=4,
        at="values",
        near="|",
        unlogged=True,
    ),
)
