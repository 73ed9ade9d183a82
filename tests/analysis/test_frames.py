"""Tables to explore: a row a request, a row a sample, seconds as numbers."""

import math

import pytest
from analysis.facts import engine, failure, records, request, scheduled

from labkit.analysis.frames import frame_findings, frame_requests, frame_samples


def test_a_request_has_its_place_and_its_latencies() -> None:
    frame = frame_requests([records([request(), failure(11.0)])])
    first, second = frame.to_dict("records")
    assert (first["point_id"], first["variable"], first["value"]) == (
        "p",
        "engine.max_num_seqs",
        8,
    )
    assert first["since_load_s"] == pytest.approx(0.0)
    assert first["ttft_s"] == pytest.approx(0.5)
    assert first["tpot_s"] == pytest.approx(0.2)  # 0.4 s for the two tokens after the first
    assert first["e2e_latency_s"] == pytest.approx(0.9)
    assert first["num_chunks"] == 3
    assert "chunk_at_s" not in frame.columns
    assert second["since_load_s"] == pytest.approx(1.0)
    assert math.isnan(second["ttft_s"])
    assert (second["status"], second["error_kind"]) == ("error", "refused")


def test_the_intended_time_counts_where_there_is_a_schedule() -> None:
    load = {"mode": "open", "request_rate_per_s": 1.0}
    frame = frame_requests([records([scheduled(10.0, wait=0.25)], load=load)])
    assert frame.ttft_intended_s[0] == pytest.approx(0.75)
    assert frame.ttft_s[0] == pytest.approx(0.5)
    closed = frame_requests([records([request(intended_at_s=9.0)])])
    assert closed.ttft_intended_s.isna().all()
    assert closed.ttft_intended_s.dtype == float


def test_samples_count_from_the_load() -> None:
    host = {"source": "host", "at_s": 12.5, "engine_memory_bytes": 7}
    frame = frame_samples([records([], [engine(9.5, kv_cache_usage=0.5), host])])
    assert list(frame.since_load_s) == [-0.5, 2.5]
    assert list(frame.source) == ["engine", "host"]
    assert frame.kv_cache_usage[0] == 0.5
    assert math.isnan(frame.kv_cache_usage[1])
    begun = frame_samples([records([], [host], load_started_at_s=None)])
    assert begun.since_load_s.isna().all()


def test_nothing_recorded_is_a_table_without_rows() -> None:
    frame = frame_requests([records([])])
    assert len(frame) == 0
    assert {"point_id", "ttft_s", "series"} <= set(frame.columns)
    assert len(frame_samples([])) == 0


def test_an_effect_is_spread_over_columns() -> None:
    effect = {"field": "ttft_s.p95", "value": 2.0, "low": None, "high": None}
    told = {"title": "a", "text": "b", "kind": "result", "variable": None, "effect": effect}
    frame = frame_findings([told, {**told, "kind": "warning", "effect": None}])
    assert list(frame.kind) == ["result", "warning"]
    assert frame.effect_field[0] == "ttft_s.p95"
    assert frame.effect_value[0] == 2.0
    assert math.isnan(frame.effect_value[1])
