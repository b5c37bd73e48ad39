"""Plans an installation: which TensorFlow, Python, CUDA, cuDNN and driver work together, from the tables
alone.

    facts, VersionRequest -> PlanContext -> weigh: every release by every route, judged by doctor.compat ->
    plans, findings

Pure and offline: facts come from doctor.probe or from a description (doctor.plan.described). The best plan is
the newest TensorFlow that needs the fewest changes; doctor.plan.candidate.COSTS contains the cost of each
change.
"""

from __future__ import annotations

from doctor.plan.context import PlanContext
from doctor.plan.plans import Outcome, Plan, make_plans
from doctor.plan.version_request import VersionRequest

__all__ = ["Outcome", "Plan", "PlanContext", "VersionRequest", "make_plans"]
