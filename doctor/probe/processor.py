"""Finds the processor that a file system was made for, from the headers of its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.probe import pe

if TYPE_CHECKING:
    from doctor.probe.machine import Machine

PROGRAMS = (
    "/bin/sh",
    "/usr/bin/sh",
    "/usr/bin/env",
    "/bin/busybox",
    "/lib64/ld-linux-*",
    "/lib/ld-linux-*",
    "/lib/ld-musl-*",
    "/usr/lib/*-linux-gnu/libc.so.6",
    "/lib/*-linux-gnu/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/usr/bin/python3*",
    "/usr/local/bin/python3*",
    "/opt/*/bin/python3*",
    "/opt/*/envs/*/bin/python3*",
    "/home/*/*/bin/python3*",
    "/root/*/bin/python3*",
    "/nix/store/*-glibc-*/lib/libc.so.6",
)
"""Programs for the system's own processor; every Linux system has some of them."""
WINDOWS_PROGRAMS = tuple(
    f"/Windows/System32/{name}" for name in ("kernel32.dll", "ntdll.dll", "ntoskrnl.exe")
)
"""Programs for the system's own processor; every Windows system has them."""
MAC_PROGRAMS = ("/bin/*sh", "/usr/lib/dyld", "/usr/local/bin/python3*", "/opt/homebrew/bin/python3*")
"""Programs built for one processor: those of macOS up to 10.15, and the Python programs from Homebrew and
python.org."""
MAC_PROCESSORS = {0x01000007: "x86_64", 0x0100000C: "arm64"}
"""cputype in a Mach-O header (mach/machine.h). A universal binary has another header and shows nothing."""
PROCESSORS = {62: "x86_64", 183: "aarch64", 21: "ppc64le"}
"""e_machine in an ELF header (System V gABI and its supplements)."""


def processor_of(files: Machine) -> str:
    """The processor of a file system, from its programs' headers (ELF, Mach-O, PE); "" if none shows it."""
    for pattern in (*PROGRAMS, *MAC_PROGRAMS):
        for path in files.glob(pattern):
            try:
                header = files.read(path, 20) or b""
            except OSError:
                continue
            if header[:4] == b"\x7fELF" and len(header) == 20:
                known = PROCESSORS.get(int.from_bytes(header[18:20], "little"))
                if known is not None:
                    return known
            if header[:4] == b"\xcf\xfa\xed\xfe" and len(header) == 20:
                return MAC_PROCESSORS.get(int.from_bytes(header[4:8], "little"), "")
    for path in WINDOWS_PROGRAMS:
        try:
            with files.open(path) as file:
                return pe.parse(file).machine
        except (OSError, pe.NotPe):
            continue
    return next((name for name in PROCESSORS.values() if files.is_dir(f"/usr/lib/{name}-linux-gnu")), "")
