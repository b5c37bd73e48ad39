"""tf-addon-mismatch: a compiled add-on, or the user's own op, was built for another TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import validated
from doctor.case import Case
from doctor.facts import Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.own_ops import op_that_does_not_load, op_without_code, own_ops

ADDONS = {
    "horovod": "horovod",
    "tensorflow_text": "tensorflow-text",
    "tensorflow_io": "tensorflow-io",
    "tensorflow_addons": "tensorflow-addons",
    "tensorflow_decision_forests": "tensorflow-decision-forests",
    "tensorflow_ranking": "tensorflow-ranking",
}
"""Packages that hold ops compiled against one TensorFlow release: their folders in site-packages, and their
names for pip."""


def addon_of(symptom: Symptom) -> str:
    """The pip package in whose library a symbol is missing; "" if it is not one of the known add-ons."""
    path = symptom.get("library") or symptom.source.text
    found = re.search(r"(?:site|dist)-packages[/\\\\](\w+)[/\\\\]", path)
    return ADDONS.get(found[1], "") if found else ""


@rule(
    "tf-addon-mismatch",
    "A compiled add-on was built for another TensorFlow",
    explains=(
        "ptx-jit-or-kernel-crash",
        "tf-import-failed",
        "library-broken",
        "tf-conflicting-packages",
        "python-dependency-conflict",
    ),
    needs=("undefined-symbol", "addon-mismatch", "own-op-without-code"),
)
def tf_addon_mismatch(case: Case) -> Iterator[Finding]:
    """A compiled add-on was built for another TensorFlow.

    ## What it means
    Horovod, tensorflow-text, tensorflow-io, tensorflow-addons and your own ops are compiled against one
    TensorFlow release, whose C++ names and class layouts they use. They do not load with another release.

    ## How it shows
    `undefined symbol: _ZN10tensorflow…` from a library of the add-on, `HorovodVersionMismatchError`, a
    NotFoundError from `tf.load_op_library`.

    ## What to do
    Install the add-on's release for this TensorFlow (tensorflow-text and TensorFlow have the same minor
    number), or rebuild the add-on against the TensorFlow in use.
    """
    facts = case.facts
    ops = own_ops(case)
    if ops:
        yield op_that_does_not_load(case, ops)
        return
    codeless = facts.symptoms("own-op-without-code")
    if codeless:
        yield op_without_code(case, codeless)
        return
    broken = [s for s in facts.symptoms("undefined-symbol") if addon_of(s)]
    printed = facts.symptoms("addon-mismatch")
    if not (broken or printed):
        return
    stated = [s for s in printed if s.get("wants")] if facts.kind == "machine" else []
    if stated and not broken:
        yield _stated(case, stated)
        return
    name = addon_of(broken[0]) if broken else printed[0].get("addon")
    addon = validated.distribution(name) or "horovod"
    again = commands.pip(case, "install", "--no-cache-dir", "--force-reinstall", "--no-deps", addon)
    steps = [
        shell(again, "builds or fetches the add-on again, for the TensorFlow that is installed"),
        manual(
            "If that installs the same file: choose the release of the add-on that its table of versions"
            " lists for this TensorFlow"
        ),
    ]
    plugin = any(s.get("plugin") for s in printed) and not broken
    yield found(
        "tf-addon-mismatch",
        f"{name}, a plugin for other devices, does not load: usually it was built for another TensorFlow"
        " than the installed one."
        if plugin
        else f"{name or 'An add-on'} holds compiled code for another TensorFlow release than the one that is"
        " installed.",
        [*broken[:2], *printed[:2], case.tensorflow],
        confidence="likely" if plugin else "certain",
        steps=steps,
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)"),
    )


def _stated(case: Case, stated: list[Symptom]) -> Finding:
    """The finding for a machine's add-ons whose metadata requires other TensorFlow releases: only programs
    that import them fail."""
    names = [f"{s.get('addon')} {s.get('version')}" for s in stated]
    first = stated[0]
    steps: list[Step] = []
    for symptom in stated:
        addon = validated.distribution(symptom.get("addon"))
        if addon == "tensorflow-text":
            minor = ".".join(symptom.get("there").split(".")[:2])
            wanted = f"{addon}=={minor}.*" if re.fullmatch(r"\d+\.\d+", minor) else addon
            steps.append(
                shell(commands.pip(case, "install", wanted), "has the minor number of this TensorFlow")
            )
        elif addon:
            again = commands.pip(case, "install", "--upgrade", addon)
            steps.append(
                shell(again, "the release of it that its table of versions lists for this TensorFlow")
            )
    steps.append(manual(f"If no program imports {first.get('addon')}: leave it, or uninstall it"))
    return found(
        "tf-addon-mismatch",
        f"{' and '.join(names)} {'hold' if len(names) > 1 else 'holds'} code that was compiled for TensorFlow"
        f" {first.get('wants')}; {first.get('there')} is installed. TensorFlow itself works; a program"
        f" that imports the add-on fails, most often with an undefined symbol.",
        [*stated, case.tensorflow],
        severity="warning",
        confidence="likely",
        steps=steps,
        verify=commands.run_python(case, f"import {first.get('addon').replace('-', '_')}"),
    )
