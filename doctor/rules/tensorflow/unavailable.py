"""Finds out why pip found no TensorFlow, from the requested release, the releases that pip offered, and the
wheels in the tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.facts import Platform, Requirement
from doctor.findings import Step, manual, shell
from doctor.remedies import commands, cures
from doctor.remedies.fitness import installation, usable
from doctor.rules.tensorflow.offered import PLATFORMS, Offer, listed_nothing, offered
from doctor.tables.versions import minor
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease


@dataclass(frozen=True)
class Reason:
    """Why pip found no TensorFlow. `steps` come before the general fix, `instead` after it. `target`: the
    release to install, if the reason determines it. platform: the platform, if only the reason shows it.
    enough: whether `steps` are the whole fix."""

    text: str
    rows: tuple[TensorFlowRelease, ...] = ()
    steps: tuple[Step, ...] = ()
    instead: tuple[Step, ...] = ()
    target: TensorFlowRelease | None = None
    platform: str = ""
    enough: bool = False


_MANYLINUX = (
    ("manylinux1", ""),
    ("manylinux2010", "19.0"),
    ("manylinux2014", "19.3"),
    ("manylinux_2_", "20.3"),
)
"""The platform tags of Linux wheels, oldest first, each with the first pip release that accepts the tag
(release notes of pip 19.0, 19.3 and 20.3)."""


def asked_for(case: Case) -> str | None:
    """The release that the user requested from the installer. Without a request, the release that the report
    mentions. None if there is neither."""
    asked = next((r for r in case.facts.of(Requirement) if r.name.startswith("tensorflow")), None)
    if asked is None:
        return (
            case.tensorflow.version if case.tensorflow is not None and not case.tensorflow.inferred else None
        )
    stated = re.search(r"\d{1,4}\.\d+(?:\.\d+)?", asked.specifier)
    return stated[0] if stated else None


def why_none(case: Case, *, gone: bool) -> Reason:
    """Return the reason with the strongest evidence. gone: pip was given the address of a wheel that does not
    exist."""
    platform, version = case.table_platform, asked_for(case)
    python = commands.minor(case.python.version) if case.python is not None else None
    row = case.tables.tensorflow(version, None, platform) if version else None
    offer = offered(case)
    if gone:
        return Reason(
            "pip was given the address of a wheel that does not exist: nobody published a wheel for that"
            " release, Python and platform at that address."
        )
    if row is not None and python and python not in row.pythons:
        return Reason(
            f"On {platform}, TensorFlow {row.version} has"
            f" {'wheels for Python ' + ', '.join(row.pythons) if row.pythons else 'no wheels'}, but this is"
            f" Python {python}.",
            (row,),
        )
    if row is not None and python and listed_nothing(case):
        return _unseen(case, row, python)
    if version and offer is not None and version not in offer.releases:
        unknown = _newer_than_pip(case, offer, version)
        if unknown is not None:
            return unknown
        offer = offer.lacking(case, version)
        if case.platform is None and offer.platforms == ("macos-x86_64",):
            return _intel_mac(case, offer, version)
        has = (
            f"it has wheels for Python {', '.join(row.pythons)}"
            if row is not None and row.pythons
            else f"it has no wheel for {platform}"
        )
        return Reason(
            f"{offer}. TensorFlow {version} is not among them: {has}.", (row,) if row is not None else ()
        )
    if python:
        have = [r for r in case.tables.releases(platform, "tensorflow") if python in r.pythons]
        if not have:
            return Reason(f"No TensorFlow release has a wheel for Python {python} on {platform}.")
        return Reason(
            f"For Python {python} on {platform}, there are only wheels of TensorFlow {have[0].version} to"
            f" {have[-1].version}.",
            (have[0], have[-1]),
        )
    if version and (row is None or not row.pythons):
        reason = _not_for_this_platform(case, version)
        if reason is not None:
            return reason
    return Reason(
        "pip offers only releases that fit its Python and platform, and none fits. Most often the Python is"
        " too new or too old for the release, or is a 32-bit Python."
    )


def _newer_than_pip(case: Case, offer: Offer, version: str) -> Reason | None:
    """The reason if the release has a wheel for this Python, but this pip does not know the wheel's platform
    tag; else None."""
    for platform, python in offer.places:
        asked, newest = (
            case.tables.tensorflow(v, offer.package, platform) for v in (version, offer.releases[-1])
        )
        if (
            asked is None
            or newest is None
            or python not in asked.pythons
            or (asked.gpu and not usable(case, asked))
        ):
            continue
        needs, knows = _wheel_name(asked), _wheel_name(newest)
        if needs is not None and knows is not None and needs > knows:
            tag, pip = _MANYLINUX[needs]
            again = installation(case, asked, bare=True).requirements
            return Reason(
                f"{offer.listed}. TensorFlow {asked.version} also has a wheel for Python {python}, but with a"
                f" tag ({tag}) that only pip {pip} and later accept; this pip is older.",
                (asked,),
                (
                    shell(
                        commands.pip(case, "install", "--upgrade", "pip"),
                        f"pip {pip} and later find the wheel",
                    ),
                    shell(
                        commands.pip(case, "install", *again),
                        "repeats the installation, with extra version limits that the release needs but does"
                        " not declare",
                    ),
                    *cures.driver_for(case, asked),
                ),
                enough=True,
            )
    return None


def _wheel_name(row: TensorFlowRelease) -> int | None:
    """The oldest platform tag in a Linux wheel's name, as an index into _MANYLINUX; None without a tag."""
    return next((place for place, (tag, _) in enumerate(_MANYLINUX) if tag in row.source), None)


