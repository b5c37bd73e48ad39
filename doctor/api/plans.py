"""The answer of `doctor.api.plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doctor.api import known_format
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.plan import Outcome, Plan


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The versions that work together on a machine, and the commands to install them. The first of `plans` is
    the recommended one."""

    outcome: Outcome

    def __repr__(self) -> str:
        found = [finding.code for finding in self.findings]
        found += [f"TensorFlow {plan.tensorflow} ({plan.route})" for plan in self.plans]
        return f"<PlanReport: {', '.join(found)}>"

    @property
    def verdict(self) -> Finding | None:
        """The first obstacle, or None if there is none."""
        return self.outcome.findings[0] if self.outcome.findings else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The obstacles, in the request or on the machine."""
        return tuple(self.outcome.findings)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans, the best one first."""
        return tuple(self.outcome.plans)

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data that `plan --format json` prints (schema 1)."""
        from doctor.render import plans

        return plans.shared_document(self.outcome)

    def render(self, form: str = "text", *, width: int = 80, colour: bool = False, verbose: int = 0) -> str:
        """Return the plans for a person. The parameters are those of `Report.render`."""
        from doctor.render import plans

        known_format(form)
        return plans.rendered(self.outcome, form, width=width, colour=colour, verbose=bool(verbose))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the plans in the formats that a notebook can show."""
        return {"text/plain": self.render(), "text/markdown": self.render("markdown")}
