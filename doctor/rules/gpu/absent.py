"""gpu-absent: there is no NVIDIA GPU here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from doctor.facts import (
    PROSE,
    Absent,
    CudaCallFailed,
    EnvironmentKind,
    Fact,
    OtherGpu,
    Prose,
    Unreadable,
)
from doctor.findings import Finding, Step, manual
from doctor.remedies import commands, directml
from doctor.remedies.conda import sees_a_driver
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import NO_ANSWER, no_driver_signs, notebook_service
from doctor.rules.gpu.makers import only_another_makers
from doctor.rules.gpu.registered import registered
from doctor.rules.linux import on_linux
from doctor.rules.registry import found, rule
from doctor.shell import piped, run

if TYPE_CHECKING:
    from doctor.case import Case


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
        "gpu-bad-state",
        "driver-too-old",
    ),
    needs=(
        Absent,
        OtherGpu,
        CudaCallFailed,
        "driver-library-not-loaded",
        *NO_ANSWER,
        "lspci-no-nvidia",
        "colab-no-backend",
        "cudart-stub",
        "directml-no-adapter",
        "driver-insufficient",
        "login-node",
        "conda-no-driver",
    ),
)
def gpu_absent(case: Case) -> Iterator[Finding]:
    """This machine or node has no NVIDIA GPU.

    ## What it means
    TensorFlow's CUDA build looks for an NVIDIA GPU, finds none and computes on the CPU. Messages about
    missing CUDA libraries or a failed `cuInit` are then consequences, not causes.

    ## What you see
    No device of vendor 10de on the PCI bus; `no CUDA-capable device is detected`; only a graphics device from
    another maker; a cloud workspace or CI runner without GPUs; a cluster's login node.

    ## What to do
    On a cluster, request a GPU node (`srun --gres=gpu:1 …`); in the cloud, choose a machine type with an
    NVIDIA GPU. To use the CPU, change nothing and ignore the messages: the same TensorFlow build runs on the
    CPU. `tfgpu-doctor plan --cpu` plans a TensorFlow installation without the CUDA libraries. AMD GPUs need
    the ROCm build; Intel and Apple GPUs need their makers' plugins."""
    facts = case.facts
    if registered(case) or (facts.kind == "machine" and facts.has("plugin-device")):
        return
    why = proof(case) or sign(case)
    if why is None:
        return
    version = f"TensorFlow {case.tensorflow.version}" if case.tensorflow is not None else "TensorFlow"
    steps: list[Step] = [
        manual(
            "Run the program on a machine or node that has an NVIDIA GPU; to use the CPU, you need not"
            " install anything else",
            f"on this machine {version} computes on the CPU; ignore its messages about CUDA",
        )
    ]
    steps += sees_a_driver(case)
    if any(gpu.vendor == "amd" for gpu in facts.of(OtherGpu)) and case.platform not in ("macos", "windows"):
        steps.insert(
            1,
            manual(
                "For an AMD card that ROCm supports, use AMD's own build for Linux, tensorflow-rocm; AMD's"
                " documentation lists the cards"
            ),
        )
    if directml.serves(case):
        cure = directml.install(case)
        steps += commands.introduced("or, to use this GPU: ", cure.steps)
    if "slurm" in case.environments or facts.has("login-node"):
        steps.insert(
            0,
            on_linux(
                run("srun", "--gres=gpu:1", "--pty", "bash"), "requests a node with a GPU from the scheduler"
            ),
        )
    limited = _limited(case)
    if limited:
        steps[:1] = [
            manual(
                "Wait until Colab lifts the limit, buy compute units, or use another machine with an NVIDIA"
                " GPU; end sessions that are not in use (Runtime, Manage sessions)",
                "Colab neither guarantees a GPU nor publishes its limits; without a GPU TensorFlow computes"
                " on the CPU",
            )
        ]
    elif notebook_service(case) is not None:
        steps.insert(
            0,
            manual(
                "Choose a GPU for the notebook: in Colab under Runtime, Change runtime type; on Kaggle under"
                " Settings, Accelerator"
            ),
        )
    login = (
        " Slurm is installed, but this process does not run in a job: this may be a login node; the GPUs are"
        " then on other nodes."
    )
    bus = piped(run("lspci", "-nn"), run("grep", "-i", "nvidia"))
    shows = {"windows": run("nvidia-smi"), "macos": run("system_profiler", "SPDisplaysDataType")}
    yield found(
        "gpu-absent",
        why.explanation + (login if facts.kind == "machine" and facts.has("login-node") else ""),
        why.evidence,
        confidence=why.confidence,
        steps=steps,
        verify=run("nvidia-smi") if limited else shows.get(case.platform or "", bus),
    )


def _limited(case: Case) -> bool:
    """Whether Colab says that the account has reached its usage limit."""
    return any("usage limit" in s.source.text.lower() for s in case.facts.symptoms("colab-no-backend"))


_IN_A_NOTEBOOK = r'/content/|/kaggle/|google\.colab|colab-wheels|"colab"'
"""Matches text that Colab's and Kaggle's own machines print, as opposed to text about them."""


class Reason(NamedTuple):
    """Why the case has no GPU, the evidence, and the confidence."""

    explanation: str
    evidence: list[Fact | None]
    confidence: str = "likely"


