"""Signatures of messages about the installed build: with or without CUDA, from pip or conda."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Fact, Package, Platform, Source, Symptom, TensorFlowBuild, normalised
from doctor.logs.signatures.package_names import LISTED, LISTING
from doctor.logs.signatures.signature import BLANK, Signature, glued, sig, spoken


def pip_list_line(match: re.Match[str], source: Source) -> Fact | None:
    """Make the fact for a row printed by pip list, pip freeze or conda list."""
    name = match["name"].lower()
    if "|" in match[0] and name == "tensorflow":
        return None  # in a table that a person wrote, this is the name of the program, not of a package
    manager = "conda" if match["build"] and match["channel"] != "pypi" else "pip"
    if manager == "pip" and name in ("cudnn", "cudatoolkit"):
        return None  # only conda has packages with these names, so this is an entry in a person's list
    return Package(source, normalised(name), match["version"], manager)


def conda_build(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts about a TensorFlow build from conda. Its build string shows whether it is for the CPU or
    the GPU."""
    yield Package(source, match["name"].lower(), match["version"], "conda")
    build = match["build"].lower()
    if build.startswith(("mkl", "eigen", "cpu")):
        yield Symptom(source, "conda-cpu-build", (("build", match["build"]), ("version", match["version"])))
        yield TensorFlowBuild(source, False)
    elif build.startswith(("gpu", "cuda")):
        made = re.match(r"cuda(\d\d)(\d)(?!\d)", build)  # conda-forge: cuda112py39h..., cuda120py311h...
        yield TensorFlowBuild(source, True, f"{made[1]}.{made[2]}" if made else None)


def with_cuda(match: re.Match[str], source: Source) -> Fact:
    """Return the fact for a message that says whether the build has CUDA. The first group of the match that
    is not empty is the answer: true, yes, or anything else for no."""
    answer = next(filter(None, match.groups()))
    return TensorFlowBuild(source, answer.lower() in ("true", "yes"))


_BESIDE = ("keras", "numpy", "protobuf", "h5py", "cudatoolkit", "cudnn", "cu11", "cu12", "cu13")
"""The endings of the names of other relevant packages."""

_PARTS = ("base", "metal", "text", "io", "addons", "probability", "quantum")
"""The endings of the names of TensorFlow's add-ons and of conda's packages with a part of it."""

_NUMBERED = r"(?:==| |=| \()?\d\.\d[\w.]*\)?"


