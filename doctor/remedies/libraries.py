"""Steps that install the CUDA and cuDNN versions that a TensorFlow build loads: with pip or conda, from an
image or an environment module, or by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import Package
from doctor.findings import Step, manual, shell
from doctor.remedies import code, commands, environments, installable, installation as installations
from doctor.remedies.cudnn import ARCHIVE, conda_row, install_step, versions, wants
from doctor.remedies.fitness import usable
from doctor.shell import run
from doctor.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doctor.case import Case
    from doctor.remedies.installation import Installation
    from doctor.tables import TensorFlowRelease

ARCHIVES = f"developer.nvidia.com/cuda-toolkit-archive, {ARCHIVE}"


def steps(case: Case, build: TensorFlowRelease) -> list[Step]:
    """Steps that install the libraries for an installed build, in the way that fits the case's
    environment."""
    if build.extras.get("and-cuda"):
        return with_pip(case, build)
    if not build.cuda:
        return [
            manual("Run tfgpu-doctor plan: it lists the CUDA and cuDNN versions for each TensorFlow release")
        ]
    if case.environments & {"colab", "kaggle"}:
        return [
            manual(
                "Remove the command that installs this TensorFlow, restart the runtime, and use the"
                " preinstalled TensorFlow",
                "the preinstalled TensorFlow fits the machine's CUDA, which you cannot change;"
                f" {wants(case, build)}",
            )
        ]
    ways: list[list[Step]] = []
    if case.container:
        ways.append(image(case, build))
    if "slurm" in case.environments:
        ways.append([_module(build)])
    if "conda" in case.environments:
        ways.append(conda(case, build))
    ways.append(by_name(case, build))
    ways.append(toolkit(case, build))
    if "conda" not in case.environments and not case.container:
        ways.append(conda(case, build))
    return either(ways)


def either(ways: Sequence[Sequence[Step]]) -> list[Step]:
    """Return the steps of several ways, one of which is enough. Each way after the first begins with "or". A
    way without steps is left out."""
    steps: list[Step] = []
    for first, *others in filter(None, ways):
        if steps and first.kind == "manual":
            first = replace(first, text=f"Or {first.text[:1].lower()}{first.text[1:]}")
        elif steps:
            first = replace(first, why=f"or {first.why}")
        steps += [first, *others]
    return steps


def by_name(case: Case, build: TensorFlowRelease) -> list[Step]:
    """Steps that install NVIDIA's packages with pip and make links to their libraries, for a build without
    the extra and-cuda; no administrator is needed.

    No steps if the possible builds need different libraries, or no package contains the libraries.
    """
    if case.platform not in (None, "linux", "wsl"):
        return []
    found = installable.from_pip(case, build)
    meant = [installable.from_pip(case, other) for other in case.builds or (build,)]
    if found is None or any(
        other is None or (other.pins, other.links) != (found.pins, found.links) for other in meant
    ):
        return []
    wanted = [pin.requirement for pin in found.pins if pin.requirement.startswith("nvidia-")]
    why = (
        "installs the CUDA and cuDNN libraries from NVIDIA's packages, without an administrator;"
        f" {wants(case, build)}"
    )
    return [install_step(case, wanted, why), *installations.link_steps(found, commands.python_command(case))]


def links(case: Case, build: TensorFlowRelease) -> list[Step]:
    """The step that makes the links through which an installed build finds pip's libraries."""
    found = installable.from_pip(case, build)
    return installations.link_steps(found, commands.python_command(case)) if found is not None else []


def with_build(case: Case, build: TensorFlowRelease, why: str) -> list[Step]:
    """Steps that install the build into the case's Python environment, with its libraries."""
    if build.extras.get("and-cuda") or installable.from_pip(case, build) is not None:
        return with_pip(case, build, why)
    if case.container and (found := image(case, build)):
        return found
    why = f"{_brings(build, why)}{_pythons(build)}"
    install = install_step(case, installable.installation(case, build).requirements, why)
    way = conda if "conda" in case.environments else toolkit
    return [install, *way(case, build, known=True)]


def on_cpu(case: Case, build: TensorFlowRelease, why: str) -> list[Step]:
    """Steps that install the build into the case's Python environment, to compute on the CPU. why: the reason
    for this build, as a clause."""
    wanted = installable.installation(case, build, bare=True).requirements
    return [install_step(case, wanted, _brings(build, why))]


def _brings(build: TensorFlowRelease, why: str, contents: str = "") -> str:
    """What a step installs, and the reason for this build."""
    return f"installs TensorFlow {build.version}{contents}" + (f"; {why}" if why else "")


