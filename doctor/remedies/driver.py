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
_UBUNTU = ("ubuntu", "16.04", "18.04", "20.04", "22.04", "24.04", "26.04")
"""People also call an Ubuntu release by its number alone."""
_APPLIANCES = {
    "truenas": (
        "Turn on the NVIDIA driver in TrueNAS (Apps, Configuration, Settings, Install NVIDIA Drivers), and"
        " restart",
        "in TrueNAS, the driver belongs to the system's release: its file system is read-only, and it has no"
        " package manager",
        "Use a TrueNAS release before 25.10 (its driver has the closed kernel modules), or pass the GPU"
        " through to a virtual machine, and install the driver there",
        "the driver in TrueNAS 25.10 and later has only the open kernel modules; no package manager can"
        " replace it",
    ),
    "unraid": (
        "Install the plugin Nvidia Driver (Apps), choose a driver version on its settings page, and restart",
        "Unraid loads its system from a read-only image, so the plugin installs the driver at each start",
        "On the settings page of the plugin Nvidia Driver, choose a version that is not marked as open"
        " source, and restart",
        "Unraid loads its system from a read-only image, so the plugin installs the driver at each start",
    ),
}
"""For each system that installs the driver in its own way: the instruction, the reason for it, the
instruction for closed kernel modules, and the reason for that one. Sources: TrueNAS documentation,
"Installing the NVIDIA Driver"; notes of jailmaker 2.2.0 on TrueNAS 25.10; README of
unraid/unraid-nvidia-driver."""
_MANAGERS = {
    "apt": (*_UBUNTU, *DEBIAN, "mint", "pop", "elementary"),
    "dnf": ("centos", "red hat", "redhat", "rhel", "fedora", "rocky", "alma", "amazon", "oracle"),
    "zypper": ("suse", "sles"),
    "pacman": ("arch", "manjaro"),
}
"""Words in the names of the distributions that use a package manager."""


def as_root(command: Line, why: str) -> Step:
    """The step with a command for Linux that needs an administrator."""
    return shell(command, why, platform="linux", root=True)


def install(
    kind: str,
    name: str,
    manager: str,
    *,
    minimum: str = "",
    last: str = "",
    own: str = "",
    newer: str = "",
) -> list[Step]:
    """Steps that install or change the driver.

    kind: linux, wsl or windows. name: the distribution; manager: apt, dnf, zypper, pacman or "". minimum: the
    oldest driver that is new enough; last: the last branch that supports the GPU ("470"); own: the branch of
    the distribution's own package, "" if that package does not stay with one branch. newer: the installed
    driver, if it is newer than `last`.
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
    own_way = _appliance(name)
    if own_way is not None:
        how, reason, _, _ = own_way
        return [manual(how, f"{reason}; the driver must be {wanted}" if wanted else reason, platform="linux")]
    command, why = _command(name.lower(), manager, minimum, last, own, bool(newer))
    steps = [
        *(_away(manager, newer, last) if newer else ()),
        manual(command, why, platform="linux", root=True)
        if isinstance(command, str)
        else as_root(command, why),
        as_root(run("sudo", "reboot"), "loads the new kernel module"),
    ]
    if wanted:
        steps.append(
            shell(
                run("cat", "/proc/driver/nvidia/version"),
                f"after the restart: shows the version, which must be {wanted}",
                platform="linux",
            )
        )
    return steps


PACKAGES = (
    "^(libcuda1|nvidia-(compute-utils|dkms|driver|firmware|headless|kernel|open|smi|utils)(-.*)?"
    "|libnvidia-(cfg1|common|compute|decode|egl|encode|extra|fbc1|gl|ml1)(-.*)?|cuda-drivers(-.*)?)$"
)
"""Matches the driver's packages in Ubuntu, Debian and NVIDIA's repository. It is one pattern because apt
refuses a command with a pattern that matches no package."""


def _away(manager: str, version: str, last: str) -> list[Step]:
    """The steps that remove a driver that is too new for the GPU, and keep it from coming back: NVIDIA's
    repository has every branch, and an upgrade installs the newest (NVIDIA Driver Installation Guide,
    "Version Locking"). nvidia-uninstall belongs to NVIDIA's .run file."""
    again = f"afterwards, keep the system's updates from installing a branch after R{last} again"
    if manager in ("apt", ""):
        only = "" if manager else "on Ubuntu and Debian: "
        return [
            as_root(
                run("sudo", "apt", "remove", "--purge", PACKAGES),
                f"{only}removes driver {version}, and keeps NVIDIA's container toolkit; if the driver came"
                f" from NVIDIA's .run file, run sudo nvidia-uninstall instead; {again} (apt-mark hold)",
            )
        ]
    return [
        manual(
            f"Remove driver {version} with the package manager that installed it, or with sudo"
            " nvidia-uninstall if it came from NVIDIA's .run file",
            again,
            platform="linux",
            root=True,
        )
    ]


