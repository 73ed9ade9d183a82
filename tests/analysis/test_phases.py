"""Queue, prefill and decode, and the stalls between, worked out by hand."""

import pytest
from analysis.facts import records, request

from labkit.analysis.metrics import summarize_point


def test_the_engine_tells_the_prefill_of_each() -> None:
    # TTFT 0.5 s, of which 0.2 s prefill; decode 0.4 s; 16 tokens a prompt, 6 of them cached.
    told = [request(prefill_s=0.2, cached_tokens=6), request(11.0, prefill_s=0.2, cached_tokens=6)]
    found = summarize_point(records(told))["phases"]
    assert found == {
        "queue_time_s": pytest.approx(0.3),
        "prefill_time_s": pytest.approx(0.2),
        "decode_time_s": pytest.approx(0.4),
        "prompt_tokens_per_s": pytest.approx(50.0),
        "decode_share": pytest.approx(2 / 3),
        "source": "engine requests",
        "n": 2,
    }


def test_the_client_alone_cannot_tell_queue_from_prefill() -> None:
    found = summarize_point(records([request()]))["phases"]
    assert found["source"] == "client"
    assert found["queue_time_s"] is None
    assert found["prefill_time_s"] == pytest.approx(0.5)
    assert found["prompt_tokens_per_s"] is None


def test_without_an_answer_there_is_a_reason() -> None:
    row = summarize_point(records([]))
    assert row["phases"] is row["prefill_stall_s"] is row["step_time"] is None
    assert {"phases", "prefill_stall_s", "step_time"} <= set(row["null_reasons"])


def test_a_long_prompt_stalls_the_streams_that_run() -> None:
    # A stream of 31 tokens, 0.1 s apart, but for one gap of 1.1 s that a prompt of 900 entered.
    stamps = [10.0 + 0.1 * n + (1.0 if n > 15 else 0.0) for n in range(31)]
    runs = request(
        9.5, first_token_at_s=stamps[0], last_token_at_s=stamps[-1], finished_at_s=stamps[-1],
        chunk_at_s=stamps, completion_tokens=31,
    )  # fmt: skip
    enters = request(
        11.6, headers_at_s=11.7, first_token_at_s=12.59, last_token_at_s=12.59, finished_at_s=12.6,
        chunk_at_s=[12.59], completion_tokens=1, prompt_tokens=900,
    )  # fmt: skip
    found = summarize_point(records([runs, enters]))["prefill_stall_s"]
    assert found == {
        "max": pytest.approx(1.1),
        "p95": pytest.approx(1.1),
        "n": 1,
        "median_gap_s": pytest.approx(0.1),
        "share": pytest.approx(1.0 / 4.0),
        "prompt_tokens": 900,
    }
