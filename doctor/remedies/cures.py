"""A TensorFlow that works in this case: the build in use with the libraries that it opens, or another build.

In: a `Picture`. Out: a `Cure`, whose steps never lead to a build that has no code for the GPUs of the case, no wheel
for its Python, or no driver to run on, as far as each is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from doctor.findings import Step, manual, shell
from doctor.remedies import code, commands, environments, libraries
from doctor.remedies.fitness import on_driver, situation, usable
from doctor.remedies.installation import setting_steps
from doctor.shell import Command, Export, Path, Word, run
from doctor.tables.arm import nvidia_builds
from doctor.tables.store import remembered
from doctor.values import cached_property, dataclass

if TYPE_CHECKING:
    from doctor.picture import Picture
    from doctor.plan.candidate import Candidate
    from doctor.tables import TensorFlowRelease


@dataclass(frozen=True, slots=True)
class Cure:
    """What to do, and what the program then runs on.

    version: the TensorFlow release; None where it is not known. python: how that Python is started; () for the
    one of the case.
    """

    steps: tuple[Step, ...]
    version: str | None = None
    python: tuple[Word, ...] = ()

    def lists_gpus(self, picture: Picture) -> Command:
        """The command that then shows which GPUs TensorFlow registers."""
        return commands.run_python(picture, code.list_gpus(self.version), self.python)

    def convolves(self, picture: Picture) -> Command:
        """The command that then makes TensorFlow create its cuDNN handle."""
        return commands.run_python(picture, code.convolution(self.version), self.python)

    def after(self, *steps: Step) -> Cure:
        """The same with steps before it."""
        return replace(self, steps=(*steps, *self.steps))

    def then(self, *steps: Step) -> Cure:
        """The same with further steps."""
        return replace(self, steps=(*self.steps, *(s for s in steps if s not in self.steps)))


def _python_of(env: str, kind: str) -> tuple[Word, ...]:
    """How the Python of a virtual environment is started."""
    return (Path(environments.interpreter(env, kind)),)


class Later:
    """A cure that is worked out where a finding takes it: a rule that finds nothing has no use for one."""

    def __init__(self, make: Callable[[Picture], Cure], picture: Picture) -> None:
        self._make = make
        self._picture = picture

    @cached_property
    def _cure(self) -> Cure:
        return self._make(self._picture)

    def __iter__(self) -> Iterator[Step]:
        return iter(self._cure.steps)

    def lists_gpus(self) -> Command:
        """As Cure.lists_gpus."""
        return self._cure.lists_gpus(self._picture)

    def convolves(self) -> Command:
        """As Cure.convolves."""
        return self._cure.convolves(self._picture)


@remembered
def libraries_for_build(picture: Picture) -> Cure:
    """CUDA and cuDNN for the TensorFlow in use; another TensorFlow where that one cannot use these GPUs at all."""
    serving = _serving(picture)
    if not serving:
        return another_build(picture)
    build = picture.build or serving[-1]
    version = _version(picture, serving)
    if build.extras.get("and-cuda") and picture.python and commands.minor(picture.python.version) not in build.pythons:
        return another_build(picture)  # the release is a guess that this Python contradicts
    steps = libraries.steps(picture, build)
    if not build.extras.get("and-cuda") and picture.build is not None:
        steps += _move(picture, build)
    return Cure((*steps, *driver_for(picture, build)), version)


def _serving(picture: Picture) -> list[TensorFlowRelease]:
    """The builds that can be meant, of the platform of the case, and that its GPUs can use."""
    return [b for b in picture.builds if b.platform == picture.table_platform and usable(picture, b)]


def _version(picture: Picture, serving: list[TensorFlowRelease]) -> str | None:
    """The release in use; where it is not known and all that can be meant speak TensorFlow 1, one of these."""
    if picture.build is not None:
        return picture.build.version
    return serving[-1].version if all(build.version.startswith("1.") for build in serving) else None


@remembered
def cudnn_for_build(picture: Picture) -> Cure:
    """The cuDNN that the TensorFlow in use was made for; another TensorFlow where that one cannot use these GPUs at all."""
    serving = _serving(picture)
    if not serving:
        return another_build(picture)
    build = picture.build or serving[-1]
    return Cure((*libraries.cudnn(picture, build), *driver_for(picture, build)), _version(picture, serving))


def _move(picture: Picture, build: TensorFlowRelease) -> list[Step]:
    """A release with pip's libraries, as a way round installing an old CUDA; only from TensorFlow 2 to 2."""
    best = recommendation(picture)
    release = best.build if best is not None else None
    if best is None or release is None or not best.extra or build.version.startswith("1.") or driver_for(picture, release):
        return []
    if best.route == "wsl2":  # another system, not another release
        return []
    if picture.python is not None and best.python != commands.minor(picture.python.version):
        return []
    first, *others = libraries.with_pip(picture, release)
    return [replace(first, why=f"or, where the program may move to TensorFlow {release.version}: {first.why}"), *others]


