"""python-dependency-conflict: a package that TensorFlow needs has a version that breaks it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from doctor import lazy, validated
from doctor.backports import removeprefix
from doctor.facts import Dependency, Package, Symptom, normalised
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.rules.registry import found, rule
from doctor.shell import Path, run
from doctor.tables import dotted
from doctor.tables.ranges import satisfies

if TYPE_CHECKING:
    from doctor.case import Case

NUMPY_OF_API = {
    0xD: "1.16",
    0xE: "1.20",
    0xF: "1.22",
    0x10: "1.23",
    0x11: "1.25",
    0x12: "2.0",
    0x13: "2.1",
    0x14: "2.3",
    0x15: "2.4",
    0x16: "2.5",
    0x2000000: "2.0",
}
"""The first release of NumPy with each version of its C API (numpy/_core/code_generators/cversions.txt)
and ABI."""


def _numpy_asked(symptom: Symptom) -> str:
    """The oldest NumPy that works with a module compiled for a newer NumPy than the installed one; "" if that
    is not the failure."""
    built, there = (int(symptom.get(name, "0"), 16) for name in ("built", "there"))
    return NUMPY_OF_API.get(built, "") if built > there else ""


def _numpy_for_both(own: str, older: str) -> str:
    """A requirement for NumPy from `older` on that also satisfies the build's own (`own`, "numpy~=1.19.2");
    "" if there is none."""
    from packaging.specifiers import SpecifierSet

    if not own:
        return f"numpy>={older}{',<2' if older < '2' else ''}"
    minors = [*(f"1.{n}" for n in range(16, 27)), *(f"2.{n}" for n in range(6))]
    asked = SpecifierSet(removeprefix(own, "numpy"))
    room = any(
        asked.contains(f"{m}.{patch}") for m in minors if dotted(m) >= dotted(older) for patch in range(8)
    )
    return f"{own},>={older}" if room else ""


def _protobuf_asked(symptom: Symptom) -> str:
    """The oldest protobuf that loads a generated file that is newer than the installed one; "" if that is not
    the failure. Files of protobuf 5.26 and later import runtime_version, which came with that release."""
    text = symptom.source.text
    older = re.search(r"gencode (\d+(?:\.\d+){1,3}) runtime [\d.]+ Runtime version cannot be older", text)
    if older:
        return older[1]
    named = re.search(r"(?:cannot import name|has no attribute) '?runtime_version\b", text)
    return "5.26" if named else ""


def _protobuf_for_both(own: str, older: str) -> str:
    """A requirement for protobuf from `older` on below the limit of the build's own (`own`,
    "protobuf<6.0.0dev,>=3.20.3"); "" if there is none."""
    clauses = [clause.strip() for clause in removeprefix(own, "protobuf").split(",")]
    lower = [clause[2:] for clause in clauses if clause.startswith((">=", "=="))]
    unused = r"(?:\.0){0,9}(?:\.?dev\d{0,9})?$"
    upper = [re.sub(unused, "", clause) for clause in clauses if clause.startswith("<")]
    least = max((older, *lower), key=dotted)
    room = all(dotted(least) < dotted(clause.lstrip("<=")) for clause in upper)
    return f"protobuf>={','.join((least, *upper))}" if room else ""


_OF_NAME = lazy.compile(r"[\w.-]{1,100}\s{0,9}(?:\[[^\]]{0,200}\])?\s{0,9}")
"""The name in a requirement, with its extras."""


def _name_of(requirement: str) -> str:
    return normalised(re.split(r"[<>=!~; \[(]", requirement, maxsplit=1)[0])


def _required_by_tensorflow(case: Case) -> set[str]:
    """TensorFlow's own packages and those that its releases require: a command never takes another name from
    a report."""
    own = {"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "keras", "tf-keras"}
    rows = case.tables.releases(case.table_platform, "tensorflow")
    return own | {_name_of(text) for row in rows for text in row.requires}


NOT_IMPORTED = ("tensorboard",)
"""Required packages that `import tensorflow` does not import."""


def _tried(case: Case, release: str) -> list[Mapping[str, str]]:
    """The rows of the table of dependencies about a release of TensorFlow."""
    from doctor.tables.ordering import order
    from doctor.tables.ranges import within

    store = case.tables.store
    if not release or not store.has("dependencies"):
        return []
    plain = release.split("+")[0]
    return [row for row in store.all("dependencies") if within(plain, row["tensorflow"], order)]


def _excluded(package: Package, rows: Sequence[Mapping[str, str]]) -> Mapping[str, str] | None:
    """The row that excludes a package's version, if one does."""
    from doctor.tables.ordering import order
    from doctor.tables.ranges import within

    version = package.version or ""
    return next(
        (r for r in rows if r["package"] == package.name and not within(version, r["pin"], order)), None
    )


