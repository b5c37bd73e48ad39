"""Findings for ops that were compiled outside TensorFlow and are loaded with `tf.load_op_library`: the
symbols that their library lacks, and the steps. TensorFlow itself works; it reports dlopen's message as a
NotFoundError (LoadLibrary in tensorflow/core/platform/posix/load_library.cc, 1.0 to 1.15; since then,
LoadDynamicLibrary in platform/default/load_library.cc)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import LibraryNotLoaded, Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.remedies.rare_steps import op_flags
from doctor.rules.linux import on_linux
from doctor.rules.registry import found
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case

_PYTHON = r"_?Py[A-Z]\w*|Py[A-Z]+_\w+"
"""Matches names that Python itself exports (Include/*.h). An extension for which such a name is undefined was
built for another Python."""

_TENSORFLOWS = r"_Z\w{0,4}NK?(?:10tensorflow|9perftools8gputools|15stream_executor|3tsl|3xla)"
"""Matches the prefix of mangled C++ names of TensorFlow's functions, classes and type descriptions (Itanium
C++ ABI, 5.1)."""

_LIBRARIES = r"(?<![\w-])(?:lib(?:tensorflow|tfkernel|bfloat)|_pywrap_)"
"""Matches the names of TensorFlow's own libraries, which use each other's symbols."""

_INSTALLED = r"(?:site|dist)-packages[/\\]{1,2}(\w{1,80})[/\\]"
"""Matches the path of a library in an installed package: the user did not compile it. Group 1 is the
package's folder."""

_FOLDERS = ("tensorflow", "tensorflow_core")
"""TensorFlow's own folders in site-packages: `tensorflow`, and `tensorflow_core` from 1.15 to 2.1."""

ADDONS = {
    "horovod": "horovod",
    "tensorflow_text": "tensorflow-text",
    "tensorflow_io": "tensorflow-io",
    "tensorflow_addons": "tensorflow-addons",
    "tensorflow_decision_forests": "tensorflow-decision-forests",
    "tensorflow_ranking": "tensorflow-ranking",
}
"""Packages with ops compiled against one TensorFlow release: a mapping from the names of their folders in
site-packages to their names in pip."""


def addon_of(symptom: Symptom) -> str:
    """The pip name of the add-on whose library lacks a symbol; for another package's library that lacks one
    of TensorFlow's symbols, the file name of the library; "" in all other cases."""
    path = symptom.get("library") or symptom.source.text
    found = re.search(_INSTALLED, path)
    folder = found[1] if found else ""
    own = folder in ("", *_FOLDERS) or not _wants_tensorflow(symptom)
    return ADDONS.get(folder, "" if own else path.rpartition("/")[2][:80])


def own_ops(case: Case) -> list[Symptom]:
    """The undefined symbols in libraries that somebody compiled against TensorFlow, outside installed
    packages."""
    return [
        s
        for s in case.facts.symptoms("undefined-symbol")
        if not re.search(_INSTALLED, s.get("library"))
        and (("NotFoundError" in s.source.text and s.get("library")) or _wants_tensorflow(s))
    ]


def _wants_tensorflow(symptom: Symptom) -> bool:
    """Whether a library that is not TensorFlow's own lacks one of TensorFlow's symbols.

    TensorFlow's own libraries need each other's symbols. So if the line does not say which library lacks the
    symbol, it must not contain the name of such a library.
    """
    where = symptom.get("library") or symptom.source.text
    return bool(re.match(_TENSORFLOWS, symptom.get("symbol"))) and not re.search(_LIBRARIES, where)


def pythons_own(symptom: Symptom) -> bool:
    """Whether an undefined symbol is one of Python's own."""
    return bool(re.fullmatch(_PYTHON, symptom.get("symbol")))


def op_without_code(case: Case, signs: list[Symptom]) -> Finding:
    """The finding tf-addon-mismatch for an op that can be loaded but has kernels only for other GPUs."""
    capability = next(iter(case.capabilities), "")
    number = capability.replace(".", "") if re.fullmatch(r"\d{1,2}\.\d", capability) else ""
    flag = f"-gencode arch=compute_{number},code=sm_{number}" if number else "-arch=sm_NN of this GPU"
    return found(
        "tf-addon-mismatch",
        "A custom op has no code for this GPU: nvcc compiled it for another architecture (-arch=sm_NN).",
        [*signs[:2], *case.gpus[:1]],
        title="A custom op has no code for this GPU",
        steps=[
            shell(
                run("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv"),
                "shows the GPU's compute capability; 8.6, for example, means sm_86",
            ),
            manual(f"Delete the op's library and compile it again, with {flag} among nvcc's options"),
        ],
        verify=commands.list_gpus(case),
    )


def op_not_compiled(case: Case, signs: list[Symptom]) -> Finding:
    """The finding tf-addon-mismatch for an op whose CUDA source nvcc does not compile."""
    return found(
        "tf-addon-mismatch",
        "nvcc does not compile the program's own CUDA source against this TensorFlow's headers. The source"
        " was usually written for an older TensorFlow, CUDA or compiler.",
        [*signs[:2], case.tensorflow],
        title="A custom op does not compile with this TensorFlow",
        confidence="likely",
        steps=[
            manual("Install the TensorFlow and CUDA releases that the program's instructions name"),
            manual(
                "If you need this TensorFlow, look for a newer release of the program, or mend the first"
                " error that nvcc prints above the number of errors"
            ),
        ],
        verify=commands.run_python(case, op_flags(case.tensorflow.version if case.tensorflow else "")),
    )


def for_another_release(case: Case) -> list[LibraryNotLoaded]:
    """TensorFlow's own library under the file name of another release, which the library of an op looks for:
    TensorFlow reports what `tf.load_op_library` does not open as a NotFoundError, after its own import."""
    lost = case.missing("tensorflow")
    return [lib for lib in lost if "NotFoundError" in lib.source.text and "_framework" in lib.name]


def op_of_another_release(case: Case, lost: list[LibraryNotLoaded]) -> Finding:
    """The finding tf-addon-mismatch for ops that look for TensorFlow's library under another file name. lost:
    what `for_another_release` returns, not empty."""
    name = lost[0].name
    number = re.search(r"\.so\.(\d)$", name)
    made = {"1": "1.14 and 1.15", "2": "2"}.get(number[1] if number else "", "1.4 to 1.13")
    return found(
        "tf-addon-mismatch",
        f"TensorFlow itself works. A library that the program loads (a custom op or an add-on) looks for"
        f" {name}, so it was compiled for TensorFlow {made}. In other releases, TensorFlow's library has"
        " another file name.",
        [*lost[:2], case.tensorflow],
        title="A custom op was compiled for another TensorFlow release",
        confidence="likely",
        steps=_compiled_again(
            case, "", "", "Use the nvcc of the CUDA version for which TensorFlow was built"
        ),
        verify=commands.run_python(case, op_flags(case.tensorflow.version if case.tensorflow else "")),
    )


def _compiled_again(case: Case, file: str, flag: str, nvcc: str) -> list[Step]:
    """The steps that compile an op for the installed TensorFlow. file: its name, "" if it is unknown; flag:
    what to change in the flags; nvcc: which nvcc to use."""
    flags = op_flags(case.tensorflow.version if case.tensorflow is not None else "")
    return [
        on_linux(
            commands.run_python(case, flags),
            "prints the compiler and linker flags for the op: pass them to g++, and to nvcc (put -Xcompiler"
            " before a flag that nvcc does not know)",
        ),
        manual(
            f"Delete {file or 'the library'} and recompile it with these flags{flag}. {nvcc}"
            + ("" if file else ". For an add-on from pip, install the release for this TensorFlow")
        ),
    ]


def op_that_does_not_load(case: Case, ops: list[Symptom]) -> Finding:
    """The finding tf-addon-mismatch for ops that do not load. ops: what `own_ops` returns, not empty."""
    library, symbol = ops[0].get("library"), ops[0].get("symbol")
    file = library.rsplit("/", 1)[-1]
    # only the file name, to be used in the folder in which it was compiled: no command uses a path from a
    # report
    name = validated.soname(file)
    start = (
        f"{file} is a custom op; TensorFlow works but cannot load it"
        if file
        else "A library that was compiled against TensorFlow (an op or an add-on) cannot be loaded"
    )
    flags = op_flags(case.tensorflow.version if case.tensorflow is not None else "")
    flag = ""
    if re.match(r"_{0,2}(?:cuda|cu[A-Z]|cublas|cudnn)", symbol):
        text = (
            f"{start}. It was compiled with the nvcc of one CUDA release, but it finds the runtime of another"
            f" release, which has no {symbol}."
        )
    elif "cxx11" in symbol:
        text = f"{start}. It was compiled with the new C++ string ABI, but this TensorFlow uses the old ABI."
        flag = ", with -D_GLIBCXX_USE_CXX11_ABI=0"
    elif "ESs" in symbol or "RKSs" in symbol:
        text = f"{start}. It was compiled with the old C++ string ABI, but this TensorFlow uses the new ABI."
        flag = ", without -D_GLIBCXX_USE_CXX11_ABI=0"
    else:
        text = (
            f"{start}. It needs a symbol that this TensorFlow does not have, so it was compiled against"
            f" another release or is not linked with libtensorflow_framework."
        )
    version = case.build.cuda if case.build is not None else None
    cuda = f"CUDA {version}," if version else "the CUDA version"
    nvcc = f"Use the nvcc from {cuda} for which this TensorFlow was built"
    steps = _compiled_again(case, file, flag, nvcc)
    if "_cudacache" in library:
        steps[1] = manual(
            f"Correct the flags with which the project compiles its ops{flag}, and delete the folder"
            f" _cudacache; the project then recompiles its ops. {nvcc}"
        )
    return found(
        "tf-addon-mismatch",
        text,
        ops[:3],
        title=(
            "A custom op cannot be loaded"
            if file
            else "A library that was compiled for another TensorFlow release cannot be loaded"
        ),
        steps=steps,
        verify=commands.run_python(
            case, f"import tensorflow as tf; tf.load_op_library('./{name}')" if name else flags
        ),
    )
