"""A cure: steps, and the TensorFlow release that runs after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from doctor.findings import Step
from doctor.remedies import code, commands, environments
from doctor.shell import Command, Path, Word
from doctor.values import cached_property, dataclass, replace

if TYPE_CHECKING:
    from doctor.case import Case


@dataclass(frozen=True, slots=True)
class Cure:
    """Steps, and the TensorFlow release that the program uses after them.

    version: the TensorFlow release; None if unknown. python: the command, as words, that starts its Python;
    () for the case's Python.
    """

    steps: tuple[Step, ...]
    version: str | None = None
    python: tuple[Word, ...] = ()

    def lists_gpus(self, case: Case) -> Command:
        """The command that shows, after the steps, which GPUs TensorFlow registers."""
        return commands.run_python(case, code.list_gpus(self._api(case)), self.python)

    def convolves(self, case: Case) -> Command:
        """The command that, after the steps, makes TensorFlow create its cuDNN handle."""
        return commands.run_python(case, code.convolution(self._api(case)), self.python)

    def _api(self, case: Case) -> str | None:
        """The release for which code must be written after the steps."""
        return self.version if self.version is not None or self.python else case.api

    def after(self, *steps: Step) -> Cure:
        """The same cure, with these steps first."""
        return replace(self, steps=(*steps, *self.steps))

    def then(self, *steps: Step) -> Cure:
        """The same cure, with these steps last."""
        return replace(self, steps=(*self.steps, *(s for s in steps if s not in self.steps)))


def python_of(env: str, kind: str) -> tuple[Word, ...]:
    """The command, as words, that starts the Python of a virtual environment."""
    return (Path(environments.interpreter(env, kind)),)


class Later:
    """A cure that is worked out only when a finding uses it, because most rules find nothing."""

    def __init__(self, make: Callable[[Case], Cure], case: Case) -> None:
        self._make = make
        self._case = case

    @cached_property
    def _cure(self) -> Cure:
        return self._make(self._case)

    def __iter__(self) -> Iterator[Step]:
        return iter(self._cure.steps)

    def lists_gpus(self) -> Command:
        """See Cure.lists_gpus."""
        return self._cure.lists_gpus(self._case)

    def convolves(self) -> Command:
        """See Cure.convolves."""
        return self._cure.convolves(self._case)
