"""tf-addon-mismatch: a compiled add-on, or the user's own op, was built for another TensorFlow release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.own_ops import (
    ADDONS,
    addon_of,
    for_another_release,
    op_not_compiled,
    op_of_another_release,
    op_that_does_not_load,
    op_without_code,
    own_ops,
)

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "tf-addon-mismatch",
    "A compiled add-on was built for another TensorFlow release",
    explains=(
        "ptx-jit-or-kernel-crash",
        "tf-import-failed",
        "library-broken",
        "tf-conflicting-packages",
        "python-dependency-conflict",
    ),
    needs=(
        "undefined-symbol",
        "addon-mismatch",
        "own-op-without-code",
        "own-op-not-compiled",
        "tensorflow-library-not-loaded",
    ),
)
def tf_addon_mismatch(case: Case) -> Iterator[Finding]:
    """A compiled add-on was built for another TensorFlow release.

    ## What it means
    Horovod, tensorflow-text, tensorflow-io, tensorflow-addons and your own ops are compiled against one
    TensorFlow release and use its C++ symbols and class layouts. They do not load with another release.

    ## What you see
    `undefined symbol: _ZN10tensorflow…` from a library of the add-on, `HorovodVersionMismatchError`, a
    NotFoundError from `tf.load_op_library`, also one about `libtensorflow_framework.so`.

    ## What to do
    Install the release of the add-on that was built for this TensorFlow release (tensorflow-text must have
    the same minor version as TensorFlow), or rebuild the add-on against the installed TensorFlow.
    """
    facts = case.facts
    ops = own_ops(case)
    if ops:
        yield op_that_does_not_load(case, ops)
        return
    lost = for_another_release(case)
    if lost:
        yield op_of_another_release(case, lost)
        return
    codeless = facts.symptoms("own-op-without-code")
    if codeless:
        yield op_without_code(case, codeless)
        return
    uncompiled = facts.symptoms("own-op-not-compiled")
    if uncompiled and case.tensorflow is not None:
        yield op_not_compiled(case, uncompiled)
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
    package = validated.distribution(name) if not broken or name in ADDONS.values() else None
    of = package or "the add-on's package"
    choose = f"hoose the release of {of} that its compatibility table lists for this TensorFlow"
    steps = [manual(f"C{choose}")]
    if package:
        again = commands.pip(case, "install", "--no-cache-dir", "--force-reinstall", "--no-deps", package)
        why = "builds or downloads the add-on again, for the installed TensorFlow"
        steps = [shell(again, why), manual(f"If that installs the same file, c{choose}")]
    plugin = any(s.get("plugin") for s in printed) and not broken
    yield found(
        "tf-addon-mismatch",
        f"{name}, a plugin for other devices, does not load: usually it was built for a TensorFlow release"
        " other than the installed one."
        if plugin
        else f"{name or 'An add-on'} contains code that was compiled for a TensorFlow release other than the"
        " installed one.",
        [*broken[:2], *printed[:2], case.tensorflow],
        confidence="likely" if plugin else "certain",
        steps=steps,
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)"),
    )


def _stated(case: Case, stated: list[Symptom]) -> Finding:
    """Return the finding for installed add-ons whose metadata requires a TensorFlow release other than the
    installed one. Only programs that import such an add-on fail."""
    names = [f"{s.get('addon')} {s.get('version')}" for s in stated]
    first = stated[0]
    steps: list[Step] = []
    for symptom in stated:
        addon = validated.distribution(symptom.get("addon"))
        if addon == "tensorflow-text":
            minor = ".".join(symptom.get("there").split(".")[:2])
            wanted = f"{addon}=={minor}.*" if re.fullmatch(r"\d+\.\d+", minor) else addon
            steps.append(
                shell(
                    commands.pip(case, "install", wanted),
                    "installs the add-on with the same minor version as this TensorFlow",
                )
            )
        elif addon:
            steps.append(
                shell(
                    commands.pip(case, "install", "--upgrade", addon),
                    "installs the newest release; if that needs another TensorFlow release, install the one"
                    " that the add-on's compatibility table lists for your TensorFlow",
                )
            )
    steps.append(manual(f"If no program imports {first.get('addon')}, leave it as it is, or uninstall it"))
    return found(
        "tf-addon-mismatch",
        f"{' and '.join(names)} {'contain' if len(names) > 1 else 'contains'} code that was compiled for"
        f" TensorFlow {first.get('wants')}, but {first.get('there')} is installed. TensorFlow itself works; a"
        f" program that imports the add-on fails, most often with an undefined symbol.",
        [*stated, case.tensorflow],
        severity="warning",
        confidence="likely",
        steps=steps,
        verify=commands.run_python(case, f"import {first.get('addon').replace('-', '_')}"),
    )
