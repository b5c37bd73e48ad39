"""Versions: what is installed, as programs print it, report forms hold it and sentences say it.

The CUDA in nvidia-smi's header is what the driver offers (DriverCuda), never an installed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import (
    FORM,
    INFERRED,
    MEASURED,
    PROSE,
    CudaVersion,
    CudnnVersion,
    DriverCuda,
    DriverVersion,
    Fact,
    PythonVersion,
    Source,
    TensorFlowVersion,
)
from doctor.logs.signatures.packaging import TF
from doctor.logs.signatures.signature import Maker, Signature, sig

RELEASE = r"\d\.\d{1,2}(?:\.\d{1,2})?(?:[-.]?(?:rc|alpha|beta|a|b|dev|post)[-.]?\d{0,8})?"
_EMPHASIS = r"[*_`'\" ]{0,6}"

_WANTED = re.compile(
    r"\b(?:requires?|needs?|wants?|expects?|supports?|built (?:for|against|with)|compiled (?:for|with|against)|compatible with|looking for"
    r"|looks for|instead of|should be|must be|not|no|upgrade to|downgrade to|install|need|search(?:es|ing)? for|for|than|below|above|before|until|since|from)"
    r"\s+(?:the\s+|a\s+|an\s+)?$",
    re.I,
)


def tensorflow(rank: int, package: bool = False) -> Maker:
    """A maker of TensorFlowVersion; `package`: the group `package` names the distribution."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        group = match.groupdict()
        version = (
            group["version"]
            .lower()
            .replace("-rc", "rc")
            .replace("-beta", "b")
            .replace("-alpha", "a")
            .replace("-dev", ".dev")
        )
        version = version.rstrip(".-")
        major, minor = (int(x) for x in re.findall(r"\d+", version)[:2])
        if not ((major == 0 and 5 <= minor <= 12) or (major == 1 and minor <= 15) or (major == 2 and minor <= 40)):
            return None
        name = (group.get("package") or "").lower().replace("_", "-") or None if package else None
        return TensorFlowVersion(source, version, name if name != "tf" else None, rank=rank)

    return make


def py(rank: int) -> Maker:
    """A maker of PythonVersion."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        version = match["version"]
        if re.fullmatch(r"[23]\d{1,2}", version):
            version = f"{version[0]}.{version[1:]}"
        major, minor = (int(x) for x in version.split(".")[:2])
        if (major, minor) < (2, 6) or major > 3 or minor > 20:
            return None
        bits = match.groupdict().get("bits")
        return PythonVersion(source, version, int(bits) if bits else None, rank=rank)

    return make


def plausible_cuda(version: str) -> bool:
    """Whether this can be a CUDA release at all (5.5 to 19)."""
    return 5 <= int(version.split(".")[0][:4]) <= 19


def plausible_cudnn(version: str) -> bool:
    """Whether this can be a cuDNN release at all (2 to 9)."""
    return 2 <= int(version.split(".")[0][:4]) <= 9


def _cudnn_text(version: str) -> str:
    """cuDNN 7.6.5.32 and 7605 are 7.6.5."""
    if version.isdigit() and len(version) >= 4:
        from doctor.logs.signatures.handles import dotted

        return dotted(version)
    return ".".join(version.split(".")[:4])


def cuda(rank: int, sentence: bool = False) -> Maker:
    """A maker of CudaVersion; a version that a `sentence` only asks for makes none."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        version = match["version"].replace("-", ".").rstrip(".")
        if not plausible_cuda(version):
            return None
        if sentence and _WANTED.search(match.string[max(0, match.start() - 40) : match.start()]):
            return None
        return CudaVersion(source, version, match.groupdict().get("path"), rank)

    return make


