"""Whether the planning model may recommend anything: its fits and its check must carry it.

It must not know what is recommended.
"""

from collections.abc import Sequence

from labkit.analysis import words
from labkit.analysis.disaggregation.check import MAX_DEVIATION, NAMES, Compared
from labkit.analysis.disaggregation.gather import TOGETHER
from labkit.analysis.disaggregation.plan import Plan

MIN_KEPT = 0.5
"""The share of draws about the fits that a machine could have; fewer say too little."""


def doubt_model(plan: Plan, compared: Sequence[Compared]) -> str:
    """Return why the model may not recommend anything, nothing where it may."""
    if plan.kept_draws < MIN_KEPT:
        return "the errors of the fits are so large that most draws about them make no machine"
    off = [one for one in compared if not one.holds]
    if off:
        worst = max(off, key=lambda one: one.deviation)
        return (
            "it does not describe this engine: at "
            f"{words.per_second(worst.rate_per_s, 'requests')} it predicts a "
            f"{NAMES[worst.name]} of {words.seconds(worst.predicted.value)}, and "
            f"{words.seconds(worst.measured)} was measured ({words.percent(MAX_DEVIATION)} apart "
            "allowed)"
        )
    sharp = [one for one in compared if not one.is_wide]
    if {one.name for one in sharp} != set(NAMES):
        return (
            f"there is nothing to check it by: no point of the series {TOGETHER} whose TTFT and "
            "TPOT the model can predict within narrow bounds"
        )
    return ""
