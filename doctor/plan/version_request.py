"""The versions of TensorFlow, Python, CUDA and cuDNN that a user requests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor import lazy
from doctor.errors import UsageError
from doctor.facts import Source
from doctor.tables import Tables
from doctor.tables.ordering import is_final, order
from doctor.tables.ranges import satisfies
from doctor.tables.versions import minor
from doctor.values import dataclass

_PLAIN = lazy.compile(r"v?(\d+(?:\.\d+)*(?:\.?(?:rc|a|b|post|dev)\d+)?)(?:\.[*xX])?")


def exact(spec: str) -> str:
    """Return the version in a specifier that allows only one version, without "=="; other specifiers stay
    unchanged."""
    return re.sub(r"^={2,3} *(?=[^,]+$)", "", spec.strip())


@dataclass(frozen=True, slots=True)
class VersionRequest:
    """The requested versions. None and empty mean "any".

    tensorflow: "2.15", "==2.15.1", ">=2.16,<2.19", "~=2.15", "latest". python: "3.12". cuda, cudnn: installed
    versions that the plan must use. cpu: whether a plan for the CPU was requested. source: where the
    TensorFlow version is requested ("--tensorflow", "requirements.txt"), with line and text if it is a file;
    python_source: where the Python version is requested, if not by an option; pythons: the range of Python
    versions that a file allows.
    """

    tensorflow: str = ""
    python: str | None = None
    cuda: str | None = None
    cudnn: str | None = None
    source: str = "--tensorflow"
    line: int | None = None
    text: str = ""
    python_source: Source | None = None
    cpu: bool = False
    pythons: str = ""

    def takes(self, python: str) -> bool:
        """Whether a Python version ("3.12") is within the range that a file allows."""
        if not self.pythons:
            return True
        from doctor.plan.specifiers import together

        return together(self.pythons, f"=={python}.*")

    @property
    def in_words(self) -> str:
        """The requested TensorFlow for people: "2.15.1" for "==2.15.1"; a range stays as it is."""
        return exact(self.tensorflow)

    def away(self, versions: Sequence[str], newest: str) -> dict[str, int]:
        """Return how far each release is from the nearest one that fits the request: 0 if it fits, otherwise
        1 more than the number of minor versions between them. So the patch releases of one minor version are
        equally far. versions: all releases, the oldest first; newest: as in `allows`."""
        at = {name: i for i, name in enumerate(dict.fromkeys(map(minor, versions)))}
        fits = [version for version in versions if self.allows(version, newest)]
        wished = {at[minor(version)] for version in fits}
        away = {v: 1 + min((abs(at[minor(v)] - one) for one in wished), default=1) for v in versions}
        return {**away, **dict.fromkeys(fits, 0)}

    def allows(self, version: str, newest: str) -> bool:
        """Whether a release fits the request. newest: the newest final release; "latest" means this one.

        As in pip, a pre-release fits only if the request contains a pre-release. Raises UsageError for a
        request that cannot be read.
        """
        spec = self.tensorflow.strip()
        if not spec:
            return is_final(version)
        if spec.lower() in ("latest", "newest"):
            return version == newest
        plain = _PLAIN.fullmatch(spec)
        if plain:
            return _prefix(version, plain[1])
        try:
            if "+" in spec:  # a local version: a build that is not in the tables
                raise ValueError(spec)
            fits = satisfies(version, spec)
        except ValueError:
            raise UsageError(
                f"`{spec}` is not a TensorFlow version or range",
                "write 2.15, ==2.15.1, '>=2.16,<2.19' or latest",
            ) from None
        names_prerelease = any(not is_final(bound.rstrip(".")) for bound in re.findall(r"\d[\w.]*", spec))
        return fits and (is_final(version) or names_prerelease)


def _prefix(version: str, asked: str) -> bool:
    """Whether a version is the requested one or belongs to the requested series, as 2.15.1 belongs to 2.15. A
    pre-release must be requested in full."""
    if version == asked:
        return True
    if asked.count(".") > 1:
        return False  # a release, not a series
    return is_final(version) and version.startswith(asked) and version[len(asked)] == "."


def newest_final(tables: Tables) -> str:
    """Return the newest final release on any platform."""
    return max(filter(is_final, tables.versions("tensorflow")), key=order)


def check(version_request: VersionRequest, tables: Tables) -> None:
    """Raise UsageError, with the nearest releases, if no release at all fits the request."""
    if not version_request.tensorflow:
        return
    newest = newest_final(tables)
    versions = {row["version"] for row in tables.store.all("tensorflow")}
    if any(version_request.allows(version, newest) for version in versions):
        return
    from doctor.tables.ordering import nearest

    asked = re.search(r"\d+(?:\.\d+)*", version_request.tensorflow)
    near = nearest(asked[0], [v for v in versions if is_final(v)]) if asked else []
    raise UsageError(
        f"the tables from {tables.date} contain no TensorFlow release `{version_request.tensorflow}`; the"
        f" newest is {newest}",
        f"the nearest releases are {', '.join(near)}" if near else "",
    )
