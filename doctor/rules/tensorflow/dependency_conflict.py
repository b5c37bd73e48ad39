"""python-dependency-conflict: a package that TensorFlow needs is in a version that breaks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from doctor import validated
from doctor.backports import removeprefix
from doctor.facts import Dependency, Package, Symptom, normalised
from doctor.findings import Finding, Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.registry import found, rule
from doctor.tables import dotted

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
"""The first release of NumPy with each version of its C API (numpy/_core/code_generators/cversions.txt) and ABI."""


def _numpy_asked(symptom: Symptom) -> str:
    """The oldest NumPy that serves a module which was compiled for a newer one than is there; empty where it is not that."""
    built, there = (int(symptom.get(name, "0"), 16) for name in ("built", "there"))
    return NUMPY_OF_API.get(built, "") if built > there else ""


def _numpy_for_both(own: str, older: str) -> str:
    """A requirement for NumPy from `older` on that what a build asks for (`own`, "numpy~=1.19.2") leaves room for; empty where it leaves none."""
    from packaging.specifiers import SpecifierSet

    if not own:
        return f"numpy>={older}{',<2' if older < '2' else ''}"
    minors = [*(f"1.{n}" for n in range(16, 27)), *(f"2.{n}" for n in range(6))]
    asked = SpecifierSet(removeprefix(own, "numpy"))
    room = any(asked.contains(f"{m}.{patch}") for m in minors if dotted(m) >= dotted(older) for patch in range(8))
    return f"{own},>={older}" if room else ""


def _name_of(requirement: str) -> str:
    return normalised(re.split(r"[<>=!~; \[(]", requirement, maxsplit=1)[0])


def _required_by_tensorflow(picture: Picture) -> set[str]:
    """The packages that TensorFlow's releases require, and its own: no report brings another one into a command."""
    own = {"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "keras", "tf-keras"}
    rows = picture.tables.releases(picture.table_platform, "tensorflow")
    return own | {_name_of(text) for row in rows for text in row.requires}


@rule(
    "python-dependency-conflict",
    "A Python package that TensorFlow needs is in a version that breaks it",
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
        Package,
        "missing-name",
        "missing-module",
    ),
)
def python_dependency_conflict(picture: Picture) -> Iterator[Finding]:
    """A Python dependency breaks TensorFlow.

    ## What it means
    NumPy 2 breaks builds made for NumPy 1; protobuf 4 and later break older generated code; h5py 3 breaks Keras before 2.4; Keras 3 does not run on
    TensorFlow before 2.16.

    ## How it shows
    `_ARRAY_API not found`, `numpy.core.umath failed to import`, `Descriptors cannot be created directly`, `'str' object has no attribute 'decode'`, `Keras
    cannot be imported`.

    ## What to do
    Install the version that this TensorFlow release asks for, into an environment of its own.
    """
    facts = picture.facts
    numpy = facts.symptoms("numpy-abi", "numpy-alias")
    told = picture.tensorflow
    if told is None or dotted(told.version) < (2, 5):
        numpy += facts.symptoms("numpy-symbolic")
    protobuf = facts.symptoms("protobuf-conflict")
    printed = [s for s in [*numpy, *protobuf] if not any(s.get(key) for key in ("told", "t2", "t3"))]
    h5py = facts.symptoms("h5py-conflict")
    keras = facts.symptoms("keras-mismatch")
    other = facts.symptoms("python-package-conflict")
    resolver = [s for s in facts.symptoms("pip-resolver-conflict") if "tensorflow" in s.get("package").lower()]
    versions = {p.name: p for p in facts.of(Package) if p.version}
    build = picture.build
    stated = [f"{d.name}{d.specifier}" for d in facts.of(Dependency) if "[" not in d.of]  # of what is installed
    requires = stated or (build.requires if build is not None else ())
    release = build.version if build is not None else picture.tensorflow.version if picture.tensorflow else ""
    broken: list[Package] = []
    if facts.kind == "machine" and requires:
        from packaging.requirements import InvalidRequirement
        from packaging.requirements import Requirement as Parsed

        for text in requires:
            try:
                parsed = Parsed(text)
            except InvalidRequirement:
                continue
            package = versions.get(parsed.name.lower())
            if (
                package is not None
                and package.version
                and parsed.marker is None
                and not parsed.specifier.contains(package.version, prereleases=True)
            ):
                broken.append(package)
        numpy2 = versions.get("numpy")
        if (
            build is not None
            and not stated
            and dotted(build.version) < (2, 18)
            and numpy2 is not None
            and numpy2.version
            and numpy2.version.startswith("2.")
            and numpy2 not in broken
        ):
            broken.append(numpy2)
    if not (numpy or protobuf or h5py or keras or other or broken or resolver):
        return
    only_warning = resolver and not (numpy or protobuf or h5py or keras or other or broken)
    install = partial(commands.pip, picture, "install")
    steps: list[Step] = []
    pinned = {_name_of(r): r for r in requires}

    def pin(name: str, default: str) -> str:
        spec = pinned.get(name)
        return (validated.requirement(spec) if spec and re.search(r"<|==|~", spec) else None) or default

    if numpy:
        alias = any(s.kind == "numpy-alias" for s in numpy)
        symbolic = any(s.kind == "numpy-symbolic" for s in numpy)
        older = max((_numpy_asked(s) for s in numpy), default="")
        own = pin("numpy", "")
        both = _numpy_for_both(own, older) if older else ""
        if older and not both:
            steps.append(
                manual(
                    f"Take a release of the package whose module stands in the traceback that was compiled for {own}, which this TensorFlow wants, "
                    f"or a newer TensorFlow that takes NumPy {older} (tfgpu-doctor plan)"
                )
            )
            text = f"A module was compiled for NumPy {older} or later, and TensorFlow {build.version if build else ''} wants {own}: it is most likely another package's module."
        elif older:
            steps.append(
                shell(
                    install(both),
                    "a NumPy that serves the compiled module and TensorFlow"
                    if own
                    else "the NumPy that the compiled module was made for",
                )
            )
            text = f"A module was compiled for NumPy {older} or later, and the NumPy that is there is older."
        else:
            limit = own or ("numpy<1.20" if symbolic else "numpy<1.24" if alias else "numpy<2")
            steps.append(
                shell(install(limit), "the NumPy that this build was made for")
            )
            text = (
                "A layer of TensorFlow up to 2.4 asks NumPy for an array whose shape is a tensor, and NumPy refuses that from 1.20 on."
                if symbolic
                else "The code uses names that NumPy 1.24 removed."
                if alias
                else "A compiled module and NumPy are of two generations: most often a TensorFlow built for NumPy 1 that finds NumPy 2."
            )
    elif protobuf:
        steps.append(
            shell(
                install(pin("protobuf", "protobuf<3.21")),
                "the protobuf that this build was made for",
            )
        )
        text = "The protobuf package is of another generation than TensorFlow's generated code."
    elif h5py:
        steps.append(
            shell(install("h5py<3"), "Keras before 2.4 reads files with h5py 2")
        )
        text = "h5py 3 returns text where this Keras expects bytes."
    elif keras:
        version = picture.tensorflow.version if picture.tensorflow else None
        minor = ".".join(version.split(".")[:2]) if version else None
        own = f"keras=={minor}.*" if minor and (2, 6) <= dotted(minor) <= (2, 15) else "tf-keras"
        steps.append(shell(install(pin("keras", own)), "the Keras that belongs to this TensorFlow"))
        text = "Keras and TensorFlow are of releases that do not belong together."
    elif broken:
        steps = [
            shell(
                install(pin(p.name, p.name)),
                f"what TensorFlow {release} asks for",
            )
            for p in broken[:4]
            if validated.distribution(p.name)
        ]
        text = f"{', '.join(f'{p.name} {p.version}' for p in broken[:4])} {'does' if len(broken) == 1 else 'do'} not meet what TensorFlow {release} asks for."
    elif resolver:
        text = f"pip installed packages that contradict TensorFlow's own requirements: {resolver[0].get('requirement')} is wanted, {resolver[0].get('have')} is there."
        wanted = validated.requirement(resolver[0].get("requirement"))
        if wanted is not None and _name_of(wanted) in _required_by_tensorflow(picture):
            steps.append(shell(install(wanted), "the version that TensorFlow asks for"))
    else:
        text = "A package that TensorFlow imports is missing or of a version that it cannot use."
        steps.append(
            shell(
                install("--force-reinstall", commands.present(picture)),
                "brings the packages that this release asks for",
            )
        )
    steps.append(shell(commands.pip(picture, "check"), "lists contradictions that are left"))
    yield found(
        "python-dependency-conflict",
        text,
        [*numpy[:2], *protobuf[:2], *h5py[:1], *keras[:2], *other[:1], *broken[:3], *resolver[:1]],
        severity="warning" if only_warning else "error",
        confidence="likely" if not (printed or h5py or keras or (broken and not other)) else "certain",
        tables=[build] if build is not None and requires else [],
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )
