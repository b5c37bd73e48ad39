"""Signatures of the TensorFlow release."""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.facts import FORM, MEASURED, PROSE, Fact, Source, TensorFlowVersion, normalised
from doctor.logs.signatures.package_names import LISTED, LISTING, TF
from doctor.logs.signatures.signature import Maker, Signature, glued, sig, spoken, words
from doctor.logs.signatures.versions.plausible import plausible_tensorflow, release_text
from doctor.logs.signatures.versions.spelling import (
    AFTER_NAME,
    EMPHASIS,
    MOVED,
    NAMED,
    RELEASE,
    elsewhere,
    said_rank,
    works_there,
)

_PAGE = r"https?://[^\s()<>\"']{1,160}/[^\s/()<>\"']{0,80}$"
"""Matches the part of a URL that precedes a word in the URL's last component."""
_WHEEL = r"-cp\d|[^\s/]{0,80}?\.(?:whl|tar|zip)\b"
"""Matches the text after a word in a URL's last component if that component is the name of a file to
install."""


def _in_url_of_page(match: re.Match[str]) -> bool:
    """Whether a version is part of the URL of a page. It only shows the page's subject, unlike the version in
    the URL of a wheel."""
    before = match.string[max(0, match.start() - 260) : match.start()]
    after = match.string[match.end("version") : match.end("version") + 100]
    return bool(re.search(_PAGE, before, re.IGNORECASE)) and not re.match(_WHEEL, after, re.IGNORECASE)


