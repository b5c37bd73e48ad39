"""Steps that give a container the host's GPU, for the runtime that started the container. They install
nothing inside the container.

Sources: NVIDIA Container Toolkit documentation, "Installing", "Support for Container Device Interface",
"Specialized Configurations"; Apptainer user guide, "GPU Support"; Kubernetes, "Schedule GPUs"; LXD
documentation, "Type: gpu" and nvidia.runtime; snapd, "The opengl interface"; systemd-nspawn(1), --bind= and
DeviceAllow= of systemd.resource-control(5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import EnvironmentKind
from doctor.findings import Step, manual, shell
from doctor.remedies import commands, driver
from doctor.shell import Export, Joined, Line, Literal, Path, piped, run, sequence

if TYPE_CHECKING:
    from doctor.case import Case

IMAGE = "ubuntu"
"""An image without CUDA, as in the sample workload of NVIDIA Container Toolkit's guide: an image with
CUDA refuses to start on an older driver (NVIDIA_REQUIRE_CUDA), although the toolkit works."""
_ORDER = ("singularity", "kubernetes", "podman", "snap", "lxc", "nspawn")
OF_A_SYSTEM = ("lxc", "nspawn")
"""Kinds of containers that contain an installed system, into which its owner installed the driver's
libraries. In other containers, these libraries come with the image."""
COMPOSE = (
    "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}"
)
"""The setting that gives the GPUs to a service in a compose file (docs.docker.com, "Run Docker Compose
services with GPU access")."""
NODES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")


MANAGED = {
    "sagemaker": "SageMaker",
    "vertex": "Vertex AI",
    "azureml": "Azure ML",
    "databricks": "Databricks",
}
"""Services that start a user's image on a machine of the chosen type, by kind of environment."""


def managed(case: Case) -> str:
    """The name of the service that starts the container; "" if the user starts it."""
    kinds = case.facts.of(EnvironmentKind)
    by_hand = any("docker run" in kind.source.text for kind in kinds)
    if by_hand or case.facts.has("gpus-flag", "gpus-flag-missing"):
        return ""
    return next((MANAGED[kind.kind] for kind in kinds if kind.kind in MANAGED), "")


def _by_service(service: str) -> list[Step]:
    """Steps for a service that starts the container itself. Its hosts mount the driver only into a container
    whose image or settings ask for it (NVIDIA Container Toolkit, "Specialized Configurations"; SageMaker's
    guide, "Custom Inference Code with Hosting Services": images contain CUDA but no driver)."""
    return [
        manual(
            f"Choose a machine type with an NVIDIA GPU for this job or endpoint: {service} starts the"
            " container itself, and gives it the GPU only there"
        ),
        manual(
            "Build your own image from one that is made for the GPU (tensorflow/serving or"
            " tensorflow/tensorflow with a tag that ends in -gpu, or nvidia/cuda), and add these two lines to"
            " the Dockerfile: ENV NVIDIA_VISIBLE_DEVICES=all and ENV"
            " NVIDIA_DRIVER_CAPABILITIES=compute,utility",
            "the host then mounts its driver (libcuda.so.1) into the container. Copy no driver file into the"
            " image, and do not replace its LD_LIBRARY_PATH",
        ),
        manual(f"Or use the service's own TensorFlow image for GPUs ({service}'s documentation lists them)"),
    ]


def runtime(case: Case) -> str:
    """The container runtime in a case: singularity, kubernetes, podman, snap, lxc, nspawn or docker."""
    return next((kind for kind in _ORDER if kind in case.environments), "docker")


REPOSITORY = {
    "apt": Literal(
        "curl -fsSL https://nvidia.github.io/libnvidia-container/gpgkey"
        " | sudo gpg --dearmor -o /usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
        " && curl -fsSL https://nvidia.github.io/libnvidia-container/stable/deb/nvidia-container-toolkit.list"
        " | sed 's#deb https://#deb [signed-by=/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg]"
        " https://#g' | sudo tee /etc/apt/sources.list.d/nvidia-container-toolkit.list && sudo apt update"
    ),
    "dnf": Literal(
        "curl -fsSL https://nvidia.github.io/libnvidia-container/stable/rpm/nvidia-container-toolkit.repo"
        " | sudo tee /etc/yum.repos.d/nvidia-container-toolkit.repo"
    ),
}
"""The command that adds NVIDIA's package repository with the container toolkit, by package manager (NVIDIA
Container Toolkit, "Installing")."""


def toolkit(case: Case) -> list[Step]:
    """Steps that install the NVIDIA Container Toolkit on a docker host."""
    # TensorFlow's images are of Ubuntu: a report that states Fedora means the host
    host = not case.container or case.facts.kind == "report"
    manager = "dnf" if host and commands.linux_family(case) == "dnf" else "apt"
    return [
        driver.as_root(
            REPOSITORY[manager], "on the host: adds NVIDIA's package repository with the container toolkit"
        ),
        driver.as_root(
            sequence(
                run("sudo", manager, "install", "nvidia-container-toolkit"),
                run("sudo", "nvidia-ctk", "runtime", "configure", "--runtime=docker"),
                run("sudo", "systemctl", "restart", "docker"),
            ),
            "on the host: installs the toolkit and registers it with docker",
        ),
    ]


DRIVER_FILES = "rm -f /usr/lib/*-linux-gnu/libcuda.so* /usr/lib/*-linux-gnu/libnvidia-*.so*"
"""The command that removes the driver's libraries from the folder into which libnvidia-container mounts them,
in an image of Debian or Ubuntu, for any processor."""


def without_driver(case: Case) -> tuple[list[Step], Line]:
    """The step that removes a driver's files from an image, and the command that shows whether a container of
    that image gets the GPU."""
    _, verify = give_gpu(case)
    step = manual(
        f"Add this line at the end of the Dockerfile, then build the image again: RUN {DRIVER_FILES}",
        "an image must not contain a driver: the host's driver is mounted when the container starts. An"
        " image that was committed from a container with a GPU also contains a driver",
    )
    return [step], verify


def shared_memory(case: Case) -> list[Step]:
    """The step that gives a container enough shared memory for NCCL; none for Singularity, which shows the
    host's /dev/shm. Docker limits /dev/shm to 64 MiB (NCCL user guide, "Troubleshooting", "Sharing Data";
    Kubernetes documentation, "Volumes", emptyDir)."""
    kind = runtime(case) if case.container else "docker"
    if kind == "singularity":
        return []
    if kind == "kubernetes":
        given = "Mount an emptyDir volume with `medium: Memory` at /dev/shm in the pod"
    else:
        given = "Start the container with docker run's options --shm-size=1g --ulimit memlock=-1"
    why = "NCCL needs shared memory between the GPUs' processes, and by default a container has only 64 MiB"
    return [manual(given if case.container else f"In a container: {given[0].lower()}{given[1:]}", why)]


def give_gpu(case: Case, *, no_toolkit: bool = False) -> tuple[list[Step], Line]:
    """The steps for the person who starts the container, and the command that shows whether the container has
    the GPU. no_toolkit: docker reported that NVIDIA's toolkit is missing."""
    service = managed(case)
    if service:
        return _by_service(service), piped(run("ldconfig", "-p"), run("grep", "libcuda"))
    kind = runtime(case)
    if kind == "singularity":
        step = manual(
            "Start the container with --nv, and check whether it finds the GPU: singularity exec --nv"
            " IMAGE.sif nvidia-smi",
            "--nv mounts the host's driver into the container; without it, the container has only the device"
            " nodes",
            platform="linux",
        )
        return [step], run("nvidia-smi")
    if kind == "kubernetes":
        steps = [
            manual(
                "Give the pod `resources: limits: nvidia.com/gpu: 1`, and make nvidia the container runtime"
                " of the node (runtimeClassName: nvidia)"
            ),
            shell(
                piped(run("kubectl", "describe", "nodes"), run("grep", "nvidia.com/gpu")),
                "shows whether a node offers GPUs, which requires NVIDIA's device plugin",
                platform="linux",
            ),
        ]
        return steps, run("nvidia-smi")
    if kind == "lxc":
        steps = [
            manual(
                "On the host, pass the GPU into the container (CONTAINER is its name): lxc config device add"
                " CONTAINER gpu gpu; lxc config set CONTAINER nvidia.runtime=true; lxc restart CONTAINER",
                "the first command adds the device nodes, the second adds the host's driver libraries"
                " (libnvidia-container)",
                platform="linux",
            )
        ]
        return steps, run("nvidia-smi")
    if kind == "snap":
        stated = case.env.get("SNAP_NAME")
        name = (validated.distribution(stated.value) if stated is not None else None) or "SNAP"
        lent = "/var/lib/snapd/lib/gl"
        more = Joined((Path(lent), Literal("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")))
        steps = [
            driver.as_root(
                run("sudo", "snap", "connect", f"{name}:opengl"),
                "gives the snap access to the host's driver and its device nodes",
            ),
            shell(
                Export("LD_LIBRARY_PATH", more),
                "in the snap's shell: adds the folder in which snapd puts the driver's libraries",
                platform="linux",
            ),
            manual("Or run the program outside the snap, in an environment with the host's Python"),
        ]
        return steps, run("ls", f"{lent}/libcuda.so.1")
    if kind == "nspawn":
        binds = " ".join(f"--bind={node}" for node in NODES)
        step = manual(
            f"Start the container with systemd-nspawn {binds}, bind the host's libcuda.so.1 and"
            " libnvidia-ml.so.1 into its library folder (--bind-ro=), and allow the devices"
            " (--property=DeviceAllow='/dev/nvidia0 rwm', and the same for the other devices)",
            platform="linux",
        )
        return [step], run("nvidia-smi")
    if kind == "podman":
        devices = ("--device", "nvidia.com/gpu=all", "--security-opt=label=disable")
        look = run("podman", "run", "--rm", *devices, IMAGE, "nvidia-smi")
        steps = [
            driver.as_root(
                run("sudo", "nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml"),
                "on the host, with nvidia-container-toolkit: writes a description of the GPUs; repeat it"
                " after each driver update",
            ),
            shell(
                look, "starts the container with the GPU; nvidia-smi's table must appear", platform="linux"
            ),
        ]
        return steps, look
    if "jetson" in case.environments:
        step = manual(
            "Start the container with `--runtime nvidia`, which mounts the board's driver libraries; --gpus"
            " alone is not enough on a Jetson",
            platform="linux",
        )
        return [step], run("ls", "/dev/nvhost-gpu", "/dev/nvgpu")
    look = run("docker", "run", "--rm", "--gpus", "all", IMAGE, "nvidia-smi")
    steps = [
        shell(
            look,
            "shows whether containers on this host can use the GPU. If nvidia-smi's table appears, add"
            " --gpus all to your own `docker run`, before the image name",
            platform="linux",
        )
    ]
    if case.facts.kind == "machine" or any(
        "compose" in e.source.text for e in case.facts.of(EnvironmentKind)
    ):
        text = f"With docker compose, add this to the service and start the service again: {COMPOSE}"
        steps.append(manual(text, platform="linux"))
    if case.platform == "windows" or (case.platform == "wsl" and case.facts.kind == "machine"):
        steps.append(
            manual(
                "Docker Desktop uses the Windows driver: if --gpus all does not help, update that driver and"
                " Docker Desktop"
            )
        )
    else:
        installed = toolkit(case)
        if no_toolkit:
            steps = [*installed, *steps]
        else:
            steps += commands.introduced("only if docker does not support --gpus; ", installed)
    return steps, look


def compute_libraries(case: Case) -> list[Step]:
    """Steps that add the driver's compute libraries to a container that has the GPU's device nodes."""
    if runtime(case) != "docker" or managed(case):
        return give_gpu(case)[0]
    options = ("--gpus", "all", "-e", "NVIDIA_DRIVER_CAPABILITIES=compute,utility")
    mounted = run("docker", "run", "--rm", *options, IMAGE, "nvidia-smi")
    why = "mounts the driver's compute libraries; start your own container with the same two options"
    return [shell(mounted, why, platform="linux")]


def device_nodes(case: Case) -> list[Step]:
    """Steps that pass all device nodes that CUDA needs into a container."""
    if runtime(case) != "docker" or managed(case):
        return give_gpu(case)[0]
    named = " ".join(f"--device {node}" for node in NODES)
    return [
        manual(
            f"Start the container again with --gpus all, or with one option for each device ({named}); on the"
            " host, sudo nvidia-modprobe -u -c=0 creates the device nodes that are missing"
        )
    ]
