"""Finds a TensorFlow build other than the one in use that works in this case; the steps install it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import TensorFlowVersion
from doctor.findings import Step, manual, shell
from doctor.remedies import code, commands, directml, environments, installation, libraries
from doctor.remedies.cure import Cure, python_of
from doctor.remedies.cures import driver_for
from doctor.remedies.fitness import (
    fitting,
    installation as installation_of,
    installs_here,
    recommendation,
    situation,
    usable,
)
from doctor.shell import Export, argv, run
from doctor.tables import dotted
from doctor.tables.store import remembered
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.plan.candidate import Candidate
    from doctor.tables import TensorFlowRelease


def inside_wsl(case: Case) -> list[Step]:
    """Steps for the newest TensorFlow under WSL2, with the Python of WSL2's Ubuntu."""
    best = recommendation(case)
    if best is None or best.route != "wsl2":
        return []
    return list(planned(case, best).steps[len(environments.wsl_install()) :])


def beside_windows(case: Case) -> list[Step]:
    """Steps for the newest TensorFlow under WSL2, as an alternative to a plan that stays on Windows with an
    older release; none if the plan itself uses WSL2."""
    from doctor.plan.candidates import foremost, weigh
    from doctor.plan.recommended import context_of

    best = recommendation(case)
    other = foremost(weigh(context_of(case), ("wsl2",)))
    if case.platform != "windows" or best is None or other is None or best.route == "wsl2":
        return []
    words = f"or TensorFlow {other.build.version} under WSL2: "
    return commands.introduced(words, planned(case, other).steps)


def build_for_mac(case: Case) -> Cure:
    """The cure that installs TensorFlow on a Mac: a CPU build, because macOS has no CUDA."""
    wheels = [
        r for r in case.tables.releases(case.table_platform, "tensorflow") if r.pythons and not r.yanked
    ]
    here = commands.python_minor(case)
    if wheels and here is not None and not any(here in release.pythons for release in wheels):
        newest = wheels[-1]
        python = newest.pythons[-1]
        why = (
            f"no release has a wheel for Python {here} on this Mac; TensorFlow {newest.version} has a wheel"
            f" for Python {python}"
        )
        install = environments.pip_install(environments.ENV, [newest.requirement], "macos", why, uv=True)
        steps = (*environments.uv_venv(environments.ENV, python, "macos"), install)
        return Cure(steps, newest.version, python_of(environments.ENV, "macos"))
    why = "installs TensorFlow into the Python that runs the program"
    return Cure((shell(commands.pip(case, "install", "tensorflow"), why),))


@remembered
def another_build(case: Case, *, own: bool = False) -> Cure:
    """The cure that installs the TensorFlow release that the plan for the case recommends, with its
    libraries. On Windows, it also contains the steps for the last release with CUDA for Windows itself.

    own: whether to use a separate environment even if the case's Python version would work.
    """
    if case.platform == "macos":
        return _by_hand(
            "Use the CPU, or another computer: TensorFlow has had no CUDA build for macOS since 1.2. On Apple"
            " silicon, the package tensorflow-metal uses Apple's GPU"
        )
    if directml.wanted(case):
        return directml.install(case)
    if case.platform == "windows":
        return _on_windows(case)
    best = recommendation(case)
    if best is None:
        return _by_hand(
            "No TensorFlow release in the tables fits this GPU: tfgpu-doctor plan shows what each release"
            " lacks"
        )
    release = best.build
    elsewhere = best.route == "wsl2" or best.nvidia is not None
    if own or elsewhere or not installs_here(case, release, best.python):
        return planned(case, best)
    why = _why(case, release)
    if best.route == "cpu":
        why += "; this machine has no GPU, so TensorFlow computes on the CPU"
        return Cure(tuple(libraries.on_cpu(case, release, why)), release.version)
    answer = dict(best.judgement.answers).get("gpu")
    steps = [
        *libraries.with_build(case, release, why),
        *(installation.setting_steps(answer) if answer else []),
    ]
    return Cure((*steps, *driver_for(case, release)), release.version)


def _by_hand(instruction: str) -> Cure:
    """The cure that only a person can carry out."""
    return Cure((manual(instruction),))