def _too_old(package: Package, specifier: str) -> bool:
    """Whether a package is older than a requirement allows, so that it may lack what TensorFlow imports."""
    lower = re.sub(r"~=", ">=", specifier).split(",")
    return not satisfies(
        package.version or "", ",".join(c for c in lower if c.strip().startswith((">", "==")))
    )


@rule(
    "python-dependency-conflict",
    "A Python package that TensorFlow needs has a version that breaks it",
    explains=("tf-import-failed", "tf-api-version", "tf-conflicting-packages"),
    needs=(
        "numpy-abi",
        "numpy-alias",
        "numpy-symbolic",
        "protobuf-conflict",
        "h5py-conflict",
        "keras-mismatch",
        "python-package-conflict",
        "pip-resolver-conflict",
        "pip-unsolvable",
        "package-beside-tensorflow",
        "missing-name",
        "missing-module",
    ),
)
def python_dependency_conflict(case: Case) -> Iterator[Finding]:
    """A Python dependency breaks TensorFlow.

    ## What it means
    NumPy 2 breaks builds made for NumPy 1; protobuf 4 and later break older generated code; h5py 3 breaks
    Keras before 2.4; Keras 3 does not run on TensorFlow before 2.16.

    ## How it shows
    `_ARRAY_API not found`, `numpy.core.umath failed to import`, `Descriptors cannot be created directly`,
    `'str' object has no attribute 'decode'`, `Keras cannot be imported`.

    ## What to do
    Install the version that this TensorFlow release requires, in a separate environment.
    """
    facts = case.facts
    yield from _unsolvable(case)
    numpy = facts.symptoms("numpy-abi", "numpy-alias")
    tensorflow = case.tensorflow
    if tensorflow is None or dotted(tensorflow.version) < (2, 5):
        numpy += facts.symptoms("numpy-symbolic")
    protobuf = facts.symptoms("protobuf-conflict")
    printed = [s for s in [*numpy, *protobuf] if not any(s.get(key) for key in ("stated", "t2", "t3"))]
    h5py = facts.symptoms("h5py-conflict")
    keras = facts.symptoms("keras-mismatch")
    other = facts.symptoms("python-package-conflict")
    concerned = re.compile(r"tensorflow|\bkeras\b", re.IGNORECASE)
    resolver = [s for s in facts.symptoms("pip-resolver-conflict") if concerned.search(s.source.text)]
    versions = {p.name: p for p in facts.of(Package) if p.version}
    build = case.build
    stated = [
        f"{d.name}{d.specifier}" for d in facts.of(Dependency) if "[" not in d.of
    ]  # of what is installed
    requires = stated or (build.requires if build is not None else ())
    release = build.version if build is not None else case.tensorflow.version if case.tensorflow else ""
    unmet: list[Package] = []
    breaking: list[Package] = []
    excluded: dict[str, Mapping[str, str]] = {}
    # who builds TensorFlow anew compiles it against the packages that it is shipped with
    wheel = case.build is None or case.build.of_wheel
    if facts.kind == "machine" and wheel:
        rows = _tried(case, release)
        for text in requires:
            name, specifier = _name_of(text), _OF_NAME.sub("", text, count=1)
            package = versions.get(name)
            try:
                if not package or not package.version or ";" in text or satisfies(package.version, specifier):
                    continue
                unmet.append(package)
                tried = any(row["package"] == name and ">=" in row["pin"] for row in rows)
                if _too_old(package, specifier) and not tried and name not in NOT_IMPORTED:
                    breaking.append(package)
            except ValueError:  # neither a version nor a range
                continue
        for package in versions.values():
            row = _excluded(package, rows)
            if row is not None:
                excluded[package.name] = row
                breaking += [package] if package not in breaking else []
    broken = breaking or unmet
    if not (numpy or protobuf or h5py or keras or other or broken or resolver):
        return
    failing = bool(numpy or protobuf or h5py or keras or other or breaking)
    install = partial(commands.pip, case, "install")
    steps: list[Step] = []
    pinned = {name: f"{name}{row['pin']}" for name, row in excluded.items()}
    pinned.update({_name_of(r): r for r in requires if re.search(r"<|==|~", r)})

    def pin(name: str, default: str) -> str:
        spec = pinned.get(name)
        return (validated.requirement(spec) if spec else None) or default

    if numpy:
        alias = any(s.kind == "numpy-alias" for s in numpy)
        symbolic = any(s.kind == "numpy-symbolic" for s in numpy)
        older = max((_numpy_asked(s) for s in numpy), default="")
        own = pin("numpy", "")
        both = _numpy_for_both(own, older) if older else ""
        if older and not both:
            steps.append(
                manual(
                    f"The traceback shows the module's package: install a release of it that was compiled"
                    f" for {own}, which this TensorFlow requires, or a newer TensorFlow that accepts NumPy"
                    f" {older} (tfgpu-doctor plan)"
                )
            )
            text = (
                f"A module was compiled for NumPy {older} or later, but TensorFlow"
                f" {build.version if build else ''} requires {own}: the module most likely belongs to"
                f" another package."
            )
        elif older:
            steps.append(
                shell(
                    install(both),
                    (
                        "a NumPy that works with both the compiled module and TensorFlow"
                        if own
                        else "the NumPy that the compiled module was made for"
                    ),
                )
            )
            text = f"A module was compiled for NumPy {older} or later, but the installed NumPy is older."
        else:
            limit = own or ("numpy<1.20" if symbolic else "numpy<1.24" if alias else "numpy<2")
            steps.append(shell(install(limit), "the NumPy that this build was made for"))
            text = (
                "A layer of TensorFlow up to 2.4 passes NumPy a tensor as the shape of a new array, which "
                "NumPy refuses from 1.20 on."
                if symbolic
                else (
                    "The code uses names that NumPy 1.24 removed."
                    if alias
                    else (
                        "A compiled module and NumPy do not match: most often a TensorFlow built for NumPy"
                        " 1 finds NumPy 2."
                    )
                )
            )
    elif older := max(filter(None, map(_protobuf_asked, protobuf)), default="", key=dotted):
        own = next((text for text in requires if _name_of(text) == "protobuf"), "")
        both = _protobuf_for_both(own, older)
        if both:
            why = "a protobuf that is as new as the generated code" + (
                ", and that TensorFlow accepts" if own else ""
            )
            steps.append(shell(install(both), why))
        else:
            steps.append(
                manual(
                    f"The traceback shows the package of the generated file (_pb2.py): install an older"
                    f" release of it, or a newer TensorFlow that accepts protobuf {older} (tfgpu-doctor plan)"
                )
            )
        text = (
            f"The installed protobuf is too old for a package's generated code, which needs protobuf {older}"
            f" or newer."
        )
    elif protobuf:
        steps.append(
            shell(
                install(pin("protobuf", "protobuf<3.21")),
                "the protobuf that this build was made for",
            )
        )
        text = "The protobuf package does not match TensorFlow's generated code."
    elif h5py:
        steps.append(shell(install("h5py<3"), "Keras before 2.4 reads files with h5py 2"))
        text = "h5py 3 returns text where this Keras expects bytes."
    elif keras:
        version = case.tensorflow.version if case.tensorflow else None
        minor = ".".join(version.split(".")[:2]) if version else None
        own = f"keras=={minor}.*" if minor and (2, 6) <= dotted(minor) <= (2, 15) else "tf-keras"
        keras_wanted = pin("keras", own)
        steps.append(
            shell(install(keras_wanted), "the Keras that belongs to this TensorFlow")
            if minor or keras_wanted != own
            else manual(
                "Install the Keras of TensorFlow's own minor number (keras==2.6.* for 2.6, up to 2.15); from"
                " 2.16 on tf-keras of that number"
            )
        )
        text = "The releases of Keras and TensorFlow do not fit together."
    elif broken:
        steps = [
            shell(
                install(pin(p.name, p.name)),
                f"the version that TensorFlow {release} requires",
            )
            for p in broken[:4]
            if validated.distribution(p.name)
        ]
        text = (
            f"{', '.join(f'{p.name} {p.version}' for p in broken[:4])} {'does' if len(broken) == 1 else 'do'}"
            f" not meet the requirements of TensorFlow {release}."
        )
        if not breaking:
            text += " No trial shows that TensorFlow fails with them."
        for package in broken[:2]:
            row = excluded.get(package.name)
            text += f" {package.name.capitalize()} {package.version}: {row['reason']}." if row else ""
    elif resolver:
        text = (
            f"pip installed packages that contradict TensorFlow's own requirements: it requires"
            f" {resolver[0].get('requirement')}, but {resolver[0].get('have')} is installed."
        )
        wanted = validated.requirement(resolver[0].get("requirement"))
        if wanted is not None and _name_of(wanted) in _required_by_tensorflow(case):
            steps.append(shell(install(wanted), "the version that TensorFlow requires"))
    else:
        text = "A package that TensorFlow imports is missing or has a version that it cannot use."
        steps.append(
            shell(
                install("--force-reinstall", commands.present(case)),
                "installs the packages that this release requires",
            )
        )
    steps.append(shell(commands.pip(case, "check"), "lists the remaining contradictions"))
    yield found(
        "python-dependency-conflict",
        text,
        [*numpy[:2], *protobuf[:2], *h5py[:1], *keras[:2], *other[:1], *broken[:3], *resolver[:1]],
        severity="error" if failing else "warning" if resolver else "info",
        confidence=(
            "certain"
            if printed or h5py or keras or (breaking and not other)
            else "likely"
            if failing or resolver
            else "possible"
        ),
        tables=[
            *([build] if build is not None and requires else []),
            *(f"dependencies {name}: {row['source']}" for name, row in excluded.items()),
        ],
        steps=steps,
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)"),
    )


def _unsolvable(case: Case) -> Iterator[Finding]:
    """The finding for a request to pip whose packages exclude each other, if it concerns TensorFlow."""
    signs, depends = case.facts.symptoms("pip-unsolvable"), case.facts.symptoms("pip-depends-on")
    named = [s for s in signs if re.search(r"tensorflow|keras", s.get("packages"), re.IGNORECASE)]
    if not signs or not (named or depends):
        return
    pairs = [(f"{s.get('package')} {s.get('version')}", s.get("wants")) for s in depends[:2]]
    wants = "; ".join(f"{package} depends on {other}" for package, other in pairs)
    yield found(
        "python-dependency-conflict",
        "pip installs nothing: no versions of the requested packages go together"
        + (f" ({wants})." if wants else "."),
        [*signs[:1], *depends[:3]],
        title="The requested packages exclude each other",
        steps=[
            manual(
                "Leave out the version of the package that pip names beside TensorFlow's requirement, so that"
                " pip chooses one, or request a TensorFlow that accepts this version"
            ),
            shell(
                run("tfgpu-doctor", "plan", "-r", Path("requirements.txt")),
                "names the lines of that file that exclude each other, and a TensorFlow for the rest",
            ),
        ],
        verify=commands.pip(case, "check"),
    )
