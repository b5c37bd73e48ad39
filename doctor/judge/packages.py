"""Checks which Python packages fit: TensorFlow's distribution, its companions, and products that contain
it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.case.builds import cpu_builds_of_conda
from doctor.facts import (
    OF_WORKING_RUN,
    Fact,
    Package,
    SentenceKind,
    TensorFlowVersion,
)
from doctor.findings import Part
from doctor.judge.answers import NO_DEVICE_SEEN, minor_release, release_rank
from doctor.tables import addons

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease


def product_parts(case: Case) -> Iterator[Part]:
    """Yield one part for each binding, program or hosted notebook in a report: the TensorFlow that the
    product contains, or the framework that it uses instead."""
    from doctor.tables.ordering import order
    from doctor.tables.ranges import within

    known = case.tensorflow if case.tensorflow is not None and not case.tensorflow.inferred else None
    for one in case.named:
        holds, range_ = one.one("holds"), one.one("tensorflow")
        if not holds:
            continue
        refs = tuple(dict.fromkeys((one.rows[0].ref, one.rows[-1].ref)))
        if one.one("table") != "programs":
            yield Part("program", f"{one.title} with {holds}", "", True, (one.fact.source,), refs)
            continue
        fits = within(known.version.split("+")[0], range_, order) if known is not None and range_ else None
        reason = f"{one.title} computes with {holds}, not with TensorFlow" if one.one("computes") else ""
        yield Part("program", one.title, holds, fits or None, (one.fact.source,), refs, reason)


_NAMES = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")


def named_distributions(case: Case) -> dict[str, Fact]:
    """Return the TensorFlow distributions that a report says are installed, with the evidence."""
    facts = case.facts
    named: dict[str, Fact] = {}
    for package in facts.of(Package):
        named.setdefault(package.name, package)
    for asked in facts.symptoms("stated-package"):
        if asked.get("loose") and not facts.has(*NO_DEVICE_SEEN):
            continue  # "TensorFlow from pip" may be either distribution
        named.setdefault(asked.get("name"), asked)
    for version in facts.of(
        TensorFlowVersion
    ):  # a plain "tensorflow 1.14" means the program, not the distribution
        if version.package not in (None, "tensorflow") and version.rank < OF_WORKING_RUN:
            named.setdefault(str(version.package), version)
    if case.bringing is not None and case.tensorflow is not None and case.tensorflow.package is not None:
        # the program's own request to pip
        named.setdefault(case.tensorflow.package, case.bringing.fact)
    return {
        name: fact
        for name, fact in named.items()
        if name.startswith("tensorflow") and name not in addons.packages(case.tables.store)
    }


def package_parts(case: Case, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    """Yield the part about TensorFlow's distribution, if it is at fault: it has no CUDA, is discontinued, is
    one of two that conflict, or comes in an image without CUDA."""
    known, facts = case.tensorflow, case.facts
    if facts.kind != "report" or known is None or case.bound or case.facts.has("own-build"):
        return
    named, side = named_distributions(case), case.table_platform
    version = known.version.split("+")[0]
    installed = {p.name: p for p in facts.of(Package) if p.name in _NAMES and p.version}
    last = case.tables.tensorflow("2.12.0", "tensorflow-gpu", "any")
    removed = named.get("tensorflow-gpu")
    of_another = getattr(removed, "version", None) not in (
        None,
        known.version,
    )  # the report states another release for tensorflow-gpu
    # the end of tensorflow-gpu concerns only pip's package
    asked = {symptom.source.line for symptom in facts.symptoms("conda-install")}
    of_conda = removed is not None and removed.source.line in asked
    if removed is not None and not of_another and not of_conda and minor_release(version) >= (2, 12):
        yield Part(
            "package",
            f"tensorflow-gpu {version}",
            "tensorflow",
            False,
            (removed.source,),
            (last.ref,) if last is not None else (),
            "tensorflow-gpu was discontinued after 2.11.0; installing 2.12.0 always fails",
            "tf-gpu-package-removed",
            rank=release_rank(case),
        )
        return
    plain = case.tables.tensorflow(version, "tensorflow", side)
    several = len({p.version for p in installed.values()}) > 1
    of_pip = all(package.manager != "conda" for package in installed.values())
    cpu_only = of_pip and "tensorflow" in installed and plain is not None and plain.gpu is False
    if len(installed) > 1 and (several or cpu_only or (of_pip and "tensorflow-cpu" in installed)):
        both = list(installed.values())
        yield Part(
            "package",
            " and ".join(f"{p.name} {p.version}" for p in both),
            "one of them",
            False,
            tuple(p.source for p in both),
            (),
            "both install into one folder, and the one installed last overwrites files of the other",
            "tf-conflicting-packages",
        )
        return
    images = [i for i in facts.symptoms("image-tag") if "gpu" not in i.get("tag")]
    why: tuple[Fact, str, str] | None = None
    if images and len(images) == len(facts.symptoms("image-tag")):
        why = images[0], "an image without -gpu in its tag contains a CPU build", "container-no-gpu"
    elif "tensorflow-cpu" in named and len(named) == 1:
        why = named["tensorflow-cpu"], "tensorflow-cpu is built without CUDA", "tf-cpu-only"
    elif cpu := cpu_builds_of_conda(facts):
        why = cpu[0], f"conda's build {cpu[0].get('build')} is made without CUDA", "tf-cpu-only"
    elif (
        set(named) == {"tensorflow"}
        and "conda" not in case.environments
        and plain is not None
        and plain.gpu is False
        and (side != "windows-amd64" or minor_release(version) <= (2, 10))
    ):
        why = named["tensorflow"], f"{plain.requirement} is built without CUDA", "tf-cpu-only"
    if why is not None:
        fact, reason, code = why
        brought = case.bringing.title if case.bringing is not None and fact is case.bringing.fact else ""
        tables = (plain.ref,) if plain is not None else ()
        stated, needed = brought or " ".join(fact.source.text.split())[:80], "a build with CUDA"
        yield Part(
            "package", stated, needed, False, (fact.source,), tables, reason, code, rank=release_rank(case)
        )


def _mentions(case: Case, words: Sequence[str]) -> bool:
    """Whether a sentence of a report contains one of several words."""
    said = [kind.source.text.lower() for kind in case.facts.of(SentenceKind)]
    return any(word in sentence for sentence in said for word in words)


def companion_parts(case: Case, builds: Sequence[TensorFlowRelease] = ()) -> Iterator[Part]:
    """Yield one part for each other Python package in a report's package lists that the table of dependencies
    or the table of add-ons contains; the part states whether that package fits the TensorFlow release."""
    from doctor.tables.ordering import order
    from doctor.tables.ranges import satisfies, within

    known, store = case.tensorflow, case.tables.store
    if known is None or case.bound or case.facts.kind != "report" or not store.has("dependencies"):
        return
    listed = {p.name: p for p in case.facts.of(Package) if p.version}
    for row in store.all("dependencies"):
        package = listed.get(row["package"])
        if (
            package is None
            or package.version is None
            or not within(known.version.split("+")[0], row["tensorflow"], order)
        ):
            continue
        fits = within(package.version, row["pin"], order)
        if not fits and "words" in row and not _mentions(case, row["words"]):
            continue  # it breaks only a part of TensorFlow, and the report is not about this part
        reason = f"TensorFlow {known.version} with {row['package']} {package.version}: {row['reason']}"
        yield Part(
            "package",
            f"{row['package']} {package.version}",
            f"{row['package']}{row['pin']}",
            fits,
            (package.source,),
            (f"dependencies {row['package']}: {row['source']}",),
            "" if fits else reason,
            "" if fits else "python-dependency-conflict",
        )
    for name, package in listed.items():
        made_for = addons.release(store, name, package.version or "")
        if made_for is None:
            continue
        there = known.version.split("+")[0]
        fits = satisfies(there, made_for.tensorflow)
        module = name.replace("-", "_")
        named = any(module in kind.source.text for kind in case.facts.of(SentenceKind))
        breaks = not fits and (named or made_for.loads != "partly" or case.facts.has("import-fails-said"))
        reason = f"{name} {package.version} works with TensorFlow {made_for.tensorflow}, not with {there}"
        yield Part(
            "package", f"{name} {package.version}", f"TensorFlow {made_for.tensorflow}", fits,
            (package.source,), (made_for.ref,), "" if fits else reason, "tf-addon-mismatch" if breaks else "",
        )  # fmt: skip
