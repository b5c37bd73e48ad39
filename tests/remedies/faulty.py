"""Lists, by name, every faulty Linux machine that the tests make, with the code of its fault. The printed
cure must remove the fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.machines.skeleton import skeleton
from tests.probe import (
    test_compiler,
    test_faulty_libraries,
    test_files_alone,
    test_installations,
    test_kernel_log,
    test_kinds_of_machine,
    test_own_builds,
    test_starts,
    test_systems,
    test_unusual_machines,
    test_verdicts,
)
from tests.probe.machines import Folder
from tests.probe.test_files_alone import Disk
from tests.probe.test_verdicts import LIB, with_wheels
from tests.remedies.following import under_variables

if TYPE_CHECKING:
    from typing import TypeAlias

Make: TypeAlias = "Callable[[Path], Folder]"
KERNEL = "5.15.0-105-generic"
AKMODS = "/var/cache/akmods/nvidia/3:570.86.16-1.fc42-for-6.14.0-63.fc42.x86_64.failed.log"
FRAMEWORK = "tensorflow/libtensorflow_framework.so.2"


def on(make: Callable[[Folder], Folder]) -> Make:
    return lambda root: make(Folder(root))


def with_gpu(make: Callable[[Folder], Folder]) -> Make:
    return lambda root: make(Folder(root).working_gpu())


def of_files(make: Callable[[Disk], Disk]) -> Make:
    return lambda root: make(Disk(root))


def logged(text: str) -> Make:
    """A machine whose kernel log contains a line. Its driver was not queried."""
    return on(lambda m: with_wheels(m.gpu().driver(), "2.15.1").write("/var/log/kern.log", text))


def no_module(more: Callable[[Folder], Folder]) -> Make:
    return lambda root: more(test_kernel_log.without_module(root))


def refused(machine: Folder) -> Folder:
    machine.write(f"/lib/modules/{KERNEL}/updates/dkms/nvidia.ko", "").write("/var/lib/dkms/mok.pub", "")
    return machine.write("/var/log/kern.log", "kernel: Loading of unsigned module is rejected\n")


def without_open_modules(machine: Folder) -> Folder:
    machine.gpu("2b85").driver("570.86.16").write("/var/log/kern.log", test_kernel_log.OPEN)
    return with_wheels(machine, "2.18.1")


def old_glibc(root: Path) -> Folder:
    machine = Folder(root, glibc="2.17").working_gpu().python().tensorflow("2.21.0", glibc="2.2.5")
    return machine.cuda_wheels("12.5").cudnn_wheel("9.3.0.75")


def damaged(content: bytes) -> Make:
    """A machine with a TensorFlow installation whose own library would not load."""
    return with_gpu(lambda m: (w := with_wheels(m, "2.15.1")).write(f"{w.site}/{FRAMEWORK}", content))


def on_musl(machine: Folder) -> Folder:
    (machine.root / f"{LIB}/libc.so.6".lstrip("/")).unlink()
    machine.write("/lib/ld-musl-x86_64.so.1", skeleton())
    return with_wheels(machine.write("/etc/os-release", 'NAME="Alpine Linux"\nVERSION_ID=3.20\n'), "2.15.1")


def closed_to_others(machine: Disk) -> Disk:
    test_files_alone.working(machine).write("/etc/passwd", "u:x:4242:4242::/home/u:/bin/bash\n")
    return machine.write("/etc/group", f"u:x:4242:\ngpuusers:x:{test_files_alone.node_group(machine)}:bob\n")


def held(*used_mib: int, named: bool = True, **variables: str) -> Make:
    """A machine with GPUs of 8 GiB; `used_mib` says how much of each is in use."""

    def make(root: Path) -> Folder:
        machine = Folder(root)
        for index in range(len(used_mib)):
            machine.pci(f"0000:0{index + 1}:00.0", "10de", "2484", "030000", "nvidia")
        machine.driver().answers(used_mib=used_mib, named=named).env(**variables)
        under_variables(machine)
        return with_wheels(machine, "2.15.1")

    return make


def refused_by_a_full_gpu(machine: Folder) -> Folder:
    machine.gpu().driver().answers(cuinit="CUDA_ERROR_OUT_OF_MEMORY", used_mib=[8100])
    return with_wheels(machine, "2.15.1")


def in_docker(make: Make) -> Make:
    """The same machine as a container, where NVML does not list processes outside the container."""
    return lambda root: make(root).write("/.dockerenv", "")


def beside(package: str, version: str, requires: str) -> Make:
    return of_files(lambda m: test_files_alone.text_beside(m, version, requires, package))


def _every() -> Iterator[tuple[str, tuple[str, Make]]]:
    for name, (code, make) in {**test_verdicts.FAULTS, **test_own_builds.BROKEN}.items():
        yield name, (code, on(make))
    for name, (code, _, make) in {**test_kinds_of_machine.FAULTS, **test_starts.FAULTS}.items():
        yield name, (code, on(make))
    for name, (code, make) in test_installations.BROKEN.items():
        yield name, (code, with_gpu(make))
    for name, make in test_installations.NOT_FOUND.items():
        yield name, ("tf-not-installed", with_gpu(make))
    for name, make in test_faulty_libraries.BROKEN.items():
        yield name, ("library-broken", on(make))
    for name, (_, make) in test_compiler.LACKING.items():
        yield name, ("xla-toolchain-missing", on(make))
    for name, make_disk in test_files_alone.UNFIT.items():
        yield f"a compat folder: {name}", ("cuda-compat-package", of_files(make_disk))
    for name, (package, version, requires) in test_files_alone.OTHERS.items():
        yield f"an add-on: {name}", ("tf-addon-mismatch", beside(package, version, requires))
    for number in test_kernel_log.OF_HARDWARE:
        yield f"Xid {number}", ("gpu-bad-state", logged(test_kernel_log.xid(number)))
    for name, content in (
        ("cut short", test_faulty_libraries.cut(Path(FRAMEWORK).name)),
        ("for Arm", skeleton(machine=183)),
        ("of text", b"text\n" * 30),
    ):
        yield f"TensorFlow's library {name}", ("tf-import-failed", damaged(content))
    for name, (code, make_disk) in test_unusual_machines.BROKEN.items():
        yield name, (code, of_files(make_disk))
    yield from OTHERS.items()


OTHERS: dict[str, tuple[str, Make]] = {
    "pip's TensorFlow and conda's libraries": (
        "library-path",
        of_files(lambda m: test_files_alone.conda(m, script=False)),
    ),
    "a container whose program is not activated": (
        "library-path",
        of_files(lambda m: test_files_alone.in_container(m, b"python\0train.py")),
    ),
    "NixOS without the driver's folder": (
        "driver-libcuda-missing",
        on(lambda m: test_systems.nixos(m, runpath=False)),
    ),
    "DKMS without headers": ("driver-not-loaded", no_module(test_kernel_log.dkms)),
    "DKMS with headers": (
        "driver-not-loaded",
        no_module(lambda m: test_kernel_log.dkms(m).write(f"/lib/modules/{KERNEL}/build/Makefile", "")),
    ),
    "akmods": (
        "driver-not-loaded",
        no_module(
            lambda m: test_kernel_log.fedora(m).write(AKMODS, "akmodsbuild: ERROR: kernel-devel is missing\n")
        ),
    ),
    "a module that Secure Boot refuses": ("driver-not-loaded", no_module(refused)),
    "a GPU that needs the open modules": ("driver-not-loaded", on(without_open_modules)),
    "a glibc below the wheel's floor": ("tf-import-failed", old_glibc),
    "musl": ("tf-no-wheel", with_gpu(on_musl)),
    "nodes of a group": ("device-permission", of_files(closed_to_others)),
    "a GPU that a process holds": ("gpu-memory-held", held(7800)),
    "a GPU that nobody seems to hold, in a container": (
        "gpu-memory-held",
        in_docker(held(7800, named=False)),
    ),
    "the first of two GPUs is held": ("gpu-memory-held", held(7800, 300)),
    "the second of two GPUs is held": ("gpu-memory-held", held(300, 7800)),
    "both GPUs are held": ("gpu-memory-held", held(7000, 7800)),
    "the GPU that was chosen is held": ("gpu-memory-held", held(300, 7800, CUDA_VISIBLE_DEVICES="1")),
    "a GPU too full for CUDA to start": ("gpu-memory-held", on(refused_by_a_full_gpu)),
    "a misspelt variable": (
        "gpu-config-conflict",
        with_gpu(lambda m: with_wheels(m, "2.15.1").env(CUDA_VISIBLE_DEVICE="0")),
    ),
}
EVERY: dict[str, tuple[str, Make]] = dict(_every())