def _on_windows(case: Case) -> Cure:
    """The cure that installs TensorFlow through WSL2, if the plan does so, and the steps for the last release
    with CUDA for Windows itself."""
    best = recommendation(case)
    if best is None or best.route != "wsl2":
        return _staying_on_windows(case, "use") or _by_hand(
            "No other TensorFlow release for Windows fits this machine: tfgpu-doctor plan shows what each"
            " release lacks"
        )
    back = _back_on_windows(case)
    stay = _staying_on_windows(case, "or stay on Windows with")
    linux = environments.wsl_install()
    if back is not None:
        linux = commands.introduced("or, for a newer TensorFlow: ", linux)
        return back.then(*linux, *inside_wsl(case))
    steps = [*linux, *inside_wsl(case)]
    if stay is not None:  # the check of the finding is for WSL
        look = "shows which GPUs TensorFlow registers on Windows"
        steps += [*stay.steps, shell(stay.lists_gpus(case), look, platform="windows")]
    return Cure(tuple(steps), best.build.version, python_of(environments.ENV, "wsl"))


def _back_on_windows(case: Case) -> Cure | None:
    """The cure that returns to the release with CUDA for Windows itself that a report names besides a later
    release; None if it names none, or if the release has no wheel for the case's Python."""
    there = case.tensorflow
    if there is None or case.facts.kind != "report":
        return None
    rows = [
        row
        for stated in case.facts.of(TensorFlowVersion)
        if (row := case.tables.tensorflow(stated.version, "tensorflow", "windows-amd64")) is not None
        and row.gpu
        and dotted(row.version) < dotted(there.version)
        and commands.python_minor(case) in (None, *row.pythons)
        and usable(case, row)
    ]
    if not rows:
        return None
    row = max(rows, key=lambda one: dotted(one.version))
    why = (
        f"returns to TensorFlow {row.version}, which the report names and which has GPU support on Windows"
        f" itself; it needs Python {row.pythons[0]} to {row.pythons[-1]}. If its CUDA {row.cuda} and cuDNN"
        f" {row.cudnn} are still installed, nothing else is necessary"
    )
    wanted = installation_of(case, row, bare=True).requirements
    return Cure((shell(commands.pip(case, "install", *wanted), why),), row.version)


def _staying_on_windows(case: Case, words: str) -> Cure | None:
    """The cure that installs the last release with CUDA for Windows itself; None if there is none, or if that
    release is already installed. words: text to put before the release."""
    release = fitting(case) or fitting(case, python=False) or fitting(case, python=False, driver=False)
    if release is None or (case.build is not None and release.version == case.build.version):
        return None
    found = of_conda(case, release)
    if found is None:
        return None
    use = f"{words} TensorFlow {release.version} ({_why(case, release)}): "
    steps = commands.introduced(use, found.steps)
    return Cure((*steps, *driver_for(case, release)), release.version, found.python)


@remembered
def better_code(case: Case) -> Cure:
    """The cure that installs a TensorFlow build whose code fits the GPUs better than the code of the build in
    use; if there is none, steps for the build in use."""
    build, best = case.build, recommendation(case)
    if build is None or best is None or best.build.version != build.version or case.platform == "windows":
        cure = another_build(case)
        old = case.tensorflow is not None and case.tensorflow.version.startswith("1.")
        return _of_tensorflow_1(case, cure) if old else cure
    if not case.capabilities:
        return _by_hand(
            "Run tfgpu-doctor plan --gpu with the GPU's name: it lists the releases with machine code for"
            " that GPU"
        )
    from doctor.plan.candidates import weigh
    from doctor.plan.recommended import context_of

    answer = dict(best.judgement.answers).get("gpu")
    if answer is not None and answer.verdict == "yes":
        return Cure(
            (
                manual(
                    f"The released TensorFlow {build.version} has machine code for this GPU: check which"
                    " TensorFlow the program imports",
                    "the program uses a build or an environment other than the expected one",
                ),
                shell(
                    commands.run_python(
                        case, "import tensorflow as tf; print(tf.__file__, tf.sysconfig.get_build_info())"
                    ),
                    "shows TensorFlow's folder and the compute capabilities for which it was built",
                ),
            ),
            build.version,
        )
    for other in weigh(context_of(case)).candidates:
        if other.build.version != build.version and dict(other.judgement.answers)["gpu"].verdict == "yes":
            return planned(case, other)
    gpus = " and ".join(case.capabilities)
    steps = [
        manual(
            f"Keep TensorFlow {build.version}: no release that works on this machine has machine code for"
            f" compute capability {gpus}",
            "the driver compiles TensorFlow's kernels when they are first used: start the program once and"
            " wait until the driver has compiled them",
        ),
        shell(
            Export("CUDA_CACHE_MAXSIZE", "4294967296"),
            "makes the driver's cache large enough for all kernels that it compiles, so that later starts"
            " reuse them (CUDA C++ Programming Guide, CUDA Environment Variables)",
        ),
        *(installation.setting_steps(answer) if answer is not None else []),
        *nvidia_container(case),
    ]
    return Cure((*steps, *driver_for(case, build)), build.version)


