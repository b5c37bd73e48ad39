"""Makes the findings about lines of a requirement file that cannot work."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts import Source
from doctor.findings import Finding
from doctor.plan.context import PlanContext
from doctor.plan.edits import same_with_cuda
from doctor.plan.requested import FileContents, Requested
from doctor.plan.version_request import exact
from doctor.tables import TensorFlowRelease, dotted
from doctor.values import replace


def with_evidence(finding: Finding, name: str, line: Requested) -> Finding:
    """Return the finding with the file's line as its first evidence."""
    here = Source(name, line.line, line.text)
    others = tuple(s for s in finding.evidence if s != here)
    return replace(finding, evidence=(here, *others))


def no_release(line: Requested, asked: Sequence[Requested], name: str, context: PlanContext) -> Finding:
    """Make the finding that no release on this platform fits the line. It says so for tensorflow-gpu, which
    has had no release since 2.11. asked: all lines that count on the machine."""
    here = line.source(name)
    if line.name == "tensorflow-gpu":
        trap = next((t for t in context.tables.traps() if t.name == "tensorflow-gpu-2.12"), None)
        return Finding(
            "tf-gpu-package-removed",
            "error",
            "tensorflow-gpu ended with 2.11",
            (trap.reason if trap else "tensorflow-gpu ended with 2.11.0")
            + ". Since 2.1, the package tensorflow itself contains the GPU build.",
            (here,),
            (trap.ref,) if trap else (),
            same_with_cuda(line, asked, context, name),
        )
    return Finding(
        "tf-no-wheel",
        "error",
        f"no {_shown(line)} for {context.platform}",
        "The package index has no file for this platform from any release that the line allows.",
        (here,),
    )


def _shown(line: Requested) -> str:
    return f"{line.name} {exact(line.specifier)}".strip()


def cpu_build(line: Requested, asked: Sequence[Requested], context: PlanContext, name: str) -> Finding:
    """Make the finding that the line requests a build for the CPU. asked: all lines that count on the
    machine."""
    return Finding(
        "tf-cpu-only",
        "error",
        f"{line.name} is built without CUDA",
        f"{line.name} is a build for the CPU: it uses no GPU, whatever else is installed.",
        (line.source(name),),
        (),
        same_with_cuda(line, asked, context, name) if line.manager == "pip" else (),
    )


def no_python(
    line: Requested, releases: Sequence[TensorFlowRelease], wanted: FileContents, name: str
) -> Finding:
    """Make the finding that the file's Python versions and those of the releases for its line exclude each
    other."""
    assert wanted.python is not None
    takes = sorted({python for build in releases for python in build.pythons}, key=dotted)
    return Finding(
        "tf-no-wheel",
        "error",
        f"{_shown(line)} has no wheel for any Python that the file allows",
        f"The file allows Python {wanted.python.specifier}; {_shown(line)} has wheels only for Python"
        f" {', '.join(takes)}.",
        (
            line.source(name),
            Source(name, wanted.python.line, wanted.python.text),
        ),
        (releases[-1].ref,),
    )


def contradiction(lines: Sequence[Requested], name: str) -> Finding:
    """Make the finding that no release fits all lines for one package."""
    return Finding(
        "python-dependency-conflict",
        "error",
        f"the lines for {lines[0].name} exclude each other",
        f"No release fits {' and '.join(a.specifier for a in lines)}, so pip cannot install these lines"
        " together. The other findings and the plans consider only the first of these lines.",
        tuple(a.source(name) for a in lines),
    )


def several_packages(lines: Sequence[Requested], name: str) -> Finding:
    """Make the finding that lines request several distributions of TensorFlow, such as tensorflow and
    tensorflow-cpu."""
    return Finding(
        "tf-conflicting-packages",
        "error",
        "two of the requested packages both contain TensorFlow",
        f"{' and '.join(dict.fromkeys(a.name for a in lines))} install into the same folder: the package that"
        " is installed last overwrites files of the other. Keep only one of these lines.",
        tuple(a.source(name) for a in lines),
    )
