"""The finding for TensorFlow.js in Node: its addon, or the TensorFlow library beside it, does not load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import Symptom
from doctor.findings import Finding, manual, shell
from doctor.rules.registry import found
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


def addon_that_does_not_load(case: Case, addon: list[Symptom]) -> Finding:
    """The finding tf-import-failed if Node cannot load the addon or TensorFlow's library. Both are installed
    by tfjs-node/scripts/install.js."""
    package = (
        "tfjs-node-gpu"
        if any("tfjs-node-gpu" in s.source.text for s in (*addon, *case.facts.symptoms("binding")))
        else "tfjs-node"
    )
    steps = [
        shell(
            run("npm", "rebuild", f"@tensorflow/{package}", "--build-addon-from-source"),
            "downloads the library and builds the addon for this Node; this needs Python and a C++ compiler",
        )
    ]
    if case.platform in ("windows", None):
        steps.insert(
            0,
            manual(
                f"Copy tensorflow.dll from node_modules\\@tensorflow\\{package}\\deps\\lib into the folder of"
                " tfjs_binding.node (lib\\napi-v8 or the folder in the message)",
                "npm often fails to copy the file",
                platform="windows",
            ),
        )
    return found(
        "tf-import-failed",
        "Node could not load TensorFlow.js's addon: the addon, or the TensorFlow library that it needs, is"
        " not in the folder into which npm should have installed it"
        + (
            "; with the GPU package before 2.0, a missing CUDA or cuDNN DLL causes the same message."
            if package.endswith("gpu")
            else "."
        ),
        addon[:2],
        title="Node does not load TensorFlow's library",
        confidence="likely",
        steps=steps,
        verify=run("node", "-e", f"require('@tensorflow/{package}')"),
    )
