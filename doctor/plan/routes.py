"""The commands in a plan: the steps for a candidate, in order, for its platform and shell."""

from __future__ import annotations

from doctor.compat.nvidia_packages import Packages
from doctor.findings import Step, manual, shell
from doctor.plan.candidate import WSL_PYTHON, Candidate
from doctor.plan.context import PlanContext
from doctor.remedies import code, driver, environments as make
from doctor.remedies.environments import ENV, UV_PYTHONS
from doctor.remedies.installation import link_steps, setting_steps
from doctor.shell import Path, Word, run
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.ordering import order
from doctor.tables.versions import minor
from doctor.values import replace


def steps(candidate: Candidate, context: PlanContext, env: str = ENV) -> list[Step]:
    """Return all steps, with the final check. The driver comes last if possible: TensorFlow needs it to run,
    but not to be installed."""
    kind = _kind(candidate, context)
    if candidate.image is not None:
        return installing(candidate, context, env)
    if candidate.route == "conda":
        shows = run(*interpreter(candidate, context, env), "-c", code.list_gpus(candidate.build.version))
        proof = shell(shows, "shows the GPUs that TensorFlow registers", platform=kind)
    elif candidate.route == "cpu":
        # `check --deep` would report that there is no GPU
        computes = run(*interpreter(candidate, context, env), "-c", code.product(candidate.build.version))
        proof = shell(computes, "proof: computes with TensorFlow in the new environment", platform=kind)
    else:
        what = "starts TensorFlow in the new environment and runs a convolution on each GPU"
        there = " (first install tfgpu-doctor in Ubuntu, too)" if candidate.route == "wsl2" else ""
        checked = run("tfgpu-doctor", "check", "--python", Path(env), "--deep")
        proof = shell(checked, f"proof: {what}{there}", platform=kind)
    return [*installing(candidate, context, env), proof]


def installing(candidate: Candidate, context: PlanContext, env: str = ENV) -> list[Step]:
    """Return all steps except the final check. `check` prescribes these steps if a new environment is the
    fix."""
    if candidate.nvidia is not None:
        from doctor.plan import arm

        return [*driver_steps(candidate, context), *arm.installing(candidate, env)]
    if candidate.route == "docker":
        assert candidate.image is not None
        note = (
            ""
            if candidate.verified
            else "; not checked: only public files show that this tag exists in the registry"
        )
        started = make.docker_run(candidate.image, code.list_gpus(candidate.build.version), note)
        return [*driver_steps(candidate, context), *started]
    kind = _kind(candidate, context)
    found = make.wsl_install() if candidate.route == "wsl2" else []
    found += (
        _conda(candidate, context, kind, env)
        if candidate.route == "conda"
        else environment_steps(candidate, context, env)
    )
    found += _found_by_the_loader(candidate, context)
    return [*found, *_settings(candidate), *driver_steps(candidate, context)]


def interpreter(candidate: Candidate, context: PlanContext, env: str = ENV) -> tuple[Word, ...]:
    """Return the command, as words, that starts the Python interpreter that the steps install."""
    if candidate.nvidia is not None:
        from doctor.plan import arm

        return arm.interpreter(candidate, env)
    if candidate.route == "docker":
        return ("docker", "run", "--rm", "--gpus", "all", candidate.image or "", "python3")
    kind = _kind(candidate, context)
    return make.conda_python(env) if candidate.route == "conda" else (Path(make.interpreter(env, kind)),)


def _kind(candidate: Candidate, context: PlanContext) -> str:
    """Return the platform on which the candidate's commands run: linux, wsl, windows or macos."""
    return "wsl" if candidate.route == "wsl2" else context.kind


def _settings(candidate: Candidate) -> list[Step]:
    """Return the steps for the settings that a program needs on the GPUs in the plan."""
    judged = candidate.judgement
    return setting_steps(judged["gpu"]) if "gpu" in judged and candidate.route != "cpu" else []


def environment_steps(candidate: Candidate, context: PlanContext, env: str = ENV) -> list[Step]:
    """Return the steps that create the environment with pip or uv. They need no restart, and only in a new
    Ubuntu an administrator."""
    kind = _kind(candidate, context)
    python = candidate.python or WSL_PYTHON
    family = driver.family(context.case.os.name) if context.case.os else ""
    new = candidate.route == "wsl2"  # the steps before these install Ubuntu
    uv = not on_machine(candidate, context)
    found = make.uv_venv(env, python, kind) if uv else make.venv(env, python, kind, family=family, new=new)
    options = install_options(candidate, context, uv=uv)
    found.append(
        make.pip_install(
            env, candidate.installation.requirements, kind, _what(candidate), uv=uv, options=options
        )
    )
    found += link_steps(candidate.installation, (Path(make.interpreter(env, kind)),), kind)
    return found


def _found_by_the_loader(candidate: Candidate, context: PlanContext) -> list[Step]:
    """Return the steps for a CUDA toolkit that is already installed. It works only if the loader searches its
    folder, and an installation by hand does not ensure that."""
    if candidate.route != "pip-system-cuda":
        return []
    which = f"CUDA {context.cuda} and cuDNN {context.cudnn or candidate.build.cudnn or ''}".rstrip()
    at = (
        f" ({context.system_cuda.location})"
        if context.system_cuda and context.system_cuda.location and not context.version_request.cuda
        else ""
    )
    if context.kind == "windows":
        text, how = f"Put the bin folders of {which} on PATH{at}", "if PATH does not contain them yet"
    else:
        text = f"Make sure that the loader finds {which}{at}"
        how = (
            "list their library folders in /etc/ld.so.conf.d and run ldconfig, or add them to LD_LIBRARY_PATH"
            "; on a cluster, use `module load`"
        )
    return [
        manual(text, f"{how}; the last command lists each library that is not found", platform=context.kind)
    ]


