"""gpu-absent: there is no NVIDIA GPU here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.facts import Absent, CudaCallFailed, EnvironmentKind, Fact, LibraryNotLoaded, OtherGpu, Unreadable
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.rules.driver.signs import NO_ANSWER, cuinit, no_driver_signs, notebook_service
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.shell import piped, run


@rule(
    "gpu-absent",
    "There is no NVIDIA GPU here",
    explains=(
        "driver-missing",
        "driver-not-loaded",
        "cuda-missing",
        "cudnn-missing",
        "cuda-version-mismatch",
        "cudnn-version-mismatch",
        "tf-cpu-only",
        "device-not-found",
        "driver-libcuda-missing",
    ),
    needs=(
        Absent,
        OtherGpu,
        CudaCallFailed,
        LibraryNotLoaded,
        *NO_ANSWER,
        "lspci-no-nvidia",
        "colab-no-backend",
        "cudart-stub",
        "directml-no-adapter",
    ),
)
def gpu_absent(picture: Picture) -> Iterator[Finding]:
    """No NVIDIA GPU is on this machine or node.

    ## What it means
    TensorFlow's CUDA build looks for an NVIDIA GPU, finds none and computes on the CPU. Messages about missing CUDA
    libraries or a failed `cuInit` are then consequences, not causes.

    ## How it shows
    Nothing of vendor 10de on the PCI bus; `no CUDA-capable device is detected`; only a graphics device of another maker;
    a cloud workspace or CI runner without GPUs; a cluster's login node.

    ## What to do
    On a cluster ask for a GPU node (`srun --gres=gpu:1 …`); in the cloud take a machine type with an NVIDIA GPU. Without a
    GPU nothing has to be installed: the same TensorFlow computes on the CPU, and the messages can be ignored.
    `tfgpu-doctor plan --cpu` installs one without CUDA's libraries. AMD GPUs need ROCm's build, Intel's and Apple's their
    plugins.
    """
    facts = picture.facts
    if registered(picture) or (facts.kind == "machine" and facts.has("plugin-device")):
        return
    why = proof(picture) or sign(picture)
    if why is None:
        return
    version = f"TensorFlow {picture.tensorflow.version}" if picture.tensorflow is not None else "TensorFlow"
    steps = [
        manual(
            "Run on a machine or node that has an NVIDIA GPU; where the CPU is all there is, nothing has to be installed for it",
            f"{version} then computes on the CPU, and its messages about CUDA can be ignored",
        )
    ]
    if any(gpu.vendor == "amd" for gpu in facts.of(OtherGpu)) and picture.platform not in ("macos", "windows"):
        steps.insert(
            1, manual("A card of AMD that AMD's ROCm serves is used by AMD's own build for Linux, tensorflow-rocm; their documents list the cards")
        )
    if "slurm" in picture.environments or facts.has("login-node"):
        steps.insert(
            0,
            shell(
                run("srun", "--gres=gpu:1", "--pty", "bash"),
                "asks the scheduler for a node with a GPU",
                platform="linux",
            ),
        )
    if notebook_service(picture) is not None:
        steps.insert(
            0, manual("Choose a GPU for the notebook: Runtime, Change runtime type in Colab; Settings, Accelerator on Kaggle")
        )
    login = " Slurm is installed and this is no job: it may be a login node, and the GPUs are on other nodes."
    yield found(
        "gpu-absent",
        why.explanation + (login if facts.kind == "machine" and facts.has("login-node") else ""),
        why.evidence,
        confidence=why.confidence,
        steps=steps,
        verify=piped(run("lspci", "-nn"), run("grep", "-i", "nvidia"))
        if picture.platform != "windows"
        else run("nvidia-smi"),
    )


_IN_A_NOTEBOOK = r'/content/|/kaggle/|google\.colab|colab-wheels|"colab"'
"""What stands in the output of Colab's and Kaggle's own machines, and not only in what people say of them."""


class Reason(NamedTuple):
    """Why no GPU is thought to be here, what shows it, and how sure that is."""

    explanation: str
    evidence: list[Fact | None]
    confidence: str


def proof(picture: Picture) -> Reason | None:
    """The bus was read, and no NVIDIA device is on it."""
    absent = picture.facts.absent("nvidia gpu")
    if absent is None:
        return None
    return Reason(
        "The PCI bus shows no NVIDIA device, so no driver or library can help; TensorFlow uses the CPU.",
        [absent, picture.facts.first(OtherGpu)],
        "certain",
    )


def _bus_not_read(picture: Picture) -> bool:
    """Whether a machine's bus could not be looked at, so that nothing is known of its devices."""
    return any(fact.what == "nvidia gpu" for fact in picture.facts.of(Unreadable))


