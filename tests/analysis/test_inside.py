"""What the engine timed itself: increases of its sums and counts, worked out by hand."""

import pytest
from analysis.facts import engine, failure, records, request

from labkit.analysis import definitions
from labkit.analysis.inside import CAPACITIES, TIMES
from labkit.analysis.metrics import summarize_point

TTFT = ("engine_ttft_s_sum", "engine_ttft_count")


def looks(*rows, fields=TTFT):
    """Samples at these moments; the load lasts from 10 to 14 s."""
    return [engine(at, **dict(zip(fields, told, strict=True))) for at, *told in rows]


def test_the_mean_is_the_increase_of_the_sum_over_that_of_the_count():
    # 4 before the load, 24 at its end: 20 first tokens in 7 - 1 = 6 s.
    samples = looks((9.0, 0.5, 2), (9.9, 1.0, 4), (12.0, 3.0, 14), (14.2, 7.0, 24), (15.0, 9.9, 30))
    row = summarize_point(records([request()] * 20, samples))
    assert row["engine_ttft_s"] == {"mean": pytest.approx(0.3), "n": 20}
    assert row["client_ttft_overhead_s"] == pytest.approx(0.2)  # each took 0.5 s from the send
    assert "engine_ttft_s" not in row["null_reasons"]
    assert row["engine_queue_time_s"] is None
    told = row["null_reasons"]["engine_queue_time_s"]
    assert told == "the engine does not tell engine_queue_time_count"


@pytest.mark.parametrize("name", TIMES)
def test_every_time_has_a_sum_and_a_count(name):
    fields = (f"{name}_sum", f"{name[:-2]}_count")
    row = summarize_point(records([request()], looks((10, 1.0, 1), (13, 4.0, 3), fields=fields)))
    assert row[name] == {"mean": 1.5, "n": 2}


def test_a_restart_counts_from_zero():
    # 0.5 s of 1, then, from zero again, 2.5 s of 5.
    row = summarize_point(records([request()], looks((10, 8.0, 9), (11, 8.5, 10), (12, 2.5, 5))))
    assert row["engine_ttft_s"] == {"mean": pytest.approx(0.5), "n": 6}
    row = summarize_point(records([request()], looks((10, 1.0, 9), (12, 2.5, 5))))
    assert row["engine_ttft_s"] is None
    assert "not all of them alike" in row["null_reasons"]["engine_ttft_s"]


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        ([], "no engine was sampled"),
        ([engine(11.0)], "the engine does not tell engine_ttft_count"),
        (looks((11, 1.0, 1)), "fewer than two engine samples tell engine_ttft_count"),
        (looks((11, 1.0, 1), (13, 1.0, 1)), "the engine timed no request during the load"),
        ([engine(11.0, error="refused")], "all 1 engine samples failed: refused"),
    ],
)
def test_what_is_not_told_has_a_reason(samples, reason):
    row = summarize_point(records([request()], samples))
    assert row["engine_ttft_s"] is None
    assert row["null_reasons"]["engine_ttft_s"] == reason
    assert row["null_reasons"]["client_ttft_overhead_s"] == reason


def test_means_of_other_requests_are_not_subtracted():
    samples = looks((10, 0.0, 0), (13, 6.0, 20))
    row = summarize_point(records([request()] * 19 + [failure()], samples))
    assert row["client_ttft_overhead_s"] == pytest.approx(0.2)  # 19 of 20 is 5 %
    row = summarize_point(records([request()] * 18, samples))
    assert row["engine_ttft_s"]["n"] == 20
    assert row["client_ttft_overhead_s"] is None
    assert row["null_reasons"]["client_ttft_overhead_s"] == (
        "the engine timed 20 first tokens and the client 18, more than 5 % apart: warm-up and "
        "failed requests count in the engine only"
    )
    row = summarize_point(records([failure()], samples))
    assert row["null_reasons"]["client_ttft_overhead_s"] == "no request succeeded"


def test_the_capacity_is_the_last_one_told_during_the_load():
    samples = looks((9, 1, 1), (11, 2720, 60_000_000), (13, 2848, 62_000_000), fields=CAPACITIES)
    row = summarize_point(records([request()], [*samples, engine(13.5)]))
    assert row["kv_cache_capacity_tokens"] == 2848
    assert row["kv_cache_capacity_bytes"] == 62_000_000
    row = summarize_point(records([request()], [engine(13.5)]))
    told = row["null_reasons"]["kv_cache_capacity_bytes"]
    assert told == "the engine does not tell kv_cache_capacity_bytes"


@pytest.mark.parametrize("name", [*TIMES, *CAPACITIES, "client_ttft_overhead_s"])
def test_each_is_defined(name):
    assert name in definitions.__doc__
