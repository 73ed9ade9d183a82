"""A search worked by hand, and on a queue whose answer is known."""

import math
import random

import pytest

from labkit.analysis.search import Tried, next_value, read_tried
from labkit.params import SearchParams

SEARCH = SearchParams(low=1.0, high=16.0, share=0.9, steps=6, tolerance=0.1)


def of_ten(**met):
    """Ten requests at each value: `v4=9` is 9 of 10 good at 4."""
    return [Tried(float(name[1:]), hits, 10) for name, hits in met.items()]


def test_the_ends_come_first():
    assert next_value(SEARCH, []).value == 1.0
    assert next_value(SEARCH, of_ten(v1=10)).value == 16.0


def test_it_halves_the_ratio_between_what_holds_and_what_misses():
    tried = of_ten(v1=10, v16=0)
    assert next_value(SEARCH, tried).value == 4.0  # sqrt(1 * 16)
    tried += of_ten(v4=9)  # 90 % are asked
    step = next_value(SEARCH, tried)
    assert (step.value, step.low, step.high) == (8.0, 4.0, 16.0)  # sqrt(4 * 16)
    assert step.why == "8 lies between 4, which holds, and 16, which misses"
    tried += of_ten(v8=8)
    assert next_value(SEARCH, tried).value == 5.66  # sqrt(32) = 5.6569
    tried += [Tried(5.66, 10, 10)]
    assert next_value(SEARCH, tried).value == 6.73  # sqrt(5.66 * 8) = 6.7290
    tried += [Tried(6.73, 3, 10)]
    assert next_value(SEARCH, tried).value == 6.17  # sqrt(5.66 * 6.73) = 6.1719
    tried += [Tried(6.17, 9, 10)]
    step = next_value(SEARCH, tried)  # 6.73 / 6.17 - 1 = 9.08 %
    assert (step.value, step.low, step.high, step.closed) == (None, 6.17, 6.73, True)
    assert step.why == "6.17 and 6.73 are 9.08 % apart"


@pytest.mark.parametrize(
    ("tried", "low", "high", "why"),
    [
        (
            of_ten(v1=8, v16=0),
            None,
            1.0,
            "80 % of the requests keep the SLO (90 % are asked) already at 1, the lowest; "
            "search from a lower one",
        ),
        (
            of_ten(v1=10, v16=9),
            16.0,
            None,
            "90 % of the requests keep the SLO (90 % are asked) even at 16, the highest; "
            "search up to a higher one",
        ),
    ],
)
def test_it_says_where_its_bounds_are_wrong(tried, low, high, why):
    step = next_value(SEARCH, tried)
    assert (step.value, step.low, step.high, step.why) == (None, low, high, why)
    assert not step.closed


def test_steps_are_counted_and_end_it():
    two = SEARCH.model_copy(update={"steps": 2})
    tried = of_ten(v1=10, v16=0, v4=10)
    assert next_value(two, tried).value == 8.0
    step = next_value(two, [*tried, *of_ten(v8=0)])
    assert step.value is None
    assert step.why == "2 steps were made, and 4 and 8 are still 100 % apart"


def test_an_invalid_point_is_measured_once_more_and_never_counts():
    tried = of_ten(v1=10, v16=0)
    bad = Tried(4.0, 10, 10, usable=False)
    again = next_value(SEARCH, [*tried, bad])
    assert (again.value, again.low, again.high) == (4.0, 1.0, 16.0)
    assert next_value(SEARCH, [*tried, bad, *of_ten(v4=9)]).value == 8.0
    step = next_value(SEARCH, [*tried, bad, bad])
    assert step.value is None
    assert step.why == "every measurement at 4 was INVALID, so whether it holds is not known"
    assert (step.low, step.high, step.closed) == (1.0, 16.0, False)


def test_repeats_of_a_value_are_pooled():
    tried = of_ten(v1=10, v16=0, v4=8) + of_ten(v4=10)  # 18 of 20
    assert next_value(SEARCH, tried).low == 4.0


def test_whole_numbers_stay_whole_and_end_where_none_is_left():
    search = SearchParams(low=1, high=8, steps=9, tolerance=0.01)
    tried = of_ten(v1=10, v8=0)
    assert next_value(search, tried, whole=True).value == 3  # sqrt(8) = 2.83
    tried += of_ten(v3=10)
    assert next_value(search, tried, whole=True).value == 5  # sqrt(24) = 4.90
    tried += of_ten(v5=10)
    assert next_value(search, tried, whole=True).value == 6  # sqrt(40) = 6.32
    tried += of_ten(v6=10)
    assert next_value(search, tried, whole=True).value == 7
    step = next_value(search, [*tried, *of_ten(v7=0)], whole=True)
    assert (step.value, step.low, step.high, step.closed) == (None, 6, 7, True)
    assert step.why == "no whole number lies between 6 and 7"


def test_two_neighbours_have_a_middle_that_is_neither():
    search = SearchParams(low=1, high=2, steps=9, tolerance=0.01)
    assert next_value(search, of_ten(v1=10, v2=0), whole=True).value is None


def test_it_goes_on_from_records_alone_whatever_their_order():
    tried = of_ten(v1=10, v16=0, v4=10, v8=0)
    assert next_value(SEARCH, tried) == next_value(SEARCH, tried[::-1])


def test_rows_of_the_summary_are_read():
    row = {"value": 4, "num_slo_met": 9, "num_requests": 10, "validity": "SUSPECT"}
    bad = {**row, "validity": "INVALID"}
    untold = {**row, "num_slo_met": None}
    assert [one.usable for one in read_tried([row, bad, untold])] == [True, False, False]
    assert read_tried([row])[0] == Tried(4, 9, 10)


MU, LIMIT_S = 10.0, 0.5


def serve_queue(rate, count, rng):
    """How many of `count` customers of an M/M/1 queue are out within LIMIT_S (Lindley 1952)."""
    wait = met = 0
    for _ in range(count):
        service = rng.expovariate(MU)
        met += wait + service <= LIMIT_S
        wait = max(0.0, wait + service - rng.expovariate(rate))
    return met


def test_the_capacity_of_a_known_queue_is_found_in_spite_of_noise():
    """In M/M/1 a stay is exponential with mu - lambda: 90 % within t up to mu - ln(10) / t."""
    true = MU - math.log(10) / LIMIT_S  # 5.395
    search = SearchParams(low=1.0, high=20.0, tolerance=0.1, steps=10)
    errors = []
    for seed in range(20):
        rng = random.Random(seed)
        tried = []
        while (step := next_value(search, tried)).value is not None:
            tried.append(Tried(step.value, serve_queue(step.value, 2000, rng), 2000))
        assert step.closed
        assert len(tried) == 7  # 20 / 1 halved 5 times by ratio: 20 ** (1 / 32) - 1 = 9.8 %
        errors.append(max(step.low / true, true / step.high) - 1)
    assert max(errors) < 0.1  # the bracket is at most a tolerance away
    assert sorted(errors)[10] <= 0.03
