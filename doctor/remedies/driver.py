"""Steps that install the NVIDIA driver. All of them need an administrator; the tool never runs them.

Sources of the commands: NVIDIA Driver Installation Guide 620, Kernel Modules, table "Open GPU kernel module
installation" (dnf); NVIDIA/yum-packaging-nvidia-driver, guides for RHEL 7 and 8 (the streams XXX-dkms stay
with a branch; RHEL 7 has the flavour latest-dkms); Arch Linux news of December 2025, "NVIDIA 590 driver drops
Pascal and lower support".
"""

from __future__ import annotations

import re

from doctor.findings import Step, manual, shell
from doctor.shell import Line, piped, run, sequence

DEBIAN = ("debian", "kali", "raspbian")


def install(
    kind: str, name: str, manager: str, *, minimum: str = "", last: str = "", own: str = ""
) -> list[Step]:
    """Steps that install or change the driver.

    kind: linux, wsl or windows. name: the distribution; manager: apt, dnf, zypper, pacman or "". minimum: the
    oldest driver that is new enough; last: the last branch that supports the GPU ("470"); own: the branch of
    the distribution's own package, "" if that package does not stay with one branch.
    """
    wanted = _wanted(minimum, last)
    if kind in ("windows", "wsl"):
        newest = f"an NVIDIA driver {wanted}" if wanted else "the newest NVIDIA driver"
        return [
            manual(
                f"Install {newest} for the GPU on Windows (from NVIDIA's driver download page), then restart"
                f" Windows{'. Install no Linux driver inside WSL' if kind == 'wsl' else ''}",
                "the driver is the only part that pip and conda cannot install",
                platform="windows",
                root=True,
            )
        ]
    reboot = shell(run("sudo", "reboot"), "loads the new kernel module", platform="linux", root=True)
    command, why = _command(name.lower(), manager, minimum, last, own)
    if isinstance(command, str):
        steps = [manual(command, why, platform="linux", root=True), reboot]
    else:
        steps = [shell(command, why, platform="linux", root=True), reboot]
    if wanted:
        steps.append(
            shell(
                run("cat", "/proc/driver/nvidia/version"),
                f"after the restart: the version must be {wanted}",
                platform="linux",
            )
        )
    return steps


def _wanted(minimum: str, last: str) -> str:
    if last and minimum:
        return f"{minimum} or newer (from branch R{last} or older)"
    if last:
        return f"from branch R{last} or older"
    return f"{minimum} or newer" if minimum else ""


def _command(name: str, manager: str, minimum: str, last: str, own: str) -> tuple[Line | str, str]:
    """The command that installs the driver, and the reason for it on this distribution. If the work has to be
    done by hand, an instruction to the user replaces the command."""
    debian = any(word in name for word in DEBIAN)
    if last and (found := _of_branch(name, manager, last, debian)):
        return found
    if debian and own and minimum and int(own) < int(minimum.split(".")[0]):
        return (
            run("sudo", "apt", "install", "cuda-drivers"),
            (
                "from NVIDIA's repository for the distribution (add the repository first); the distribution's"
                f" own driver, branch {own}, is too old"
            ),
        )
    if manager == "dnf" and "fedora" not in name:
        return _red_hat(_release(name))
    return {
        "apt": (
            (
                run("sudo", "apt", "install", "nvidia-driver"),
                "installs the distribution's driver (enable the component non-free first)",
            )
            if debian
            else (
                run("sudo", "ubuntu-drivers", "install"),
                "installs the newest driver that the distribution has for the GPU",
            )
        ),
        "dnf": (run("sudo", "dnf", "install", "akmod-nvidia"), "installs the driver (from RPM Fusion)"),
        "zypper": (
            run("sudo", "zypper", "install", "nvidia-driver-G06-kmp-default"),
            "installs the driver (from NVIDIA's repository)",
        ),
        "pacman": (
            run("sudo", "pacman", "-S", "nvidia-open"),
            "installs the driver (for Turing and newer GPUs)",
        ),
    }.get(
        manager,
        (
            run("sudo", "ubuntu-drivers", "install"),
            "for Ubuntu; other distributions have their own driver package",
        ),
    )