def _appliance(name: str) -> tuple[str, str, str, str] | None:
    """The row of a system that installs the driver in its own way; None for other systems."""
    return next((row for word, row in _APPLIANCES.items() if word in name.lower()), None)


def _wanted(minimum: str, last: str) -> str:
    if last and minimum:
        return f"{minimum} or newer (from branch R{last} or older)"
    if last:
        return f"from branch R{last} or older"
    return f"{minimum} or newer" if minimum else ""


def _command(
    name: str, manager: str, minimum: str, last: str, own: str, replacing: bool = False
) -> tuple[Line | str, str]:
    """Return the command that installs the driver, and the explanation to show beside it. If the work has to
    be done by hand, an instruction to the user replaces the command. name: the distribution, in lower case.
    manager, minimum, last, own: as for `install`. replacing: whether the new driver replaces one that is too
    new for the GPU."""
    debian = any(word in name for word in DEBIAN)
    if last and (found := _of_branch(name, manager, last, debian)):
        return found
    if debian and own and minimum and int(own) < int(minimum.split(".")[0]):
        return (
            run("sudo", "apt", "install", "cuda-drivers"),
            "from NVIDIA's repository for the distribution (add the repository first); the distribution's own"
            f" driver, branch {own}, is too old",
        )
    if manager == "apt" and debian:
        return (
            run("sudo", "apt", "install", "nvidia-driver"),
            "installs the distribution's driver (enable the component non-free first)",
        )
    if manager == "dnf" and "fedora" not in name:
        return _red_hat(_release(name))
    # ubuntu-drivers of Ubuntu 16.04 has only the older name of this command
    ubuntu = run("sudo", "ubuntu-drivers", "autoinstall" if "16.04" in name else "install")
    if replacing and last == "580" and manager in ("apt", ""):
        return (
            run("sudo", "apt", "install", "nvidia-driver-580"),
            f"for Ubuntu: the last branch for this GPU is R{last}, and this package (without -open) has the"
            " closed kernel modules, which GPUs before Turing need",
        )
    return {
        "apt": (ubuntu, "installs the newest driver that the distribution has for the GPU"),
        "dnf": (
            run("sudo", "dnf", "install", "akmod-nvidia"),
            "installs the driver (from RPM Fusion; add its nonfree repository first)",
        ),
        "zypper": (
            run("sudo", "zypper", "install", "nvidia-driver-G06-kmp-default"),
            "installs the driver (from NVIDIA's repository; add the repository first)",
        ),
        "pacman": (
            run("sudo", "pacman", "-S", "nvidia-open"),
            "installs the driver (for Turing and newer GPUs)",
        ),
    }.get(manager, (ubuntu, OTHERWISE))


def _release(name: str) -> int | None:
    """The major version in a distribution's name; None if the name contains no number."""
    number = re.search(r"\d+", name)
    return int(number[0]) if number else None


def _red_hat(release: int | None) -> tuple[Line, str]:
    """The command that installs the newest driver on Red Hat Enterprise Linux and its derivatives, and what
    the command does."""
    where = "from NVIDIA's repository for the distribution; add the repository first"
    why = f"installs the driver ({where}; for GPUs from Turing on)"
    if release is not None and release <= 7:  # also Amazon Linux 2
        return (
            run("sudo", "yum", "install", "nvidia-driver-latest-dkms"),
            f"installs the driver ({where})",
        )
    if release == 10:
        return run("sudo", "dnf", "install", "nvidia-open"), why
    return (
        sequence(
            run("sudo", "dnf", "module", "enable", "-y", "nvidia-driver:open-dkms"),
            run("sudo", "dnf", "install", "nvidia-open"),
        ),
        why,
    )


