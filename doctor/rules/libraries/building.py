"""The finding for a compilation that does not find a part of the toolkit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, Step, manual, shell
from doctor.rules.linux import on_linux
from doctor.rules.registry import found
from doctor.shell import Export, Path, piped, run

if TYPE_CHECKING:
    from doctor.case import Case

_PRODUCT = {"cuda": "the CUDA toolkit", "cudnn": "cuDNN", "nccl": "NCCL", "driver": "the driver's library"}
"""The name of each component, as sentences use it."""

_LIBRARY = {"cudnn": "libcudnn", "nccl": "libnccl", "driver": "libcuda.so", "cuda": "libcudart"}
"""A library of each component: the beginning of its file name."""


def building(case: Case, code: str) -> Iterator[Finding]:
    """Yield the finding for a compilation that cannot find a part of the toolkit, if `code` is the code that
    applies: cudnn-missing for any part of cuDNN; library-path if the linker cannot find any other library
    (the toolkit is installed, because it compiled the code); otherwise cuda-missing."""
    several = [
        s
        for s in case.facts.symptoms("toolkit-part-missing")
        if _code(s.get("component"), s.get("by")) == code
    ]
    if not several:
        return
    part, component, by = (several[0].get(key) for key in ("part", "component", "by"))
    stub = component == "driver"
    part, searcher = (f"lib{part}", "the linker") if by == "linker" else (part, "the build")
    steps: list[Step] = []
    if by == "linker":
        steps += [
            on_linux(
                run("find", "/usr", "/opt", "-name", f"*{_LIBRARY.get(component, 'cudart')}*"),
                "shows whether the library is installed, and where",
            ),
            on_linux(
                Export("LIBRARY_PATH", Path(f"/usr/local/cuda/lib64{'/stubs' if stub else ''}")),
                "makes the linker search the toolkit's folder, as -L does for a single command"
                + ("; its libcuda stub is for linking only: never put it on LD_LIBRARY_PATH" if stub else ""),
            ),
        ]
    else:
        steps += [
            shell(run("nvcc", "--version"), "shows whether a toolkit is installed, and its version"),
            on_linux(
                Export("CUDA_HOME", Path("/usr/local/cuda")),
                "shows the toolkit to builds that search other folders",
            ),
        ]
    steps.append(
        manual(
            f"If it is not installed, install {_PRODUCT['cuda' if stub else component]} with its development"
            " files, in the version that the build requires. The driver contains none of these files; pip's"
            " NVIDIA packages lack some, such as libcudart.so without a version, which a linker looks for"
        )
    )
    yield found(
        code,
        f"Compiling a program failed, because {searcher} did not find {part},{'' if stub else ' a part of'}"
        f" {_PRODUCT[component]}. Either it is not installed, or {searcher} does not search its folder. This"
        " failure does not affect TensorFlow's wheels.",
        several[:3],
        title=f"Compiling a program failed: {_PRODUCT[component]} was not found",
        confidence="likely",
        steps=steps,
        verify=piped(run("ldconfig", "-p"), run("grep", "libcu"))
        if by == "linker" and case.platform not in ("windows", "macos")
        else run("nvcc", "--version"),
    )


def _code(component: str, by: str) -> str:
    """The code of the finding for a component that the linker (by "linker") or another tool does not find."""
    if component == "cudnn":
        return "cudnn-missing"
    return "library-path" if by == "linker" else "cuda-missing"
