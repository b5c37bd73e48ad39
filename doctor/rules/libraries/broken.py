"""library-broken: a library is present but cannot be loaded."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import LibraryFile, LibraryNotLoaded, Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands, cures, libraries
from doctor.rules.gpu.registered import registered
from doctor.rules.libraries.cudnn import never_opened
from doctor.rules.libraries.wanted import NO_GPU_SINCE, table_rows, unusable_files, xla_gpu_note
from doctor.rules.linux import as_root, on_linux
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.own_ops import own_ops
from doctor.shell import Literal, Path, piped, run
from doctor.tables.versions import at_least

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "library-broken",
    "A library is found but cannot be loaded",
    explains=("cudnn-missing", "cuda-missing", "cudnn-init-oom", *NO_GPU_SINCE),
    needs=("library-unusable", "undefined-symbol", "cudnn-part-broken", "crash-status"),
)
def library_broken(case: Case) -> Iterator[Finding]:
    """A library is present but cannot be loaded.

    ## What it means
    The file exists but cannot be used: an interrupted download truncated it, it is for another processor, it
    is older than the library that calls it, or one of its own dependencies is missing.

    ## What you see
    `file too short`, `invalid ELF header`, `wrong ELF class`, `undefined symbol`, or a message that blames a
    library other than the requested one (`libnvJitLink.so.12` for `libcusolver.so.11`, `zlibwapi.dll` for
    cuDNN 8 on Windows).

    ## What to do
    Reinstall the package that contains that library, and the dependency that the message names; remove
    folders with stray copies from LD_LIBRARY_PATH and PATH.
    """
    facts = case.facts
    ops = own_ops(case)
    if ops and not case.not_loaded:
        return
    broken = [
        lib
        for lib in case.not_loaded
        if (
            lib.cause == "broken"
            and case.component(lib.name) != "other"  # for example, a plugin's library for other devices
            and (lib.culprit is None or "." in (lib.culprit or ""))
            and not (lib.culprit or "").startswith(("GLIBC", "CXXABI"))
        )
        or "zlibwapi" in lib.name.lower()
        # the loader's own message about a part of cuDNN may come from a program that is linked with it
        or (
            "cudnn_" in lib.name.lower()
            and (not lib.error or re.search("could not lo", lib.source.text, re.IGNORECASE))
        )
        or lib.name.lower().startswith("libnvjitlink")
        or (lib.name.lower().startswith("libnvrtc") and "ImportError" not in lib.source.text)
    ]
    if registered(case):
        # TensorFlow loads parts of cuDNN when they are first used, long after it created the device
        broken = [
            lib
            for lib in broken
            if "zlibwapi" in lib.name.lower()
            or "cudnn_" in lib.name.lower()
            or (lib.cause == "broken" and case.component(lib.name) != "driver")
        ]
        if not broken and not facts.has("cudnn-part-broken"):
            yield from _dies_without_zlib(case)
            return
    symbols = [
        s
        for s in facts.symptoms("undefined-symbol")
        if re.search(r"cudnn|cublas|cuda|cusolver|cusparse|nvjitlink|cufft", _names(s), re.I)
        and not _not_opened(case, s.source.text)
    ]
    parts = facts.symptoms("cudnn-part-broken")
    copies = unusable_files(case, [gone.name for gone in case.not_loaded if gone not in broken])
    if not broken and not symbols and not parts and not copies:
        yield from _dies_without_zlib(case)
        return
    lib = broken[0] if broken else None
    if lib is None and parts:
        blame = f"{parts[0].get('path')}, a part of cuDNN, {parts[0].get('problem')}"
    elif lib is None and copies:
        blame = (
            f"The only {copies[0].name} on this machine, {copies[0].path}, cannot be loaded"
            f" ({copies[0].problem})"
        )
    elif lib is not None:
        blame = (
            f"{lib.name} is found, but {lib.culprit}, which it needs,"
            f" {'cannot be read by this user' if _denied(case, lib) else 'is not found'}"
            if lib.culprit
            else f"{lib.name} is found but cannot be loaded" + (f" ({lib.error})" if lib.error else "")
        )
        if _not_found(case, lib):
            blame = (
                f"Windows finds {lib.name}, or a DLL that it needs, in no folder on PATH (error 126 is"
                " ERROR_MOD_NOT_FOUND)"
            )
        if "zlibwapi" in lib.name.lower():
            blame = "cuDNN 8 on Windows needs zlibwapi.dll, which is not on PATH"
    else:
        blame = "A library lacks a symbol that another library needs: they come from different releases"
    steps: list[Step] = []
    if lib is not None and _denied(case, lib):
        opened = run("sudo", "chmod", "a+rX", Path(lib.source.where))
        steps.append(as_root(opened, "lets every user read the file"))
    elif lib is not None and "zlibwapi" in (lib.culprit or lib.name).lower():
        steps.append(_zlib())
    elif lib is not None and (lib.culprit or "").startswith("libcuda.so"):
        # a part of cuDNN 8 loads the driver's library
        if case.platform == "wsl":
            steps += commands.wsl_library_path(case)
        else:
            steps += [
                on_linux(
                    piped(run("ldconfig", "-p"), run("grep", "libcuda.so")), "shows where libcuda.so.1 is"
                ),
                manual(
                    "In that folder, create a link libcuda.so that points to libcuda.so.1: cuDNN 8 looks for"
                    " the name without a number"
                ),
            ]
    elif (
        lib is not None
        and lib.culprit
        and case.component(lib.culprit) not in ("cuda", "cudnn", "driver")
        and case.platform != "windows"
    ):
        held = (
            " (zlib1g on Debian and Ubuntu, zlib on Fedora, RHEL and Alpine)"
            if lib.culprit.startswith("libz.")
            else ""
        )
        where = "Add to the image" if case.container else "Install"
        steps.append(
            manual(
                f"{where} the system package that contains {lib.culprit}{held}; {lib.name} needs it",
                platform="linux",
            )
        )
    else:
        named = ""
        if lib:
            named = lib.culprit or lib.name
        elif parts:
            named = parts[0].get("library")
        elif copies:
            named = copies[0].name
        named = re.split(r"[/\\]", named)[-1]
        package = libraries.pip_package(case, named) if named and case.platform != "windows" else None
        folder, behind = _stray(case, lib)
        file = lib.source.where if lib else copies[0].path if copies else ""
        bad = _in_the_way(case, file, named)
        if bad:
            aside = run("sudo", "mv", Path(bad), Path(f"{bad}.broken"))
            why = "hides it from the loader; reinstall its package to restore it"
            steps.append(as_root(aside, why))
        elif folder:
            off = (
                f"the loader searches {folder} first, and its {named} cannot be loaded; also remove this"
                " folder in the file that sets the variable"
            )
            steps += commands.off_the_path(case, folder, off)
        if lib is not None and _not_found(case, lib) and "cudnn" in named.lower():
            steps += _whole_cudnn()
        if case.platform == "windows" and facts.kind == "machine":
            bring = cures.cudnn_for_build if case.component(named) == "cudnn" else cures.libraries_for_build
            steps += bring(case).steps
        if package is not None and not behind:
            again = commands.pip(case, "install", "--force-reinstall", package)
            steps.append(
                shell(again, f"reinstalls {named}, if it came from pip")
                if "==" in package
                else manual(
                    f"If {named} came from pip, reinstall {package} in the same version: `pip show {package}`"
                    f" prints it, and pip install --force-reinstall {package}==VERSION installs it again"
                )
            )
        steps.append(
            shell(
                Literal("where.exe cudnn*64_*.dll cublas64_*.dll zlibwapi.dll"),
                "shows where these DLLs are; the parts of cuDNN must all be in one folder, and Windows uses"
                " the first copy of each that is listed",
                platform="windows",
            )
            if case.platform == "windows"
            else on_linux(
                Literal("ldconfig -p | grep -E 'libcu|libnv'; echo \"$LD_LIBRARY_PATH\""),
                "shows stray copies that the loader finds first",
            )
        )
    of_cudnn = parts or (lib is not None and case.component(lib.name) == "cudnn")
    yield found(
        "library-broken",
        blame + "." + xla_gpu_note(case),
        [*broken[:3], *parts[:2], *copies[:2], *symbols[:2]],
        title="Windows does not find a DLL" if lib is not None and _not_found(case, lib) else "",
        tables=table_rows(case, [lib.culprit or lib.name]) if lib is not None else [],
        steps=steps,
        # TensorFlow loads cuDNN's parts only for an op that needs them
        verify=commands.convolution(case) if of_cudnn else commands.list_gpus(case),
    )


def _not_found(case: Case, lib: LibraryNotLoaded) -> bool:
    """Whether Windows says that the DLL or one of those that it needs was not found (winerror.h: 126 is
    ERROR_MOD_NOT_FOUND)."""
    return case.platform == "windows" and re.search(r"\b126\b", lib.error) is not None


def _whole_cudnn() -> list[Step]:
    """The step after which Windows finds all parts of cuDNN 8 (NVIDIA's cuDNN installation guide for Windows,
    which also requires zlibwapi.dll from cuDNN 8.3 on)."""
    return [
        manual(
            "Copy all DLLs from the bin folder of one cuDNN release into the bin folder of the CUDA Toolkit,"
            " put this folder into the variable Path, before the folders of other CUDA releases, and open a"
            " new prompt. From cuDNN 8.3 on, zlibwapi.dll must be in that folder, too",
            "Windows searches only the folders in Path; a variable with the name of a DLL has no effect",
            platform="windows",
        )
    ]


def _names(symptom: Symptom) -> str:
    """Return the name of the library and the name of the symbol that it lacks, separated by a space; "" if
    the symbol is one of TensorFlow's, because then a custom op or TensorFlow itself is at fault."""
    name = symptom.get("symbol")
    return "" if "10tensorflow" in name else f"{symptom.get('library')} {name}"


