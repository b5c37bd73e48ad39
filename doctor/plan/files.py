"""Judges requirement files for a machine: a finding for each line that cannot work on that machine."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from doctor import lazy
from doctor.compat import Situation
from doctor.compat.situation import first_obstacle
from doctor.errors import UsageError
from doctor.facts import Source
from doctor.findings import SEVERITIES, Finding
from doctor.plan.bases import brings_cuda, libraries_of
from doctor.plan.compose import without_gpu
from doctor.plan.conda_pins import CPU_BUILDS, judged_driver, judged_pins
from doctor.plan.context import PlanContext
from doctor.plan.edits import in_dockerfile, locked_again, plan_with_cuda
from doctor.plan.frameworks import judged_together
from doctor.plan.hidden import hidden
from doctor.plan.images import context_in, judged_image, python_in, python_left_open, request_of
from doctor.plan.misfits import (
    contradiction,
    cpu_build,
    no_python,
    no_release,
    several_packages,
    with_evidence,
)
from doctor.plan.neighbours import examined_names, neighbours
from doctor.plan.plans import Outcome, make_plans
from doctor.plan.requested import FileContents, IncludedFile, Requested, Unread, unread
from doctor.plan.requirements import read
from doctor.plan.resolution import TENSORFLOW, Solver, counts
from doctor.plan.specifiers import together
from doctor.plan.unexamined import not_examined, unchecked_packages, unexamined
from doctor.plan.unlinked import unlinked
from doctor.plan.version_request import VersionRequest
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.ordering import is_final, order
from doctor.values import replace

OF_CPU = ("tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws", "intel-tensorflow",
          "tensorflow-mkl", "tensorflow-eigen")  # fmt: skip
STUB = "2.12.0"
"""The last release of tensorflow-gpu on the package index: a source archive that always fails to install, but
that pip chooses whenever a line allows it."""
_PINNED = lazy.compile(r"==?\s*(\d+\.\d+)(?:\.[\d*]+)*")


def judged_files(
    context: PlanContext,
    texts: Mapping[str, str],
    included: Mapping[str, Sequence[IncludedFile]] | None = None,
) -> Outcome:
    """Judge whether the TensorFlow releases that the files request work on the context's machine. Versions in
    the context's request take precedence over the files.

    texts: the text of each file by name. included: by name, the files that it includes with -r or -c. The
    Python version that a file declares (environment.yml, requires-python, FROM python:3.12) applies to that
    file. Raises UsageError if an option cannot be read.
    """
    findings: list[Finding] = []
    outcome: Outcome | None = None
    for name, wanted in _parts(texts, included or {}):
        inside = context
        if wanted.image is not None:
            inside = context_in(wanted.image, context, name)
            if wanted.python is None and not wanted.brings_python:
                wanted = replace(wanted, python=python_in(wanted.image, inside))
        for group in dict.fromkeys(a.group for a in wanted.requirements if a.group) or ("",):
            # an optional group is installed together with the main lines, but without the other groups
            part = replace(
                wanted, requirements=tuple(a for a in wanted.requirements if a.group in ("", group))
            )
            found, judged = _judged_file(inside, name, part)
            findings += [f for f in found if f not in findings]
            if judged is not None and (outcome is None or (outcome.works and not judged.works)):
                outcome = judged
            if inside.for_cpu or not (found or judged):
                continue
            hiding = [f for f in hidden(wanted, name) if f not in findings]
            findings += hiding
            if judged and wanted.services and not wanted.services[0].gpu and not hiding:
                findings.append(without_gpu(wanted.services[0]))
    if outcome is None:
        outcome = make_plans(context)
        findings = [_not_planned(f) for f in findings]
        if not findings:
            findings.append(
                Finding(
                    "tf-not-installed",
                    "warning",
                    "no line requests TensorFlow",
                    "The plans are for the newest TensorFlow release that needs the fewest changes.",
                    tuple(Source(name, None, "no requirement named tensorflow") for name in texts)
                    or (Source("-"),),
                )
            )
    rest = [f for f in outcome.findings if (f.code, f.title) not in {(g.code, g.title) for g in findings}]
    ordered = sorted((*findings, *rest), key=lambda f: SEVERITIES.index(f.severity))
    return replace(outcome, findings=tuple(ordered))


def _not_planned(finding: Finding) -> Finding:
    """Add to a finding about a line that was not judged that the plans do not consider that line. This
    applies if no other line requests TensorFlow. Other findings are returned unchanged."""
    if finding.code != "undetermined":
        return finding
    more = (
        "The plans do not consider this line: they are for the newest TensorFlow release that needs the"
        " fewest changes."
    )
    return replace(finding, explanation=f"{finding.explanation} {more}")


def _parts(
    texts: Mapping[str, str], included: Mapping[str, Sequence[IncludedFile]]
) -> Iterator[tuple[str, FileContents]]:
    """Yield the requirements of each file together with those of the files that it includes. Each service of
    a compose file is separate."""
    for name, text in texts.items():
        wanted, more = read(text, name), included.get(name, ())
        if not wanted.services:
            yield name, _with_included(wanted, more)
            continue
        texts_of = {posixpath.normpath(file): inner for file, inner, _ in more}
        yield name, replace(wanted, services=())
        for service in (replace(one, file=name) for one in wanted.services):
            path = beside(name, service.dockerfile) if service.dockerfile else ""
            inner = texts_of.get(path)
            if path and inner is None:
                why = f"the file {service.dockerfile}, from which the service is built, does not exist"
                yield name, FileContents(unread=(Unread(service.line, service.text, why),))
            elif inner is not None:
                built = read(inner, path)
                own = [one for one in more if one[0] != path]
                yield (
                    path,
                    replace(_with_included(built, _included_by(built, path, own)), services=(service,)),
                )
            else:
                yield name, FileContents(image=service.image, services=(service,))


def beside(name: str, path: str) -> str:
    """Return a path that a file contains, resolved relative to that file's folder."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name.replace("\\", "/")), path))