def _intel_mac(case: Case, offer: Offer, version: str) -> Reason:
    """The reason if the list comes from a Mac with an Intel processor, whose wheels ended with 2.16."""
    rows = with_wheels(case, "macos-x86_64")
    text = (
        f"{offer} on Intel Macs. TensorFlow {version} has no wheel for them; {rows[-1].version} is the newest"
        f" release that has one. If this is an Apple-silicon Mac, the Python is an Intel build that Rosetta"
        f" translates; a native Python (arm64) can install the newer releases."
    )
    return Reason(text, (rows[-1],), target=rows[-1], platform="macos")


def _unseen(case: Case, row: TensorFlowRelease, python: str) -> Reason:
    """The reason if pip saw no release although, according to the tables, this release has a wheel for this
    Python and platform."""
    arm = with_wheels(case, "macos-arm64")
    if case.platform == "macos" and not _processor(case) and row.platform == "macos-x86_64" and arm:
        return Reason(
            f"TensorFlow {row.version} has a wheel for Python {python} on Intel Macs. If pip sees no wheel,"
            f" this is an Apple-silicon Mac, for which {arm[0].version} is the first release with wheels.",
            (row, arm[0]),
            target=next(r for r in reversed(arm) if minor(r.version) == minor(arm[0].version)),
        )
    return Reason(
        f"TensorFlow {row.version} has a wheel for Python {python} on {row.platform}, but pip saw no"
        f" release at all. Either this Python was built for something else (32 bits, another processor,"
        f" Alpine's musl), or pip is too old for the wheel's tag, or the package index has no wheel or could"
        f" not be reached.",
        (row,),
        (
            shell(
                commands.pip(case, "install", "--upgrade", "pip"),
                "an old pip does not know the tags of newer wheels (manylinux2014 needs pip 19.3)",
            ),
            shell(
                commands.pip(case, "config", "list"),
                "shows pip's package index, if it is not the default one",
            ),
        ),
    )


def _not_for_this_platform(case: Case, version: str) -> Reason | None:
    """Return the reason if a release has wheels but none for the case's platform; else None. Also None for a
    Mac whose processor is not known."""
    platform = case.table_platform
    if case.platform is None or (case.platform == "macos" and not _processor(case)):
        return None
    rows = (case.tables.tensorflow(version, None, p) for p in PLATFORMS)
    elsewhere = next((row for row in rows if row is not None and row.pythons), None)
    have = with_wheels(case, platform)
    if elsewhere is None or not have:
        return None
    native = case.tables.tensorflow(version, None, "macos-arm64") if platform == "macos-x86_64" else None
    text = (
        f"TensorFlow {elsewhere.version} has no wheel for {platform}; {have[-1].version} is the newest"
        f" release that has one."
    )
    if native is None or not native.pythons:
        return Reason(text, (elsewhere, have[-1]))
    words = (
        f"If this is an Apple-silicon Mac, the Python is an Intel build that Rosetta translates; for a native"
        f" Python (arm64, {' or '.join(native.pythons[-2:])}), TensorFlow {native.version} has wheels"
    )
    return Reason(text, (native, have[-1]), instead=(manual(words),))


def with_wheels(case: Case, platform: str) -> list[TensorFlowRelease]:
    """The releases of the package `tensorflow` that have wheels for a platform and were not yanked, oldest
    first."""
    return [r for r in case.tables.releases(platform, "tensorflow") if r.pythons and not r.yanked]


def _processor(case: Case) -> bool:
    """Whether the processor's architecture is known."""
    return any(p.machine for p in case.facts.of(Platform))
