"""The CUDA and cuDNN that a TensorFlow build opens, brought to where the case is: pip, conda, an image, a module, by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.findings import Step, manual, shell
from doctor.remedies import code, commands, environments
from doctor.remedies.environments import ENV
from doctor.remedies.fitness import extra_installs, on_driver, situation, usable
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.picture import Picture
    from doctor.tables import TensorFlowRelease

ARCHIVES = "developer.nvidia.com/cuda-toolkit-archive, developer.nvidia.com/rdp/cudnn-archive"


def steps(picture: Picture, build: TensorFlowRelease) -> list[Step]:
    """The libraries for a build that is installed, in the way that the surroundings of the case allow."""
    if build.extras.get("and-cuda"):
        return with_pip(picture, build)
    if not build.cuda:
        return [manual("tfgpu-doctor plan names the CUDA and cuDNN for each TensorFlow release")]
    if picture.environments & {"colab", "kaggle"}:
        return [
            manual(
                "Take out the command that installs this TensorFlow, restart the runtime, and use the one that is preinstalled",
                f"that one fits the CUDA of the machine, which stays as it is; {_wants(picture, build)}",
            )
        ]
    ways: list[list[Step]] = []
    if picture.container:
        ways.append(image(picture, build))
    if "slurm" in picture.environments:
        ways.append([_module(build)])
    if "conda" in picture.environments:
        ways.append(conda(picture, build))
    ways.append(by_name(picture, build))
    ways = [way for way in ways if way]
    ways.append(toolkit(picture, build, other=bool(ways)))
    if "conda" not in picture.environments and not picture.container:
        ways.append(conda(picture, build))
    return [step for way in ways for step in way]


def cudnn(picture: Picture, build: TensorFlowRelease) -> list[Step]:
    """cuDNN alone for a build whose CUDA is there."""
    pin = next(((name, spec) for name, spec in build.extras.get("and-cuda", {}).items() if "cudnn" in name), None)
    found_there = build.pip_libraries_found or ()  # a build without a RUNPATH into pip's folders does not look there
    if pin is not None and picture.build is not None and any("cudnn" in name for name in found_there):
        wanted = commands.quoted("".join(pin), picture)
        return [shell(f"{commands.venv_prefix(picture)} install {wanted}", f"the cuDNN that TensorFlow {build.version} asks for")]
    if picture.environments & {"colab", "kaggle"}:
        return steps(picture, build)
    first = image(picture, build) if picture.container else []
    if "conda" in picture.environments:
        first += conda(picture, build)
    by_hand = f"nstall cuDNN {build.cudnn} for CUDA {build.cuda} from NVIDIA's archive ({ARCHIVES.rpartition(', ')[2]})"
    return [*first, manual(f"{'Or i' if first else 'I'}{by_hand}", _wants(picture, build))]


def by_name(picture: Picture, build: TensorFlowRelease) -> list[Step]:
    """NVIDIA's packages from pip for a build without an extra, and the path to them: nothing needs an administrator.

    Nothing where the builds that can be meant differ in what they need, or no package holds it.
    """
    from doctor.plan.measures import for_pip_libraries
    from doctor.plan.nvidia_packages import packages_for

    if picture.platform not in (None, "linux", "wsl"):
        return []
    here = situation(picture, driver=None, route="pip-and-cuda")
    sets = {p.requirements if (p := packages_for(b, here, picture.tables)) else None for b in picture.builds or (build,)}
    packages = packages_for(build, here, picture.tables)
    if packages is None or len(sets) != 1 or for_pip_libraries(build, here, picture.tables).blocks:
        return []
    why = f"the libraries of CUDA {packages.cuda} and cuDNN {packages.cudnn} from NVIDIA's packages, without an administrator; {_wants(picture, build)}"
    wanted = commands.quoted_all(list(packages.requirements), picture)
    return [shell(f"{commands.venv_prefix(picture)} install {wanted}", why), commands.library_path_step(picture)]


def with_build(picture: Picture, build: TensorFlowRelease, why: str) -> list[Step]:
    """The build itself into the Python of the case, and its libraries."""
    if build.extras.get("and-cuda"):
        return with_pip(picture, build, why)
    if picture.container and (found := image(picture, build)):
        return found
    wanted = commands.quoted_all(requirements(picture, build), picture)
    install = shell(f"{commands.venv_prefix(picture)} install {wanted}", f"{why}; {_pythons(build)}")
    return [install, *toolkit(picture, build, known=True)] if "conda" not in picture.environments else [install, *conda(picture, build, known=True)]


def in_environment(picture: Picture, build: TensorFlowRelease, why: str, *, same_python: bool) -> tuple[list[Step], str]:
    """The build in an environment of its own, and how its Python is started.

    same_python: the Python of the case has a wheel; otherwise uv or conda bring one that has.
    """
    kind = picture.platform or "linux"
    python = build.pythons[-1]
    if same_python and picture.python and "conda" not in picture.environments and kind != "windows":
        python = commands.minor(picture.python.version) or python
    wanted = requirements(picture, build, python=python)
    brought = brings_libraries(picture, build, python)
    by_hand = [] if brought else toolkit(picture, build, known=True)
    too_old_for_uv = not same_python and dotted(python) < dotted(environments.UV_PYTHONS)
    if "conda" in picture.environments or kind == "windows" or too_old_for_uv:
        row = None if brought else conda_row(picture, build)
        packages = (f"cudatoolkit={row['cudatoolkit']}", f"cudnn={row['cudnn']}") if row else ()
        found = [
            environments.conda_create(ENV, python, kind, packages, row["channel"] if row else ""),
            environments.conda_pip(ENV, wanted, kind, f"{why}; {_pythons(build)}"),
        ]
        if kind == "windows":
            found.append(shell(f"conda activate {ENV}", "in each new prompt, before the program starts", platform="windows"))
        elif packages:
            found += environments.conda_library_path(ENV, kind)
        return [*found, *([] if packages else by_hand)], f"conda run -n {ENV} python"
    if same_python:
        found = [
            shell(
                f"{commands.python_command(picture)} -m venv {ENV}",
                "an environment of its own; the system's Python stays as it is (Debian and Ubuntu: apt install python3-venv)",
            ),
            environments.pip_install(ENV, wanted, kind, why),
        ]
    else:
        found, _ = environments.with_python(ENV, python, kind, wanted, f"{why}; {_pythons(build)}")
    if brought and build.pip_libraries_missed:
        found.append(commands.library_path_step(picture, environments.interpreter(ENV, kind)))
    return [*found, *by_hand], environments.interpreter(ENV, kind)


def with_pip(picture: Picture, build: TensorFlowRelease, why: str = "") -> list[Step]:
    """pip's TensorFlow with NVIDIA's libraries, with the pins and paths that make the extra work."""
    if not extra_installs(picture, build):
        other = picture.tables.tensorflow("2.15.1", "tensorflow", build.platform)
        lost = f"the extra of {build.version} asks for TensorRT packages that cannot be installed"
        if other is None or not usable(picture, other) or not on_driver(picture, other):
            wanted = commands.quoted_all(requirements(picture, build, bare=True), picture)
            plain = shell(f"{commands.venv_prefix(picture)} install {wanted}", f"{why}; without the extra: {lost}" if why else lost)
            return [plain, *toolkit(picture, build, known=True)]
        why, build = f"{lost}; that of 2.15.1 does not", other
    wanted = commands.quoted_all(requirements(picture, build), picture)
    brings = f"brings TensorFlow {build.version} with its CUDA {build.cuda or ''} and cuDNN {build.cudnn or ''} libraries".replace("  ", " ")
    if picture.container and picture.facts.kind == "report":
        brings += "; put it into the recipe of the image (RUN in a Dockerfile, %post in a definition file): what a container is given while it runs goes with it"
    found = [shell(f"{commands.venv_prefix(picture)} install {wanted}", f"{why}; {brings}" if why else brings)]
    if build.pip_libraries_missed:
        found.append(commands.library_path_step(picture))
    return found


def brings_libraries(picture: Picture, build: TensorFlowRelease, python: str = "") -> bool:
    """Whether pip installs CUDA and cuDNN with the build. python: of an environment to be made ("3.11")."""
    return bool(build.extras.get("and-cuda")) and build.platform.startswith("linux") and extra_installs(picture, build, python)


def requirements(picture: Picture, build: TensorFlowRelease, *, bare: bool = False, python: str = "") -> list[str]:
    """What pip is asked for: the build, with its libraries where it has the extra, and the pins that make it work.

    The pins: a cuDNN that serves these GPUs, and the bounds on plain packages that the build needs and does not state.
    bare: without the extra, for CUDA libraries that are there. python: of an environment to be made ("3.11").
    """
    from doctor import compat

    extra = not bare and brings_libraries(picture, build, python)
    bound = compat.cudnn_bound(build, picture.tables, picture.capabilities) if extra else None
    pins = (*((bound,) if bound else ()), *compat.companions(build, picture.tables))
    return [compat.requirement(build, extra=extra), *(pin.requirement for pin in pins)]


def pip_package(picture: Picture, soname: str) -> str | None:
    """What pip is asked for to bring one library: the version that the build in use pins, else the last that holds it;
    None where no package has it."""
    build = picture.build
    row = picture.tables.pip_library(soname, build.cuda.split(".")[0] if build is not None and build.cuda else None)
    if row is None:
        return None
    pinned = build.extras.get("and-cuda", {}).get(row.package) if build is not None else None
    return f"{row.package}{pinned or f'=={row.last}'}"


def conda_row(picture: Picture, build: TensorFlowRelease) -> dict[str, str] | None:
    """conda's packages for the CUDA and the cuDNN major of a build."""
    if not build.cuda or not build.cudnn:
        return None
    cuda, cudnn = ".".join(build.cuda.split(".")[:2]), build.cudnn.split(".")[0]
    return next(
        (r for r in picture.tables.store.all("conda") if r["cuda"] == cuda and r["cudnn"].split(".")[0] == cudnn), None
    )


