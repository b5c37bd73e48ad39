"""device-not-found: the code names a device that the process does not have."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Symptom
from doctor.findings import Finding, python, shell
from doctor.picture import Picture
from doctor.remedies import code, commands
from doctor.rules.placement.colocation import colocated
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import Export, run


@rule(
    "device-not-found",
    "The code names a device that this process does not have",
    needs=(
        "device-unknown",
        "device-unmet",
        "invalid-ordinal",
        "gpu-index-error",
        "gpu-not-found",
        "gpu-op-without-gpu",
        "colocation-failed",
    ),
)
def device_not_found(picture: Picture) -> Iterator[Finding]:
    """The code names a device that this process does not have.

    ## What it means
    `/gpu:1` with one GPU, or `/gpu:0` where TensorFlow registered none. Where the text shows why none was registered, that cause is the finding.

    ## How it shows
    `was explicitly assigned to /device:GPU:1 but available devices are […]`, `unknown device`, `Invalid device ordinal`, `multi_gpu_model with gpus=2`,
    `SystemError: GPU device not found`, `gpus[0]` with an empty list.

    ## What to do
    List the devices first and use what is there; soft placement lets TensorFlow choose; if a GPU should be there, find out why it was not registered.
    """
    facts = picture.facts
    signs: list[Symptom] = facts.symptoms(
        "device-unknown", "invalid-ordinal", "gpu-index-error", "gpu-not-found", "gpu-op-without-gpu"
    )
    skipped, gpus = colocated(picture)
    if gpus == "XLA":
        signs = [*signs, *facts.symptoms("colocation-failed")[:1], *skipped[:1]]
    made = max((r.count for r in picture.registered), default=0)
    unmet = facts.symptoms("device-unmet") if not signs and not facts.has("no-gpu-kernel") else []
    signs = [*signs, *(s for s in unmet if int(s.get("index")) >= made)]
    if not signs:
        return
    available = " ".join(s.get("available") + s.get("available2") for s in signs)
    none = gpus == "XLA" or ("GPU" not in available.replace("XLA_GPU", "").upper() and bool(available))
    only_xla = gpus == "XLA" or ("XLA_GPU" in available.upper() and none)
    text = "The code asks for a device that TensorFlow did not register in this process"
    if only_xla:
        text += "; XLA_GPU is listed and GPU is not, so TensorFlow skipped the GPU (usually for want of a CUDA library of the version that it opens)"
    elif none or facts.has("gpu-not-found", "gpu-index-error", "gpu-op-without-gpu"):
        text += ": no GPU at all is registered, and nothing here shows why"
    steps = [shell(commands.list_gpus(picture), "shows the devices that there are")]
    if none or facts.has("gpu-not-found", "gpu-index-error", "gpu-op-without-gpu"):
        steps.append(shell(run("tfgpu-doctor", "check"), "finds out why no GPU was registered"))
    if len(picture.gpus) > 1 and not none and available:
        why = "TensorFlow leaves out a GPU with fewer than 8 multiprocessors beside a larger one; its log names such a card (Ignoring visible gpu device)"
        steps.append(shell(Export("TF_MIN_GPU_MULTIPROCESSOR_COUNT", "2"), why))
    steps.append(
        python(
            code.soft_placement(version_of(picture) or ("1.15" if unmet else None)),  # only releases before 0.8 give no reason
            "lets TensorFlow take another device where the named one is not there",
        )
    )
    yield found(
        "device-not-found",
        text + ".",
        signs[:3],
        confidence="certain" if not (none or only_xla or unmet or all(s.get("told") for s in signs)) else "likely",
        steps=steps,
        verify=commands.list_gpus(picture),
    )