def _of_tensorflow_1(case: Case, other: Cure) -> Cure:
    """The cure for a program that runs on TensorFlow 1: NVIDIA's container, in which the program can stay as
    it is, and then the steps of another cure with TensorFlow 2; only these if no image fits."""
    steps = nvidia_container(case, "tf1")
    if not steps:
        return other
    start = next(argv(step.command) for step in steps if "-c" in argv(step.command))
    ported = commands.introduced("or, if the program also runs on TensorFlow 2: ", other.steps)
    return Cure((*steps, *ported), "1.15.5", start[: start.index("-c")])


def nvidia_container(case: Case, kind: str = "sbsa") -> list[Step]:
    """Steps that run TensorFlow in NVIDIA's container; none if no image fits. kind: the kind of build in the
    table nvidia_builds; "tf1" for code that needs TensorFlow 1."""
    if case.container or case.platform not in (None, "linux", "wsl"):
        return []
    from doctor.tables.arm import nvidia_builds

    found = nvidia_builds(case.tables.store, case.table_platform, kind, case.capabilities)
    if not found:
        return []
    row = found[0]
    line = code.list_gpus("1.15" if kind == "tf1" else "2.17.0")
    why = f"NVIDIA's own TensorFlow {row['tensorflow']} with CUDA {row['cuda']}"
    why += f": {row['blackwell']}" if row.get("blackwell") else ""
    if kind != "tf1":
        start = run("docker", "run", "--rm", "--gpus", "all", row["image"], "python3", "-c", line)
        return [shell(start, f"or {why}", platform="linux")]
    floor = case.tables.driver_floor(row["cuda"], "wsl" if case.platform == "wsl" else "linux")
    why += f"; it needs driver {floor.driver} or newer (nvidia-smi shows yours)" if floor else ""
    steps = environments.docker_run(row["image"], line, "; install the program's other packages in it")
    return commands.introduced(f"for TensorFlow 1 code, {why}: ", steps)


def planned(case: Case, best: Candidate) -> Cure:
    """The cure with the steps of a candidate's plan, in a separate environment."""
    from doctor.plan.recommended import context_of
    from doctor.plan.routes import installing, interpreter

    context = context_of(case)
    return Cure(tuple(installing(best, context)), best.build.version, interpreter(best, context))


def of_conda(case: Case, release: TensorFlowRelease) -> Cure | None:
    """The cure that installs a release and its CUDA into a conda environment, as the plan does; None if conda
    does not have the packages."""
    from doctor.plan.recommended import context_of
    from doctor.plan.trial import try_route

    context = context_of(case)
    candidate, _ = try_route(release, "conda", context, release.platform, context.side)
    return (
        None
        if candidate is None
        else planned(case, replace(candidate, given_up=candidate.given_up - {"driver"}))
    )


def _why(case: Case, release: TensorFlowRelease) -> str:
    """A clause with the reason for choosing a release: how it was chosen, and what code it has for the case's
    GPUs."""
    from doctor import compat

    here = "on this machine" if case.facts.kind == "machine" else "on the report's machine"
    known = case.capabilities or case.driver is not None or case.python is not None
    why = (
        f"it needs the fewest changes of all releases that work {here}"
        if known
        else "it is the last release with GPU support on Windows itself"
        if release.platform.startswith("windows") and release.gpu
        else "`tfgpu-doctor plan` recommends it for a machine about which nothing is known"
    )
    if not case.capabilities or not release.gpu:
        return why
    gpus = " and ".join(case.capabilities)
    verdict = compat.runs_on_gpu(release, situation(case, python=None, driver=None), case.tables).verdict
    if verdict == "yes":
        return f"{why}, and has machine code that runs on compute capability {gpus}"
    if verdict == "slow":
        why += (
            f", and the driver compiles its kernels for compute capability {gpus} at the first start (this"
            " takes minutes)"
        )
    return why
