"""Judges whether pip can install TensorFlow together with the torch, JAX, CuPy and ONNX Runtime that a file
requests.

Each of these frameworks requires its own versions of NVIDIA's packages, often exactly one version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from doctor.findings import Finding, Step, manual
from doctor.plan.edits import replaced
from doctor.plan.requested import Requested, Unread
from doctor.plan.resolution import EXTRA, Need, Solution, Solver, TooManyTriesError, pinned
from doctor.plan.specifiers import together
from doctor.tables import TensorFlowRelease
from doctor.values import dataclass, replace

LISTED = 4
"""The maximum number of conflicting requirements that an explanation shows."""


@dataclass(frozen=True)
class Together:
    """The judgement on all lines together. excluded: TensorFlow releases that TensorFlow's own line allows
    but the other lines rule out; unread: lines about which the tables contain too little."""

    findings: tuple[Finding, ...] = ()
    excluded: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()


def judged_together(tensorflow: Requested, asked: Sequence[Requested], solver: Solver, name: str) -> Together:
    """Judge the line that requests TensorFlow together with the other lines, as pip would install them in one
    environment. name: the file, unless a line has its own file."""
    others = [a for a in asked if a.manager != "conda" and not a.address and a.name != tensorflow.name]
    frameworks = [a for a in others if a.name in solver.frameworks]
    plain = [a for a in others if a.name not in solver.frameworks and a.specifier]
    try:
        unread = _unknown(frameworks, solver)
        left = {(u.file, u.line) for u in unread}
        known = [a for a in frameworks if (a.file, a.line) not in left]
        clashes = list(_clashes(tensorflow, known, plain, solver, name))
        excluded = _excluded(tensorflow, [*plain, *([] if clashes else known)], solver)
        if not clashes and known:
            clashes = list(_overwritten(tensorflow, known, plain, solver, name))
    except TooManyTriesError:
        why = (
            "the lines allow more combinations of releases than this tool tries; with --resolve, the"
            " installer tries them"
        )
        return Together(unread=(tensorflow.unread(why),))
    return Together(tuple(clashes), excluded, unread)


def _unknown(frameworks: Sequence[Requested], solver: Solver) -> tuple[Unread, ...]:
    """Return the frameworks' lines that cannot be judged because the tables do not contain a release that
    they require."""
    found = []
    for line in frameworks:
        alone = solver.solve([line])
        missing = alone.unknown if alone else ()
        if missing:
            wanted = ", ".join(f"{need.name}{need.specifier}" for need in missing)
            found.append(line.unread(f"the tables do not contain the requirements of {wanted}"))
    return tuple(found)


def _clashes(
    tensorflow: Requested,
    frameworks: Sequence[Requested],
    plain: Sequence[Requested],
    solver: Solver,
    name: str,
) -> Iterator[Finding]:
    """Yield the findings about lines that pip cannot install together."""
    if not frameworks or solver.solve([tensorflow, *frameworks, *plain]) is not None:
        return
    found = False
    for one, other in combinations([tensorflow, *frameworks], 2):
        first, second = solver.solve([one]), solver.solve([other])
        if first is not None and second is not None and solver.solve([one, other]) is None:
            found = True
            yield _excluding(one, other, first, second, solver, name)
    for line in frameworks:
        alone = solver.solve([line])
        if alone is None:
            found = True
            yield _no_release(line, solver, name)
            continue
        for bound in plain:
            if solver.solve([line, bound]) is None:
                found = True
                yield _bounded(line, bound, alone, name)
    if not found and solver.solve([tensorflow, *plain]) is not None:
        lines = [tensorflow, *frameworks, *(a for a in plain if a.name.startswith("nvidia-"))]
        yield Finding(
            "python-dependency-conflict",
            "error",
            f"no releases of {_listed([tensorflow, *frameworks])} work together",
            "pip can install any two of these packages together, but not all of them: no set of releases fits"
            " every line. Keep the packages in separate environments.",
            tuple(a.source(name) for a in lines),
        )


def _excluding(
    one: Requested, other: Requested, first: Solution, second: Solution, solver: Solver, name: str
) -> Finding:
    """Make the finding that two lines exclude each other. first, second: a solution for each line alone."""
    pairs = list(_pairs(first, second))
    words = "; ".join(f"{_says(a, one)}, {_says(b, other)}" for a, b in pairs[:LISTED])
    more = f", and {len(pairs) - LISTED} more" if len(pairs) > LISTED else ""
    rows = dict.fromkeys(
        need.row.ref for pair in pairs[:LISTED] for need in pair if need.row is not None
    ) or dict.fromkeys(row.ref for found in (first, second) for row in found.releases.values())
    return Finding(
        "python-dependency-conflict",
        "error",
        f"{_words(one)} and {_words(other)} cannot be installed together",
        f"pip does not install both in one environment{': ' + words if words else ''}{more}.",
        (one.source(name), other.source(name)),
        tuple(rows),
        tuple(_cures(one, other, solver, name)),
    )


def _pairs(first: Solution, second: Solution) -> Iterator[tuple[Need, Need]]:
    """Yield pairs of requirements for the same package that no version fulfils together."""
    for package, needs in first.needs.items():
        for a in needs:
            clash = next(
                (b for b in second.needs.get(package, ()) if not together(a.specifier, b.specifier)), None
            )
            if clash is not None:
                yield a, clash
                break


def _says(need: Need, line: Requested) -> str:
    """Return a clause that says which release, or which line, declares a requirement."""
    who = f"{need.row.package} {need.row.version}" if need.row is not None else line.text
    return f"{who} requires {need.name}{need.specifier}"


def _cures(one: Requested, other: Requested, solver: Solver, name: str) -> Iterator[Step]:
    """Yield the fixes: the newest releases that work together, with one or both lines changed, and separate
    environments, which always work."""
    alone = False
    for changed, kept in ((other, one), (one, other)):
        found = solver.solve([kept, replace(changed, specifier="")], apart=True)
        row = found.releases.get(changed.name) if found else None
        if row is None or found is None:
            continue
        if EXTRA in changed.extras and isinstance(row, TensorFlowRelease) and not row.extras.get(EXTRA):
            continue
        extras = f"[{','.join(changed.extras)}]" if changed.extras else ""
        alone = True
        yield replaced(
            changed,
            f"{changed.name}{extras}=={row.version}",
            name,
            f"in place of: {changed.text}; the newest {changed.name} that works with {_words(kept)}",
        )
    both = (
        None
        if alone
        else solver.solve([replace(one, specifier=""), replace(other, specifier="")], apart=True)
    )
    for changed in (one, other):
        if both is None:
            break
        extras = f"[{','.join(changed.extras)}]" if changed.extras else ""
        yield replaced(
            changed,
            f"{changed.name}{extras}=={both.releases[changed.name].version}",
            name,
            f"in place of: {changed.text}; the newest releases of both that work together",
        )
    yield manual(
        f"Keep {_listed([one, other])} in separate environments",
        "each package finds the CUDA libraries of its own environment, and no requirement has to change",
    )


def _bounded(line: Requested, bound: Requested, alone: Solution, name: str) -> Finding:
    """Make the finding that a line for a plain package excludes a framework. alone: a solution for the
    framework\'s line alone."""
    stated = next(
        (need for need in alone.needs.get(bound.name, ()) if not together(need.specifier, bound.specifier)),
        None,
    )
    rows = (stated.row.ref,) if stated is not None and stated.row is not None else ()
    why = (
        f"{_says(stated, line)}, and the file requests {_words(bound)}"
        if stated
        else f"no release of {line.name} fits {_words(bound)}"
    )
    cure = (replaced(bound, f"{bound.name}{stated.specifier}", name),) if stated else ()
    return Finding(
        "python-dependency-conflict",
        "error",
        f"{_words(line)} and {_words(bound)} cannot be installed together",
        f"pip refuses to install both in one environment: {why}.",
        (bound.source(name), line.source(name)),
        rows,
        cure,
    )


