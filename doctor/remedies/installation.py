"""The pip requirements for one TensorFlow release, and the links that its installation needs.

check, explain, plan and install all use this module, so that none prescribes an installation that another
reports as broken. In: a build, a `Situation` and the tables. Out: an `Installation`;
doctor.remedies.environments makes its commands.
"""

from __future__ import annotations

from collections.abc import Sequence

from doctor.compat import Answer, Pin, Situation, companions, requirement
from doctor.compat.workarounds import Link, Workarounds, for_pip_libraries
from doctor.findings import Step, python, shell
from doctor.shell import Command, Word, run
from doctor.tables import Tables, TensorFlowRelease, Trap
from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class Installation:
    """How to install a build. extra: whether to install TensorFlow's own extra and-cuda. pins: further
    requirements. links: symbolic links to make afterwards."""

    build: TensorFlowRelease
    extra: bool = False
    pins: tuple[Pin, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def requirements(self) -> list[str]:
        """The requirements for pip: TensorFlow first, then the pins."""
        return [requirement(self.build, extra=self.extra), *(pin.requirement for pin in self.pins)]


def without_libraries(build: TensorFlowRelease, tables: Tables) -> Installation:
    """The installation of TensorFlow alone: for a CPU, or for CUDA libraries that pip did not install."""
    return Installation(build, pins=companions(build, tables))


def with_workarounds(build: TensorFlowRelease, workarounds: Workarounds, tables: Tables) -> Installation:
    """The installation with CUDA and cuDNN from pip, with these workarounds."""
    pins = (*workarounds.pins, *companions(build, tables))
    return Installation(build, workarounds.packages is None, pins, workarounds.links)


def with_libraries(build: TensorFlowRelease, situation: Situation, tables: Tables) -> Installation | None:
    """The installation with CUDA and cuDNN from pip, for the situation's Python and GPUs; None if pip cannot
    install them."""
    if situation.platform != "linux-x86_64" or build.platform != situation.platform or not build.gpu:
        return None
    workarounds = for_pip_libraries(build, situation, tables)
    if workarounds.blocks or (workarounds.packages is None and not build.extras.get("and-cuda")):
        return None
    return with_workarounds(build, workarounds, tables)


def link_steps(installation: Installation, interpreter: Sequence[Word], kind: str = "") -> list[Step]:
    """The commands that make the links, one for each folder. interpreter: the words that start the
    environment's Python."""
    found = []
    for into in dict.fromkeys(link.into for link in installation.links):
        links = [link for link in installation.links if link.into == into]
        folders = ", ".join(dict.fromkeys(link.folder for link in links))
        s = "" if len(links) == 1 else "s"
        lets = "lets the loader find the library" if len(links) == 1 else "let the loader find the libraries"
        why = (
            f"makes {'a link' if len(links) == 1 else 'links'}, because TensorFlow"
            f" {installation.build.version} does not search pip's folder{s} {folders}; the link{s} {lets} in"
            f" every shell and notebook; to undo this step, remove the link{s}"
        )
        command = link_command(interpreter, [(link.library, link.folder) for link in links], into)
        found.append(shell(command, why, platform=kind))
    return found


def link_command(python: Sequence[Word], libraries: Sequence[tuple[str, str]], into: str) -> Command:
    """The command that makes relative symbolic links in the folder `into` of an environment's site-packages,
    so that the loader finds pip's libraries. python: the words that start the environment's Python.
    libraries: the file name of each library, and its folder under site-packages. That Python program itself
    finds the site-packages with TensorFlow (Debian's pip does not install into purelib), so that the command
    works in every environment and shell.
    """
    up = "/".join([".."] * (into.count("/") + 1))
    named = " ".join(f"{folder}/{library}" for library, folder in libraries)
    code = (
        "import os, importlib.util as u; d = os.path.dirname; "
        "os.chdir(d(d(u.find_spec('tensorflow').origin))); "
        f"[os.path.lexists(t) or os.symlink('{up}/' + p, t) for p in '{named}'.split() "
        f"for t in ['{into}/' + os.path.basename(p)]]"
    )
    return run(*python, "-c", code)


def setting_steps(answer: Answer) -> list[Step]:
    """Steps for the settings that a program needs to run a build on a GPU. They come from the traps in an
    answer of doctor.compat."""
    settings = [
        row.data["setting"] for row in answer.rows if isinstance(row, Trap) and row.data.get("setting")
    ]
    return [python(setting["code"], setting["why"]) for setting in settings]
