"""Knees of curves drawn by hand, and of a queue whose knee is known."""

import math

from labkit.analysis.knee import Load, find_knee


def curve(*latencies, in_flight=0.5):
    """Values 1, 2, 4, ... with these latencies in s."""
    return [Load(2.0**i, one, in_flight) for i, one in enumerate(latencies)]


def test_it_lies_between_the_last_within_twice_and_the_first_beyond():
    knee = find_knee(curve(1.0, 1.1, 2.0, 2.1, 9.0))
    assert (knee.low, knee.high, knee.unloaded_s) == (4.0, 8.0, 1.0)


def test_noise_that_crosses_the_line_twice_widens_the_bracket():
    knee = find_knee(curve(1.0, 2.2, 1.8, 2.5, 9.0))
    assert (knee.low, knee.high) == (1.0, 8.0)


def test_the_order_does_not_matter():
    loads = curve(1.0, 1.1, 2.0, 2.1, 9.0)
    assert find_knee(loads[::-1]) == find_knee(loads)


def test_without_an_unloaded_value_it_cannot_be_told():
    knee = find_knee(curve(1.0, 1.5, 4.0, in_flight=3.0))
    assert (knee.low, knee.high) == (None, None)
    assert knee.reason.startswith("at the lowest value, 1, 3.0 requests are in flight already")
    assert "unknown number" in find_knee(curve(1.0, 4.0, in_flight=None)).reason


def test_a_plateau_makes_the_lowest_unloaded():
    knee = find_knee(curve(1.0, 1.2, 4.0, in_flight=3.0))
    assert (knee.low, knee.high) == (2.0, 4.0)
    near = [Load(1.0, 1.0, 3.0), Load(1.2, 1.1, 3.6), Load(4.0, 5.0, 20.0)]
    assert find_knee(near).low is None  # 1.2 is too near to 1 to show a plateau


def test_without_a_rise_it_cannot_be_told():
    assert find_knee(curve(1.0, 1.1, 2.0)).reason == (
        "latency stays within twice the unloaded one up to the highest value, 4; "
        "measure a higher one"
    )
    assert "falls back" in find_knee(curve(1.0, 2.5, 1.1)).reason
    assert find_knee(curve(1.0)).reason == "it takes two values, one of them unloaded"
    assert find_knee([]).low is None


def test_the_knee_of_a_known_queue_is_half_its_capacity():
    """P95 of M/M/1 is ln(20) / (mu - lambda); Kleinrock's power peaks at lambda = mu / 2."""
    mu = 10.0
    rates = [0.01, *[i / 2 for i in range(1, 20)]]
    loads = [Load(r, math.log(20) / (mu - r), r / (mu - r)) for r in rates]
    power = {r: r * (mu - r) for r in rates}
    best = max(power, key=power.get)
    knee = find_knee(loads)
    assert best == 5.0
    assert knee.low <= best <= knee.high
    assert (knee.low, knee.high) == (5.0, 5.5)  # twice of ln(20) / 9.99 is passed at 5.005
