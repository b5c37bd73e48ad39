"""Steps that the usual cures of several finding codes share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from doctor.findings import Step, manual, shell
from doctor.remedies import commands, cures
from doctor.remedies.cure import Cure
from doctor.shell import argv, piped, run

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.case import Case
    from doctor.shell import Line


Made: TypeAlias = "Callable[[Case], Cure | Sequence[Step]]"
"""A function that makes a cure, or the steps of one that changes neither the release nor its Python."""


_NOT_ON_WINDOWS = ("lspci", "ldconfig", "ls ", "grep", "free", "sudo", "echo $", "CUDA_", "TF_")
"""How commands start that Windows does not have, or that are written for sh."""


class Usual(NamedTuple):
    """The usual cure of a cause. made: a function that makes it. test: the command whose output confirms or
    excludes the cause; shows: what the command prints if this is the cause. verify: makes the command that
    shows whether the cure worked; None for the list of GPUs. windows: the test and what it shows, if they
    differ on Windows."""

    made: Made
    test: str
    shows: str
    verify: Callable[[Case, Cure], Line] | None = None
    windows: tuple[str, str] | None = None

    def cure(self, case: Case) -> Cure:
        """The cure, for a case."""
        made = self.made(case)
        return made if isinstance(made, Cure) else Cure(tuple(made))

    def check_of_cure(self, case: Case) -> Line:
        """The command that shows whether the cure has worked."""
        cure = self.cure(case)
        return cure.lists_gpus(case) if self.verify is None else self.verify(case, cure)

    def check(self, case: Case) -> tuple[str, str]:
        """The test, and what it shows, on the case's platform."""
        if case.platform != "windows":
            return self.test, self.shows
        if self.windows is not None:
            return self.windows
        if self.test.startswith(_NOT_ON_WINDOWS):
            return "tfgpu-doctor check", "a finding with this code"
        return self.test, self.shows


def imports(case: Case, cure: Cure) -> Line:
    """The command that shows, after the cure, whether TensorFlow can be imported."""
    return commands.run_python(case, "import tensorflow as tf; print(tf.__version__)", cure.python)


def convolves(case: Case, cure: Cure) -> Line:
    """The command that makes TensorFlow create its cuDNN handle after the cure."""
    return cure.convolves(case)


def runs(case: Case, cure: Cure) -> Line:
    """The command that starts the user's program after the cure: only the program shows whether it worked."""
    return commands.program(case, cure.python)


def by_hand(*instructions: str) -> Callable[[Case], list[Step]]:
    """Steps that only a person can do, the same in every case."""
    return lambda case: [manual(instruction) for instruction in instructions]


def driver(case: Case) -> Sequence[Step]:
    """Steps that install or upgrade the driver."""
    return commands.driver_install(case)


NOTEBOOKS = frozenset(("colab", "kaggle"))
"""Environments whose CUDA, cuDNN and driver the user cannot choose."""


def _in_a_notebook(case: Case) -> bool:
    """Whether a report is about Colab or Kaggle. A report that names a system of its own may only compare."""
    return bool(case.environments & NOTEBOOKS) and case.platform in (None, "linux") and case.os is None


def in_notebook_service() -> list[Step]:
    """Steps for Colab or Kaggle, where the preinstalled TensorFlow fits the machine."""
    return [
        shell(run("nvidia-smi"), "shows whether the session has a GPU"),
        shell(
            piped(run("pip", "list"), run("grep", "-i", "-E", "tensorflow|nvidia")),
            "shows which TensorFlow is installed",
        ),
        manual(
            "If a cell installs another TensorFlow, remove that command, start a new session (in Colab:"
            " Runtime, Disconnect and delete runtime), and use the preinstalled TensorFlow: it fits the"
            " machine's CUDA, which you cannot change"
        ),
    ]


def libraries(case: Case) -> Cure | Sequence[Step]:
    """The cure that installs CUDA and cuDNN; that for another build if TensorFlow's build is unknown."""
    if _in_a_notebook(case) and not case.builds:
        return in_notebook_service()
    return cures.libraries_for_build(case) if case.builds else cures.another_build(case)


def cudnn(case: Case) -> Cure | Sequence[Step]:
    """The cure that installs cuDNN; that for another build if TensorFlow's build is unknown."""
    if _in_a_notebook(case) and not case.builds:
        return in_notebook_service()
    return cures.cudnn_for_build(case) if case.builds else cures.another_build(case)


def required(case: Case, cure: Cure) -> Cure:
    """The cure, and the same requirement for the files from which tools install the packages of a project
    (pipenv's documentation, "Pipfile", and PEP 508)."""
    words = [word for step in cure.steps for word in argv(step.command) if isinstance(word, str)]
    wanted = next((word for word in words if re.fullmatch(r"tensorflow[\w\[\]-]*==[\w.]+", word)), "")
    if not wanted or case.platform == "windows":  # one set of files can be for Windows, another for WSL2
        return cure
    name, _, version = wanted.partition("==")
    extra = ', extras = ["and-cuda"]' if "[and-cuda]" in name else ""
    pipfile = f'{name.partition("[")[0]} = {{version = "=={version}"{extra}}}'
    return cure.then(
        manual(
            "If a file of the project asks for tensorflow-gpu (requirements.txt, setup.py, pyproject.toml, a"
            f" Dockerfile), write {wanted} there instead; in a Pipfile, write {pipfile} and run pipenv lock."
            " Then build the image or the environment again"
        )
    )


def library(case: Case, kind: str) -> str:
    """The name of the CUDA runtime (kind: "cudart") or of cuDNN ("cudnn") for the case: the one that did not
    load, otherwise the one that the likely build loads, otherwise the newest release's."""
    names = [lib.name for lib in case.not_loaded if case.component(lib.name) in ("cuda", "cudnn")]
    failed = [name for name in names if case.tables.build_opening(name)]  # only a name from the tables
    wanted = [name for build in reversed(case.builds) for name in build.libraries if kind in name]
    windows = {"cudart": "cudart64_110.dll", "cudnn": "cudnn64_8.dll"}
    newest = {"cudart": "libcudart.so.12", "cudnn": "libcudnn.so.9"}
    return next(iter((*failed, *wanted)), (windows if case.platform == "windows" else newest)[kind])
