"""Tests the kernel log since the last boot: Xid numbers, and modules that were refused or not built, each
with its cure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.findings import Diagnosis
from doctor.logs import read
from doctor.tables import Tables
from tests.probe.machines import Folder
from tests.probe.test_verdicts import codes, with_wheels
from tests.sampling import sampled

BOOT = "{date} host kernel: [    0.000000] Linux version 5.15.0-105-generic (buildd@lcy02) #115-Ubuntu SMP\n"
LINE = (
    "{date} host kernel: [ 4711.250000] NVRM: Xid (PCI:0000:01:00): {number}, pid=4242, name=python3, Ch"
    " 00000008\n"
)
OF_PROGRAMS = ("13", "31", "43", "45")
OF_HARDWARE = ("48", "62", "63", "64", "74", "79", "94", "95", "119", "120")
OPEN = (
    "kernel: NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)\n"
    "kernel: NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n"
)


def healthy(root: Path) -> Folder:
    return with_wheels(Folder(root).working_gpu(), "2.15.1")


def xid(number: str, date: str = "Nov 20 10:00:00") -> str:
    return LINE.format(date=date, number=number)


@pytest.mark.parametrize("number", OF_PROGRAMS)
def test_an_xid_that_a_program_caused_leaves_the_machine_healthy(number: str, tmp_path: Path) -> None:
    diagnosis = healthy(tmp_path).write("/var/log/kern.log", xid(number)).diagnosis()
    assert diagnosis.verdict.code == "healthy", codes(diagnosis)


@pytest.mark.parametrize("number", sampled(OF_HARDWARE, 4))
def test_an_xid_of_the_hardware_is_a_bad_state_and_says_what_it_is(number: str, tmp_path: Path) -> None:
    diagnosis = healthy(tmp_path).write("/var/log/kern.log", xid(number)).diagnosis()
    assert diagnosis.verdict.code == "gpu-bad-state", codes(diagnosis)
    assert f"Xid {number}:" in diagnosis.verdict.explanation
    assert len(diagnosis.verdict.prescription) > 1


OTHER_BOOTS: dict[str, Callable[[Folder], Folder]] = {
    "before the last start": lambda m: m.write(
        "/var/log/kern.log",
        xid("79") + BOOT.format(date="Nov 20 11:00:00") + "Nov 20 11:00:01 host kernel: x\n",
    ),
    "dated before it": (
        lambda m: m.write("/proc/stat", "cpu 1\nbtime 1763632800\n").write(
            "/var/log/syslog", xid("79", "2025-11-20T09:59:00.123456+00:00")
        )
    ),
    "dated days before it, without a year": (
        lambda m: m.write("/proc/stat", "cpu 1\nbtime 1763632800\n").write(
            "/var/log/messages", xid("79", "Nov 17 10:00:00")
        )
    ),
}


@pytest.mark.parametrize("name", OTHER_BOOTS)
def test_log_lines_from_an_earlier_boot_do_not_count(name: str, tmp_path: Path) -> None:
    diagnosis = OTHER_BOOTS[name](healthy(tmp_path)).diagnosis()
    assert diagnosis.verdict.code == "healthy", codes(diagnosis)


THIS_BOOT: dict[str, Callable[[Folder], Folder]] = {
    "behind the start": lambda m: m.write(
        "/var/log/kern.log", BOOT.format(date="Nov 20 09:00:00") + xid("79")
    ),
    "dated behind it": (
        lambda m: m.write("/proc/stat", "btime 1763632800\n").write(
            "/var/log/syslog", xid("79", "2025-11-20T10:01:00.123456+00:00")
        )
    ),
    "of January, the start being in December": (
        lambda m: m.write("/proc/stat", "btime 1767139200\n").write(
            "/var/log/messages", xid("79", "Jan  2 10:00:00")
        )
    ),
}


@pytest.mark.parametrize("name", THIS_BOOT)
def test_log_lines_from_this_boot_count(name: str, tmp_path: Path) -> None:
    assert THIS_BOOT[name](healthy(tmp_path)).diagnosis().verdict.code == "gpu-bad-state"


@pytest.mark.parametrize(("number", "code"), [("31", "ptx-jit-or-kernel-crash"), ("79", "gpu-bad-state")])
def test_a_pasted_xid_is_explained_by_its_number_too(number: str, code: str) -> None:
    facts = read(xid(number).encode())
    assert diagnose(facts, Tables.bundled()).verdict.code == code


# --- modules


def commands(diagnosis: Diagnosis) -> str:
    return "\n".join(step.text for step in diagnosis.verdict.prescription)


def without_module(root: Path) -> Folder:
    """A driver whose kernel module is not loaded."""
    return with_wheels(Folder(root).gpu(driver=None).user_driver("570.86.16"), "2.15.1")


def fedora(machine: Folder) -> Folder:
    machine.write("/proc/sys/kernel/osrelease", "6.14.0-63.fc42.x86_64\n")
    return machine.write("/etc/os-release", 'NAME="Fedora Linux"\nVERSION_ID=42\nID=fedora\n')


DKMS = (
    "DKMS make.log for nvidia-570.86.16 for kernel 5.15.0-105-generic (x86_64)\nThu\n{}\nmake: ***"
    " [Makefile:82: modules] Error 2\n"
)


def dkms(
    machine: Folder, error: str = "nv.c:12:3: error: implicit declaration of function 'f'", kernel: str = ""
) -> Folder:
    text = DKMS.format(error)
    text = text.replace("5.15.0-105-generic", kernel) if kernel else text
    return machine.write("/var/lib/dkms/nvidia/570.86.16/build/make.log", text)


def test_a_module_that_dkms_could_not_build_is_reported_with_the_missing_headers(tmp_path: Path) -> None:
    diagnosis = dkms(without_module(tmp_path)).diagnosis()
    assert diagnosis.verdict.code == "driver-not-loaded", codes(diagnosis)
    assert "could not be built" in diagnosis.verdict.explanation
    assert "sudo apt install linux-headers-5.15.0-105-generic" in commands(diagnosis)


def test_no_step_installs_headers_that_exist(tmp_path: Path) -> None:
    machine = dkms(without_module(tmp_path)).write("/lib/modules/5.15.0-105-generic/build/Makefile", "")
    text = commands(machine.diagnosis())
    assert "linux-headers" not in text
    assert "sudo dkms autoinstall" in text


def test_a_failed_build_for_another_kernel_does_not_count(tmp_path: Path) -> None:
    facts = dkms(without_module(tmp_path), kernel="6.8.0-1-generic").facts()
    assert not facts.has("module-build-failed")


def test_akmods_builds_on_fedora(tmp_path: Path) -> None:
    machine = fedora(without_module(tmp_path))
    log = "/var/cache/akmods/nvidia/3:570.86.16-1.fc42-for-6.14.0-63.fc42.x86_64.failed.log"
    diagnosis = machine.write(log, "2025/11/20 akmodsbuild: ERROR: kernel-devel is missing\n").diagnosis()
    assert diagnosis.verdict.code == "driver-not-loaded", codes(diagnosis)
    assert "kernel-devel-6.14.0-63.fc42.x86_64" in commands(diagnosis)
    assert "sudo akmods --force" in commands(diagnosis)
    assert "dkms" not in commands(diagnosis)


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("/var/lib/shim-signed/mok/MOK.der", "kernel: Loading of module with unavailable key is rejected"),
        ("/etc/pki/akmods/certs/public_key.der", "kernel: Loading of unsigned module is rejected"),
        (
            "/var/lib/dkms/mok.pub",
            "kernel: Lockdown: modprobe: unsigned module loading is restricted; see man",
        ),
    ],
)
def test_a_step_enrolls_the_key_of_a_module_that_secure_boot_refuses(
    key: str, line: str, tmp_path: Path
) -> None:
    machine = without_module(tmp_path).write("/lib/modules/5.15.0-105-generic/updates/dkms/nvidia.ko", "")
    diagnosis = machine.write(key, "").write("/var/log/kern.log", line + "\n").diagnosis()
    assert diagnosis.verdict.code == "driver-not-loaded", codes(diagnosis)
    assert f"sudo mokutil --import {key}" in commands(diagnosis)


def test_a_refused_module_does_not_count_if_nvidias_module_is_loaded(tmp_path: Path) -> None:
    machine = healthy(tmp_path).write("/var/log/kern.log", "kernel: Loading of unsigned module is rejected\n")
    assert machine.diagnosis().verdict.code == "healthy"


@pytest.mark.parametrize(
    ("system", "command"),
    sampled(
        [
            ('NAME="Ubuntu"\nVERSION_ID="24.04"\n', "sudo apt install nvidia-driver-570-open"),
            ('NAME="Debian GNU/Linux"\nVERSION_ID="12"\n', "sudo apt install nvidia-open-kernel-dkms"),
            ('NAME="Fedora Linux"\nVERSION_ID=42\n', "sudo akmods --force --rebuild"),
            ('NAME="Rocky Linux"\nVERSION_ID="9.4"\n', "sudo dnf install nvidia-open"),
            ('NAME="openSUSE Leap"\nVERSION_ID="15.6"\n', "nvidia-open-driver-G06-signed-kmp-default"),
            ('NAME="Arch Linux"\n', "sudo pacman -S nvidia-open"),
        ],
        2,
    ),
)
def test_a_gpu_that_needs_the_open_modules_gets_a_step_that_installs_them(
    system: str, command: str, tmp_path: Path
) -> None:
    machine = Folder(tmp_path).gpu("2b85").driver("570.86.16").write("/var/log/kern.log", OPEN)
    diagnosis = with_wheels(machine.write("/etc/os-release", system), "2.18.1").diagnosis()
    assert diagnosis.verdict.code == "driver-not-loaded", codes(diagnosis)
    assert command in commands(diagnosis)


def test_a_pasted_message_about_the_open_modules_gets_the_same_verdict() -> None:
    diagnosis = diagnose(read(OPEN.encode()), Tables.bundled())
    assert diagnosis.verdict.code == "driver-not-loaded", codes(diagnosis)