def cudnn(rank: int, sentence: bool = False) -> Maker:
    """A maker of CudnnVersion; a version that a `sentence` only asks for makes none."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        version = _cudnn_text(match["version"].rstrip("."))
        if not plausible_cudnn(version):
            return None
        if sentence and _WANTED.search(match.string[max(0, match.start() - 40) : match.start()]):
            return None
        return CudnnVersion(source, version, match.groupdict().get("path"), rank)

    return make


def cuda_and_cudnn(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """The field "CUDA/cuDNN version" of TensorFlow's issue form, however it was filled in."""
    value = match["value"]
    named_cudnn = re.search(r"cudnn\D{0,14}?(\d+(?:\.\d+){0,3})", value, re.I)
    named_cuda = re.search(r"(?<![a-z])cuda(?!-?nn)\D{0,14}?(\d+(?:\.\d+){0,2})", value, re.I)
    if named_cuda and plausible_cuda(named_cuda[1]):
        yield CudaVersion(source, named_cuda[1], rank=FORM)
    if named_cudnn and plausible_cudnn(named_cudnn[1]):
        yield CudnnVersion(source, _cudnn_text(named_cudnn[1]), rank=FORM)
    if named_cuda or (named_cudnn and re.search(r"\d", value[: named_cudnn.start()]) is None):
        rest = re.split(r"[/,&;|]|\band\b", value, maxsplit=1)
        if named_cuda and not named_cudnn and len(rest) == 2:
            second = re.search(r"\d+(?:\.\d+){1,3}", rest[1])
            if second and plausible_cudnn(second[0]) and "cuda" not in rest[1].lower():
                yield CudnnVersion(source, _cudnn_text(second[0]), rank=FORM)
        return
    numbers = re.findall(r"\d+(?:\.\d+){0,3}", value)
    if numbers and plausible_cuda(numbers[0]) and "driver" not in value.lower():
        yield CudaVersion(source, numbers[0], rank=FORM)
        later = [n for n in numbers[1:] if n != numbers[0] and plausible_cudnn(n)]
        if not named_cudnn and later:
            yield CudnnVersion(source, _cudnn_text(later[0]), rank=FORM)


