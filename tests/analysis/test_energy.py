"""Joules and prices by hand: a load from 10 to 14 s."""

from typing import Any

import pytest
from analysis.facts import records, request

from labkit.analysis.metrics import summarize_point
from labkit.analysis.sampling import doubt_sampling


def gpu(at_s: float, **fields: Any) -> dict[str, Any]:
    told = {"gpu_index": 0, "mig_index": None, "gpu_power_w": None, "gpu_energy_total_j": None}
    return {"source": "gpu", "at_s": at_s, "took_s": 0.001, "error": None, **told, **fields}


def summarize(samples: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    sampling = {"period_s": 1.0, "sources": {"gpu": {"cpu_s": 0.05, "time_s": 5.0}}}
    told = {"gpu": {"available": True, "untold": options.pop("untold", {})}, "sampling": sampling}
    # two requests of 3 tokens: TTFT 0.5 and 2.5 s, 10 s from the first send to the last end
    late = request(17.0, first_token_at_s=19.5, last_token_at_s=19.9, finished_at_s=20.0,
                   chunk_at_s=[19.5, 19.6, 19.9])  # fmt: skip
    return summarize_point(records([request(10.0), late], samples, **told), **options)


def test_the_integral_of_power_by_hand() -> None:
    # 100 W rising to 200 W from 10 to 14 s: 4 s * 150 W; half a sample lies outside either end
    samples = [gpu(9.5 + n, gpu_power_w=87.5 + 25 * n) for n in range(6)]
    row = summarize(samples)
    assert row["gpu_energy_j"] == pytest.approx(600.0)
    assert row["energy_per_output_token_j"] == pytest.approx(100.0)  # 6 tokens
    assert row["energy_per_good_token_j"] == pytest.approx(100.0)  # no SLO: every ok request


def test_the_counter_goes_before_power_and_needs_no_sample_in_between() -> None:
    # 50 J/s: 4 s take 200 J, though power would say 4000 J and was not seen for 4 s
    stamps = (9.0, 10.5, 14.5, 15.0)
    samples = [gpu(at, gpu_power_w=1000.0, gpu_energy_total_j=7000 + 50 * at) for at in stamps]
    assert summarize(samples)["gpu_energy_j"] is None  # 10.5..14.5 holds an end
    stamps = (9.0, 10.5, 13.5, 15.0)
    samples = [gpu(at, gpu_power_w=1000.0, gpu_energy_total_j=7000 + 50 * at) for at in stamps]
    assert summarize(samples)["gpu_energy_j"] == pytest.approx(200.0)


def test_two_gpus_are_added() -> None:
    samples = [
        gpu(at, gpu_power_w=10.0 * (n + 1), gpu_index=n) for at in range(9, 16) for n in (0, 1)
    ]
    assert summarize(samples)["gpu_energy_j"] == pytest.approx(4 * 30.0)


@pytest.mark.parametrize(
    ("samples", "options", "reason"),
    [
        ([gpu(at, gpu_power_w=1.0) for at in (9.0, 10.0, 13.5, 14.5)], {}, "not sampled for 3.5 s"),
        ([gpu(at, gpu_power_w=1.0) for at in (11.0, 12.0, 13.0, 14.5)], {}, "an end of the load"),
        ([gpu(at) for at in range(9, 16)], {}, "GPU 0: fewer than two samples tell its power"),
        ([gpu(at) for at in range(9, 16)], {"untold": {"gpu_power_w": "MIG"}}, "MIG"),
        ([], {}, "no gpu was sampled"),
    ],
)
def test_what_is_refused(samples: list[Any], options: dict[str, Any], reason: str) -> None:
    row = summarize(samples, **options)
    for name in ("gpu_energy_j", "energy_per_output_token_j", "energy_per_good_token_j"):
        assert row[name] is None
        assert reason in row["null_reasons"][name]


def test_good_tokens_and_their_price() -> None:
    samples = [gpu(at, gpu_power_w=30.0) for at in range(9, 16)]  # 120 J
    cost = {"price_per_hour": 3.6, "currency": "EUR"}
    row = summarize(samples, slo={"ttft_s": 1.0}, cost=cost)
    assert row["energy_per_output_token_j"] == pytest.approx(20.0)
    assert row["energy_per_good_token_j"] == pytest.approx(40.0)  # 3 of 6 tokens are good
    # 3.6 an hour are 0.001 a second: 0.01 for 10 s and 3 tokens
    assert row["price_per_million_good_tokens"] == pytest.approx(0.01 / 3 * 1e6)
    assert row["price_currency"] == "EUR"
    missed = summarize(samples, slo={"ttft_s": 0.1}, cost=cost)
    assert missed["price_per_million_good_tokens"] is None
    reason = missed["null_reasons"]["price_per_million_good_tokens"]
    assert reason == "no request met the SLO"


def test_the_schedule_and_cost_of_sampling() -> None:
    samples = [gpu(at, gpu_power_w=1.0) for at in (9.0, 10.0, 11.2, 14.5)]
    row = summarize(samples)
    told = row["sampling"]["gpu"]
    assert (told["n"], told["failed"], told["gaps"]) == (2, 0, 0)
    assert told["jitter_p99_s"] == pytest.approx(0.2)
    assert told["cores"] == pytest.approx(0.01)
    few = summarize([gpu(at) for at in (9.0, 10.5, 15.0)])
    assert few["sampling"]["gpu"]["gaps"] == 1  # 10.5 to the end of the load at 14 s
    assert few["sampling"]["gpu"]["gap_share"] == pytest.approx(3.5 / 4)
    assert "the gpu was not sampled for 88% of the load" in few["validity_reasons"]


@pytest.mark.parametrize(
    ("cores", "told"), [(0.06, ["sampling itself took 0.12 cores"]), (0.05, [])]
)
def test_sampling_that_takes_too_much_is_doubted(cores: float, told: list[str]) -> None:
    one = {"cores": cores, "gap_share": 0.0}
    found = doubt_sampling({"sampling": {"engine": one, "host": one}})
    assert [text.partition(",")[0] for text in found] == told
