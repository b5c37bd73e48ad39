"""tf-not-installed: this Python has no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import MEASURED, Absent, Package, PythonVersion
from doctor.findings import Finding, shell
from doctor.remedies import commands, cures
from doctor.rules.registry import found, rule
from doctor.shell import Literal

if TYPE_CHECKING:
    from doctor.case import Case


_OF_R = lazy.compile(r"nstallation of TensorFlow not found")
"""Matches R's message."""


@rule(
    "tf-not-installed",
    "TensorFlow is not installed in this Python",
    needs=("tensorflow-not-installed", "package-not-found", "install-broke-off", Absent, PythonVersion),
)
def tf_not_installed(case: Case) -> Iterator[Finding]:
    """This Python has no TensorFlow.

    ## What it means
    The interpreter that runs the program has no TensorFlow. It may be installed in another environment, for
    another Python version or for another user.

    ## What you see
    `ModuleNotFoundError: No module named 'tensorflow'`.

    ## What to do
    Install TensorFlow with the interpreter that runs the program: `python -m pip install tensorflow`. In an
    IDE or notebook, choose the interpreter or kernel of the right environment.
    """
    facts = case.facts
    # a traceback that leads into TensorFlow's own files shows that TensorFlow was installed in the end
    inside = facts.has("native-runtime-failed") and facts.has("illegal-instruction", "dll-load-failed")
    said = facts.symptoms("tensorflow-not-installed", "package-not-found") if not inside else []
    absent = facts.absent("tensorflow")
    broke = facts.symptoms("install-broke-off")
    if not (said or absent or broke):
        yield from _into_another_python(case)
        return
    installed = [p for p in facts.of(Package) if p.name in ("tensorflow", "tensorflow-gpu")]
    text = "The Python that runs the program has no TensorFlow."
    if installed or (case.tensorflow is not None and case.tensorflow.rank == 0):
        text += (
            " TensorFlow is installed in a different Python or environment from the one that runs the"
            " program."
        )
    bare = facts.kind == "machine" and not case.environments & {"venv", "conda", "virtualenv"}
    cure = cures.another_build(case, own=bare) if case.platform != "macos" else cures.build_for_mac(case)
    if not cure.python:
        cure = cure.then(
            shell(
                commands.run_python(case, "import sys; print(sys.executable)"),
                "shows which Python runs here; IDEs and notebooks may use a different one",
            )
        )
    steps = cure.steps
    if facts.kind == "report" and not broke:
        steps = (
            shell(
                commands.run_python(case, "import sys; print(sys.executable)"),
                "shows which Python runs here. If TensorFlow is installed in another Python or environment,"
                " activate that one (`conda env list` shows conda's), start the program in it, and leave the"
                " other steps out",
            ),
            *(step for step in steps if "sys.executable" not in step.text),
        )
    if broke and broke[0].get("why") == "long-path":
        text = (
            "pip stopped halfway: TensorFlow has files whose paths exceed the 260 characters that this"
            " Windows allows."
        )
        steps = (
            shell(
                Literal(
                    "reg add HKLM\\SYSTEM\\CurrentControlSet\\Control\\FileSystem /v LongPathsEnabled /t"
                    " REG_DWORD /d 1 /f"
                ),
                "allows long paths in Windows; then open a new prompt and install TensorFlow again (or"
                " install it in a folder with a short path, such as C:\\tf)",
                platform="windows",
                root=True,
            ),
            *steps,
        )
    elif broke:
        text = (
            "Nothing was installed: the shell read the brackets as a pattern for file names. Put the"
            " package's name in quotes."
        )
    # R prints this for every failed import, and the report states the installed release
    of_r = bool(said) and all(_OF_R.search(sign.source.text) for sign in said) and case.tensorflow is not None
    yield found(
        "tf-not-installed",
        text,
        [*broke[:1], *said[:2], absent, *installed[:1]],
        confidence="possible" if of_r else "certain",
        steps=steps,
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)", cure.python),
    )


def _into_another_python(case: Case) -> Iterator[Finding]:
    """The finding for a pip that installs into another Python than the one that runs the program: `pip -V`
    names its Python."""
    facts = case.facts
    of_pip = next((p for p in facts.of(PythonVersion) if p.source.text.lower().startswith("pip ")), None)
    runs = next((p for p in facts.of(PythonVersion) if p.rank == MEASURED and p is not of_pip), None)
    listed = case.tensorflow is not None and case.tensorflow.rank == MEASURED
    if of_pip is None or runs is None or facts.kind != "report" or not listed or case.loaded:
        return
    if commands.minor(of_pip.version) != commands.minor(runs.version):
        build = case.build
        here = build is not None and commands.minor(runs.version) in build.pythons
        wanted = f"tensorflow=={build.version}" if build is not None and here else "tensorflow"
        yield found(
            "tf-not-installed",
            f"pip installs into Python {of_pip.version}, but the program runs Python {runs.version}, which"
            " does not have these packages.",
            [of_pip, runs],
            confidence="likely",
            steps=[
                shell(
                    commands.pip(case, "install", wanted),
                    "installs TensorFlow for the Python that runs the program",
                )
            ],
            verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)"),
        )
