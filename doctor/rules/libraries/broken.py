"""library-broken: a library is found and cannot be loaded."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from doctor.facts import LibraryFile, LibraryNotLoaded
from doctor.findings import Finding, Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands, libraries
from doctor.rules.gpu.registered import registered
from doctor.rules.libraries.wanted import NO_GPU_SINCE, table_rows, unusable_files, xla_gpu_note
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.own_ops import own_ops
from doctor.shell import Literal, Path, piped, run


@rule(
    "library-broken",
    "A library is found and cannot be loaded",
    explains=("cudnn-missing", "cuda-missing", "cudnn-init-oom", *NO_GPU_SINCE),
    needs=(LibraryNotLoaded, "undefined-symbol", "cudnn-part-broken"),
)
def library_broken(picture: Picture) -> Iterator[Finding]:
    """A library is found and cannot be loaded.

    ## What it means
    The file is there and is not whole or does not fit: cut short by a broken download, for another processor, older than the library
    that calls it, or one of its own dependencies is missing.

    ## How it shows
    `file too short`, `invalid ELF header`, `wrong ELF class`, `undefined symbol`, or a message that blames another library than the one
    that was asked for (`libnvJitLink.so.12` for `libcusolver.so.11`, `zlibwapi.dll` for cuDNN 8 on Windows).

    ## What to do
    Install the package of that library anew, and the dependency that is named; take stray copies off LD_LIBRARY_PATH and PATH.
    """
    facts = picture.facts
    ops = own_ops(picture)
    if ops and not picture.not_loaded:
        return
    broken = [
        lib
        for lib in picture.not_loaded
        if (
            lib.cause == "broken"
            and (lib.culprit is None or "." in (lib.culprit or ""))
            and not (lib.culprit or "").startswith(("GLIBC", "CXXABI"))
        )
        or "zlibwapi" in lib.name.lower()
        or ("cudnn_" in lib.name.lower() and "could not lo" in lib.source.text.lower())
        or lib.name.lower().startswith(("libnvjitlink", "libnvrtc"))
    ]
    if registered(picture):  # parts of cuDNN are opened when they are first used, long after the device was made
        broken = [
            lib
            for lib in broken
            if "zlibwapi" in lib.name.lower()
            or "cudnn_" in lib.name.lower()
            or (lib.cause == "broken" and picture.component(lib.name) != "driver")
        ]
        if not broken:
            return
    symbols = [
        s
        for s in facts.symptoms("undefined-symbol")
        if re.search(r"cudnn|cublas|cuda|cusolver|cusparse|nvjitlink|cufft", s.source.text, re.I)
    ]
    parts = facts.symptoms("cudnn-part-broken")
    copies = unusable_files(picture, [gone.name for gone in picture.not_loaded if gone not in broken])
    if not broken and not symbols and not parts and not copies:
        return
    lib = broken[0] if broken else None
    if lib is None and parts:
        blame = f"{parts[0].get('path')}, a part of cuDNN, {parts[0].get('problem')}"
    elif lib is None and copies:
        blame = f"The only {copies[0].name} on this machine, {copies[0].path}, cannot be loaded ({copies[0].problem})"
    elif lib is not None:
        blame = (
            f"{lib.name} is found, and {lib.culprit}, which it needs, {'may not be read by this user' if _denied(picture, lib) else 'is not'}"
            if lib.culprit
            else f"{lib.name} is found and cannot be loaded" + (f" ({lib.error})" if lib.error else "")
        )
        if "zlibwapi" in lib.name.lower():
            blame = "cuDNN 8 on Windows needs zlibwapi.dll, which is not on PATH"
    else:
        blame = "A library lacks a symbol that another one wants: they are of different releases"
    steps: list[Step] = []
    if lib is not None and _denied(picture, lib):
        opened = run("sudo", "chmod", "a+rX", Path(lib.source.where))
        steps.append(shell(opened, "lets every user read the file", platform="linux", root=True))
    elif lib is not None and "zlibwapi" in lib.name.lower():
        steps.append(
            manual(
                "Put zlibwapi.dll (from the zlib package that NVIDIA's cuDNN installation guide names) into a folder that is on PATH",
                platform="windows",
            )
        )
    elif lib is not None and (lib.culprit or "").startswith("libcuda.so"):  # a part of cuDNN 8 asks for the driver's library
        if picture.platform == "wsl":
            steps.append(
                shell(
                    Literal("export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH"),
                    "where WSL keeps the driver's libcuda",
                    platform="wsl",
                )
            )
        else:
            steps.append(
                shell(
                    piped(run("ldconfig", "-p"), run("grep", "libcuda.so")),
                    "shows where libcuda.so.1 is",
                    platform="linux",
                )
            )
            steps.append(manual("Make a link libcuda.so to libcuda.so.1 in that folder: cuDNN 8 asks for the plain name"))
    else:
        named = (lib.culprit or lib.name) if lib else parts[0].get("library") if parts else copies[0].name if copies else ""
        named = re.split(r"[/\\]", named)[-1]
        package = libraries.pip_package(picture, named) if named and picture.platform != "windows" else None
        folder, behind = _stray(picture, lib)
        if folder:
            off = f"{folder} is searched first, and its {named} cannot be loaded; take it out of the file that sets the variable, too"
            steps.append(shell(commands.loader_path_without(folder, whole=True), off, platform="linux"))
        if package is not None and not behind:
            again = commands.pip(picture, "install", "--force-reinstall", package)
            steps.append(shell(again, f"where it came from pip: brings {named} anew"))
        steps.append(
            shell(
                Literal("where cudnn64_*.dll cublas64_*.dll"),
                "stray copies that are found first",
                platform="windows",
            )
            if picture.platform == "windows"
            else shell(
                Literal("ldconfig -p | grep -E 'libcu|libnv'; echo \"$LD_LIBRARY_PATH\""),
                "stray copies that are found first",
                platform="linux",
            )
        )
    yield found(
        "library-broken",
        blame + "." + xla_gpu_note(picture),
        [*broken[:3], *parts[:2], *copies[:2], *symbols[:2]],
        tables=table_rows(picture, [lib.culprit or lib.name]) if lib is not None else [],
        steps=steps,
        verify=commands.list_gpus(picture),
    )


def _denied(picture: Picture, lib: LibraryNotLoaded) -> bool:
    """Whether the file is there and this user may not read it; seen on a machine only."""
    return picture.facts.kind == "machine" and "Permission denied" in lib.error and lib.source.where.startswith("/")


def _stray(picture: Picture, lib: LibraryNotLoaded | None) -> tuple[str, bool]:
    """On a machine: the folder of LD_LIBRARY_PATH that holds the unusable file, "" where it is in none, and whether a
    usable file of that name lies elsewhere."""
    variable = picture.env.get("LD_LIBRARY_PATH")
    where = lib.source.where if lib is not None else ""
    folder = posixpath.dirname(where)
    if lib is None or variable is None or picture.facts.kind != "machine" or posixpath.basename(where) != lib.name:
        return "", False
    if folder not in [posixpath.normpath(part) for part in variable.value.split(":") if part]:
        return "", False
    others = [f for f in picture.facts.of(LibraryFile) if f.name == lib.name and f.path != where and not f.problem]
    return folder, bool(others)
