"""Defines the result of a search for a library: the file that would be loaded, or why dlopen would fail."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.probe.elf import Elf
from doctor.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Candidate:
    """One file that the search found: its path, the step that found it, and what makes it unusable ("" if
    nothing does)."""

    path: str
    via: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of dlopen for a name.

    path: the file that would be loaded, None if the call would fail; via: the step of the search that found
    it. error: the loader's own message; cause: "absent", "broken", or "unknown" if a place could not be
    examined (`unseen`: paths and reasons); culprit: the file or name that causes the failure. shadowed:
    further files of that name, after the one at which the search ends.
    """

    name: str
    path: str | None = None
    via: str = ""
    error: str = ""
    cause: str = ""
    culprit: str | None = None
    shadowed: tuple[Candidate, ...] = ()
    skipped: tuple[Candidate, ...] = ()
    unseen: tuple[tuple[str, str], ...] = ()

    @property
    def message(self) -> str:
        """The loader's message, and the first file that it silently skipped."""
        first = self.skipped[0] if self.skipped else None
        return self.error + (f" (skipped: {first.path}, {first.problem})" if first else "")

    @property
    def blamed(self) -> str:
        """The file that makes the call fail; "" if there is none."""
        if self.skipped and self.cause == "broken":
            return self.skipped[0].path
        return self.culprit if self.culprit and self.culprit.startswith("/") else ""


@dataclass
class Loaded:
    """A library or program in the process: its path, its header, the object that loaded it, and the names by
    which it was requested."""

    path: str
    header: Elf
    loader: Loaded | None = None
    names: set[str] = field(default_factory=set)


class Refused(Exception):  # noqa: N818
    """Raised when a simulated call fails; contains the data for its Resolution."""

    def __init__(
        self,
        error: str,
        cause: str,
        culprit: str | None,
        seen: Iterable[Candidate] = (),
        unseen: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(error)
        self.error, self.cause, self.culprit = error, cause, culprit
        self.seen, self.unseen = tuple(seen), unseen


def refused(name: str, refusal: Refused, via: str, shadowed: tuple[Candidate, ...]) -> Resolution:
    """The Resolution of a dlopen call that fails with `refusal`."""
    details = refusal.error, refusal.cause, refusal.culprit, shadowed, refusal.seen, refusal.unseen
    return Resolution(name, None, via, *details)
