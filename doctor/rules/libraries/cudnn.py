"""cuDNN's major version from a file name, and the steps that bring the cuDNN that a build wants."""

from __future__ import annotations

import re

from doctor.findings import Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.tensorflow.release import likely_build


def cudnn_major(name: str) -> str | None:
    """The major version in a cuDNN file name: 8 of libcudnn.so.8 and of cudnn64_8.dll; None where there is none."""
    match = re.search(r"libcudnn\w*\.so\.(\d+)|cudnn\w*64_(\d+)", name.lower())
    return (match[1] or match[2]) if match else None


def cudnn_steps(picture: Picture) -> list[Step]:
    """Bring the cuDNN that the build wants."""
    build = likely_build(picture)
    steps: list[Step] = []
    if build is not None and build.gpu:
        extra = build.extras.get("and-cuda", {}) if build.extras else {}
        pin = next(((name, spec) for name, spec in extra.items() if "cudnn" in name), None)
        if pin and picture.platform != "windows":
            steps.append(
                shell(
                    f"{commands.venv_prefix(picture)} install {commands.quoted(pin[0] + pin[1], picture)}",
                    f"the cuDNN that TensorFlow {build.version} asks for",
                )
            )
        else:
            steps += commands.conda_libraries(picture, build)
            steps.append(
                manual(
                    f"Or install cuDNN {build.cudnn} for CUDA {build.cuda} from NVIDIA's archive",
                    f"TensorFlow {build.version} was built for it",
                )
            )
    else:
        steps += commands.with_cuda_libraries(picture, None)
    if picture.platform == "windows":
        steps.append(
            shell("where cudnn64_*.dll", "a second, older cuDNN earlier on PATH is found first", platform="windows")
        )
    else:
        steps.append(
            shell(
                "ldconfig -p | grep libcudnn",
                "a second, older cuDNN is found first if it stands here or on LD_LIBRARY_PATH",
                platform="linux",
            )
        )
    return steps