def conda(picture: Picture, build: TensorFlowRelease, *, known: bool = False) -> list[Step]:
    """CUDA and cuDNN from conda: into the environment in use, or with the build into one of its own where there is none."""
    row = conda_row(picture, build)
    if row is None:
        return []
    packages = (f"cudatoolkit={row['cudatoolkit']}", f"cudnn={row['cudnn']}")
    if "conda" in picture.environments:
        why = f"{_wants(picture, build, known)}; this puts both into the active environment (a channel may have dropped old ones)"
        return [shell(f"conda install -c {row['channel']} {' '.join(packages)}", why)]
    kind = picture.platform or "linux"
    python = commands.minor(picture.python.version) if picture.python else None
    python = python if python in build.pythons else build.pythons[-1]
    create = environments.conda_create(ENV, python, kind, packages, row["channel"])
    why = f"or with conda, where it is installed, and without an administrator: an environment with Python {python} and these libraries"
    return [
        shell(create.text, why, platform=kind),
        environments.conda_pip(ENV, requirements(picture, build), kind, f"TensorFlow {build.version} in it"),
        *environments.conda_library_path(ENV, kind),
    ]


def image(picture: Picture, build: TensorFlowRelease) -> list[Step]:
    """The official image of a build, for a case in a container."""
    row = next((r for r in picture.tables.store.all("images") if r["version"] == build.version), None)
    if row is None or picture.platform == "windows":
        return []
    line = commands.quoted(code.list_gpus(build.version))
    what = f"the official image of TensorFlow {build.version}, with CUDA {build.cuda or ''} and cuDNN {build.cudnn or ''}: build on it"
    if "singularity" in picture.environments:
        return [shell(f"singularity exec --nv docker://{row['image']} python3 -c {line}", what, platform="linux")]
    return [shell(f"docker run --rm --gpus all {row['image']} python3 -c {line}", what, platform="linux")]