def _release(name: str) -> int | None:
    """The major version in a distribution's name; None if the name contains no number."""
    number = re.search(r"\d+", name)
    return int(number[0]) if number else None


def _red_hat(release: int | None) -> tuple[Line, str]:
    """The command that installs the newest driver on Red Hat Enterprise Linux and its derivatives, and what
    the command does."""
    where = "installs the driver (from NVIDIA's repository for the distribution; for GPUs from Turing on)"
    if release is not None and release <= 7:  # also Amazon Linux 2
        return (
            run("sudo", "yum", "install", "nvidia-driver-latest-dkms"),
            "installs the driver (from NVIDIA's repository for the distribution)",
        )
    if release == 10:
        return run("sudo", "dnf", "install", "nvidia-open"), where
    return (
        sequence(
            run("sudo", "dnf", "module", "enable", "-y", "nvidia-driver:open-dkms"),
            run("sudo", "dnf", "install", "nvidia-open"),
        ),
        where,
    )


def _of_branch(name: str, manager: str, last: str, debian: bool) -> tuple[Line | str, str] | None:
    """The command for the last driver branch that supports a GPU, and the reason for it; None if the
    distribution's own package belongs to that branch or an older one."""
    why = f"the last branch for this GPU is R{last}"
    if manager == "pacman":
        return f"Build and install nvidia-{last}xx-dkms from the AUR, and the running kernel's headers", why
    if manager == "dnf" and last == "470":
        tool = "yum" if (_release(name) or 8) <= 7 else "dnf"
        return run("sudo", tool, "install", "akmod-nvidia-470xx"), f"{why}; from RPM Fusion"
    if manager == "dnf":
        release = None if "fedora" in name else _release(name)
        if release in (8, 9, 2023):
            return (
                run("sudo", "dnf", "module", "install", f"nvidia-driver:{last}-dkms"),
                f"{why}; from NVIDIA's repository for the distribution",
            )
        if release is None or release > 7:
            return (
                (
                    f"Install an NVIDIA driver of branch R{last} from NVIDIA's repository for the"
                    " distribution, and keep it at that branch (NVIDIA Driver Installation Guide, Version"
                    " Locking)"
                ),
                why,
            )
    if last == "470":
        if manager == "apt":
            package = "nvidia-tesla-470-driver" if debian else "nvidia-driver-470"
            why += "; this is the distribution's package for that branch"
            return run("sudo", "apt", "install", package), why
        if manager == "zypper":
            opensuse = run("sudo", "zypper", "install", "nvidia-driver-G05-kmp-default")
            return opensuse, f"{why}; from NVIDIA's repository"
        ubuntu = run("sudo", "ubuntu-drivers", "install", "nvidia:470")
        return ubuntu, f"{why}; for Ubuntu (other distributions have their own package of this branch)"
    return None


OPEN_MODULES = "with the open kernel modules, which Blackwell and later GPUs require"


def open_modules(name: str, manager: str, branch: str) -> Step:
    """The step that installs the driver's open kernel modules. branch: the branch of the installed driver
    ("570")."""
    low = name.lower()
    if manager == "apt" and not any(word in low for word in DEBIAN) and branch:
        line: Line = run("sudo", "apt", "install", f"nvidia-driver-{branch}-open")
    elif manager == "apt":
        line = run("sudo", "apt", "install", "nvidia-open-kernel-dkms")
    elif manager == "dnf" and "fedora" in low:
        flag = piped(
            run("echo", "%_with_kmod_nvidia_open 1"), run("sudo", "tee", "/etc/rpm/macros-nvidia-kmod")
        )
        line = sequence(flag, run("sudo", "akmods", "--force", "--rebuild"))
    elif manager == "dnf":
        line = run("sudo", "dnf", "install", "nvidia-open")
    elif manager == "zypper":
        line = run("sudo", "zypper", "install", "nvidia-open-driver-G06-signed-kmp-default")
    elif manager == "pacman":
        line = run("sudo", "pacman", "-S", "nvidia-open")
    else:
        return manual(f"Install the same driver {OPEN_MODULES}", platform="linux", root=True)
    return shell(line, f"the same driver {OPEN_MODULES}", platform="linux", root=True)


