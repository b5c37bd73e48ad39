"""Signatures of the platform in programs' output: paths, file names and words that occur on one platform
only. Most reports show one of them."""

from __future__ import annotations

from doctor.facts import INFERRED, MEASURED, PROSE, Fact, Platform, Source
from doctor.logs.signatures.signature import Maker, Signature, sig, spoken


def platform(name: str, rank: int = MEASURED) -> Maker:
    """Return a function that makes a Platform from a match."""

    def make(match: object, source: Source) -> Fact:
        return Platform(source, name, rank=rank)

    return make


SIGNATURES: tuple[Signature, ...] = (
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
)
