"""Reads pip's list of releases. It contains the releases with a wheel for the Python that runs pip."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.tables.ordering import is_final, order
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.case import Case

PLATFORMS = ("linux-x86_64", "linux-aarch64", "windows-amd64", "macos-arm64", "macos-x86_64")


@dataclass(frozen=True)
class Offer:
    """The releases of `package` that pip lists, oldest first. `places`: the pairs of platform and Python for
    which, according to the tables, exactly these releases have wheels. There are several pairs if the list is
    ambiguous, and none if it fits no pair (for example, because a mirror lacks releases)."""

    package: str
    releases: tuple[str, ...]
    places: tuple[tuple[str, str], ...]

    @property
    def pythons(self) -> tuple[str, ...]:
        """The Python versions in `places`, oldest first."""
        return tuple(sorted({python for _, python in self.places}, key=order))

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms in `places`, as the tables name them."""
        return tuple(dict.fromkeys(platform for platform, _ in self.places))

    @property
    def listed(self) -> str:
        """A clause about the releases that pip lists, without a full stop."""
        first, last = self.releases[0], self.releases[-1]
        return f"pip lists {self.package} {first}" + (f" to {last}" if last != first else "") + " here"

    def __str__(self) -> str:
        return (
            f"{self.listed}: the releases with wheels for Python {' or '.join(self.pythons)}"
            if self.places
            else self.listed
        )

    def lacking(self, case: Case, version: str) -> Offer:
        """Return the offer without the places for which the release `version` has a wheel, because pip would
        have listed that release there. If no places would be left, return the offer unchanged."""
        left = []
        for platform, python in self.places:
            row = case.tables.tensorflow(version, self.package, platform)
            if row is None or python not in row.pythons:
                left.append((platform, python))
        return Offer(self.package, self.releases, tuple(left)) if left else self


def offered(case: Case) -> Offer | None:
    """Return the offer in pip's "(from versions: …)"; None if the list contains no final release that is in
    the tables."""
    for symptom in case.facts.symptoms("no-matching-distribution"):
        package = symptom.get("name")
        listed = _finals(symptom.get("versions"))
        known = {
            row.version for row in case.tables.releases(None, package) if row.pythons
        }  # the stub tensorflow-gpu 2.12 has no Python
        releases = tuple(version for version in listed if version in known)
        if releases:
            platforms = (case.table_platform,) if case.platform is not None else PLATFORMS
            places = [
                (platform, python)
                for platform in platforms
                for python in sorted(_pythons(case, package, platform, releases), key=order)
            ]
            return Offer(package, releases, tuple(places))
    return None


def listed_nothing(case: Case) -> bool:
    """Whether pip saw no release at all: "(from versions: none)"."""
    symptoms = case.facts.symptoms("no-matching-distribution")
    return any(
        s.get("versions").strip() in ("", "none") and "from versions" in s.source.text for s in symptoms
    )


def _finals(listed: str) -> list[str]:
    """The final releases in pip's list, oldest first."""
    return sorted((word for word in re.split(r"[,\s]+", listed) if is_final(word)), key=order)


def _pythons(case: Case, package: str, platform: str, releases: tuple[str, ...]) -> list[str]:
    """The Python versions for which pip would offer exactly these releases, according to the tables; releases
    newer than the last in the list are ignored."""
    rows = [r for r in case.tables.releases(platform, package) if order(r.version) <= order(releases[-1])]
    pythons = {python for row in rows for python in row.pythons}
    wanted = set(releases)
    return [
        python
        for python in pythons
        if {r.version for r in rows if python in r.pythons and not r.yanked}
        <= wanted
        <= {r.version for r in rows if python in r.pythons}
    ]
