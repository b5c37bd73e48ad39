"""Signatures of messages about the host's driver and GPUs, from container runtimes and the start scripts of
NVIDIA's images.

Sources: libnvidia-container (nvidia-container-cli), nvidia-docker 1, docker's device requests, and the entry
point of the images on nvcr.io (checkSMVER.sh and the driver check beside it).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import INFERRED, CudaCallFailed, DriverVersion, Fact, Gpu, Platform, Source, Symptom
from doctor.logs.signatures.driver import CUDA_ERRORS
from doctor.logs.signatures.signature import Signature, sig


def image_driver(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the facts for a host driver that is older than the image requires: a Symptom and the
    DriverVersion. If the version is blank, there is no driver."""
    version = match["version"]
    if not version:
        yield Symptom(source, "docker-no-gpu")
        return
    yield Symptom(source, "container-requirement", (("condition", f"driver>={match['needed']}"),))
    yield DriverVersion(source, version, "kernel")


def image_gpu(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Symptom and the Gpu fact for a GPU whose compute capability is outside the range that an
    image was built for."""
    yield Symptom(
        source, "container-gpu-newer" if match["yet"] else "container-gpu-older", (("gpu", match["name"]),)
    )
    yield Gpu(source, match["name"])


def initialised(match: re.Match[str], source: Source) -> Fact:
    """Create the CudaCallFailed fact: the status that cuInit returned, which an image's entry point
    prints."""
    return CudaCallFailed(source, "cuInit", CUDA_ERRORS.get(match["number"], "CUDA_ERROR_UNKNOWN"))


def cli_cuda(match: re.Match[str], source: Source) -> Fact:
    """Create the CudaCallFailed fact: the error that nvidia-container-cli got from cuInit on the host."""
    no_device = match["error"].lower().startswith("no cuda-capable")
    return CudaCallFailed(source, "cuInit", "CUDA_ERROR_NO_DEVICE" if no_device else "CUDA_ERROR_UNKNOWN")


def blocked(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the Symptom and the Platform fact for NVML_ERROR_OPERATING_SYSTEM, as nvidia-smi words it. This
    status nearly always means that WSL cannot reach the GPU."""
    yield Symptom(source, "wsl-blocked")
    yield Platform(source, "wsl", rank=INFERRED)


def image_tag(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom gpu-image or cpu-image from the tag of an official image. Without a tag, Docker uses
    `latest`, which is a CPU image."""
    tag = match["tag"] or "latest"
    return Symptom(source, "gpu-image" if "gpu" in tag.lower() else "cpu-image", (("tag", tag),))


def _nvidia_image(match: re.Match[str]) -> tuple[tuple[str, str], ...]:
    """Return the release of NVIDIA's image and, if it is known, its TensorFlow's major version ("tf1")."""
    era = match["era"] or match["of"]
    return (("release", match["release"] or match["banner"]), *((("era", era),) if era else ()))


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "host-driver-down",
        'driver error: failed to process request|while adding custom device "/dev/nvidia',
        r"driver error: failed to process request"
        r"|while adding custom device \"/dev/nvidia[\w-]*\"[^\n]{0,60}no such file",
        "nvidia-container-cli: initialization error: driver error: failed to process request",
        origin="libnvidia-container, src/driver.c",
    ),
    sig(
        "device-node-permission",
        "insufficient permissions",
        r"nvml(?: error)?: insufficient permissions",
        "nvidia-container-cli: initialization error: nvml error: insufficient permissions",
    ),
    sig(
        "uvm-not-loaded",
        "uvm kernel module",
        r"Could not load UVM kernel module",
        "nvidia-docker | 2017/03/02 10:11:12 Error: Could not load UVM kernel module. Is nvidia-modprobe"
        " installed?",
    ),
    sig(  # of the images docker.io/tensorflow/tensorflow, only those with "gpu" in the tag contain CUDA
        "image-tag",
        "tensorflow/tensorflow",
        r"(?<![\w./-])(?:docker\.io/)?tensorflow/tensorflow:(?P<tag>[\w.-]{1,60})"
        r"|\bdocker (?:run|pull|create)\b[^\n]{0,200} tensorflow/tensorflow(?=[\s`'\"]|$)",
        "docker run -it tensorflow/tensorflow:2.9.1-jupyter",
        image_tag,
    ),
    sig(
        "nvidia-image",
        "nvidia/tensorflow|nvidia release",
        r"\b(?:nvcr\.io/)?nvidia/tensorflow:(?P<release>\d\d\.\d\d)(?:-(?P<era>tf[12]))?\b"
        r"|^NVIDIA Release (?P<banner>\d\d\.\d\d)-(?P<of>tf[12]?)",
        "docker run --gpus all -it nvcr.io/nvidia/tensorflow:24.03-tf2-py3",
        lambda m, s: Symptom(s, "nvidia-image", _nvidia_image(m)),
    ),
    sig(
        "container-requirement",
        "unsupported cuda version: driver",
        r"(?P<condition>unsupported CUDA version: driver [\d.]+ < image [\d.]+)",
        "nvidia-docker | 2016/09/02 10:11:12 Error: unsupported CUDA version: driver 7.5 < image 8.0",
    ),
    sig(
        "container-requirement",
        "this container was built for nvidia driver release",
        r"This container was built for NVIDIA Driver Release (?P<needed>[\d.]+) or later,?(?: but)?\s+(?:but"
        r" )?version (?P<version>[\d.]*) ?was detected and compatibility mode is UNAVAILABLE",
        "ERROR: This container was built for NVIDIA Driver Release 460.32 or later, but\n"
        "       version 430.26 was detected and compatibility mode is UNAVAILABLE.",
        image_driver,
        lines=2,
    ),
    sig(
        "container-gpu",
        "which is not yet supported in this version of the container|"
        "which is not supported by this container",
        r"Detected (?:NVIDIA )?(?P<name>[^\n,]{2,60}?) GPU, which is not (?:(?P<yet>yet) supported in this"
        r" version of the|supported by this) container",
        "WARNING: Detected NVIDIA GeForce RTX 4060 GPU, which is not yet supported in this version of the"
        " container",
        image_gpu,
    ),
    sig(
        "cuinit-failed",
        "but cuda failed to initialize",
        r"The NVIDIA Driver is present, but CUDA failed to"
        r" initialize\.[^\n]*\n\s*(?P<line>\[\[[^\n]{0,120}\(error (?P<number>\d+)\) ?\]\])",
        "WARNING: The NVIDIA Driver is present, but CUDA failed to initialize.  GPU functionality will not be"
        " available.\n   [[ Initialization error (error 3) ]]",
        initialised,
        lines=2,
        at="line",
    ),
    sig(
        "cuinit-failed",
        "initialization error: cuda error:",
        r"initialization error: cuda error: (?P<error>unknown error|initialization error|no cuda-capable"
        r" device is detected)",
        "nvidia-container-cli: initialization error: cuda error: unknown error",
        cli_cuda,
    ),
    sig(
        "hung-driver",
        "driver rpc error: timed out",
        r"driver rpc error: timed out",
        "nvidia-container-cli: initialization error: driver rpc error: timed out",
    ),
    sig(
        "container-device-unknown",
        "device error: |unknown device id",
        r"device error: (?:unknown device id: (?P<value>[\w./-]{1,60})|(?P<id>[\w./-]{1,60}): unknown"
        r" device)",
        "nvidia-container-cli: device error: 1: unknown device",
    ),
    sig(
        "docker-no-gpu",
        "nvidia-container-cli: container error|nvidia-container-cli: ldcache error|"
        "nvidia-container-cli: mount error|requirement error: invalid expression",
        r"nvidia-container-cli: (?:(?:container|ldcache|mount) error: (?:[^\n]{0,300}?"
        r"(?P<baked>: file exists)|[^\n]{0,120})|requirement error: invalid expression)",
        "nvidia-container-cli: container error: cgroup subsystem devices not found: unknown.",
    ),
    sig(
        "docker-no-gpu",
        "nvidia-smi",
        r"executable file [`'\"\\]{0,2}nvidia-smi[`'\"\\]{0,2} not found in \$PATH"
        r"|exec: [\"\\]{0,2}nvidia-smi[\"\\]{0,2}: executable file not found",
        "Error: crun: executable file `nvidia-smi` not found in $PATH: No such file or directory",
    ),
    sig(
        "wsl-blocked",
        "gpu access blocked by the operating system",
        r"GPU access blocked by the operating system",
        "Failed to initialize NVML: GPU access blocked by the operating system",
        blocked,
    ),
)
