"""Signatures of operating systems and platforms in programs' output, in forms and in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import FORM, INFERRED, PROSE, Fact, OperatingSystem, Platform, Source, Symptom
from doctor.logs.signatures.signature import Maker, Signature, glued, sig, spoken, words

_DISTRIBUTIONS = (
    *words(
        "ubuntu|xubuntu|kubuntu|lubuntu|ubantu|unbuntu|ubunto|debian|linux mint|mint|pop!_os|pop_os|pop! os"
    ),
    *words("elementary os|zorin os|kde neon|mx linux|lmde|deepin|uos|kylin|kali|parrot os|raspbian"),
    *words("raspberry pi os|centos linux|centos stream|centos|fedora|rhel|red hat enterprise linux|red hat"),
    *words("redhat|rocky linux|rocky|almalinux|oracle linux|scientific linux|amazon linux|openeuler|nobara"),
    *words("bazzite|suse linux enterprise server|suse linux enterprise|opensuse leap|opensuse tumbleweed"),
    *words("opensuse|sles|arch linux|manjaro|endeavouros|garuda linux|cachyos|gentoo|nixos|void linux"),
    *words("slackware|clear linux|alpine linux|proxmox|unraid|truenas scale|truenas"),
)
"""Linux distributions as people spell them. A longer name comes before a shorter one with which it begins."""
_DISTRIBUTION = "|".join(
    re.escape(name).replace(r"\ ", " ?" if name == "red hat" else " ") for name in _DISTRIBUTIONS
)


_OF_ANOTHER = lazy.compile(r"[,;] ?(?:cuda|cudnn|python|tensorflow|tf|gpu|driver|nvidia)\b", re.IGNORECASE)
"""Matches where another field begins in the same line."""


def system(rank: int) -> Maker:
    """Return a function that makes an OperatingSystem and a Platform from a match."""

    def make(match: re.Match[str], source: Source) -> Iterator[Fact]:
        if rank == PROSE and re.search(
            r"e\.g\.,?\s*(?:Linux )?$", match.string[max(0, match.start() - 16) : match.start()]
        ):
            return  # the example in the text of an issue form
        name = re.sub(r"\s+", " ", _OF_ANOTHER.split(match["name"])[0]).strip(" *_`'\".,;:()[]|-")[:60]
        if not name or re.match(r"(?i)(?:n/?a|none|no|yes|unknown|-)$", name):
            return
        lowered = name.lower()
        yield OperatingSystem(source, name, rank)
        if "wsl" in lowered:
            yield Platform(source, "wsl", rank=rank)
        elif re.search(r"\bwin(?:dows)?[\s_-]?(?:\d|xp|server|vista)|\bwindows\b|\bwin(?:32|64)\b", lowered):
            yield Platform(source, "windows", rank=rank)
        elif re.search(r"mac\s?os|os ?x|darwin|monterey|ventura|big sur|catalina|sonoma", lowered):
            yield Platform(source, "macos", rank=rank)
        elif re.search(rf"linux|suse|arch|alma|elementary|{_DISTRIBUTION}", lowered):
            yield Platform(source, "linux", rank=rank)

    return make


def release_file(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts about a distribution that is recognised by the form of its version alone."""
    name = next(key for key, value in match.groupdict().items() if value)
    yield OperatingSystem(
        source, f"{({'ubuntu': 'Ubuntu', 'debian': 'Debian', 'centos': 'CentOS Linux'})[name]} {match[name]}"
    )
    yield Platform(source, "linux")


def abroad(match: re.Match[str], source: Source) -> Fact:
    """Make a Platform from a system's name in a language other than English."""
    return Platform(source, next(name for name, found in match.groupdict().items() if found), rank=INFERRED)