def build_module(tool: str, name: str, manager: str, release: str, headers: bool) -> list[Step]:
    """Steps that rebuild NVIDIA's kernel module for the running kernel.

    tool: dkms or akmods. release: the running kernel's release ("6.8.0-45-generic"). headers: whether the
    kernel's headers are installed.
    """
    steps = []
    package = {
        "apt": f"linux-headers-{release}",
        "dnf": f"kernel-devel-{release}",
        "zypper": "kernel-default-devel",
        "pacman": "linux-headers",
    }.get(manager)
    if not headers and package:
        install = {"pacman": "-S"}.get(manager, "install")
        why = "installs the kernel's headers, which are needed to build a module"
        steps.append(shell(run("sudo", manager, install, package), why, platform="linux", root=True))
    akmods = tool == "akmods" or (manager == "dnf" and "fedora" in name.lower())
    build = run("sudo", "akmods", "--force") if akmods else run("sudo", "dkms", "autoinstall")
    why = "builds the module for the running kernel and loads it"
    steps.append(shell(sequence(build, run("sudo", "modprobe", "nvidia")), why, platform="linux", root=True))
    return steps


def without_nouveau(manager: str) -> Step:
    """The step that keeps nouveau from taking the GPU, even early in the boot."""
    image = {"dnf": ("dracut", "--force"), "zypper": ("dracut", "--force"), "pacman": ("mkinitcpio", "-P")}
    blacklist = run("sudo", "tee", "/etc/modprobe.d/blacklist-nouveau.conf")
    line = sequence(
        piped(run("echo", "blacklist nouveau"), blacklist),
        run("sudo", *image.get(manager, ("update-initramfs", "-u"))),
    )
    return shell(line, "keeps nouveau from taking the GPU", platform="linux", root=True)


def enrol_key(key: str) -> list[Step]:
    """Steps that make Secure Boot accept the kernel module: they add the key that signed the module to the
    machine owner's keys. key: its path; "" if it is unknown."""
    make = run("sudo", "kmodgenca", "-a") if "akmods" in key else None
    enrol = run("sudo", "mokutil", "--import", key or "/var/lib/shim-signed/mok/MOK.der")
    where = "asks for a new password; type it again in the blue menu (Enroll MOK) at the next start"
    return [
        shell(sequence(make, enrol) if make else enrol, where, platform="linux", root=True),
        shell(
            run("sudo", "reboot"), "choose Enroll MOK in the menu that appears", platform="linux", root=True
        ),
        manual("Or turn Secure Boot off in the firmware's settings", platform="linux"),
    ]


def family(name: str) -> str:
    """apt, dnf, zypper or pacman for a distribution's name; empty if unknown."""
    low = name.lower()
    for words, manager in (
        (
            (
                "ubuntu",
                "debian",
                "mint",
                "pop",
                "kali",
                "raspbian",
                "elementary",
                "16.04",
                "18.04",
                "20.04",
                "22.04",
            ),
            "apt",
        ),
        (("centos", "red hat", "redhat", "rhel", "fedora", "rocky", "alma", "amazon", "oracle"), "dnf"),
        (("suse", "sles"), "zypper"),
        (("arch", "manjaro"), "pacman"),
    ):
        if any(word in low for word in words):
            return manager
    return ""
