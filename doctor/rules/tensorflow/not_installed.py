"""tf-not-installed: this Python has no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Absent, Package
from doctor.findings import Finding, shell
from doctor.picture import Picture
from doctor.remedies import commands, cures
from doctor.rules.registry import found, rule
from doctor.shell import Literal


@rule(
    "tf-not-installed",
    "TensorFlow is not installed in this Python",
    needs=("tensorflow-not-installed", "package-not-found", "install-broke-off", Absent),
)
def tf_not_installed(picture: Picture) -> Iterator[Finding]:
    """No TensorFlow in this Python.

    ## What it means
    The interpreter that runs the program has no TensorFlow; another one (another environment, version or user) may have.

    ## How it shows
    `ModuleNotFoundError: No module named 'tensorflow'`.

    ## What to do
    Install it with the very interpreter that runs the program: `python -m pip install tensorflow`. In an IDE or notebook choose the interpreter or
    kernel of the right environment.
    """
    facts = picture.facts
    # a traceback that leads into TensorFlow's own files shows that it is installed, whatever the import says in the end
    inside = facts.has("native-runtime-failed") and facts.has("illegal-instruction", "dll-load-failed")
    said = facts.symptoms("tensorflow-not-installed", "package-not-found") if not inside else []
    absent = facts.absent("tensorflow")
    broke = facts.symptoms("install-broke-off")
    if not said and not absent and not broke:
        return
    installed = [p for p in facts.of(Package) if p.name in ("tensorflow", "tensorflow-gpu")]
    text = "The Python that runs the program has no TensorFlow."
    if installed or (picture.tensorflow is not None and picture.tensorflow.rank == 0):
        text += " It is installed somewhere, so another Python or environment runs the program than the one it was installed into."
    bare = facts.kind == "machine" and not picture.environments & {"venv", "conda", "virtualenv"}
    cure = cures.another_build(picture, own=bare) if picture.platform != "macos" else cures.build_for_mac(picture)
    asks = "import sys; print(sys.executable)"
    if not cure.python:
        cure = cure.then(shell(commands.run_python(picture, asks), "says which Python that is; IDEs and notebooks may use another"))
    steps = cure.steps
    if broke and broke[0].get("why") == "long-path":
        text = "pip broke off: TensorFlow has files whose paths are longer than the 260 characters that this Windows allows."
        steps = (
            shell(
                Literal(
                    "reg add HKLM\\SYSTEM\\CurrentControlSet\\Control\\FileSystem /v LongPathsEnabled /t REG_DWORD /d 1 /f"
                ),
                "lets Windows use long paths; then open a new prompt and install again (a folder near the root, C:\\tf, does as well)",
                platform="windows",
                root=True,
            ),
            *steps,
        )
    elif broke:
        text = "Nothing was installed: the shell took the brackets for a pattern of file names; they need quotes."
    yield found(
        "tf-not-installed",
        text,
        [*broke[:1], *said[:2], absent, *installed[:1]],
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)", cure.python),
    )
