"""Ops that were compiled outside TensorFlow and that `tf.load_op_library` opens: what one of them lacks, and how it gets it.

TensorFlow itself imports and works then; it hands dlopen's message on as a NotFoundError (LoadLibrary in
tensorflow/core/platform/posix/load_library.cc, 1.0 to 1.15; LoadDynamicLibrary in platform/default/load_library.cc since).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.rules.registry import found
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.picture import Picture

_PYTHON = r"_?Py[A-Z]\w*|Py[A-Z]+_\w+"
"""Names that Python itself exports (Include/*.h): an extension that misses one was built for another Python."""

_INSTALLED = r"(?:site|dist)-packages/"
"""In the path of a library that came with an installed package, which is not compiled by hand."""


def own_ops(picture: Picture) -> list[Symptom]:
    """The undefined symbols of libraries that somebody compiled against TensorFlow and that lie outside installed packages."""
    return [
        s
        for s in picture.facts.symptoms("undefined-symbol")
        if s.get("library") and "NotFoundError" in s.source.text and not re.search(_INSTALLED, s.get("library"))
    ]


def pythons_own(symptom: Symptom) -> bool:
    """Whether an undefined symbol is one of Python's."""
    return bool(re.fullmatch(_PYTHON, symptom.get("symbol")))


def op_that_does_not_load(picture: Picture, ops: list[Symptom]) -> Finding:
    """The finding tf-addon-mismatch for ops that do not load. ops: as `own_ops` gives them, at least one."""
    library, symbol = ops[0].get("library"), ops[0].get("symbol")
    file = library.rsplit("/", 1)[-1]
    name = validated.soname(file)  # in the folder in which it is compiled: a path of a report is not opened
    start = f"{file} is an op that was compiled on its own, and TensorFlow, which works, cannot load it"
    flags = "import tensorflow as tf; print(*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags())"
    if picture.tensorflow is not None and dotted(picture.tensorflow.version) < (1, 5):
        flags = "import tensorflow as tf; print('-I' + tf.sysconfig.get_include(), '-L' + tf.sysconfig.get_lib())"
    if re.match(r"_{0,2}(?:cuda|cu[A-Z]|cublas|cudnn)", symbol):
        text = f"{start}: it was compiled by the nvcc of one CUDA and finds the runtime of another, which has no {symbol}."
        flag = ""
    elif re.search(r"cxx11", symbol):
        text = f"{start}: it was compiled with C++'s new strings, and this TensorFlow with the old ones."
        flag = ", with -D_GLIBCXX_USE_CXX11_ABI=0"
    elif re.search(r"ESs|RKSs", symbol):
        text = f"{start}: it was compiled with C++'s old strings, and this TensorFlow with the new ones."
        flag = ", without -D_GLIBCXX_USE_CXX11_ABI=0"
    else:
        text = f"{start}: it wants a symbol that this TensorFlow does not have, so it was compiled against another release or is not linked with libtensorflow_framework."
        flag = ""
    build = picture.build
    cuda = f" of CUDA {build.cuda}, which this TensorFlow is built for" if build is not None and build.cuda else " of the CUDA that this TensorFlow is built for"
    steps: list[Step] = [
        shell(commands.run_python(picture, flags), "the flags that its compilation needs (g++ and nvcc -Xcompiler)", platform="linux"),
        manual(f"Delete {file} and compile it anew with these flags{flag}, and by the nvcc{cuda}"),
    ]
    if "_cudacache" in library:
        steps[1] = manual(f"Correct the flags with which the project compiles its ops{flag}, and delete the folder _cudacache: the ops are then compiled anew, by the nvcc{cuda}")
    return found(
        "tf-addon-mismatch",
        text,
        ops[:3],
        title="An op that was compiled on its own cannot be loaded",
        steps=steps,
        verify=commands.run_python(
            picture, f"import tensorflow as tf; tf.load_op_library('./{name}')" if name else flags
        ),
    )
