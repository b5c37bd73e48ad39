"""The plans that are shown: the best candidates of each kind, with what changes, why, and the commands."""

from __future__ import annotations

from dataclasses import dataclass, replace

from doctor.compat.software import driver_minimum
from doctor.findings import Finding, Step
from doctor.plan.arm import arm_candidates, arm_driver, obstacles_on_arm
from doctor.plan.candidate import WSL_PYTHON, Candidate
from doctor.plan.candidates import Field, weigh
from doctor.plan.cpu import cpu_candidate, cpu_obstacles
from doctor.plan.ground import Ground
from doctor.plan.obstacles import driver_unfit, gpu_absent, obstacles
from doctor.plan.reasons import Reason, against_newer, reasons
from doctor.plan.routes import last_branch, steps
from doctor.remedies.environments import ENV
from doctor.tables import DriverFloor
from doctor.tables.ordering import order

LIMIT = 8
"""Plans that are shown; the CPU comes on top."""


@dataclass(frozen=True)
class Plan:
    """One way to TensorFlow on a GPU. `changes`: what must change on the machine, smallest first; empty strings and
    None where a value is not known. driver_last: the last driver branch that serves every GPU ("470"), "" where the
    newest does. `candidate` is what it was made from."""

    candidate: Candidate
    tensorflow: str
    package: str
    python: str | None
    cuda: str | None
    cudnn: str | None
    driver_minimum: str | None
    driver_last: str
    route: str
    changes: tuple[str, ...]
    commands: tuple[Step, ...]
    reasons: tuple[Reason, ...]

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons, each with the rows that say so."""
        return tuple(f"{reason} ({'; '.join(rows)})" if rows else reason for reason, rows in self.reasons)


@dataclass(frozen=True)
class Outcome:
    """What `plan` answers: what stands in the way, and the plans, the recommended one first."""

    ground: Ground
    findings: tuple[Finding, ...]
    plans: tuple[Plan, ...]

    @property
    def works(self) -> bool:
        """Whether the wish can be had on this machine as it is."""
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def unexamined(self) -> tuple[Finding, ...]:
        """What the answer leaves open: lines of a file that could not be judged, or a file that asks for no TensorFlow."""
        open_ = ("undetermined", "tf-not-installed")
        return tuple(f for f in self.findings if f.code in open_ and f.severity == "warning")


def make_plans(ground: Ground, env: str = ENV) -> Outcome:
    """Weigh everything for a ground. Pure."""
    last = cpu_candidate(ground)
    if ground.wish.cpu:
        return Outcome(ground, cpu_obstacles(ground, last), (_plan(last, ground, env),) if last else ())
    if ground.platform == "linux-aarch64":
        return _for_arm(ground, last, env)
    field = weigh(ground)
    chosen = _chosen(field, ground.wish.tensorflow)
    plans = [_plan(candidate, ground, env) for candidate in chosen]
    if plans and not chosen[0].given_up:  # what has to be given up is told by the obstacles
        plans[0] = replace(plans[0], reasons=(*plans[0].reasons, *against_newer(chosen[0], field.refusals)))
    if last is not None:
        plans.insert(0 if ground.for_cpu else len(plans), _plan(last, ground, env))
    if ground.for_cpu:
        return Outcome(ground, (gpu_absent(ground), *cpu_obstacles(ground, last)), tuple(plans))
    return Outcome(ground, tuple(obstacles(ground, field, chosen)), tuple(plans))


def _for_arm(ground: Ground, last: Candidate | None, env: str) -> Outcome:
    """NVIDIA's own builds, since no wheel of the package index for Arm has CUDA in it; then the CPU."""
    chosen = [] if ground.for_cpu else arm_candidates(ground)
    plans = [_plan(candidate, ground, env) for candidate in chosen]
    if last is not None:
        plans.append(_plan(last, ground, env))
    steps_of_first = plans[0].commands if chosen else ()
    found = (gpu_absent(ground),) if ground.for_cpu else obstacles_on_arm(ground, chosen, steps_of_first)
    if chosen and all(candidate.given_up for candidate in chosen):
        found = (driver_unfit(ground, chosen[0], steps_of_first), *found)
    return Outcome(ground, found, tuple(plans))


def _chosen(field: Field, wish: str) -> list[Candidate]:
    """For each route and each set of changes the best; a costlier one only where it is a newer release."""
    kept: list[Candidate] = []
    for candidate in _sure(field):
        lost = _lost(candidate)
        if wish and "tensorflow" in lost and any(_lost(k) < lost for k in kept):
            continue  # another release is a loss where one was asked for
        if candidate.route == "conda" and not candidate.recipe and any(_pip_in_conda(k) for k in kept):
            continue
        same = [k for k in kept if k.route == candidate.route and _lost(k) <= lost]
        less = [k for k in kept if _lost(k) < lost]
        if any(order(k.build.version) >= order(candidate.build.version) for k in (*same, *less)):
            continue
        if sum(_lost(k) == lost for k in same) > 1:
            continue
        kept.append(candidate)
        if len(kept) == LIMIT:
            break
    return kept


