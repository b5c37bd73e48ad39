"""Finds out what prevents a plan: the fewest constraints that explain why no release works, and the single
changes that are enough to make one work."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.backports import removeprefix
from doctor.compat import Answer
from doctor.facts import Source, Symptom
from doctor.findings import Finding, Step, shell
from doctor.plan.candidate import Candidate, Refusal
from doctor.plan.candidates import Field
from doctor.plan.chain import shortest_chain
from doctor.plan.context import PlanContext
from doctor.plan.routes import environment_steps, last_branch, steps
from doctor.remedies.environments import ENV
from doctor.shell import run
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.ordering import order

CHANGES = {
    "tensorflow": "another TensorFlow release",
    "python": "another Python version",
    "driver": "another NVIDIA driver version",
    "cuda": "separate CUDA libraries inside the environment",
    "cudnn": "a separate cuDNN library inside the environment",
    "system": "WSL2",
    "container": "the official image",
}


def obstacles(context: PlanContext, field: Field, chosen: list[Candidate]) -> list[Finding]:
    """Return the findings, the most urgent first. An error means that the request cannot work on this machine
    as it is."""
    free = [c for c in field.candidates if not c.given_up]
    found: list[Finding] = []
    if not free:
        found = _blocked(context, field, chosen)
    elif context.kind == "windows" and not context.version_request.tensorflow:
        found = [_windows(context, "warning", chosen)]
    if context.gpu_absent:
        found.append(gpu_absent(context))
    return found


def gpu_absent(context: PlanContext) -> Finding:
    """Make the finding that the machine was examined and has no GPU. It says for which machine the plans
    are."""
    first = "The first plan computes on the CPU; the others" if context.for_cpu else "The plans"
    return Finding(
        "gpu-absent",
        "warning",
        "no NVIDIA GPU was found on this machine",
        f"{first} are for a machine with an NVIDIA GPU: you can install them here too, and test them on the"
        " machine with the GPU. Use --gpu NAME to plan for that GPU.",
        (context.evidence("gpu"),),
    )


def _blocked(context: PlanContext, field: Field, chosen: list[Candidate]) -> list[Finding]:
    """Return the findings that say why no release works without a change."""
    if context.musl:
        return [musl(context, steps(chosen[0], context) if chosen else ())]
    allows = context.version_request.allows
    none_requested = not any(
        b.gpu and b.package == "tensorflow" and allows(b.version, context.newest) for b in context.releases
    )
    if none_requested or context.kind == "macos" or context.windows_on_arm:
        special = _no_gpu_build(context, chosen)
        if special is not None:
            return [special]
    if context.driver_absent and all("driver" in c.given_up for c in field.candidates) and field.candidates:
        lone = [c for c in field.candidates if c.given_up == {"driver"}]
        if lone:
            return [_driver_missing(context, lone[0])]
    aspects = shortest_chain(field.refusals)
    found = [_refused(aspect, refusals, context, chosen) for aspect, refusals in aspects]
    return found or [_undetermined(context, chosen)]


def _refused(
    aspect: str, refusals: list[tuple[Refusal, Answer]], context: PlanContext, chosen: list[Candidate]
) -> Finding:
    """Make the finding that an aspect rules out all of these releases, with the changes that are enough."""
    newest, answer = max(refusals, key=lambda pair: order(pair[0].build.version))
    code, title = code_and_title(aspect, newest.build, answer, context)
    versions = sorted({r.build.version for r, _ in refusals}, key=order)
    asked = context.version_request.tensorflow
    why = f"TensorFlow {versions[0]} does not work here: {answer.reason}."
    if len(versions) > 1:
        kind = f"of TensorFlow {asked.lstrip('=')}" if asked else "with CUDA"
        why = (
            f"None of the {len(versions)} releases {kind} from {versions[0]} to {versions[-1]} works here."
            f" The reason for the newest: {answer.reason}. The others fail for similar reasons."
        )
    single = _single_changes(chosen, context)
    cure = f"One change is enough: {'; or '.join(single)}" if single else _needed_changes(chosen)
    where = {"install": "python", "libraries": "tensorflow"}.get(aspect, aspect)
    evidence = [context.evidence(where)]
    if asked:
        evidence.append(context.evidence("tensorflow"))
    return Finding(
        code,
        "error",
        title,
        f"{why} {cure}.",
        tuple(dict.fromkeys(evidence)),
        answer.refs,
        tuple(steps(chosen[0], context)) if chosen else (),
        proof=shell(run("tfgpu-doctor", "check", "--python", ENV, "--deep")),
    )


def driver_unfit(context: PlanContext, candidate: Candidate, commands: tuple[Step, ...]) -> Finding:
    """Make the finding that the installed driver does not fit the candidate that is otherwise the best.
    commands: the steps in the candidate's plan."""
    answer = candidate.judgement["driver"]
    code, title = code_and_title("driver", candidate.build, answer, context)
    return Finding(
        code,
        "error",
        title,
        answer.sentence,
        (context.evidence("driver"),),
        answer.refs,
        commands,
        proof=shell(run("nvidia-smi")),
    )


