"""The words for a machine whose GPU is simulated: what the simulation does not show."""

from __future__ import annotations

from doctor.facts import Facts


def in_simulation(facts: Facts) -> str:
    """Return sentences that say what a simulation does not show: there is no GPU, and the simulation's
    libraries replace the environment's own."""
    words = "This is a simulation without a real GPU. "
    own = next(iter(facts.symptoms("simulated-libraries")), None)
    if own is None:
        return words
    words += "Its libraries replaced this environment's own CUDA libraries, which were not tested. "
    missing = own.get("missing")
    if missing:
        return (
            words + f"Without the simulation, these would not load: {missing}. A check outside the simulation"
            f" lists the steps that install them. "
        )
    return (
        words
        + "The environment has a file for each of its own libraries; only a check outside the simulation"
        " tests them. "
    )


def own_missing(facts: Facts) -> bool:
    """Whether a simulation's libraries replace some that the environment itself lacks."""
    return any(symptom.get("missing") for symptom in facts.symptoms("simulated-libraries"))


def title_in_simulation(facts: Facts) -> str:
    """The title for a simulated GPU that works."""
    if own_missing(facts):
        return (
            "A simulated GPU works; the environment's own CUDA libraries were not tested, and some are"
            " missing"
        )
    return "A simulated GPU is registered; no problem found"
