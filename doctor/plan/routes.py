"""The commands of a plan: which steps carry a candidate out, in order, for its platform and shell."""

from __future__ import annotations

from dataclasses import replace

from doctor.findings import Step, manual, shell
from doctor.plan import arm
from doctor.plan.candidate import WSL_PYTHON, Candidate
from doctor.plan.ground import Ground
from doctor.remedies import code, driver
from doctor.remedies import environments as make
from doctor.remedies.environments import ENV, UV_PYTHONS
from doctor.remedies.installation import link_steps, setting_steps
from doctor.shell import Path, Word, run
from doctor.tables import dotted
from doctor.tables.ordering import order
from doctor.tables.versions import minor


def steps(candidate: Candidate, ground: Ground, env: str = ENV) -> list[Step]:
    """Everything to do, and the proof; the driver last where it can be last: it is needed to run, not to install."""
    kind = _kind(candidate, ground)
    if candidate.image is not None:
        return installing(candidate, ground, env)
    if candidate.route == "conda":
        shows = run(*interpreter(candidate, ground, env), "-c", code.list_gpus(candidate.build.version))
        proof = shell(shows, "shows the GPUs that TensorFlow registers", platform=kind)
    else:
        what = "starts TensorFlow there" + ("" if candidate.route == "cpu" else " and runs a convolution on each GPU")
        there = " (tfgpu-doctor has to be installed in Ubuntu, too)" if candidate.route == "wsl2" else ""
        checked = run("tfgpu-doctor", "check", "--python", Path(env), "--deep")
        proof = shell(checked, f"proof: {what}{there}", platform=kind)
    return [*installing(candidate, ground, env), proof]


def installing(candidate: Candidate, ground: Ground, env: str = ENV) -> list[Step]:
    """Everything to do but the proof; what check prescribes where an environment of its own is the cure."""
    if candidate.nvidia is not None:
        return [*driver_steps(candidate, ground), *arm.installing(candidate, env)]
    if candidate.route == "docker":
        assert candidate.image is not None
        note = "" if candidate.verified else "; not verified here: that the registry has this tag is known from public files only"
        started = make.docker_run(candidate.image, code.list_gpus(candidate.build.version), note)
        return [*driver_steps(candidate, ground), *started]
    kind = _kind(candidate, ground)
    found = make.wsl_install() if candidate.route == "wsl2" else []
    found += _conda(candidate, ground, kind, env) if candidate.route == "conda" else environment_steps(candidate, ground, env)
    found += _found_by_the_loader(candidate, ground)
    return [*found, *_settings(candidate), *driver_steps(candidate, ground)]


def interpreter(candidate: Candidate, ground: Ground, env: str = ENV) -> tuple[Word, ...]:
    """How the Python that the steps lead to is started."""
    if candidate.nvidia is not None:
        return arm.interpreter(candidate, env)
    if candidate.route == "docker":
        return ("docker", "run", "--rm", "--gpus", "all", candidate.image or "", "python3")
    kind = _kind(candidate, ground)
    return make.conda_python(env) if candidate.route == "conda" else (Path(make.interpreter(env, kind)),)


def _kind(candidate: Candidate, ground: Ground) -> str:
    return "wsl" if candidate.route == "wsl2" else ground.kind


def _settings(candidate: Candidate) -> list[Step]:
    """What the program has to be told for the GPUs of the plan."""
    gpu = dict(candidate.judgement.answers).get("gpu")
    return setting_steps(gpu) if gpu is not None and candidate.route != "cpu" else []


def environment_steps(candidate: Candidate, ground: Ground, env: str = ENV) -> list[Step]:
    """The steps that make the environment with pip or uv: no administrator, no reboot."""
    kind = _kind(candidate, ground)
    python = candidate.python or WSL_PYTHON
    family = driver.family(ground.picture.os.name) if ground.picture.os else ""
    family = "apt" if candidate.route == "wsl2" else family  # Ubuntu, whatever Windows it is in
    uv = not on_machine(candidate, ground)
    found = make.uv_venv(env, python, kind) if uv else make.venv(env, python, kind, family=family)
    options = install_options(candidate, ground, uv=uv)
    found.append(make.pip_install(env, candidate.installation.requirements, kind, _what(candidate), uv=uv, options=options))
    found += link_steps(candidate.installation, (Path(make.interpreter(env, kind)),), kind)
    return found


def _found_by_the_loader(candidate: Candidate, ground: Ground) -> list[Step]:
    """CUDA that is installed is of use where the loader looks for it, which another's installation does not promise."""
    if candidate.route != "pip-system-cuda":
        return []
    which = f"CUDA {ground.cuda} and cuDNN {ground.cudnn or candidate.build.cudnn or ''}".rstrip()
    at = f" ({ground.system_cuda.location})" if ground.system_cuda and ground.system_cuda.location and not ground.wish.cuda else ""
    if ground.kind == "windows":
        text, how = f"Put the bin folders of {which} on PATH{at}", "where they are not"
    else:
        text = f"Let the loader find {which}{at}"
        how = "their library folders in ldconfig's cache or on LD_LIBRARY_PATH; on a cluster: module load"
    return [manual(text, f"{how}; the proof names each library that is not found", platform=ground.kind)]


