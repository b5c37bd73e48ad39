"""Answers all questions about a build in a situation, and finds the newest build that works in it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.compat.answer import Answer, worst
from doctor.compat.gpu import driver_serves_gpu, runs_on_gpu
from doctor.compat.install import installs_on, runs_with_pip_libraries
from doctor.compat.installed import runs_on_driver, runs_with_cuda, runs_with_cudnn
from doctor.compat.situation import Situation, trap_answers
from doctor.compat.software import driver_minimum
from doctor.tables import DriverFloor, Tables, TensorFlowRelease
from doctor.tables.ordering import is_final
from doctor.tables.store import remembered
from doctor.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answers to the questions about a build: pairs of an aspect (install, gpu, driver, cuda, cudnn or
    libraries) and an answer. An aspect about which the situation says nothing is left out.
    """

    build: TensorFlowRelease
    answers: tuple[tuple[str, Answer], ...]

    @property
    def verdicts(self) -> frozenset[tuple[str, str]]:
        """The aspects and their verdicts."""
        return frozenset((aspect, answer.verdict) for aspect, answer in self.answers)

    @property
    def overall(self) -> Answer:
        """The decisive answer; if all answers are "yes", one answer with all their reasons and rows."""
        answers = [answer for _, answer in self.answers]
        decisive = worst(answers)
        if decisive.verdict != "yes":
            return decisive
        rows = dict.fromkeys(row for answer in answers for row in answer.rows)
        return Answer("yes", "; ".join(answer.reason for answer in answers), tuple(rows))

    def __getitem__(self, aspect: str) -> Answer:
        return dict(self.answers)[aspect]

    def __contains__(self, aspect: object) -> bool:
        return aspect in dict(self.answers)


def judge(build: TensorFlowRelease, situation: Situation, tables: Tables) -> Judgement:
    """Answer the questions about a build for which the situation contains a value."""
    answers: list[tuple[str, Answer]] = [("install", installs_on(build, situation, tables))]
    if build.gpu is False:
        answers.append(("gpu", runs_on_gpu(build, situation, tables)))
        return Judgement(build, tuple(answers))
    if situation.capabilities:
        answers.append(("gpu", runs_on_gpu(build, situation, tables)))
    driver = _driver(build, situation, tables)
    if driver is not None:
        answers.append(("driver", driver))
    if situation.cuda is not None:
        cuda = runs_with_cuda(build, situation.cuda, tables)
        answers.append(("cuda", worst([cuda, *trap_answers(build, situation, tables, "cuda")])))
    if situation.cudnn is not None:
        cudnn = runs_with_cudnn(build, situation.cudnn, tables, situation.capabilities)
        answers.append(("cudnn", worst([cudnn, *trap_answers(build, situation, tables, "cudnn")])))
    if situation.route == "pip-and-cuda":
        answers.append(("libraries", runs_with_pip_libraries(build, situation, tables)))
    return Judgement(build, tuple(answers))


def _driver(build: TensorFlowRelease, situation: Situation, tables: Tables) -> Answer | None:
    """Whether the build runs on the situation's driver; if no driver is known, whether the GPU's last driver
    branch is new enough for the build. None if neither driver nor GPU is known."""
    if situation.driver is not None:
        answers = [runs_on_driver(build, situation.driver, tables, situation.side)]
        answers += [
            driver_serves_gpu(capability, situation.driver, tables, situation.side)
            for capability in situation.capabilities
        ]
        answers += trap_answers(build, situation, tables, "driver")
        return worst(answers)
    if not situation.capabilities:
        return None
    minimum = driver_minimum(build, tables, situation.side, situation.capabilities)
    floor = minimum.rows[-1]
    if not isinstance(floor, DriverFloor):
        return minimum
    answers = [minimum]
    for capability in situation.capabilities:
        serves = driver_serves_gpu(capability, floor.driver, tables, situation.side)
        if serves.verdict == "no":
            why = f"{build.requirement} needs driver {floor.driver}; {serves.reason}"
            answers.append(Answer("no", why, (*minimum.rows, *serves.rows)))
    return worst(answers)


def candidates(tables: Tables, situation: Situation) -> Iterator[Judgement]:
    """Yield the judgement on every final GPU release for the platform, newest first: one build per version,
    of tensorflow or, for a version that only tensorflow-gpu has, of tensorflow-gpu."""
    for build in tables.gpu_builds(situation.platform, ("tensorflow", "tensorflow-gpu")):
        if is_final(build.version):
            yield judge(build, situation, tables)


@remembered
def newest(tables: Tables, situation: Situation) -> Judgement | None:
    """Return the judgement on the newest build that works, or None.

    A build that runs without changes, or with a pin, comes before a newer build that needs more (a path or
    link for its libraries, or a compilation at the start) or whose answer is unknown. If the situation has no
    route and no CUDA, a build with the extra and-cuda is judged with pip's libraries.
    """
    best: tuple[float, Judgement] | None = None
    for found in candidates(tables, situation):
        judged = found
        if situation.route is None and situation.cuda is None and found.build.extras.get("and-cuda"):
            judged = judge(found.build, replace(situation, route="pip-and-cuda"), tables)
        price = _price(judged)
        if price == 0:
            return judged
        if price is not None and (best is None or price < best[0]):
            best = (price, judged)
    return best[1] if best else None


def _price(judged: Judgement) -> float | None:
    """Return the cost of a build, as in doctor.plan's COSTS, or None if the build does not work."""
    price = 0.0
    for name, answer in judged.answers:
        if answer.verdict == "no" and (name != "libraries" or not answer.cure):
            return None
        if name == "libraries":
            price += 0.5 if answer.verdict == "no" and not answer.cure.startswith("pip install ") else 0.0
        elif name != "driver":
            price = max(price, {"slow": 1.0, "unknown": 3.0}.get(answer.verdict, 0.0))
    return price
