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
        return gpu_build(picture)
    if picture.platform == "windows":
        return [*conda_libraries(picture, release), *toolkit_by_hand(release)] if release.gpu else []
    if not release.extras.get("and-cuda"):
        return [*conda_libraries(picture, release), *toolkit_by_hand(release)]
    if picture.python is not None and _minor(picture.python.version) not in release.pythons:
        return gpu_build(picture)  # the release is a guess that this Python contradicts
    if release.version == "2.15.0" or release.version.startswith("2.14"):
        return [
            shell(
                f"{venv_prefix(picture)} install {quoted('tensorflow[and-cuda]==2.15.1', picture)}",
                f"the extra of {release.version} asks for TensorRT packages that cannot be installed; 2.15.1 does not",
            )
        ]
    steps = [pip_and_cuda(picture, release)]
    if release.pip_libraries_missed:
        steps.append(library_path_step(picture))
    return steps


def gpu_build(picture: Picture) -> list[Step]:
    """A TensorFlow that uses the GPU: the newest that fits this platform, this Python and these GPUs, with its libraries."""
    if picture.platform == "windows":
        return windows_gpu_build(picture)
    if picture.platform == "macos":
        return [manual("There is no CUDA for macOS since TensorFlow 1.2; on Apple silicon tensorflow-metal uses Apple's GPU")]
    release = newest_fitting(picture)
    if release is None:
        return [manual("Choose a release for this Python and these GPUs: tfgpu-doctor plan")]
    if release.extras.get("and-cuda"):
        return with_cuda_libraries(picture, release)
    return [
        shell(
            f"{venv_prefix(picture)} install {quoted(release.requirement, picture)}",
            "the newest build with CUDA that has a wheel for this Python",
        ),
        *conda_libraries(picture, release),
        *toolkit_by_hand(release),
    ]


def has_wheel(picture: Picture) -> bool:
    """Whether any release of TensorFlow has a wheel for the Python and platform of the case; True where no Python is known."""
    if picture.python is None:
        return True
    minor = _minor(picture.python.version)
    return any(minor in r.pythons for r in picture.tables.releases(picture.table_platform, "tensorflow"))


def with_another_python(picture: Picture) -> list[Step]:
    """TensorFlow in an environment whose Python has a wheel: the last but one that the newest release has."""
    from doctor.remedies import environments

    releases = [r for r in picture.tables.releases(picture.table_platform, "tensorflow") if r.pythons and not r.yanked]
    if not releases:
        return [manual("There is no TensorFlow wheel for this platform: run it on Linux or in a container")]
    python = releases[-1].pythons[max(0, len(releases[-1].pythons) - 2)]
    kind = picture.platform or "linux"
    why = f"no TensorFlow has a wheel for Python {picture.python.version if picture.python else ''}; this environment has {python}"
    return [
        *environments.uv_venv("tf-env", python, kind),
        environments.pip_install("tf-env", ("tensorflow",), kind, why, uv=True),
    ]


def windows_gpu_build(picture: Picture) -> list[Step]:
    """The last release with GPU support on native Windows, in a conda environment with a Python and the CUDA that it wants."""
    from doctor.remedies import environments

    release = picture.tables.tensorflow("2.10.1", "tensorflow", "windows-amd64")
    row = _conda_row(picture, release) if release is not None else None
    if release is None or row is None:
        return []
    packages = (f"cudatoolkit={row['cudatoolkit']}", f"cudnn={row['cudnn']}")
    return [
        environments.conda_create("tf-gpu", release.pythons[-1], "windows", packages, row["channel"]),
        environments.conda_pip(
            "tf-gpu",
            (release.requirement, "numpy<2"),
            "windows",
            "the last release with GPU support on native Windows; it has wheels for Python "
            f"{release.pythons[0]} to {release.pythons[-1]}",
        ),
        shell("conda activate tf-gpu", "in each new prompt, before the program starts", platform="windows"),
    ]


def _conda_row(picture: Picture, release: TensorFlowRelease) -> dict[str, str] | None:
    """conda's packages for the CUDA and the cuDNN major of a build."""
    if not release.cuda or not release.cudnn:
        return None
    cuda, cudnn = ".".join(release.cuda.split(".")[:2]), release.cudnn.split(".")[0]
    return next(
        (r for r in picture.tables.store.all("conda") if r["cuda"] == cuda and r["cudnn"].split(".")[0] == cudnn), None
    )


def conda_libraries(picture: Picture, release: TensorFlowRelease) -> list[Step]:
    """CUDA and cuDNN from conda, in the environment that TensorFlow is in; nothing where no channel has them."""
    row = _conda_row(picture, release)
    if row is None:
        return []
    return [
        shell(
            f"conda install -c {row['channel']} cudatoolkit={row['cudatoolkit']} cudnn={row['cudnn']}",
            f"TensorFlow {release.version} was built for CUDA {row['cuda']} and cuDNN {release.cudnn}; this puts both into the active conda "
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
