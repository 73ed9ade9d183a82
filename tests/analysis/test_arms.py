"""Two arms side by side, by hand."""

import math

import pytest
from analysis.facts import row

from labkit.analysis.arms import choose_pair, list_series, pair_arms

OUTPUT = "output_throughput_tokens_per_s"
VARIABLE = "engine.max_num_seqs"


def arm(series, rates, **changes):
    workload = changes.pop("workload", {"kind": "synthetic"})
    return [
        row(value, rate, series=series, workload=workload, seed=0, **changes)
        for value, rate in rates.items()
    ]


def test_values_that_both_measured_are_paired_in_order():
    rows = arm("b", {64: 30.0, 4: 20.0}) + arm("a", {1: 9.0, 4: 10.0, 64: 10.0})
    rows += arm("a", {16: 5.0}, validity="INVALID") + arm("b", {16: 6.0})
    summary = {"points": rows}
    assert list_series(summary, VARIABLE) == ["b", "a"]
    pairs = pair_arms(summary, VARIABLE, "a", "b")
    assert [(one.label, one.ratio(OUTPUT).value) for one in pairs] == [("4", 2.0), ("64", 3.0)]
    assert choose_pair(pairs, 64) is pairs[1]
    assert choose_pair(pairs, 16) is pairs[0]
    assert choose_pair(pairs, 1) is pairs[0]
    assert choose_pair([], 64) is None


def test_one_repeat_has_the_bounds_of_the_rule_of_thumb_and_no_interval():
    (pair,) = pair_arms({"points": arm("a", {4: 10.0}) + arm("b", {4: 20.0})}, VARIABLE, "a", "b")
    effect = pair.ratio(OUTPUT)
    assert (effect.value, effect.low, effect.high, effect.n) == (2.0, None, None, 1)
    assert pair.bounds(OUTPUT) == pytest.approx((1.8, 2.0 / 0.9))
    assert [one.value for one in pair.evidence(OUTPUT)] == [10.0, 20.0]


def test_repeats_give_an_interval_of_the_ratio():
    rows = [*arm("a", {4: 1.0}), *arm("a", {4: 2.0}, repeat=1)]
    rows += [*arm("b", {4: 2.0}), *arm("b", {4: 4.0}, repeat=1)]
    (pair,) = pair_arms({"points": rows}, VARIABLE, "a", "b")
    half = 4.303 * math.log(2) / math.sqrt(2)  # see test_statistics
    assert pair.bounds(OUTPUT) == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)))


def test_other_requests_are_told():
    same = arm("a", {4: 1.0}, workload={"n": 1, "constrained": False})
    other = arm("b", {4: 1.0}, workload={"n": 1, "constrained": True})
    third = arm("c", {4: 1.0}, workload={"n": 2, "constrained": True})
    summary = {"points": same + other + third}
    assert pair_arms(summary, VARIABLE, "a", "b")[0].same_requests
    assert not pair_arms(summary, VARIABLE, "a", "c")[0].same_requests
