"""Signatures of the driver version, and of the CUDA version that the driver supports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import FORM, INFERRED, PROSE, DriverCuda, DriverMismatch, DriverVersion, Fact, Source
from doctor.logs.signatures.signature import DIGITS, Maker, Signature, glued, sig, spoken
from doctor.logs.signatures.versions.plausible import plausible_driver
from doctor.logs.signatures.versions.spelling import (
    AFTER_NAME,
    EMPHASIS,
    FOREIGN_DRIVER,
    FOREIGN_DRIVERS,
    NAMED,
    elsewhere,
)


def smi_header(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts from nvidia-smi's header: the driver version, and the CUDA version that the driver
    supports."""
    group = match.groupdict()
    driver = group.get("kmd") or group.get("driver")
    if driver:
        yield DriverVersion(source, driver, "any")
    offered = group.get("umd") or group.get("cuda")
    if offered:
        yield DriverCuda(source, offered)


_WANTED = (
    r"(?:\bneed(?:s|ed|ing)?|\brequir\w+|\bat least|\bminimum|\bwants?|\b(?:newer|later|higher)"
    r" than|(?<=[\w)`'\"])>=?|(?<=[\w)`'\"] )>=?|≥)[^\n.;]{0,24}$"
)
"""Matches the text before a driver version that something requires. A quotation mark (>) at the start of a
line is not a comparison."""
_OR_LATER = r"\s{0,4}(?:\+|or (?:later|newer|higher|above|greater)|and (?:later|newer|above))"


def wanted(match: re.Match[str]) -> bool:
    """Whether a match is a driver version that something needs, not the installed one."""
    at = max(match.start(group) for group in ("version", "v2", "branch") if group in match.re.groupindex)
    before, after = match.string[max(0, at - 48) : at], match.string[match.end() : match.end() + 24]
    return bool(re.search(_WANTED, before, re.IGNORECASE) or re.match(_OR_LATER, after, re.IGNORECASE))


def said(match: re.Match[str], source: Source) -> Fact | None:
    """Make the fact for a driver version next to the word "driver" in a sentence."""
    version = match["version"] or match["v2"] or match["branch"]
    installed = plausible_driver(version) and not wanted(match) and not elsewhere(match)
    return DriverVersion(source, version, "any", PROSE) if installed else None


