"""A TensorFlow that works in this case: the build in use with the libraries that it opens, or another build.

In: a `Picture`. Out: a `Cure`, whose steps never lead to a build that has no code for the GPUs of the case, no wheel
for its Python, or no driver to run on, as far as each is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from doctor.findings import Step, manual, shell
from doctor.remedies import code, commands, environments, libraries
from doctor.remedies.fitness import on_driver, situation, usable
from doctor.tables.store import remembered
from doctor.values import cached_property

if TYPE_CHECKING:
    from doctor.picture import Picture
    from doctor.plan.candidate import Candidate
    from doctor.tables import TensorFlowRelease


@dataclass(frozen=True, slots=True)
class Cure:
    """What to do, and what the program then runs on.

    version: the TensorFlow release; None where it is not known. python: how that Python is started; "" for the one of
    the case.
    """

    steps: tuple[Step, ...]
    version: str | None = None
    python: str = ""

    def lists_gpus(self, picture: Picture) -> str:
        """The command that then shows which GPUs TensorFlow registers."""
        return commands.run_python(picture, code.list_gpus(self.version), self.python)

    def convolves(self, picture: Picture) -> str:
        """The command that then makes TensorFlow create its cuDNN handle."""
        return commands.run_python(picture, code.convolution(self.version), self.python)

    def after(self, *steps: Step) -> Cure:
        """The same with steps before it."""
        return replace(self, steps=(*steps, *self.steps))

    def then(self, *steps: Step) -> Cure:
        """The same with further steps."""
        return replace(self, steps=(*self.steps, *(s for s in steps if s not in self.steps)))


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

    def lists_gpus(self) -> str:
        """As Cure.lists_gpus."""
        return self._cure.lists_gpus(self._picture)

    def convolves(self) -> str:
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
    wanted = libraries.requirements(picture, best.build)
    install = environments.pip_install(environments.ENV, wanted, "wsl", "in Ubuntu's shell; the driver of Windows serves")
    return [shell(f"python3 -m venv {environments.ENV}", "in Ubuntu's shell (sudo apt install python3-venv)", platform="wsl"), install, *driver_for(picture, best.build)]


def build_for_mac(picture: Picture) -> Cure:
    """TensorFlow for a Mac: a CPU build, since there is no CUDA."""
    wheels = [r for r in picture.tables.releases(picture.table_platform, "tensorflow") if r.pythons and not r.yanked]
    if wheels and picture.python is not None and not any(commands.minor(picture.python.version) in r.pythons for r in wheels):
        python = wheels[-1].pythons[-1]
        why = f"no release has a wheel for Python {commands.minor(picture.python.version)} on this Mac; {wheels[-1].version} has one for {python}"
        install = environments.pip_install(environments.ENV, [wheels[-1].requirement], "macos", why, uv=True)
        return Cure((*environments.uv_venv(environments.ENV, python, "macos"), install), wheels[-1].version, environments.interpreter(environments.ENV, "macos"))
    return Cure((shell(f"{commands.venv_prefix(picture)} install tensorflow", "installs into the Python that runs the program"),))


@remembered
def another_build(picture: Picture, *, own: bool = False, words: str = "") -> Cure:
    """The TensorFlow that the plan for the case recommends, with its libraries; on Windows the last one with CUDA there.

    own: in an environment of its own even where the Python of the case would do. words: said first.
    """
    if picture.platform == "macos":
        return Cure((manual("There is no CUDA for macOS since TensorFlow 1.2; on Apple silicon tensorflow-metal uses Apple's GPU"),))
    best = recommendation(picture)
    if best is None and picture.platform != "windows":
        return Cure((manual("No TensorFlow release in the tables fits this GPU: tfgpu-doctor plan says what each lacks"),))
    if picture.platform == "windows":  # the plan goes through WSL2; on Windows itself there is the last release with CUDA
        if not words and best is not None and best.route == "wsl2":
            stay = another_build(picture, own=own, words="or stay on Windows: ")
            inside = environments.interpreter(environments.ENV, "wsl")
            return Cure((*environments.wsl_install(), *inside_wsl(picture), *stay.steps), best.build.version, inside)
        release = fitting(picture) or fitting(picture, python=False) or fitting(picture, python=False, driver=False)
        if release is None:
            if words and best is not None and best.route == "wsl2":  # no way to stay; the caller has said the way out
                return Cure((), best.build.version, environments.interpreter(environments.ENV, "wsl"))
            return Cure((manual("No TensorFlow release for Windows fits this GPU: see tfgpu-doctor plan"),))
        here = True
    else:
        assert best is not None
        release = best.build
        here = picture.python is None or commands.minor(picture.python.version) == best.python
    told = picture.capabilities or picture.driver is not None or picture.python is not None
    newest = "the newest that works here with the fewest changes" if told else "the newest whose parts are known to go together: of this machine nothing was told"
    why = f"TensorFlow {release.version}, {newest}"
    why += f", with code for compute capability {' and '.join(picture.capabilities)}" if picture.capabilities else ""
    if own or not here or picture.platform == "windows":  # there conda brings what pip cannot
        steps, python = libraries.in_environment(picture, release, why, same_python=here)
    else:
        steps, python = libraries.with_build(picture, release, why), ""
    if words and steps:
        steps = [replace(steps[0], why=f"{words}{steps[0].why}"), *steps[1:]]
    return Cure((*steps, *driver_for(picture, release)), release.version, python)


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