def toolkit(picture: Picture, build: TensorFlowRelease, *, other: bool = False, known: bool = False) -> list[Step]:
    """The toolkit and cuDNN from NVIDIA. other: another way stands before this one. known: the build is the cure's own."""
    if not build.cuda:
        return []
    folder = "bin folder on PATH" if build.platform.startswith("windows") else "lib64 folder on LD_LIBRARY_PATH"
    what = f"nstall the CUDA Toolkit {build.cuda} and cuDNN {build.cudnn or ''}".rstrip()
    return [
        manual(
            f"{'Or i' if other else 'I'}{what} from NVIDIA's archives ({ARCHIVES}), and put the {folder}",
            _wants(picture, build, known),
        )
    ]


def _module(build: TensorFlowRelease) -> Step:
    wanted = f"CUDA {build.cuda}" + (f" and cuDNN {build.cudnn}" if build.cudnn else "")
    return shell("module avail cuda cudnn", f"clusters offer several CUDA versions as modules: load {wanted} in the job (module load NAME)",
                 platform="linux")  # fmt: skip


def _wants(picture: Picture, build: TensorFlowRelease, known: bool = False) -> str:
    """What the build was made for: named by its version where that is known, else by the releases that can be meant."""
    made_for = f"made for CUDA {build.cuda}" + (f" and cuDNN {build.cudnn}" if build.cudnn else "")
    from doctor.tables import dotted

    same = sorted({b.version for b in picture.builds if b.cuda == build.cuda}, key=dotted)
    if known or picture.build is not None or len(same) < 2:
        return f"TensorFlow {build.version} was {made_for}"
    return f"the TensorFlow releases that open these libraries ({same[0]} to {same[-1]}) were {made_for}"


def _pythons(build: TensorFlowRelease) -> str:
    if len(build.pythons) < 2:
        return f"it has a wheel for Python {''.join(build.pythons) or 'unknown'}"
    return f"it has wheels for Python {build.pythons[0]} to {build.pythons[-1]}"
