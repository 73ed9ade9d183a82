"""The test of two lists of repeats, against numbers from outside and by simulation."""

import math

import numpy as np
import pytest

from labkit.analysis.comparison.contrast import contrast, probability_beyond
from labkit.analysis.comparison.scatter import Scatter, find_scatter, pool_scatter

A = [math.exp(x) for x in (1.0, 2.0, 3.0)]
B = [math.exp(x) for x in (3.0, 4.0, 8.0)]


def test_welch_by_hand() -> None:
    # logs: means 2 and 5, variances 1 and 7; error = sqrt(1/3 + 7/3) = 1.63299
    # degrees = (8/3)^2 / ((1/3)^2 / 2 + (7/3)^2 / 2) = 7.1111 / 2.7778 = 2.56
    found = contrast(A, B)
    assert found.measure == "ratio"
    assert found.value == pytest.approx(math.exp(3))
    assert found.error == pytest.approx(math.sqrt(8 / 3))
    assert found.degrees == pytest.approx(2.56)
    assert found.deviation == pytest.approx(2.0)  # sqrt((1 + 7) / 2)


def test_pairs_by_hand() -> None:
    # differences 2, 2, 5: mean 3, deviation sqrt(3), error 1, t = 3 with 2 degrees;
    # with 2 degrees p = 1 - t / sqrt(2 + t^2) = 1 - 3 / sqrt(11), and t_0.975 = 4.302653
    found = contrast(A, B, paired=True)
    assert found.error == pytest.approx(1.0)
    assert found.degrees == 2
    assert found.p_value == pytest.approx(1 - 3 / math.sqrt(11))
    assert found.low is not None
    assert found.low == pytest.approx(math.exp(3 - 4.302653), rel=1e-6)


def test_a_zero_makes_it_a_difference() -> None:
    found = contrast([0.0, 1.0, 2.0], [2.0, 3.0, 4.0])
    assert (found.measure, found.value) == ("difference", 2.0)
    assert found.degrees == pytest.approx(4)
    assert found.low == pytest.approx(2 - 2.776445 * math.sqrt(2 / 3), rel=1e-6)


def test_one_repeat_tells_no_interval() -> None:
    found = contrast([2.0], [3.0, 3.1])
    assert found.value == pytest.approx(math.sqrt(3.0 * 3.1) / 2)
    assert (found.low, found.high, found.p_value) == (None, None, None)


def test_one_repeat_with_stored_noise() -> None:
    # error = 0.02 * sqrt(1 + 1) with 9 degrees, t_0.975 = 2.262157
    found = contrast([100.0], [110.0], noise=Scatter(0.02, 9))
    assert found.degrees == 9
    assert found.error == pytest.approx(0.02 * math.sqrt(2))
    assert found.low == pytest.approx(1.1 * math.exp(-2.262157 * 0.02 * math.sqrt(2)), rel=1e-6)


def test_stored_noise_is_pooled_with_two_own_repeats_and_left_alone_with_three() -> None:
    a, b = [1.0, math.exp(0.1)], [1.0, math.exp(0.1)]
    # own squares 2 * 0.005, stored 8 * 0.01: 0.09 / 10 degrees
    found = contrast(a, b, noise=Scatter(0.1, 8))
    assert found.degrees == 10
    assert found.deviation == pytest.approx(math.sqrt(0.09 / 10))
    assert contrast(A, B, noise=Scatter(0.1, 8)) == contrast(A, B)


@pytest.mark.parametrize(
    ("n", "p_value"),
    [(2, 2 / 6), (3, 2 / 20), (4, 2 / 70), (5, 2 / 252)],
)
def test_repeats_that_do_not_scatter_are_permuted(n: int, p_value: float) -> None:
    found = contrast([3.0] * n, [4.0] * n)
    assert found.p_value == pytest.approx(p_value)
    assert found.low is None
    assert contrast([3.0] * n, [3.0] * n).p_value == 1.0


def test_beyond_a_limit_by_hand() -> None:
    # two degrees: P(T < -t) = (1 - t / sqrt(2 + t^2)) / 2; the limit is one error below 3
    found = contrast(A, B, paired=True)
    expected = (1 - 1 / math.sqrt(3)) / 2
    assert probability_beyond(found, math.exp(2), "above") == pytest.approx(expected)
    assert probability_beyond(found, math.exp(2), "below") == pytest.approx(1 - expected)
    assert probability_beyond(contrast([1.0], [2.0]), 1.1, "above") == 1.0


def test_scatter_by_hand() -> None:
    found = find_scatter(A)
    assert found is not None
    assert (found.deviation, found.degrees) == (pytest.approx(1.0), 2)
    assert find_scatter([1.0]) is None
    assert find_scatter([0.0, 1.0]) is None
    pooled = pool_scatter([Scatter(1.0, 2), Scatter(2.0, 4)])
    assert pooled is not None
    assert pooled.deviation == pytest.approx(math.sqrt(18 / 6))
    assert pool_scatter([]) is None


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("paired", [False, True])
def test_intervals_cover_at_their_rate(n: int, paired: bool) -> None:
    """95 of 100 hold the true ratio of 1.05; 4,000 draws, three standard deviations are 1 %.

    Welch's t is a little wide where few repeats scatter alike: 96.5 of 100 with three.
    """
    rng = np.random.default_rng(7 * n + paired)
    traffic = rng.normal(0, 0.05 if paired else 0.0, (4000, n))
    a = np.exp(traffic + rng.normal(0, 0.03, (4000, n)))
    b = 1.05 * np.exp(traffic + rng.normal(0, 0.03, (4000, n)))
    held = 0
    for one, other in zip(a.tolist(), b.tolist(), strict=True):
        found = contrast(one, other, paired=paired)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.05 <= found.high
    assert 0.939 <= held / 4000 <= (0.975 if n == 3 and not paired else 0.961)


def test_intervals_with_stored_noise_cover_at_their_rate() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(4000):
        noise = find_scatter(np.exp(rng.normal(0, 0.03, 6)).tolist())
        a, b = np.exp(rng.normal(0, 0.03, (2, 1))).tolist()
        found = contrast(a, b, noise=noise)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.0 <= found.high
    assert held / 4000 == pytest.approx(0.95, abs=0.011)
