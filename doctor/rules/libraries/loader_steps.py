"""The steps that make the loader search a library's folder."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import CudaVersion, EnvironmentKind, Package
from doctor.findings import Step, manual, shell
from doctor.remedies import commands, environments
from doctor.remedies.rare_steps import library_path
from doctor.rules.linux import as_root, on_linux
from doctor.shell import Export, Joined, Literal, Output, Path, piped, run, sequence

if TYPE_CHECKING:
    from doctor.case import Case


def named_to_the_loader(case: Case, folders: Sequence[str]) -> list[Step]:
    """Return the steps that make the loader search the given folders. For a report, return `search_steps`
    instead, unless CUDA is usually installed in all of these folders."""
    if case.facts.kind != "machine" and not all(map(validated.library_folder, folders)):
        return search_steps(case)
    why = "makes the loader search the folder, in this shell"
    paths = [Path(folder) for folder in folders]
    if case.platform == "windows":
        parts = [part for path in paths for part in (path, Literal(";"))]
        return [shell(Export("PATH", Joined((*parts, Literal("%PATH%")))), why)]
    parts = [part for path in paths for part in (Literal(":"), path)][1:]
    more = Literal("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
    named = shell(Export("LD_LIBRARY_PATH", Joined((*parts, more))), why)
    prefix = _environment(case)
    if prefix and all(folder == prefix or folder.startswith(f"{prefix}/") for folder in folders):
        if "conda" in case.environments:
            return [*_at_activation(case, prefix, folders), named]
        why = "makes the change permanent, for every shell in which the environment is activated"
        return [named, manual(f"Put the same line at the end of {prefix}/bin/activate", why)]
    if any(folder.startswith(("/home/", "/root/")) for folder in folders):  # folders of a single user
        last = (
            "to make it permanent, add the export line to ~/.bashrc or the job script; in a service's unit"
            ' file, write Environment="LD_LIBRARY_PATH=..." below [Service]'
        )
        return [named, manual(f"Set LD_LIBRARY_PATH={':'.join(folders)} where the program is started", last)]
    lines = run("echo", *paths) if len(paths) == 1 else run("printf", Literal("'%s\\n'"), *paths)
    known = piped(lines, run("sudo", "tee", "/etc/ld.so.conf.d/cuda.conf"))
    return [
        named,
        as_root(
            sequence(known, run("sudo", "ldconfig")), "makes the change permanent, for the whole machine"
        ),
    ]


def _environment(case: Case) -> str:
    """The folder of the conda or virtual environment in use; "" if it is not known."""
    kinds = [kind.source.where for kind in case.facts.of(EnvironmentKind) if kind.kind in ("conda", "venv")]
    return posixpath.dirname(kinds[0]) if kinds and case.facts.kind == "machine" else ""


def _at_activation(case: Case, prefix: str, folders: Sequence[str]) -> list[Step]:
    """The steps that make each activation of a conda environment put its folders on the loader's path; none
    if a folder's name needs quoting."""
    below = [posixpath.relpath(folder, prefix) for folder in folders]
    if not all(re.fullmatch(r"[\w./+-]+", name, re.ASCII) for name in below):
        return []  # a shell would run this name as a part of the script
    named = ":".join(f"$CONDA_PREFIX/{name}" for name in below)
    return [
        environments.at_activation(named, case.platform or "linux", prefix=prefix),
        shell(run("conda", "activate", Path(prefix)), "runs the script; start the program in the same shell"),
    ]


def pip_folders(case: Case) -> list[Step]:
    """The steps that make the loader search the folders into which pip installed NVIDIA's libraries, before
    any other folder."""
    # the package lists all its folders: in the user's site-packages, Debian's dist-packages, or a venv
    listed = (
        "import glob, nvidia as n; print(':'.join(f for p in n.__path__ for f in glob.glob(p + '/*/lib')))"
    )
    return [
        on_linux(
            piped(commands.pip(case, "list"), run("grep", "nvidia")),
            "lists nvidia-cudnn and other packages, if this environment contains them",
        ),
        on_linux(
            Export("LD_LIBRARY_PATH", Output(commands.run_python(case, listed))),
            "makes the loader search pip's folders first, in this shell",
        ),
    ]


def brings_libraries(case: Case) -> bool:
    """Whether conda installed CUDA's libraries, as far as a list of packages or a command shows."""
    packages = [p for p in case.facts.of(Package) if p.name in ("cudatoolkit", "cudnn", "cuda-runtime")]
    stated = [c for c in case.facts.of(CudaVersion) if "cudatoolkit" in c.source.text.lower()]
    return bool(packages or stated)


def search_steps(case: Case) -> list[Step]:
    """Return the steps by which the user finds the libraries and makes the loader search their folder."""
    if case.platform == "windows":
        if "conda" in case.environments:
            return [
                manual(
                    "Activate the environment before the program starts: conda activate NAME",
                    "adds the environment's Library\\bin to PATH; start the IDE from that prompt, or add the"
                    " folder to PATH in its run configuration",
                    platform="windows",
                ),
                shell(
                    Literal("where.exe cudart64_*.dll"),
                    "shows whether PATH has the DLL that TensorFlow loads",
                    platform="windows",
                ),
            ]
        return [
            shell(
                Literal("where.exe cudart64_*.dll cudnn64_*.dll"),
                "shows whether PATH has the DLLs that TensorFlow loads",
                platform="windows",
            ),
            manual(
                "Add the bin folders of the CUDA Toolkit and of cuDNN to PATH (system variables), then open a"
                " new prompt or restart the IDE",
                platform="windows",
            ),
        ]
    if "conda" in case.environments and brings_libraries(case):
        return list(library_path(case))
    return [
        on_linux(
            Literal("find / -name 'libcudart.so.*' -o -name 'libcudnn.so.*' 2>/dev/null"),
            "shows where the libraries are",
        ),
        on_linux(
            Literal('export LD_LIBRARY_PATH="/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"'),
            "makes the loader search their folder; for an IDE or a service, set the variable in its"
            " configuration",
        ),
    ]
