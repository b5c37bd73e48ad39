"""Signatures of the installed CUDA version, and of the field for CUDA and cuDNN in issue forms. The CUDA
version in nvidia-smi's header is the highest version that the driver supports (DriverCuda), never an
installed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import FORM, INFERRED, MEASURED, PROSE, CudaVersion, CudnnVersion, DriverCuda, Fact, Source
from doctor.logs.signatures.signature import DIGITS, Maker, Signature, glued, sig, spoken
from doctor.logs.signatures.versions.plausible import cudnn_text, plausible_cuda, plausible_cudnn
from doctor.logs.signatures.versions.spelling import (
    AFTER_NAME,
    EMPHASIS,
    MOVED,
    NAMED,
    asked_for,
    elsewhere,
    said_rank,
)

_SMI = lazy.compile(r"\bnvidia-smi\b(?:[^\n.]|\.(?=\d)){0,40}\Z", re.IGNORECASE)
"""Matches the text before a CUDA version that nvidia-smi shows, which is the highest version that the driver
supports."""
_BY_SMI = lazy.compile(
    r"\W{0,3}(?:from |by |per |in |shown (?:in|by) |according to |says )?(?:the )?nvidia-smi\b", re.IGNORECASE
)
"""Matches the text after a CUDA version that nvidia-smi shows."""
_OFFERED = lazy.compile(r"\b(?:Driver|KMD) Version: [\d.]*\d[^\w\n]+\Z")
"""Matches the text before the CUDA version in nvidia-smi's header."""


