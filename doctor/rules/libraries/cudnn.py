"""cuDNN's major version from a file name, and the steps that bring the cuDNN that a build wants."""

from __future__ import annotations

import re

from doctor.facts import CudnnMismatch
from doctor.findings import manual, shell
from doctor.picture import Picture
from doctor.remedies import cures
from doctor.remedies.cures import Cure


def cudnn_major(name: str) -> str | None:
    """The major version in a cuDNN file name: 8 of libcudnn.so.8 and of cudnn64_8.dll; None where there is none."""
    match = re.search(r"libcudnn\w*\.so\.(\d+)|cudnn\w*64_(\d+)", name.lower())
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
            shell("where cudnn64_*.dll", "a second, older cuDNN earlier on PATH is found first", platform="windows")
        )
    return cure.then(
        shell(
            "ldconfig -p | grep libcudnn",
            "a second, older cuDNN is found first if it stands here or on LD_LIBRARY_PATH",
            platform="linux",
        )
    )
