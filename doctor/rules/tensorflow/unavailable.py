"""Why pip found no TensorFlow: what it was asked for, what it had on offer, and for whom the tables have wheels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from doctor.facts import Platform, Requirement
from doctor.findings import Step, manual, shell
from doctor.remedies import commands, cures
from doctor.remedies.fitness import installation, usable
from doctor.rules.tensorflow.offered import PLATFORMS, Offer, listed_nothing, offered

if TYPE_CHECKING:
    from doctor.picture import Picture
    from doctor.tables import TensorFlowRelease


@dataclass(frozen=True)
class Reason:
    """Why there was none. `steps` come first, `instead` after the cure; `target`: the release to install, where the reason tells it.

    platform: where that is, where the case does not say and the reason does. enough: the steps are the cure.
    """

    text: str
    rows: tuple[TensorFlowRelease, ...] = ()
    steps: tuple[Step, ...] = ()
    instead: tuple[Step, ...] = ()
    target: TensorFlowRelease | None = None
    platform: str = ""
    enough: bool = False


_MANYLINUX = (("manylinux1", ""), ("manylinux2010", "19.0"), ("manylinux2014", "19.3"), ("manylinux_2_", "20.3"))
"""The platforms in the names of Linux wheels, oldest first, and the pip from which on it takes them (the news of pip 19.0, 19.3 and 20.3)."""


def asked_for(picture: Picture) -> str | None:
    """The release that the installer was asked for; where no requirement tells it, the one that the text names."""
    asked = next((r for r in picture.facts.of(Requirement) if r.name.startswith("tensorflow")), None)
    if asked is None:
        return picture.tensorflow.version if picture.tensorflow is not None and not picture.tensorflow.inferred else None
    stated = re.search(r"\d{1,4}\.\d+(?:\.\d+)?", asked.specifier)
    return stated[0] if stated else None


def why_none(picture: Picture, *, gone: bool) -> Reason:
    """The reason, the most telling first. gone: pip was given the address of a wheel, and nothing is there."""
    platform, version = picture.table_platform, asked_for(picture)
    python = commands.minor(picture.python.version) if picture.python is not None else None
    row = picture.tables.tensorflow(version, None, platform) if version else None
    offer = offered(picture)
    if gone:
        return Reason("The address that pip was given holds no such wheel: none of that release, Python and platform was put there.")
    if row is not None and python and python not in row.pythons:
        return Reason(f"TensorFlow {row.version} has wheels for Python {', '.join(row.pythons) or 'none'} on {platform}, and this is Python {python}.", (row,))
    if row is not None and python and listed_nothing(picture):
        return _unseen(picture, row, python)
    if version and offer is not None and version not in offer.releases:
        unknown = _newer_than_pip(picture, offer, version)
        if unknown is not None:
            return unknown
        offer = offer.lacking(picture, version)
        if picture.platform is None and offer.platforms == ("macos-x86_64",):
            return _intel_mac(picture, offer, version)
        has = f"it has wheels for Python {', '.join(row.pythons)}" if row is not None and row.pythons else f"it has no wheel for {platform}"
        return Reason(f"{offer}. TensorFlow {version} is not among them: {has}.", (row,) if row is not None else ())
    if python:
        have = [r for r in picture.tables.releases(platform, "tensorflow") if python in r.pythons]
        if not have:
            return Reason(f"No TensorFlow release has a wheel for Python {python} on {platform}.")
        return Reason(f"For Python {python} on {platform} there are wheels of TensorFlow {have[0].version} to {have[-1].version} only.", (have[0], have[-1]))
    if version and (row is None or not row.pythons):
        reason = _not_for_this_platform(picture, version)
        if reason is not None:
            return reason
    return Reason(
        "pip offers only what fits the Python and platform that it runs on; nothing did. Most often the Python is too new or too old for the release, or 32-bit."
    )


def _newer_than_pip(picture: Picture, offer: Offer, version: str) -> Reason | None:
    """The Python has a wheel of the release, by whose name the pip that made the list does not know it."""
    for platform, python in offer.places:
        asked, newest = (picture.tables.tensorflow(v, offer.package, platform) for v in (version, offer.releases[-1]))
        if asked is None or newest is None or python not in asked.pythons or (asked.gpu and not usable(picture, asked)):
            continue
        needs, knows = _wheel_name(asked), _wheel_name(newest)
        if needs is not None and knows is not None and needs > knows:
            tag, pip = _MANYLINUX[needs]
            again = installation(picture, asked, bare=True).requirements
            return Reason(
                f"{offer.listed}. TensorFlow {asked.version} has a wheel for Python {python} too, under a name ({tag}) that pip takes from {pip} on: this pip is older.",
                (asked,),
                (
                    shell(
                        commands.pip(picture, "install", "--upgrade", "pip"), f"any pip from {pip} on sees it"
                    ),
                    shell(
                        commands.pip(picture, "install", *again),
                        "the same again, with the bounds that the release does not state itself",
                    ),
                    *cures.driver_for(picture, asked),
                ),
                enough=True,
            )
    return None


def _wheel_name(row: TensorFlowRelease) -> int | None:
    """The oldest platform in the name of a Linux wheel, as a place in _MANYLINUX."""
    return next((place for place, (tag, _) in enumerate(_MANYLINUX) if tag in row.source), None)


def _intel_mac(picture: Picture, offer: Offer, version: str) -> Reason:
    """The list is that of a Mac with an Intel processor, whose wheels ended with 2.16."""
    rows = [r for r in picture.tables.releases("macos-x86_64", "tensorflow") if r.pythons and not r.yanked]
    text = (
        f"{offer} on Intel Macs. TensorFlow {version} has none for them; {rows[-1].version} is the newest that has. On Apple silicon this is a "
        "Python for Intel, which Rosetta translates: a native one (arm64) is offered the newer releases."
    )
    return Reason(text, (rows[-1],), target=rows[-1], platform="macos")


def _unseen(picture: Picture, row: TensorFlowRelease, python: str) -> Reason:
    """pip saw no release at all, where the tables have a wheel of this one for this Python and platform."""
    if picture.platform == "macos" and not _processor(picture):
        arm = [r for r in picture.tables.releases("macos-arm64", "tensorflow") if r.pythons and not r.yanked]
        if row.platform == "macos-x86_64" and arm:
            first = f"TensorFlow {row.version} has a wheel for Python {python} on Intel Macs. Where pip sees none this is Apple silicon, for which the wheels begin with {arm[0].version}."
            return Reason(first, (row, arm[0]), target=next(r for r in reversed(arm) if r.version.split(".")[:2] == arm[0].version.split(".")[:2]))
    return Reason(
        f"TensorFlow {row.version} has a wheel for Python {python} on {row.platform}, and pip saw no release at all: either the Python is another than that "
        "(32-bit, another processor, Alpine's musl), or pip is too old for the wheel's name, or the index that it asked has none or was not reached.",
        (row,),
        (
            shell(
                commands.pip(picture, "install", "--upgrade", "pip"),
                "an old pip does not know the names of newer wheels (manylinux2014 needs pip 19.3)",
            ),
            shell(
                commands.pip(picture, "config", "list"),
                "shows the index that pip asks, where it is not the usual one",
            ),
        ),
    )


def _not_for_this_platform(picture: Picture, version: str) -> Reason | None:
    """A release that has wheels, and none for the platform that the case names; which of Apple's two that is must be told."""
    platform = picture.table_platform
    if picture.platform is None or (picture.platform == "macos" and not _processor(picture)):
        return None
    rows = (picture.tables.tensorflow(version, None, p) for p in PLATFORMS)
    elsewhere = next((row for row in rows if row is not None and row.pythons), None)
    have = [r for r in picture.tables.releases(platform, "tensorflow") if r.pythons and not r.yanked]
    if elsewhere is None or not have:
        return None
    native = picture.tables.tensorflow(version, None, "macos-arm64") if platform == "macos-x86_64" else None
    text = f"TensorFlow {elsewhere.version} has no wheel for {platform}; {have[-1].version} is the newest that has."
    if native is None or not native.pythons:
        return Reason(text, (elsewhere, have[-1]))
    words = f"On Apple silicon this is a Python for Intel, which Rosetta translates: a native one (arm64, Python {' or '.join(native.pythons[-2:])}) has wheels of TensorFlow {native.version}"
    return Reason(text, (native, have[-1]), instead=(manual(words),))


def _processor(picture: Picture) -> bool:
    """Whether the case tells the processor's architecture."""
    return any(p.machine for p in picture.facts.of(Platform))
