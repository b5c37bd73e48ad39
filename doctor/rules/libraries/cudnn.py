"""cuDNN's major version from a file name, and the steps that bring the cuDNN that a build wants."""

from __future__ import annotations

import re

from doctor.compat import Answer
from doctor.facts import CudnnMismatch, CudnnVersion, Gpu
from doctor.findings import manual, shell
from doctor.picture import Picture
from doctor.remedies import cures
from doctor.remedies.cures import Cure
from doctor.shell import Literal, piped, run


def cudnn_major(name: str) -> str | None:
    """The major version in a cuDNN file name: 8 of libcudnn.so.8 and of cudnn64_8.dll; None where there is none."""
    match = re.search(r"libcudnn\w{0,60}\.so\.(\d+)|cudnn\w{0,60}64_(\d+)", name.lower())
    return (match[1] or match[2]) if match else None


def bring_cudnn(picture: Picture) -> Cure:
    """The cuDNN that the build wants, and a look for another that is found first."""
    stated = picture.facts.first(CudnnMismatch)
    if stated is not None and not picture.builds:  # which TensorFlow this is, is not known; what it was compiled with is
        cure = Cure((manual(f"Install cuDNN {stated.compiled}, or a later one of the same major version, for the CUDA that is there: pip and "
                            "conda have it as packages, NVIDIA in its archive", "TensorFlow names the version that it was compiled with"),))  # fmt: skip
    else:
        cure = cures.cudnn_for_build(picture)
    if picture.platform == "windows":
        return cure.then(
            shell(
                Literal("where cudnn64_*.dll"),
                "a second, older cuDNN earlier on PATH is found first",
                platform="windows",
            )
        )
    return cure.then(
        shell(
            piped(run("ldconfig", "-p"), run("grep", "libcudnn")),
            "a second, older cuDNN is found first if it stands here or on LD_LIBRARY_PATH",
            platform="linux",
        )
    )


def wanted_major(picture: Picture) -> str | None:
    """The CUDA major of the build as text ("12"), which is that of its cuDNN; None where it is not known or not one."""
    majors = {version.split(".")[0] for version in picture.wanted_cuda}
    return majors.pop() if len(majors) == 1 else None


def dropped_gpu(picture: Picture, cudnn: CudnnVersion) -> tuple[Gpu, str, Answer] | None:
    """A GPU for which this cuDNN has no kernels, its compute capability and the table's word; in a report only where it serves none of the GPUs."""
    if "." not in cudnn.version:
        return None
    from doctor import compat

    found = []
    for gpu in (g for g in picture.gpus if g.compute_capability):
        answer = compat.cudnn_serves_gpu(cudnn.version, (gpu.compute_capability or "",), picture.tables, wanted_major(picture))
        if answer.verdict == "no":
            found.append((gpu, gpu.compute_capability or "", answer))
        elif picture.facts.kind != "machine":
            return None
    return found[0] if found else None