def _not_opened(case: Case, line: str) -> bool:
    """Whether TensorFlow looked for a function in a library that did not load at all (stream_executor/cuda,
    before 1.0)."""
    asked = re.search(r"could not find (cu[a-z]{2,8})[A-Z]\w{0,60} in \w{1,12} DSO", line)
    if asked is None:
        return False
    absent = (lib.name.lower() for lib in (*case.missing("cuda"), *case.missing("cudnn")))
    return any(asked[1] in name for name in absent) or any(s.source.text == line for s in never_opened(case))


def _denied(case: Case, lib: LibraryNotLoaded) -> bool:
    """Whether the file exists but this user is not allowed to read it; known only on a machine."""
    return (
        case.facts.kind == "machine" and "Permission denied" in lib.error and lib.source.where.startswith("/")
    )


def _in_the_way(case: Case, path: str, name: str) -> str:
    """Return the path of an unusable file in a folder that must stay on the loader's search path, because the
    folder contains other CUDA libraries. "" if there is no such file, for a report, and for a wheel's file,
    which pip replaces."""
    folder = posixpath.dirname(path)
    if case.facts.kind != "machine" or posixpath.basename(path) != name or "-packages/" in path:
        return ""
    if case.component(name) not in ("cuda", "cudnn"):
        return ""
    whole = [lib for lib in case.facts.of(LibraryFile) if lib.name != name and not lib.problem]
    others = (lib for lib in whole if posixpath.dirname(lib.path) == folder)
    return path if folder and any(others) else ""


