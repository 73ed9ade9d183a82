"""Plans: what must hold whatever the numbers, and rates worked out by hand."""

from dataclasses import replace

import pytest

from labkit.analysis.disaggregation.check import Measured, check
from labkit.analysis.disaggregation.inputs import Inputs, draw_fits
from labkit.analysis.disaggregation.line import fit_line
from labkit.analysis.disaggregation.plan import TPOT, TRANSFER, TTFT, find_split_rates, make_plan

PREFILL = fit_line([32, 64, 128, 256], [0.052, 0.098, 0.195, 0.392], [8] * 4)
STEP = fit_line([1, 2, 4, 8], [0.0120, 0.0142, 0.0178, 0.0262], [100, 100, 100, 100])
INPUTS = Inputs(
    prefill=PREFILL,
    step=STEP,
    prompt_tokens=(64, 96, 128, 160, 192),
    completion_tokens=33,
    kv_bytes_per_token=23040,
    max_num_seqs=8,
    max_num_batched_tokens=512,
    kv_capacity_tokens=None,
    ttft_s=1.0,
    tpot_s=0.025,
    quantile=0.9,
    num_devices=4,
    transfer_bytes_per_s=3.125e9,
)


def test_the_pools_meet_in_the_weaker_one() -> None:
    plan = make_plan(INPUTS)
    assert [one.name for one in plan.splits] == ["1:3", "2:2", "3:1"]
    for one in plan.splits:
        assert one.rate.value == pytest.approx(min(one.ttft_rate, one.tpot_rate))
        assert one.limit == (TPOT if one.tpot_rate < one.ttft_rate else TTFT)
        assert one.rate.low is not None
        assert one.rate.high is not None
        assert one.rate.low <= one.rate.value <= one.rate.high
    first, second, _ = plan.splits
    # twice the prefill devices serve twice the prompts
    assert second.ttft_rate == pytest.approx(2 * first.ttft_rate, rel=0.01)
    assert first.tpot_rate == pytest.approx(1.5 * second.tpot_rate)
    assert plan.best is not None
    assert plan.best.rate.value == max(one.rate.value for one in plan.splits)
    assert sum(one.best_share for one in plan.splits) == pytest.approx(1.0)


def test_the_rate_of_a_decode_pool_worked_out_by_hand() -> None:
    # One place (8 ms + 2 ms fit once into 11 ms): found free with p(0) = (1 - b g) ** (a/b + 1)
    # = 0.9, so b g = 1 - 0.9 ** (1/5), and 16 more tokens a request.
    step = fit_line([1, 2, 3], [0.010, 0.012, 0.014], [1, 1, 1])
    given = replace(INPUTS, step=step, tpot_s=0.011, completion_tokens=17, num_devices=2)
    (split,) = make_plan(given).splits
    assert split.tpot_rate * 2 == pytest.approx((1 - 0.9**0.2) / 0.002 / 16, rel=1e-4)


def test_equal_inputs_make_equal_plans() -> None:
    assert make_plan(INPUTS) == make_plan.__wrapped__(replace(INPUTS))


def test_a_pool_without_a_device_serves_nothing() -> None:
    draws = draw_fits(INPUTS)
    none, tpot = find_split_rates(INPUTS, draws, 0, 4)
    assert not none.any()
    assert tpot.all()
    ttft, none = find_split_rates(INPUTS, draws, 4, 0)
    assert not none.any()
    assert ttft.all()


@pytest.mark.parametrize("change", [{"ttft_s": 0.05}, {"tpot_s": 0.005}])
def test_an_slo_that_no_request_keeps_has_no_plan(change: dict[str, float]) -> None:
    plan = make_plan(replace(INPUTS, **change))
    assert plan.best is None
    assert plan.gain is None
    assert plan.together.value == 0
    assert [one.rate.value for one in plan.splits] == [0.0] * 3


def test_a_link_that_carries_nearly_nothing_is_the_limit() -> None:
    # 128 tokens of 23,040 bytes over 1 MB/s: 2.9 s, above the TTFT of 1 s.
    plan = make_plan(replace(INPUTS, transfer_bytes_per_s=1e6))
    assert plan.transfer_s == pytest.approx(128 * 23040 / 1e6)
    assert plan.best is None
    assert {one.limit for one in plan.splits} == {TRANSFER}


def test_a_faster_link_never_costs() -> None:
    rates = []
    for link in (1e6, 1e7, 1e8, 1e9, 1e12):
        given = replace(INPUTS, transfer_bytes_per_s=link)
        ttft, _ = find_split_rates(given, draw_fits(given), 1, 3)
        rates.append(float(ttft[0]))
    assert rates == sorted(rates)
    assert rates[0] == 0 < rates[1] < rates[-1]


def test_no_more_streams_are_reckoned_with_than_were_measured() -> None:
    assert replace(INPUTS, max_num_seqs=None, kv_capacity_tokens=700).most_running == 4  # of 161
    wide = replace(INPUTS, max_num_seqs=64)
    assert (wide.most_running, wide.most_planned) == (64, 8)
    far = make_plan(replace(INPUTS, max_num_seqs=64, tpot_s=1.0))
    assert (far.places, far.bound) == (8, "the streams measured")
    # steps of 10.2 ms and 2 ms a stream
    near = make_plan(replace(INPUTS, tpot_s=0.018))
    assert (near.places, near.bound) == (3, "the TPOT limit")


def test_fits_without_errors_have_no_interval() -> None:
    plan = make_plan(replace(INPUTS, step=fit_line([1, 8], [0.012, 0.026], [9, 9])))
    assert plan.best is not None
    assert (plan.best.rate.low, plan.best.rate.high) == (None, None)
    assert plan.gain is not None
    assert plan.gain.low is None


def test_a_check_of_the_models_own_numbers_holds() -> None:
    told = check(INPUTS, (Measured("p", 1.0, 80, 0.3, 0.02, 1.0),))
    assert [one.name for one in told] == ["ttft_s", "tpot_s"]
    own = {one.name: one.predicted.value for one in told}
    (ttft, tpot) = check(INPUTS, (Measured("p", 1.0, 80, own["ttft_s"], own["tpot_s"], 1.0),))
    assert ttft.holds
    assert tpot.deviation == pytest.approx(0.0)


def test_a_check_far_off_fails() -> None:
    ttft, tpot = check(INPUTS, (Measured("p", 1.0, 80, 9.0, 0.001, 0.0),))
    assert not ttft.holds
    assert not tpot.holds
    assert tpot.deviation > 5
