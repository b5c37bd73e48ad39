"""gpu-powered-off: software has switched the built-in GPU off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Symptom
from doctor.findings import Finding, Step, manual
from doctor.rules.gpu.registered import registered
from doctor.rules.linux import as_root, on_linux
from doctor.rules.registry import found, rule
from doctor.shell import piped, run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "gpu-powered-off",
    "The GPU is switched off by software",
    explains=(
        "gpu-absent",
        "driver-not-loaded",
        "driver-missing",
        "gpu-bad-state",
        "gpu-hidden",
        "device-permission",
    ),
    needs=("gpu-switched-off",),
)
def gpu_powered_off(case: Case) -> Iterator[Finding]:
    """Software has switched the GPU off.

    ## What it means
    Software on a laptop switched its NVIDIA GPU off to save power (prime-select intel, bbswitch, supergfxctl
    in integrated mode, EnvyControl, system76-power, vgaswitcheroo), or removed the device from the bus. The
    driver may be installed but finds no GPU.

    ## What you see
    `prime-select query` prints `intel`; /proc/acpi/bbswitch says OFF; lspci shows the device with `rev ff`,
    or not at all.

    ## What to do
    Switch the GPU on with the program that switched it off, then restart. With Bumblebee, start the program
    with `optirun`.
    """
    off = case.facts.symptoms("gpu-switched-off")
    if not off or registered(case) or any(s.get("count") != "0" for s in case.facts.symptoms("cuda-devices")):
        return
    if any(s.get("by3") for s in off):
        yield _by_bumblebee(off)
        return
    by = off[0].get("by") or off[0].get("by2")
    restart = "turns the NVIDIA GPU on; restart afterwards"
    tools = {
        "prime-select": as_root(run("sudo", "prime-select", "nvidia"), restart),
        "supergfxctl": on_linux(run("supergfxctl", "-m", "Hybrid"), restart),
        "system76-power": as_root(run("sudo", "system76-power", "graphics", "hybrid"), restart),
        "envycontrol": as_root(run("sudo", "envycontrol", "-s", "hybrid"), restart),
        "vgaswitcheroo": _written("/sys/kernel/debug/vgaswitcheroo/switch"),
        "bbswitch": _written("/proc/acpi/bbswitch"),
    }
    other = manual(
        "Switch the GPU on with the program that switched it off (prime-select, supergfxctl, the BIOS), then"
        " restart",
        platform="linux",
    )
    yield found(
        "gpu-powered-off",
        "The machine's NVIDIA GPU is switched off, so the driver finds no device.",
        [*off[:3], *case.gpus[:1]],
        confidence="certain" if by else "likely",
        steps=[tools.get(by, other)],
        verify=run("nvidia-smi"),
    )


def _by_bumblebee(off: list[Symptom]) -> Finding:
    """Return the finding for a GPU that Bumblebee has switched off, which is its normal state: optirun
    switches the GPU on for one program (Bumblebee's README, "Usage")."""
    return found(
        "gpu-powered-off",
        "Bumblebee keeps the NVIDIA GPU off, and switches it on only for programs that optirun starts.",
        [s for s in off if s.get("by3")][:2],
        title="Bumblebee keeps the GPU off until optirun starts a program",
        confidence="likely",
        steps=[
            on_linux(run("optirun", "python3", "program.py"), "starts the program with the GPU switched on"),
            manual(
                "If the GPU is to be on all the time, uninstall the packages bumblebee and bbswitch-dkms,"
                " then restart",
                platform="linux",
            ),
        ],
        verify=run("optirun", "nvidia-smi"),
    )


def _written(path: str) -> Step:
    """Return the step that switches the GPU on by writing ON to a kernel file."""
    switch = piped(run("echo", "ON"), run("sudo", "tee", path))
    return as_root(switch, "switches the GPU on until the next restart")