def on_machine(candidate: Candidate, context: PlanContext) -> bool:
    """Whether a candidate uses the installed Python interpreter, so that plain venv and pip are enough."""
    if candidate.route == "wsl2":
        return candidate.python == WSL_PYTHON
    if candidate.python is None:
        return False
    asked = candidate.python == context.python and dotted(candidate.python) < dotted(
        UV_PYTHONS
    )  # uv has no Python that old
    return asked or candidate.python == context.own_python


WHEELS_OF_TODAY = (2, 28)
"""The glibc version that the newest wheels of NumPy, h5py and others need (the tags in their file names:
manylinux_2_27 and 2_28). With an older glibc, pip downloads the newest release as a source archive, and
building that fails without a compiler."""
ALL_WHEELS = "2.10.0"
"""From this TensorFlow release on, every package that TensorFlow requires has a wheel, except those in
SOURCE_ONLY."""
SOURCE_ONLY = {("2.12", "3.8"): "jax"}
"""The required package that has only a source archive, by TensorFlow's minor release and Python version. jax
contains only Python code; its first release with wheels is 0.4.16, which needs Python 3.9 (its files on the
package index)."""


def install_options(candidate: Candidate, context: PlanContext, *, uv: bool) -> tuple[str, ...]:
    """Return further options for the installer. With an old C library, they make the installer prefer an
    older release with a wheel to the newest release as a source archive."""
    if (
        context.glibc is None
        or candidate.route in ("wsl2", "docker")
        or dotted(context.glibc) >= WHEELS_OF_TODAY
    ):
        return ()
    if not uv:
        return ("--prefer-binary",)
    if order(candidate.build.version) < order(ALL_WHEELS):
        return ()
    source = SOURCE_ONLY.get((minor(candidate.build.version), candidate.python or ""))
    return ("--only-binary", ":all:", *(("--no-binary", source) if source else ()))


def driver_steps(candidate: Candidate, context: PlanContext) -> list[Step]:
    """Return the steps that install the driver that the candidate needs. There are none if the installed
    driver is enough."""
    if "driver" not in candidate.given_up:
        return []
    name = context.case.os.name if context.case.os else ""
    row = context.system or {}
    found = driver.install(
        context.kind,
        name,
        row.get("manager") or driver.family(name),
        minimum=candidate.driver.driver if candidate.driver else "",
        last=last_branch(context),
        own=row.get("driver", ""),
    )
    if not context.container:
        return found
    return [replace(s, why=f"on the host, not in the container: {s.why}") for s in found]


def last_branch(context: PlanContext) -> str:
    """Return the last driver branch that supports every GPU in the machine ("470"), or "" if the newest
    branch does."""
    branches = [
        row.last_driver
        for capability in context.capabilities
        if (row := context.tables.architecture(capability)) is not None and row.last_driver is not None
    ]
    return min(branches, key=int, default="") if branches else ""


def _conda(candidate: Candidate, context: PlanContext, kind: str, env: str) -> list[Step]:
    """Return the steps that create a conda environment and install the candidate in it."""
    python = candidate.python or "3.10"
    recipe = dict(candidate.recipe)
    packages = [f"cudatoolkit={recipe['cudatoolkit']}", f"cudnn={recipe['cudnn']}"] if recipe else []
    note = ""
    if recipe and not candidate.verified:
        note = (
            f"; not checked: `conda search -c {recipe['channel']} {packages[0]}` shows whether the channel"
            " has it"
        )
    found = [
        make.conda_create(env, python, kind, packages, recipe.get("channel", ""), note),
        make.conda_pip(
            env,
            candidate.installation.requirements,
            kind,
            _what(candidate),
            options=install_options(candidate, context, uv=False),
        ),
    ]
    if recipe:
        found += make.conda_library_path(env, kind)
    if kind == "windows":
        found.append(make.conda_activate(env, kind))
    return [*found, *link_steps(candidate.installation, make.conda_python(env), kind)]


def _what(candidate: Candidate) -> str:
    """Return what the step that runs pip installs, and why its pins are needed."""
    build = candidate.build
    if candidate.route == "cpu":
        return f"installs TensorFlow {build.version}, which computes on the CPU"
    packages = candidate.workarounds.packages
    if packages is not None:
        text = f"installs TensorFlow {build.version} with {libraries(packages)} from NVIDIA's packages"
    elif candidate.situation.route == "pip-and-cuda":
        text = f"installs TensorFlow {build.version} with {build.brought} from pip"
    else:
        text = f"installs TensorFlow {build.version}, made for {libraries(build)}"
    return text + _notes(candidate)


def libraries(source: TensorFlowRelease | Packages) -> str:
    """Return the CUDA and cuDNN versions of a build or of NVIDIA's packages, as far as known: "CUDA 12.5 and
    cuDNN 9"."""
    return f"CUDA {source.cuda or ''} and cuDNN {source.cudnn or ''}".replace("  ", " ").strip()


def _notes(candidate: Candidate) -> str:
    """Return the reason for each pin as text, except for pins of CUDA itself."""
    named = candidate.workarounds.packages.requirements if candidate.workarounds.packages else ()
    return "".join(
        f"; {pin.requirement}: {pin.why}" for pin in candidate.pins if pin.requirement not in named
    )