def code_and_title(
    aspect: str, build: TensorFlowRelease, answer: Answer, context: PlanContext
) -> tuple[str, str]:
    """Return the finding code and title for an aspect in which a build does not fit. answer: the reason."""
    gpu = ", ".join(
        dict.fromkeys(g.name or f"compute capability {g.compute_capability}" for g in context.case.gpus)
    )
    name = (
        f"TensorFlow {context.version_request.in_words}"
        if context.version_request.tensorflow
        else f"any TensorFlow release with CUDA{' for Windows' if context.kind == 'windows' else ''}"
    )
    if aspect in ("python", "install"):
        if "glibc" in answer.reason:
            return "tf-import-failed", f"{_no(name)} runs on glibc {context.glibc}"
        if build.package == "tensorflow-gpu" and "stub" in answer.reason:
            return "tf-gpu-package-removed", "tensorflow-gpu ended with 2.11"
        return (
            "tf-no-wheel",
            (
                f"{_no(name)} has a wheel{f' for Python {context.python}' if context.python else ''} that"
                " works here"
            ),
        )
    if aspect == "gpu":
        lowest = build.compute_capabilities.lowest if build.compute_capabilities else None
        old = lowest is not None and any(dotted(c) < dotted(lowest) for c in context.capabilities)
        return ("gpu-arch-too-old", f"{gpu}: older than {name} supports") if old else (
            "gpu-arch-too-new", f"{gpu}: newer than {name} supports")  # fmt: skip
    if aspect == "driver":
        if "last driver branch" in answer.reason:
            return "driver-too-new", f"driver {context.driver} no longer supports {gpu}"
        return "driver-too-old", f"driver {context.driver} is too old for {name}" + (
            f" on {gpu}" if gpu else ""
        )
    if aspect == "cuda":
        return "cuda-version-mismatch", f"{_no(name)} works with CUDA {context.cuda}"
    if aspect == "cudnn":
        return "cudnn-version-mismatch", f"{_no(name)} can use cuDNN {context.cudnn}"
    return "known-release-bug", f"pip cannot install CUDA and cuDNN for TensorFlow {build.version}"


def _no(name: str) -> str:
    """Return a phrase that says that something does not exist: "no TensorFlow 2.15 release" for "TensorFlow
    2.15", "no TensorFlow release with CUDA" for "any TensorFlow release with CUDA"."""
    return f"no {removeprefix(name, 'any ')}" + ("" if name.startswith("any ") else " release")


def _single_changes(chosen: list[Candidate], context: PlanContext) -> list[str]:
    """Return, in a few words, the change that each plan needs. Only plans that need a single change count."""
    words: dict[str, str] = {}
    last = last_branch(context)
    bound = f", but at most branch R{last}" if last else ""
    for candidate in chosen:
        if len(candidate.given_up) != 1:
            continue
        (lost,) = candidate.given_up
        version = f"tensorflow {candidate.build.version}"
        words.setdefault(
            lost,
            {
                "python": (
                    f"Python {candidate.python} ({version})"
                    if candidate.python
                    else f"the image {candidate.image}"
                ),
                "driver": (
                    f"driver {candidate.driver.driver} or newer{bound} ({version})"
                    if candidate.driver
                    else f"a newer driver{bound} ({version})"
                ),
                "tensorflow": f"TensorFlow {candidate.build.version} instead",
                "system": f"WSL2 ({version})",
                "container": f"the image {candidate.image}",
            }.get(lost, f"{CHANGES[lost]} ({version})"),
        )
    return list(words.values())


def _needed_changes(chosen: list[Candidate]) -> str:
    """Return a clause that says which changes the best plan needs, for a request that no plan fulfils with a
    single change."""
    if not chosen:
        return "No other release, Python or driver would help"
    lost = [CHANGES[name] for name in sorted(chosen[0].given_up)]
    several = "No single change is enough, but these together are"
    enough = several if len(lost) > 1 else "One change is enough"
    return f"{enough}: {' and '.join(lost)} (tensorflow {chosen[0].build.version})"


