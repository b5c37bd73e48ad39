"""Signatures of operating systems and platforms in programs' output, in forms and in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import FORM, INFERRED, MEASURED, PROSE, Fact, OperatingSystem, Platform, Source, Symptom
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


def platform(name: str, rank: int = MEASURED) -> Maker:
    """Return a function that makes a Platform from a match."""

    def make(match: object, source: Source) -> Fact:
        return Platform(source, name, rank=rank)

    return make


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
    # uv prints its platform, and then the platforms of the wheels, which do not show the platform of the
    # machine
    sig(
        "platform-uv",
        "you're on ",
        r"\bYou're on (?P<system>Linux|macOS|Windows)"
        r" \(`(?:\w+?_)?(?P<machine>x86_64|amd64|arm64|aarch64)`\)",
        "hint: You're on macOS (`macosx_15_0_x86_64`), but `tensorflow` (v2.18.0) only has wheels for the"
        " following platforms",
        lambda m, s: Platform(s, m["system"].lower(), m["machine"].lower()),
    ),
    sig(
        "platform-windows",
        ":\\|.dll|\\lib\\site-packages| .\\tensorflow/|win_amd64|on win32| mingw64 | mingw32 ",
        r"(?<![\w/])[A-Za-z]:\\\w[\w.-]{0,40}\.[a-z]\w{1,3}\b|\b[A-Z]:\\+(?:Users|Program"
        r"|Windows|Python|Anaconda|ProgramData|\w+\\)|\\lib\\site-packages| \.\\tensorflow/[ct]"
        r"|cu\w+64_\d+\.dll|(?:nvcuda|msvcp140(?:_1)?|vcruntime140(?:_1)?)\.dll"
        r"|(?<!`)\bwin_amd64\b|\] on win32| MINGW(?:64|32) [~/]",
        r"C:\Users\me\anaconda3\lib\site-packages\tensorflow\__init__.py",
        platform("windows"),
        once=True,
    ),
    sig(
        "platform-macos",
        "/users/|macosx|apple silicon|apple m1|apple m2|m1 mac|m1 chip|.dylib|homebrew|on darwin|apple m|"
        "m1 |m2 |m3 |m4 |macbook|mac m|mbp m|mac pro|-darwin.so|dlopen(/",
        # dyld(3) ends the arguments of dlopen with the mode; CPython's modules are named after the system
        r"\bcpython-\d{2,3}m?-darwin\.so\b|\bdlopen\(/[^\n()]{1,200}, (?:0x)?\d{1,4}\): "
        r"|(?<!`)\bmacosx[_-]\d+|Apple Silicon|Apple M[1-4]|M[1-4] (?:Mac|chip|Pro|Max)\b"
        r"|\b(?:Mac|MBP) M[1-4]\b|\bMac Pro\b|\w\.dylib\b|\bon darwin\b|/opt/homebrew|\bMacBook",
        "macosx_15_0_x86_64",
        platform("macos"),
        once=True,
    ),
    sig(
        "platform-macos",
        "intel mac|intel imac|intel-based mac|intel-based imac|(intel|(x86_64",
        r"\bIntel(?:-based)? (?:i?Mac|MacBook)\b|\b(?:i?Mac|MacBook)\b[^\n,;.]{0,24} \((?:Intel|x86_64)\b",
        "Intel MacBook Pro 2019",
        lambda m, s: Platform(s, "macos", "x86_64", PROSE),
        near="mac",
        once=True,
    ),
    sig(  # counts only if nothing else shows the system: some Linux clusters also keep home folders there
        "platform-macos",
        "/users/",
        r"(?<![\w:~.])(?-i:/Users/)(?!Shared/)\w[\w.-]{0,40}/",
        "/Users/me/venv/lib/python3.9/site-packages/tensorflow/__init__.py",
        platform("macos", INFERRED),
        once=True,
    ),
    sig(
        "platform-linux",
        ".so.|/usr/lib|/home/|linux|/proc/driver|/usr/local/lib",
        r"lib\w+\.so\.\d"
        r"|/usr/(?:local/)?lib|/home/\w+/|on linux\b|(?<!`)\bmanylinux|GNU/Linux|/proc/driver/nvidia",
        "libcudart.so.11.0: cannot open shared object file",
        platform("linux"),
        once=True,
    ),
    sig(
        "platform-wsl",
        "microsoft-standard|/mnt/c/|/mnt/d/|/usr/lib/wsl|-microsoft |/mnt/e/|-microsoft",
        r"microsoft-standard|/mnt/[c-e]/|/usr/lib/wsl|\d-Microsoft\b",
        "Linux 5.15.90.1-microsoft-standard-WSL2 x86_64",
        platform("wsl"),
        once=True,
    ),
    sig(
        "platform-wsl",
        "wsl|windows subsystem for linux",
        r"(?<!no )(?<!not )(?<!non-)(?<!not in )(?<!not on )(?<!without )(?<!not using )(?<!ohne )(?<!kein )"
        r"(?<!sans )(?<!pas de )(?<!sin )(?<!sem )(?<!senza )(?<!zonder )(?<!geen )(?<!bez )(?<!без )"
        r"(?<!не в )(?<!không )(?<!没用)(?<!不用)(?<!没有)(?<!没装)(?<!不是)\bWSL ?2?\b(?!\w)(?![^\n]{0,40}"
        r"DirectML)(?! ?(?:kullanm|yok|olmadan|nicht|なし|は使|ではな|없이|안 ))|Windows Subsystem for Linux",
        "I run it under WSL2",
        platform("wsl", PROSE),
        once=True,
    ),
    sig(
        "platform-wsl",
        "host (desktop-|host (laptop-|@desktop-|@laptop-|hostname: desktop-|hostname: laptop-",
        r"(?:host \(|@|hostname: )(?:DESKTOP|LAPTOP)-[A-Z0-9]{6,8}\b",
        "kernel driver does not appear to be running on this host (DESKTOP-4F7K2QX):"
        " /proc/driver/nvidia/version does not exist",
        platform("wsl", INFERRED),
        once=True,
    ),
    spoken(  # counts only if nothing else states the system
        "platform-windows",
        "windows",
        r"\b(?:on|under|in|for) (?:native "
        r"|my |plain )?windows\b(?! (?:subsystem|side|hosts?|update|terminal|explorer|drivers?"
        r"|and|or|it (?:works|runs)|works|everything|there))(?!,? (?:but|while|whereas|where|not)\b)(?! ?/)",
        "my GPU is not found on Windows any more",
        lambda m, s: Platform(s, "windows", rank=INFERRED),
        once=True,
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
