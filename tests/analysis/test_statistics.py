import math

import pytest

from labkit.analysis.statistics import (
    bootstrap_interval,
    compare,
    distribution,
    mean_interval,
    percentile,
    percentile_supported,
    ratio_interval,
    t_quantile,
)


def test_percentiles_of_one_to_four():
    # Rank q * 3: p50 at 1.5, p90 at 2.7, p95 at 2.85, p99 at 2.97.
    found = distribution([4.0, 1.0, 3.0, 2.0])
    assert found == pytest.approx(
        {"mean": 2.5, "p50": 2.5, "p90": 3.7, "p95": 3.85, "p99": 3.97, "n": 4}
    )
    assert percentile([1, 2, 3, 4], 0.25) == pytest.approx(1.75)


def test_one_value_and_none():
    assert distribution([]) is None
    assert distribution([7.0])["p99"] == 7.0
    with pytest.raises(ValueError, match="at least one value"):
        percentile([], 0.5)


@pytest.mark.parametrize(
    ("n", "quantile", "expected"),
    [(99, 0.99, False), (100, 0.99, True), (19, 0.95, False), (20, 0.95, True), (2, 0.5, True)],
)
def test_what_a_percentile_needs(n, quantile, expected):
    assert percentile_supported(n, quantile) is expected


def test_t_interval():
    # Mean 12, standard deviation 2, three repeats: 4.303 * 2 / sqrt(3) = 4.9687.
    found = mean_interval([10.0, 12.0, 14.0])
    assert found.low == pytest.approx(7.0313, abs=1e-4)
    assert found.high == pytest.approx(16.9687, abs=1e-4)
    assert found.between_runs
    assert mean_interval([10.0]) is None


def test_t_is_rounded_to_the_wider_side():
    assert t_quantile(1.9) == 12.706
    assert t_quantile(24) == 2.086
    assert t_quantile(1000) == 1.980
    with pytest.raises(ValueError, match="degree of freedom"):
        t_quantile(0.5)


def test_bootstrap_is_seeded_and_says_it_stays_inside_one_run():
    values = [float(n) for n in range(20)]
    first, second = bootstrap_interval(values, seed=1), bootstrap_interval(values, seed=1)
    assert first == second
    assert first.low < 9.5 < first.high
    assert not first.between_runs
    assert bootstrap_interval([1.0]) is None
    constant = bootstrap_interval([3.0] * 5)
    assert (constant.low, constant.high) == (3.0, 3.0)


def test_bootstrap_of_another_statistic():
    found = bootstrap_interval([1.0, 2.0, 9.0], lambda sample: sample.max(axis=-1))
    assert found.high == 9.0


@pytest.mark.parametrize(
    ("a", "b", "resolved"),
    [
        ([100], [111.2], True),
        ([100], [109], False),
        ([0], [0], False),
        ([10, 11, 12], [20, 21, 22], True),
        ([10, 20, 30], [15, 25, 35], False),
        ([5, 5], [5, 5], False),
        ([5, 5], [6, 6], True),
        ([100, 101], [130], True),
    ],
)
def test_compare(a, b, resolved):
    assert compare(a, b).resolved is resolved
    assert compare(b, a).resolved is resolved


def test_welch_by_hand():
    # Variances 1 and 1 over 3 and 3: error sqrt(2/3), 4 degrees of freedom, t 2.776.
    found = compare([10, 11, 12], [20, 21, 22])
    assert found.difference == 10
    assert found.ratio == pytest.approx(21 / 11)
    assert found.interval.low == pytest.approx(10 - 2.2666, abs=1e-3)
    assert compare([0], [1]).ratio is None


def test_the_interval_of_a_ratio_is_of_logarithms():
    # logs: (0, ln 2) and (ln 2, ln 4): difference ln 2, each variance (ln 2)^2 / 2, so the
    # standard error is ln 2 / sqrt 2, with 2 degrees of freedom: t = 4.303
    found = ratio_interval([1, 2], [2, 4])
    half = 4.303 * math.log(2) / math.sqrt(2)
    assert found.low == pytest.approx(2 * math.exp(-half))
    assert found.high == pytest.approx(2 * math.exp(half))
    assert ratio_interval([1], [2, 4]) is None
    assert ratio_interval([0, 1], [2, 4]) is None
