"""How the NVIDIA driver comes onto a system. Everything here needs an administrator, and nothing of it is ever run.

Sources of the commands: NVIDIA Driver Installation Guide 620, Kernel Modules, table "Open GPU kernel module installation"
(dnf); NVIDIA/yum-packaging-nvidia-driver, guides for RHEL 7 and 8 (the streams XXX-dkms stay with a branch; RHEL 7 has the
flavour latest-dkms); Arch Linux news of December 2025, "NVIDIA 590 driver drops Pascal and lower support".
"""

from __future__ import annotations

import re

from doctor.findings import Step, manual, shell

DEBIAN = ("debian", "kali", "raspbian")


def install(kind: str, name: str, manager: str, *, minimum: str = "", last: str = "", own: str = "") -> list[Step]:
    """Steps that install or change the driver.

    kind: linux, wsl or windows. name: the distribution; manager: apt, dnf, zypper, pacman or "". minimum: the lowest
    driver that will do; last: the last branch that serves the GPU ("470"); own: the branch of the distribution's own
    package where it stays with one.
    """
    wanted = _wanted(minimum, last)
    if kind in ("windows", "wsl"):
        where = "on Windows, outside WSL; install no Linux driver inside WSL" if kind == "wsl" else "on Windows"
        newest = f"an NVIDIA driver {wanted}" if wanted else "the newest NVIDIA driver"
        return [
            manual(
                f"Install {newest} for the GPU {where} (NVIDIA's driver download page), then restart",
                "the driver is the only part that pip and conda cannot bring",
                platform=kind,
                root=True,
            )
        ]
    reboot = shell("sudo reboot", "loads the new kernel module", platform="linux", root=True)
    command, why = _command(name.lower(), manager, minimum, last, own)
    by_hand = not command.startswith("sudo ")
    steps = [manual(command, why, platform="linux", root=True) if by_hand else shell(command, why, platform="linux", root=True), reboot]
    if wanted:
        steps.append(
            shell("cat /proc/driver/nvidia/version", f"after the restart: it has to be {wanted}", platform="linux")
        )
    return steps


def _wanted(minimum: str, last: str) -> str:
    if last and minimum:
        return f"{minimum} or newer, of branch R{last} at most"
    if last:
        return f"of branch R{last} at most"
    return f"{minimum} or newer" if minimum else ""


def _command(name: str, manager: str, minimum: str, last: str, own: str) -> tuple[str, str]:
    """The command line and why it is right for this distribution; a sentence where it has to be done by hand."""
    debian = any(word in name for word in DEBIAN)
    if last and (found := _of_branch(name, manager, last, debian)):
        return found
    if debian and own and minimum and int(own) < int(minimum.split(".")[0]):
        return (
            "sudo apt install cuda-drivers",
            f"from NVIDIA's repository for the distribution (add it first): its own driver is of branch {own}, too old",
        )
    if manager == "dnf" and "fedora" not in name:
        return _red_hat(_release(name))
    return {
        "apt": (
            "sudo apt install nvidia-driver",
            "installs the distribution's driver (with the non-free component enabled)",
        )
        if debian
        else ("sudo ubuntu-drivers install", "installs the newest driver that the distribution has for the GPU"),
        "dnf": ("sudo dnf install akmod-nvidia", "installs the driver (from RPM Fusion)"),
        "zypper": (
            "sudo zypper install nvidia-driver-G06-kmp-default",
            "installs the driver (from NVIDIA's repository)",
        ),
        "pacman": ("sudo pacman -S nvidia-open", "installs the driver (for GPUs from Turing on)"),
    }.get(manager, ("sudo ubuntu-drivers install", "Ubuntu; on other distributions their own driver package"))


def _release(name: str) -> int | None:
    """The major version in a distribution's name."""
    number = re.search(r"\d+", name)
    return int(number[0]) if number else None


def _red_hat(release: int | None) -> tuple[str, str]:
    """The newest driver on Red Hat's system and its kin."""
    where = "installs the driver (from NVIDIA's repository for the distribution; for GPUs from Turing on)"
    if release is not None and release <= 7:  # Amazon Linux 2 as well
        return "sudo yum install nvidia-driver-latest-dkms", "installs the driver (from NVIDIA's repository for the distribution)"
    if release == 10:
        return "sudo dnf install nvidia-open", where
    return "sudo dnf module enable -y nvidia-driver:open-dkms && sudo dnf install nvidia-open", where


def _of_branch(name: str, manager: str, last: str, debian: bool) -> tuple[str, str] | None:
    """The last branch that serves a GPU; None where what the distribution installs by itself is that or older."""
    why = f"the last branch for this GPU is R{last}"
    if manager == "pacman":
        return f"Build and install nvidia-{last}xx-dkms from the AUR, with headers for the kernel in use", why
    if manager == "dnf" and last == "470":
        tool = "yum" if (_release(name) or 8) <= 7 else "dnf"
        return f"sudo {tool} install akmod-nvidia-470xx", f"{why}; from RPM Fusion"
    if manager == "dnf":
        release = None if "fedora" in name else _release(name)
        if release in (8, 9, 2023):
            return f"sudo dnf module install nvidia-driver:{last}-dkms", f"{why}; from NVIDIA's repository for the distribution"
        if release is None or release > 7:
            return (
                f"Install an NVIDIA driver of branch R{last} from NVIDIA's repository for the distribution, and hold it there "
                "(NVIDIA Driver Installation Guide, Version Locking)",
                why,
            )
    if last == "470":
        return {
            "apt": ("sudo apt install nvidia-tesla-470-driver" if debian else "sudo apt install nvidia-driver-470",
                    f"{why}, as the distribution packages it"),
            "zypper": ("sudo zypper install nvidia-driver-G05-kmp-default", f"{why}; from NVIDIA's repository"),
        }.get(manager, ("sudo ubuntu-drivers install nvidia:470", f"{why}; Ubuntu; on other distributions their package of it"))  # fmt: skip
    return None


def family(name: str) -> str:
    """apt, dnf, zypper or pacman for a distribution's name; empty where it is not known."""
    low = name.lower()
    for words, manager in (
        (
            ("ubuntu", "debian", "mint", "pop", "kali", "raspbian", "elementary", "16.04", "18.04", "20.04", "22.04"),
            "apt",
        ),
        (("centos", "red hat", "redhat", "rhel", "fedora", "rocky", "alma", "amazon", "oracle"), "dnf"),
        (("suse", "sles"), "zypper"),
        (("arch", "manjaro"), "pacman"),
    ):
        if any(word in low for word in words):
            return manager
    return ""
