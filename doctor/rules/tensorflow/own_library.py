"""Explanations and steps for when the loader cannot load TensorFlow's own library, or a system library that
TensorFlow needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import LibraryNotLoaded
from doctor.findings import Step, manual
from doctor.rules.linux import on_linux
from doctor.shell import Literal, Path, piped, run

if TYPE_CHECKING:
    from doctor.case import Case


def not_found(case: Case, library: LibraryNotLoaded) -> tuple[str, list[Step]]:
    """The explanation and the steps if the loader does not find TensorFlow's library or a system library."""
    name = library.name
    if case.component(name) == "system":
        package = manual(
            f"Install the system package that contains {name} (for libstdc++: libstdc++6 on Debian and"
            " Ubuntu, libstdc++ on Fedora, RHEL and Alpine); instead of Alpine, use an image with glibc,"
            " which TensorFlow's wheels need"
        )
        text = f"{name}, a library of the C or C++ runtime that TensorFlow needs, is not on this system."
        return text, [package]
    stem = re.split(r"\.(?:so|dylib|dll)", name)[0]
    steps = [
        on_linux(
            piped(run("ldconfig", "-p"), run("grep", "libtensorflow")),
            "shows whether the library is installed",
        ),
        manual(
            "For a program in C, Go, Rust or .NET, unpack the release of TensorFlow's C library that the"
            " program or its language binding needs. Add the library's lib folder to LD_LIBRARY_PATH (PATH on"
            " Windows) or to a file in /etc/ld.so.conf.d. For Node and Java, reinstall the package, which"
            " contains the library for this system and processor"
        ),
        manual(
            "For a custom op, or a package that was compiled for TensorFlow, install a build that was made"
            " for the installed TensorFlow. The library's file name changes with TensorFlow's major version"
            " (libtensorflow_framework.so.1, libtensorflow_framework.so.2)"
        ),
    ]
    text = f"The loader does not find {stem or name}, TensorFlow's own library; CUDA is not the cause."
    return text, steps


def not_mapped(library: str) -> tuple[str, list[Step]]:
    """The explanation and the steps if the system refuses to map a library into memory.

    library: its path in the message.
    """
    text = (
        f"The system refuses to map {library.rsplit('/', 1)[-1]} into memory: the library's file system is"
        f" mounted noexec, or the limit on the process's memory is too low."
    )
    own = validated.library_of_environment(library)
    noexec = "if the options contain noexec, move the environment to another file system, "
    noexec += "or mount this file system with exec"
    look = run("findmnt", *(("-T", Path(own)) if own else ()), "-o", "TARGET,OPTIONS")
    steps: list[Step] = [
        on_linux(look, noexec),
        on_linux(
            Literal("ulimit -v"),
            "shows the limit on the address space in kilobytes, or unlimited; TensorFlow needs several"
            " gigabytes, and a batch job may have to request more memory",
        ),
    ]
    return text, steps