def on_machine(candidate: Candidate, ground: Ground) -> bool:
    """Whether the Python of a candidate is the one at hand, so that plain venv and pip will do."""
    if candidate.route == "wsl2":
        return candidate.python == WSL_PYTHON
    if candidate.python is None:
        return False
    asked = candidate.python == ground.python and dotted(candidate.python) < dotted(UV_PYTHONS)  # uv has none so old
    return asked or candidate.python == ground.own_python


WHEELS_OF_TODAY = (2, 28)
"""The glibc that the newest wheels of NumPy, h5py and others need (their files' tags: manylinux_2_27 and 2_28). On an older
one the newest release is a source archive to pip, and building it fails where there is no compiler."""
ALL_WHEELS = "2.10.0"
"""From this TensorFlow on every package that it requires has a wheel, but for those of SOURCE_ONLY."""
SOURCE_ONLY = {("2.12", "3.8"): "jax"}
"""What a minor release requires that is a source archive for a Python: jax is plain Python, and its wheels begin with
0.4.16, which needs Python 3.9 (its files on the package index)."""


def install_options(candidate: Candidate, ground: Ground, *, uv: bool) -> tuple[str, ...]:
    """What the installer has to be told besides the requirements: on an old C library, to take an older release with a
    wheel rather than the newest as source."""
    if ground.glibc is None or candidate.route in ("wsl2", "docker") or dotted(ground.glibc) >= WHEELS_OF_TODAY:
        return ()
    if not uv:
        return ("--prefer-binary",)
    if order(candidate.build.version) < order(ALL_WHEELS):
        return ()
    source = SOURCE_ONLY.get((minor(candidate.build.version), candidate.python or ""))
    return ("--only-binary", ":all:", *(("--no-binary", source) if source else ()))


def driver_steps(candidate: Candidate, ground: Ground) -> list[Step]:
    """How the driver gets to where the candidate needs it; nothing where it is there."""
    if "driver" not in candidate.given_up:
        return []
    kind = "windows" if ground.kind == "windows" else ground.kind
    name = ground.picture.os.name if ground.picture.os else ""
    row = ground.system or {}
    found = driver.install(
        kind,
        name,
        row.get("manager") or driver.family(name),
        minimum=candidate.driver.driver if candidate.driver else "",
        last=last_branch(ground),
        own=row.get("driver", ""),
    )
    if not ground.container:
        return found
    return [
        replace(s, why=f"on the host, not in the container: {s.why}") for s in found
    ]


def last_branch(ground: Ground) -> str:
    """The last driver branch that serves every GPU at hand ("470"), or "" where the newest still does."""
    branches = [
        row.last_driver
        for capability in ground.capabilities
        if (row := ground.tables.architecture(capability)) is not None and row.last_driver is not None
    ]
    return min(branches, key=int, default="") if branches else ""


def _conda(candidate: Candidate, ground: Ground, kind: str, env: str) -> list[Step]:
    python = candidate.python or "3.10"
    recipe = dict(candidate.recipe)
    packages = [f"cudatoolkit={recipe['cudatoolkit']}", f"cudnn={recipe['cudnn']}"] if recipe else []
    unseen = f"; not verified here: `conda search -c {recipe.get('channel')} {packages[0]}` asks the channel" if recipe else ""
    note = "" if candidate.verified else unseen
    found = [
        make.conda_create(env, python, kind, packages, recipe.get("channel", ""), note),
        make.conda_pip(env, candidate.installation.requirements, kind, _what(candidate), options=install_options(candidate, ground, uv=False)),
    ]
    if recipe:
        found += make.conda_library_path(env, kind)
    if kind == "windows":
        activate = run("conda", "activate", env)
        found.append(shell(activate, "in each new prompt, before the program starts", platform=kind))
    return [*found, *link_steps(candidate.installation, make.conda_python(env), kind)]


def _what(candidate: Candidate) -> str:
    build = candidate.build
    if candidate.route == "cpu":
        return f"TensorFlow {build.version}; it computes on the CPU"
    packages = candidate.workarounds.packages
    cuda, cudnn = (packages.cuda, packages.cudnn) if packages else (build.cuda or "", build.cudnn or "")
    libraries = f"CUDA {cuda} and cuDNN {cudnn}".replace("  ", " ").strip()
    if packages is not None:
        return f"TensorFlow {build.version} with {libraries} from NVIDIA's packages" + _notes(candidate)
    if candidate.situation.route == "pip-and-cuda":
        text = f"TensorFlow {build.version} with its {libraries} from pip"
    else:
        text = f"TensorFlow {build.version}, made for {libraries}"
    return text + _notes(candidate)


def _notes(candidate: Candidate) -> str:
    """Why each pin is there, those of CUDA itself left out."""
    named = candidate.workarounds.packages.requirements if candidate.workarounds.packages else ()
    return "".join(f"; {pin.requirement}: {pin.why}" for pin in candidate.pins if pin.requirement not in named)
