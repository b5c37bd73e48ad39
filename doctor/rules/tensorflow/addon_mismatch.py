"""tf-addon-mismatch: a compiled add-on, or an op of one's own, was built for another TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import validated
from doctor.facts import Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.own_ops import op_that_does_not_load, own_ops

ADDONS = {
    "horovod": "horovod",
    "tensorflow_text": "tensorflow-text",
    "tensorflow_io": "tensorflow-io",
    "tensorflow_addons": "tensorflow-addons",
    "tensorflow_decision_forests": "tensorflow-decision-forests",
    "tensorflow_ranking": "tensorflow-ranking",
}
"""Folders in site-packages of packages that hold ops compiled against one TensorFlow release, and their names for pip."""


def addon_of(symptom: Symptom) -> str:
    """The package for pip whose library a symbol is missing in; "" where it is none of the known add-ons."""
    path = symptom.get("library") or symptom.source.text
    found = re.search(r"(?:site|dist)-packages[/\\\\](\w+)[/\\\\]", path)
    return ADDONS.get(found[1], "") if found else ""


@rule(
    "tf-addon-mismatch",
    "A compiled add-on was built for another TensorFlow",
    explains=("tf-import-failed", "library-broken", "tf-conflicting-packages", "python-dependency-conflict"),
    needs=("undefined-symbol", "addon-mismatch"),
)
def tf_addon_mismatch(picture: Picture) -> Iterator[Finding]:
    """A compiled add-on was built for another TensorFlow.

    ## What it means
    Horovod, tensorflow-text, tensorflow-io, tensorflow-addons and ops of one's own are compiled against one TensorFlow
    release, whose C++ names and class layouts they use. With another release they do not load.

    ## How it shows
    `undefined symbol: _ZN10tensorflow…` from a library of the add-on, `HorovodVersionMismatchError`, a NotFoundError
    from `tf.load_op_library`.

    ## What to do
    Install the release of the add-on that belongs to this TensorFlow (tensorflow-text and TensorFlow have the same minor
    number), or build it again against the TensorFlow in use.
    """
    facts = picture.facts
    ops = own_ops(picture)
    if ops:
        yield op_that_does_not_load(picture, ops)
        return
    broken = [s for s in facts.symptoms("undefined-symbol") if addon_of(s)]
    printed = facts.symptoms("addon-mismatch")
    if not (broken or printed):
        return
    stated = [s for s in printed if s.get("wants")] if facts.kind == "machine" else []
    if stated and not broken:
        yield _stated(picture, stated)
        return
    name = addon_of(broken[0]) if broken else printed[0].get("addon")
    addon = validated.distribution(name) or "horovod"
    again = commands.pip(picture, "install", "--no-cache-dir", "--force-reinstall", "--no-deps", addon)
    steps = [
        shell(again, "builds or fetches the add-on again, for the TensorFlow that is installed"),
        manual("Where that brings the same file: choose the release of the add-on that names this TensorFlow in its table of versions"),
    ]
    yield found(
        "tf-addon-mismatch",
        f"{name or 'An add-on'} holds compiled code for another TensorFlow release than the one that is installed.",
        [*broken[:2], *printed[:2], picture.tensorflow],
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )


def _stated(picture: Picture, stated: list[Symptom]) -> Finding:
    """Add-ons on a machine whose own metadata names other releases of TensorFlow: only programs that import them fail."""
    names = [f"{s.get('addon')} {s.get('version')}" for s in stated]
    first = stated[0]
    steps: list[Step] = []
    for symptom in stated:
        addon = validated.distribution(symptom.get("addon"))
        if addon == "tensorflow-text":
            minor = ".".join(symptom.get("there").split(".")[:2])
            wanted = f"{addon}=={minor}.*" if re.fullmatch(r"\d+\.\d+", minor) else addon
            steps.append(shell(commands.pip(picture, "install", wanted), "has the minor number of this TensorFlow"))
        elif addon:
            again = commands.pip(picture, "install", "--upgrade", addon)
            steps.append(shell(again, "a release of it that names this TensorFlow; its table of versions tells which"))
    steps.append(manual(f"Where no program imports {first.get('addon')}: leave it, or uninstall it"))
    return found(
        "tf-addon-mismatch",
        f"{' and '.join(names)} {'hold' if len(names) > 1 else 'holds'} code that was compiled for TensorFlow {first.get('wants')}; "
        f"{first.get('there')} is installed. TensorFlow itself is not touched by it; a program that imports the add-on "
        "fails, most often with an undefined symbol.",
        [*stated, picture.tensorflow],
        severity="warning",
        confidence="likely",
        steps=steps,
        verify=commands.run_python(picture, f"import {first.get('addon').replace('-', '_')}"),
    )
