"""Signatures of environments as people state them: form fields in their many spellings, lists of modules,
lock files, missing software.

They match lines such as `py = 3.8 (32-bit)`, `| Grafikkarte | none |`, `### CUDA/cuDNN version` and its
answer, `2) cuda/11.2`, and `name = "tensorflow"` of a lock file. They make facts about versions and packages,
and these symptoms: `stated-absent` (a report states that something is not installed), `stated-package` (how
TensorFlow was installed), `install-fails-said`, `import-fails-said`, `crash-said`, `slow-start-said`.
"""

from __future__ import annotations

import re

from doctor import lazy
from doctor.facts import (
    FORM,
    MEASURED,
    PROSE,
    CudaVersion,
    Package,
    Platform,
    PythonVersion,
    Symptom,
    TensorFlowBuild,
    TensorFlowVersion,
    normalised,
)
from doctor.logs.signatures.signature import Signature, glued, sig, spoken
from doctor.logs.signatures.versions.plausible import plausible_cuda
from doctor.logs.signatures.versions.spelling import DRIVER, DRIVERS

field, both_absent, module, package, bare_release = (
    lazy.function("doctor.logs.signatures.versions.stated", name)
    for name in ("field", "both_absent", "module", "package", "bare_release")
)
"""Most reports contain words of these signatures, but few match one."""
_BEFORE = r"(?:[^\W\d_]{3,10} (?:[^\W\d_]{2,3} )?)?"
_AFTER = r"(?:[ _-][^\W\d_]{2,10}){0,3}"
_FIELDS = (
    ("(?:tensorflow|tf)", "tensorflow|tf", "tf-gpu version = 2.4"),
    ("(?:python|py)", "py", "py = 3.8 (32-bit)"),
    ("cudnn", "cudnn", "cuDNN = not installed"),
    ("cuda", "cuda", "CUDA toolkit = none"),
    (DRIVER, DRIVERS, "NVIDIA driver = 535.54.03"),
    ("(?:gpu|graphics|grafikkarte|video card)", "gpu|graphics|grafikkarte|video card", "GPU = none"),
)
"""For each field label: the pattern for the core of the label, its literals and an example. `field` examines
the whole label."""
_PIP_NAME = r"tensorflow(?:[-_](?:gpu|cpu|macos|intel))?"
_LISTED = (
    r"tensorflow(?:-gpu|-cpu|-intel|-macos)?|numpy|protobuf|keras|tf-keras|h5py"
    r"|nvidia-(?:cuda-)?[a-z]{2,12}-cu1[123]"
)

_BY_ANOTHER = lazy.compile(r" (?:by|with|in|from|under) (?:py)?torch\b| (?:by|with|in) (?:jax|mxnet)\b", re.I)
"""Matches what follows "the GPU is detected" if another framework detects it."""