_NOT_IN_WORD = "(?<![а-яёіїє])"
_IN = (
    r"\b(?:auf|unter|sous|sur|en|sul?|sotto|no|em|na|w|pod|di|trên|på|onder|op)"
    r"(?: (?:de[mn]?|mein(?:em)?|mon|mi|mio|meu|moim|mój|min|mijn|máy))?"
)
"""Matches a preposition before a system's name, in German, French, Spanish, Italian, Portuguese, Polish,
Indonesian, Vietnamese, Swedish or Dutch."""
_SYSTEMS = (
    rf"(?:(?:Linux )?(?:{_DISTRIBUTION})(?:[ -]?(?:\(?[a-z]{{4,10}}\)? )?v?\d{{1,2}}(?:\.\d{{1,2}}){{0,2}})?"
    r"(?: ?LTS| SP\d)?|Windows[ -]?(?:Server )?(?:7"
    r"|8(?:\.1)?|10|11|20\d\d|XP)(?: ?(?:Pro|Home|Enterprise|Education))?|Win ?(?:7|8|10|11)\b"
    r"|mac ?OS(?: X)?(?: [A-Z][a-z]+(?: [A-Z][a-z]+)?)?(?: ?\d{2}(?:\.\d+){0,2})?|OS ?X(?: ?\d+\.\d+)?)"
)


_DESCRIBED = (
    r"(?:Ubuntu|Debian|CentOS|Fedora|Red"
    r" Hat|RHEL|Linux|LMDE|Manjaro|openSUSE|SUSE|Pop!_OS|Rocky|Kali|Scientific|Oracle|elementary|Raspbian"
    r"|Zorin|Arch|AlmaLinux|Gentoo|Garuda|Endeavour|NixOS|Amazon|KDE|Deepin|UOS|Kylin|Parrot|MX)"
)
"""Matches the system's name after "Description:" in lsb_release's output, but not the text after
"Description:" at the top of a web page."""

