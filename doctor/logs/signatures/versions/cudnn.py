"""Signatures of the installed cuDNN version."""

from __future__ import annotations

import re

from doctor.facts import FORM, INFERRED, PROSE, CudnnVersion, Fact, Source, Symptom
from doctor.logs.signatures.signature import DIGITS, Maker, Signature, glued, sig, spoken
from doctor.logs.signatures.versions.plausible import cudnn_text, plausible_cudnn
from doctor.logs.signatures.versions.spelling import (
    AFTER_NAME,
    EMPHASIS,
    NAMED,
    asked_for,
    elsewhere,
    said_rank,
)


def cudnn(rank: int, sentence: bool = False) -> Maker:
    """Return a function that makes a CudnnVersion from a match. sentence: the match is in a sentence, so
    ignore a version that is only requested or on another machine."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        version = cudnn_text(match["version"].rstrip("."))
        if not plausible_cudnn(version):
            return None
        if sentence and (asked_for(match) or elsewhere(match)):
            return None
        return CudnnVersion(
            source, version, match.groupdict().get("path"), said_rank(match, rank) if sentence else rank
        )

    return make


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "cudnn-for-cuda",
        "_cuda1|+cuda1",
        r"cudnn-(?:linux|windows)[\w.-]{0,40}?_cuda(?P<cuda>1\d)-archive"
        r"|libcudnn\d{1,2}(?:-dev)?[= ]{1,4}\d[\d.]{2,16}-\d\+cuda(?P<package>1\d)\.\d",
        "cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz",
        lambda m, s: Symptom(s, "cudnn-for-cuda", (("cuda", m["cuda"] or m["package"]),)),
        origin="the names of NVIDIA's cuDNN archives and packages",
    ),
    sig(
        "cudnn-version",
        "cudnn_major",
        r"#define CUDNN_MAJOR (?P<major>\d+)\s*\n[^\n]{0,12}#define CUDNN_MINOR"
        r" (?P<minor>\d+)\s*\n[^\n]{0,12}#define CUDNN_PATCHLEVEL (?P<patch>\d+)",
        "#define CUDNN_MAJOR 7\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 5",
        lambda m, s: CudnnVersion(s, f"{m['major']}.{m['minor']}.{m['patch']}"),
        lines=4,
    ),
    sig(
        "cudnn-version",
        "libcudnn.so.",
        r"libcudnn\.so\.(?P<version>\d{1,2}\.\d+\.\d+)(?![\d.]*: cannot)",
        "sudo ln -s libcudnn.so.7.6.5 libcudnn.so.7",
        cudnn(FORM),
    ),
    sig(
        "cudnn-version",
        "cudnn-",
        r"cudnn-(?:\d{1,2}\.\d-)?(?:linux|windows\w*|local|osx)[\w.-]{0,40}?-v?(?P<version>(?:\d+\.\d+\.\d+"
        r"(?:\.\d+)?|(?<=-v)\d\.\d|(?<=-v)\d(?=\.(?:tgz|zip|solitairetheme8)\b)))",
        "sudo tar -xvf cudnn-10.0-linux-x64-v7.6.5.32.tgz",
        cudnn(PROSE),
    ),
    sig(
        "cudnn-version",
        "nv_cudnn_version",
        r"NV_CUDNN_VERSION[= ]['\"]?(?P<version>\d{1,2}\.\d+\.\d+(?:\.\d+)?)",
        "NV_CUDNN_VERSION=9.1.0.70-1",
        cudnn(FORM),
        origin="NVIDIA's images nvidia/cuda, their environment",
    ),
    sig(
        "cudnn-version",
        "nvidia-cudnn-cu",
        r"nvidia-cudnn-cu1\d(?:==|-| {1,3})(?P<version>\d+\.\d+\.\d+(?:\.\d+)?)",
        "pip install nvidia-cudnn-cu12==8.9.7.29",
        cudnn(PROSE),
    ),
    sig(
        "cudnn-version",
        "libcudnn",
        r"libcudnn\d(?:-dev)?(?:=|_|\s+)(?P<version>\d+\.\d+\.\d+)",
        "apt install libcudnn8=8.6.0.163-1+cuda11.8",
        cudnn(PROSE),
    ),
    spoken(
        "cudnn-version",
        glued(("cudnn",), (*AFTER_NAME, "ver", "版本")),
        rf"(?<![/&] )(?<![/&、])\bcudnn\s?(?:version|ver\.?|版本)?{NAMED}[:=]?{EMPHASIS}(?:cudnn ?|v|version"
        r" )?(?P<version>\d{1,2}(?:\.\d+){0,3})(?![\w])",
        "cuDNN version: 7.6.5",
        cudnn(FORM),
    ),
    spoken(  # an entry in a list of installed software, which may name the CUDA version that it is for
        "cudnn-version",
        "- cudnn|-cudnn|* cudnn|*cudnn|• cudnn|•cudnn",
        r"^[\s>]{0,4}[-*•] ?cudnn(?: version)? v?(?P<version>\d\.\d+(?:\.\d+){0,2})(?=(?: for CUDA"
        r" v?\d[\d.]*)?\s{0,2}(?:$|[(,;]))",
        "- cuDNN 7.6.5 for CUDA 10.1",
        cudnn(FORM),
    ),
    spoken(
        "cudnn-version",
        glued(("cudnn",), (*" -_v(:`'\"", *DIGITS)),
        r"cudnn(?: \((?:from |via |by |in )[^)\n]{1,20}\))?[ \-_v(:`'\"]{0,3}"
        r"(?P<version>\d{1,2}\.\d+(?:\.\d+){0,2})(?![\w]|\.?\d|-(?:linux|windows))(?! ?(?:for|-) ?cuda)",
        "with cuDNN 8.1 installed",
        cudnn(PROSE, sentence=True),
    ),
    spoken(
        "cudnn-version",
        glued(("cudnn",), " -v56789"),
        r"(?<!lib)cudnn[ \-v]{0,2}(?P<version>[5-9])(?![\w*]|\.\w)",
        "FROM nvidia/cuda:9.0-cudnn7",
        cudnn(INFERRED),
    ),
)