def _no_release(line: Requested, solver: Solver, name: str) -> Finding:
    """Make the finding that no release fits a line, or that the requirements of every such release conflict
    with each other."""
    python = f" for Python {solver.context.python}" if solver.context.python else ""
    known = solver.context.tables.frameworks(line.name)
    return Finding(
        "python-dependency-conflict",
        "error",
        f"no {_words(line)}{python}",
        f"The package index has no release of {line.name} that fits the line{python}, or the requirements of"
        " every such release conflict with each other.",
        (line.source(name),),
        tuple(row.ref for row in known[-1:]),
    )


def _overwritten(
    tensorflow: Requested,
    frameworks: Sequence[Requested],
    plain: Sequence[Requested],
    solver: Solver,
    name: str,
) -> Iterator[Finding]:
    """Yield the finding that NVIDIA's packages for two major versions of CUDA install libraries with the same
    name into the same folder."""
    found = solver.solve([tensorflow, *frameworks, *plain])
    if found is None:
        return
    nvidia = sorted(
        (p for p in found.needs if p.startswith("nvidia-")),
        key=lambda p: ("cudnn" not in p, "nccl" not in p, p),
    )
    pairs = [(a, b) for a, b in combinations(nvidia, 2) if solver.shared(a, b, found)]
    if not pairs:
        return
    named = {
        need.row.package
        for pair in pairs
        for package in pair
        for need in found.needs[package]
        if need.row is not None
    }
    lines = [line for line in frameworks if line.name in named] or list(frameworks)
    words = "; ".join(f"{a} and {b} both install {solver.shared(a, b, found)[0]}" for a, b in pairs[:LISTED])
    needs = [need for pair in pairs[:LISTED] for package in pair for need in found.needs[package][:1]]
    yield Finding(
        "cudnn-version-mismatch" if any("cudnn" in a for a, _ in pairs) else "cuda-version-mismatch",
        "warning",
        f"{_listed([tensorflow, *lines])} overwrite each other's libraries",
        f"{words} into the same folder, for different major versions of CUDA. pip gives no warning: the"
        " package that is installed last overwrites the other's file, and one of the frameworks then runs"
        " with a library that was not made for it.",
        tuple(a.source(name) for a in (tensorflow, *lines)),
        tuple(dict.fromkeys(need.row.ref for need in needs if need.row is not None)),
        tuple(_cures(tensorflow, lines[0], solver, name)),
        confidence="likely",
    )


def _excluded(tensorflow: Requested, others: Sequence[Requested], solver: Solver) -> tuple[str, ...]:
    """Return the TensorFlow releases that TensorFlow's own line allows but the other lines rule out; empty if
    the other lines do not rule out the newest release, or rule out all of them."""
    best = solver.solve([tensorflow, *others])
    free = solver.solve([tensorflow])
    if best is None or free is None or tensorflow.name not in best.releases:
        return ()
    newest = free.releases[tensorflow.name].version
    if best.releases[tensorflow.name].version == newest:
        return ()
    allowed = [row.version for row in solver.releases(tensorflow.name) or ()]
    return tuple(
        version
        for version in allowed
        if solver.solve([tensorflow, pinned(tensorflow, version)]) is not None
        and solver.solve([tensorflow, pinned(tensorflow, version), *others]) is None
    )


def _words(line: Requested) -> str:
    """Return a line's requirement as pip writes it, without its marker."""
    extras = f"[{','.join(line.extras)}]" if line.extras else ""
    return f"{line.name}{extras}{line.specifier}"


def _listed(lines: Sequence[Requested]) -> str:
    words = [_words(line) for line in lines]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