SIGNATURES: tuple[Signature, ...] = (
    *(
        spoken(
            "stated-field",
            literals,
            rf"^[\s>|*•_-]{{0,8}}(?P<label>{_BEFORE}{core}{_AFTER})[*_` ]{{0,6}}(?:\([^)\n]{{0,60}}\)[*_`"
            r" ]{0,6})?(?:[:：=|\t]|[-–](?= ))[*_`\s|=]{0,8}(?P<value>[^\s|*_`=][^\n|]{0,119})",
            example,
            field,
        )
        for core, literals, example in _FIELDS
    ),
    *(
        spoken(  # an issue form whose questions are headings
            "stated-field",
            literals,
            rf"^#{{1,4}} (?P<label>{_BEFORE}{core}{_AFTER})[?: ]{{0,3}}\n["
            r" \t]{0,4}\n?(?P<value>[^\s#_][^\n]{0,119})",
            f"### {example.replace(' = ', chr(10) * 2)}",
            field,
            lines=3,
            at="value",
            near="# ",
        )
        for core, literals, example in _FIELDS
    ),
    spoken(
        "stated-absent",
        "cudnn",
        r"CUDA ?(?:/"
        r"|and|&) ?cuDNN(?: versions?)?[*_` ]{0,4}(?::|\n\s{0,4}\n?)[*_` ]{0,4}(?P<value>[^\n#]{1,120})",
        "- CUDA/cuDNN version: not installed",
        both_absent,
        lines=3,
        at="value",
    ),
    spoken(
        "stated-absent",
        "no nvidia ",
        r"\bno nvidia (?:gpu|card|graphics)\b(?! (?:driver|process|device is present))",
        "There is no NVIDIA card in this machine.",
        lambda m, s: Symptom(s, "stated-absent", (("what", "gpu"),)),
    ),
    spoken(
        "stated-absent",
        "cuda|cudnn",
        r"\b(?:no|without(?: any)?) (?P<w1>cuda|cudnn)(?: toolkit| libraries)?(?: (?:is )?(?:installed|on"
        r" it|at all|yet|on (?:this|the|my) machine))?(?=\s{0,3}(?:[.,;|/)\n]|$))"
        r"|(?<![\w/-])(?P<w2>cuda|cudnn)(?: toolkit)?(?:: ?| =? ?)(?:none(?= ?(?:[.,;|/\n]|$)|"
        r" installed)|(?:is |was |are )?not (?:yet )?installed)"
        r"|\b(?:have not|haven't|did not|didn't|have never|never) install(?:ed)? (?:the"
        r" )?(?P<w3>cuda|cudnn)\b(?=(?: toolkit)?\s{0,3}(?:[.,;\n]|$))",
        "CUDA is not installed.",
        lambda m, s: Symptom(s, "stated-absent", (("what", (m["w1"] or m["w2"] or m["w3"]).lower()),)),
        near="no|without|n't|never",
    ),
    sig(
        "stated-absent",
        "nvcc: command not found|'nvcc' is not recognized|nvcc: not found|cudnn_version.h: no such file",
        r"(?P<nvcc>nvcc: (?:command )?not found|'nvcc' is not recognized)|cudnn_version\.h: No such file",
        "bash: nvcc: command not found",
        lambda m, s: Symptom(
            s, "stated-absent", (("what", "cuda" if m["nvcc"] else "cudnn"), ("looked", "a program"))
        ),
    ),
    sig(  # NVIDIA's images without "cudnn" in the tag contain no cuDNN
        "stated-absent",
        "nvidia/cuda:",
        r"\bFROM"
        r" [^\n]{0,60}nvidia/cuda:\d{1,2}\.\d{1,2}(?:\.\d{1,3})?-(?:base|runtime|devel)(?!\S{0,40}cudnn)",
        "FROM nvidia/cuda:11.8.0-devel-ubuntu20.04",
        lambda m, s: Symptom(s, "stated-absent", (("what", "cudnn"), ("looked", "an image"))),
    ),
    spoken(  # a dash in place of cuDNN's version in the field for both
        "stated-absent",
        "cuda/cudnn",
        r"CUDA/cuDNN(?: versions?)?[*_ ]{0,3}[:：][^\n/]{1,60}/ ?(?:-|–|none|no|n/a)\s{0,4}$",
        "- CUDA/cuDNN version: CUDA 11.2 / -",
        lambda m, s: Symptom(s, "stated-absent", (("what", "cudnn"), ("looked", "a form"))),
    ),
    sig(  # NVIDIA's images with "base" in the tag contain no CUDA library but the runtime
        "stated-absent",
        "nvidia/cuda:",
        r"\bFROM [^\n]{0,60}nvidia/cuda:\d{1,2}\.\d{1,2}(?:\.\d{1,3})?-base",
        "FROM nvidia/cuda:12.3.1-base-ubuntu22.04",
        lambda m, s: Symptom(s, "stated-absent", (("what", "cuda"), ("looked", "an image"))),
    ),
    sig(
        "python-image",
        "python:3",
        r"^\s{0,4}FROM (?:docker\.io/)?(?:library/)?python:(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)(?![\w.])",
        "FROM python:3.12-slim-bookworm",
        lambda m, s: PythonVersion(s, m["version"], rank=FORM),
    ),
    sig(  # the text that tools print around versions, which is not a person's sentence
        "tool-banner",
        "cuda compiler driver|nvidia corporation|ld_library_path is unset|#define cudnn_",
        r"^nvcc: NVIDIA \(R\) Cuda compiler driver|^Copyright \(c\) \d{4}(?:-\d{4})? NVIDIA Corporation"
        r"|^(?:DY)?LD_LIBRARY_PATH is unset$|^#define CUDNN_\w{2,20} \d{1,6}$",
        "nvcc: NVIDIA (R) Cuda compiler driver",
    ),
    spoken(
        "python-short",
        "py 2.|py 3.|py2.|py3.|py=2.|py=3.|py==2.|py==3.",
        r"(?<![\w./-])py(?: |==|=|)(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w.])",
        "tf 2.4 / py 3.8 / cuda 11",
        lambda m, s: PythonVersion(s, m["version"], rank=PROSE),
    ),
    sig(
        "module-loaded",
        "cuda/|cudatoolkit/|cudnn/|python/",
        r"(?<![\w/.:@-])(?P<name>cuda|cudatoolkit|cudnn|python)/v?(?P<version>\d{1,2}\.\d{1,2}"
        r"(?:\.\d{1,3}){0,2})(?![\w/])",
        "  2) cuda/11.2   3) cuDNN/8.1.1-CUDA-11.2",
        module,
    ),
    sig(
        "locked-package",
        glued(('name = "',), ("tensorflow", "numpy", "protobuf", "keras", "tf-keras", "h5py", "nvidia-")),
        rf'^\s{{0,4}}name = "(?P<name>{_LISTED})"\s{{0,4}}\n\s{{0,4}}version ='
        r' "(?P<version>\d{1,3}\.\d{1,5}[\w.]{0,16})"',
        'name = "tensorflow"\nversion = "2.8.3"',
        lambda m, s: Package(s, normalised(m["name"]), m["version"]),
        lines=2,
    ),
    sig(
        "locked-package",
        '"tensorflow"|"tensorflow-gpu"|"tensorflow-cpu"|"numpy"|"protobuf"|"keras"|"tf-keras"|"h5py"',
        r'"(?P<name>tensorflow|tensorflow-gpu|tensorflow-cpu|numpy|protobuf|keras|tf-keras|h5py)":'
        r' \{\s{0,24}(?:"[^"\n]{1,40}": [^\n]{0,200}\n\s{0,24}){0,8}"version":'
        r' "==(?P<version>\d{1,3}\.\d{1,5}[\w.]{0,16})"',
        '"tensorflow": {\n    "version": "==2.8.3"\n}',
        lambda m, s: Package(s, normalised(m["name"]), m["version"]),
        lines=10,
    ),
    spoken(
        "stated-package",
        "tensorflow",
        rf"\bpip3? install (?:-{{1,2}}[\w-]{{1,20}} ){{0,4}}[\"']?(?P<name>{_PIP_NAME})"
        r"(?:\[[\w,-]{1,24}\])?(?:==(?P<version>\d{1,2}\.\d{1,2}[\w.]{0,8}))?(?![\w-])"
        rf"|\bpip3?(?:, | \(| package )(?P<name2>{_PIP_NAME})(?:\[[\w,-]{{1,24}}\])?(?![\w-])",
        "pip install tensorflow-gpu==2.4.0",
        package,
        near="pip",
    ),
    spoken(  # without the name of the distribution
        "stated-package",
        "pip",
        r"\b(?P<name>tensorflow|tf)\b[^\n]{0,40}?\b(?:from|with|via|by|using|through) (?:a )?(?:plain |just"
        r" |normal |simple )?pip3?\b(?! (?:list|freeze|install \S))",
        "TensorFlow 2.17 from plain pip in a fresh venv",
        lambda m, s: Symptom(s, "stated-package", (("name", "tensorflow"), ("extra", ""), ("loose", "yes"))),
        near="tensorflow|tf",
    ),
    spoken(  # a release without the name TensorFlow, in a list of installed software
        "tensorflow-bare",
        glued(("1.", "2."), "0123456789"),
        r"(?:^|[,;|]) ?(?P<version>[12]\.\d{1,2}\.\d)(?= ?(?:[,;|]|$))",
        "RTX 5070, 2.20.0, CUDA_ERROR_INVALID_HANDLE",
        bare_release,
    ),
    spoken(  # the release that pip installed, stated after its command
        "tensorflow-given",
        "tensorflow",
        r"\b(?P<package>tensorflow(?:[-_](?:gpu|cpu))?)(?:\[and-cuda\])?[`'\"]{0,2},? \(?"
        r"(?:(?:(?:and )?(?:which|that|it|i|pip) )?(?:got|gave|gives|giving|brought|brings|installed|installs"
        r"|pulled)(?: me| us)?(?: in)?|which is|that is|currently)(?: version)?"
        r" v?(?P<version>[12]\.\d{1,2}(?:\.\d{1,2})?)(?![\w]|\.\d)",
        "I did `pip install tensorflow` which gave me 2.16.1",
        lambda m, s: TensorFlowVersion(s, m["version"], normalised(m["package"]), rank=PROSE),
        near="got|gave|gives|giving|brought|brings|installed|installs|pulled|which is|that is|currently",
    ),
    spoken(  # the same in any language: the release follows the quoted command
        "tensorflow-given",
        "install ",
        r"\bpip3? install [^`'\"\n]{0,60}?(?P<package>tensorflow(?:[-_](?:gpu|cpu))?)(?:\[and-cuda\])?"
        r"[`'\"]{1,2}"
        r"(?![^\d\n.;]{0,30}\b(?:not|fail\w*|error|need\w*|wants?|instead|before)\b)"
        r"[^\d\n.;`]{1,30}(?P<version>[12]\.\d{1,2}\.\d{1,2})(?![\w]|\.\d)",
        "`pip3 install tensorflow-gpu` m'a donné 1.2.1",
        lambda m, s: TensorFlowVersion(s, m["version"], normalised(m["package"]), rank=PROSE),
        near="tensorflow",
    ),
    spoken(  # R's console
        "tensorflow-given",
        "tf_version()",
        r"tf_version\(\)\s*\n\s*\[1\] ['‘\"]?(?P<version>[12]\.\d{1,2}(?:\.\d{1,2})?)",
        "> tensorflow::tf_version()\n[1] '2.13'",
        lambda m, s: TensorFlowVersion(s, m["version"], "tensorflow", rank=MEASURED),
        lines=2,
        at="version",
    ),
    spoken(
        "nvcc-stated",
        "nvcc:|nvcc :|nvcc =|nvcc=|nvcc version|nvcc release",
        r"\bnvcc(?: version| release)?(?: [:=]|[:=]) ?(?:release"
        r" )?v?(?P<version>\d{1,2}\.\d{1,2})(?![\w]|\.?\d)",
        "nvcc: 10.1",
        lambda m, s: CudaVersion(s, m["version"], rank=FORM) if plausible_cuda(m["version"]) else None,
    ),
    sig(
        "image-tag",
        "tensorflow/tensorflow:",
        r"(?<![\w/])tensorflow/tensorflow:(?P<tag>[\w.-]{1,60})",
        "docker run tensorflow/tensorflow:2.4.0",
    ),
    spoken(
        "conda-cpu-build",
        "mkl build|mkl_py|eigen_py|tensorflow-mkl|eigen build",
        r"\b(?P<build>mkl build|eigen build|(?:mkl|eigen)_py\d{2,3}h?|tensorflow-mkl)",
        "conda (mkl build)",
        lambda m, s: (Symptom(s, "conda-cpu-build", (("build", m["build"]),)), TensorFlowBuild(s, False)),
    ),
    spoken(
        "windows-stated",
        "windows",
        r"(?:^|[,;/|(]) ?(?:microsoft )?windows(?= ?(?:[.,;/|)]|$))",
        "My GPU is a 3060, TF 2.14.0, Windows.",
        lambda m, s: Platform(s, "windows", None, PROSE),
    ),
    spoken(
        "arm-linux",
        "aarch64|arm64",
        r"\b(?:ubuntu"
        r"|debian|linux|rhel|fedora|rocky|centos|raspbian)\b[^\n,;|]{0,24}?[ (_-](?:aarch64|arm64)\b",
        "Ubuntu 22.04 (arm64)",
        lambda m, s: Platform(s, "linux", "aarch64", FORM),
    ),
    spoken(
        "install-fails-said",
        "pip|nothing found|nothing is found|nothing was found",
        r"\bnothing (?:is |was )?found\b|\bpip\b[^\n.]{0,30}\b(?:can ?not|can't|could ?n[o']t"
        r"|does ?n[o']t|doesn't|will not|won't|fails?|failed|refuses|gives up|finds? (?:no|nothing))\b"
        r"|\bpip3? install\b[^\n。]{0,60}(?:找不到|失败|报错|没有找到)"
        r"|\binstallation\b[^\n.]{0,20}\bpip\b[^\n.]{0,12}\bfail"
        r"|(?:can't|cannot|unable to) (?:get it )?install\w*\b[^\n.]{0,24}\bpip\b",
        "pip cannot find it",
    ),
    spoken(
        "no-gpu-said",
        "gpu|card|graphics|cpu|list|empty array",
        r"\bno gpus?\b[^\n.]{0,24}\b(?:shows?|listed|found|detected|visible|available|seen)\b"
        r"|\bgpus?(?: list| device)?\b[^\n.]{0,16}(?: not|n't) (?:be(?:ing)? )?(?:used"
        r"|seen|found|detected|visible|recogni[sz]ed|listed|available)\b|\b(?:does|did|do|can|could)(?: not"
        r"|n't|not) (?:see|find|detect|use|recogni[sz]e|list)\b[^\n.]{0,24}\b(?:gpus?|card|graphics)\b"
        r"|\b(?:lists?|shows?|sees|finds|uses)\b[^\n.]{0,12}\b(?:only|just)\b[^\n.]{0,8}\bcpu\b"
        r"|\bruns? on (?:the )?cpu\b|\bgpu list is empty\b|\bempty (?:gpu |device )?list\b"
        r"|\bempty (?:array|list)\b|\blist\b[^\n.]{0,24} (?:is|stays|remains) empty\b|\bonly (?:the )?cpu\b",
        "No GPU shows up in TensorFlow.",
    ),
    spoken(
        "works-said",
        "works|runs|no problem|gpu is found|gpu is used|gpu is detected",
        r"\b(?:training|everything|it|all|gpu)\b[^\n.]{0,24}\b(?:works|runs) (?:fine|well|as expected|on the"
        r" gpu)\b|\bno problems? so far\b|\bgpu is (?:found|used|detected)\b"
        r"|\btraining works\b|^\W{0,4}works\b",
        "The GPU is found and training works.",
        lambda m, s: None if _BY_ANOTHER.match(m.string, m.end()) else Symptom(s, "works-said"),
    ),
)
