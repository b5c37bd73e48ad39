"""Finds the kernels that are installed on a system's disk, and which of them have a built NVIDIA module.

Sources: GRUB manual, "Simple configuration" (GRUB_DEFAULT) and grub-mkconfig, which lists the newest kernel
first; grubby(8) and the Boot Loader Specification, whose entries are named MACHINE-RELEASE; depmod(8),
modules.dep.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from doctor.facts import Fact, Source, Symptom
from doctor.probe import kernel_log
from doctor.probe.machine import Machine
from doctor.probe.missing import missing

FOLDERS = ("/lib/modules", "/usr/lib/modules")
PLACES = ("updates", "extra", "weak-updates", "extramodules", "video", "kernel/drivers/video")
"""Folders in which (or below which) distributions, DKMS and NVIDIA's installer put modules that do not come
with the kernel."""
BUILDERS = ("/usr/sbin/dkms", "/usr/sbin/akmods", "/usr/bin/akmods")
"""Programs that build modules when the system starts, if the kernel's headers are installed."""


def built_for_others(machine: Machine, *, stopped: bool) -> Iterator[Fact]:
    """The symptom for a module that is on the disk but not loaded. It says whether the module was built for
    this system's kernel, or only for others (as after a kernel update).

    stopped: whether the system is not running; its kernel is then the one that would start next.
    """
    release = (
        next_start(machine) if stopped else (machine.text("/proc/sys/kernel/osrelease", 256) or "").strip()
    )
    files: dict[str, str] = {}
    with machine.noting() as unseen:
        for base in FOLDERS:
            for kernel in machine.names_seen(base):
                file = _module(machine, f"{base}/{kernel}")
                if file:
                    files.setdefault(kernel, file)
    mine = files.get(release)
    failed = [] if mine or not release else list(kernel_log.failed_builds(machine, release, stopped=stopped))
    yield from failed
    if not files or (stopped and (mine or not release)):
        return
    if mine is not None:
        text = f"built for the running kernel {release}"
        yield Symptom(Source(mine, None, text), "driver-module-not-loaded")
        return
    if unseen:
        yield missing(Source(FOLDERS[0]), "installed kernel modules", unseen)
        return
    headers = any(machine.exists(f"{base}/{release}/build/Makefile") for base in FOLDERS)
    if stopped and headers and not failed and any(map(machine.exists, BUILDERS)):
        return  # the system may build the module when it starts
    built = ", ".join(files)
    text = f"built for {built}; {release} {'starts next' if stopped else 'is running'}"
    detail = (
        ("running", release),
        ("built", built),
        ("headers", "" if headers else "missing"),
        ("stopped", "yes" if stopped else ""),
    )
    source = Source(next(iter(files.values())), None, text)
    yield Symptom(source, "driver-module-for-other-kernel", detail)


def next_start(machine: Machine) -> str:
    """Return the release of the kernel that a system that is not running would boot next; "" if its files do
    not show it.

    This is GRUB's configured default entry if that entry names a release; otherwise it is the newest kernel,
    which GRUB and systemd-boot list first.
    """
    images = [path.partition("vmlinuz-")[2] for path in machine.glob("/boot/vmlinuz-*")]
    folders = [  # a removed kernel leaves its folder behind, with modules that do not belong to the kernel
        name
        for base in FOLDERS
        for name in machine.names_seen(base)
        if machine.exists(f"{base}/{name}/modules.order")
    ]
    releases = [name for name in dict.fromkeys(images) if name in folders] or list(dict.fromkeys(folders))
    choice = re.search(r"^GRUB_DEFAULT=(.*)$", machine.text_seen("/etc/default/grub"), re.MULTILINE)
    chosen = choice[1].strip("\"' ") if choice else "0"
    if chosen == "saved":
        names = (machine.text_seen(path) for path in machine.glob("/boot/grub*/grubenv"))
        saved = re.search(r"^(?:next|saved)_entry=(.+)$", "\n".join(names), re.MULTILINE)
        chosen = saved[1] if saved else "0"
    named = [name for name in releases if name in chosen]
    if named:
        return max(named, key=len)
    return max(releases, key=_order) if releases and chosen == "0" else ""


def _order(release: str) -> list[tuple[int, str]]:
    """A sort key that orders releases as GRUB does: numbers by value."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", release)]


def _module(machine: Machine, folder: str) -> str:
    """The path of the NVIDIA module in one kernel's modules folder; "" if there is none."""
    signed = [  # folders of the modules that Ubuntu builds and signs itself
        f"kernel/{name}" for name in machine.names_seen(f"{folder}/kernel") if name.startswith("nvidia-")
    ]
    places = [f"{folder}/{place}" for place in (*PLACES, *signed)]
    for place in places:
        for name in machine.names_seen(place):
            if re.match(r"nvidia(-current)?\.ko", name):
                return f"{place}/{name}"
            if "." not in name and place.count("/") < folder.count("/") + 4:
                places.append(f"{place}/{name}")
    listed = re.search(
        r"^([^\s:]*/)?nvidia(-current)?\.ko[^\s:]*", machine.text_seen(f"{folder}/modules.dep"), re.MULTILINE
    )
    return posixpath.join(folder, listed[0]) if listed else ""