def driver(rank: int) -> Maker:
    """Return a function that makes a DriverVersion from a match in a person's text."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        version = match["version"]
        if not plausible_driver(version) or (rank >= PROSE and wanted(match)):
            return None
        return DriverVersion(source, version, "any", rank)

    return make


def parts_differ(match: re.Match[str], source: Source) -> Fact | None:
    """Make a DriverMismatch if a person states different versions for the driver's kernel module and its
    libraries. Return None if the versions agree."""
    kernel, user = match["kernel"], match["user"]
    agree = f"{user}.".startswith(f"{kernel}.") or f"{kernel}.".startswith(f"{user}.")
    return None if agree else DriverMismatch(source, kernel, user)


_DRIVER = r"\d{3}\.\d{2,3}(?:\.\d{1,3})?"


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "driver-cuda",
        "nvidia-smi|system cuda version",
        r"CUDA version[^\n:=]{0,24}nvidia-smi[^\n:=]{0,8}[:=]\s*(?P<cuda>\d{1,2}\.\d)"
        r"|system CUDA version (?P<c2>\d{1,2}\.\d)",
        "CUDA Version (from nvidia-smi): 13.0",
        lambda m, s: DriverCuda(s, m["cuda"] or m["c2"]),
    ),
    spoken(
        "driver-cuda",
        "驱动|driver",
        r"驱动[^\n。]{0,40}(?:对应|支持)的? ?CUDA ?(?:的?版本)? ?(?:是|为|:|：)?"
        r" ?(?P<cuda>\d{1,2}\.\d)(?!\.?\d)"
        r"|\bdriver\b[^\n.]{0,20}(?: \d{3}(?:\.\d+){0,2})?[^\n.]{0,24}\b(?:supports|offers|corresponds"
        r" to|goes up to) (?:up to )?CUDA (?P<c2>\d{1,2}\.\d)(?!\.?\d)",
        "驱动升级到了451.48，对应的CUDA版本是11.0",
        lambda m, s: DriverCuda(s, m["cuda"] or m["c2"]),
        near="对应|支持|supports|offers|corresponds to|goes up to",
    ),
    spoken(
        "driver-version",
        (*FOREIGN_DRIVERS, "libcuda.so.", "nvidia-smi", "nvidia-utils"),
        rf"(?:{FOREIGN_DRIVER}|nvidia-utils)[^\n\d]{{0,24}}(?P<version>{_DRIVER})(?!\w|\.\w)"
        rf"|libcuda\.so\.(?P<v2>{_DRIVER})(?!\w|\.\w)|NVIDIA-SMI: ?(?P<v3>{_DRIVER})(?!\w|\.\w)",
        "看显卡驱动的版本，我这里是388.13",
        lambda m, s: DriverVersion(s, m["version"] or m["v2"] or m["v3"], "any", PROSE),
    ),
    spoken(
        "driver-version",
        ("driver version", *glued(("driver ", "driver is ", "driver: "), DIGITS)),
        r"driver(?: version)?(?: is|:)? (?P<version>[2-9]\d{2})(?![\d.\w])",
        "its driver version 525",
        driver(INFERRED),
    ),
    spoken(  # the two parts of the driver in one sentence, in either order
        "driver-mismatch",
        "libcuda",
        rf"\blibcuda(?:\.so(?:\.1)?)?\b[^\n.\d]{{0,30}}(?P<user>{_DRIVER})(?![\w.]\d)"
        rf"[^\n\d]{{0,60}}\bkernel (?:module|driver|version)\b[^\n\d]{{0,30}}(?P<kernel>{_DRIVER})",
        "libcuda says 384.111.0 while the loaded kernel module is still 384.90",
        parts_differ,
        near="kernel module|kernel driver|kernel version",
    ),
    sig(  # NVIDIA's installer, by its file name
        "driver-version",
        "nvidia-linux-x86_64-",
        rf"NVIDIA-Linux-x86_64-(?P<version>{_DRIVER})(?!\d)",
        "sh NVIDIA-Linux-x86_64-470.82.01.run",
        driver(PROSE),
    ),
    sig(
        "smi-header",
        "nvidia-smi",
        r"NVIDIA-SMI[ :]+[\d.]+\s+(?:Driver Version: (?P<driver>[\d.]+\d)|KMD Version: (?P<kmd>[\d.]+\d)"
        r")?[^\n]{0,40}?(?:CUDA Version: (?P<cuda>\d+\.\d+)|CUDA UMD Version: (?P<umd>\d+\.\d+)|\|)",
        "| NVIDIA-SMI 430.50       Driver Version: 430.50       CUDA Version: 10.1     |",
        smi_header,
    ),
    sig(
        "smi-header",
        "driver version:",
        r"Driver Version: (?P<driver>\d{3}\.[\d.]*\d)[,;]? {1,4}CUDA Version:"
        r" (?P<cuda>\d{1,2}\.\d)(?![^\n]*\|)",
        "on the node (NVIDIA-SMI 535.104.05, Driver Version: 535.104.05, CUDA Version: 12.2)",
        smi_header,
    ),
    sig(
        "smi-header",
        "driver version|cuda version",
        r"^\s*Driver Version\s+: (?P<driver>[\d.]+\d)[ \t]*\n\s*CUDA Version\s+: (?P<cuda>\d+\.\d+)",
        "Driver Version                      : 525.60.11\nCUDA Version                        : 12.0",
        smi_header,
        lines=2,
    ),
    sig(  # nvidia-smi --query-gpu=driver_version --format=csv
        "driver-version",
        "driver_version",
        r"^[^\n]{0,120}\bdriver_version\b[^\n]{0,80}\n(?:["
        rf" \t]*driver_version[^\n]{{0,60}}\n)?[^\n]{{0,80}}?(?<![\d.])(?P<version>{_DRIVER})(?![\d.])",
        "name, driver_version\nTesla T4, 535.104.05",
        lambda m, s: DriverVersion(s, m["version"], "any"),
        lines=3,
        at="version",
    ),
    sig(
        "driver-cuda",
        "driver's cuda version is",
        r"driver's CUDA version is (?P<cuda>\d+\.\d+)",
        "The NVIDIA driver's CUDA version is 12.4 which is older than the ptxas CUDA version (12.5.40).",
        lambda m, s: DriverCuda(s, m["cuda"]),
    ),
    spoken(
        "driver-version",
        glued(("driver", "drivers"), AFTER_NAME),
        r"(?:nvidia |gpu |graphics |graphic |display |cuda )?drivers?(?: version)?"
        rf"{NAMED}{EMPHASIS}(?:nvidia[- ](?:driver[- ])?|geforce |v|version )?(?P<version>{_DRIVER})(?![\w])",
        "- Driver version: 390.87",
        driver(FORM),
    ),
    spoken(
        "driver-version",
        "driver",
        rf"(?:nvidia[- ])?drivers?\b[^\n.:|]{{0,24}}?[ (v-](?P<version>{_DRIVER})(?!\w|\.\w)"
        rf"|(?<![\w.])(?P<v2>{_DRIVER}) (?:nvidia )?drivers?\b|\bdrivers?(?: version| branch)?[ :=(]{{1,3}}"
        r"(?:nvidia[- ])?[Rv]?(?P<branch>3[4-9]\d|4\d\d|5\d\d)\b(?!\.?\d|[%-]| ?(?:[MG]i?B|W|MHz|ms|s)\b)",
        "newest gpu drivers (384.90)",
        said,
    ),
)
