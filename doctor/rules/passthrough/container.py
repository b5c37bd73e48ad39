"""container-no-gpu: the container was started without the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import Absent, CudaCallFailed, DriverMismatch, DriverVersion, Fact, Symptom
from doctor.findings import Finding, manual
from doctor.remedies import code, containers
from doctor.remedies.conda import sees_a_driver
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import (
    gives_driver,
    measured_driver,
    no_driver_signs,
    no_libcuda,
    notebook_service,
    without_compute,
)
from doctor.rules.gpu.registered import NO_TENSORFLOW_GPU, registered
from doctor.rules.linux import on_linux
from doctor.rules.registry import found, rule
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case

NONE_SEEN = ("no-known-devices", "gpu-list-empty", "gpu-not-found", "cpu-only-listed", "gpu-not-used")
"""Symptoms that show that TensorFlow sees no GPU."""


@rule(
    "container-no-gpu",
    "The container was started without the GPU",
    explains=(
        "driver-missing",
        "driver-libcuda-missing",
        "driver-not-loaded",
        "gpu-absent",
        "gpu-hidden",
        "library-broken",
        "gpu-bad-state",
        *NO_TENSORFLOW_GPU,
    ),
    needs=(
        "docker-no-gpu",
        "gpu-flag-said",
        "container-lacks-gpu",
        "driver-library-not-loaded",
        CudaCallFailed,
        Absent,
        "no-device-node",
        "libcuda-not-found",
        "kernel-driver-not-running",
        "smi-not-found",
        "nv-flag-missing",
        "gpus-flag-missing",
        "cpu-image",
        "compose-without-gpu",
        "conda-no-driver",
    ),
)
def container_no_gpu(case: Case) -> Iterator[Finding]:
    """The container has no GPU.

    ## What it means
    A container sees the host's GPU only if it is started with the GPU. Docker needs the NVIDIA container
    toolkit and `--gpus all` (docker compose: a device reservation); Singularity and Apptainer need `--nv`;
    Kubernetes needs an `nvidia.com/gpu` limit (and the nvidia runtime); podman needs `--device
    nvidia.com/gpu=all`; LXD needs `nvidia.runtime` and a gpu device; a snap needs the opengl interface. The
    driver stays on the host.

    ## What you see
    `could not select device driver "" with capabilities: [[gpu]]`; `The NVIDIA Driver was not detected`; or,
    inside the container, no libcuda.so.1 (or an empty one), no /dev/nvidia0, `cuInit: UNKNOWN ERROR (303)`.

    ## What to do
    Install nvidia-container-toolkit on the host, start the container with the GPU, and use an image with
    `-gpu` in its tag. With docker compose, add to the service:

    `deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}`
    """
    facts = case.facts
    said = [s for s in facts.symptoms("docker-no-gpu") if not _says_nothing(s, case)]
    if registered(case) and not said:
        return
    # a container sees the host's bus, so there is no GPU to pass in
    absent = facts.absent("nvidia gpu") is not None or (facts.kind == "report" and case.stated_absent("gpu"))
    if absent and not said:
        return
    if ("hosted" in case.environments or notebook_service(case) is not None) and not said:
        return  # for hosted apps, functions and notebooks, the provider starts the container
    # a report that names a container and the host's driver, while a program finds no driver
    beside = facts.kind == "report" and facts.has("mentions-container") and bool(facts.of(DriverVersion))
    inside = case.container or facts.has("nvidia-docker-path") or beside
    lib: Fact | None = no_libcuda(case) or next(
        (x for x in case.not_loaded if x.name.startswith("libcuda.") and "too short" in x.error), None
    )
    signs = no_driver_signs(case)
    if lib is not None and lib not in signs:
        signs.insert(0, lib)
    nowhere = facts.symptoms("libcuda-not-found")
    signs += nowhere
    flag = facts.symptoms("gpu-flag-said")
    if flag and inside:
        signs = [*flag, *signs]
    bare = []
    if facts.has(*NONE_SEEN):
        for option in ("nv-flag", "gpus-flag"):
            bare += [] if facts.has(option) else facts.symptoms(f"{option}-missing")
    if bare and all(x.name.startswith(("libcuda.", "libnvinfer")) for x in case.not_loaded):
        flag = bare
        signs = [*bare[:1], *signs[:1], *facts.symptoms(*NONE_SEEN)[:1]]
    stated = facts.symptoms("container-lacks-gpu")
    other = bool(facts.of(CudaCallFailed) or case.not_loaded or facts.first(DriverMismatch))
    if stated and inside and not (said or signs or other or facts.has("gpus-flag")):
        yield _stated(case, stated)
        return
    conda = facts.symptoms("conda-no-driver")
    if conda and case.container and not (said or signs or other):
        yield _solver_sees_none(case, conda)
        return
    image = [] if facts.has("gpu-image") or case.loaded else facts.symptoms("cpu-image")
    unseen = facts.symptoms(*NONE_SEEN)
    recipe = [line for line in image if line.source.text.startswith("FROM ")]
    if image and (unseen or (recipe and not (signs or other))) and not (said or stated):
        yield _image_for_cpu(image if unseen else recipe, unseen)
        return
    compose = facts.symptoms("compose-without-gpu")
    unused = facts.symptoms(*NONE_SEEN, "no-gpu-said", "uses-cpu", "low-use-said")
    if compose and unused and not said:
        yield _composed(compose, unused)
        return
    if not said and (not (inside and signs) or without_compute(case)):
        return  # nothing is missing, or only a part of the driver, which is driver-libcuda-missing
    if not said and not flag and gives_driver(case):
        return
    if not said and facts.kind == "report" and facts.has("works-as-root"):
        return  # the container has the GPU, but this user has no access to it
    kernel = measured_driver(case, "kernel")
    lone_stub = facts.kind == "machine" and facts.has("cuda-stub-on-path") and facts.absent("libcuda")
    # device nodes show that the GPU was passed in, so something else is wrong (Apptainer always shows the
    # host's nodes)
    always = facts.kind == "machine" and bool(case.environments & {"singularity", "snap"})
    passed_in = facts.absent("device nodes") is None and not lone_stub and not always
    runs = kernel is not None or any(m.kernel for m in facts.of(DriverMismatch))
    # if the host's driver runs, a libcuda that is only a stub belongs to the image
    stub = cuinit(case, "UNKNOWN_ERROR_303", "CUDA_ERROR_STUB_LIBRARY") is not None and bool(case.loaded)
    if not said and passed_in and not stub and (runs or (facts.has("smi-no-driver") and not lib)):
        return
    if not said and not (
        lib
        or nowhere
        or cuinit(case, "UNKNOWN_ERROR_303", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_STUB_LIBRARY")
        or facts.has("no-device-node", "kernel-driver-not-running")
        or flag
        or (facts.has("smi-not-found") and facts.kind == "report")
        or facts.absent("libcuda")
        or facts.absent("nvidia driver")
    ):
        return
    # the host's driver runs, but no part of it was passed into the container
    neither = kernel is not None and facts.absent("device nodes") and facts.absent("libcuda")
    baked = [symptom for symptom in said if symptom.get("baked")]
    if baked:
        yield _driver_in_image(case, baked)
        return
    no_toolkit = any(symptom.get("toolkit") for symptom in said)
    service = "" if said else containers.managed(case)
    steps, verify = containers.give_gpu(case, no_toolkit=no_toolkit)
    yield found(
        "container-no-gpu",
        (
            "Docker cannot pass the GPU to a container: the NVIDIA Container Toolkit is not installed on the"
            " host, or not registered with Docker."
            if no_toolkit
            else "The container runtime could not pass a GPU to the container."
            if said
            else f"This container has no NVIDIA driver. {service} mounts the driver only on a machine with a"
            " GPU, and only into a container that asks for it; a driver in the image does not help."
            if service
            else (
                "This container has no NVIDIA driver, because it was started without the GPU. Installing a"
                " driver in the image does not help."
            )
        ),
        [*said[:2], *signs[:3]],
        title="Docker on this host has no NVIDIA Container Toolkit" if no_toolkit else "",
        confidence=(
            "certain"
            if said or neither or (lib is not None and "docker" in case.environments and not service)
            else "likely"
        ),
        steps=steps,
        verify=verify,
    )


def _driver_in_image(case: Case, baked: list[Symptom]) -> Finding:
    """Return the finding for an image that contains driver files: nvidia-container-cli reports that one of
    them already exists."""
    steps, verify = containers.without_driver(case)
    return found(
        "container-no-gpu",
        "The image contains files of an NVIDIA driver, so the container toolkit cannot mount the host's"
        " driver over them.",
        baked[:2],
        title="The image contains its own driver",
        steps=steps,
        verify=verify,
    )


def _says_nothing(said: Symptom, case: Case) -> bool:
    """Whether "The NVIDIA Driver was not detected" means nothing, as in a container under WSL that has the
    GPU. The start script of NVIDIA's images looks for /dev/nvidiactl, which WSL does not have (CUDA on WSL
    User Guide, Known limitations)."""
    given = case.facts.has("gpus-flag", "works-said", "smi-works")
    return "was not detected" in said.source.text and case.platform == "wsl" and given


def _stated(case: Case, stated: list[Symptom]) -> Finding:
    """The finding for a report that says, without a log, that the container sees no GPU."""
    steps, verify = containers.give_gpu(case)
    return found(
        "container-no-gpu",
        "The report says that the container does not see the GPU, and no message names another cause. Most"
        " often the container was started without the GPU.",
        stated[:2],
        confidence="possible",
        steps=steps,
        verify=verify,
    )


def _solver_sees_none(case: Case, conda: list[Symptom]) -> Finding:
    """The finding for conda or mamba that runs in a container, or while an image is built, and sees no driver
    there."""
    steps, verify = containers.give_gpu(case)
    return found(
        "container-no-gpu",
        "conda or mamba sees no NVIDIA driver in the container, so it offers no build for CUDA. While an"
        " image is built, there never is a driver; a container that runs has one only if it is started with"
        " the GPU.",
        conda[:2],
        title="conda sees no GPU in the container",
        confidence="likely",
        steps=[*sees_a_driver(case), *steps],
        verify=verify,
    )


def _composed(compose: list[Symptom], unused: list[Symptom]) -> Finding:
    """Return the finding for a docker compose file whose services request no GPU."""
    return found(
        "container-no-gpu",
        "The docker compose file passes no GPU to its services: it has no device reservation.",
        [*compose[:1], *unused[:1]],
        confidence="likely",
        steps=[manual(f"Add this to the service: {containers.COMPOSE}")],
        verify=run("docker", "compose", "up"),
    )


def _image_for_cpu(image: list[Symptom], unseen: list[Symptom]) -> Finding:
    """Return the finding for a TensorFlow image whose tag shows that it does not contain CUDA. unseen: what
    shows that a program sees no GPU; none if there is only the Dockerfile."""
    tag = image[0].get("tag")
    base, _, rest = tag.partition("-")
    right = "-".join(part for part in (base, "gpu", rest) if part)
    with_gpu = f"tensorflow/tensorflow:{validated.image_tag(right) or 'latest-gpu'}"
    line = code.list_gpus(base if base[:1].isdigit() else None)
    look = run("docker", "run", "--rm", "--gpus", "all", with_gpu, "python3", "-c", line)
    return found(
        "container-no-gpu",
        f"The image tensorflow/tensorflow:{tag} is for the CPU: only images with -gpu in their tag contain"
        f" CUDA.",
        [*image[:1], *unseen[:1]],
        title="The container runs TensorFlow's CPU image" if unseen else "The image contains a CPU build",
        confidence="likely",
        steps=[
            *([] if unseen else [manual(f"Write FROM {with_gpu}, and build the image again")]),
            on_linux(look, "starts the image with CUDA, and passes the GPU into the container"),
        ],
        verify=look,
    )
