"""tf-not-installed: this Python has no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Absent, Package
from doctor.findings import Finding, Step, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.registry import found, rule


@rule(
    "tf-not-installed",
    "TensorFlow is not installed in this Python",
    needs=("tensorflow-not-installed", "package-not-found", Absent),
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
    said = facts.symptoms("tensorflow-not-installed", "package-not-found")
    absent = facts.absent("tensorflow")
    if not said and not absent:
        return
    installed = [p for p in facts.of(Package) if p.name in ("tensorflow", "tensorflow-gpu")]
    text = "The Python that runs the program has no TensorFlow."
    if installed or (picture.tensorflow is not None and picture.tensorflow.rank == 0):
        text += " It is installed somewhere, so another Python or environment runs the program than the one it was installed into."
    release = commands.newest_fitting(picture)
    steps: list[Step] = []
    if facts.kind == "machine" and not picture.environments & {"venv", "conda", "virtualenv"}:
        steps += commands.fresh_environment(picture, release)
    elif release is not None and release.extras and release.extras.get("and-cuda") and picture.platform != "windows":
        steps.append(commands.pip_and_cuda(picture, release))
    elif not commands.has_wheel(picture):
        steps += commands.with_another_python(picture)
    else:
        steps.append(
            shell(
                f"{commands.venv_prefix(picture)} install tensorflow", "installs into the Python that runs the program"
            )
        )
    steps.append(
        shell(
            commands.run_python(picture, "import sys; print(sys.executable)"),
            "says which Python that is; IDEs and notebooks may use another",
        )
    )
    yield found(
        "tf-not-installed",
        text,
        [*said[:2], absent, *installed[:1]],
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )
