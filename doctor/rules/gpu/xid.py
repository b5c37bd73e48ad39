"""The meaning of an Xid, an error number of the NVIDIA driver in the kernel's log.

Source: NVIDIA, "Xid Errors", table of Xids with their possible causes, and its section on working with them.
"""

from __future__ import annotations

from doctor.facts import Symptom
from doctor.findings import Step, manual, shell
from doctor.shell import run
from doctor.values import dataclass

OF_PROGRAMS = ("13", "31", "43", "45", "68", "69")
"""Xids that a program causes: an exception or page fault in its kernels, or its termination afterwards."""


@dataclass(frozen=True)
class Meaning:
    """What an Xid means (a clause), and the steps to take."""

    says: str
    do: tuple[str, ...]


RESET = (
    "Stop the programs that use the GPU and restart the machine (or reset that GPU: sudo nvidia-smi "
    "--gpu-reset -i INDEX)"
)
VENDOR = "If the error comes back, return the card to its vendor"
DRIVER = "Install the newest driver in the installed branch"
FIRMWARE = f"{DRIVER}, which includes the GSP firmware"
OF_HARDWARE = {
    "48": Meaning("a double-bit error in the GPU's memory, which ECC cannot correct", (RESET, VENDOR)),
    "62": Meaning("the GPU's internal controller halted", (RESET, DRIVER, VENDOR)),
    "63": Meaning("a row of the GPU's memory is about to be replaced by a spare one", (RESET,)),
    "64": Meaning("a row of the GPU's memory could not be replaced by a spare one", (RESET, VENDOR)),
    "74": Meaning("an NVLink connection failed", (RESET, "Check the bridge or the NVSwitch's log", VENDOR)),
    "79": Meaning(
        "the GPU fell off the bus",
        (
            "Switch the machine off and on again",
            "Check the GPU's power cables, its slot and its temperature",
            VENDOR,
        ),
    ),
    "94": Meaning(
        "an error in the GPU's memory that ended only the affected program",
        ("Start that program again; reset the GPU when nothing uses it", VENDOR),
    ),
    "95": Meaning(
        "an error in the GPU's memory that may have affected every program on the GPU", (RESET, VENDOR)
    ),
    "119": Meaning("the GPU's system processor (GSP) did not answer the driver", (RESET, FIRMWARE, VENDOR)),
    "120": Meaning("the GPU's system processor (GSP) failed", (RESET, FIRMWARE, VENDOR)),
}


def of_machine(xids: list[Symptom]) -> list[Symptom]:
    """The Xids that point to the machine rather than to a program, including an Xid without a number."""
    return [xid for xid in xids if xid.get("xid") not in OF_PROGRAMS]


def of_programs(xids: list[Symptom]) -> list[Symptom]:
    """The Xids that programs cause."""
    return [xid for xid in xids if xid.get("xid") in OF_PROGRAMS]


def meanings(xids: list[Symptom]) -> str:
    """One sentence, with a leading space, for each Xid with a known meaning."""
    known = [(xid.get("xid"), OF_HARDWARE[xid.get("xid")]) for xid in xids if xid.get("xid") in OF_HARDWARE]
    return "".join(f" Xid {number}: {meaning.says}." for number, meaning in known)


def steps(xids: list[Symptom]) -> list[Step]:
    """The steps for these Xids, in NVIDIA's order; empty if no Xid's meaning is known."""
    known = [OF_HARDWARE[xid.get("xid")] for xid in xids if xid.get("xid") in OF_HARDWARE]
    texts = dict.fromkeys(text for meaning in known for text in meaning.do)
    if not texts:
        return []
    why = "shows each GPU's state, its memory errors and its pending row replacements"
    look = shell(run("nvidia-smi", "-q"), why)
    return [*(manual(text) for text in texts), look]
