"""Requirement files against a machine: a finding for each line that cannot work there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from doctor.compat import runs_with_cuda, runs_with_cudnn
from doctor.facts import Source
from doctor.findings import Finding, shell
from doctor.plan.bases import libraries_of
from doctor.plan.ground import Ground
from doctor.plan.plans import Outcome, make_plans
from doctor.plan.requirements import Asked, Wanted, read, requirement
from doctor.plan.wish import Wish
from doctor.remedies.shells import argument
from doctor.tables import TensorFlowRelease
from doctor.tables.ordering import is_final, order

TENSORFLOW = ("tensorflow", "tensorflow-gpu")
OF_CPU = {
    "tensorflow-cpu": "",
    "tensorflow-intel": "",
    "tensorflow-macos": "",
    "tensorflow-cpu-aws": "",
    "intel-tensorflow": "",
}


def judged_files(ground: Ground, texts: Mapping[str, str]) -> Outcome:
    """The outcome for the TensorFlow that the files ask for, on a ground; the options win over the files.

    texts: file name to text. Each file's Python (environment.yml, requires-python, FROM python:3.12) counts for it.
    Raises UsageError where an option cannot be read.
    """
    findings: list[Finding] = []
    outcome: Outcome | None = None
    for name, text in texts.items():
        wanted = read(text, name)
        found, judged = _file(ground, name, wanted)
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


def _file(ground: Ground, name: str, wanted: Wanted) -> tuple[list[Finding], Outcome | None]:
    asked = [a for a in wanted.requirements if not _elsewhere(a, ground)]
    lines = [a for a in asked if a.name in TENSORFLOW]
    findings = [_cpu(a, name) for a in asked if a.name in OF_CPU]
    if len({a.name for a in asked if a.name in (*TENSORFLOW, *OF_CPU)}) > 1 and not _conda_only(asked):
        findings.append(_several([a for a in asked if a.name in (*TENSORFLOW, *OF_CPU)], name))
    python = _python(wanted, ground)
    outcome: Outcome | None = None
    for line in lines:
        if line.manager == "conda":
            continue  # conda's builds are not those of the tables; its CUDA comes along
        if ground.wish.tensorflow:
            break
        wish = Wish(
            line.specifier or ("<2.12" if line.name == "tensorflow-gpu" else ""),
            python or ground.wish.python,
            ground.wish.cuda,
            ground.wish.cudnn,
            name,
            line.line,
            line.text,
            Source(name, wanted.python.line, wanted.python.text) if python and wanted.python else None,
        )
        releases = _releases(ground, line)
        if not releases:
            findings.append(_nothing(line, name, ground))
            continue
        judged = make_plans(replace_wish(ground, wish))
        findings += [_at(f, name, line) for f in judged.findings if f.severity == "error"]
        findings += _neighbours(
            releases[-1] if judged.works is False else _taken(judged, releases), line, asked, ground, name
        )
        taken = releases[-1] if judged.works is False else _taken(judged, releases)
        findings += libraries_of(line, taken, asked, wanted, ground, name)
        outcome = outcome or judged
    return findings, outcome


def replace_wish(ground: Ground, wish: Wish) -> Ground:
    """The same machine with another wish."""
    return Ground(ground.facts, ground.tables, wish)


def _conda_only(asked: list[Asked]) -> bool:
    return all(a.manager == "conda" for a in asked)


def _python(wanted: Wanted, ground: Ground) -> str | None:
    """The Python that a file fixes: "3.10" of ==3.10.*; a range only where the machine's own is not in it."""
    if wanted.python is None or ground.wish.python:
        return None
    exact = re.fullmatch(r"==?\s*(\d+\.\d+)(?:\.[\d*]+)*", wanted.python.specifier)
    return exact[1] if exact else None


