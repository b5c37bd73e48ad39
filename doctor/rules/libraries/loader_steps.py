"""How the loader gets to know the folder of a library."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import EnvironmentKind
from doctor.findings import Step, manual, shell
from doctor.shell import Export, Joined, Literal, Path, piped, run, sequence

if TYPE_CHECKING:
    from doctor.picture import Picture


def named_to_the_loader(picture: Picture, folders: Sequence[str]) -> list[Step]:
    """How the loader gets to know folders that were seen; of a report only those in which CUDA is installed."""
    if picture.facts.kind != "machine" and not all(map(validated.library_folder, folders)):
        return search_steps(picture)
    why = "names the folder to the loader, for this shell"
    paths = [Path(folder) for folder in folders]
    if picture.platform == "windows":
        parts = [part for path in paths for part in (path, Literal(";"))]
        return [shell(Export("PATH", Joined((*parts, Literal("%PATH%")))), why)]
    parts = [part for path in paths for part in (Literal(":"), path)][1:]
    more = Literal("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
    named = shell(Export("LD_LIBRARY_PATH", Joined((*parts, more))), why)
    prefix = _environment(picture)
    if prefix and all(folder == prefix or folder.startswith(f"{prefix}/") for folder in folders):
        return [*(_at_activation(prefix, folders) if "conda" in picture.environments else []), named]
    if any(folder.startswith(("/home/", "/root/")) for folder in folders):  # for the whole machine it is not to be
        last = "for good: the same line in the file that starts the program: ~/.bashrc, the job's script, the service's unit"
        return [named, manual(f"Set LD_LIBRARY_PATH={':'.join(folders)} where the program is started", last)]
    told = run("echo", *paths) if len(paths) == 1 else run("printf", Literal("'%s\\n'"), *paths)
    known = piped(told, run("sudo", "tee", "/etc/ld.so.conf.d/cuda.conf"))
    return [
        named,
        shell(
            sequence(known, run("sudo", "ldconfig")),
            "for the whole machine and for good",
            platform="linux",
            root=True,
        ),
    ]


def _environment(picture: Picture) -> str:
    """The folder of the Python environment in use, conda's or a virtual one; "" where it is not known."""
    kinds = [kind.source.where for kind in picture.facts.of(EnvironmentKind) if kind.kind in ("conda", "venv")]
    return posixpath.dirname(kinds[0]) if kinds and picture.facts.kind == "machine" else ""


def _at_activation(prefix: str, folders: Sequence[str]) -> list[Step]:
    """A script that conda runs when the environment is activated (conda, "Managing environments")."""
    below = [posixpath.relpath(folder, prefix) for folder in folders]
    if not all(re.fullmatch(r"[\w./+-]+", name, re.ASCII) for name in below):
        return []  # what is written becomes code of a shell
    named = ":".join(f"$CONDA_PREFIX/{name}" for name in below)
    line = f'export LD_LIBRARY_PATH="{named}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'
    script = f"{prefix}/etc/conda/activate.d/cuda_libraries.sh"
    return [
        shell(
            sequence(run("mkdir", "-p", Path(posixpath.dirname(script))), piped(run("echo", line), run("tee", Path(script)))),
            "names the folder to the loader whenever the environment is activated",
        ),
        shell(run("conda", "activate", Path(prefix)), "runs it; start the program in that shell"),
    ]


def search_steps(picture: Picture) -> list[Step]:
    """How a person finds the libraries, and names their folder to the loader."""
    if picture.platform == "windows":
        if "conda" in picture.environments:
            return [
                manual(
                    "Activate the environment before the program starts: conda activate NAME",
                    "puts the environment's Library\\bin on PATH; start the IDE from that prompt, or add the folder to its run configuration",
                    platform="windows",
                ),
                shell(
                    Literal("where cudart64_*.dll"),
                    "must show the DLL that TensorFlow opens",
                    platform="windows",
                ),
            ]
        return [
            shell(
                Literal("where cudart64_*.dll cudnn64_*.dll"),
                "must show the DLLs that TensorFlow opens",
                platform="windows",
            ),
            manual(
                "Add the bin folder of the CUDA Toolkit, and cuDNN's, to PATH (system variables), then open a new prompt or restart the IDE",
                platform="windows",
            ),
        ]
    return [
        shell(
            Literal("find / -name 'libcudart.so.*' -o -name 'libcudnn.so.*' 2>/dev/null"),
            "shows where the libraries are",
            platform="linux",
        ),
        shell(
            Literal('export LD_LIBRARY_PATH="/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"'),
            "names their folder to the loader; an IDE or service needs it in its own configuration",
            platform="linux",
        ),
    ]
