"""Verdicts on every metric of two runs: right in words, and honest on simulated runs."""

from typing import Any

import numpy as np
import pytest
from comparison_rows import make_row, make_summary

from labkit.analysis.comparison.lines import Line, compare_places, count_verdicts
from labkit.analysis.comparison.places import join, list_alone
from labkit.analysis.comparison.scatter import Scatter
from labkit.analysis.comparison.telling import tell_effect, tell_repeats, tell_verdict

OUTPUT = "output_throughput_tokens_per_s"
NAMES = [
    OUTPUT,
    "request_throughput_per_s",
    *(f"{name}_{part}" for name in ("ttft_s", "tpot_s", "e2e_latency_s")
      for part in ("p50", "p95", "p99")),
    "kv_cache_usage_mean",
]  # fmt: skip
"""Twelve metrics, as the keywords of make_row."""


def compare(a: list[dict[str, Any]], b: list[dict[str, Any]], **more: Any) -> list[Line]:
    lines, _ = compare_places(join(make_summary(*a), make_summary(*b)), **more)
    return lines


def outputs(*values: float, **more: Any) -> list[dict[str, Any]]:
    return [make_row(repeat=i, **{OUTPUT: value}, **more) for i, value in enumerate(values)]


def test_better_and_worse_follow_the_metric() -> None:
    low, high = (100.0, 101.0, 99.0, 100.5), (120.0, 121.0, 119.0, 120.5)
    (line,) = compare(outputs(*low), outputs(*high))
    assert line.verdict == "better"
    assert tell_effect(line).startswith("+20 % (+18.")
    (line,) = compare(outputs(*high), outputs(*low))
    assert line.verdict == "worse"
    for name, verdict in (("ttft_s_p95", "worse"), ("kv_cache_usage_mean", "differs")):
        a, b = ([make_row(repeat=i, **{name: v}) for i, v in enumerate(vs)] for vs in (low, high))
        (line,) = compare(a, b)
        assert line.verdict == verdict


def test_one_repeat_each_without_noise_cannot_tell() -> None:
    (line,) = compare(outputs(100.0), outputs(200.0))
    assert line.verdict == "can't tell"
    assert tell_verdict(line) == ("can't tell with 1 repeat each and no noise stored")


def test_one_repeat_each_with_noise_can_tell() -> None:
    (line,) = compare(outputs(100.0), outputs(110.0), find_noise=lambda *_: Scatter(0.01, 9))
    assert line.verdict == "better"
    (line,) = compare(outputs(100.0), outputs(101.0), find_noise=lambda *_: Scatter(0.03, 9))
    assert line.verdict == "can't tell"
    # 0.03 and log(1.05): d = 1.626, which takes 8 a group at 5 % (G*Power 3.1: 7.6)
    assert tell_verdict(line) == "can't tell with 1 repeat each; 8 each would do"


def test_no_difference_tells_what_would_have_been_seen() -> None:
    (line,) = compare(outputs(100, 101, 99, 100), outputs(100.2, 100.9, 99.1, 100))
    assert line.verdict == "no difference seen"
    assert line.detectable is not None
    assert 0.01 < line.detectable < 0.03
    assert tell_verdict(line).endswith("% or more would have been")


def test_numbers_that_are_equal_in_every_repeat() -> None:
    a, b = ([make_row(repeat=i, num_preemptions=0.0) for i in range(3)] for _ in "AB")
    (line,) = compare(a, b)
    assert line.verdict == "no difference seen"
    assert tell_verdict(line) == "no difference seen: the same in every repeat"


def test_an_invalid_repeat_never_enters_and_a_suspect_one_is_marked() -> None:
    a = [*outputs(100.0, 100.2, 99.8), make_row(repeat=3, validity="INVALID", **{OUTPUT: 1.0})]
    b = outputs(100.1, 100.2, 99.8, validity="SUSPECT")
    places = join(make_summary(*a), make_summary(*b))
    (line,) = compare(a, b)
    assert line.values_a == (100.0, 100.2, 99.8)
    assert places[0].mark == " [SUSPECT]"
    assert places[0].left_out == ("4-r3 of A (INVALID)",)
    assert tell_repeats(line) == "3 repeats each"


