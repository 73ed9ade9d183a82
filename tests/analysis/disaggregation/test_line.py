"""Lines worked out by hand."""

import numpy as np
import pytest

from labkit.analysis.disaggregation.line import fit_line


def test_a_line_and_its_errors() -> None:
    # 1, 2, 4 at 1, 2, 3: slope 3/2 through (2, 7/3), 1/6, -1/3 and 1/6 off: variance 1/6.
    line = fit_line([1, 2, 3], [1, 2, 4], [1, 1, 1])
    assert (line.slope, line.height, line.middle) == (
        pytest.approx(1.5), pytest.approx(7 / 3), pytest.approx(2.0),
    )  # fmt: skip
    assert line.intercept == pytest.approx(7 / 3 - 3)
    assert line.at(4) == pytest.approx(7 / 3 + 3)
    assert line.height_error == pytest.approx((1 / 6 / 3) ** 0.5)
    assert line.slope_error == pytest.approx((1 / 6 / 2) ** 0.5)
    # 1, 2 and 4 where the line says 5/6, 7/3 and 23/6: 1/5, 1/7 and 1/23 off
    assert line.misfit == pytest.approx(((1 / 25 + 1 / 49 + 1 / 529) / 3) ** 0.5)
    assert (line.free, line.low_x, line.high_x, line.n) == (1, 1, 3, 3)


def test_a_mean_of_more_weighs_more() -> None:
    heavy = fit_line([0, 0, 1], [0, 1, 1], [3, 1, 4])
    assert heavy.intercept == pytest.approx(0.25)


def test_two_means_have_no_error() -> None:
    line = fit_line([1, 2], [1, 3], [5, 5])
    assert (line.height_error, line.slope_error) == (None, None)
    intercepts, slopes = line.draw(4, seed=1)
    assert slopes.tolist() == [2.0] * 4
    assert intercepts.tolist() == pytest.approx([-1.0] * 4)


def test_one_place_makes_no_line() -> None:
    with pytest.raises(ValueError, match="at least 2 different x, found 1"):
        fit_line([3, 3], [1, 2], [1, 1])


def test_draws_begin_with_the_fit_and_come_again() -> None:
    line = fit_line([1, 2, 3, 4], [1.0, 2.1, 2.9, 4.0], [9] * 4)
    intercepts, slopes = line.draw(500, seed=3)
    assert slopes[0] == pytest.approx(line.slope)
    assert intercepts[0] == pytest.approx(line.intercept)
    assert np.array_equal(slopes, line.draw(500, seed=3)[1])
    assert line.slope_error is not None
    # Student's t with 2 degrees of freedom: three quarters lie within 1.604 errors.
    inside = np.abs(slopes[1:] - line.slope) <= 1.604 * line.slope_error
    assert inside.mean() == pytest.approx(0.75, abs=0.06)