def inside_wsl(picture: Picture) -> list[Step]:
    """The newest TensorFlow under WSL2, from its Ubuntu's own Python."""
    best = recommendation(picture)
    if best is None or best.route != "wsl2":
        return []
    return list(planned(picture, best).steps[len(environments.wsl_install()) :])


def build_for_mac(picture: Picture) -> Cure:
    """TensorFlow for a Mac: a CPU build, since there is no CUDA."""
    wheels = [r for r in picture.tables.releases(picture.table_platform, "tensorflow") if r.pythons and not r.yanked]
    if wheels and picture.python is not None and not any(commands.minor(picture.python.version) in r.pythons for r in wheels):
        python = wheels[-1].pythons[-1]
        why = f"no release has a wheel for Python {commands.minor(picture.python.version)} on this Mac; {wheels[-1].version} has one for {python}"
        install = environments.pip_install(environments.ENV, [wheels[-1].requirement], "macos", why, uv=True)
        return Cure(
            (*environments.uv_venv(environments.ENV, python, "macos"), install),
            wheels[-1].version,
            _python_of(environments.ENV, "macos"),
        )
    return Cure(
        (
            shell(
                commands.pip(picture, "install", "tensorflow"),
                "installs into the Python that runs the program",
            ),
        )
    )


@remembered
def another_build(picture: Picture, *, own: bool = False, words: str = "") -> Cure:
    """The TensorFlow that the plan for the case recommends, with its libraries; on Windows the last one with CUDA there.

    own: in an environment of its own even where the Python of the case would do. words: said first.
    """
    if picture.platform == "macos":
        return Cure((manual("There is no CUDA for macOS since TensorFlow 1.2; on Apple silicon tensorflow-metal uses Apple's GPU"),))
    if picture.platform == "windows":
        return _on_windows(picture, words)
    best = recommendation(picture)
    if best is None:
        return Cure((manual("No TensorFlow release in the tables fits this GPU: tfgpu-doctor plan says what each lacks"),))
    release = best.build
    here = picture.python is None or commands.minor(picture.python.version) == best.python
    if own or not here or best.route == "wsl2" or best.nvidia is not None:
        return planned(picture, best)
    why = _why(picture, release)
    if best.route == "cpu":
        why += "; this machine has no GPU, so it computes on the CPU"
        return Cure(tuple(libraries.on_cpu(picture, release, why)), release.version)
    answer = dict(best.judgement.answers).get("gpu")
    steps = [*libraries.with_build(picture, release, why), *(setting_steps(answer) if answer else [])]
    return Cure((*steps, *driver_for(picture, release)), release.version)


def _on_windows(picture: Picture, words: str) -> Cure:
    """Through WSL2, as the plan has it, or the last release with CUDA for Windows itself. words: said first."""
    best = recommendation(picture)
    under_wsl = best is not None and best.route == "wsl2"
    inside = _python_of(environments.ENV, "wsl")
    if not words and best is not None and under_wsl:
        stay = _on_windows(picture, "or stay on Windows: ")
        return Cure((*environments.wsl_install(), *inside_wsl(picture), *stay.steps), best.build.version, inside)
    release = fitting(picture) or fitting(picture, python=False) or fitting(picture, python=False, driver=False)
    if release is not None and picture.build is not None and release.version == picture.build.version:
        release = None  # it is what is there already
    found = None if release is None else of_conda(picture, release)
    if release is None or found is None:
        if words and best is not None and under_wsl:  # no way to stay; the caller has said the way out
            return Cure((), best.build.version, inside)
        return Cure((manual("No TensorFlow release for Windows fits this GPU: see tfgpu-doctor plan"),))
    first, *others = found.steps
    why = f"{words}{_why(picture, release)}; {first.why}"
    return Cure((replace(first, why=why), *others, *driver_for(picture, release)), release.version, found.python)


