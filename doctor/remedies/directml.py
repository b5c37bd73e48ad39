"""Steps that install TensorFlow with Microsoft's DirectML plugin, which uses any GPU with DirectX 12 on
Windows and in WSL2 (AMD's, Intel's or NVIDIA's)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import OtherGpu
from doctor.remedies import environments
from doctor.remedies.cure import Cure

if TYPE_CHECKING:
    from doctor.case import Case

PYTHON = "3.10"
"""The newest Python for which the plugin has a wheel."""
REQUIREMENTS = ("tensorflow-cpu==2.10.0", "tensorflow-directml-plugin==0.4.0.dev230202", "numpy<2")
"""The METADATA of the plugin's last release requires tensorflow-cpu==2.10.0 (wheels for Python 3.7 to 3.10,
Windows and Linux, x86-64). The plugin's README: it works only with the package tensorflow-cpu, not with
tensorflow or tensorflow-gpu. TensorFlow 2.10 was compiled against NumPy 1."""
ENV = "tf-directml"


def wanted(case: Case) -> bool:
    """Whether a report is about the DirectML plugin, and not about an NVIDIA GPU or CUDA."""
    facts = case.facts
    asked = facts.has("directml-named") and case.platform in (None, "windows", "wsl")
    return asked and not (case.gpus or case.driver or case.loaded or case.not_loaded)


def serves(case: Case) -> bool:
    """Whether the plugin can use the GPU of another maker that the case names."""
    makers = {gpu.vendor for gpu in case.facts.of(OtherGpu)}
    return case.platform in ("windows", "wsl") and bool(makers & {"amd", "intel"})


def install(case: Case, words: str = "") -> Cure:
    """The cure that installs the plugin and its TensorFlow into a new environment. words: text to put before
    the explanation of the step that installs them."""
    kind = case.platform if case.platform in ("windows", "wsl") else "windows"
    why = (
        f"{words}TensorFlow 2.10.0 with the DirectML plugin, which uses any GPU with DirectX 12; the plugin"
        " needs the package tensorflow-cpu of exactly this release (tensorflow and tensorflow-gpu do not work"
        " with it), and Microsoft has paused its development"
    )
    steps, python = environments.with_python(ENV, PYTHON, kind, REQUIREMENTS, why)
    return Cure(tuple(steps), "2.10.0", python)