def _included_by(built: FileContents, path: str, files: Sequence[IncludedFile]) -> list[IncludedFile]:
    """Return those of `files` that a Dockerfile includes. built: the contents of the Dockerfile."""
    wanted = {beside(path, more.rpartition("/")[2]) for more in (*built.includes, *built.constraints)}
    return [one for one in files if posixpath.normpath(one[0]) in wanted]


def _with_included(wanted: FileContents, included: Sequence[IncludedFile]) -> FileContents:
    """Return a file's requirements together with those of the files that it includes. A constraint alone
    requests nothing."""
    lines, unread_lines, indexes = list(wanted.requirements), list(wanted.unread), list(wanted.indexes)
    asked = {line.name for line in lines}
    for name, text, constrains in included:
        if text is None:
            why = "the image installs from this file, but it is not in the Dockerfile's folder"
            unread_lines.append(Unread(1, "", why, name))
            continue
        more = read(text, name)
        kept = [
            replace(line, file=name) for line in more.requirements if not constrains or line.name in asked
        ]
        lines += kept
        asked |= {line.name for line in kept} if not constrains else set()
        unread_lines += [replace(line, file=name) for line in more.unread]
        indexes += [replace(line, file=name) for line in more.indexes]
    return replace(wanted, requirements=tuple(lines), unread=tuple(unread_lines), indexes=tuple(indexes))