def sign(picture: Picture) -> Reason | None:
    """What a report says or shows of a machine without a GPU, the most telling first."""
    facts = picture.facts
    other = facts.first(OtherGpu)
    signs = no_driver_signs(picture)
    nowhere = facts.symptoms("lspci-no-nvidia")
    if nowhere:
        return Reason("The PCI bus shows no NVIDIA device.", [*nowhere, *signs[:2]], "likely")
    refused = facts.symptoms("colab-no-backend")
    if refused:
        return Reason(
            "Colab gave this runtime no GPU: the account's limit is used up, or none was free.",
            [*refused[:2]],
            "likely",
        )
    service = notebook_service(picture)
    no_driver = bool(cuinit(picture, "CUDA_ERROR_NO_DEVICE")) and facts.has("kernel-driver-not-running")
    if service is not None and re.search(_IN_A_NOTEBOOK, service.source.text):
        no_driver = no_driver or bool(cuinit(picture, "UNKNOWN_ERROR_303") or picture.missing("driver"))
    if service is not None and no_driver and not picture.gpus:
        return Reason(
            "A notebook of Colab or Kaggle has no GPU until one is chosen for it, and no driver is there.",
            [*signs[:3], service],
            "likely",
        )
    ci = next((e for e in facts.of(EnvironmentKind) if e.kind in ("ci", "hosted")), None)
    stub = facts.symptoms("cudart-stub") if ci is not None and ci.kind == "hosted" else []
    if ci is not None and (signs or stub) and not picture.gpus:
        return Reason(
            "This ran as a hosted app or function, in a cloud workspace or CI runner, whose machines have no GPU, and no driver is there.",
            [*(signs or stub)[:3], ci],
            "likely",
        )
    if facts.has("login-node") and signs and not picture.gpus:
        return Reason(
            "This ran on a login node, which has no GPU.", [*facts.symptoms("login-node"), *signs[:2]], "likely"
        )
    complaint = facts.symptoms("gpu-not-used", "gpu-list-empty", "uses-cpu", "cpu-only-listed", "no-known-devices", "gpu-not-found")
    foreign = other is not None and picture.platform != "macos" and not picture.gpus and not facts.has("plugin-device")
    if foreign and other is not None and complaint and not signs:
        return Reason(
            f"The graphics device that is named is not NVIDIA's ({other.name}), and TensorFlow's CUDA builds use no other.",
            [other, *complaint[:2]],
            "likely",
        )
    if other is not None and signs and not [g for g in picture.gpus if g.rank < 2]:
        return Reason(
            f"The graphics device that is named is not NVIDIA's ({other.name}), and no NVIDIA driver answers.",
            [other, *signs[:3]],
            "likely",
        )
    if facts.has("wants-no-gpu") and signs:
        return Reason(
            "The report says that there is no GPU, and the messages fit that.",
            [*facts.symptoms("wants-no-gpu"), *signs[:2]],
            "likely",
        )
    if facts.has("directml-no-adapter"):
        return Reason(
            "The DirectML plugin finds no adapter that it can use: no GPU, one that is too old for it, or no driver for "
            "it here.",
            [*facts.symptoms("directml-no-adapter")],
            "likely",
        )
    if facts.has("smi-no-devices"):
        return Reason(
            "The driver answers and sees no GPU: none is fitted, or it is not passed into this machine or job.",
            [*facts.symptoms("smi-no-devices")],
            "likely",
        )
    if (
        picture.platform != "wsl"
        and not picture.container
        and not (picture.drivers_agree or facts.has("smi-works"))
        and not (facts.kind == "machine" and (picture.gpus or _bus_not_read(picture)))
        and cuinit(picture, "CUDA_ERROR_NO_DEVICE")
        and not facts.has("smi-no-driver", "kernel-driver-not-running")
    ):
        return Reason(
            "libcuda opens and finds no CUDA-capable device, and nothing else shows that an NVIDIA GPU is there.",
            [*signs[:4]],
            "possible",
        )
    return None
