"""Steps that install cuDNN alone, and the words for the versions that a build needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import CudnnMismatch, Package
from doctor.findings import Step, manual, shell
from doctor.remedies import commands, libraries
from doctor.shell import run
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import Tables, TensorFlowRelease

ARCHIVE = "developer.nvidia.com/rdp/cudnn-archive"
"""NVIDIA's archive of cuDNN."""


def alone(case: Case, build: TensorFlowRelease) -> list[Step]:
    """Steps that install only cuDNN, for a build whose CUDA is already installed."""
    pins = [name + spec for name, spec in build.extras.get("and-cuda", {}).items() if "cudnn" in name]
    # a build without a RUNPATH into pip's folders does not search them
    searched = any("cudnn" in name for name in build.pip_libraries_found or ())
    if pins and case.build is not None and searched:
        why = f"installs the cuDNN version that TensorFlow {build.version} requires"
        return [install_step(case, pins[:1], why)]
    if case.environments & {"colab", "kaggle"}:
        return libraries.steps(case, build)
    ways = [libraries.image(case, build) if case.container else []]
    stated = case.facts.first(CudnnMismatch)
    row = conda_row(case.tables, build)
    if stated is not None and row is not None and "conda" in case.environments:
        major, least = stated.compiled.split(".")[0], stated.range.split()[0]
        why = (
            "installs a cuDNN that this TensorFlow accepts (a channel may have dropped old packages);"
            f" TensorFlow was compiled with cuDNN {stated.compiled}"
        )
        packages = (f"cudatoolkit={row['cudatoolkit']}", f"cudnn>={least},<{int(major) + 1}")
        ways.append([shell(run("conda", "install", "-c", row["channel"], *packages), why)])
    elif "conda" in case.environments:
        ways.append(libraries.conda(case, build))
    from doctor.compat import accepted_cudnn

    accepted = stated.range if stated else accepted_cudnn(build, case.tables, case.capabilities)
    by_hand = f"Install cuDNN {accepted} for CUDA {build.cuda} from NVIDIA's archive ({ARCHIVE})"
    if case.platform == "windows":
        by_hand += ": copy its folders bin, include and lib into the CUDA Toolkit's folder"
        by_hand += "".join(
            f", whose bin folder must be on PATH and then contains {name}"
            for name in build.libraries
            if name.startswith("cudnn64_")
        )
    elif case.container:
        by_hand += (
            ", in the image (in its Dockerfile): what you install in a running container is lost when the"
            " container ends, and a container does not see what is installed on the host"
        )
    # a single "TensorFlow 2.10.0" may be a person's line and not pip's
    of_pip = case.facts.has("stated-package") or len(case.facts.of(Package)) > 1
    elsewhere = stated or case.container or "conda" in case.environments
    pip = libraries.by_name(case, build) if of_pip and not elsewhere else []
    return libraries.either([*ways, pip, [manual(by_hand, wants(case, build))]])


def conda_row(tables: Tables, build: TensorFlowRelease) -> dict[str, str] | None:
    """The row in the table `conda` for a build's CUDA release and cuDNN major version; None if there is
    none."""
    if not build.cuda or not build.cudnn:
        return None
    cuda, cudnn = ".".join(build.cuda.split(".")[:2]), build.cudnn.split(".")[0]
    rows = tables.store.all("conda")
    return next((r for r in rows if r["cuda"] == cuda and r["cudnn"].split(".")[0] == cudnn), None)


def install_step(case: Case, requirements: list[str], why: str) -> Step:
    """The step that installs requirements with pip in the Python in use."""
    return shell(commands.pip(case, "install", *requirements), why)


def versions(build: TensorFlowRelease) -> str:
    """The CUDA and cuDNN versions of a build, in words; the cuDNN version only if it is known."""
    return f"CUDA {build.cuda}" + (f" and cuDNN {build.cudnn}" if build.cudnn else "")


def wants(case: Case, build: TensorFlowRelease, known: bool = False) -> str:
    """A clause that says for which CUDA and cuDNN versions the build was made. It names the build's version
    if that version is known, otherwise the possible releases."""
    made_for = f"made for {versions(build)}"
    same = sorted({b.version for b in case.builds if b.cuda == build.cuda}, key=dotted)
    if known or case.build is not None or len(same) < 2:
        return f"TensorFlow {build.version} was {made_for}"
    return f"the TensorFlow releases that load these libraries ({same[0]} to {same[-1]}) were {made_for}"
