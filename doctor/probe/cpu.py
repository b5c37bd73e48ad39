"""Reads the CPU's features, and derives the subfolders that glibc's loader searches first because of them."""

from __future__ import annotations

import re

from doctor.probe.machine import Machine

LEVELS = (  # x86-64 psABI, "Micro-Architecture Levels", in the flag names of /proc/cpuinfo
    ("x86-64-v4", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})),
    ("x86-64-v3", frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})),
    ("x86-64-v2", frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})),
)
LEGACY_LAST = (2, 36)
"""The last glibc version that also searches tls/, haswell/ and x86_64/ (release notes of 2.37)."""


def cpu_flags(machine: Machine) -> frozenset[str]:
    """The first CPU's flags in /proc/cpuinfo; empty if the file cannot be read."""
    match = re.search(r"^flags\s*:(.*)$", machine.text_seen("/proc/cpuinfo", 1 << 16), re.MULTILINE)
    return frozenset(match[1].split()) if match else frozenset()


def subfolders(machine: Machine, glibc: tuple[int, int] | None) -> tuple[str, ...]:
    """The subfolders that the loader searches first with this CPU and this glibc, in its order."""
    if machine.processor != "x86_64":
        return ()
    flags = cpu_flags(machine)
    known = len(LEVELS)
    while known and LEVELS[known - 1][1] <= flags:
        known -= 1
    levels = tuple(f"glibc-hwcaps/{name}" for name, _ in LEVELS[known:])
    if glibc and glibc < (2, 33):
        levels = ()
    if glibc is None or glibc > LEGACY_LAST:
        return levels
    haswell = ["haswell"] if glibc < (2, 33) and LEVELS[1][1] <= flags else []
    names = ["tls", *haswell, "x86_64"]
    subsets = [
        "/".join(name for at, name in enumerate(names) if mask >> (len(names) - 1 - at) & 1)
        for mask in range((1 << len(names)) - 1, 0, -1)
    ]
    return (*levels, *subsets)