@remembered
def better_code(picture: Picture) -> Cure:
    """A TensorFlow with better code for the GPUs than the one in use; where there is none, what makes that one work."""
    build, best = picture.build, recommendation(picture)
    if build is None or best is None or best.build.version != build.version or picture.platform == "windows":
        return another_build(picture)
    if not picture.capabilities:
        return Cure((manual("Give the GPU's name to tfgpu-doctor plan --gpu: it lists the releases with machine code for it"),))
    from doctor.plan.candidates import weigh
    from doctor.plan.recommended import ground_of

    answer = dict(best.judgement.answers).get("gpu")
    if answer is not None and answer.verdict == "yes":
        return Cure((
            manual(f"The released TensorFlow {build.version} has machine code for this GPU: see which one is imported here",
                   "another build, or another environment than the one that was thought of, is what runs"),
            shell(commands.run_python(picture, "import tensorflow as tf; print(tf.__file__, tf.sysconfig.get_build_info())"),
                  "shows where it lies and for which compute capabilities it was built"),
        ), build.version)  # fmt: skip
    for other in weigh(ground_of(picture)).candidates:
        if other.build.version != build.version and dict(other.judgement.answers)["gpu"].verdict == "yes":
            return planned(picture, other)
    gpus = " and ".join(picture.capabilities)
    steps = [
        manual(f"Keep TensorFlow {build.version}: no release that goes with this machine has machine code for compute "
               f"capability {gpus}", "the driver compiles its kernels when they are first used; start once and wait for it"),
        shell(Export("CUDA_CACHE_MAXSIZE", "4294967296"),
              "room for all that the driver compiles, so that later starts find it (CUDA C++ Programming Guide, CUDA "
              "Environment Variables)"),
        *(setting_steps(answer) if answer is not None else []),
        *_container(picture),
    ]  # fmt: skip
    return Cure((*steps, *driver_for(picture, build)), build.version)


def _container(picture: Picture) -> list[Step]:
    """NVIDIA's container, as another way."""
    if picture.container or picture.platform not in (None, "linux", "wsl"):
        return []
    found = nvidia_builds(picture.tables.store, picture.table_platform, "sbsa", picture.capabilities)
    line = code.list_gpus("2.17.0")
    return [
        shell(
            run("docker", "run", "--rm", "--gpus", "all", row["image"], "python3", "-c", line),
            f"or NVIDIA's own TensorFlow {row['tensorflow']} with CUDA {row['cuda']}"
            + (f": {row['blackwell']}" if row.get("blackwell") else ""),
            platform="linux",
        )
        for row in found[:1]
    ]


def planned(picture: Picture, best: Candidate) -> Cure:
    """What the plan of a candidate does, in an environment of its own."""
    from doctor.plan.recommended import ground_of
    from doctor.plan.routes import installing, interpreter

    ground = ground_of(picture)
    return Cure(tuple(installing(best, ground)), best.build.version, interpreter(best, ground))


def of_conda(picture: Picture, release: TensorFlowRelease) -> Cure | None:
    """A release with its CUDA in a conda environment, as the plan makes it; None where conda has not what it needs."""
    from doctor.plan.recommended import ground_of
    from doctor.plan.trial import try_route

    ground = ground_of(picture)
    candidate, _ = try_route(release, "conda", ground, release.platform, ground.side)
    return None if candidate is None else planned(picture, replace(candidate, given_up=candidate.given_up - {"driver"}))


def _why(picture: Picture, release: TensorFlowRelease) -> str:
    """Why a release: what it has for the GPUs of the case, as the tables have it."""
    from doctor import compat

    told = picture.capabilities or picture.driver is not None or picture.python is not None
    newest = "the newest that works here with the fewest changes" if told else "the newest whose parts are known to go together: of this machine nothing was told"
    why = f"TensorFlow {release.version}, {newest}"
    if not picture.capabilities or not release.gpu:
        return why
    gpus = " and ".join(picture.capabilities)
    verdict = compat.runs_on_gpu(release, situation(picture, python=None, driver=None), picture.tables).verdict
    if verdict == "yes":
        return f"{why}, with machine code for compute capability {gpus}"
    if verdict == "slow":
        why += f", whose kernels the driver compiles for compute capability {gpus} at the first start (minutes)"
    return why


def recommendation(picture: Picture) -> Candidate | None:
    """What `tfgpu-doctor plan` recommends for the case: a prescription names the same release."""
    from doctor.plan.recommended import recommended

    return recommended(picture)


@remembered
def fitting(picture: Picture, *, python: bool = True, driver: bool = True) -> TensorFlowRelease | None:
    """The newest GPU release for the platform and GPUs of the case, and for its Python and its driver where told."""
    from doctor import compat

    change: dict[str, object] = {}
    if not python:
        change["python"] = None
    if not driver:
        change["driver"] = None
    try:
        judgement = compat.newest(picture.tables, situation(picture, **change))
    except (ValueError, KeyError):
        return None
    return judgement.build if judgement is not None else None


def driver_for(picture: Picture, release: TensorFlowRelease) -> list[Step]:
    """A newer driver, where the one of the case is known to be too old for the release."""
    if picture.driver is None or on_driver(picture, release):
        return []
    first, *others = commands.driver_install(picture, release)
    return [replace(first, why=f"driver {picture.driver.version} is too old for TensorFlow {release.version}: {first.why}"), *others]