SIGNATURES: tuple[Signature, ...] = (
    sig(  # only Arch Linux and what is made from it have this package manager
        "arch-linux",
        "pacman -",
        r"\bpacman -[SUQR]\w{0,4}\b",
        "sudo pacman -Syu",
        lambda m, s: (OperatingSystem(s, "Arch Linux", INFERRED), Platform(s, "linux", rank=INFERRED)),
    ),
    spoken(  # a Dockerfile of Alpine Linux
        "musl-libc",
        "apk add|alpine",
        r"\bapk add\b|^\s{0,4}FROM \S{0,80}alpine\S{0,20}|\bAlpine Linux\b",
        "RUN apk add --no-cache build-base",
        once=True,
    ),
    sig(
        "operating-system",
        (
            *("os platform", "operating system", "os version", "os  "),
            *glued(("os", "os "), ":：|*`_"),
            "os (",
        ),
        r"(?:^|[\s*_`>(|-])(?:OS Platform(?: and Distribution)?|Operating system(?: and version)?"
        r"|OS version|OS)(?: \((?:e\.g\.|for example)[^)\n]{0,60}\)?\)?)? ?[*_`]{0,3}(?: ?[:：]"
        r"| {0,30}\|)[ *_`-]{0,6}(?P<name>(?!Linux Ubuntu 16\.04\)|e\.g)[^\n]{2,80})",
        "- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): **windows 10**",
        system(FORM),
    ),
    sig(
        "operating-system",
        "os platform and distribution",
        r"OS Platform and Distribution[^\w\n]{0,10}\n\s*(?P<name>[^\s#:][^\n#:]{1,79})",
        "### OS Platform and Distribution\n\nLinux Ubuntu 22.04",
        system(FORM),
        lines=3,
        at="name",
    ),
    sig(
        "operating-system",
        "pretty_name=|description:|ubuntu-",
        rf"PRETTY_NAME=\"?(?P<name>[^\"\n]{{3,60}})|^Description:\s+(?P<n2>{_DESCRIBED}[^\n]{{0,50}})",
        'PRETTY_NAME="Ubuntu 20.04.6 LTS"',
        lambda m, s: (OperatingSystem(s, (m["name"] or m["n2"]).strip()), Platform(s, "linux")),
    ),
    sig(
        "operating-system",
        (
            *_DISTRIBUTIONS,
            *words("windows|win10|win 10|win11|win 11|win7|win 7|win8|win 8|macos|mac os|os x|osx"),
        ),
        rf"(?<!e\.g\., Linux )(?<!e\.g\., )(?<![\w/.-])(?P<name>{_SYSTEMS})(?![\w/])(?!,"
        r" ?(?:\.\.\.|…|etc\b))",
        "It happens on Ubuntu 20.04 only",
        system(PROSE),
    ),
    sig(  # from /etc/os-release, only the version, as TensorFlow's own collecting script prints it
        "operating-system",
        "version=",
        r"\bVERSION=\"?(?:(?P<ubuntu>\d\d\.(?:04|10)[\d.]*(?: LTS)?,? \(?[A-Z][a-z]+ [A-Z][a-z]+\)?)"
        r"|(?P<debian>\d{1,2} \((?:wheezy|jessie|stretch|buster|bullseye|bookworm|trixie)\))"
        r"|(?P<centos>\d \(Core\)))",
        'VERSION="18.04.3 LTS (Bionic Beaver)"',
        release_file,
    ),
    sig(
        "operating-system",
        "-ubuntu smp|-ubuntu|-kali|debian",
        r"#\d+[~.\d-]*-(?P<name>Ubuntu)\b|\d-(?P<n2>kali)\d",
        "Linux host 4.4.0-72-generic #93-Ubuntu SMP",
        lambda m, s: (OperatingSystem(s, m["name"] or m["n2"]), Platform(s, "linux")),
    ),
    sig(
        "virtual-machine",
        "virtualbox|vmware|proxmox|qemu|kvm|hyper-v|parallels|virtual machine|vm|虚拟机|виртуалк",
        r"\b(?:VirtualBox|VMware|Proxmox|QEMU|KVM|Hyper-V|Parallels|virtual machine|VMs?)\b|虚拟机|виртуалк",
        "inside VirtualBox on Windows 10",
        once=True,
    ),
    sig(  # counts only if nothing else states the system
        "platform-abroad",
        (
            *words(
                "windows|винд|вінд|윈도|ウィンドウズ|ウインドウズ|视窗|linux|линукс|лінукс|убунт|리눅스|우분투"
            ),
            *words("リナックス|乌班图| mac|mac |mac'|mac에|макбук|на мо|маке|маку|맥북|맥에|マックブック"),
            *words("macで|mac上|mac电脑|mac系统"),
            "苹果",
        ),
        rf"(?P<windows>{_IN} windows\b(?! subsystem)|\bwindows(?:'[dt][ae]|owsie)\b"
        r"|windows ?(?:で|上|下|系统|电脑|機|에서|环境|環境)|윈도우?|ウ[ィイ]ンドウズ|视窗"
        rf"|{_NOT_IN_WORD}в[иі]нд(?:а|е|у|ы|и|і|ой|ою|овс)(?![а-яёіїє]))"
        rf"|(?P<linux>{_IN} linux\b|\blinux(?:'[dt][ae]|ie)\b|linux ?(?:で|上|下|系统|에서|环境|環境)"
        rf"|{_NOT_IN_WORD}(?:линукс|лінукс|убунт)|리눅스|우분투|リナックス|乌班图)"
        rf"|(?P<macos>{_IN} mac(?:book)?\b|\bmac'[dt][ae]\b|mac ?(?:で|上|에서|电脑|系统)"
        rf"|{_NOT_IN_WORD}(?:макбук|на (?:моём |моем |моєму )?мак[еу](?![а-яёіїє]))"
        r"|맥북|맥에서|マックブック|苹果(?:电脑|笔记本|本|系统))",
        "Поставив на вінду TensorFlow 2.12",
        abroad,
        once=True,
    ),
    spoken(
        "wsl1",
        "wsl 1|wsl1|-microsoft",
        r"(?:^|[\s,(:])WSL ?1(?=[,;)]| (?:on|with|under|ubuntu|debian)\b)|\b4\.4\.0-\d{5}-Microsoft\b",
        "Linux DESKTOP 4.4.0-19041-Microsoft #1237 x86_64 GNU/Linux",
    ),
    spoken(  # the name of WSL when only the first version existed
        "wsl1",
        "bash on ",
        r"\bbash on (?:ubuntu on )?windows\b",
        "Bash on Ubuntu on Windows",
        lambda m, s: (Symptom(s, "wsl1"), Platform(s, "wsl", rank=PROSE)),
        near="windows",
    ),
)
