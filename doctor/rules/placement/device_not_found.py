"""device-not-found: the code requests a device that the process does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, manual, python, shell
from doctor.remedies import code, commands
from doctor.rules.placement.colocation import colocated
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import Export, run

if TYPE_CHECKING:
    from doctor.case import Case

_ACCELERATOR = {
    "colab": "In Colab, choose a GPU under Runtime, Change runtime type",
    "kaggle": "In Kaggle's notebook settings, choose a GPU as the accelerator",
}
"""How to get a machine with a GPU from a notebook service (its own guide)."""


@rule(
    "device-not-found",
    "The code requests a device that this process does not have",
    needs=(
        "device-unsatisfied",
        "device-unknown",
        "device-unmet",
        "invalid-ordinal",
        "gpu-index-error",
        "gpu-not-found",
        "gpu-op-without-gpu",
        "gpu-layout-on-cpu",
        "colocation-failed",
    ),
)
def device_not_found(case: Case) -> Iterator[Finding]:
    """The code requests a device that this process does not have.

    ## What it means
    The code requests `/gpu:1` although there is only one GPU, or `/gpu:0` although TensorFlow registered no
    GPU. If the report shows why TensorFlow registered none, the finding is about that cause instead.

    ## What you see
    `was explicitly assigned to /device:GPU:1 but available devices are […]`, `unknown device`, `Invalid
    device ordinal`, `multi_gpu_model with gpus=2`, `SystemError: GPU device not found`, `gpus[0]` with an
    empty list.

    ## What to do
    List the devices first and use those that exist; soft placement lets TensorFlow choose one. If the process
    should have a GPU, find out why TensorFlow did not register it.
    """
    facts = case.facts
    # CUDA also reports an exclusive card as invalid to the second process that uses it; cuInit takes no
    # device number
    signs = [
        s
        for s in facts.symptoms(
            "device-unknown", "invalid-ordinal", "gpu-index-error", "gpu-not-found", "gpu-op-without-gpu"
        )
        if s.kind != "invalid-ordinal" or not (facts.has("exclusive-mode") or "cuInit" in s.source.text)
    ]
    skipped, gpus = colocated(case)
    if gpus == "XLA":
        signs += [*facts.symptoms("colocation-failed")[:1], *skipped[:1]]
    made = max((r.count for r in case.registered), default=0)
    unmet = facts.symptoms("device-unmet") if not signs and not facts.has("no-gpu-kernel") else []
    signs += [s for s in unmet if int(s.get("index")) >= made]
    layout = [] if signs else facts.symptoms("gpu-layout-on-cpu")
    signs += layout
    cut = [] if signs or facts.has("no-gpu-kernel") else facts.symptoms("device-unsatisfied")
    signs += cut
    if not signs:
        return
    available = " ".join(s.get("available") + s.get("available2") for s in signs)
    none = gpus == "XLA" or ("GPU" not in available.upper().replace("XLA_GPU", "") and bool(available))
    # only CPU and XLA are registered: the driver shows the GPU, so a library keeps TensorFlow from using it
    registered_xla = facts.has("gpu-op-without-gpu") and facts.has("xla-gpu-listed")
    only_xla = gpus == "XLA" or ("XLA_GPU" in available.upper() and none) or registered_xla
    text = "The code requests a device that TensorFlow did not register in this process"
    unseen = bool(layout) or facts.has("gpu-not-found", "gpu-index-error", "gpu-op-without-gpu")
    if all(s.kind in ("gpu-op-without-gpu", "gpu-layout-on-cpu") for s in signs):
        text = "The program uses an op, or a tensor layout (NCHW), that only a GPU supports"
    if cut:
        text += ", or a device for which the op has no kernel: the message is cut off before it says which"
    if only_xla:
        text += (
            "; XLA_GPU is listed, but GPU is not, so TensorFlow skipped the GPU (usually because it does not"
            " find a CUDA library in the version that it needs)"
        )
    elif none or unseen:
        text += "; no GPU is registered, and nothing here shows why"
    # multi_gpu_model compares the lists of devices itself (keras/utils/multi_gpu_utils.py), so soft placement
    # has no effect on it; TensorFlow 2.4 removed it
    in_keras = [s for s in signs if s.get("expected")]
    steps = []
    if in_keras and none:
        steps.append(
            shell(
                commands.pip(case, "list"),
                "shows which TensorFlow is installed: before 2.1, except 1.15.0, only tensorflow-gpu contains"
                " code for the GPU; `tfgpu-doctor tables tensorflow VERSION --package tensorflow-gpu` lists"
                " the CUDA and cuDNN versions that must be installed for it",
            )
        )
    # device_lib works in TensorFlow 1 and 2
    devices = commands.run_python(case, code.list_gpus(version_of(case) or ("1.15" if in_keras else None)))
    steps.append(
        shell(devices, "lists the devices; the lines before the list name the libraries that are missing")
    )
    service = next((name for name in _ACCELERATOR if name in case.environments), None)
    if (none or unseen) and service is not None:
        why = "without this, the notebook runs on a machine that has no GPU; !nvidia-smi must then list one"
        steps.insert(0, manual(_ACCELERATOR[service], why))
    elif none or unseen:
        steps.append(shell(run("tfgpu-doctor", "check"), "finds out why no GPU was registered"))
    if len(case.gpus) > 1 and not none and available:
        why = (
            "TensorFlow ignores a GPU with fewer than 8 multiprocessors if a larger one is present; its log"
            " names such a card (Ignoring visible gpu device)"
        )
        steps.append(shell(Export("TF_MIN_GPU_MULTIPROCESSOR_COUNT", "2"), why))
    if layout:
        steps.append(
            manual(
                "To run the program on the CPU, set data_format='channels_last' (NHWC) in the model and its"
                " input"
            )
        )
    elif in_keras:
        if not none:
            steps.append(manual("Set the argument gpus of multi_gpu_model to the number of GPUs in the list"))
    else:
        # only releases before 0.8 print no reason
        release = version_of(case) or ("1.15" if unmet else None)
        why = (
            "lets TensorFlow use another device if the requested one does not exist; without a GPU, that is"
            " the CPU"
        )
        steps.append(python(code.soft_placement(release), why))
    # there is no GPU at all, whatever number the code requests
    counted = cut or (none and all(s.get("expected") for s in signs))
    yield found(
        "device-not-found",
        text + ".",
        signs[:3],
        confidence=(
            "possible"
            if counted or layout
            else "certain"
            if not (none or only_xla or unmet or all(s.get("stated") for s in signs))
            else "likely"
        ),
        steps=steps,
        verify=devices,
    )
