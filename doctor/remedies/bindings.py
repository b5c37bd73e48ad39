"""Steps for programs in languages other than Python. They bring their own TensorFlow library and cannot use
what is installed for Python.

R is the exception: its packages run the TensorFlow package in a Python environment (through reticulate).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands, environments, libraries
from doctor.shell import Command, Literal, Path, argv, commands_of, run
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case

NAMES = {
    "node": "TensorFlow.js for Node",
    "dotnet": "TensorFlow for .NET",
    "java": "TensorFlow for Java",
    "go": "TensorFlow for Go",
    "julia": "TensorFlow.jl",
    "rust": "TensorFlow for Rust",
}
"""The name of each binding by its language, as in the symptom `binding` and the table of bindings."""

_GPU_BUILD = {
    "node": shell(
        run("npm", "install", "@tensorflow/tfjs-node-gpu"),
        "the package with the CUDA build (Linux and Windows); require() it in place of @tensorflow/tfjs-node",
    ),
    "dotnet": manual(
        "Reference SciSharp.TensorFlow.Redist-Windows-GPU (Windows) or SciSharp.TensorFlow.Redist-Linux-GPU"
        " in place of SciSharp.TensorFlow.Redist, never together with it"
    ),
    "java": manual(
        "With TensorFlow Java 0.5 or earlier, depend on tensorflow-core-platform-gpu in place of"
        " tensorflow-core-platform. With 1.0 or later, depend on tensorflow-core-native with the classifier"
        " that the README of tensorflow/java lists for the GPU"
    ),
    "go": manual(
        "Install the GPU build of libtensorflow in place of the CPU build; the archives are at"
        " tensorflow.org/install/lang_c"
    ),
    "julia": shell(
        Literal("TF_USE_GPU=1 julia -e 'using Pkg; Pkg.build(\"TensorFlow\")'"),
        "fetches the CUDA build of the library",
    ),
    "rust": manual(
        "Turn on the crate's feature tensorflow_gpu: building the crate then fetches the CUDA build of the"
        " library"
    ),
}
"""How to install each binding with CUDA. The sources are its own documents: the READMEs of tensorflow/tfjs
(tfjs-node), SciSharp/TensorFlow.NET and tensorflow/java, tensorflow-sys/build.rs of tensorflow/rust,
tensorflow.org's page "Install TensorFlow for C" for the library that Go links, and deps/build.jl of
malmaud/TensorFlow.jl."""
VARIABLE = "TF_FORCE_GPU_ALLOW_GROWTH"
_LIBRARIES = (
    "cuda-missing",
    "cuda-version-mismatch",
    "cudnn-missing",
    "cudnn-version-mismatch",
    "library-path",
)
_BUILDS = ("tf-cpu-only", "tf-windows-native", "tf-not-installed")
_OF_PYTHON = lazy.compile(r"\b(?:python[\d.]*|pip3?|conda) |^Start Ubuntu from")
"""Matches words in an instruction that uses or creates a Python environment."""
_PYTHONS = lazy.compile(r"(?:.*[\\/])?(?:python[\d.]*|py|pip3?|uv|conda)(?:\.exe)?")
"""Programs that use or create a Python environment."""


_R_ENVIRONMENT = lazy.compile(
    r"(?:\.virtualenvs|/envs)/(?P<name>[A-Za-z][\w-]{0,40})(?=[\s/.,;:)'\"`]|$)", re.ASCII
)
"""Matches the path of a virtual or conda environment that reticulate finds by its name (reticulate,
use_virtualenv and use_condaenv). Its name needs no quoting."""


def reworded(finding: Finding, case: Case) -> Finding:
    """Return the finding with steps for the case's language binding; unchanged for Python, or if the binding
    is unknown."""
    language = _language(case)
    if language is None:
        return finding
    if language == "r":
        return _in_r(finding)
    kept = tuple(s for s in finding.prescription if s.kind != "python" and not _of_python(s))
    removed = [s.text for s in finding.prescription if s.kind == "python"]
    if any("growth" in text for text in removed) and not any(VARIABLE in s.text for s in kept):
        why = (
            "TensorFlow's library then allocates GPU memory only as needed: set the variable where the"
            " program, or the service that starts it, gets its environment"
        )
        kept += tuple(commands.growth_variable(case, case.api, why))
    by_hand = any("NVIDIA's archive" in s.text for s in kept)  # this step is right for every language
    steps = kept if by_hand else (*_instead(finding.code, language, case), *kept)
    proof = finding.proof
    if proof is not None and _of_python(proof):
        proof = shell(run("nvidia-smi"))
    same = kept == finding.prescription or not steps
    return replace(finding, prescription=finding.prescription if same else steps, proof=proof)


def _of_python(step: Step) -> bool:
    """Whether a step uses or creates a Python environment."""
    if step.command is None:
        return bool(_OF_PYTHON.search(step.text))
    if step.command in (environments.UV_INSTALL, environments.UV_INSTALL_WINDOWS):
        return True
    return any(_runs_python(command) for command in commands_of(step.command))


def _runs_python(command: Command) -> bool:
    words = [
        word if isinstance(word, str) else word.text for word in command.argv if isinstance(word, (str, Path))
    ]
    return words[:2] == ["wsl", "--install"] or any(_PYTHONS.fullmatch(word) for word in words)


def _in_r(finding: Finding) -> Finding:
    """Return the finding with a step that makes R and the finding's commands use the same Python
    interpreter."""
    lines = [argv(s.command) for s in finding.prescription if s.command is not None and _of_python(s)]
    if not lines:
        return finding
    conda = any(words[:2] == ("conda", "create") and environments.ENV in words for words in lines)
    if conda or any("venv" in words and words[-1] == Path(environments.ENV) for words in lines):
        use = (
            f'use_condaenv("{environments.ENV}", required = TRUE)'
            if conda
            else f'use_virtualenv("./{environments.ENV}", required = TRUE)'
        )
        step = manual(
            f"In R, call reticulate::{use} before library(tensorflow)", "R then uses that environment"
        )
        return replace(finding, prescription=(*finding.prescription, step))
    if finding.code == "tf-not-installed":
        return _missing_in_r(finding)
    which = manual(
        "In R, run reticulate::py_config(): it prints which Python R uses. Run the commands below with that"
        " Python"
    )
    return replace(finding, prescription=(which, *finding.prescription))


def _missing_in_r(finding: Finding) -> Finding:
    """Return the finding for R with steps in R: pip in a shell would install TensorFlow into another Python
    than that of reticulate (documentation of the R package tensorflow, "Installation", and of reticulate,
    "Python Version Configuration")."""
    named = _R_ENVIRONMENT.search(" ".join(source.text for source in finding.evidence))
    before = "before library(tensorflow) and in a new R session"
    if named:
        name = named["name"]
        use = "use_condaenv" if "/envs/" in named[0] else "use_virtualenv"
        call = f'reticulate::{use}("{name}", required = TRUE)'
        steps = [
            manual(
                f"In R, {before}, run: {call}",
                "the report names this environment; R uses another Python, which has no TensorFlow",
            ),
            manual("If this works, put the line at the beginning of the program, or into .Rprofile"),
            manual(
                "If this environment has no TensorFlow either, run in R:"
                f' tensorflow::install_tensorflow(envname = "{name}")'
            ),
        ]
        shown = f"{call}; tensorflow::tf_config()"
    else:
        steps = [
            manual("In R, run reticulate::py_config(): it prints which Python R uses"),
            manual(
                "If another environment on this machine has TensorFlow, choose it in R,"
                f" {before}: reticulate::use_virtualenv(FOLDER, required = TRUE), or use_condaenv(NAME,"
                " required = TRUE)"
            ),
            manual(
                "Otherwise run in R: tensorflow::install_tensorflow()",
                "it creates the environment r-tensorflow, which R then uses; pip in a shell may install"
                " TensorFlow into another Python",
            ),
        ]
        shown = "tensorflow::tf_config()"
    others = [step for step in finding.prescription if step.platform == "windows" and step.needs_root]
    return replace(
        finding, prescription=(*others, *steps), proof=shell(run("Rscript", "-e", shown), "in a terminal")
    )


def _language(case: Case) -> str | None:
    """The language of the binding that a report is about; None if it is unknown, or if a traceback shows that
    the program is written in Python."""
    facts = case.facts
    named = facts.symptoms("binding")
    if facts.kind != "report" or facts.has("traceback"):
        return None
    rows = (one.about(case.tables) for one in case.named)
    tabled = (row.language for row in rows if row is not None and row.language)
    language = named[0].get("language") if named else next(tabled, None)
    return language if language == "r" or language in NAMES else None


def _instead(code: str, language: str, case: Case) -> list[Step]:
    """The steps for a language binding that replace the steps for Python."""
    if code in _BUILDS:
        return [_GPU_BUILD[language]]
    if code == "undetermined":
        return [
            manual(
                "Set the variable TF_CPP_VMODULE=dso_loader=1 and start the program once: TensorFlow then"
                " prints every library that it loads or does not find"
            )
        ]
    if code not in _LIBRARIES:
        return []
    cuda, cudnn = set(case.wanted_cuda), {b.cudnn for b in case.builds if b.gpu and b.cudnn}
    names = [
        re.search(r"lib(?:cudart|cublas|cufft|curand|cusolver|cusparse)\.so\.(\d\.\d|10\.\d)$", lib.name)
        for lib in case.not_loaded
    ]
    cuda = cuda or {name[1] for name in names if name}
    wanted = f"CUDA {cuda.pop()}" if len(cuda) == 1 else "the CUDA release whose libraries the message names"
    wanted += f" and cuDNN {cudnn.pop()}" if len(cudnn) == 1 else " and the matching cuDNN"
    where = (
        "with their bin folders on PATH"
        if case.platform == "windows"
        else "with their lib64 folders in ldconfig's configuration or on LD_LIBRARY_PATH"
    )
    return [
        manual(
            f"Install {wanted} from NVIDIA's archives ({libraries.ARCHIVES}), {where}",
            f"{NAMES[language]} loads its own TensorFlow library, which loads the system's CUDA libraries; it"
            " cannot use what pip or conda installs for Python",
        )
    ]
