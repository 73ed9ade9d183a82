"""How much a number scatters between repeats of the same thing: the noise.

It knows numbers only; where noise is kept is not its concern.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Scatter:
    """The standard deviation of the logarithms of repeats, about their share of the mean."""

    deviation: float
    degrees: int
    """Repeats less one, added up over sets of repeats."""

    @property
    def variation(self) -> float:
        """The coefficient of variation that log-normal numbers with this deviation have."""
        return math.sqrt(math.expm1(self.deviation**2))


def find_scatter(repeats: Sequence[float]) -> Scatter | None:
    """Return the scatter of repeats of one thing; None below two or where one is not positive."""
    if len(repeats) < 2 or min(repeats) <= 0:
        return None
    return Scatter(float(np.log(repeats).std(ddof=1)), len(repeats) - 1)


def pool_scatter(found: Iterable[Scatter]) -> Scatter | None:
    """Return the scatter of several sets of repeats together, weighted by degrees of freedom."""
    sets = list(found)
    degrees = sum(one.degrees for one in sets)
    if not degrees:
        return None
    squares = sum(one.deviation**2 * one.degrees for one in sets)
    return Scatter(math.sqrt(squares / degrees), degrees)