def tensorflow(rank: int, package: bool = False) -> Maker:
    """Return a function that makes a TensorFlowVersion from a match. package: whether the pattern's group
    `package` contains the name of the distribution."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        before = match.string[max(0, match.start("version") - 5) : match.start("version")]
        if before.rstrip("v= ").endswith(("<", ">", "≥", "≤")):
            return None  # a version that something requires, or a range
        if rank == PROSE and (elsewhere(match) or _in_url_of_page(match)):
            return None
        version = release_text(match["version"])
        if not plausible_tensorflow(*map(int, re.findall(r"\d+", version)[:2])):
            return None
        name = normalised(match["package"] or "") or None if package else None
        if name == "tensorflow" and rank == MEASURED and "|" in match[0]:
            # in a table that a person wrote, this is the name of the program, not of a package
            return TensorFlowVersion(source, version, rank=FORM)
        return TensorFlowVersion(source, version, name if name != "tf" else None, rank=said_rank(match, rank))

    return make


_RELEASE_SAID = tensorflow(PROSE)


def after_one_that_works(match: re.Match[str], source: Source) -> Fact | Iterable[Fact] | None:
    """Make the fact for a release number without a name that follows a working release in the same sentence:
    "TF 2.10 works, in 2.12 the list is empty"."""
    text, number = match.string, match.span("version")
    if match["first"].split(".")[:2] == match["version"].split(".")[:2] or works_there(text, *number):
        return None
    return _RELEASE_SAID(match, source) if works_there(text, match.start(), match.end("first")) else None


_FIELDS = ("tensorflow", "-gpu", "_gpu", "-cpu", "_cpu", "tf")
"""The endings of the names by which reports call TensorFlow."""
_NAMED = words("tensorflow|tensorflow-gpu|tensorflow_gpu|tf-gpu|tf_gpu|nightly|nightly-gpu|nightly_gpu")

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "tensorflow-version",
        "tf.__version__|tensorflow.__version__|tf.version.version|tf.version|tensorflow.version",
        rf"(?:tf|tensorflow)\.(?:__version__|version\.VERSION"
        rf"|VERSION)\)?['\"]?\s{{0,20}}(?:\n(?:Out\s?\[\d{{0,6}}\]:)?\s{{0,40}}|[:=]{{1,3}}\s{{0,40}}"
        rf"|\s{{1,20}})['\"]?v?(?P<version>{RELEASE})['\"]?(?!\w)",
        ">>> tf.__version__\n'2.3.1'",
        tensorflow(MEASURED),
        lines=2,
        at="version",
    ),
    sig(
        "tensorflow-version",
        "-g",
        rf"v?\d\.\d+\.\d+(?:-\w+)?-\d+-g[0-9a-f]{{7,12}}['\"*]*[ ,]+['\"*]*(?P<version>{RELEASE})",
        "v2.4.0-49-g85c8b2a817f 2.4.1",
        tensorflow(MEASURED),
    ),
    sig(  # print(sys.version, tf.__version__)
        "tensorflow-version",
        "[msc v|[gcc |[clang ",
        rf"\[(?:MSC v|GCC |Clang )[^\]\n]{{1,60}}\],? (?P<version>{RELEASE})(?![\w.])",
        "3.11.8 (main, Feb  6 2024, 22:03:32) [GCC 11.4.0] 2.16.1",
        tensorflow(MEASURED),
    ),
    sig(
        "tensorflow-version",
        "-dev20",
        r"^\W{0,4}(?P<version>\d\.\d{1,2}\.\d{1,2}-dev20\d{6})\W{0,3}$",
        "2.5.0-dev20210114",
        tensorflow(MEASURED),
    ),
    sig(
        "tensorflow-version",
        "unknown",
        rf"^\W{{0,4}}(?:b['\"])?unknown['\"]? ['\"]?v?(?P<version>{RELEASE})\W{{0,3}}$",
        "unknown 1.14.0",
        tensorflow(MEASURED),
    ),
    spoken(
        "tensorflow-version",
        glued(_FIELDS, (*AFTER_NAME, "version", "版本", "버전", "バージョン")),
        r"(?P<package>tensorflow(?:[-_](?:gpu|cpu))?|(?<![a-z])tf)['\"]?\s*(?:version|版本|버전|バージョン)?(?:"
        rf" \([^)\n]{{0,40}}\))?(?: and [\w ]{{0,20}})?(?: installed[\w ]{{0,20}})?{NAMED}=?{EMPHASIS}(?:tf"
        rf" |tensorflow |release |tensorflow-gpu )?(?:==)?v?(?P<version>{RELEASE})(?![\w/])",
        "- TensorFlow version (use command below): **2.4.1**",
        tensorflow(FORM, package=True),
        near="0.|1.|2.",
    ),
    sig(
        "tensorflow-version",
        glued(("tf", "tensorflow"), (":", " :")),
        rf"^\W{{0,6}}(?:TF|TensorFlow)\s?:\s{{1,12}}v?(?P<version>{RELEASE})(?=[\s,;|]|$)",
        "TF: 2.17.0 Keras: 3.5.0",
        tensorflow(FORM),
    ),
    sig(
        "tensorflow-version",
        "tensorflow version",
        r"tensorflow version\W{0,12}\n\s*\n?[^\n\d]{0,24}v?(?:\d[\w.-]*-g[0-9a-f]{7,12}"
        rf" )?(?P<version>{RELEASE})",
        "### Tensorflow Version\n\ntf 2.13",
        tensorflow(FORM),
        lines=3,
        at="version",
    ),
    sig(
        "tensorflow-version",
        "successfully installed|requirement already satisfied: tensorflow|"
        "found existing installation: tensorflow|uninstalling tensorflow|installing collected packages|"
        "successfully uninstalled|satisfied: tensorflow|existing installation: tensorflow",
        r"(?:Successfully installed[^\n]{0,1200}?\b|Found existing installation: |satisfied:"
        rf" )(?P<package>tensorflow(?:[-_](?:gpu|cpu|intel|macos))?)(?:-|==| )(?P<version>{RELEASE})(?!\w)",
        "Successfully installed absl-py-1.0 tensorflow-2.15.0 wrapt-1.14",
        tensorflow(MEASURED, package=True),
    ),
    spoken(
        "tensorflow-version",
        glued(LISTED, LISTING),
        rf"^[\s│|>$#*-]{{0,8}}(?P<package>{TF})(?:==|\s{{1,40}}"
        rf"|\s*\|\s*)(?P<version>{RELEASE})(?:\s+[\w_]+){{0,2}}\s*[|│]?$",
        "tensorflow-gpu         2.3.1",
        tensorflow(MEASURED, package=True),
    ),
    sig(
        "tensorflow-version",
        "tensorflow-|tensorflow_gpu-|tensorflow_cpu-|tensorflow_intel-|tensorflow_macos-",
        r"(?P<package>tensorflow(?:_gpu|_cpu|_intel|_macos)?)-(?P<version>\d\.\d+\.\d+(?:rc\d)?)(?:-cp\d"
        r"|\.dist-info|-py\d|\.tar)",
        "tensorflow_gpu-1.13.1-cp37-cp37m-win_amd64.whl",
        tensorflow(PROSE, package=True),
    ),
    sig(
        "tensorflow-version",
        "tensorflow/tensorflow:|tensorflow:",
        r"tensorflow(?:/tensorflow)?:(?P<version>\d\.\d+(?:\.\d+)?(?:rc\d)?)(?:-[\w-]+)?",
        "docker run tensorflow/tensorflow:1.14.0-gpu-py3",
        tensorflow(PROSE),
    ),
    sig(
        "tensorflow-version",
        "install tensorflow|tensorflow=|tensorflow-gpu=|tensorflow[|tensorflow_gpu=|tensorflow-macos=|"
        "tensorflow =|tensorflow-gpu =|tensorflow_gpu =|tensorflow-cpu =|tensorflow-cpu=|tensorflow_cpu=|"
        "tensorflow_cpu =|tensorflow-macos =|tensorflow_macos=|tensorflow_macos =|tensorflow-gpu[|"
        "tensorflow_gpu[|tensorflow-cpu[|tensorflow_cpu[|tensorflow-macos[|tensorflow_macos[",
        rf"(?<![\w>])(?P<package>tensorflow(?:[-_](?:gpu|cpu|macos))?)(?:\[[\w-]+\])?\s?={{1,2}}\s?"
        rf"(?P<version>{RELEASE})(?![\w*])",
        "pip install tensorflow-gpu==1.14.0",
        tensorflow(PROSE, package=True),
    ),
    spoken(
        "tensorflow-version",
        glued(
            (*_FIELDS, "-macos", "_macos"),
            (*" -(:`'\"[", "is ", "ver", "v.", "v0", "v1", "v2", "release ", "0", "1", "2"),
        ),
        r"(?:(?<![\w/.])|^_)(?P<package>tensorflow(?:[-_](?:gpu|cpu|macos))?|tf)(?:\[[\w-]{1,20}\])?"
        rf"[ \-(:`'\"]{{0,3}}(?:is |version |ver\.? |release |v\. ?)?v?(?P<version>{RELEASE})(?![\w/]|\.\d)",
        "I use TensorFlow 2.3 with a GTX 1080",
        tensorflow(PROSE, package=True),
        near="0.|1.|2.",
    ),
    spoken(  # a branch of TensorFlow's repository
        "tensorflow-version",
        "tensorflow",
        r"\btensorflow\b[^\n]{0,120}?[\s(,/]r(?P<version>[012]\.\d{1,2})(?![\w.-])",
        "tensorflow for a week now (the tutorial, r0.11, Ubuntu)",
        tensorflow(PROSE),
        near=" r0.| r1.| r2.|(r0.|(r1.|(r2.|/r0.|/r1.|/r2.|,r0.|,r1.|,r2.",
        at="version",
    ),
    spoken(
        "tensorflow-version",
        "tensorflow|tf ",
        rf"{MOVED}(?:the |my )?(?P<package>tensorflow(?:[-_](?:gpu|cpu|macos))?|tf)(?: version)? (?:from"
        rf" v?[\d.]+ )?to (?:version |v)?(?P<version>{RELEASE})(?![\w/]|\.\d)",
        "yesterday I updated tensorflow to 1.6",
        tensorflow(PROSE, package=True),
        near=" to 0.| to 1.| to 2.| to v| to version ",
    ),
    spoken(
        "tensorflow-version",
        glued(("tensorflow", "-gpu", "_gpu", "tf"), (" ", "=", "-")),
        r"(?<![\w.-])(?:tensorflow(?:[-_]gpu)?"
        rf"|tf)[ =-]{{1,3}}v?(?P<first>{RELEASE})(?![\w/])[^\n]{{1,160}}?(?:(?<!\w)(?:with|in"
        r"|on|to|for|from|since|under|install(?:ed|ing)?|updated|upgraded|mit|auf|ab|в|с|на|ставлю)|[,.;:]"
        r"|==)\s?(?:version |v)?(?<![\d.])(?P<version>[12]\.\d{1,2}(?:\.\d{1,2})?(?:rc\d)?)(?![\w/%]"
        r"|\.\d|\s?(?:[gm]i?b|[gm]hz|x|times|s|sec\w*|min\w*|h|hours?)\b)",
        "TF 2.10 works on my GPU, in 2.12 the list is empty",
        after_one_that_works,
        near="0.|1.|2.",
        at="version",
    ),
    sig(
        "tensorflow-version",
        "name: tensorflow|name: tf-nightly|name: tf_nightly",
        rf"Name: (?P<package>{TF})\s*\n\s*Version: (?P<version>{RELEASE})",
        "Name: tensorflow-gpu\nVersion: 2.3.0",
        tensorflow(MEASURED, package=True),
        lines=2,
        at="version",
    ),
    sig(  # the .NET package has the version number of the TensorFlow that it contains
        "tensorflow-version",
        "scisharp.tensorflow.redist",
        r"\bSciSharp\.TensorFlow\.Redist(?:-\w+-GPU)?\b[ (:=,\"']{0,3}(?:version["
        rf" =:\"']{{1,3}}|v)?(?P<version>{RELEASE})(?![\w/]|\.\d)",
        "SciSharp.TensorFlow.Redist-Windows-GPU v2.10.3",
        tensorflow(FORM),
    ),
    spoken(  # a nightly build with its date, which nobody mentions without having it
        "tensorflow-version",
        "-dev20|.dev20",
        r"(?<!not )\b(?:have|has|had|install(?:ed|s)?|using"
        r"|uses?|got|runs?|running)\b[^\n.]{0,40}?\b(?P<package>tf[-_]nightly(?:[-_]gpu)?)\b[ '\"`(=:v]{1,5}"
        r"(?P<version>\d\.\d{1,2}\.\d[-.]dev20\d{6})\b",
        "the environment has tf-nightly-gpu '2.6.0-dev20210520'",
        tensorflow(FORM),
    ),
    spoken(
        "tensorflow-version",
        glued(_NAMED, (" ", "=", ":", "is", "->", "v", "0", "1", "2")),
        r"(?<![\w/.>])(?P<package>tensorflow(?:[-_]gpu)?|tf[-_]gpu|tf[-_]nightly(?:[-_]gpu)?) ?(?:==|=|:|is"
        rf" still|is at|is now|->)? ?v?(?P<version>{RELEASE})(?![\w/]|\.\d)",
        "tf-nightly-gpu 2.4.0-dev20200808",
        tensorflow(PROSE),
    ),
)
