"""A build that does not find a part of the toolkit: its linker, its compiler or its configuration."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.case import Case
from doctor.findings import Finding, Step, manual, shell
from doctor.rules.registry import found
from doctor.shell import Export, Literal, Path, piped, run

_OF = {"cuda": "the CUDA toolkit", "cudnn": "cuDNN", "nccl": "NCCL", "driver": "the driver"}


def building(case: Case, code: str) -> Iterator[Finding]:
    """The finding `code` for a build that does not find a part of the toolkit: library-path if the linker
    lacks a library (the toolkit that compiled the code is there), cudnn-missing for any part of cuDNN, else
    cuda-missing."""
    several = [
        s
        for s in case.facts.symptoms("toolkit-part-missing")
        if _code(s.get("component"), s.get("by")) == code
    ]
    if not several:
        return
    part, component, by = (several[0].get(key) for key in ("part", "component", "by"))
    steps: list[Step] = []
    if by == "linker":
        steps += [
            shell(
                Literal(
                    f"find / -name '*{_OF_LINKER.get(component, 'cudart')}*' -not -path '/proc/*' 2>/dev/null"
                ),
                "shows whether the library is installed, and where",
                platform="linux",
            ),
            shell(
                Export("LIBRARY_PATH", Path("/usr/local/cuda/lib64")),
                "makes the linker search the toolkit's folder, as -L does for one command; libcuda"
                " has its stand-in in lib64/stubs",
                platform="linux",
            ),
        ]
    else:
        steps += [
            shell(run("nvcc", "--version"), "shows whether a toolkit is installed, and which"),
            shell(
                Export("CUDA_HOME", Path("/usr/local/cuda")),
                "names the toolkit to a build that searches elsewhere",
                platform="linux",
            ),
        ]
    steps.append(
        manual(
            f"If it is not installed: install {_OF[component]}, with its files for development, in the"
            " version that the build asks for. pip's NVIDIA packages and the driver do not bring those"
        )
    )
    yield found(
        code,
        f"A build does not find {part}, a part of {_OF[component]}: it is not installed, or the build"
        f" {'searches' if by != 'linker' else 'links'} without its folder. TensorFlow's wheels are not"
        " concerned.",
        several[:3],
        title=f"A build does not find {_OF[component]}",
        confidence="likely",
        steps=steps,
        verify=piped(run("ldconfig", "-p"), run("grep", "libcu"))
        if by == "linker"
        else run("nvcc", "--version"),
    )


_OF_LINKER = {"cudnn": "libcudnn", "nccl": "libnccl", "driver": "libcuda.so", "cuda": "libcudart"}


def _code(component: str, by: str) -> str:
    if component == "cudnn":
        return "cudnn-missing"
    return "library-path" if by == "linker" else "cuda-missing"
