import json

import pytest
from analysis.facts import engine, failure, point, records, request

from labkit.analysis.metrics import request_metrics, summarize_point
from labkit.analysis.misses import meets


def test_three_tokens():
    found = request_metrics(request())
    assert found["ttft_s"] == pytest.approx(0.5)
    assert found["tpot_s"] == pytest.approx(0.2)
    assert found["itl_s"] == pytest.approx([0.1, 0.3])
    assert found["e2e_latency_s"] == pytest.approx(0.9)


def test_tokens_of_the_first_chunk_do_not_count_as_decoded():
    found = request_metrics(request(completion_tokens=6, chunk_tokens=[4, 1, 1]))
    assert found["tpot_s"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("changes", "ttft_s", "e2e_latency_s"),
    [
        ({"last_token_at_s": 10.5, "chunk_at_s": [10.5], "completion_tokens": 64}, 0.5, 0.5),
        ({"last_token_at_s": 10.5, "chunk_at_s": [10.5], "completion_tokens": 1}, 0.5, 0.5),
        ({"completion_tokens": None, "chunk_at_s": []}, 0.5, 0.9),
        ({"first_token_at_s": None, "last_token_at_s": None, "chunk_at_s": []}, None, None),
        ({"sent_at_s": None, "chunk_at_s": None}, None, None),
    ],
)
def test_no_tpot_where_it_cannot_be_told(changes, ttft_s, e2e_latency_s):
    found = request_metrics(request(**changes))
    assert found["ttft_s"] == (None if ttft_s is None else pytest.approx(ttft_s))
    assert found["e2e_latency_s"] == (
        None if e2e_latency_s is None else pytest.approx(e2e_latency_s)
    )
    assert found["itl_s"] == []
    if "sent_at_s" not in changes:
        assert found["tpot_s"] is None


def test_a_request_without_any_key():
    assert request_metrics({}) == {
        "ttft_s": None,
        "tpot_s": None,
        "itl_s": [],
        "e2e_latency_s": None,
        "ttft_intended_s": None,
        "e2e_latency_intended_s": None,
    }


def test_from_the_intended_time_only_where_there_is_one():
    due = request(intended_at_s=9.0)
    assert request_metrics(due, scheduled=True)["ttft_intended_s"] == pytest.approx(1.5)
    assert request_metrics(due, scheduled=True)["e2e_latency_intended_s"] == pytest.approx(1.9)
    assert request_metrics(due)["ttft_intended_s"] is None
    assert request_metrics(due)["e2e_latency_intended_s"] is None


def test_row_of_two_good_requests_and_a_refused_one():
    # Sent at 10, 11 and 13.8; the last one ends at 14.0, so the load lasted 4 s.
    row = summarize_point(
        records([request(10.0), request(11.0), failure(13.8)]), {"ttft_s": 0.6, "tpot_s": None}
    )
    assert (row["num_requests"], row["num_ok"], row["num_error"]) == (3, 2, 1)
    assert row["duration_s"] == pytest.approx(4.0)
    assert row["request_throughput_per_s"] == pytest.approx(0.5)
    assert row["output_throughput_tokens_per_s"] == pytest.approx(1.5)
    assert row["total_throughput_tokens_per_s"] == pytest.approx(9.5)
    assert row["goodput_per_s"] == pytest.approx(0.5)
    assert row["num_slo_met"] == 2
    assert row["slo_attainment"] == pytest.approx(2 / 3)
    assert row["ttft_s"]["n"] == 2
    assert row["itl_s"]["n"] == 4
    assert row["itl_s"]["p50"] == pytest.approx(0.2)
    assert row["completion_tokens"] == {"mean": 3, "min": 3, "max": 3, "total": 6, "n": 2}
    assert row["finish_reasons"] == {"length": 2}
    assert row["error_kinds"] == {"refused": 1}
    assert row["startup_s"] == pytest.approx(1.5)
    assert row["validity"] == "INVALID"


@pytest.mark.parametrize("slo", [None, {}, {"ttft_s": None, "tpot_s": None}])
def test_no_goodput_without_an_slo(slo):
    row = summarize_point(records([request()]), slo)
    assert row["goodput_per_s"] is None
    assert row["null_reasons"]["goodput_per_s"] == "no SLO was given"


