"""Collects the names of everything that was observed in a case. Rules ask for these names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.case.libraries import NOT_LOADED, TENSORFLOW_PACKAGES, blamed_alone
from doctor.facts import Dependency, Fact, Glibc, LibraryFile, LibraryNotLoaded, Package, Symptom

if TYPE_CHECKING:
    from doctor.case.case import Case


def seen(case: Case) -> frozenset[type[Fact] | str]:
    """Return the names of everything that was observed: the types of the facts, the kinds of the symptoms,
    the names in `NOT_LOADED` for libraries that did not load, the environment variables that are set, the
    platform ("on-windows"), and names for combinations of facts: "gpu-library-not-loaded" (not the driver's),
    "glibc-under-tensorflow", "package-beside-tensorflow", "several-tensorflow-packages", and
    "library-unusable" (a library that exists but does not load)."""
    facts = case.facts
    kinds: set[type[Fact] | str] = {
        *map(type, facts),
        *(symptom.kind for symptom in facts.of(Symptom)),
        *case.env,
    }
    gone = {case.component(lib.name) for lib in facts.of(LibraryNotLoaded)}
    kinds |= {name for part, name in NOT_LOADED.items() if part in gone}
    if gone - {"driver"}:
        kinds.add("gpu-library-not-loaded")
    packages = {(package.name, package.manager) for package in facts.of(Package)}
    own = {package for package in packages if package[0] in TENSORFLOW_PACKAGES}
    if len(own) > 1:
        kinds.add("several-tensorflow-packages")
    if case.tensorflow is not None or Dependency in kinds:
        kinds |= {"package-beside-tensorflow"} if packages - own else set()
        kinds |= {"glibc-under-tensorflow"} if Glibc in kinds else set()
    if any(file.problem for file in facts.of(LibraryFile)) or any(
        lib.cause == "broken" or blamed_alone(lib.name) for lib in facts.of(LibraryNotLoaded)
    ):
        kinds.add("library-unusable")
    if case.platform is not None:
        kinds.add(f"on-{case.platform}")
    return frozenset(kinds)
