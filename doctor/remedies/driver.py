"""How the NVIDIA driver comes onto a system. Everything here needs an administrator, and nothing of it is ever run."""

from __future__ import annotations

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
    steps = [shell(command, why, platform="linux", root=True), reboot]
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
    """The command line and why it is right for this distribution."""
    debian = any(word in name for word in DEBIAN)
    if last == "470":
        return {
            "apt": (
                "sudo apt install nvidia-tesla-470-driver" if debian else "sudo apt install nvidia-driver-470",
                "the last branch for this GPU, as the distribution packages it",
            ),
            "dnf": ("sudo dnf install akmod-nvidia-470xx", "the last branch for this GPU, from RPM Fusion"),
            "zypper": ("sudo zypper install nvidia-driver-G05-kmp-default", "the 470 branch, from NVIDIA's repository"),
        }.get(
            manager,
            ("sudo ubuntu-drivers install nvidia:470", "Ubuntu; on other distributions their package of branch 470"),
        )
    if debian and own and minimum and int(own) < int(minimum.split(".")[0]):
        return (
            "sudo apt install cuda-drivers",
            f"from NVIDIA's repository for the distribution (add it first): its own driver is of branch {own}, too old",
        )
    return {
        "apt": (
            "sudo apt install nvidia-driver",
            "installs the distribution's driver (with the non-free component enabled)",
        )
        if debian
        else ("sudo ubuntu-drivers install", "installs the newest driver that the distribution has for the GPU"),
        "dnf": ("sudo dnf install akmod-nvidia", "installs the driver (from RPM Fusion)")
        if "fedora" in name
        else (
            "sudo dnf install kmod-nvidia-latest-dkms",
            "installs the driver (from NVIDIA's repository for the distribution)",
        ),
        "zypper": (
            "sudo zypper install nvidia-driver-G06-kmp-default",
            "installs the driver (from NVIDIA's repository)",
        ),
        "pacman": ("sudo pacman -S nvidia", "installs the driver"),
    }.get(manager, ("sudo ubuntu-drivers install", "Ubuntu; on other distributions their own driver package"))


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