def cuda(rank: int, sentence: bool = False) -> Maker:
    """Return a function that makes a CudaVersion from a match. sentence: the match is in a sentence, so
    ignore a version that is only requested or on another machine."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        version = match["version"].replace("-", ".").rstrip(".")
        if not plausible_cuda(version):
            return None
        if sentence and (asked_for(match) or elsewhere(match)):
            return None
        shown = _SMI.search(match.string, max(0, match.start() - 60), match.start()) or _BY_SMI.match(
            match.string, match.end()
        )
        if rank >= FORM and shown:
            return DriverCuda(source, version)
        if _OFFERED.search(match.string, max(0, match.start() - 60), match.start()):
            return None
        return CudaVersion(
            source, version, match.groupdict().get("path"), said_rank(match, rank) if sentence else rank
        )

    return make


_HOLDS = lazy.compile(
    r"\b(?:have|has|is|are|exists?|installed|there|lies|contains?|liegt|ist|est|está|находится|лежит)\b|在|有"
)
_SETS = lazy.compile(r"PATH|dlerror|export |cannot open|not found|no such|=|:/", re.IGNORECASE)


def in_folder(match: re.Match[str], source: Source) -> Fact | None:
    """Make a CudaVersion from the name of a toolkit's folder: as a person's statement if the sentence says
    that something is there, otherwise as a guess, because search paths also name folders that do not
    exist."""
    stated = _HOLDS.search(source.text) is not None and _SETS.search(source.text) is None
    return cuda(PROSE if stated else INFERRED)(match, source)  # type: ignore[return-value]


def _only_cudnn(version: str) -> bool:
    """Whether a number is a cuDNN release but not a CUDA release. For example, there was no CUDA 7.6, 8.1 or
    9.3."""
    major, dot, rest = version.partition(".")
    return (
        bool(dot)
        and 5 <= int(major) <= 9
        and ".".join((major, rest.split(".")[0])) not in ("7.0", "7.5", "8.0", "9.0", "9.1", "9.2")
    )


def cuda_and_cudnn(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts from the field "CUDA/cuDNN version" in TensorFlow's issue form, however people fill it
    in."""
    value = match["value"]
    first = re.match(r"\W{0,4}(\d+(?:\.\d+){0,2}) ?cuda\b", value, re.I)  # the numbers before the names
    if first and plausible_cuda(first[1]):
        yield CudaVersion(source, first[1], rank=FORM)
        second = re.search(r"(?<![\d.])(\d+(?:\.\d+){0,3}) ?cudnn", value[first.end() :], re.I)
        if second and plausible_cudnn(second[1]):
            yield CudnnVersion(source, cudnn_text(second[1]), rank=FORM)
        return
    named_cudnn = re.search(r"cudnn\D{0,14}?(\d+(?:\.\d+){0,3})", value, re.I)
    named_cuda = re.search(r"(?<![a-z])cuda(?!-?nn)\D{0,14}?(\d+(?:\.\d+){0,2})", value, re.I)
    if named_cuda and plausible_cuda(named_cuda[1]):
        yield CudaVersion(source, named_cuda[1], rank=FORM)
    if named_cudnn and plausible_cudnn(named_cudnn[1]):
        yield CudnnVersion(source, cudnn_text(named_cudnn[1]), rank=FORM)
    if named_cuda or (named_cudnn and re.search(r"\d", value[: named_cudnn.start()]) is None):
        rest = re.split(r"[/,&;|]|\band\b", value, maxsplit=1)
        if named_cuda and not named_cudnn and len(rest) == 2:
            second = re.search(r"(?<!\d)\d+(?:\.\d+){1,3}", rest[1])
            if second and plausible_cudnn(second[0]) and "cuda" not in rest[1].lower():
                yield CudnnVersion(source, cudnn_text(second[0]), rank=FORM)
        return
    if re.match(r"\W{0,4}(?:no|none|n/?a)\b", value, re.I):
        return  # a number without a name is about something else: "no, the machine is an XPS 13"
    # in "8.0.61-2/6.0.21-1", the single digits count the distribution's builds
    numbers = re.findall(r"(?<![\d.])\d+(?:\.\d+){1,3}|(?<!\d-)(?<![\d.])\d+", value)
    if len(numbers) == 1 and _only_cudnn(numbers[0]):
        yield CudnnVersion(source, cudnn_text(numbers[0]), rank=FORM)
    elif numbers and plausible_cuda(numbers[0]) and "driver" not in value.lower():
        yield CudaVersion(source, numbers[0], rank=FORM)
        later = [n for n in numbers[1:] if n != numbers[0] and plausible_cudnn(n)]
        if not named_cudnn and later:
            yield CudnnVersion(source, cudnn_text(later[0]), rank=FORM)


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "cuda-version",
        "cuda compilation tools, release|build cuda_",
        r"Cuda compilation tools, release (?P<version>\d+\.\d+)(?:, V[\d.]+)?",
        "Cuda compilation tools, release 10.0, V10.0.130",
        cuda(MEASURED),
    ),
    sig(
        "cuda-version",
        "nvcc -v|nvcc --version",
        r"nvcc (?:-V|--version)[`'\"]{0,2}(?: \w+){0,4}?[ :=]{1,3}(?:cuda |release"
        r" )?(?P<version>\d{1,2}\.\d(?:\.\d+)?)(?!\w|\.\d)",
        "nvcc --version says 11.8",
        cuda(FORM),
    ),
    sig(
        "cuda-version",
        "build cuda_",
        r"Build cuda_(?P<version>\d+\.\d+)\.r\d",
        "Build cuda_11.8.r11.8/compiler.31833905_0",
        cuda(MEASURED),
    ),
    sig(
        "cuda-version",
        "cuda version ",
        r"^\W{0,4}CUDA Version (?P<version>\d+\.\d+\.\d+)\s*$",
        "CUDA Version 10.0.130",
        cuda(MEASURED),
    ),
    sig(  # the CUDA version with which the samples deviceQuery and bandwidthTest were built, and the driver's
        "cuda-sample",
        "cuda driver version / runtime version",
        r"CUDA Driver Version / Runtime Version\s{1,24}(?P<driver>\d{1,2}\.\d) / (?P<version>\d{1,2}\.\d)",
        "  CUDA Driver Version / Runtime Version          10.1 / 10.0",
        lambda m, s: (DriverCuda(s, m["driver"]), CudaVersion(s, m["version"])),
        origin="CUDA samples, 1_Utilities/deviceQuery/deviceQuery.cpp",
    ),
    sig(
        "cuda-version",
        "libcudart.so.",
        r"libcudart\.so\.(?P<version>\d{1,2}\.\d+\.\d+)(?![\d.]*: cannot)",
        "/usr/local/cuda-10.1/lib64/libcudart.so.10.1.243",
        cuda(FORM),
    ),
    spoken(
        "cuda-and-cudnn",
        "cudnn",
        r"CUDA ?(?:/|and|&|、) ?cuDNN(?: versions?)?[*_` ]{0,4}(?:\([^)\n]{0,60}\))?[*_` ]{0,4}"
        r"(?:[:：-][*_` -]{0,6}|(?=\d{1,2}\.\d))(?:GPU model and memory: )?(?P<value>[^\n]{1,120})",
        "- CUDA/cuDNN version: 10.1 / 7.6.5",
        cuda_and_cudnn,
        near="cuda/|cuda /|cudaand|cuda and|cuda&|cuda &|cuda、|cuda 、",
    ),
    sig(
        "cuda-and-cudnn",
        "cuda/cudnn version",
        r"CUDA/cuDNN version[^\w\n]{0,10}\n\s*(?P<value>[^\s#][^\n#]{0,119})",
        "### CUDA/cuDNN version\n\n11.8 / 8.6",
        cuda_and_cudnn,
        lines=3,
        at="value",
    ),
    spoken(
        "cuda-version",
        glued(("cuda",), (*AFTER_NAME, "_toolkit", "ver", "版本")),
        r"(?<![/|] )(?<![|/])\bcuda(?: toolkit| tool kit|_toolkit| runtime)?\s?(?:version|ver\.?|版本)?(?:"
        rf" host)?{NAMED}>?{EMPHASIS}(?:cuda ?|v|version"
        r" )?(?P<version>\d{1,2}\.\d+(?:\.\d+)?)(?![\w]|[^\n]{0,30}\|\s*$)",
        "Cuda Toolkit Version: 10.1 u2",
        cuda(FORM),
    ),
    spoken(  # an entry of a list, without a colon
        "cuda-version",
        "cuda",
        r"^[\s>]{0,4}[-*•] ?(?:NVIDIA )?CUDA(?: toolkit)?(?: version)?"
        r" v?(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,3})?)(?=\s{0,2}(?:$|[(,;]))",
        "- CUDA version 10.1 (update2)",
        cuda(FORM),
        near="- |-n|-c|* |*n|*c|•",
    ),
    sig(
        "cuda-version",
        "cudatoolkit|cuda-toolkit=",
        r"(?:cudatoolkit(?:\s?[=-]{1,2}\s?|\s+|:)(?:\([^)\n]{1,24}\)[ :=]{1,3})?"
        r"|cuda-toolkit={1,2})(?P<version>\d{1,2}\.\d+(?:\.\d+)?)",
        "conda install cudatoolkit=10.1",
        cuda(PROSE),
    ),
    sig(
        "cuda-version",
        ("nvidia/cuda:", "cuda-repo-", "cuda-toolkit-", *glued(("cuda_",), DIGITS)),
        # an image that only runs nvidia-smi is a test of the GPU; the rest of the report is not about it
        r"(?:nvidia/cuda:|cuda-repo-[a-z]+\d+-|cuda-toolkit-|cuda_)"
        r"(?P<version>\d{1,2}[.-]\d{1,2}(?:\.\d{1,3})?)(?=[-_.\s:]|$)"
        r"(?![\w.-]{0,40}[ '\"`]{1,3}nvidia-smi)",
        "FROM nvidia/cuda:8.0-cudnn5-devel",
        cuda(PROSE),
    ),
    spoken(
        "cuda-version",
        (*glued(("cuda",), " -v(:`'\""), *glued(("cuda_",), ("v", " ", *DIGITS))),
        r"(?<![\w/\\.-])cuda(?:[ -]too?l?kit| sdk| runtime)?(?:[ \-v(:`'\"]{1,3}"
        r"|_[v ]?| v\. ?| of )(?P<version>\d{1,2}\.\d+(?:\.\d+)?)(?![\w/\\]|\.?\d)(?!\s+(?:capab|compute))",
        "with CUDA 11.2 installed",
        cuda(PROSE, sentence=True),
    ),
    spoken(
        "cuda-version",
        glued(("cuda",), (*" (:`'\"", *DIGITS)),
        r"(?<![\w/\\.-])cuda(?: toolkit| version)?[ (:`'\"]{0,2}(?P<version>\d{1,2}\.\d{1,2})(?![\w/\\.])",
        "cuda10.1 and cudnn7.6",
        cuda(PROSE, sentence=True),
    ),
    spoken(
        "cuda-version",
        "cuda |cuda:",
        r"\bcuda\b(?: on [\w ]{1,24})?(?: version)?(?: is(?: now)?"
        r"| =|:)? (?:v\.? ?)?(?P<version>1[0-3]|[89])(?![\w-]|\.\w)",
        "the CUDA on the server is 10 now",
        cuda(INFERRED, sentence=True),
    ),
    spoken(
        "cuda-version",
        "cuda |cuda,",
        r"(?<![\w/\\.-])cuda\b(?: package| toolkit| library)?,? (?:is|was"
        r"|are|being|pull(?:s|ing)|installs?|brings|comes (?:as|with)|has)\b[^\n\d.,;:]{0,30}\b(?:version"
        r"|newest|latest|release|v),? ?(?P<version>\d{1,2}\.\d+(?:\.\d+)?)(?![\w/])",
        "the distribution's CUDA package is the newest, 9.1.1",
        cuda(PROSE, sentence=True),
    ),
    spoken(
        "cuda-version",
        "cuda ",
        rf"{MOVED}(?:the |my )?cuda(?: toolkit| version)? (?:from v?[\d.]+ )?to (?:version"
        r" |v)?(?P<version>\d{1,2}\.\d+(?:\.\d+)?)(?![\w/])",
        "then I reinstalled cuda to 9.2",
        cuda(PROSE),
        near="updat|upgrad|install|switch|chang|downgrad|went|mov",
    ),
    sig(
        "cuda-version",
        "/cuda-|\\cuda\\v|cuda-",
        r"(?P<path>(?:/[\w.-]+)*/cuda-(?P<version>\d{1,2}\.\d{1,2})(?:\.\d+)?)(?=[/:;\s'\"]|$)",
        "LD_LIBRARY_PATH: /usr/local/cuda-10.1/lib64",
        in_folder,
    ),
    sig(
        "cuda-version",
        glued(("/cuda/",), DIGITS),
        r"(?P<path>(?:/[\w.-]+)*/cuda/(?P<version>\d{1,2}\.\d{1,2}(?:\.\d+)?))(?=[/:;\s'\"]|$)",
        "LD_LIBRARY_PATH: :/vol/cuda/7.0.28/lib64",
        cuda(INFERRED),
    ),
    sig(
        "cuda-version",
        glued(("cuda",), ("/v", "\\v", "//v", "\\\\v")),
        r"(?P<path>CUDA(?:[\\/]|//|\\\\)v(?P<version>\d{1,2}\.\d{1,2}))(?=[\\/;\s'\"`),]|[^\x00-\x7f]|$)",
        r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v11.0\bin",
        cuda(INFERRED),
    ),
)
