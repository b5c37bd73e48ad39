"""Finds messages about the NVIDIA driver in the kernel log since the last boot, and modules that could not be
built.

Sources: NVIDIA, "Xid Errors", and the driver's own messages (NVRM); for refused modules, Linux's
kernel/module/signing.c and lockdown; for failed builds, DKMS and Fedora's akmods.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import Fact, Source, Symptom
from doctor.probe.machine import KMSG, Machine

LOGS = ("/var/log/kern.log", "/var/log/syslog", "/var/log/messages", "/var/log/dmesg")
TAIL = 512 << 10
"""How many bytes to read from the end of a kernel log."""
BOOT = lazy.compile(r"(?:kernel|\[ *0\.0+\]).{0,40}? Linux version \d")
"""Matches the kernel's first message after boot."""
XID = lazy.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]{1,20})\): (\d{1,4})(.{0,400})")
MESSAGES = (  # (symptom, pattern of the line)
    ("gpu-lost", lazy.compile(r"NVRM:.{0,100}?GPU.{0,100}?has fallen off the bus")),
    (  # the kernel itself (drivers/pci/pci.c): the GPU does not answer when it is woken
        "gpu-lost",
        lazy.compile(
            r"nvidia [0-9a-f:.]{4,16}: (?:(?:can't|Unable to) change power state from D3cold to D0"
            r"|Refused to change power state, currently in D3)"
        ),
    ),
    ("nvrm-api-mismatch", lazy.compile(r"NVRM:.{0,40}API mismatch")),
    ("open-modules-required", lazy.compile(r"requires use of the NVIDIA open kernel modules")),
    ("gpu-rejected-by-driver", lazy.compile(r"NVRM:.{0,60}RmInitAdapter failed")),
    (
        "kernel-module-rejected",
        lazy.compile(
            r"Loading of (?:unsigned module|module with unavailable key) is rejected"
            r"|nvidia\b.{0,60}rejected|unsigned module loading is restricted"
        ),
    ),
)
RELEVANT = ("NVRM", "odule", "power state")
"""Only lines with one of these words are examined, because a log has thousands of lines; each pattern above
needs one of them."""
KEYS = ("/var/lib/shim-signed/mok/MOK.der", "/etc/pki/akmods/certs/public_key.der", "/var/lib/dkms/mok.pub")
"""The keys with which Ubuntu, akmods and DKMS sign the modules that they build."""
BUILD_ERROR = lazy.compile(r"^.{0,300}?(?:\berror:|\*\*\*|Error \d|ERROR:).{0,300}", re.MULTILINE)
DAY = 86400.0


def messages(machine: Machine, *, loaded: bool) -> Iterator[Fact]:
    """The facts in the log, one for each kind of message. loaded: whether the module is loaded, which means
    that it was not refused."""
    seen: set[str] = set()
    start = _started(machine)
    for path in (KMSG, *LOGS):
        text = machine.kernel_messages(TAIL) if path == KMSG else machine.tail_seen(path, TAIL)
        for line in _since_boot(text, start):
            match = XID.search(line)
            if match and match[2] not in seen:
                seen.add(match[2])
                yield Symptom(Source(path, None, line), "xid", (("xid", match[2]), ("bus", match[1])))
            for kind, pattern in MESSAGES:
                if kind in seen or not pattern.search(line) or (loaded and kind == "kernel-module-rejected"):
                    continue
                seen.add(kind)
                key = next((key for key in KEYS if machine.exists(key)), "") if "rejected" in kind else ""
                yield Symptom(Source(path, None, line), kind, (("key", key),) if key else ())


def _since_boot(text: str, start: float | None) -> list[str]:
    """The relevant lines of a log from this boot: those after the last "Linux version" message, without lines
    dated before the boot.

    start: the time of the boot in seconds since 1970; None if unknown.
    """
    lines = text.splitlines()
    at = next((n for n in range(len(lines) - 1, -1, -1) if BOOT.search(lines[n])), 0)
    relevant = [line for line in lines[at:] if any(word in line for word in RELEVANT)]
    return [line for line in relevant if not _before(line, start)]


def _started(machine: Machine) -> float | None:
    """The time of the last boot, in seconds since 1970 (proc(5), /proc/stat: btime); None if unknown."""
    match = re.search(r"^btime (\d{1,12})$", machine.text_seen("/proc/stat"), re.MULTILINE)
    return float(match[1]) if match else None


def _before(line: str, start: float | None) -> bool:
    """Whether a line's date is before the boot. A date without a year or a time zone must be at least a day
    earlier."""
    if start is None:
        return False
    import datetime

    exact = re.match(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?", line)
    try:
        if exact:
            zone = (exact[3] or "Z").replace("Z", "+00:00").replace(":", "")
            when = datetime.datetime.strptime(
                f"{exact[1]} {exact[2]} {zone}", "%Y-%m-%d %H:%M:%S %z"
            ).timestamp()
            return when < start - (0 if exact[3] else DAY)
        short = re.match(r"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d)", line)
        if not short:
            return False
        utc = datetime.timezone.utc
        year = datetime.datetime.fromtimestamp(start, utc).year
        form = "%Y %b %d %H:%M:%S %z"
        when = datetime.datetime.strptime(f"{year} {short[1]} {short[2]} {short[3]} +0000", form).timestamp()
    except (ValueError, OverflowError, OSError):
        return False
    return start - 180 * DAY < when < start - DAY  # otherwise it is from another year, as in January


def failed_builds(machine: Machine, release: str, *, stopped: bool = False) -> Iterator[Fact]:
    """The symptom for a module that DKMS or akmods could not build for this kernel, with the reason from the
    build log. stopped: whether the system is not running."""
    logs = [
        (path, "dkms", path.split("/")[5]) for path in machine.glob("/var/lib/dkms/nvidia*/*/build/make.log")
    ]
    logs += [
        (path, "akmods", path.rpartition("/")[2].partition("-for-")[0])
        for path in machine.glob("/var/cache/akmods/nvidia*/*.failed.log")
        if release in path
    ]
    for path, tool, version in logs:
        text = machine.tail_seen(path, TAIL)
        head = "\n".join(text.splitlines()[:3])
        error = BUILD_ERROR.search(text)
        if error is None or (release not in path and "for kernel" in head and release not in head):
            continue
        headers = machine.exists(f"/lib/modules/{release}/build/Makefile")
        detail = (
            ("version", version),
            ("running", release),
            ("headers", "" if headers else "missing"),
            ("tool", tool),
            ("stopped", "yes" if stopped else ""),
        )
        yield Symptom(Source(path, None, error[0].strip()), "module-build-failed", detail)
        return
