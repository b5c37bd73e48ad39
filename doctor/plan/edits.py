"""Turns fixes into edits to a requirement file or Dockerfile: which text replaces which line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor import lazy
from doctor.backports import removeprefix, removesuffix
from doctor.compat.workarounds import Link
from doctor.errors import UsageError
from doctor.facts import normalised
from doctor.findings import Edit, Finding, Step, manual
from doctor.plan.context import PlanContext
from doctor.plan.plans import Outcome, Plan, make_plans
from doctor.plan.requested import FileContents, Requested, requirement
from doctor.plan.specifiers import together
from doctor.plan.version_request import VersionRequest
from doctor.remedies.installation import link_steps
from doctor.shell import one_line, sh_argument
from doctor.values import replace

_ENTRY = lazy.compile(
    r"""["']?[\w.-]{1,200}["']?\s*=\s*(?:"[^"]*"|'[^']*'|\{\s*(?:(?:version|extras)\s*=\s*"""
    r"""(?:"[^"]*"|'[^']*'|\[[^]]*\])\s*(?:,\s*)?)*\})(?P<comment>\s*#.*)?"""
)
"""Matches an entry in a TOML table whose keys are packages: with the version alone, or with extras."""


def replaced(line: Requested, wanted: str | Sequence[str], name: str, why: str = "") -> Step:
    """Return the step that replaces the requirement in a line. If the line is not `editable`, the step
    contains only text and no edit. name: the file, unless the line has its own file."""
    requirements = [wanted] if isinstance(wanted, str) else wanted
    text = with_requirements(line, [one for one in requirements if one])
    shown = f"these {text.count(chr(10)) + 1} lines\n{text}" if "\n" in text else text
    step = manual(f"{line.file or name}, line {line.line}: {shown}", why or f"in place of: {line.text}")
    return replace(step, edit=edited(line, text, name)) if editable(line) else step


def edited(line: Requested, text: str, name: str) -> Edit:
    """Return the edit that replaces the text of a line. name: the file, unless the line has its own file."""
    return Edit(line.file or name, line.line, line.text, text)


def left_out(line: Requested, name: str, why: str) -> Step:
    """Return the step that removes a requirement from a line. If the rest of a line cannot stay without it
    (an `install` with no further requirement among other commands, a part of a list), the step contains only
    text and no edit."""
    word = line.word if normalised(line.word).startswith(line.name) else line.name
    step = manual(f"{line.file or name}, line {line.line}: remove {word}", why)
    rest = with_requirements(line, [])
    if not rest.strip("-\"', "):
        return replace(step, edit=edited(line, "", name))
    installs = re.search(r"\binstall\b(?P<after>[^;&|]{0,2000})", rest)
    named = [word for word in installs["after"].split() if not word.startswith("-")] if installs else []
    if named and "\\" not in named:
        return replace(step, edit=edited(line, re.sub(r"(?<=\S) {2,}", " ", rest), name))
    alone = re.fullmatch(r"(?i)RUN\s+(?:python3?\s+-m\s+)?pip3?\s+install(?:\s+-[\w-]+)*", rest.strip())
    return replace(step, edit=edited(line, "", name)) if alone else step


def followed(line: Requested, commands: Sequence[Step], name: str) -> Step:
    """Return the step that adds commands to a Dockerfile, each in a RUN of its own below the line's."""
    number, text = line.end
    new = "\n".join((text, *(f"RUN {command.text}" for command in commands)))
    step = manual(f"{name}, line {number}: these {len(commands) + 1} lines\n{new}", commands[0].why)
    return replace(step, edit=edited(replace(line, line=number, text=text), new, name))


def editable(line: Requested) -> bool:
    """Whether an edit can replace the requirement in a line. The line must not contain a hash, because a
    hash is valid for one release only. If the package is a key of a TOML table (Poetry, Pipfile, pixi), its
    value must be only a version and extras."""
    if " --hash" in line.text:
        return False
    named = line.manager != "pip" or normalised(line.word).startswith(line.name)
    return named or _ENTRY.fullmatch(line.text) is not None


def _entry(wanted: str) -> str:
    """Return a requirement as an entry in a TOML table whose keys are packages."""
    line = requirement(wanted, 0)
    if line is None or not line.extras:
        return f'{line.name} = "{line.specifier}"' if line else wanted
    extras = ", ".join(f'"{extra}"' for extra in line.extras)
    return f'{line.name} = {{version = "{line.specifier}", extras = [{extras}]}}'


def with_requirements(line: Requested, requirements: Sequence[str]) -> str:
    """Return the text of a line with these requirements in place of its own. If a shell reads the line, each
    requirement is in quotes; in requirements.txt and in a YAML list, each is on its own line."""
    text, word = line.text, line.word
    entry = None if line.shell or normalised(word).startswith(line.name) else _ENTRY.fullmatch(text)
    if entry:
        return "\n".join(_entry(wanted) for wanted in requirements) + (entry["comment"] or "")
    at = text.find(word) if word else -1
    before, after = (text[:at], text[at + len(word) :]) if at >= 0 else ("", "")
    if requirements and not line.shell and (not before or line.text.startswith("- ")):
        return "\n".join(f"{before}{wanted}{after}".strip() for wanted in requirements)
    mark = next((quote for quote in "'\"" if before.endswith(quote) and after.startswith(quote)), "")
    if line.shell:
        before, after = removesuffix(before, mark), removeprefix(after, mark)
        inner = " ".join(sh_argument(one_line(wanted)) for wanted in requirements)
    else:
        inner = f"{mark}, {mark}".join(requirements) if mark else " ".join(requirements)
    return (before + inner + after).strip()


def locked_again(finding: Finding) -> Finding:
    """Return a finding about a lock file with steps that change the project's requirements instead of the
    lock file, because nobody edits a lock file by hand."""
    steps = tuple(
        manual(
            f"{f'Require {step.edit.new}' if step.edit.new else f'Remove {step.edit.old}'} where the project"
            " states its requirements, and update the lock file",
            step.why,
        )
        if step.edit is not None
        else step
        for step in finding.prescription
    )
    return replace(finding, prescription=steps)


def image_replaced(image: Requested, other: str, name: str, why: str) -> Step:
    """Return the step that replaces the image in a Dockerfile's FROM."""
    text = image.text.replace(image.word, other, 1)
    return replace(
        manual(f"{image.file or name}, line {image.line}: {text}", why), edit=edited(image, text, name)
    )


def in_dockerfile(
    findings: Sequence[Finding], judged: Outcome, line: Requested, wanted: FileContents, name: str
) -> list[Finding]:
    """Return the findings with fixes that change lines of the Dockerfile instead of running commands on this
    machine. A warning without steps, such as that this machine has no GPU, stays without steps."""
    steps = tuple(_lines(judged, line, wanted, name))
    return [
        f
        if f.severity != "error" and not f.prescription
        else replace(
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
    """Return the driver steps that need an administrator: the driver belongs to the host, not to the
    image."""
    return tuple(
        step for step in finding.prescription if step.needs_root and finding.code.startswith("driver")
    )


def _lines(judged: Outcome, line: Requested, wanted: FileContents, name: str) -> Iterator[Step]:
    """Yield the steps that change the Dockerfile's lines to what the first plan needs."""
    python, image = wanted.python, wanted.image
    # the Python comes from the image's system, and another tag of the image does not change it
    fixed = python is not None and not python.word
    plan = next(
        (
            p
            for p in judged.plans
            if p.route in ("pip-and-cuda", "pip-system-cuda", "docker")
            and not (fixed and python and p.python and not together(f"=={p.python}.*", python.specifier))
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
            f"in place of: {image.text}; the new image contains TensorFlow {plan.tensorflow} with its CUDA"
            " and cuDNN",
        )
        yield left_out(line, name, "the image already contains TensorFlow")
        return
    if python is not None and python.word and plan.python and f"=={plan.python}.*" != python.specifier:
        yield image_replaced(
            image,
            image.word.replace(f":{python.word}", f":{plan.python}", 1),
            name,
            f"in place of: {image.text}",
        )
    requirements, others = parted(line, requirements_of(plan), wanted.requirements, name)
    yield from others
    text = with_requirements(line, requirements)
    if text == line.text.replace('"', "'"):
        return
    installation = plan.candidate.installation
    left = replace(installation, links=still_needed(installation.links, wanted))
    links = link_steps(left, ("python3",), "linux")
    if not links or not line.end[0]:
        yield replaced(line, requirements, name)
    elif line.end[0] == line.line:
        step = followed(replace(line, end=(line.line, text)), links, name)
        edit = replace(step.edit, old=line.text) if step.edit is not None else None
        why = f"in place of: {line.text}; without the links, TensorFlow does not find pip's libraries"
        yield replace(step, why=why, edit=edit)
    else:
        yield replaced(line, requirements, name)
        yield followed(line, links, name)


def still_needed(links: Sequence[Link], wanted: FileContents) -> tuple[Link, ...]:
    """Return the links to pip's libraries for whose folders the file neither makes links nor sets a search
    path."""
    done = {f"nvidia/{folder}/lib" for folder in wanted.found}
    return () if "*" in wanted.found else tuple(link for link in links if link.folder not in done)


def requirements_of(plan: Plan) -> list[str]:
    """Return the pip requirements in a plan."""
    return plan.candidate.installation.requirements


def same_with_cuda(
    line: Requested, asked: Sequence[Requested], context: PlanContext, name: str
) -> tuple[Step, ...]:
    """Return the step that changes a line to the newest release of `tensorflow` that the line allows and that
    works on this machine, together with its CUDA libraries, or nothing if no release does. If one of the
    lines `asked` requests `tensorflow` already, the step removes the line."""
    if any(other.name == "tensorflow" != line.name for other in asked):
        return (left_out(line, name, "another line requests tensorflow"),)
    plan = plan_with_cuda(line, context)
    if plan is None:
        return ()
    own, steps = parted(line, requirements_of(plan), asked, name)
    return (replaced(line, own, name), *steps)


def parted(
    line: Requested, requirements: Sequence[str], asked: Sequence[Requested], name: str
) -> tuple[list[str], list[Step]]:
    """Return the requirements that take the place of a line, and the steps for those whose packages other
    lines request: they replace the requirements there, because pip installs one version of a package."""
    here = (line.file, line.line)
    others = {a.name: a for a in asked if a.manager == "pip" and (a.file, a.line) != here}
    beside = {f"{a.name}{a.specifier}" for a in asked if a.manager == "pip" and a.name != line.name}
    own: list[str] = []
    steps: list[Step] = []
    for wanted in requirements:
        named = requirement(wanted, 0)
        other = others.get(named.name) if named is not None else None
        if other is None:
            own += [wanted] if wanted not in beside else []
        elif named is not None and other.specifier != named.specifier:
            steps.append(replaced(other, wanted, name))
    return own, steps


def plan_with_cuda(line: Requested, context: PlanContext) -> Plan | None:
    """Return the plan for the newest release that a line allows and that works on this machine with CUDA
    libraries from pip, or None if no release does."""
    try:
        VersionRequest(line.specifier).allows("2.15.0", context.newest)
    except UsageError:  # the line's version cannot be read
        return None
    wanted = replace(context.version_request, tensorflow=line.specifier)
    judged = make_plans(replace(context, version_request=wanted))
    return next((p for p in judged.plans if p.route == "pip-and-cuda"), None)
