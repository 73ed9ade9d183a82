"""t = a + b * n: made up, then found again."""

from typing import Any

import pytest

from labkit.analysis.gaps import find_gaps
from labkit.analysis.step_time import bin_gaps, fit_bins, fit_step_time, step_time, tell_step_time


def run(streams: int, steps: int, a_s: float, b_s: float, at_s: float = 0.0) -> list[dict]:
    """Streams that step together, a + b * n s each."""
    step_s = a_s + b_s * streams
    stamps = [at_s + step_s * number for number in range(steps + 1)]
    return [{"chunk_at_s": stamps} for _ in range(streams)]


def row(
    bins: list[dict[str, Any]], validity: str = "VALID", variable: str = "engine.max_num_seqs"
) -> dict[str, Any]:
    return {"variable": variable, "validity": validity, "step_time": {"bins": bins}}


def make_bins(a_s: float, b_s: float, *numbers: int, n: int = 100) -> list[dict[str, Any]]:
    return [{"num_running": one, "step_s": a_s + b_s * one, "n": n} for one in numbers]


def test_an_engine_that_was_made_up_is_found_again() -> None:
    # 10 ms + 2 ms a stream: 1, 2, 4 and 8 streams, one after the other.
    requests = []
    for number, at_s in ((1, 0.0), (2, 100.0), (4, 200.0), (8, 300.0)):
        requests += run(number, 60, 0.010, 0.002, at_s)
    reasons: dict[str, Any] = {}
    told = step_time(find_gaps(requests), [], reasons)["step_time"]
    assert [(one["num_running"], one["n"]) for one in told["bins"]] == [
        (1, 60), (2, 120), (4, 240), (8, 480),
    ]  # fmt: skip
    assert told["a_s"] == pytest.approx(0.010)
    assert told["b_s"] == pytest.approx(0.002)
    assert told["max_gain"] == pytest.approx(6.0)  # 12 / 2
    assert told["half_gain_at"] == pytest.approx(5.0)  # 10 / 2
    assert told["n"] == 900
    assert told["a_low_s"] == pytest.approx(told["a_high_s"], abs=1e-6)
    assert reasons == {}


def test_the_interval_comes_from_the_residuals() -> None:
    # Steps of 1, 2 and 3 streams weigh 60 each; 12, 15 and 16 ms lie 0.33, 0.67, 0.33 off the line
    # a = 10.33, b = 2: variance 60 * 0.667 = 40, b's error (40 / 120) ** 0.5 = 0.577, t = 12.706.
    bins = [
        {"num_running": 1, "step_s": 12.0, "n": 60},
        {"num_running": 2, "step_s": 15.0, "n": 120},
        {"num_running": 3, "step_s": 16.0, "n": 180},
    ]
    fit, _ = fit_bins(bins)
    assert fit is not None
    assert (fit.a_s, fit.b_s) == (pytest.approx(31 / 3), pytest.approx(2.0))
    assert fit.b_high_s is not None
    assert fit.b_high_s - fit.b_s == pytest.approx(12.706 * (1 / 3) ** 0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("bins", "told"),
    [
        ([], "at least two numbers of running streams"),
        (make_bins(1, 1, 4) * 3, "at least two numbers of running streams"),
        (make_bins(8, -0.5, 1, 2, 4), "no longer with more streams"),
        (make_bins(8, 0, 1, 2, 4), "no longer with more streams"),
        (make_bins(-1, 2, 1, 2, 4), "more than proportionally"),
    ],
)
def test_where_nothing_can_be_told_there_is_a_reason(bins: list, told: str) -> None:
    fit, why = fit_bins(bins)
    assert fit is None
    assert told in why


def test_two_bins_have_a_line_and_no_interval() -> None:
    fit, _ = fit_bins(make_bins(10, 2, 1, 8))
    assert fit is not None
    assert fit.b_s == pytest.approx(2)
    assert fit.b_low_s is None
    assert "settle" in tell_step_time(fit)[0]


def test_gaps_with_a_prefill_and_rare_numbers_are_left_out() -> None:
    requests = run(1, 60, 1, 0)
    requests += [{"chunk_at_s": [30.9, 31.9, 32.9]}]  # 2 streams for 2 gaps only, and a prefill
    bins = bin_gaps(find_gaps(requests))
    assert [one["num_running"] for one in bins] == [1]
    assert bins[0]["n"] == 57  # of 60, one held the prefill and two saw two streams


def test_the_points_of_a_sweep_are_fitted_together_without_the_invalid() -> None:
    rows = [
        row(make_bins(10, 2, 1)),
        row(make_bins(10, 2, 2)),
        row(make_bins(10, 2, 4)),
        row(make_bins(99, 9, 8), "INVALID"),
        {"variable": "engine.max_num_seqs", "validity": "VALID", "step_time": None},
    ]
    fit, _ = fit_step_time(rows)
    assert fit is not None
    assert (fit.a_s, fit.b_s, fit.most_running) == (pytest.approx(10), pytest.approx(2), 4)


def test_a_variable_that_may_change_the_step_allows_no_common_fit() -> None:
    rows = [row(make_bins(10, 2, n), variable="engine.num_threads") for n in (1, 2, 4)]
    fit, why = fit_step_time(rows)
    assert fit is None
    assert why == "num_threads may change what a step costs by itself"


@pytest.mark.parametrize(
    ("a_s", "b_s", "title"),
    [
        (0.001, 0.010, "Compute-bound: batching gains at most 1.1 times here"),
        (0.010, 0.002, "Batching gains at most 6 times here"),
        (0.099, 0.001, "Room to batch: up to 100 times one stream"),
    ],
)
def test_the_machine_is_named(a_s: float, b_s: float, title: str) -> None:
    fit, _ = fit_bins(make_bins(a_s, b_s, 1, 2, 4, 8))
    assert fit is not None
    told, text = tell_step_time(fit)
    assert told == title
    assert ("drawn on from" in text) == (fit.half_gain_at > 8)


def test_no_clean_gap_has_a_reason() -> None:
    reasons: dict[str, Any] = {}
    assert step_time(find_gaps([]), [], reasons) == {"step_time": None}
    assert "20 gaps" in reasons["step_time"]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"completion_tokens": 122}, "a chunk holds 2 tokens on average"),
        ({"tokens_source": "chunks", "completion_tokens": 61}, "tokens were counted as chunks"),
    ],
)
def test_several_tokens_a_chunk_are_no_steps(told: dict[str, Any], why: str) -> None:
    requests = [{**one, **told} for one in run(2, 60, 0.01, 0.002)]
    reasons: dict[str, Any] = {}
    assert step_time(find_gaps(requests), requests, reasons) == {"step_time": None}
    assert why in reasons["step_time"]