def _judged_file(
    context: PlanContext, name: str, wanted: FileContents
) -> tuple[list[Finding], Outcome | None]:
    """Return the findings about one file or service, and the plans for the TensorFlow that it requests, or
    None if it requests none."""
    asked = [a for a in wanted.requirements if counts(a.marker, context)]
    cpu = [a for a in asked if a.name in OF_CPU or (a.name in TENSORFLOW and CPU_BUILDS.match(a.build))]
    findings = [] if context.version_request.cpu else [cpu_build(a, asked, context, name) for a in cpu]
    several = [a for a in asked if a.name in (*TENSORFLOW, *OF_CPU)]
    if len({a.name for a in several}) > 1 and any(a.manager != "conda" for a in asked):
        findings.append(several_packages(several, name))
    outcome: Outcome | None = None
    solver = Solver(context)
    unread_lines = unexamined(asked, wanted, solver)
    if context.version_request.cpu:
        unread_lines += [a.unread(f"the tables do not contain the CPU builds of {a.name}") for a in cpu]
    of_pip = [a for a in several if a.manager == "pip" and not a.address]
    for package in TENSORFLOW:
        lines = [a for a in of_pip if a.name == package]
        if not lines or context.version_request.tensorflow:
            continue
        line = _combined(lines)
        try:
            if (
                len(lines) > 1
                and not _releases(context, line)
                and all(_releases(context, one) for one in lines)
            ):
                findings.append(contradiction(lines, name))
                line = lines[0]
            found, judged, more = _judged_line(line, asked, wanted, context, name)
        except UsageError:  # the line's version cannot be read
            why = "builds with a local version (+...) are not in the tables" if "+" in line.specifier else ""
            unread_lines.append(replace(unread(line.line, line.text, why), file=line.file))
            continue
        findings += found
        unread_lines += more
        outcome = outcome or judged
    if not of_pip and wanted.image is not None and not context.version_request.tensorflow:
        found, more = judged_image(wanted.image, context, name)
        version_request = request_of(wanted.image, context, name)
        findings += found
        unread_lines += more
        if version_request is not None:
            outcome = replace(make_plans(replace(context, version_request=version_request)), findings=())
    if not context.version_request.cpu and any(
        a.manager == "conda" and a.name in TENSORFLOW for a in several
    ):
        findings += judged_driver(asked, context, name)
    findings += not_examined(list(dict.fromkeys(unread_lines)), name)
    if outcome is not None and not wanted.locked:
        findings += unchecked_packages(asked, wanted, examined_names(outcome, asked, solver), context, name)
    if wanted.locked:
        findings = [locked_again(finding) for finding in findings]
        outcome = outcome and replace(
            outcome, findings=tuple(locked_again(finding) for finding in outcome.findings)
        )
    return findings, outcome


def _judged_line(
    line: Requested, asked: list[Requested], wanted: FileContents, context: PlanContext, name: str
) -> tuple[list[Finding], Outcome | None, list[Unread]]:
    """Return the findings about a line that requests TensorFlow, the plans for that line, and the lines that
    could not be judged with it."""
    releases = _releases(context, line)
    if not releases or (
        line.name == "tensorflow-gpu" and VersionRequest(line.specifier).allows(STUB, context.newest)
    ):
        plan = plan_with_cuda(line, context) if line.name == "tensorflow-gpu" else None
        found = neighbours(plan.candidate.build, line, asked, context, name) if plan else []
        fixable = [f for f in found if any(step.edit for step in f.prescription)]
        return [no_release(line, asked, name, context), *fixable], None, []
    python = _python(wanted, context, releases)
    fits = python != ""
    if not fits:  # the plans are for other releases, on a Python that the file allows
        python = _python(wanted, context, context.releases) or None
    version_request = replace(
        context.version_request,
        tensorflow=line.specifier,
        python=python or context.version_request.python,
        source=line.file or name,
        line=line.line,
        text=line.text,
        python_source=(
            Source(name, wanted.python.line, wanted.python.text) if python and wanted.python else None
        ),
        pythons=_pythons(wanted, context),
    )
    if not fits:
        misfit = no_python(line, releases, wanted, name)
        plans = make_plans(replace(context, version_request=version_request))
        return [misfit], replace(plans, findings=(misfit,)), []
    solver = Solver(replace(context, version_request=version_request))
    left = {(u.file, u.line, u.text) for u in unexamined(asked, wanted, solver)}
    known = [a for a in asked if (a.file, a.line, a.text) not in left]
    combination = judged_together(line, known, solver, name) if context.platform == "linux-x86_64" else None
    if combination is not None and combination.excluded:
        rest = [line.specifier] if line.specifier else []
        version_request = replace(
            version_request,
            tensorflow=",".join((*rest, *(f"!={version}" for version in combination.excluded))),
        )
    inside = replace(context, version_request=version_request)
    judged = make_plans(inside)
    # faults of the extra and-cuda do not matter to a line whose CUDA does not come from the extra
    beside = "and-cuda" not in line.extras and brings_cuda(asked, wanted)
    judged = replace(
        judged, findings=tuple(f for f in judged.findings if not (beside and f.code == "known-release-bug"))
    )
    findings = [with_evidence(f, line.file or name, line) for f in judged.findings if f.severity == "error"]
    taken = releases[-1] if judged.works is False else _planned_release(judged, releases)
    findings += _broken_extra(line, releases, inside, name)
    findings += neighbours(taken, line, asked, inside, name)
    unread_lines = python_left_open(wanted, releases, context)
    if not context.version_request.cpu:  # where CUDA comes from, and in which version
        pins, more = judged_pins(taken, line, asked, context, name)
        unread_lines += more
        findings += [*pins, *libraries_of(line, taken, asked, wanted, context, line.file or name)]
    if combination is not None:
        findings += combination.findings
        unread_lines += combination.unread
    if wanted.image is not None:
        findings = in_dockerfile(findings, judged, line, wanted, name)
        judged = replace(judged, findings=tuple(in_dockerfile(judged.findings, judged, line, wanted, name)))
    if not context.version_request.cpu:
        left_over = [r for r in releases if combination is None or r.version not in combination.excluded]
        findings += unlinked(line, left_over, asked, wanted, inside, name)
    return findings, judged, unread_lines