def _elsewhere(asked: Asked, ground: Ground) -> bool:
    """Whether a marker says plainly that the line is for another platform; anything else counts."""
    system = {"linux": "linux", "wsl": "linux", "windows": "win32", "macos": "darwin"}[ground.kind]
    marker = asked.marker.replace('"', "'").replace(" ", "")
    same = re.search(r"(?:sys_platform|platform_system)(==|!=)'(\w+)'", marker)
    if same is None or " or " in asked.marker:
        return False
    named = {"windows": "win32", "linux": "linux", "darwin": "darwin"}.get(same[2].lower(), same[2])
    return (named == system) is (same[1] == "!=")


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
    here = Source(name, line.line, line.text)
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
        (Source(name, line.line, line.text),),
    )


def _several(lines: list[Asked], name: str) -> Finding:
    return Finding(
        "tf-conflicting-packages",
        "error",
        "two packages that are both TensorFlow",
        f"{' and '.join(dict.fromkeys(a.name for a in lines))} install into one folder: the one that comes last overwrites "
        "parts of the other. Keep one line.",
        tuple(Source(name, a.line, a.text) for a in lines),
    )


def _neighbours(build: TensorFlowRelease, line: Asked, asked: list[Asked], ground: Ground, name: str) -> list[Finding]:
    """Other lines that this TensorFlow cannot live with: its own requirements, and CUDA or cuDNN beside it."""
    found: list[Finding] = []
    own: dict[str, str] = {}
    for text in build.requires:
        stated = requirement(text, 0)
        if stated is not None and not stated.marker:
            own[stated.name] = stated.specifier
    if "and-cuda" in line.extras:
        own |= {k: v.partition(";")[0] for k, v in build.extras.get("and-cuda", {}).items()}
    for other in asked:
        evidence = (Source(name, other.line, other.text), Source(name, line.line, line.text))
        exact = re.fullmatch(r"={2,3}([\d.]+?)(?:\.\*)?", other.specifier)
        if other.name in own and exact and not _inside(exact[1], own[other.name], "*" in other.specifier):
            code = "cudnn-version-mismatch" if "cudnn" in other.name else (
                "cuda-version-mismatch" if other.name.startswith("nvidia-") else "python-dependency-conflict")  # fmt: skip
            found.append(
                Finding(
                    code,
                    "error",
                    f"{build.requirement} needs {other.name}{own[other.name]}",
                    f"The line asks for {other.name} {other.specifier}; {build.requirement} states {other.name}{own[other.name]} in its "
                    "METADATA. pip refuses both together.",
                    evidence,
                    (build.ref,),
                    (
                        shell(
                            f"pip install {argument(f'{other.name}{own[other.name]}', ground.kind)}",
                            "what this TensorFlow takes",
                        ),
                    ),
                )
            )
        elif exact and other.name in ("cudatoolkit", "cuda-toolkit", "cuda"):
            answer = runs_with_cuda(build, exact[1], ground.tables)
            if answer.verdict == "no":
                found.append(Finding("cuda-version-mismatch", "error", f"{build.requirement} does not open CUDA {exact[1]}",
                                     answer.reason + ".", evidence, answer.refs))  # fmt: skip
        elif exact and other.name == "cudnn":
            answer = runs_with_cudnn(build, exact[1], ground.tables, ground.capabilities)
            if answer.verdict == "no":
                found.append(Finding("cudnn-version-mismatch", "error", f"{build.requirement} cannot use cuDNN {exact[1]}",
                                     answer.reason + ".", evidence, answer.refs))  # fmt: skip
    return found


def _inside(version: str, specifier: str, wild: bool) -> bool:
    """Whether a pinned version lies in a stated range; a wildcard pin counts where any patch of it could."""
    if not specifier:
        return True
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(re.sub(r"(?<=\d)dev\b", ".dev0", specifier))
    except InvalidSpecifier:
        return True
    trials = [version] if not wild else [version, f"{version}.0", f"{version}.9999"]
    return any(allowed.contains(trial, prereleases=True) for trial in trials)
