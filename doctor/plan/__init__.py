"""Before installing: which TensorFlow, Python, CUDA, cuDNN and driver go together, by the tables alone.

    facts, wish -> Ground -> weigh: every release by every route, judged by doctor.compat -> plans and findings

Pure and offline: facts come from doctor.probe or from a description (doctor.plan.described). The best plan is the
newest TensorFlow that needs the fewest changes; what a change costs stands in doctor.plan.candidate.COSTS.
"""

from __future__ import annotations

from doctor.plan.ground import Ground
from doctor.plan.plans import Outcome, Plan, make_plans
from doctor.plan.wish import Wish

__all__ = ["Ground", "Outcome", "Plan", "Wish", "make_plans"]