def _broken_extra(
    line: Requested, releases: Sequence[TensorFlowRelease], context: PlanContext, name: str
) -> list[Finding]:
    """Return the finding that pip cannot install any of the releases with the extra that a line requests. It
    is made only if the plans are for the CPU, because plans for a GPU report this themselves."""
    if "and-cuda" not in line.extras or not context.for_cpu:
        return []
    situation = Situation(platform=context.platform, python=context.python, route="pip-and-cuda")
    traps = [first_obstacle(r, situation, context.tables, "extra") for r in releases]
    trap = traps[-1]
    if trap is None or None in traps:
        return []
    return [
        Finding(
            "known-release-bug",
            "error",
            trap.title,
            f"{trap.reason[0].upper()}{trap.reason[1:]}. Fix: {trap.cure}.",
            (line.source(name),),
            (trap.ref,),
        )
    ]


def _combined(lines: Sequence[Requested]) -> Requested:
    """Combine several lines for one package into one requirement, as pip does: with all bounds and all
    extras."""
    return replace(
        lines[0],
        specifier=",".join(dict.fromkeys(a.specifier for a in lines if a.specifier)),
        extras=tuple(dict.fromkeys(extra for a in lines for extra in a.extras)),
    )


def _python(wanted: FileContents, context: PlanContext, releases: Sequence[TensorFlowRelease]) -> str | None:
    """Return the Python version that a file requests: "3.10" for ==3.10.*; for a range that excludes the
    installed Python, the newest version in the range that the releases support. None if the file requests no
    version or the installed one fits; "" if no version fits."""
    if wanted.python is None or context.version_request.python:
        return None
    exact = _PINNED.fullmatch(wanted.python.specifier)
    if exact:
        return exact[1]
    specifier = wanted.python.specifier
    if context.python is not None and together(specifier, f"=={context.python}.*"):
        return None
    fit = {python for build in releases for python in build.pythons if together(specifier, f"=={python}.*")}
    return max(fit, key=dotted, default="")


def _pythons(wanted: FileContents, context: PlanContext) -> str:
    """Return the range of Python versions that a file requests, or "" if it requests no version, or only a
    single one, which a plan may change."""
    if wanted.python is None or context.version_request.python:
        return ""
    return "" if _PINNED.fullmatch(wanted.python.specifier) else wanted.python.specifier


def _releases(context: PlanContext, line: Requested) -> list[TensorFlowRelease]:
    """Return the releases of the line's package for this platform that the line allows, oldest first."""
    version_request, newest = VersionRequest(line.specifier), context.newest
    found = [
        r
        for r in context.releases
        if r.package == line.name and not r.yanked and version_request.allows(r.version, newest)
    ]
    return sorted(
        (r for r in found if is_final(r.version) or r.version in line.specifier),
        key=lambda r: order(r.version),
    )


def _planned_release(judged: Outcome, releases: list[TensorFlowRelease]) -> TensorFlowRelease:
    """Return the release in the first plan."""
    version = judged.plans[0].tensorflow if judged.plans else releases[-1].version
    return next((r for r in releases if r.version == version), releases[-1])