def not_of_conda(match: re.Match[str], source: Source) -> Fact | None:
    """Return the symptom both-packages for tensorflow beside tensorflow-gpu, or None if they are conda
    packages: conda's tensorflow-gpu is empty and only requires conda's tensorflow."""
    return None if "conda" in source.text.lower() else Symptom(source, "both-packages")


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "windows-native",
        "gpu support is not available on native windows",
        r"GPU support is not available on native Windows",
        "WARNING:tensorflow:TensorFlow GPU support is not available on native Windows for TensorFlow >="
        " 2.11.",
        lambda m, s: (Symptom(s, "windows-native"), Platform(s, "windows")),
        seen_in=">=2.19",
    ),
    sig(
        "built-with-cuda",
        "is_built_with_cuda|built with cuda",
        r"is_built_with_cuda\(\)\)?[^\n]{0,20}(?:\n{1,2}[^\n]{0,12})?\b(?P<answer>True|False)\b"
        r"|built with CUDA(?: support)?\??:? ?\**\s*(?P<a2>True|False|yes|no)\b",
        ">>> tf.test.is_built_with_cuda()\nFalse",
        with_cuda,
        lines=3,
    ),
    sig(
        "built-with-cuda",
        "but cuda is not enabled",
        r"The requested device appears to be a GPU, but CUDA is not enabled",
        "InvalidArgumentError: ... The requested device appears to be a GPU, but CUDA is not enabled.",
        lambda m, s: TensorFlowBuild(s, False),
        origin="tensorflow/core/common_runtime/placer.cc, colocation_graph.cc",
    ),
    sig(
        "built-with-cuda",
        "is_cuda_build",
        r"['\"]is_cuda_build['\"]\s*[:,]\s*(?P<answer>True|False)",
        "OrderedDict([('is_cuda_build', False), ('is_rocm_build', False)])",
        with_cuda,
    ),
    sig(
        "build-info",
        "cuda_version",
        r"['\"]cuda_version['\"]\s*[:,]\s*['\"](?P<cuda>[\w.]+)['\"]"
        r"(?:[^\n]{0,300}['\"]cudnn_version['\"]\s*[:,]\s*['\"](?P<cudnn>[\w.]+)['\"])?",
        "OrderedDict([('cuda_version', '11.2'), ('cudnn_version', '8')])",
        lambda m, s: TensorFlowBuild(s, True, m["cuda"], m["cudnn"]),
    ),
    spoken(
        "conda-tensorflow",
        glued(
            ("tensorflow", "tensorflow-base", "tensorflow-gpu", "tensorflow-mkl", "tensorflow-eigen"), BLANK
        ),
        r"^\W{0,4}(?:[\w-]+[/:]{1,2})?(?P<name>tensorflow(?:-base|-gpu|-mkl"
        r"|-eigen)?)\s+(?P<version>\d+\.\d+(?:\.\d+)?)\s+(?P<build>(?:mkl|eigen|gpu|cpu|cuda)\w*)",
        "tensorflow                2.10.0          mkl_py310hd99672f_0",
        conda_build,
    ),
    sig(
        "conda-tensorflow",
        "_tflow_select",
        r"_tflow_select\s+(?P<version>[\d.]+)\s+(?P<build>mkl|eigen|gpu)",
        "_tflow_select             2.3.0                       mkl",
        lambda m, s: (
            (Symptom(s, "conda-cpu-build", (("build", m["build"]),)), TensorFlowBuild(s, False))
            if m["build"].lower() != "gpu"
            else TensorFlowBuild(s, True)
        ),
    ),
    sig(
        "conda-install",
        "conda install",
        r"conda install (?:-\S+ (?:\w+"
        r" )?)*[^\n#`;&|]{0,60}?\btensorflow(?P<gpu>-gpu)?(?:\s?==?\s?(?P<version>[\d.]+\d))?(?=[\s`\"']|$)",
        "conda install tensorflow==2.10.0",
    ),
    sig(  # conda chooses the CUDA of its builds, so the rows of PyPI's wheels do not apply
        "tensorflow-of-conda",
        "conda install|from conda|from anaconda",
        r"conda install (?:-\S+ (?:\w+ )?)*[^\n#`;&|]{0,60}?\btensorflow\b"
        r"|\b(?:tensorflow(?:[-_]gpu)?|TF)\b[ \w.=-]{0,20} from (?:ana)?conda\b",
        "TF 1.12.0 from conda",
        once=True,
    ),
    sig(
        "cpu-package",
        "tensorflow-cpu|tensorflow_cpu|tensorflow-intel|tensorflow_intel|intel-tensorflow|intel_tensorflow",
        r"(?P<name>tensorflow[-_](?:cpu|intel)|intel[-_]tensorflow"
        r"|libtensorflow-cpu-(?:linux|windows|darwin)-x86_64)"
        r"(?:\s*==?\s*|[-_]|\s+)(?P<version>\d+\.\d+(?:\.\d+)?)",
        "tensorflow-cpu            2.11.0",
    ),
    sig(
        "cpu-package-install",
        "tensorflow-cpu",
        r"install (?:-\S+ )*tensorflow-cpu\b",
        "pip install tensorflow-cpu",
    ),
    spoken(
        "installed-package",
        glued((*LISTED, *glued("-_", _PARTS), "-plugin", *_BESIDE), LISTING),
        r"^[\s│|>$#*-]{0,8}(?P<name>tensorflow(?:[-_](?:gpu|cpu|intel|base|macos|metal|directml"
        r"|directml-plugin|cpu-aws|text|io|addons|probability|quantum))?"
        r"|tf[-_]nightly(?:[-_](?:gpu|cpu))?|keras|tf[-_]keras|numpy|protobuf|h5py"
        r"|cudatoolkit|cudnn|nvidia[-_](?:cuda[-_])?[a-z]{2,12}[-_]cu1[123])"
        r"(?:==|\s{1,40}|\s*\|\s*)(?P<version>\d+\.\d+(?:\.[\w.]+)?)(?:\s+(?P<build>[\w.]+_\w+|\d"
        r"|h\w{5,12}_\d)(?:\s+(?P<channel>[\w-]+))?)?\s*[|│]?$",
        "tensorflow-gpu         2.3.1",
        pip_list_line,
    ),
    spoken(  # TensorFlow's issue form; such a build loads the CUDA version that it was compiled with
        "own-build",
        "(source or binary)|from source|installed from: source|tf source|tensorflow source|bazel build|исходн"
        "|kompiliert|gebaut|compilé|compilad|compilat|编译|ソースから|소스에서",
        r"(?:installed from|Source) \(source or binary\)[*_: ]{1,6}(?:from )?source\b"
        r"|installed from:? source\b|\b(?:built|compiled) (?:the )?(?:TF|TensorFlow) source\b"
        r"|(?<!do i have to )(?<!need to )(?<!should i )(?<!how to )(?<!want to )(?:built"
        r"|compiled|build|compile)\b[^\n.]{0,20}\bfrom source|bazel build [^\n]{0,200}tensorflow"
        r"|(?:собра|компилирова)л\w{0,4}\b[^\n.]{0,40}из исходн"
        r"|aus (?:den |dem )?(?:Quellen|Quellcode) (?:gebaut|kompiliert)|selbst (?:kompiliert|gebaut)"
        r"|compil(?:é|ado|ato|ata)\w? (?:depuis|à partir|desde|dai) |源码编译(?:的|安装|了)|自己编译的"
        r"|ソースから(?:ビルド|コンパイル)し[たて]|소스에서 빌드[한했]",
        "- TensorFlow installed from (source or binary): source",
    ),
    spoken(
        "both-packages",
        "tensorflow",
        rf"\btensorflow{_NUMBERED}(?:,| and| &|;| \+) (?:also )?tensorflow[-_]gpu(?:==| |=|"
        rf" \()?\d|\btensorflow[-_]gpu{_NUMBERED}(?:,| and| &|;| \+) (?:also )?tensorflow(?:==| |=| \()?\d",
        "pip list shows tensorflow 2.3.0, tensorflow-gpu 2.3.0",
        not_of_conda,
        near="tensorflow-gpu|tensorflow_gpu",
    ),
)