def _stray(case: Case, lib: LibraryNotLoaded | None) -> tuple[str, bool]:
    """Return the folder on LD_LIBRARY_PATH that contains the unusable file, and whether a usable file with
    the same name exists elsewhere. ("", False) if there is no such folder, or if the facts come from a report
    and not from a machine."""
    variable = case.env.get("LD_LIBRARY_PATH")
    where = lib.source.where if lib is not None else ""
    folder = posixpath.dirname(where)
    if (
        lib is None
        or variable is None
        or case.facts.kind != "machine"
        or posixpath.basename(where) != lib.name
    ):
        return "", False
    if folder not in [posixpath.normpath(part) for part in variable.value.split(":") if part]:
        return "", False
    others = [
        f for f in case.facts.of(LibraryFile) if f.name == lib.name and f.path != where and not f.problem
    ]
    return folder, bool(others)


def _zlib() -> Step:
    return manual(
        "Put zlibwapi.dll (from the zlib package that NVIDIA's cuDNN installation guide names) into a folder"
        " that is on PATH",
        platform="windows",
    )


def _dies_without_zlib(case: Case) -> Iterator[Finding]:
    """The finding for a program on Windows that ends with a status of the system and no message, with a cuDNN
    from 8.3 to 8.9: without zlibwapi.dll, these end the program at the first convolution (cuDNN Installation
    Guide 8.9, "Installing zlib")."""
    ended, cudnn = case.facts.symptoms("crash-status"), case.cudnn
    if not ended or cudnn is None or case.platform != "windows" or case.facts.kind != "report":
        return
    if at_least(cudnn.version, "8.3") and not at_least(cudnn.version, "9"):
        yield found(
            "library-broken",
            f"The program ends without a message, and cuDNN {cudnn.version} on Windows needs zlibwapi.dll: if"
            " it is not on PATH, the first convolution ends the program.",
            [*ended[:1], cudnn],
            title="zlibwapi.dll, which cuDNN needs, may be missing",
            confidence="possible",
            steps=[
                shell(run("where.exe", "zlibwapi.dll"), "shows whether a folder on PATH contains the file"),
                _zlib(),
            ],
            verify=commands.convolution(case),
        )
