"""Percentiles and intervals, with numpy only.

It knows numbers and nothing about requests, engines or points. The unit of an interval between runs
is the repeat: requests inside one run share a queue and a batch and are not independent, so a
bootstrap within a run describes that run and never the difference between two runs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

QUANTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
SINGLE_RUN_RESOLUTION = 0.10
Z_975 = 1.959964
# Two-sided 95 % quantiles of Student's t (0.975), by degrees of freedom.
_T_975 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
    10: 2.228, 11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120, 17: 2.110,
    18: 2.101, 19: 2.093, 20: 2.086, 25: 2.060, 30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval; `between_runs` is False where it only describes the inside of one run."""

    low: float
    high: float
    n: int
    between_runs: bool
    method: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """How b differs from a: means, difference b - a, ratio b / a, and whether it is resolved."""

    mean_a: float
    mean_b: float
    difference: float
    ratio: float | None
    interval: Interval | None
    resolved: bool
    basis: str
    resolution: float = SINGLE_RUN_RESOLUTION
    """With one repeat: the share of the larger one from which a difference is resolved."""


def percentile(values: Sequence[float], quantile: float) -> float:
    """Return the linear-interpolated quantile (0..1), at rank quantile * (n - 1); n must be > 0."""
    if not len(values):
        raise ValueError("expected at least one value, found none; check for an empty set first")
    return float(np.quantile(np.asarray(values, dtype=float), quantile))


def percentile_supported(n: int, quantile: float) -> bool:
    """Tell whether n values put at least one of them above the quantile: n * (1 - q) >= 1."""
    return round(n * (1.0 - quantile), 9) >= 1.0


def distribution(values: Sequence[float] | NDArray[np.float64]) -> dict[str, Any] | None:
    """Return {"mean", "p50", "p90", "p95", "p99", "n"} in the unit of the values; None if empty."""
    array = np.asarray(values, dtype=float)
    if array.size == 0:
        return None
    found = np.quantile(array, list(QUANTILES.values()))
    result: dict[str, Any] = {"mean": float(array.mean())}
    result.update({name: float(value) for name, value in zip(QUANTILES, found, strict=True)})
    result["n"] = int(array.size)
    return result


def trend_probability(values: Sequence[float]) -> float:
    """Return how likely values without a trend are to rise or fall with their place as these do.

    Spearman's rank correlation of value and place (ties share their mean rank), two-sided, by the
    normal approximation rho * sqrt(n - 1); 1.0 below two values or where all are equal.
    """
    array = np.asarray(values, dtype=float)
    _, place, sizes = np.unique(array, return_inverse=True, return_counts=True)
    if sizes.size < 2:
        return 1.0
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[place]
    rho = float(np.corrcoef(np.arange(array.size), ranks)[0, 1])
    return math.erfc(abs(rho) * math.sqrt((array.size - 1) / 2))


def t_quantile(degrees: float) -> float:
    """Return Student's t for a two-sided 95 % interval, rounded towards fewer degrees (wider)."""
    if degrees < 1:
        raise ValueError(f"expected at least 1 degree of freedom, found {degrees}; add repeats")
    if degrees > 120:
        return _T_975[120]
    return _T_975[max(key for key in _T_975 if key <= degrees)]


def mean_interval(repeats: Sequence[float]) -> Interval | None:
    """Return the 95 % t interval of the mean over repeats, one number a repeat; None below two."""
    n = len(repeats)
    if n < 2:
        return None
    array = np.asarray(repeats, dtype=float)
    half = t_quantile(n - 1) * float(array.std(ddof=1)) / math.sqrt(n)
    mean = float(array.mean())
    return Interval(mean - half, mean + half, n, True, "t interval over repeats")


def bootstrap_interval(
    values: Sequence[float],
    statistic: Callable[[NDArray[np.float64]], Any] | None = None,
    *,
    seed: int = 0,
    num_resamples: int = 1000,
) -> Interval | None:
    """Return the 95 % percentile bootstrap interval within one run; None below two values.

    `statistic` maps an array (num_resamples, n) to num_resamples numbers; by default the mean over
    the last axis. Equal seeds give equal intervals. The values are resampled as if independent,
    which they are not inside a run: `between_runs` is False.
    """
    array = np.asarray(values, dtype=float)
    if array.size < 2:
        return None
    picks = np.random.default_rng(seed).integers(0, array.size, (num_resamples, array.size))
    sample = array[picks]
    found = sample.mean(axis=-1) if statistic is None else np.asarray(statistic(sample))
    low, high = np.quantile(found, [0.025, 0.975])
    return Interval(float(low), float(high), int(array.size), False, "bootstrap within one run")


def wilson_interval(hits: int, n: int) -> Interval | None:
    """Return the 95 % interval of a share of which n were counted (Wilson 1927); None for n = 0.

    It takes what was counted as independent, which requests inside one run are not: the true
    interval is wider.
    """
    if n < 1:
        return None
    square, share = Z_975**2, hits / n
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = Z_975 * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Interval(low, high, n, False, "Wilson's interval")


def ratio_interval(a: Sequence[float], b: Sequence[float]) -> Interval | None:
    """Return the 95 % interval of mean b over mean a: Welch's t on the logarithms of the repeats.

    None below two repeats on a side, or where a number is not above 0. The means are geometric.
    """
    if min(len(a), len(b)) < 2 or min(*a, *b) <= 0:
        return None
    found = compare(np.log(a).tolist(), np.log(b).tolist()).interval
    if found is None:
        return None
    low, high = math.exp(found.low), math.exp(found.high)
    return Interval(low, high, found.n, True, "Welch's t interval of logarithms")


def compare(
    a: Sequence[float], b: Sequence[float], resolution: float = SINGLE_RUN_RESOLUTION
) -> Comparison:
    """Compare two values by their repeats (one number a repeat, at least one each).

    With two or more repeats on both sides: Welch's 95 % t interval of the difference of the means
    (Welch 1947), resolved where it leaves out 0. Otherwise: resolved from a difference of
    `resolution`, a share of the larger one, upwards: a rule of thumb and not a confidence.
    """
    mean_a, mean_b = float(np.mean(a)), float(np.mean(b))
    difference = mean_b - mean_a
    ratio = mean_b / mean_a if mean_a != 0 else None
    if min(len(a), len(b)) < 2:
        larger = max(abs(mean_a), abs(mean_b))
        resolved = larger > 0 and abs(difference) >= resolution * larger
        told = (mean_a, mean_b, difference, ratio, None, resolved, "one repeat")
        return Comparison(*told, resolution)
    part_a, part_b = float(np.var(a, ddof=1)) / len(a), float(np.var(b, ddof=1)) / len(b)
    total = part_a + part_b
    half = 0.0
    if total > 0:
        degrees = total**2 / (part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1))
        half = t_quantile(max(1.0, degrees)) * math.sqrt(total)
    interval = Interval(
        difference - half, difference + half, min(len(a), len(b)), True, "Welch's t interval"
    )
    resolved = difference != 0 and not interval.low <= 0 <= interval.high
    return Comparison(mean_a, mean_b, difference, ratio, interval, resolved, "repeats")
