"""Tests how the driver is installed on each distribution, and that it is not newer than the last branch that
supports the GPU."""

from __future__ import annotations

import itertools
import subprocess

import pytest

from doctor.remedies.driver import family, install
from tests.sampling import each

SYSTEMS = (
    "Ubuntu 24.04",
    "Debian 12",
    "Rocky Linux 9",
    "Red Hat Enterprise Linux 10",
    "CentOS 7",
    "Amazon Linux 2023",
    "Fedora 41",
    "openSUSE Leap 15.6",
    "Arch Linux",
    "Gentoo",
    "",
)


def first(system: str, last: str = "") -> str:
    """Return the first step for a GPU whose last driver branch is given."""
    return install(
        "linux", system, family(system), minimum="525.60.13" if last != "470" else "450.80.02", last=last
    )[0].text


@pytest.mark.parametrize(
    ("system", "newest", "last_580", "last_470"),
    [
        (
            "Rocky Linux 9",
            "sudo dnf module enable -y nvidia-driver:open-dkms && sudo dnf install nvidia-open",
            "sudo dnf module install nvidia-driver:580-dkms",
            "sudo dnf install akmod-nvidia-470xx",
        ),
        (
            "CentOS 7",
            "sudo yum install nvidia-driver-latest-dkms",
            "sudo yum install nvidia-driver-latest-dkms",
            "sudo yum install akmod-nvidia-470xx",
        ),
        ("Arch Linux", "sudo pacman -S nvidia-open", "nvidia-580xx-dkms", "nvidia-470xx-dkms"),
        (
            "Debian 12",
            "sudo apt install nvidia-driver",
            "sudo apt install nvidia-driver",
            "sudo apt install nvidia-tesla-470-driver",
        ),
        ("Fedora 41", "sudo dnf install akmod-nvidia", "branch R580", "sudo dnf install akmod-nvidia-470xx"),
    ],
)
def test_driver_of_the_branch_that_serves_the_gpu(
    system: str, newest: str, last_580: str, last_470: str
) -> None:
    """The last branch for Pascal is 580, and for Kepler 470. The newest driver in a rolling-release
    distribution supports neither."""
    assert first(system) == newest
    assert last_580 in first(system, "580")
    assert last_470 in first(system, "470")


@each("name", ["Ubuntu 24.04.2 LTS", "20.04", "24.04 LTS", "Debian 12", "Linux Mint 21"])
def test_people_call_an_ubuntu_release_by_its_number(name: str) -> None:
    assert family(name) == "apt"


@each("system, last", itertools.product(SYSTEMS, ["", "580", "470"]))
def test_every_command_parses_needs_an_administrator_and_is_checked_after_the_restart(
    system: str, last: str
) -> None:
    steps = install("linux", system, family(system), minimum="450.80.02", last=last)
    assert steps[0].needs_root
    for step in steps:
        if step.kind == "shell":
            assert subprocess.run(["sh", "-n"], input=step.text, text=True, check=False).returncode == 0
        else:
            assert not step.text.startswith("sudo")
    assert steps[1].text == "sudo reboot"
    assert steps[2].text == "cat /proc/driver/nvidia/version"
    assert not last or f"R{last}" in steps[2].why
