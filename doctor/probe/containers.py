"""Finds out whether a machine's files belong to a container, and which runtime started that container. Parts
of the host that are visible inside a container do not count as its own.

In a container, /proc/modules, /sys/bus and the kernel log are the host's. The container itself has only what
its runtime passed in: device nodes and the driver's libraries. Sources: systemd, "The Container Interface"
(container_manager, $container); podman-run(1), /run/.containerenv; Apptainer user guide, "Environment and
Metadata"; snapd's snap-confine(8), which mounts the host at /var/lib/snapd/hostfs; Kubernetes, "Accessing the
API from a Pod"; LXD documentation, /dev/lxd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.facts import HOSTS_DRIVER, Source
from doctor.probe.machine import Machine

FILES = (
    ("/.dockerenv", "docker"),
    ("/run/.containerenv", "podman"),
    ("/.singularity.d", "singularity"),
    ("/singularity", "singularity"),
    ("/run/secrets/kubernetes.io", "kubernetes"),
    ("/var/run/secrets/kubernetes.io", "kubernetes"),
    ("/dev/lxd", "lxc"),
    ("/dev/.lxc-boot-id", "lxc"),
    ("/var/lib/snapd/hostfs/usr", "snap"),
)
SIZE = 1 << 14
"""The maximum number of bytes to read from a file."""
KERNELS = ("/boot/vmlinu[xz]*", "/lib/modules/*", "/usr/lib/modules/*")
"""Files that every system with its own kernel has; containers and WSL distributions run on another system's
kernel."""
LAYERED = ("overlay", "fuse.fuse-overlayfs", "aufs")
"""File systems of images. A system with its own kernel may use one too; a system without a kernel is then a
container whose runtime leaves no mark (containerd, enroot, Charliecloud)."""
STATED = ("/run/host/container-manager", "/run/systemd/container")
"""Files that contain the name of the container's manager."""
NAMES = {
    "docker": "docker",
    "podman": "podman",
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "systemd-nspawn": "nspawn",
    "oci": "container",
    "singularity": "singularity",
    "apptainer": "singularity",
}
"""The names that container managers use for themselves, each with its kind in EnvironmentKind facts. WSL also
writes its name there, but is not a container."""
GROUPS = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("lxc", "lxc"),
    ("machine.slice/systemd-nspawn", "nspawn"),
)


def kinds(machine: Machine) -> Iterator[tuple[str, Source]]:
    """The kinds of this container, each with its evidence; empty if it is not a container."""
    found = list(_marked(machine))
    for number, line in enumerate(() if found else machine.text_seen("/proc/mounts", SIZE).splitlines(), 1):
        _, root, kind = (*line.split(), "", "", "")[:3]
        if root == "/" and kind in LAYERED and not any(map(machine.glob, KERNELS)):
            found = [("container", Source("/proc/mounts", number, line))]
    yield from found


def _marked(machine: Machine) -> Iterator[tuple[str, Source]]:
    if machine.system == "linux" and not root_is_a_disk(machine):
        for path, name in FILES:
            if machine.exists(path):
                yield name, Source(path)
        for path in STATED:
            stated = machine.text_seen(path, SIZE).strip()
            if stated in NAMES:
                yield NAMES[stated], Source(path, 1, stated)
        if "Kubernetes-managed hosts file" in machine.text_seen("/etc/hosts", SIZE):
            yield "kubernetes", Source("/etc/hosts", 1, "# Kubernetes-managed hosts file.")
        groups = machine.text_seen("/proc/1/cgroup", SIZE)
        for word, name in GROUPS:
            line = next((line for line in groups.splitlines() if word in line), None)
            if line is not None:
                yield name, Source("/proc/1/cgroup", None, line)
    manager = machine.env.get("container", "")
    if manager in NAMES:
        yield NAMES[manager], Source("$container", None, manager)


def inside(machine: Machine) -> bool:
    """Whether the machine's files belong to a container."""
    named = any(
        machine.env.get(name)
        for name in ("KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")
    )
    return named or next(kinds(machine), None) is not None


def at_rest(machine: Machine) -> bool:
    """Whether the machine's files belong to a system that is not running (a mounted disk, an image), so they
    show neither bus nor devices."""
    return (
        machine.system == "linux" and not machine.live and not any(map(machine.names_seen, ("/proc", "/sys")))
    )


def driver_from_host(machine: Machine) -> Mapping[str, str]:
    """Why an image cannot show the driver's libraries, which the host adds only when it starts a container:
    {place: reason}, as Machine.noting collects them. {} if the files can show the libraries."""
    if not at_rest(machine) or not (inside(machine) or not any(map(machine.glob, KERNELS))):
        return {}
    return {
        HOSTS_DRIVER: "this image is not running; the host adds the driver's libraries when it starts a"
        " container from it"
    }


def root_is_a_disk(machine: Machine) -> bool:
    """Whether "/" is a whole disk or partition. Then this is not a container, and /.dockerenv is only a
    remnant of the image from which the disk was made.

    A container's root is an overlay or another file system's folder (proc(5), mountinfo: fields 4, 5 and 10).
    """
    for line in reversed(machine.text_seen("/proc/self/mountinfo", SIZE).splitlines()):
        fields, _, behind = line.partition(" - ")
        parts, kind = fields.split(), behind.split()
        if len(parts) > 4 and parts[4] == "/" and len(kind) > 1:
            return (
                parts[3] == "/"
                and re.fullmatch(r"/dev/(?:[svx]?vd|sd|hd|nvme|mmcblk|root)\w*", kind[1]) is not None
            )
    return False