def _windows(context: PlanContext, severity: str, chosen: list[Candidate]) -> Finding:
    """Make the finding that the last release with CUDA for native Windows is 2.10."""
    row = next((b for b in reversed(context.releases) if b.gpu), None)
    trap = next((t for t in context.tables.traps() if t.name == "windows-2.11"), None)
    best = next((c for c in chosen if c.route == "wsl2"), None)
    return Finding(
        "tf-windows-native",
        severity,
        "TensorFlow after 2.10 does not use a GPU on native Windows",
        (trap.reason[0].upper() + trap.reason[1:] + ". " if trap else "")
        + "Under WSL2, on the same machine, the Linux builds use the GPU through the Windows driver.",
        tuple(
            dict.fromkeys(
                (
                    context.evidence("system"),
                    context.evidence("tensorflow" if context.version_request.tensorflow else "system"),
                )
            )
        ),
        tuple(r.ref for r in (trap, row) if r is not None),
        tuple(steps(best, context)) if best else (),
        proof=shell(run("tfgpu-doctor", "check", "--python", ENV, "--deep")),
    )


def _no_gpu_build(context: PlanContext, chosen: list[Candidate]) -> Finding | None:
    """Return the finding that the platform has no build with CUDA for the request, or None if no rule
    explains why."""
    if context.windows_on_arm:
        return Finding(
            "tf-cpu-only",
            "error",
            "no TensorFlow build with CUDA runs on Windows on Arm",
            "The builds with CUDA for Windows (up to 2.10) and for Linux under WSL2 are for x86_64.",
            (context.evidence("system"),),
        )
    if context.kind == "windows":
        return _windows(context, "error", chosen)
    wanted = [
        t
        for t in context.tables.traps()
        if context.platform in t.data["when"].get("platforms", ()) and t.data["aspect"] == "build"
    ]
    if context.platform == "linux-x86_64" or not wanted:
        return None
    trap = wanted[0]
    metal = "The package tensorflow-metal uses a Mac's own GPU, without CUDA."
    more = metal if context.kind == "macos" else ""
    return Finding(
        "tf-cpu-only",
        "error",
        f"no TensorFlow release for {context.platform} is built with CUDA",
        f"{trap.reason[0].upper()}{trap.reason[1:]}. {more}".strip(),
        (context.evidence("system"),),
        (trap.ref,),
    )


def musl(context: PlanContext, cure: Sequence[Step]) -> Finding:
    """Make the finding that no release has a wheel for Alpine Linux. cure: the steps that fix it."""
    return Finding(
        "tf-no-wheel",
        "error",
        "no TensorFlow release has a wheel for this C library (musl)",
        "Every TensorFlow wheel for Linux is made for glibc, but Alpine Linux uses musl. "
        + (
            "Use an image that is based on Debian or Ubuntu instead (FROM python:3.12-slim)."
            if context.container
            else "Use a container from the official image instead: the image contains glibc."
        ),
        (next(s.source for s in context.facts.of(Symptom) if s.kind == "musl-libc"),),
        (),
        tuple(cure),
    )


def _driver_missing(context: PlanContext, best: Candidate) -> Finding:
    """Make the finding that the only missing part is the driver. best: the candidate that needs only it."""
    return Finding(
        "driver-missing",
        "error",
        "there is a GPU but no NVIDIA driver",
        "You can install TensorFlow without the driver; it runs on the CPU until the driver is installed. The"
        " driver is the only part that pip and conda cannot install.",
        (context.evidence("driver"),),
        (best.driver.ref,) if best.driver else (),
        tuple(steps(best, context)),
        proof=shell(run("nvidia-smi")),
    )


def _undetermined(context: PlanContext, chosen: list[Candidate]) -> Finding:
    """Make the finding that no plan fits although no release was refused."""
    given = [n for n in ("cuda", "cudnn") if getattr(context.version_request, n)]
    source = context.evidence(given[0]) if given else Source("the tables", None, context.tables.date)
    return Finding(
        "undetermined",
        "error",
        "no plan in the tables fits this request",
        "None of the requested releases is available here, and no rule explains why. "
        + _needed_changes(chosen)
        + ".",
        (source,),
        (),
        tuple(environment_steps(chosen[0], context)) if chosen and chosen[0].route == "pip-and-cuda" else (),
    )
