"""The model held against what the one engine did when it did both, point by point.

It must not make a plan, nor put a check into words.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from labkit.analysis.disaggregation.inputs import SEED, Inputs, draw_fits
from labkit.analysis.disaggregation.plan import Range
from labkit.analysis.disaggregation.simulate import draw_arrivals, simulate

MAX_DEVIATION = 0.25
"""A prediction further off, and outside its own interval, does not describe the engine."""
MAX_SPAN = 4.0
"""An interval whose ends are further apart than so many times lets nearly anything pass."""
LANES = 100
NAMES = {"ttft_s": "TTFT", "tpot_s": "TPOT"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One point of the engine doing both: its rate, and the quantile of each latency in s."""

    point_id: str
    rate_per_s: float
    num_requests: int
    ttft_s: float
    tpot_s: float
    slo_attainment: float | None


@dataclass(frozen=True, slots=True)
class Compared:
    """One quantile of one point, predicted and measured, in s.

    The interval holds 95 % of simulations of as many requests, the fits drawn anew for each.
    """

    point_id: str
    name: str
    """ttft_s or tpot_s."""
    rate_per_s: float
    num_requests: int
    predicted: Range
    measured: float

    @property
    def deviation(self) -> float:
        """Predicted against measured, as a share of the smaller: 0.25 for 25 % off either way."""
        pair = (self.predicted.value, self.measured)
        return max(pair) / max(min(pair), 1e-12) - 1

    @property
    def is_wide(self) -> bool:
        """Whether the interval is too wide to check by."""
        low, high = self.predicted.low or 0.0, self.predicted.high or 0.0
        return high > MAX_SPAN * low

    @property
    def holds(self) -> bool:
        """Whether the prediction describes the engine here."""
        low, high = self.predicted.low or 0.0, self.predicted.high or 0.0
        return self.deviation <= MAX_DEVIATION or low <= self.measured <= high


@lru_cache(maxsize=8)
def check(inputs: Inputs, points: tuple[Measured, ...]) -> tuple[Compared, ...]:
    """Return TTFT and TPOT of every point, predicted from its rate alone, beside the measured."""
    draws = draw_fits(inputs)
    found = []
    for number, point in enumerate(points):
        lanes = np.concatenate([[0], 1 + np.arange(LANES) % max(1, draws.num_draws - 1)])
        part = draws.take(np.minimum(lanes, draws.num_draws - 1))
        rate = np.full(len(lanes), point.rate_per_s)
        arrivals = draw_arrivals(
            len(lanes), point.num_requests, len(inputs.prompt_tokens), SEED + 1 + number
        )
        told = simulate(rate, part.stream, part.service_s, part.chunks, arrivals)
        for name, seconds in zip(NAMES, told, strict=True):
            each = np.quantile(seconds, inputs.quantile, axis=1)
            low, middle, high = (float(one) for one in np.quantile(each, [0.025, 0.5, 0.975]))
            found.append(
                Compared(
                    point_id=point.point_id,
                    name=name,
                    rate_per_s=point.rate_per_s,
                    num_requests=point.num_requests,
                    predicted=Range(middle, low, high),
                    measured=getattr(point, name),
                )
            )
    return tuple(found)