def proof(case: Case) -> Reason | None:
    """The reason if the bus was read and has no NVIDIA device, or if this is a Mac that cannot have one."""
    absent = case.facts.absent("nvidia gpu")
    if absent is None or case.platform == "wsl":  # WSL's PCI bus does not list the GPU
        return None
    why = "The PCI bus shows no NVIDIA device"
    if case.platform == "macos":
        why = f"{absent.source.text[:1].upper()}{absent.source.text[1:]}"
    return Reason(
        f"{why}, so no driver or library can help; TensorFlow uses the CPU.",
        [absent, case.facts.first(OtherGpu)],
        "certain",
    )


def _bus_not_read(case: Case) -> bool:
    """Whether a machine's bus could not be examined, so that its devices are unknown."""
    return any(fact.what == "nvidia gpu" for fact in case.facts.of(Unreadable))


def sign(case: Case) -> Reason | None:
    """The reason if a report says or shows that the machine has no GPU, based on the strongest evidence."""
    facts = case.facts
    other = facts.first(OtherGpu)
    signs = no_driver_signs(case) or [*facts.symptoms("conda-no-driver")]
    nowhere = facts.symptoms("lspci-no-nvidia")
    if nowhere and case.platform != "wsl":
        return Reason("The PCI bus shows no NVIDIA device.", [*nowhere, *signs[:2]])
    refused = facts.symptoms("colab-no-backend")
    if refused:
        return Reason(
            "Colab assigned no GPU to this runtime: the account has reached its usage limit"
            + ("." if _limited(case) else ", or no GPU was free."),
            [*refused[:2]],
        )
    service = notebook_service(case)
    no_driver = bool(cuinit(case, "CUDA_ERROR_NO_DEVICE")) and facts.has("kernel-driver-not-running")
    if service is not None and re.search(_IN_A_NOTEBOOK, service.source.text):
        no_driver = no_driver or bool(cuinit(case, "UNKNOWN_ERROR_303") or case.missing("driver"))
    if service is not None and no_driver and not case.gpus:
        return Reason(
            "A Colab or Kaggle notebook has no GPU until its user chooses one, and this notebook has no"
            " driver.",
            [*signs[:3], service],
        )
    ci = next((e for e in facts.of(EnvironmentKind) if e.kind in ("ci", "hosted")), None)
    stub = facts.symptoms("cudart-stub") if ci is not None and ci.kind == "hosted" else []
    if ci is not None and (signs or stub) and not case.gpus:
        return Reason(
            "This ran as a hosted app or function, in a cloud workspace or on a CI runner. Such machines"
            " have no GPU and no driver.",
            [*(signs or stub)[:3], ci],
        )
    complaint = facts.symptoms(
        "gpu-not-used", "gpu-list-empty", "uses-cpu", "cpu-only-listed", "no-known-devices", "gpu-not-found"
    )
    unseen = signs or (complaint and not case.not_loaded)
    if facts.has("login-node") and unseen and all(gpu.rank >= PROSE for gpu in case.gpus):
        return Reason(
            "This ran on a login node, which has no GPU.",
            [*facts.symptoms("login-node"), *(signs or complaint)[:2]],
        )
    foreign = other is not None and only_another_makers(case)
    unanswered = [*complaint, *(c for c in facts.of(CudaCallFailed) if c.call == "cuInit")]
    if foreign and other is not None and unanswered and not signs:
        return Reason(
            f"The graphics device in the report is not from NVIDIA ({other.name}), and TensorFlow's CUDA"
            " builds use only NVIDIA GPUs.",
            [other, *unanswered[:2]],
        )
    if other is not None and signs and not [g for g in case.gpus if g.rank < 2]:
        return Reason(
            f"The graphics device in the report is not from NVIDIA ({other.name}), and no NVIDIA driver"
            f" answers.",
            [other, *signs[:3]],
        )
    stated = case.stated_absent("gpu")
    signs = signs or [*facts.symptoms("driver-insufficient")]  # CUDA prints it without a driver, too
    if stated and signs:
        return Reason(
            "The report says that there is no GPU, and the messages agree with this.",
            [*stated[:1], *signs[:2]],
        )
    if facts.has("directml-no-adapter") and case.platform != "linux":  # see tf-cpu-only
        return Reason(
            "The DirectML plugin finds no adapter that it can use: there is no GPU, or the GPU is too old for"
            " the plugin or has no driver.",
            [*facts.symptoms("directml-no-adapter")],
        )
    if facts.has("smi-no-devices") and (case.container or not case.gpus):
        return Reason(
            "The driver answers but finds no GPU: no GPU is installed, or none is passed to this machine or"
            " job.",
            [*facts.symptoms("smi-no-devices")],
        )
    if (
        (facts.kind == "machine" or facts.first(Prose) is None or facts.has("no-device-node"))
        and case.platform != "wsl"
        and not case.container
        and not (case.drivers_agree or case.gpus or case.in_another_run or _bus_not_read(case))
        and cuinit(case, "CUDA_ERROR_NO_DEVICE")
        and not facts.has("smi-no-driver", "kernel-driver-not-running")
    ):
        return Reason(
            "libcuda loads but finds no CUDA-capable device, and nothing else shows an NVIDIA GPU.",
            [*signs[:4]],
            "possible",
        )
    if foreign and other is not None:
        return Reason(
            f"The only graphics device in the report is not from NVIDIA ({other.name}), and TensorFlow's CUDA"
            " builds use only NVIDIA GPUs.",
            [other],
            "possible",
        )
    return None
