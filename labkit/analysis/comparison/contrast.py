"""Two lists of numbers, one a repeat: how far apart they are, and how sure that is.

Positive numbers are compared as a ratio, by Student's t on their logarithms: noise of rates and
latencies is a share of them, so a ratio has one width for slow and fast settings. Others are
compared as a difference. The repeat is the unit. It must not know what the numbers are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from labkit.analysis.comparison.scatter import Scatter

Numbers = NDArray[np.float64]

MIN_OWN_REPEATS = 3
"""With fewer on either side a stored noise, where there is one, is used together with their own."""
NO_SCATTER = 1e-9
"""A standard error below this share is that of numbers that do not scatter."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """B against A: their ratio or difference with its 95 % interval and two-sided p-value."""

    measure: Literal["ratio", "difference"]
    value: float
    low: float | None
    high: float | None
    n_a: int
    n_b: int
    method: str
    p_value: float | None = None
    error: float | None = None
    """Standard error of the logarithm of the ratio, or of the difference."""
    degrees: float | None = None
    """Degrees of freedom; None where no t was used."""
    paired: bool = False

    @property
    def deviation(self) -> float | None:
        """The standard deviation between repeats (between pairs' differences) that it rests on."""
        if self.error is None:
            return None
        shares = 1 / self.n_a if self.paired else 1 / self.n_a + 1 / self.n_b
        return self.error / math.sqrt(shares)

    @property
    def estimate(self) -> float:
        """The logarithm of the ratio, or the difference: what `error` belongs to."""
        return math.log(self.value) if self.measure == "ratio" else self.value


def contrast(
    a: Sequence[float],
    b: Sequence[float],
    *,
    paired: bool = False,
    noise: Scatter | None = None,
) -> Contrast:
    """Compare the repeats of B with those of A; each needs at least one.

    With `paired` (equally many, in the same order) Student's t of the pairs; else Welch's t (Welch
    1947). With `noise` (standard deviation of logarithms) and fewer than three repeats on a side,
    the noise is pooled with the repeats' own and taken as that of both. Numbers that do not scatter
    are tested by the exact permutation test. One repeat and no noise: no interval.
    """
    positive = min(*a, *b) > 0
    one, other = (
        (np.log(a), np.log(b)) if positive else (np.asarray(a, float), np.asarray(b, float))
    )
    estimate = float(other.mean() - one.mean())
    few = min(len(a), len(b)) < MIN_OWN_REPEATS
    if few and noise is not None and positive:
        error, degrees = _pool(one, other, noise)
        return _tell(positive, estimate, a, b, "t, with the stored noise", error, degrees)
    if min(len(a), len(b)) < 2:
        return _tell(positive, estimate, a, b, "one repeat")
    tiny = NO_SCATTER * (1.0 if positive else max(1e-300, *map(abs, a), *map(abs, b)))
    if max(float(one.std()), float(other.std())) < tiny:
        return _permute(positive, estimate, a, b, tiny)
    if paired:
        apart = other - one
        error = float(apart.std(ddof=1)) / math.sqrt(len(apart))
        if error >= tiny:
            told = "t of pairs with equal traffic"
            return _tell(positive, estimate, a, b, told, error, len(apart) - 1, paired=True)
    error, degrees = _welch(one, other)
    return _tell(positive, estimate, a, b, "Welch's t", error, degrees)


def probability_beyond(found: Contrast, limit: float, side: Literal["above", "below"]) -> float:
    """Return the one-sided p-value of "the true value is not beyond this limit" (ratio or
    difference); 1.0 without a standard error, unless nothing scatters.
    """
    edge = math.log(limit) if found.measure == "ratio" else limit
    gap = found.estimate - edge if side == "above" else edge - found.estimate
    if found.error is None or found.degrees is None:
        certain = found.p_value is not None and gap > 0
        return _count_orders(found.n_a, found.n_b) if certain else 1.0
    return float(special.stdtr(found.degrees, -gap / found.error))


def _welch(a: Numbers, b: Numbers) -> tuple[float, float]:
    part_a, part_b = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
    total = part_a + part_b
    degrees = total**2 / (part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1))
    return math.sqrt(total), degrees


def _pool(
    a: Numbers,
    b: Numbers,
    noise: Scatter,
) -> tuple[float, float]:
    degrees = noise.degrees + len(a) - 1 + len(b) - 1
    squares = noise.deviation**2 * noise.degrees
    squares += sum(float(((own - own.mean()) ** 2).sum()) for own in (a, b))
    return math.sqrt(squares / degrees * (1 / len(a) + 1 / len(b))), degrees


def _permute(
    positive: bool, estimate: float, a: Sequence[float], b: Sequence[float], tiny: float
) -> Contrast:
    same = abs(estimate) < tiny
    p_value = 1.0 if same else min(1.0, 2 * _count_orders(len(a), len(b)))
    value = math.exp(estimate) if positive else estimate
    measure: Literal["ratio", "difference"] = "ratio" if positive else "difference"
    if same:
        value = 1.0 if positive else 0.0
    method = "exact permutation, no repeat scatters"
    return Contrast(measure, value, None, None, len(a), len(b), method, p_value)


def _count_orders(n_a: int, n_b: int) -> float:
    """Return how likely chance puts all of A below all of B."""
    return 1.0 / math.comb(n_a + n_b, n_a)


def _tell(
    positive: bool,
    estimate: float,
    a: Sequence[float],
    b: Sequence[float],
    method: str,
    error: float | None = None,
    degrees: float | None = None,
    *,
    paired: bool = False,
) -> Contrast:
    measure: Literal["ratio", "difference"] = "ratio" if positive else "difference"
    back = math.exp if positive else float
    if error is None or degrees is None or error == 0:
        return Contrast(measure, back(estimate), None, None, len(a), len(b), method)
    half = float(special.stdtrit(degrees, 0.975)) * error
    p_value = 2 * float(special.stdtr(degrees, -abs(estimate) / error))
    low, high = (_grow(edge, positive) for edge in (estimate - half, estimate + half))
    plain = Contrast(measure, back(estimate), low, high, len(a), len(b), method)
    return replace(plain, p_value=p_value, error=error, degrees=float(degrees), paired=paired)


def _grow(edge: float, positive: bool) -> float:
    return math.exp(min(edge, 700.0)) if positive else edge
