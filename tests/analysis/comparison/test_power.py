"""How many repeats an effect takes, and whether they find it as often as promised."""

import math

import numpy as np
import pytest

from labkit.analysis.comparison.contrast import contrast
from labkit.analysis.comparison.correction import adjust
from labkit.analysis.comparison.power import count_repeats, find_detectable, find_power


def test_the_textbook_sample_size() -> None:
    # Cohen (1988), table 2.4.1: two-sided 5 %, power 0.80, d = 0.5, 0.8, 1.0: 64, 26, 17 a group
    assert [count_repeats(1.0, d, 0.05) for d in (0.5, 0.8, 1.0)] == [64, 26, 17]
    # a paired or one-sample t with d = 0.5: 34 (G*Power 3.1)
    assert count_repeats(1.0, 0.5, 0.05, paired=True) == 34


def test_power_without_effect_is_half_the_level() -> None:
    # the other half are findings on the wrong side
    assert find_power(0.0, 8, 0.05) == pytest.approx(0.025)


def test_the_detectable_effect_has_the_power() -> None:
    found = find_detectable(2.0, 8, 0.01)
    assert find_power(found / 2.0, 8, 0.01) == pytest.approx(0.8, abs=1e-6)
    assert math.isinf(find_detectable(1.0, 1, 1e-12))


def test_what_no_number_of_repeats_would_find() -> None:
    assert count_repeats(1.0, 0.001, 0.05) is None
    assert count_repeats(0.0, 0.05, 0.05) == 2


def test_holm_by_hand() -> None:
    # sorted 0.01, 0.02, 0.03, 0.5: times 4, 3, 2, 1, each at least the one before
    assert adjust([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert adjust([]) == []
    assert adjust([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 20])
def test_a_true_five_per_cent_is_found_at_the_promised_power(paired: bool, alpha: float) -> None:
    """With noise of 3 %; one repeat fewer must promise less than 80 %."""
    deviation = 0.03 * (math.sqrt(2) if paired else 1)
    n = count_repeats(deviation, math.log(1.05), alpha, paired=paired)
    assert n is not None
    fewer = n - 1
    shift = math.log(1.05) / deviation * math.sqrt(fewer if paired else fewer / 2)
    assert find_power(shift, fewer - 1 if paired else 2 * (fewer - 1), alpha) < 0.8
    rng = np.random.default_rng(11)
    a = np.exp(rng.normal(0, 0.03, (3000, n))).tolist()
    b = (1.05 * np.exp(rng.normal(0, 0.03, (3000, n)))).tolist()
    found = 0
    for one, other in zip(a, b, strict=True):
        p_value = contrast(one, other, paired=paired).p_value
        assert p_value is not None
        found += p_value < alpha
    assert 0.78 <= found / 3000 < 0.92
