"""A cure in the file's own terms: which line is replaced by which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from doctor.backports import removeprefix, removesuffix
from doctor.errors import UsageError
from doctor.findings import Finding, Step, manual
from doctor.plan.asked import Asked, Wanted
from doctor.plan.ground import Ground
from doctor.plan.plans import Outcome, Plan, make_plans
from doctor.plan.wish import Wish
from doctor.shell import one_line, sh_argument


def replaced(line: Asked, requirement: str | Sequence[str], name: str, why: str = "") -> Step:
    """The line of a file with other requirements in it. name: the file, where the line does not name its
    own."""
    wishes = [requirement] if isinstance(requirement, str) else list(requirement)
    text = with_requirements(line, [wish for wish in wishes if wish])
    return manual(f"{line.file or name}, line {line.line}: {text}", why or f"in place of: {line.text}")


def with_requirements(line: Asked, wishes: Sequence[str]) -> str:
    """The text of a line with other requirements, each in quotes where a shell reads the line."""
    text, word = line.text, line.word
    at = text.find(word) if word else -1
    before, after = (text[:at], text[at + len(word) :]) if at >= 0 else ("", "")
    mark = next((quote for quote in "'\"" if before.endswith(quote) and after.startswith(quote)), "")
    if line.shell:
        before, after = removesuffix(before, mark), removeprefix(after, mark)
        inner = " ".join(sh_argument(one_line(wish)) for wish in wishes)
    else:
        inner = f"{mark}, {mark}".join(wishes) if mark else " ".join(wishes)
    return (before + inner + after).strip()


def image_replaced(image: Asked, other: str, name: str, why: str) -> Step:
    """A Dockerfile's FROM with another image."""
    return manual(f"{image.file or name}, line {image.line}: {image.text.replace(image.word, other, 1)}", why)


def in_dockerfile(
    findings: Sequence[Finding], judged: Outcome, line: Asked, wanted: Wanted, name: str
) -> list[Finding]:
    """The findings with cures that are lines of the Dockerfile, in place of commands for this machine."""
    steps = tuple(_lines(judged, line, wanted, name))
    return [
        replace(
            f,
            prescription=_host(f)
            + (
                steps
                if any(s.kind == "shell" for s in f.prescription)
                else tuple(s for s in f.prescription if not s.needs_root) or steps
            ),
        )
        for f in findings
    ]


def _host(finding: Finding) -> tuple[Step, ...]:
    """What an administrator does: the driver is the host's, whatever the image."""
    return tuple(
        step for step in finding.prescription if step.needs_root and finding.code.startswith("driver")
    )


def _lines(judged: Outcome, line: Asked, wanted: Wanted, name: str) -> Iterator[Step]:
    """The lines that the first plan needs."""
    python, image = wanted.python, wanted.image
    fixed = (
        python is not None and not python.word
    )  # the Python of the image's system, which FROM alone does not choose
    plan = next(
        (
            p
            for p in judged.plans
            if p.route in ("pip-and-cuda", "pip-system-cuda", "docker")
            and not (fixed and python and p.python and f"=={p.python}.*" != python.specifier)
        ),
        None,
    )
    if plan is None or image is None:
        return
    if plan.route == "docker" and plan.candidate.image:
        yield image_replaced(
            image,
            plan.candidate.image,
            name,
            f"in place of: {image.text}; it holds TensorFlow {plan.tensorflow} with its CUDA and cuDNN",
        )
        yield manual(
            f"{line.file or name}, line {line.line}: leave out {line.word}",
            "the image has TensorFlow already",
        )
        return
    if python is not None and python.word and plan.python and f"=={plan.python}.*" != python.specifier:
        yield image_replaced(
            image,
            image.word.replace(f":{python.word}", f":{plan.python}", 1),
            name,
            f"in place of: {image.text}",
        )
    wishes = wishes_of(plan)
    if with_requirements(line, wishes) != line.text.replace('"', "'"):
        yield replaced(line, wishes, name)


def wishes_of(plan: Plan) -> list[str]:
    """What pip is asked for by a plan."""
    return plan.candidate.installation.requirements


def same_with_cuda(line: Asked, ground: Ground, name: str) -> tuple[Step, ...]:
    """The line with the release of `tensorflow` that it allows and that works on the ground, with its
    CUDA."""
    try:
        Wish(line.specifier).allows("2.15.0", ground.newest)
    except UsageError:  # a version that is none
        return ()
    judged = make_plans(Ground(ground.facts, ground.tables, replace(ground.wish, tensorflow=line.specifier)))
    plan = next((p for p in judged.plans if p.route == "pip-and-cuda"), None)
    return (replaced(line, wishes_of(plan), name),) if plan else ()