def test_one_limit_missed_is_a_miss():
    row = summarize_point(records([request()]), {"ttft_s": 0.6, "tpot_s": 0.1})
    assert row["goodput_per_s"] == 0.0


def test_without_a_gap_the_tpot_limit_is_met():
    measured = {"ttft_s": 0.1, "tpot_s": None, "e2e_latency_s": 0.1}
    assert meets(measured, {"tpot_s": 0.01})
    assert not meets({**measured, "ttft_s": None}, {"tpot_s": 0.01})
    assert not meets({**measured, "e2e_latency_s": None}, {"e2e_latency_s": 1.0})


def test_a_point_that_never_ran_has_reasons_instead_of_zeros():
    failed = point(
        status="failed", error="the engine died", load_started_at_s=None, load_ended_at_s=None
    )
    row = summarize_point(records([], **failed), {"ttft_s": 1.0})
    nulls = [name for name, value in row.items() if value is None and "error" not in name]
    assert "ttft_s" in nulls
    assert "duration_s" in nulls
    assert "kv_cache_usage" in nulls
    assert "goodput_per_s" in nulls
    without = set(nulls) - set(row["null_reasons"]) - {"prefix_cache_hit_rate_source", "series"}
    assert not without
    assert row["null_reasons"]["ttft_s"] == "no request was recorded: the engine died"
    assert row["validity"] == "INVALID"
    json.dumps(row, allow_nan=False)


def test_every_null_of_a_good_point_has_a_reason():
    row = summarize_point(records([request()], [engine(11.0)]))
    nulls = {name for name, value in row.items() if value is None} - {"error", "error_kind"}
    assert nulls - set(row["null_reasons"]) == {"prefix_cache_hit_rate_source", "series"}
    assert not set(row["null_reasons"]) - nulls
    json.dumps(row, allow_nan=False)


def test_unknown_token_counts_are_not_counted_as_zero():
    row = summarize_point(records([request(), request(completion_tokens=None)]))
    assert row["output_throughput_tokens_per_s"] is None
    told = row["null_reasons"]["output_throughput_tokens_per_s"]
    assert told == "1 of 2 ok requests do not tell their tokens"


@pytest.mark.parametrize(
    ("asked", "tokens", "expected"),
    [
        (10, [10, 10], 0.0),
        (10, [10, 8], 0.2),
        (10, [10, 13], 0.3),
        ({"kind": "uniform", "low": 5, "high": 20}, [5, 20], 0.0),
        ({"kind": "uniform", "low": 5, "high": 20}, [4, 30], 0.5),
    ],
)
def test_deviation_from_the_asked_length(asked, tokens, expected):
    workload = {"prompt_tokens": 16, "completion_tokens": asked}
    found = summarize_point(
        records([request(completion_tokens=n) for n in tokens], workload=workload)
    )
    assert found["completion_tokens_deviation"] == pytest.approx(expected)


def test_notes_name_percentiles_that_rest_on_too_little():
    row = summarize_point(records([request() for _ in range(20)]))
    assert [note for note in row["notes"] if note.startswith("P99 of ttft_s")]
    assert not [note for note in row["notes"] if note.startswith("P95")]
    full = summarize_point(records([request() for _ in range(100)]))
    assert full["notes"] == []


def test_prompts_of_another_length_are_a_note_and_no_doubt():
    row = summarize_point(records([request(prompt_tokens=20) for _ in range(100)]))
    assert row["notes"] == [
        "some prompts are 25% off the length that was asked: another tokenizer, or a chat template"
    ]
    assert row["validity"] == "VALID"


def test_notes_tell_chunks_of_several_tokens_and_counted_tokens():
    row = summarize_point(
        records([request(completion_tokens=6, tokens_source="chunks") for _ in range(100)])
    )
    assert row["notes"] == [
        "a chunk holds 2.00 tokens on average; itl_s is by chunk",
        "token counts of some requests come from chunks",
    ]


def test_the_share_of_json_is_of_the_answers_that_had_to_be():
    row = summarize_point(records([request(is_json=True), request(is_json=False), request()]))
    assert row["json_share"] == 0.5
    none = summarize_point(records([request()]))
    assert none["json_share"] is None
    assert none["null_reasons"]["json_share"] == "no request asked for JSON"