def test_what_cannot_be_compared_has_its_reason() -> None:
    a, b = (
        [make_row(repeat=i, requests=20, ttft_s_p95=1.0 + i, ttft_s_p99=2.0) for i in range(3)]
        for _ in "AB"
    )
    lines, omitted = compare_places(join(make_summary(*a), make_summary(*b)))
    assert [line.metric.field for line in lines] == ["ttft_s.p95"]
    told = {one.metric.field: one.reason for one in omitted}
    assert told["ttft_s.p99"] == "in A: too few requests for P99: 20"
    assert told["energy_per_output_token_j"].endswith("not measured: no GPU was sampled")


def test_points_are_joined_by_series_variable_and_value() -> None:
    a = make_summary(make_row(2), make_row(4), make_row(4, series="static"))
    b = make_summary(make_row(4), make_row(8), make_row(4, series="static"))
    assert [place.name for place in join(a, b)] == ["max_num_seqs 4", "static, max_num_seqs 4"]
    assert list_alone(a, b) == ["max_num_seqs 2 is in A alone", "max_num_seqs 8 is in B alone"]
    (place,) = join(make_summary(make_row(4)), make_summary(make_row(8)))
    assert place.name == "max_num_seqs 4 -> 8"
    assert join(make_summary(make_row(4)), b | {"points": [make_row(8), make_row(2)]}) == []


def test_pairs_only_where_repeats_differ_in_their_traffic() -> None:
    def place(*tokens: float, seeds: tuple[int, ...] = (0, 1, 2)) -> list[dict[str, Any]]:
        return [
            make_row(repeat=i, tokens=size) | {"seed": seed}
            for i, (size, seed) in enumerate(zip(tokens, seeds, strict=True))
        ]

    def paired(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> bool:
        return join(make_summary(*a), make_summary(*b))[0].paired

    assert paired(place(900, 1000, 1100), place(900, 1000, 1100))
    assert not paired(place(1000, 1000, 1000), place(1000, 1000, 1000))
    assert not paired(place(900, 1000, 1100), place(900, 1001, 1100))
    assert not paired(place(900, 1000, 1100), place(900, 1000, 1100, seeds=(3, 4, 5)))


def simulate(
    rng: np.random.Generator, repeats: int, effect: float, correlated: float = 0.0
) -> list[dict[str, Any]]:
    """Return the repeats of one value with 3 % noise; output throughput is up by the effect."""
    common = rng.normal(0, 0.03, (repeats, 1)) * np.sqrt(correlated)
    noise = common + rng.normal(0, 0.03, (repeats, len(NAMES))) * np.sqrt(1 - correlated)
    values = np.exp(noise)
    values[:, 0] *= 1 + effect
    return [
        make_row(repeat=i, **dict(zip(NAMES, own, strict=True)))
        for i, own in enumerate(values.tolist())
    ]


@pytest.mark.parametrize("correlated", [0.0, 0.8])
def test_false_alarms_on_equal_runs_are_at_most_five_per_cent(correlated: float) -> None:
    """Of 500 pairs of equal runs at most 5 % have a verdict; two standard deviations are 2 %."""
    rng = np.random.default_rng(5)
    alarmed = uncorrected = 0
    for _ in range(500):
        lines = compare(*(simulate(rng, 4, 0.0, correlated) for _ in "AB"))
        assert len(lines) == len(NAMES)
        alarmed += any(line.verdict in ("better", "worse", "differs") for line in lines)
        uncorrected += any((line.found.p_value or 1.0) < 0.05 for line in lines)
    assert alarmed / 500 <= 0.05 + 0.02
    assert uncorrected / 500 > 0.10, "without the correction there would be more"
    if not correlated:
        assert alarmed / 500 >= 0.01, "a test that never speaks would pass the rest"


def test_the_repeats_that_it_asks_for_find_five_per_cent() -> None:
    """What "n of each would do" promises among twelve metrics, kept four times in five."""
    rng = np.random.default_rng(2)
    few = compare(*(simulate(rng, 1, 0.0) for _ in "AB"), find_noise=lambda *_: Scatter(0.03, 9999))
    (needed,) = {line.repeats_needed for line in few}
    assert needed is not None
    found = 0
    for _ in range(200):
        lines = compare(*(simulate(rng, needed, effect) for effect in (0.0, 0.05)))
        found += lines[0].verdict == "better"
    assert 0.74 <= found / 200 <= 0.95


def test_verdicts_are_counted() -> None:
    lines = compare(outputs(100.0), outputs(200.0))
    assert count_verdicts(lines)["can't tell"] == 1
    assert count_verdicts(lines)["better"] == 0