def _of_branch(name: str, manager: str, last: str, debian: bool) -> tuple[Line | str, str] | None:
    """The command for the last driver branch that supports a GPU, and the reason for it; None if the
    distribution's own package belongs to that branch or an older one."""
    why = f"the last branch for this GPU is R{last}"
    if manager == "pacman":
        aur = (
            f"Install the running kernel's headers, then build and install nvidia-{last}xx-dkms from the AUR"
        )
        return aur, why
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
                f"Install an NVIDIA driver of branch R{last} from NVIDIA's repository for the distribution,"
                " and keep it at that branch (NVIDIA Driver Installation Guide, Version Locking)",
                why,
            )
    if last != "470":
        return None
    if manager == "apt":
        package = "nvidia-tesla-470-driver" if debian else "nvidia-driver-470"
        return (
            run("sudo", "apt", "install", package),
            f"{why}; this is the distribution's package for that branch",
        )
    if manager == "zypper":
        return (
            run("sudo", "zypper", "install", "nvidia-driver-G05-kmp-default"),
            f"{why}; from NVIDIA's repository",
        )
    return (
        run("sudo", "ubuntu-drivers", "install", "nvidia:470"),
        f"{why}; this command is for Ubuntu (other distributions have their own package for this branch)",
    )


OTHERWISE = (
    "on Ubuntu: installs the newest driver that it has for the GPU; other distributions have their own driver"
    " package"
)
_OPEN_MODULES = "with the open kernel modules, which Blackwell and later GPUs require"


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
        return manual(f"Install the same driver {_OPEN_MODULES}", platform="linux", root=True)
    return as_root(line, f"the same driver {_OPEN_MODULES}")


def closed_modules(name: str, manager: str, last: str) -> list[Step]:
    """Steps that install the driver's closed kernel modules. last: the last driver branch that supports the
    GPU, "" if unknown. Ubuntu's packages nvidia-driver-NNN contain the closed ones, those with the ending
    -open the open ones; NVIDIA's installer chooses by the option -M (Driver Installation Guide, Kernel
    Modules)."""
    own_way = _appliance(name)
    if own_way is not None:
        _, _, how, reason = own_way
        return [manual(how, reason, platform="linux")]
    why = "GPUs before Turing need NVIDIA's closed (proprietary) kernel modules"
    if manager == "apt" and last and not any(word in name.lower() for word in DEBIAN):
        return [
            as_root(
                run("sudo", "apt", "install", f"nvidia-driver-{last}"),
                f"{why}; R{last} is the last branch for this GPU, and this package has its closed modules",
            ),
            as_root(run("sudo", "reboot"), "loads them"),
        ]
    branch = f"a driver of branch R{last} (the last one for this GPU)" if last else "a driver for this GPU"
    return [
        manual(
            f"Install {branch} with NVIDIA's closed (proprietary) kernel modules, and restart; NVIDIA's"
            " installer (.run) installs them with the option -M proprietary",
            why,
            platform="linux",
            root=True,
        )
    ]


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
        install = "-S" if manager == "pacman" else "install"
        why = "installs the kernel's headers, which are needed to build a module"
        steps.append(as_root(run("sudo", manager, install, package), why))
    akmods = tool == "akmods" or (manager == "dnf" and "fedora" in name.lower())
    build = run("sudo", "akmods", "--force") if akmods else run("sudo", "dkms", "autoinstall")
    why = "builds the module for the running kernel and loads it"
    return [*steps, as_root(sequence(build, run("sudo", "modprobe", "nvidia")), why)]


def without_nouveau(manager: str) -> Step:
    """The step that keeps nouveau from taking the GPU, even early in the boot."""
    image = {"dnf": ("dracut", "--force"), "zypper": ("dracut", "--force"), "pacman": ("mkinitcpio", "-P")}
    blacklist = run("sudo", "tee", "/etc/modprobe.d/blacklist-nouveau.conf")
    line = sequence(
        piped(run("echo", "blacklist nouveau"), blacklist),
        run("sudo", *image.get(manager, ("update-initramfs", "-u"))),
    )
    return as_root(line, "keeps nouveau from taking the GPU")


def enrol_key(key: str) -> list[Step]:
    """Steps that make Secure Boot accept the kernel module: they add the key that signed the module to the
    machine owner's keys. key: its path; "" if it is unknown."""
    make = run("sudo", "kmodgenca", "-a") if "akmods" in key else None
    enrol = run("sudo", "mokutil", "--import", key or "/var/lib/shim-signed/mok/MOK.der")
    why = "asks for a new password; type it again in the blue menu (Enroll MOK) at the next start"
    return [
        as_root(sequence(make, enrol) if make else enrol, why),
        as_root(run("sudo", "reboot"), "choose Enroll MOK in the menu that appears"),
        manual("Or turn Secure Boot off in the firmware's settings", platform="linux"),
    ]


def family(name: str) -> str:
    """The package manager of a distribution: apt, dnf, zypper or pacman; "" if it is unknown. name: the
    distribution's name."""
    low = name.lower()
    return next((manager for manager, words in _MANAGERS.items() if any(w in low for w in words)), "")
