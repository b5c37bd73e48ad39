"""Commands to paste, right for the platform and for what can be installed there.

In: a `Picture` (what is known of the case) and the tables. Out: steps. Pins come from the tables; a command that
needs an administrator says so and is never run by the tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from doctor.findings import Step, shell
from doctor.remedies import code, driver
from doctor.remedies.shells import argument

if TYPE_CHECKING:
    from doctor.picture import Picture
    from doctor.tables import TensorFlowRelease


def python_command(picture: Picture) -> str:
    """How Python is started on the platform of the case; the interpreter itself where it was named with --python."""
    python = picture.python
    if python is not None and python.executable and python.source.text.endswith("--python"):
        path = python.executable
        return path if path.startswith("~") and re.fullmatch(r"[\w/.~+-]+", path) else quoted(path, picture)
    return "python" if picture.platform == "windows" or "conda" in picture.environments else "python3"


def quoted(text: str, picture: Picture | None = None) -> str:
    """Text as one argument of the shell at hand, in quotes where it needs them."""
    return argument(text, (picture.platform if picture is not None else None) or "linux")


def run_python(picture: Picture, line: str, python: str = "") -> str:
    """A command that runs one line of Python. python: how it is started, where it is not the one of the case."""
    return f'{python or python_command(picture)} -c "{line}"'


def list_gpus(picture: Picture) -> str:
    """The command that shows which GPUs TensorFlow registered."""
    version = picture.tensorflow.version if picture.tensorflow else None
    return run_python(picture, code.list_gpus(version))


def convolution(picture: Picture) -> str:
    """The command that makes TensorFlow create its cuDNN handle."""
    version = picture.tensorflow.version if picture.tensorflow else None
    return run_python(picture, code.convolution(version))


def linux_family(picture: Picture) -> str:
    """apt, dnf, zypper or pacman for the distribution of the case; empty where it is not known."""
    return driver.family(picture.os.name) if picture.os else ""


def driver_install(picture: Picture, release: TensorFlowRelease | None = None) -> list[Step]:
    """How to install or upgrade the NVIDIA driver; needs an administrator and a restart.

    release: what has to run on it, by default the build in use; neither known, the newest driver that serves the GPUs.
    """
    from doctor import compat
    from doctor.tables import DriverFloor

    build = release or picture.build
    side = picture.platform if picture.platform in ("windows", "wsl") else "linux"
    minimum = ""
    if build is not None and build.gpu:
        floor = compat.driver_minimum(build, picture.tables, side, picture.capabilities).rows[-1]
        minimum = floor.driver if isinstance(floor, DriverFloor) else ""
    last = [
        a.last_driver
        for c in picture.capabilities
        if (a := picture.tables.architecture(c)) is not None and a.last_driver
    ]
    return driver.install(
        picture.platform or "linux",
        picture.os.name if picture.os else "",
        linux_family(picture),
        minimum=minimum,
        last=min(last, key=int, default=""),
    )


def quoted_all(texts: Iterable[str], picture: Picture) -> str:
    """Several arguments of the shell at hand."""
    return " ".join(quoted(text, picture) for text in texts)


def present(picture: Picture) -> str:
    """The TensorFlow in use as pip is asked for it, quoted: with its version where that is known."""
    return quoted(picture.build.requirement, picture) if picture.build is not None else "tensorflow"


def variable(picture: Picture, name: str, value: str) -> str:
    """The command that sets an environment variable in the shell at hand (cmd, or sh and its kin)."""
    return f"{'set' if picture.platform == 'windows' else 'export'} {name}={value}"


def growth_variable(picture: Picture, version: str | None, why: str) -> list[Step]:
    """Memory growth from outside; nothing for a release that does not read the variable."""
    if not code.has_growth_variable(version):
        return []
    return [shell(variable(picture, "TF_FORCE_GPU_ALLOW_GROWTH", "true"), why)]


def reload_driver() -> list[Step]:
    """Make kernel module and libraries the same version again."""
    return [
        shell("sudo reboot", "loads the kernel module of the version that is installed", platform="linux", root=True),
        shell(
            "cat /proc/driver/nvidia/version && nvidia-smi", "both must show one and the same version", platform="linux"
        ),
    ]


def venv_prefix(picture: Picture) -> str:
    """pip of the Python in use."""
    return f"{python_command(picture)} -m pip"


def library_path_step(picture: Picture, python: str = "") -> Step:
    """Put pip's NVIDIA library folders on the loader's path, for this shell. python: as in `run_python`."""
    return shell(
        'export LD_LIBRARY_PATH="$('
        + (python or python_command(picture))
        + " -c \"import glob, site, os; print(':'.join(glob.glob(os.path.join(site.getsitepackages()[0], 'nvidia', '*', 'lib'))))\")"
        + '${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"',
        "this release does not look into every folder of pip's NVIDIA packages by itself",
        platform="linux",
    )


def minor(version: str) -> str | None:
    """The first two parts of a version."""
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else None


def tell_more(picture: Picture) -> list[Step]:
    """What to run and send where a report does not hold enough."""
    version = picture.tensorflow.version if picture.tensorflow else None
    loud = "import tensorflow as tf; print(tf.__version__, tf.test.is_built_with_cuda())"
    steps = [
        shell("tfgpu-doctor check --format markdown", "looks at everything that decides, and makes a report to paste"),
        shell("nvidia-smi", "shows the driver and the GPUs"),
        shell(run_python(picture, loud), "which TensorFlow this is, and whether it is built for CUDA"),
    ]
    if picture.platform == "windows":
        steps.append(
            shell(
                f"set TF_CPP_VMODULE=dso_loader=1 && {list_gpus(picture)}",
                "names the library that does not open (cmd)",
                platform="windows",
            )
        )
    else:
        steps.append(
            shell(
                f"TF_CPP_VMODULE=dso_loader=1 {run_python(picture, code.list_gpus(version))}",
                "names the library that does not open",
            )
        )
    return steps
