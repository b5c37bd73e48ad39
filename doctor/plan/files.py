"""Requirement files against a machine: a finding for each line that cannot work there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from doctor.facts import Source
from doctor.findings import Finding, shell
from doctor.plan.bases import brings_cuda, libraries_of
from doctor.plan.ground import Ground
from doctor.plan.neighbours import neighbours
from doctor.plan.plans import Outcome, make_plans
from doctor.plan.requirements import Asked, Wanted, read
from doctor.plan.specifiers import together
from doctor.plan.wish import Wish
from doctor.remedies.shells import argument
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.ordering import is_final, order

TENSORFLOW = ("tensorflow", "tensorflow-gpu")
OF_CPU = ("tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws", "intel-tensorflow")
STUB = "2.12.0"
"""The last tensorflow-gpu on the package index, a source archive that only fails: pip takes it wherever it is allowed."""


def judged_files(
    ground: Ground, texts: Mapping[str, str], included: Mapping[str, Sequence[tuple[str, str, bool]]] | None = None
) -> Outcome:
    """The outcome for the TensorFlow that the files ask for, on a ground; the options win over the files.

    texts: file name to text. included: what each of them takes in with -r or -c: name, text, and whether it constrains
    only. Each file's Python (environment.yml, requires-python, FROM python:3.12) counts for it. Raises UsageError where
    an option cannot be read.
    """
    findings: list[Finding] = []
    outcome: Outcome | None = None
    for name, text in texts.items():
        wanted = _whole(read(text, name), (included or {}).get(name, ()))
        findings += [_unread(line, name) for line in wanted.unread]
        for group in dict.fromkeys(a.group for a in wanted.requirements if a.group) or ("",):
            # an optional group is installed beside the main lines, and without the other groups
            part = replace(wanted, requirements=tuple(a for a in wanted.requirements if a.group in ("", group)))
            found, judged = _file(ground, name, part)
            findings += [f for f in found if f not in findings]
            if judged is not None and (outcome is None or (outcome.works and not judged.works)):
                outcome = judged
    if outcome is None:
        outcome = make_plans(ground)
        if not findings:
            findings.append(
                Finding(
                    "tf-not-installed",
                    "warning",
                    "no line asks for TensorFlow",
                    "The plans below are for the newest TensorFlow that needs the fewest changes.",
                    tuple(Source(name, None, "no requirement named tensorflow") for name in texts) or (Source("-"),),
                )
            )
    rest = [f for f in outcome.findings if (f.code, f.title) not in {(g.code, g.title) for g in findings}]
    ordered = sorted((*findings, *rest), key=lambda f: ("error", "warning", "info").index(f.severity))
    return replace(outcome, findings=tuple(ordered))


def _whole(wanted: Wanted, included: Sequence[tuple[str, str, bool]]) -> Wanted:
    """A file with what it takes in. A constraint asks for nothing by itself."""
    lines, unread = list(wanted.requirements), list(wanted.unread)
    for name, text, constrains in included:
        more = read(text, name)
        asked = {line.name for line in lines}
        lines += [
            replace(line, file=name)
            for line in more.requirements
            if not constrains or line.name in asked or line.name not in (*TENSORFLOW, *OF_CPU)
        ]
        unread += [replace(line, file=name) for line in more.unread]
    return replace(wanted, requirements=tuple(lines), unread=tuple(unread))


def _file(ground: Ground, name: str, wanted: Wanted) -> tuple[list[Finding], Outcome | None]:
    asked = [a for a in wanted.requirements if _counts(a, ground)]
    findings = [_cpu(a, name) for a in asked if a.name in OF_CPU]
    several = [a for a in asked if a.name in (*TENSORFLOW, *OF_CPU)]
    if len({a.name for a in several}) > 1 and not _conda_only(asked):
        findings.append(_several(several, name))
    outcome: Outcome | None = None
    for package in TENSORFLOW:
        lines = [a for a in several if a.name == package and a.manager != "conda"]  # conda's builds are not in the tables
        if not lines or ground.wish.tensorflow:
            continue
        line = _one(lines)
        if len(lines) > 1 and not _releases(ground, line) and all(_releases(ground, one) for one in lines):
            findings.append(_exclude(lines, name))
            line = lines[0]
        found, judged = _line(line, asked, wanted, ground, name)
        findings += found
        outcome = outcome or judged
    return findings, outcome


def _line(
    line: Asked, asked: list[Asked], wanted: Wanted, ground: Ground, name: str
) -> tuple[list[Finding], Outcome | None]:
    """What is wrong with a line that asks for TensorFlow, and the plans for it."""
    releases = _releases(ground, line)
    if not releases or (line.name == "tensorflow-gpu" and Wish(line.specifier).allows(STUB, ground.newest)):
        return [_nothing(line, name, ground)], None
    python = _python(wanted, ground, releases)
    if python is not None and not python:
        return [_no_python(line, releases, wanted, name)], None
    wish = Wish(
        line.specifier,
        python or ground.wish.python,
        ground.wish.cuda,
        ground.wish.cudnn,
        line.file or name,
        line.line,
        line.text,
        Source(name, wanted.python.line, wanted.python.text) if python and wanted.python else None,
    )
    judged = make_plans(replace_wish(ground, wish))
    # what is wrong with the extra is nothing to a line that takes its CUDA from elsewhere
    beside = "and-cuda" not in line.extras and brings_cuda(asked, wanted)
    judged = replace(judged, findings=tuple(f for f in judged.findings if not (beside and f.code == "known-release-bug")))
    findings = [_at(f, line.file or name, line) for f in judged.findings if f.severity == "error"]
    taken = releases[-1] if judged.works is False else _taken(judged, releases)
    findings += neighbours(taken, line, asked, replace_wish(ground, wish), name)
    findings += libraries_of(line, taken, asked, wanted, ground, line.file or name)
    return findings, judged


def _one(lines: Sequence[Asked]) -> Asked:
    """Several lines for one package as pip takes them: all bounds and all extras together."""
    return replace(
        lines[0],
        specifier=",".join(dict.fromkeys(a.specifier for a in lines if a.specifier)),
        extras=tuple(dict.fromkeys(extra for a in lines for extra in a.extras)),
    )


def replace_wish(ground: Ground, wish: Wish) -> Ground:
    """The same machine with another wish."""
    return Ground(ground.facts, ground.tables, wish)


def _conda_only(asked: list[Asked]) -> bool:
    return all(a.manager == "conda" for a in asked)


def _python(wanted: Wanted, ground: Ground, releases: Sequence[TensorFlowRelease]) -> str | None:
    """The Python that a file asks for: "3.10" of ==3.10.*; of a range the newest that the releases take, where the one at
    hand is not in it. None where nothing is asked for or the one at hand will do, "" where no Python does."""
    if wanted.python is None or ground.wish.python:
        return None
    exact = re.fullmatch(r"==?\s*(\d+\.\d+)(?:\.[\d*]+)*", wanted.python.specifier)
    if exact:
        return exact[1]
    specifier = wanted.python.specifier
    if ground.python is not None and together(specifier, f"=={ground.python}.*"):
        return None
    fit = {python for build in releases for python in build.pythons if together(specifier, f"=={python}.*")}
    return max(fit, key=dotted, default="")


def _counts(asked: Asked, ground: Ground) -> bool:
    """Whether a marker lets the line count here; a marker on the Python counts where no Python is known."""
    if not asked.marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    if ground.python is None and "python" in asked.marker:
        return True
    system = {"windows": "win32", "macos": "darwin"}.get(ground.kind, "linux")
    here = {
        "sys_platform": system,
        "platform_system": {"win32": "Windows", "darwin": "Darwin"}.get(system, "Linux"),
        "os_name": "nt" if system == "win32" else "posix",
        "platform_machine": {"windows-amd64": "AMD64"}.get(ground.platform, ground.platform.partition("-")[2]),
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "python_version": ground.python or "",
        "python_full_version": f"{ground.python}.0" if ground.python else "",
        "extra": "",
    }
    try:
        return Marker(asked.marker).evaluate(here)
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
        return True


def _releases(ground: Ground, line: Asked) -> list[TensorFlowRelease]:
    """The releases of the very package that the line allows, on this platform, oldest first."""
    wish, newest = Wish(line.specifier), ground.newest
    found = [r for r in ground.releases if r.package == line.name and not r.yanked and wish.allows(r.version, newest)]
    return sorted(
        (r for r in found if is_final(r.version) or r.version in line.specifier), key=lambda r: order(r.version)
    )


def _taken(judged: Outcome, releases: list[TensorFlowRelease]) -> TensorFlowRelease:
    """The release that the first plan takes."""
    version = judged.plans[0].tensorflow if judged.plans else releases[-1].version
    return next((r for r in releases if r.version == version), releases[-1])


def _at(finding: Finding, name: str, line: Asked) -> Finding:
    """The finding with the line of the file as its first evidence."""
    here = Source(name, line.line, line.text)
    others = tuple(s for s in finding.evidence if s != here)
    return replace(finding, evidence=(here, *others))


def _nothing(line: Asked, name: str, ground: Ground) -> Finding:
    here = Source(line.file or name, line.line, line.text)
    if line.name == "tensorflow-gpu":
        trap = next((t for t in ground.tables.traps() if t.name == "tensorflow-gpu-2.12"), None)
        return Finding(
            "tf-gpu-package-removed",
            "error",
            "tensorflow-gpu ended with 2.11",
            (trap.reason if trap else "tensorflow-gpu ended with 2.11.0")
            + ". The package tensorflow holds the GPU build since 2.1.",
            (here,),
            (trap.ref,) if trap else (),
            (
                shell(
                    f"pip install {argument(f'tensorflow[and-cuda]{line.specifier}', ground.kind)}",
                    "the same release under its name of today",
                ),
            ),
        )
    return Finding(
        "tf-no-wheel",
        "error",
        f"no {line.name} {line.specifier} for {ground.platform}",
        "The package index has no file of such a release for this platform.",
        (here,),
    )


def _cpu(line: Asked, name: str) -> Finding:
    return Finding(
        "tf-cpu-only",
        "error",
        f"{line.name} has no CUDA in it",
        f"{line.name} is a build for the CPU: no GPU is used, whatever else is installed.",
        (Source(line.file or name, line.line, line.text),),
    )


def _unread(line: Asked, name: str) -> Finding:
    return Finding(
        "undetermined",
        "warning",
        "a line about TensorFlow that pip cannot read",
        "A requirement is a name, extras in brackets, and versions: tensorflow[and-cuda]>=2.16,<2.21.",
        (Source(line.file or name, line.line, line.text),),
    )


def _no_python(line: Asked, releases: Sequence[TensorFlowRelease], wanted: Wanted, name: str) -> Finding:
    assert wanted.python is not None
    takes = sorted({python for build in releases for python in build.pythons}, key=dotted)
    return Finding(
        "tf-no-wheel",
        "error",
        f"no Python that the file allows has a wheel of {line.name} {line.specifier}",
        f"The file allows Python {wanted.python.specifier}; {line.name} {line.specifier} has wheels for Python {', '.join(takes)} only.",
        (Source(line.file or name, line.line, line.text), Source(name, wanted.python.line, wanted.python.text)),
        (releases[-1].ref,),
    )


def _exclude(lines: Sequence[Asked], name: str) -> Finding:
    return Finding(
        "python-dependency-conflict",
        "error",
        f"the lines for {lines[0].name} exclude each other",
        f"No release is {' and '.join(a.specifier for a in lines)}: pip refuses them together. What follows is for the first of them.",
        tuple(Source(a.file or name, a.line, a.text) for a in lines),
    )


def _several(lines: list[Asked], name: str) -> Finding:
    return Finding(
        "tf-conflicting-packages",
        "error",
        "two packages that are both TensorFlow",
        f"{' and '.join(dict.fromkeys(a.name for a in lines))} install into one folder: the one that comes last overwrites "
        "parts of the other. Keep one line.",
        tuple(Source(a.file or name, a.line, a.text) for a in lines),
    )
