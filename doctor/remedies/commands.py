"""Commands to paste, right for the platform and for what can be installed there.

In: a `Picture` (what is known of the case) and the tables. Out: steps. Pins come from the tables; a command that
needs an administrator says so and is never run by the tool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.findings import Step, manual, shell
from doctor.remedies import code, driver

if TYPE_CHECKING:
    from doctor.picture import Picture
    from doctor.tables import TensorFlowRelease


def python_command(picture: Picture) -> str:
    """How Python is started on the platform of the case; the interpreter itself where it was named with --python."""
    python = picture.python
    if python is not None and python.executable and python.source.text.endswith("--python"):
        path = python.executable
        return path if all(c.isalnum() or c in "/._-\\:~" for c in path) else quoted(path, picture)
    return "python" if picture.platform == "windows" or "conda" in picture.environments else "python3"


def quoted(text: str, picture: Picture | None = None) -> str:
    """Text as one argument of the shell at hand: double quotes for cmd and PowerShell, single ones elsewhere."""
    if picture is not None and picture.platform == "windows":
        return '"' + text.replace('"', '\\"') + '"'
    return "'" + text.replace("'", "'\\''") + "'" if "'" not in text else '"' + text.replace('"', '\\"') + '"'


def run_python(picture: Picture, line: str) -> str:
    """A command that runs one line of Python."""
    return f'{python_command(picture)} -c "{line}"'


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


def driver_install(picture: Picture) -> list[Step]:
    """How to install or upgrade the NVIDIA driver; needs an administrator and a restart."""
    return driver.install(picture.platform or "linux", picture.os.name if picture.os else "", linux_family(picture))


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


def pip_and_cuda(picture: Picture, release: TensorFlowRelease) -> Step:
    """pip's TensorFlow with NVIDIA's libraries."""
    target = quoted(f"tensorflow[and-cuda]=={release.version}", picture)
    return shell(
        f"{venv_prefix(picture)} install {target}",
        f"brings TensorFlow {release.version} with its CUDA {release.cuda or ''} and cuDNN {release.cudnn or ''} libraries".replace(
            "  ", " "
        ),
    )


def fresh_environment(picture: Picture, release: TensorFlowRelease | None) -> list[Step]:
    """TensorFlow in a virtual environment of its own: a system's Python mostly refuses pip (PEP 668)."""
    windows = picture.platform == "windows"
    inside = "tf-gpu\\Scripts\\python" if windows else "tf-gpu/bin/python"
    extra = release is not None and bool(release.extras.get("and-cuda")) and not windows
    target = f"tensorflow[and-cuda]=={release.version}" if extra and release is not None else "tensorflow"
    return [
        shell(
            f"{python_command(picture)} -m venv tf-gpu",
            "an environment of its own; the system's Python stays as it is (Debian and Ubuntu: apt install python3-venv)",
        ),
        shell(
            f"{inside} -m pip install {quoted(target, picture)}",
            "TensorFlow with the CUDA and cuDNN libraries that it opens" if extra else "TensorFlow",
        ),
    ]


def with_cuda_libraries(picture: Picture, release: TensorFlowRelease | None) -> list[Step]:
    """How to give a TensorFlow build the CUDA and cuDNN that it opens.

    pip's extra where the release has one and it works; conda's packages of the right version for older builds.
    """
    if release is None:
        return [
            shell(
                f"{venv_prefix(picture)} install {quoted('tensorflow[and-cuda]', picture)}",
                "Linux and WSL2: TensorFlow with the CUDA and cuDNN that it opens, in the Python in use",
            )
        ]
    if picture.platform == "windows":
        return _windows_libraries(release)
    extra = release.extras.get("and-cuda") if release.extras else None
    if extra and release.version not in ("2.15.0",) and not release.version.startswith("2.14"):
        steps = [pip_and_cuda(picture, release)]
        if release.pip_libraries_missed:
            steps.append(library_path_step(picture))
        return steps
    if extra:
        return [
            shell(
                f"{venv_prefix(picture)} install {quoted('tensorflow[and-cuda]==2.15.1', picture)}",
                f"the extra of {release.version} asks for TensorRT packages that cannot be installed; 2.15.1 does not",
            )
        ]
    return conda_libraries(release)


def _windows_libraries(release: TensorFlowRelease) -> list[Step]:
    if release.gpu:
        return [*conda_libraries(release), *toolkit_by_hand(release)]
    return []


_CONDA_CUDA = {
    "9.0": "9.0",
    "10.0": "10.0",
    "10.1": "10.1",
    "11.0": "11.0",
    "11.2": "11.2",
    "11.8": "11.8",
    "8.0": "8.0",
}
_CONDA_CUDNN = {"5": "5.1", "6": "6.0", "7": "7.6", "8": "8.1"}


def conda_libraries(release: TensorFlowRelease) -> list[Step]:
    """CUDA and cuDNN from conda, in the environment that TensorFlow is in."""
    cuda, cudnn = release.cuda or "", release.cudnn or ""
    major_minor = ".".join(cuda.split(".")[:2])
    if major_minor not in _CONDA_CUDA or not cudnn:
        return []
    wanted = _CONDA_CUDNN.get(cudnn.split(".")[0], cudnn)
    if major_minor == "11.8":
        wanted = "8.8"
    channel = "conda-forge" if float(major_minor) >= 10.1 else "defaults"
    return [
        shell(
            f"conda install -c {channel} cudatoolkit={_CONDA_CUDA[major_minor]} cudnn={wanted}",
            f"TensorFlow {release.version} was built for CUDA {major_minor} and cuDNN {cudnn}; this puts both into the active conda "
            "environment (older combinations may no longer be served by the channel)",
        )
    ]


def toolkit_by_hand(release: TensorFlowRelease) -> list[Step]:
    """The toolkit and cuDNN from NVIDIA."""
    if not release.cuda:
        return []
    return [
        manual(
            f"Or install the CUDA Toolkit {release.cuda} and cuDNN {release.cudnn or ''}".rstrip()
            + f" from NVIDIA's archives and put their folders {'on PATH' if release.platform.startswith('windows') else 'on LD_LIBRARY_PATH'}",
            f"these are the versions that TensorFlow {release.version} opens",
        )
    ]


def library_path_step(picture: Picture) -> Step:
    """Put pip's NVIDIA library folders on the loader's path, for this shell."""
    return shell(
        'export LD_LIBRARY_PATH="$('
        + python_command(picture)
        + " -c \"import glob, site, os; print(':'.join(glob.glob(os.path.join(site.getsitepackages()[0], 'nvidia', '*', 'lib'))))\")"
        + '${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"',
        "this release does not look into every folder of pip's NVIDIA packages by itself",
        platform="linux",
    )


def newest_fitting(picture: Picture) -> TensorFlowRelease | None:
    """The newest GPU release for this platform, this Python and these GPUs; None where none is known to fit."""
    from doctor import compat

    try:
        situation = compat.Situation(
            platform=picture.table_platform,
            python=_minor(picture.python.version) if picture.python else None,
            capabilities=picture.capabilities,
        )
        judgement = compat.newest(picture.tables, situation)
    except (ValueError, KeyError):
        return None
    return judgement.build if judgement is not None else None


def _minor(version: str) -> str | None:
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