def foremost(field: Field) -> Candidate | None:
    """The candidate of the first plan; None where there is none with CUDA."""
    return next(iter(_sure(field)), None)


def _sure(field: Field) -> list[Candidate]:
    """Those of which the tables know that the build has code for the GPU, where there are any; the cheapest first."""
    return [c for c in field.candidates if not _doubtful(c)] or field.candidates


def _lost(candidate: Candidate) -> frozenset[str]:
    """What is given up besides the surroundings: an image is a way of its own, not a loss."""
    return candidate.given_up - {"container"}


def _pip_in_conda(candidate: Candidate) -> bool:
    return candidate.route == "conda" and not candidate.recipe


def _doubtful(candidate: Candidate) -> bool:
    """Whether the tables cannot tell that the build has code for the GPU."""
    return any(name == "gpu" and answer.verdict == "unknown" for name, answer in candidate.judgement.answers)


def _plan(candidate: Candidate, ground: Ground, env: str) -> Plan:
    build = candidate.build
    gpu = candidate.route != "cpu"
    floor = (
        driver_minimum(build, ground.tables, candidate.situation.side, ground.capabilities).rows[-1] if gpu else None
    )
    recipe = dict(candidate.recipe)
    cuda, cudnn = (build.cuda, build.cudnn) if gpu else (None, None)
    if candidate.route == "pip-system-cuda":
        cuda, cudnn = ground.cuda, ground.cudnn or build.cudnn
    elif recipe:
        cuda, cudnn = recipe["cudatoolkit"], recipe["cudnn"]
    elif candidate.nvidia is not None:
        cuda, cudnn, floor = candidate.nvidia["cuda"], None, arm_driver(candidate, ground)
    elif candidate.workarounds.packages is not None:
        cuda, cudnn = candidate.workarounds.packages.cuda, candidate.workarounds.packages.cudnn
    return Plan(
        candidate,
        build.version,
        build.package,
        candidate.python,
        cuda,
        cudnn,
        floor.driver if isinstance(floor, DriverFloor) else None,
        last_branch(ground) if gpu else "",
        candidate.route,
        tuple(_changes(candidate, ground, env)),
        tuple(steps(candidate, ground, env)),
        tuple(reasons(candidate, ground, floor)),
    )


def _changes(candidate: Candidate, ground: Ground, env: str) -> list[str]:
    """Smallest first."""
    build = candidate.build
    changes = []
    if candidate.image is not None:
        changes.append(
            f"a container of the image {candidate.image}; nothing on the machine but Docker's NVIDIA runtime"
        )
    else:
        where = f"a new conda environment `{env}`" if candidate.route == "conda" else f"a new environment in ./{env}"
        changes.append(f"{where} with {build.package} {build.version}")
    if len(candidate.links) == 1:
        changes.append(f"a symbolic link to {candidate.links[0].library} inside that environment")
    elif candidate.links:
        changes.append(f"symbolic links to {len(candidate.links)} libraries inside that environment")
    own_python = candidate.image is None and candidate.route != "wsl2"
    if own_python and ground.python is not None and candidate.python != ground.python:
        how = "conda" if candidate.route == "conda" else "uv"
        changes.append(
            f"Python {candidate.python} (through {how}) instead of {ground.python}"
            if ground.python_is_asked
            else f"another Python beside the one at hand: {candidate.python} (through {how}), not {ground.python}"
        )
    elif candidate.route == "wsl2" and candidate.python != WSL_PYTHON:
        changes.append(f"Python {candidate.python} inside Ubuntu (through uv)")
    lost = candidate.given_up
    if "tensorflow" in lost:
        changes.append(f"TensorFlow {build.version} instead of {ground.wish.tensorflow}")
    if lost & {"cuda", "cudnn"} and candidate.route != "cpu":
        fixed = ground.wish.cuda or ground.wish.cudnn
        packages = candidate.workarounds.packages
        own = packages.cuda if packages else build.cuda or ""
        inside = "image" if candidate.route == "docker" else "environment"
        changes.append(
            f"CUDA {own} of its own, inside the {inside}; the installed {fixed} stays untouched".replace("  ", " ")
        )
    if "system" in lost:
        changes.append("WSL2 with Ubuntu 24.04, beside Windows")
    if ground.gpu_absent and candidate.route != "cpu":
        changes.append("an NVIDIA GPU: this machine has none")
    if "driver" in lost:
        floor = candidate.driver.driver if candidate.driver else "a newer one"
        last = last_branch(ground)
        have = f"instead of {ground.driver}" if ground.driver else "(none is installed)"
        changes.append(f"the NVIDIA driver: {floor} or newer{f', of branch R{last} at most,' if last else ''} {have}")
    return changes
