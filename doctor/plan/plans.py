"""The plans to show: the best candidates of each kind, with the changes that they need, their reasons and
their commands."""

from __future__ import annotations

from doctor.compat.software import driver_minimum
from doctor.findings import Finding, Step
from doctor.plan.arm import arm_candidates, arm_driver, obstacles_on_arm
from doctor.plan.candidate import WSL_PYTHON, Candidate
from doctor.plan.candidates import Field, sure, weigh
from doctor.plan.context import PlanContext
from doctor.plan.cpu import cpu_candidate, cpu_obstacles
from doctor.plan.obstacles import driver_unfit, gpu_absent, obstacles
from doctor.plan.reasons import Reason, against_newer, reasons
from doctor.plan.routes import last_branch, libraries, steps
from doctor.remedies.environments import ENV
from doctor.tables import DriverFloor
from doctor.tables.ordering import order
from doctor.values import dataclass, replace

LIMIT = 8
"""The maximum number of plans to show, besides the plan for the CPU."""


@dataclass(frozen=True)
class Plan:
    """One way to run TensorFlow. Values that are unknown are "" or None. changes: what must change on the
    machine, the smallest change first. driver_last: the last driver branch that supports every GPU ("470"),
    or "" if the newest branch does. candidate: the candidate from which the plan was made."""

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
        """The reasons as text, each followed by the table rows that support it, in parentheses."""
        return tuple(f"{reason} ({'; '.join(rows)})" if rows else reason for reason, rows in self.reasons)


@dataclass(frozen=True)
class Outcome:
    """The answer from `plan`: the findings about obstacles, and the plans, the recommended one first."""

    context: PlanContext
    findings: tuple[Finding, ...]
    plans: tuple[Plan, ...]

    @property
    def works(self) -> bool:
        """Whether the request can work on the machine as it is."""
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def unexamined(self) -> tuple[Finding, ...]:
        """The warnings that leave something open: lines of a file that could not be judged, or a file that
        does not request TensorFlow."""
        open_ = ("undetermined", "tf-not-installed")
        return tuple(f for f in self.findings if f.code in open_ and f.severity == "warning")


def make_plans(context: PlanContext, env: str = ENV) -> Outcome:
    """Find the obstacles and make the plans for a context."""
    last = cpu_candidate(context)
    if context.version_request.cpu:
        return Outcome(context, cpu_obstacles(context, last), (_plan(last, context, env),) if last else ())
    if context.platform == "linux-aarch64":
        return _for_arm(context, last, env)
    field = weigh(context)
    chosen = _chosen(field, context.version_request.tensorflow)
    plans = [_plan(candidate, context, env) for candidate in chosen]
    if plans and not chosen[0].given_up:  # otherwise the obstacles say what has to change
        plans[0] = replace(plans[0], reasons=(*plans[0].reasons, *against_newer(chosen[0], field.refusals)))
    if last is not None:
        plans.insert(0 if context.for_cpu else len(plans), _plan(last, context, env))
    if context.for_cpu:
        return Outcome(context, (gpu_absent(context), *cpu_obstacles(context, last)), tuple(plans))
    return Outcome(context, tuple(obstacles(context, field, chosen)), tuple(plans))


def _for_arm(context: PlanContext, last: Candidate | None, env: str) -> Outcome:
    """Make the plans for Arm: first NVIDIA's own builds, because the package index has no wheel with CUDA for
    Arm, and then the plan for the CPU."""
    chosen = [] if context.for_cpu else arm_candidates(context)
    plans = [_plan(candidate, context, env) for candidate in chosen]
    if last is not None:
        plans.append(_plan(last, context, env))
    steps_of_first = plans[0].commands if chosen else ()
    found = (gpu_absent(context),) if context.for_cpu else obstacles_on_arm(context, chosen, steps_of_first)
    if chosen and all(candidate.given_up for candidate in chosen):
        found = (driver_unfit(context, chosen[0], steps_of_first), *found)
    return Outcome(context, found, tuple(plans))


def _chosen(field: Field, version_request: str) -> list[Candidate]:
    """Return the best candidates for each route and set of changes. A costlier candidate counts only if its
    release is newer."""
    kept: list[Candidate] = []
    for candidate in sure(field):
        lost = _lost(candidate)
        if version_request and "tensorflow" in lost and any(_lost(k) < lost for k in kept):
            continue  # it also changes the requested release, and a candidate in `kept` changes less
        if _pip_in_conda(candidate) and any(_pip_in_conda(k) for k in kept):
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