def smi_header(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """nvidia-smi's header: the driver, and the CUDA that the driver offers."""
    group = match.groupdict()
    driver = group.get("kmd") or group.get("driver")
    if driver:
        yield DriverVersion(source, driver, "any")
    offered = group.get("umd") or group.get("cuda")
    if offered:
        yield DriverCuda(source, offered)


def driver(rank: int) -> Maker:
    """A maker of DriverVersion from what people write."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        version = match["version"]
        if not 170 <= int(version.split(".")[0]) <= 999:
            return None
        return DriverVersion(source, version, "any", rank)

    return make


_DRIVER = r"\d{3}\.\d{2,3}(?:\.\d{1,3})?"

SIGNATURES: tuple[Signature, ...] = (
    # --- TensorFlow
    sig(
        "tensorflow-version",
        ("tf.__version__", "tensorflow.__version__", "tf.version.version", "tf.version"),
        rf"(?:tf|tensorflow)\.(?:__version__|version\.VERSION|VERSION)\)?['\"]?\s{{0,20}}(?:\n(?:Out\s?\[\d{{0,6}}\]:)?\s{{0,40}}|[:=]{{1,3}}\s{{0,40}}|\s{{1,20}})['\"]?v?(?P<version>{RELEASE})['\"]?(?!\w)",
        ">>> tf.__version__\n'2.3.1'",
        tensorflow(MEASURED),
        lines=2,
    ),
    sig(
        "tensorflow-version",
        ("-g",),
        rf"v?\d\.\d+\.\d+(?:-\w+)?-\d+-g[0-9a-f]{{7,12}}['\"*]*[ ,]+['\"*]*(?P<version>{RELEASE})",
        "v2.4.0-49-g85c8b2a817f 2.4.1",
        tensorflow(MEASURED),
    ),
    sig(
        "tensorflow-version",
        "unknown ",
        rf"^\W{{0,4}}(?:b'|unknown )(?:unknown'? )?(?P<version>{RELEASE})\W{{0,3}}$",
        "unknown 1.14.0",
        tensorflow(MEASURED),
    ),
    sig(
        "tensorflow-version",
        (
            "tensorflow version",
            "tf version",
            "tensorflow-gpu version",
            "tensorflow_gpu version",
            "version of tensorflow",
            "tensorflow:",
            "tensorflow =",
            "tensorflow version:",
            "tensorflow版本",
            "tensorflow 버전",
            "tensorflow バージョン",
        ),
        rf"(?P<package>tensorflow(?:[-_](?:gpu|cpu))?|tf)['\"]?\s*(?:version|版本|버전|バージョン)?(?: \([^)\n]{{0,40}}\))?(?: and [\w ]{{0,20}})?(?: installed[\w ]{{0,20}})?{_EMPHASIS}(?:[:=：]|\bis\b){_EMPHASIS}(?:tf |tensorflow |release |tensorflow-gpu )?(?:==)?v?(?P<version>{RELEASE})(?![\w/])",
        "- TensorFlow version (use command below): **2.4.1**",
        tensorflow(FORM, package=True),
    ),
    sig(
        "tensorflow-version",
        ("tensorflow version",),
        rf"tensorflow version\W{{0,12}}\n\s*\n?[^\n\d]{{0,24}}v?(?:\d[\w.-]*-g[0-9a-f]{{7,12}} )?(?P<version>{RELEASE})",
        "### Tensorflow Version\n\ntf 2.13",
        tensorflow(FORM),
        lines=3,
    ),
    sig(
        "tensorflow-version",
        (
            "successfully installed",
            "requirement already satisfied: tensorflow",
            "found existing installation: tensorflow",
            "uninstalling tensorflow",
            "installing collected packages",
            "successfully uninstalled",
        ),
        rf"(?:Successfully installed[^\n]{{0,1200}}?\b|Found existing installation: |satisfied: )(?P<package>tensorflow(?:[-_](?:gpu|cpu|intel|macos))?)(?:-|==| )(?P<version>{RELEASE})(?!\w)",
        "Successfully installed absl-py-1.0 tensorflow-2.15.0 wrapt-1.14",
        tensorflow(MEASURED, package=True),
    ),
    sig(
        "tensorflow-version",
        ("tensorflow", "tf-nightly", "tf_nightly"),
        rf"^[\s│|>$#*-]{{0,8}}(?P<package>{TF})(?:==|\s{{1,40}}|\s*\|\s*)(?P<version>{RELEASE})(?:\s+[\w_]+){{0,2}}\s*[|│]?$",
        "tensorflow-gpu         2.3.1",
        tensorflow(MEASURED, package=True),
    ),
    sig(
        "tensorflow-version",
        ("tensorflow-", "tensorflow_gpu-", "tensorflow_cpu-"),
        r"(?P<package>tensorflow(?:_gpu|_cpu|_intel|_macos)?)-(?P<version>\d\.\d+\.\d+(?:rc\d)?)(?:-cp\d|\.dist-info|-py\d|\.tar)",
        "tensorflow_gpu-1.13.1-cp37-cp37m-win_amd64.whl",
        tensorflow(PROSE, package=True),
    ),
    sig(
        "tensorflow-version",
        ("tensorflow/tensorflow:", "tensorflow:"),
        r"tensorflow(?:/tensorflow)?:(?P<version>\d\.\d+(?:\.\d+)?(?:rc\d)?)(?:-[\w-]+)?",
        "docker run tensorflow/tensorflow:1.14.0-gpu-py3",
        tensorflow(PROSE),
    ),
    sig(
        "tensorflow-version",
        ("install tensorflow", "tensorflow=", "tensorflow-gpu=", "tensorflow[", "tensorflow_gpu=", "tensorflow-macos="),
        rf"(?<![\w>])(?P<package>tensorflow(?:[-_](?:gpu|cpu|macos))?)(?:\[[\w-]+\])?\s?={{1,2}}\s?(?P<version>{RELEASE})(?![\w*])",
        "pip install tensorflow-gpu==1.14.0",
        tensorflow(PROSE, package=True),
    ),
    sig(
        "tensorflow-version",
        (
            "tensorflow ",
            "tf ",
            "tf-",
            "tf2",
            "tf1",
            "tensorflow-gpu ",
            "tensorflow(",
            "tensorflow v",
            "tensorflow-gpu-",
            "tensorflow_gpu ",
            "tf(",
        ),
        rf"(?<![\w/.])(?P<package>tensorflow(?:[-_](?:gpu|cpu))?|tf)[ \-(:`'\"]{{0,3}}(?:is |version |ver\.? |release )?v?(?P<version>{RELEASE})(?![\w/]|\.\d)",
        "I use TensorFlow 2.3 with a GTX 1080",
        tensorflow(PROSE, package=True),
    ),
    sig(
        "tensorflow-version",
        ("name: tensorflow", "name: tf-nightly"),
        rf"Name: (?P<package>{TF})\s*\n\s*Version: (?P<version>{RELEASE})",
        "Name: tensorflow-gpu\nVersion: 2.3.0",
        tensorflow(MEASURED, package=True),
        lines=2,
    ),
    sig(
        "tensorflow-version",
        ("tensorflow", "tf-gpu", "tf-nightly", "tf_nightly"),
        rf"(?<![\w/.>])(?P<package>tensorflow(?:[-_]gpu)?|tf[-_]gpu|tf[-_]nightly(?:[-_]gpu)?) ?(?:==|=|:|is still|is at|is now|->)? ?v?(?P<version>{RELEASE})(?![\w/]|\.\d)",
        "tf-nightly-gpu 2.4.0-dev20200808",
        tensorflow(PROSE),
    ),
    # --- Python
    sig(
        "python-version",
        ("python ",),
        r"\bPython (?P<version>[23]\.\d{1,2}\.\d{1,2})\+?(?: \|| \(|:)[^\n]{0,160}?(?:\[(?:GCC|MSC|Clang)[^\]\n]{0,60}?(?:(?P<bits>32|64) bit)?)?",
        "Python 3.10.9 (main, Mar  1 2023, 18:23:06) [GCC 11.2.0] on linux",
        py(MEASURED),
    ),
    sig(
        "python-version",
        "python",
        r"^\W{0,6}Python (?P<version>[23]\.\d{1,2}\.\d{1,2})\+?\W{0,3}$",
        "Python 3.7.5",
        py(MEASURED),
    ),
    sig(
        "python-version",
        ("python version", "python:", "python version:", "python版本", "python =", "version of python"),
        rf"python(?: version|版本| 버전)?(?: \([^)\n]{{0,40}}\))?{_EMPHASIS}(?:[:=：]|\bis\b)[\s*_`'\"-]{{0,6}}(?:python ?|v|anaconda ?|conda ?)?(?P<version>[23]\.\d{{1,2}}(?:\.\d{{1,2}})?)(?![\w%])",
        "- Python version: **3.8.5**",
        py(FORM),
    ),
    sig(
        "python-version",
        ("python version",),
        r"python version\W{0,12}\n\s*\n?[^\n\d]{0,16}(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)",
        "### Python version\n\n3.8.10",
        py(FORM),
        lines=3,
    ),
    sig(
        "python-version",
        ("site-packages", "dist-packages", "lib/python3", "lib/python2", "lib\\python3"),
        r"[/\\]python(?P<version>[23]\.\d{1,2})[/\\](?:site|dist)-packages|[/\\]lib[/\\]python(?P<v2>[23]\.\d{1,2})[/\\]",
        '  File "/usr/local/lib/python3.5/dist-packages/tensorflow/python/pywrap_tensorflow.py", line 58',
        lambda m, s: PythonVersion(s, m["version"] or m["v2"], rank=FORM),
    ),
    sig(
        "python-version",
        ("\\python3", "\\python2", "/python/3", "python3", "pythonsoftwarefoundation.python"),
        r"[/\\]Python(?P<version>[23]\d{1,2})(?:[-_](?:32|64))?[/\\](?:lib|python|scripts)|PythonSoftwareFoundation\.Python\.(?P<v2>3\.\d+)",
        r"C:\Users\me\AppData\Local\Programs\Python\Python37\lib\site-packages\tensorflow\__init__.py",
        lambda m, s: PythonVersion(s, m["v2"] or f"{m['version'][0]}.{m['version'][1:]}", rank=FORM),
    ),
    sig(
        "python-version",
        ("-cp3", "-cp2"),
        r"-cp(?P<version>[23]\d{1,2})-(?:cp|abi|none)",
        "tensorflow-2.3.0-cp38-cp38-win_amd64.whl",
        lambda m, s: PythonVersion(s, f"{m['version'][0]}.{m['version'][1:]}", rank=INFERRED),
    ),
    sig(
        "python-version",
        ("python",),
        r"(?<![\w/\\.-])python ?[=v-]{0,2} ?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w/\\]|\.\d)",
        "conda create -n tf python=3.7",
        py(PROSE),
    ),
    sig(
        "python-version",
        "different python:",
        r"requires a different Python: (?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)",
        "ERROR: Package 'tensorflow' requires a different Python: 3.8.10 not in '>=3.9'",
        py(MEASURED),
    ),
    sig(
        "python-version",
        ("python",),
        r"(?<![\w/\\.-])python(?: version|版本|版)?[\s:.,，=*_`]{1,6}v?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w/\\]|\.\d)",
        "Anaconda Python : 3.6",
        py(PROSE),
    ),
    sig(
        "python-version",
        ("python2.", "python3.", "python-version", "python_version", "--python "),
        r"(?<![\w/\\.-])python(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w/\\.-])|(?:--python(?:-version)?|python_version)[ =]{1,3}['\"]?(?P<v2>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w.])",
        "python3.6.5 + jupyter lab",
        lambda m, s: PythonVersion(s, m["version"] or m["v2"], rank=PROSE),
    ),
    # --- CUDA
    sig(
        "cuda-version",
        ("cuda compilation tools, release", "build cuda_"),
        r"Cuda compilation tools, release (?P<version>\d+\.\d+)(?:, V[\d.]+)?",
        "Cuda compilation tools, release 10.0, V10.0.130",
        cuda(MEASURED),
    ),
    sig(
        "cuda-version",
        "cuda_",
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
    sig(
        "cuda-version",
        ("libcudart.so.",),
        r"libcudart\.so\.(?P<version>\d{1,2}\.\d+\.\d+)(?![\d.]*: cannot)",
        "/usr/local/cuda-10.1/lib64/libcudart.so.10.1.243",
        cuda(FORM),
    ),
    sig(
        "cuda-and-cudnn",
        ("cuda/cudnn version", "cuda / cudnn", "cuda/cudnn", "cuda and cudnn version", "cuda & cudnn", "cuda、cudnn"),
        r"CUDA ?(?:/|and|&|、) ?cuDNN(?: versions?)?[*_` ]{0,4}(?:\([^)\n]{0,60}\))?[*_` ]{0,4}[:：-][*_` -]{0,6}(?:GPU model and memory: )?(?P<value>[^\n]{1,120})",
        "- CUDA/cuDNN version: 10.1 / 7.6.5",
        cuda_and_cudnn,
    ),
    sig(
        "cuda-and-cudnn",
        ("cuda/cudnn version",),
        r"CUDA/cuDNN version\W{0,10}\n\s*\n?(?P<value>[^\n#]{1,120})",
        "### CUDA/cuDNN version\n\n11.8 / 8.6",
        cuda_and_cudnn,
        lines=3,
    ),
    sig(
        "cuda-version",
        (
            "cuda version",
            "cuda toolkit",
            "cuda:",
            "cuda =",
            "cuda toolkit version",
            "cuda版本",
            "cuda 版本",
            "cuda ver",
        ),
        rf"(?<![/|] )(?<![|/])\bcuda(?: toolkit| tool kit|_toolkit| runtime)?\s?(?:version|ver\.?|版本)?(?: host)?{_EMPHASIS}(?:[:=：]>?|\bis\b){_EMPHASIS}(?:cuda ?|v|version )?(?P<version>\d{{1,2}}\.\d+(?:\.\d+)?)(?![\w]|[^\n]{{0,30}}\|\s*$)",
        "Cuda Toolkit Version: 10.1 u2",
        cuda(FORM),
    ),
    sig(
        "cuda-version",
        ("cudatoolkit", "cuda-toolkit-", "nvidia/cuda:", "cuda-repo-", "cuda_1", "cuda_9", "cuda_8"),
        r"cudatoolkit(?:\s?[=-]{1,2}\s?|\s+|:)(?P<version>\d{1,2}\.\d+(?:\.\d+)?)",
        "conda install cudatoolkit=10.1",
        cuda(PROSE),
    ),
    sig(
        "cuda-version",
        ("nvidia/cuda:", "cuda-repo-", "cuda-toolkit-", "cuda_"),
        r"(?:nvidia/cuda:|cuda-repo-[a-z]+\d+-|cuda-toolkit-|cuda_)(?P<version>\d{1,2}[.-]\d{1,2}(?:\.\d{1,3})?)(?=[-_.\s:]|$)",
        "FROM nvidia/cuda:8.0-cudnn5-devel",
        cuda(PROSE),
    ),
    sig(
        "cuda-version",
        ("cuda",),
        r"(?<![\w/\\.-])cuda(?: toolkit| sdk| runtime)?[ \-_v(:`'\"]{1,3}(?P<version>\d{1,2}\.\d+(?:\.\d+)?)(?![\w/\\]|\.?\d)(?!\s+(?:capab|compute))",
        "with CUDA 11.2 installed",
        cuda(PROSE, sentence=True),
    ),
    sig(
        "cuda-version",
        ("cuda",),
        r"(?<![\w/\\.-])cuda(?: toolkit| version)?[ (:`'\"]{0,2}(?P<version>\d{1,2}\.\d{1,2})(?![\w/\\.])",
        "cuda10.1 and cudnn7.6",
        cuda(PROSE, sentence=True),
    ),
    sig(
        "cuda-version",
        ("cuda",),
        r"\bcuda\b(?: on [\w ]{1,24})?(?: version)?(?: is(?: now)?| =|:)? (?P<version>1[0-3]|[89])(?![\d.\w-])",
        "the CUDA on the server is 10 now",
        cuda(INFERRED, sentence=True),
    ),
    sig(
        "cuda-version",
        ("/cuda-", "\\cuda\\v", "cuda-"),
        r"(?P<path>(?:/[\w.-]+)*/cuda-(?P<version>\d{1,2}\.\d{1,2})(?:\.\d+)?)(?=[/:;\s'\"]|$)",
        "LD_LIBRARY_PATH: /usr/local/cuda-10.1/lib64",
        cuda(INFERRED),
    ),
    sig(
        "cuda-version",
        ("/cuda/", "/opt/cuda", "cuda/1"),
        r"(?P<path>(?:/[\w.-]+)*/cuda/(?P<version>\d{1,2}\.\d{1,2}(?:\.\d+)?))(?=[/:;\s'\"]|$)",
        "LD_LIBRARY_PATH: :/vol/cuda/7.0.28/lib64",
        cuda(INFERRED),
    ),
    sig(
        "cuda-version",
        ("\\cuda\\v", "cuda/v", "cuda_path"),
        r"(?P<path>CUDA[\\/]+v(?P<version>\d{1,2}\.\d{1,2}))(?=[\\/;\s'\"]|$)",
        r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v11.0\bin",
        cuda(INFERRED),
    ),
    # --- cuDNN
    sig(
        "cudnn-version",
        "cudnn_major",
        r"#define CUDNN_MAJOR (?P<major>\d+)\s*\n[^\n]{0,12}#define CUDNN_MINOR (?P<minor>\d+)\s*\n[^\n]{0,12}#define CUDNN_PATCHLEVEL (?P<patch>\d+)",
        "#define CUDNN_MAJOR 7\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 5",
        lambda m, s: CudnnVersion(s, f"{m['major']}.{m['minor']}.{m['patch']}"),
        lines=3,
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
        ("cudnn-",),
        r"cudnn-(?:\d{1,2}\.\d-)?(?:linux|windows\w*|local)[\w.-]{0,40}?-v?(?P<version>\d+\.\d+\.\d+(?:\.\d+)?)",
        "sudo tar -xvf cudnn-10.0-linux-x64-v7.6.5.32.tgz",
        cudnn(PROSE),
    ),
    sig(
        "cudnn-version",
        ("nvidia-cudnn-cu",),
        r"nvidia-cudnn-cu1\d(?:==|-)(?P<version>\d+\.\d+\.\d+(?:\.\d+)?)",
        "pip install nvidia-cudnn-cu12==8.9.7.29",
        cudnn(PROSE),
    ),
    sig(
        "cudnn-version",
        ("libcudnn8=", "libcudnn7=", "libcudnn9", "libcudnn8 ", "libcudnn7 "),
        r"libcudnn\d(?:-dev)?(?:=|\s+)(?P<version>\d+\.\d+\.\d+)",
        "apt install libcudnn8=8.6.0.163-1+cuda11.8",
        cudnn(PROSE),
    ),
    sig(
        "cudnn-version",
        ("cudnn version", "cudnn:", "cudnn =", "cudnn="),
        rf"(?<![/&] )(?<![/&、])\bcudnn\s?(?:version|ver\.?|版本)?{_EMPHASIS}(?:[:=：]{{1,2}}|\bis\b){_EMPHASIS}(?:cudnn ?|v|version )?(?P<version>\d{{1,2}}(?:\.\d+){{0,3}})(?![\w])",
        "cuDNN version: 7.6.5",
        cudnn(FORM),
    ),
    sig(
        "cudnn-version",
        "cudnn",
        r"cudnn[ \-_v(:`'\"]{0,3}(?P<version>\d{1,2}\.\d+(?:\.\d+){0,2})(?![\w]|\.?\d|-(?:linux|windows))(?! ?(?:for|-) ?cuda)",
        "with cuDNN 8.1 installed",
        cudnn(PROSE, sentence=True),
    ),
    sig(
        "cudnn-version",
        "cudnn",
        r"(?<!lib)cudnn[ \-v]{0,2}(?P<version>[5-9])(?![\d.\w*])",
        "FROM nvidia/cuda:9.0-cudnn7",
        cudnn(INFERRED),
    ),
    # --- the driver
    sig(
        "driver-cuda",
        ("nvidia-smi",),
        r"CUDA version[^\n:=]{0,24}nvidia-smi[^\n:=]{0,8}[:=]\s*(?P<cuda>\d{1,2}\.\d)|system CUDA version (?P<c2>\d{1,2}\.\d)",
        "CUDA Version (from nvidia-smi): 13.0",
        lambda m, s: DriverCuda(s, m["cuda"] or m["c2"]),
    ),
    sig(
        "driver-version",
        ("驱动", "ドライバ", "드라이버", "treiber", "libcuda.so.", "nvidia-smi", "nvidia driver", "driver version"),
        rf"(?:驱动|ドライバ|드라이버|[Tt]reiber)[^\n\d]{{0,24}}(?P<version>{_DRIVER})(?![\w.])|libcuda\.so\.(?P<v2>{_DRIVER})(?![\w.])|NVIDIA-SMI: ?(?P<v3>{_DRIVER})(?![\w.])",
        "看显卡驱动的版本，我这里是388.13",
        lambda m, s: DriverVersion(s, m["version"] or m["v2"] or m["v3"], "any", PROSE),
    ),
    sig(
        "driver-version",
        ("driver version", "driver 4", "driver 5", "driver:"),
        r"driver(?: version)?(?: is|:)? (?P<version>[2-9]\d{2})(?![\d.\w])",
        "its driver version 525",
        driver(PROSE),
    ),
    sig(
        "smi-header",
        ("driver version:", "kmd version:", "cuda umd version"),
        r"NVIDIA-SMI[ :]+[\d.]+\s+(?:Driver Version: (?P<driver>[\d.]+\d)|KMD Version: (?P<kmd>[\d.]+\d))?[^\n]{0,40}?(?:CUDA Version: (?P<cuda>\d+\.\d+)|CUDA UMD Version: (?P<umd>\d+\.\d+)|\|)",
        "| NVIDIA-SMI 430.50       Driver Version: 430.50       CUDA Version: 10.1     |",
        smi_header,
    ),
    sig(
        "smi-header",
        ("driver version", "cuda version"),
        r"^\s*Driver Version\s+: (?P<driver>[\d.]+\d)\s*\n\s*CUDA Version\s+: (?P<cuda>\d+\.\d+)",
        "Driver Version                      : 525.60.11\nCUDA Version                        : 12.0",
        smi_header,
        lines=2,
    ),
    sig(
        "driver-cuda",
        "driver's cuda version is",
        r"driver's CUDA version is (?P<cuda>\d+\.\d+)",
        "The NVIDIA driver's CUDA version is 12.4 which is older than the ptxas CUDA version (12.5.40).",
        lambda m, s: DriverCuda(s, m["cuda"]),
    ),
    sig(
        "driver-version",
        ("driver version", "nvidia driver", "driver:", "drivers:", "graphics driver"),
        rf"(?:nvidia |gpu |graphics |graphic |display |cuda )?drivers?(?: version)?{_EMPHASIS}(?:[:=：]|\bis\b){_EMPHASIS}(?:nvidia[- ](?:driver[- ])?|geforce |v|version )?(?P<version>{_DRIVER})(?![\w])",
        "- Driver version: 390.87",
        driver(FORM),
    ),
    sig(
        "driver-version",
        ("driver", "nvidia-driver-"),
        rf"(?:nvidia[- ])?drivers?\b[^\n.:|]{{0,24}}?[ (v-](?P<version>{_DRIVER})(?![\w.])|(?<![\w.])(?P<v2>{_DRIVER}) (?:nvidia )?drivers?\b",
        "newest gpu drivers (384.90)",
        lambda m, s: (
            DriverVersion(s, m["version"] or m["v2"], "any", PROSE)
            if 170 <= int((m["version"] or m["v2"])[:3]) <= 999
            else None
        ),
    ),
)
