"""How the loader gets to know the folder of a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor import validated
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
    told = run("echo", *paths) if len(paths) == 1 else run("printf", Literal("'%s\\n'"), *paths)
    known = piped(told, run("sudo", "tee", "/etc/ld.so.conf.d/cuda.conf"))
    return [
        shell(Export("LD_LIBRARY_PATH", Joined((*parts, more))), why),
        shell(
            sequence(known, run("sudo", "ldconfig")),
            "for the whole machine and for good",
            platform="linux",
            root=True,
        ),
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
