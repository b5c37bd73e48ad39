"""Tests other kinds of systems: musl, an old glibc, lib64, Nix, openSUSE, Fedora. Healthy systems come first,
then systems with a fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.findings import Diagnosis
from scripts.machines.skeleton import skeleton
from tests.probe.machines import Folder
from tests.probe.test_verdicts import LIB, codes, with_wheels

STORE = "/nix/store/0123456789abcdfghijklmnpqrsvwxyz"


def commands(diagnosis: Diagnosis) -> str:
    return "\n".join(step.text for step in diagnosis.verdict.prescription)


def lib64(machine: Folder, release: str) -> Folder:
    """The layout of Red Hat and SUSE: 64-bit libraries in lib64, none in Debian's folders."""
    (machine.root / f"{LIB}/libc.so.6".lstrip("/")).unlink()
    (machine.root / LIB.lstrip("/")).rmdir()
    machine.library(
        "/usr/lib64/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.17", "GLIBC_2.28", "GLIBC_2.34")
    )
    machine.link("/lib64", "usr/lib64").write("/etc/os-release", release)
    return machine.gpu().kernel_module("550.54.14").user_driver("550.54.14", "/usr/lib64").answers()


def nixos(machine: Folder, *, runpath: bool = True) -> Folder:
    """NixOS: the driver is in /run/opengl-driver, which is only in the RUNPATHs of Nix's own builds."""
    (machine.root / f"{LIB}/libc.so.6".lstrip("/")).unlink()
    machine.write("/etc/os-release", 'NAME=NixOS\nID=nixos\nVERSION_ID="24.05"\n')
    machine.gpu().kernel_module("550.54.14").user_driver("550.54.14", f"{STORE}-nvidia-x11/lib")
    machine.link("/run/opengl-driver/lib", f"{STORE}-nvidia-x11/lib")
    machine.library(
        f"{STORE}-glibc-2.39/lib/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.2.5", "GLIBC_2.39")
    )
    folders = b"\0" + f"{STORE}-glibc-2.39/lib/".encode() + b"\0" + b"/lib/x/\0" + b"\0"
    machine.write(f"{STORE}-glibc-2.39/lib/ld-linux-x86-64.so.2", skeleton() + folders)
    machine.python("3.11", f"{STORE}-python3-env")
    interpreter = f"{STORE}-glibc-2.39/lib/ld-linux-x86-64.so.2"
    machine.write(f"{STORE}-python3-env/bin/python", with_interpreter(interpreter))
    machine.tensorflow("2.15.1").cuda_wheels("12.2").cudnn_wheel("8.9.4.25")
    names = ("cuda_runtime", "cublas", "cudnn", "cufft", "cusolver", "cusparse")
    path = ":".join(["$ORIGIN/", *(f"$ORIGIN/../nvidia/{name}/lib" for name in names)])
    path += ":/run/opengl-driver/lib" if runpath else ""
    machine.library(f"{machine.site}/tensorflow/libtensorflow_framework.so.2", runpath=path)
    return machine


def with_interpreter(path: str) -> bytes:
    """A program whose PT_INTERP names a loader."""
    import struct

    plain = bytearray(skeleton(needed=("libc.so.6",)))
    count = struct.unpack_from("<H", plain, 56)[0]
    at = len(plain)
    plain += path.encode() + b"\0"
    table = bytes(plain[64 : 64 + 56 * count])
    entry = struct.pack("<IIQQQQQQ", 3, 4, at, at, at, len(path) + 1, len(path) + 1, 1)
    struct.pack_into("<Q", plain, 32, len(plain))
    struct.pack_into("<H", plain, 56, count + 1)
    return bytes(plain) + table + entry


HEALTHY: dict[str, Callable[[Folder], Folder]] = {
    "Rocky Linux": lambda m: with_wheels(lib64(m, 'NAME="Rocky Linux"\nVERSION_ID="9.4"\n'), "2.15.1"),
    "openSUSE": lambda m: with_wheels(lib64(m, 'NAME="openSUSE Leap"\nVERSION_ID="15.6"\n'), "2.15.1"),
    "Fedora": lambda m: with_wheels(lib64(m, 'NAME="Fedora Linux"\nVERSION_ID=42\n'), "2.15.1"),
    "NixOS": nixos,
    "NixOS with LD_LIBRARY_PATH": lambda m: nixos(m, runpath=False).env(
        LD_LIBRARY_PATH="/run/opengl-driver/lib"
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_unusual_system_gets_no_error(name: str, tmp_path: Path) -> None:
    diagnosis = HEALTHY[name](Folder(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == "healthy", codes(diagnosis)


def test_a_nix_build_without_the_drivers_folder_gets_a_step_for_it(tmp_path: Path) -> None:
    diagnosis = nixos(Folder(tmp_path), runpath=False).diagnosis()
    assert diagnosis.verdict.code == "driver-libcuda-missing", codes(diagnosis)
    assert "/run/opengl-driver/lib" in commands(diagnosis)


@pytest.mark.parametrize("installed", [True, False])
def test_no_tensorflow_runs_on_musl(installed: bool, tmp_path: Path) -> None:
    machine = Folder(tmp_path).working_gpu()
    (machine.root / f"{LIB}/libc.so.6".lstrip("/")).unlink()
    machine.write("/lib/ld-musl-x86_64.so.1", skeleton()).write(
        "/etc/os-release", 'NAME="Alpine Linux"\nVERSION_ID=3.20\n'
    )
    diagnosis = (with_wheels(machine, "2.15.1") if installed else machine.python()).diagnosis()
    assert diagnosis.verdict.code == "tf-no-wheel", codes(diagnosis)
    assert "musl" in diagnosis.verdict.explanation


@pytest.mark.parametrize(
    ("glibc", "code"), [("2.17", "tf-import-failed"), ("2.26", "tf-import-failed"), ("2.28", "healthy")]
)
def test_a_glibc_that_is_too_old_for_the_wheel_is_named_even_if_its_files_do_not_show_it(
    glibc: str, code: str, tmp_path: Path
) -> None:
    machine = Folder(tmp_path, glibc=glibc).working_gpu().python().tensorflow("2.21.0", glibc="2.2.5")
    machine.cuda_wheels("12.5").cudnn_wheel("9.3.0.75").env(
        LD_LIBRARY_PATH=f"{machine.site}/nvidia/cusolver/lib"
    )
    diagnosis = machine.diagnosis()
    assert diagnosis.verdict.code == code, codes(diagnosis)