def _lost(candidate: Candidate) -> frozenset[str]:
    """Return what has to change for a candidate, without "container": an image is another way to run
    TensorFlow, not a change to the machine."""
    return candidate.given_up - {"container"}


def _pip_in_conda(candidate: Candidate) -> bool:
    """Whether conda makes only the environment, and pip installs TensorFlow with CUDA and cuDNN."""
    return candidate.route == "conda" and not candidate.recipe


def _plan(candidate: Candidate, context: PlanContext, env: str) -> Plan:
    """Return the plan for a candidate. env: the folder or name of the new environment."""
    build = candidate.build
    gpu = candidate.route != "cpu"
    floor = (
        driver_minimum(build, context.tables, candidate.situation.side, context.capabilities).rows[-1]
        if gpu
        else None
    )
    recipe = dict(candidate.recipe)
    cuda, cudnn = (build.cuda, build.cudnn) if gpu else (None, None)
    if candidate.route == "pip-system-cuda":
        cuda, cudnn = context.cuda, context.cudnn or build.cudnn
    elif recipe:
        cuda, cudnn = recipe["cudatoolkit"], recipe["cudnn"]
    elif candidate.nvidia is not None:
        cuda, cudnn, floor = candidate.nvidia["cuda"], None, arm_driver(candidate, context)
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
        last_branch(context) if gpu else "",
        candidate.route,
        tuple(_changes(candidate, context, env)),
        tuple(steps(candidate, context, env)),
        tuple(reasons(candidate, context, floor)),
    )


def _changes(candidate: Candidate, context: PlanContext, env: str) -> list[str]:
    """Return the changes for a candidate as text, the smallest first."""
    build = candidate.build
    changes = []
    if candidate.image is not None:
        changes.append(
            f"a container from the image {candidate.image}; the machine itself needs only Docker with"
            " NVIDIA's runtime"
        )
    else:
        where = (
            f"a new conda environment `{env}`"
            if candidate.route == "conda"
            else f"a new environment in ./{env}"
        )
        changes.append(f"{where} with {build.package} {build.version}")
    if len(candidate.links) == 1:
        changes.append(f"a symbolic link to {candidate.links[0].library} inside that environment")
    elif candidate.links:
        changes.append(f"symbolic links to {len(candidate.links)} libraries inside that environment")
    own_python = candidate.image is None and candidate.route != "wsl2"
    if own_python and context.python is not None and candidate.python != context.python:
        how = "conda" if candidate.route == "conda" else "uv"
        changes.append(
            f"Python {candidate.python} (through {how}) instead of {context.python}"
            if context.python_is_asked
            else f"Python {candidate.python} (through {how}), beside the installed {context.python}"
        )
    elif candidate.route == "wsl2" and candidate.python != WSL_PYTHON:
        changes.append(f"Python {candidate.python} inside Ubuntu (through uv)")
    lost = candidate.given_up
    if "tensorflow" in lost:
        changes.append(f"TensorFlow {build.version} instead of {context.version_request.in_words}")
    if lost & {"cuda", "cudnn"} and candidate.route != "cpu":
        request, own = context.version_request, candidate.workarounds.packages or build
        inside = "image" if candidate.route == "docker" else "environment"
        kept = " and ".join(
            f"{name} {version}"
            for name, version in (("CUDA", request.cuda), ("cuDNN", request.cudnn))
            if version
        )
        changes.append(f"{libraries(own)} inside the {inside}; the installed {kept} stays unchanged")
    if "system" in lost:
        changes.append("WSL2 with Ubuntu 24.04, beside Windows")
    if context.gpu_absent and candidate.route != "cpu":
        changes.append("an NVIDIA GPU: this machine has none")
    if "driver" in lost:
        floor = f"{candidate.driver.driver} or newer" if candidate.driver else "a newer one"
        last = last_branch(context)
        have = f"instead of {context.driver}" if context.driver else "(none is installed)"
        changes.append(f"the NVIDIA driver: {floor}{f', but at most branch R{last},' if last else ''} {have}")
    return changes
