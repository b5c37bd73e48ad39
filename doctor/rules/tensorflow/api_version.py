"""tf-api-version: the code was written for another major version of TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import Symptom
from doctor.findings import Finding, Step, manual, python, shell
from doctor.remedies import code, commands, rare_steps
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.removed_names import (
    GONE_MODULES,
    GONE_NAMES,
    IN_TENSORFLOW_1,
    REMOVED_IN_2,
    missing_parts,
)

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "tf-api-version",
    "The code was written for another major version of TensorFlow",
    needs=(
        "missing-attribute",
        "missing-attribute-said",
        "missing-module",
        "missing-name",
        "eager-incompatible",
    ),
)
def tf_api_version(case: Case) -> Iterator[Finding]:
    """The code was written for another major version of TensorFlow.

    ## What it means
    TensorFlow 2 has no sessions, placeholders or `contrib`; TensorFlow 1 lacks most names that TensorFlow 2
    code uses; Keras moved or removed names in 2.4, 2.6, 2.12 and 3. The installation itself works.

    ## What you see
    `module 'tensorflow' has no attribute 'Session'` (ConfigProto, GPUOptions, placeholder …), `No module
    named 'tensorflow.contrib'`, `cannot import name 'multi_gpu_model'`. If TensorFlow 1 is installed,
    the Python that runs the program is another one, which loads TensorFlow 2.

    ## What to do
    Write `import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()`, or convert the code with
    `tf_upgrade_v2`; replace `multi_gpu_model` with tf.distribute.MirroredStrategy. Or install the release for
    which the code was written.
    """
    facts = case.facts
    attributes = [s for s in facts.symptoms("missing-attribute") if s not in missing_parts(case)]
    modules = [
        s
        for s in facts.symptoms("missing-module")
        if s.get("module").startswith(GONE_MODULES) or "contrib" in s.get("module")
    ]
    names = [
        s
        for s in facts.symptoms("missing-name")
        if s.get("name") in GONE_NAMES or "contrib" in s.get("module")
    ]
    eager = facts.symptoms("eager-incompatible")
    said = not (attributes or modules or names or eager)
    if said and case.tensorflow is not None and case.tensorflow.version.startswith("2"):
        attributes = facts.symptoms("missing-attribute-said")  # a person's words, which fit the release
    if not (attributes or modules or names or eager):
        return
    name = next((s.get("name") for s in (*attributes, *names)), "")
    old_code = bool(modules or names or eager) or name in REMOVED_IN_2
    version = case.tensorflow.version if case.tensorflow else None
    runs_one = version is not None and version.startswith(("0.", "1."))
    steps: list[Step] = []
    verify = commands.run_python(case, "import tensorflow as tf; print(tf.__version__)")
    if runs_one and name in IN_TENSORFLOW_1 and attributes[:1] and _of_tensorflow(attributes[0]):
        text = (
            f"TensorFlow {version}, which the report states, has tf.{name}; only TensorFlow 2 does not have"
            " it. So the Python that runs the program is another one, which loads TensorFlow 2."
        )
        steps += _which_python(case)
        if name == "contrib":
            cure = rare_steps.for_contrib(case)
            steps += cure.steps
            verify = commands.run_python(
                case, "import tensorflow as tf; tf.contrib; print(tf.__version__)", cure.python
            )
        else:
            steps.append(python(code.compat_v1(), "or lets most TensorFlow 1 code run on that TensorFlow 2"))
    elif runs_one and name != "contrib":
        text = (
            f"The code uses {'tf.' + name + ', which' if name else 'names that'} TensorFlow {version} does"
            " not have yet: the code was written for a later release."
        )
        steps.append(
            manual(
                "Install the TensorFlow release for which the code was written (see its requirements.txt or"
                " README)"
            )
        )
    elif name == "multi_gpu_model":
        text = (
            "multi_gpu_model was removed from Keras with TensorFlow 2.4; tf.distribute.MirroredStrategy"
            " replaces it."
        )
        steps.append(python(code.multi_gpu(version), "replaces multi_gpu_model"))
    elif _of_contrib([*attributes, *modules, *names]):
        text = (
            "tf.contrib is a part of TensorFlow 1 (up to 1.15, for Python 3.7 and older) that TensorFlow 2"
            " has under no name: neither tf.compat.v1 nor tf_upgrade_v2 helps."
        )
        cure = rare_steps.for_contrib(case)
        steps += cure.steps
        verify = commands.run_python(
            case, "import tensorflow as tf; tf.contrib; print(tf.__version__)", cure.python
        )
    else:
        text = (
            f"The code uses {'`' + name + '`, a part' if name else 'parts'} of TensorFlow 1 (or an older"
            f" Keras) that the installed release no longer has. The installation itself works."
        )
        steps.append(python(code.compat_v1(), "runs most TensorFlow 1 code on TensorFlow 2"))
        if name in ("ConfigProto", "GPUOptions", "Session", "set_session", "get_session"):
            steps.append(
                python(
                    code.memory_growth("2.15"),
                    "does in TensorFlow 2 what ConfigProto and Session are usually used for: turns on memory"
                    " growth",
                )
            )
        steps.append(
            manual(
                "Or rewrite the names in a whole folder: tf_upgrade_v2 --intree OLD --outtree NEW",
                "this program comes with TensorFlow 2",
            )
        )
    # with a stated TensorFlow 1, an incomplete package or a file of that name explains the message as well
    sure = not said and not (runs_one and attributes) and (old_code or _of_tensorflow(attributes[0]))
    yield found(
        "tf-api-version",
        text,
        [*attributes[:2], *modules[:2], *names[:2], *eager[:1]],
        confidence="certain" if sure else "likely",
        steps=steps,
        verify=verify,
    )


def _of_tensorflow(symptom: Symptom) -> bool:
    """Whether the missing name was asked of the module tensorflow itself, not of one of its modules."""
    return symptom.get("module") == "tensorflow"


def _which_python(case: Case) -> list[Step]:
    """The steps that show which Python and which TensorFlow a program loads, and that change them."""
    look = "import sys, tensorflow as tf; print(sys.executable, tf.__version__, tf.__file__)"
    return [
        shell(
            commands.run_python(case, look),
            "shows the Python, the release that it loads, and from where; put this line also at the beginning"
            " of the program",
        ),
        manual(
            "Start the program with the Python whose pip installed TensorFlow 1; in a notebook or an IDE,"
            " choose this Python as the kernel or interpreter"
        ),
    ]


def _of_contrib(symptoms: Sequence[Symptom]) -> bool:
    """Whether the missing names are parts of tf.contrib."""
    return bool(symptoms) and all(
        s.get("name") == "contrib" or "contrib" in s.get("module").split(".") for s in symptoms
    )
