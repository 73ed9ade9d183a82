import math

import pytest

from labkit.analysis.series import combine, gauge, increase, pairs


def test_mean_is_weighted_by_time():
    # Over [0, 10]: 4 holds until 2 (midway of 1 and 3), 8 until 5 (midway of 3 and 7), 2 after.
    found = gauge([(1.0, 4.0), (3.0, 8.0), (7.0, 2.0)], 0.0, 10.0)
    assert found == {"mean": pytest.approx((4 * 2 + 8 * 3 + 2 * 5) / 10), "max": 8.0, "n": 3}


def test_samples_outside_the_window_do_not_count():
    found = gauge([(-1.0, 99.0), (2.0, 1.0), (11.0, 99.0)], 0.0, 10.0)
    assert found == {"mean": 1.0, "max": 1.0, "n": 1}


def test_empty_and_instant_windows():
    assert gauge([], 0.0, 10.0) is None
    assert gauge([(11.0, 1.0)], 0.0, 10.0) is None
    assert gauge([(5.0, 1.0), (5.0, 3.0)], 5.0, 5.0) == {"mean": 2.0, "max": 3.0, "n": 2}


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([(-1, 5), (1, 7), (9, 9), (11, 10)], (5.0, 0)),
        ([(-2, 1), (-1, 5), (11, 10), (12, 50)], (5.0, 0)),
        ([(1, 7), (2, 9), (3, 1), (4, 4)], (6.0, 1)),
        ([(1, 7), (2, 7)], (0.0, 0)),
        ([(1, 7)], None),
        ([], None),
    ],
)
def test_counter(series, expected):
    assert increase(series, 0.0, 10.0) == expected


def test_pairs_leave_out_what_is_no_number():
    samples = [
        {"at_s": 2.0, "x": 1},
        {"at_s": 1.0, "x": 3.0},
        {"at_s": 3.0, "x": None},
        {"at_s": 4.0, "x": math.nan},
        {"at_s": 5.0},
        {"at_s": None, "x": 1},
    ]
    assert pairs(samples, "x") == [(1.0, 3.0), (2.0, 1.0)]


def test_devices_are_added_or_averaged():
    two = [{"mean": 0.2, "max": 0.5, "n": 4}, {"mean": 0.4, "max": 0.9, "n": 3}]
    assert combine(two, add=True) == {"mean": pytest.approx(0.6), "max": 1.4, "n": 3}
    assert combine(two, add=False) == {"mean": pytest.approx(0.3), "max": 0.9, "n": 3}
    assert combine([], add=True) is None