def with_pip(case: Case, build: TensorFlowRelease, why: str = "") -> list[Step]:
    """Steps that install TensorFlow and NVIDIA's libraries with pip, with the pins and links that the build
    needs. why: the reason for this build, as a clause."""
    found = installable.from_pip(case, build)
    if found is None:
        lost = f"pip cannot install the extra and-cuda of TensorFlow {build.version} here"
        other = _patched(case, build)
        if other is None:
            wanted = installable.installation(case, build, bare=True).requirements
            install = install_step(case, wanted, _brings(build, "; ".join(filter(None, (why, lost)))))
            return [install, *toolkit(case, build, known=True)]
        why = lost
        found, build = other, other.build
    contents = " with NVIDIA's libraries from pip"
    if found.extra:
        contents = f" with the libraries of {build.brought}"
    if case.container and case.facts.kind == "report":
        contents += (
            "; put this command into the recipe of the image (RUN in a Dockerfile, %post in a definition"
            " file): what you install in a running container is lost when the container ends"
        )
    explained = [pin for pin in found.pins if why and not pin.requirement.startswith("nvidia-cu")]
    why += "".join(f"; {pin.requirement}: {pin.why}" for pin in explained)
    step = install_step(case, found.requirements, _brings(build, why, contents))
    return [step, *installations.link_steps(found, commands.python_command(case))]


def _patched(case: Case, build: TensorFlowRelease) -> Installation | None:
    """The newest release of the same minor version whose libraries pip can install, and that works here."""
    for other in reversed(case.tables.releases(build.platform, build.package)):
        if commands.minor(other.version) != commands.minor(build.version):
            continue
        works = usable(case, other) and installable.on_driver(case, other)
        found = installable.from_pip(case, other) if works else None
        if found is not None:
            return found
    return None


def pip_package(case: Case, soname: str) -> str | None:
    """The pip requirement for the package that contains one library: in the version that the build in use
    pins, otherwise in the installed one, otherwise in the last version that contains the library. Without a
    version if neither the build nor the installed version is known. None if no package contains the
    library."""
    build = case.build
    row = case.tables.pip_library(
        soname, build.cuda.split(".")[0] if build is not None and build.cuda else None
    )
    if row is None:
        return None
    pinned = build.extras.get("and-cuda", {}).get(row.package) if build is not None else None
    there = next((p.version for p in case.facts.of(Package) if p.name == row.package and p.version), None)
    version = pinned or (f"=={there}" if there else f"=={row.last}" if build is not None else "")
    return f"{row.package}{version}"


def conda(case: Case, build: TensorFlowRelease, *, known: bool = False) -> list[Step]:
    """Steps that install CUDA and cuDNN from conda: into the active conda environment or, if none is active,
    into a new one together with the build."""
    row = conda_row(case.tables, build)
    if row is None:
        return []
    packages = (f"cudatoolkit={row['cudatoolkit']}", f"cudnn={row['cudnn']}")
    if "conda" in case.environments:
        why = (
            "installs both libraries into the active environment (a channel may have dropped old packages);"
            f" {wants(case, build, known)}"
        )
        return [shell(run("conda", "install", "-c", row["channel"], *packages), why)]
    kind = case.platform or "linux"
    python = commands.python_minor(case)
    python = python if python in build.pythons else build.pythons[-1]
    create = environments.conda_create(environments.ENV, python, kind, packages, row["channel"])
    why = (
        "if conda is installed: creates an environment with"
        f" Python {python} and these libraries; conda needs no administrator"
    )
    return [
        replace(create, why=why),
        environments.conda_pip(
            environments.ENV,
            installable.installation(case, build, bare=True).requirements,
            kind,
            f"installs TensorFlow {build.version} into that environment",
        ),
        *environments.conda_library_path(environments.ENV, kind),
        environments.conda_activate(environments.ENV, kind),
    ]


def image(case: Case, build: TensorFlowRelease) -> list[Step]:
    """The step that runs the official image of a build, for a case in a container; none without an image."""
    row = next((r for r in case.tables.store.all("images") if r["version"] == build.version), None)
    if row is None or case.platform == "windows":
        return []
    look = ("python3", "-c", code.list_gpus(build.version))
    contents = f", with {versions(build)}" if build.cuda else ""
    what = f"the official image of TensorFlow {build.version}{contents}: use it as the base of your image"
    start = run("docker", "run", "--rm", "--gpus", "all", row["image"], *look)
    if "singularity" in case.environments:
        start = run("singularity", "exec", "--nv", f"docker://{row['image']}", *look)
    return [shell(start, what, platform="linux")]


def toolkit(case: Case, build: TensorFlowRelease, *, known: bool = False) -> list[Step]:
    """The step that installs the CUDA Toolkit and cuDNN from NVIDIA. known: whether the cure itself chose the
    build."""
    if not build.cuda:
        return []
    folder = (
        "bin folder on PATH" if build.platform.startswith("windows") else "lib64 folder on LD_LIBRARY_PATH"
    )
    what = f"the CUDA Toolkit {build.cuda} and cuDNN {build.cudnn or ''}".rstrip()
    by_hand = f"Install {what} from NVIDIA's archives ({ARCHIVES}), and put the {folder}"
    return [manual(by_hand, wants(case, build, known))]


def _module(build: TensorFlowRelease) -> Step:
    wanted = versions(build)
    why = f"lists the cluster's CUDA versions; load {wanted} in the job (module load NAME)"
    return shell(run("module", "avail", "cuda", "cudnn"), why, platform="linux")


def _pythons(build: TensorFlowRelease) -> str:
    """A clause about the Python versions for which a build has wheels; "" if they are unknown."""
    if len(build.pythons) < 2:
        return f"; it has a wheel for Python {build.pythons[0]}" if build.pythons else ""
    return f"; it has wheels for Python {build.pythons[0]} to {build.pythons[-1]}"
