"""Commands for the user to paste, correct for the case's platform and for what pip can install there.

In: a `Case` (everything known about the machine or the report) and the tables. Out: steps. Pins come from the
tables; a command that needs an administrator is marked, and the tool never runs it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.findings import Step, shell
from doctor.remedies import code
from doctor.shell import Command, Path, Word, run
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.remedies.system_commands import (
        driver_install as driver_install,
        growth_variable as growth_variable,
        in_powershell as in_powershell,
        last_branch as last_branch,
        linux_family as linux_family,
        loader_path_without as loader_path_without,
        memory as memory,
        off_the_path as off_the_path,
        present as present,
        reload_driver as reload_driver,
        uninstall_tensorflow as uninstall_tensorflow,
        wsl_library_path as wsl_library_path,
    )


ELSEWHERE = lazy.compile(r"; found by (?!PATH$|\$)|--python$")
"""Matches the source text of a Python interpreter that doctor.probe.interpreter found but that no shell
starts by its name."""


def python_command(case: Case) -> tuple[Word, ...]:
    """The command, as words, that starts Python on the case's platform; the interpreter's path if neither
    PATH nor an activated environment leads to it."""
    python = case.python
    if python is not None and python.executable and ELSEWHERE.search(python.source.text):
        return (Path(python.executable),)
    return ("python",) if case.platform == "windows" or "conda" in case.environments else ("python3",)


def python_words(case: Case) -> list[str]:
    """The command that starts Python on the case's platform, as text for an instruction."""
    return [word for word in python_command(case) if isinstance(word, str)] or ["python3"]


def run_python(case: Case, line: str, python: Sequence[Word] = ()) -> Command:
    """A command that runs one line of Python. python: the words that start the Python interpreter; by
    default, the one of the case."""
    return run(*(python or python_command(case)), "-c", line)


def pip(case: Case, *arguments: Word) -> Command:
    """A command that runs pip with the case's Python."""
    return run(*python_command(case), "-m", "pip", *arguments)


def conda(case: Case, *arguments: Word) -> Command:
    """A command that runs conda for the environment of the case's Python: the active one, or the one that
    contains the interpreter if no shell starts it by its name. arguments: the subcommand first."""
    found = python_command(case)[0]
    folder = ("-p", Path(posixpath.dirname(posixpath.dirname(found.text)))) if isinstance(found, Path) else ()
    return run("conda", arguments[0], *folder, *arguments[1:])


def list_gpus(case: Case) -> Command:
    """The command that shows which GPUs TensorFlow registered."""
    return run_python(case, code.list_gpus(case.api))


def convolution(case: Case) -> Command:
    """The command that makes TensorFlow create its cuDNN handle."""
    return run_python(case, code.convolution(case.api))


def product(case: Case) -> Command:
    """The command that makes TensorFlow create its cuBLAS handle."""
    return run_python(case, code.product(case.api))


def program(case: Case, python: Sequence[Word] = ()) -> Command:
    """The command that starts the user's program: the check of a cure that only this program shows, such as
    that of a single op. The user replaces the file's name. python: as for `run_python`."""
    return run(*(python or python_command(case)), "program.py")


def minor(version: str) -> str | None:
    """The first two numbers of a version ("3.11"); None if it does not begin with two numbers."""
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else None


def python_minor(case: Case) -> str | None:
    """The first two numbers of the case's Python version ("3.11"); None if the version is unknown."""
    return minor(case.python.version) if case.python is not None else None


def tell_more(case: Case) -> list[Step]:
    """Steps that print the information that the report lacks about the driver, the GPUs, TensorFlow and its
    libraries."""
    from doctor.facts import Fact, GpuRegistered, LibraryLoaded, LibraryNotLoaded, TensorFlowBuild

    facts = case.facts
    missing: list[Step] = []
    lacking = [what for what, known in (("driver", case.driver), ("GPUs", case.gpus)) if not known]
    if lacking:
        missing.append(shell(run("nvidia-smi"), f"shows the {' and the '.join(lacking)}"))
    unknown = {}
    if case.tensorflow is None:
        unknown["tf.__version__"] = "shows which TensorFlow version is installed"
    if not facts.of(TensorFlowBuild) and case.build is None:
        unknown["tf.test.is_built_with_cuda()"] = "shows whether TensorFlow is built for CUDA"
    if unknown:
        line = f"import tensorflow as tf; print({', '.join(unknown)})"
        missing.append(shell(run_python(case, line), ", and ".join(unknown.values())))
    opened: tuple[type[Fact], ...] = (LibraryLoaded, LibraryNotLoaded, GpuRegistered)
    if not any(facts.of(kind) for kind in opened):
        cmd = case.platform == "windows"
        why_loading = "prints each library that does not load, if there is one" + (" (in cmd)" if cmd else "")
        missing.append(shell(loading(case), why_loading, platform="windows" if cmd else ""))
    if len(missing) == 1:
        return missing
    everything = shell(
        run("tfgpu-doctor", "check", "--format", "markdown"),
        "examines everything that TensorFlow needs for the GPU, and prints a report to paste",
    )
    return [everything, *missing]


def introduced(words: str, steps: Sequence[Step]) -> list[Step]:
    """The steps, with these words at the beginning of the first step's explanation."""
    first, *others = steps
    return [replace(first, why=f"{words}{first.why}"), *others]


def loading(case: Case) -> Command:
    """The command that prints the GPUs, and each library that TensorFlow loads or does not find."""
    return replace(list_gpus(case), variables=(("TF_CPP_VMODULE", "dso_loader=1"),))


__getattr__ = lazy.names(__name__, ".system_commands")
