"""Records and rows with known numbers, to be varied by the tests of this folder."""

from typing import Any

from labkit.records import PointRecords


def request(sent: float = 10.0, **changes: Any) -> dict[str, Any]:
    """A three-token stream: tokens at 0.5, 0.6 and 0.9 s after the send, done at 1.0 s."""
    return {
        "request_id": "r",
        "intended_at_s": None,
        "sent_at_s": sent,
        "headers_at_s": sent + 0.1,
        "first_token_at_s": sent + 0.5,
        "last_token_at_s": sent + 0.9,
        "finished_at_s": sent + 1.0,
        "chunk_at_s": [sent + 0.5, sent + 0.6, sent + 0.9],
        "prompt_tokens": 16,
        "completion_tokens": 3,
        "cached_tokens": None,
        "tokens_source": "usage",
        "finish_reason": "length",
        "status": "ok",
        "error_kind": None,
        "error_message": None,
        "http_status": 200,
        **changes,
    }


def scheduled(
    intended: float, wait: float = 0.0, lag: float = 0.0, **changes: Any
) -> dict[str, Any]:
    """The same stream, due at `intended`, released after a wait for a slot, sent after a lag."""
    released = intended + wait
    told = {"intended_at_s": intended, "released_at_s": released}
    return request(released + lag, **{**told, **changes})


def failure(sent: float = 10.0, **changes: Any) -> dict[str, Any]:
    """A request that was refused after 0.2 s."""
    bare = dict.fromkeys(("headers_at_s", "first_token_at_s", "last_token_at_s", "finish_reason"))
    told = {
        "finished_at_s": sent + 0.2,
        "chunk_at_s": [],
        "prompt_tokens": None,
        "completion_tokens": None,
        "tokens_source": None,
        "status": "error",
        "error_kind": "refused",
        "error_message": "no",
        "http_status": None,
    }
    return request(sent, **{**bare, **told, **changes})


def point(**changes: Any) -> dict[str, Any]:
    """A point that ran well, loaded from 10 to 14 s."""
    return {
        "schema": 1,
        "point_id": "p",
        "index": 0,
        "variable": "engine.max_num_seqs",
        "value": 8,
        "repeat": 0,
        "seed": 0,
        "status": "ok",
        "error": None,
        "engine": {"max_num_seqs": 8, "block_size": None},
        "effective": {"max_num_seqs": 8},
        "workload": {"prompt_tokens": 16, "completion_tokens": 3, "salt": True},
        "load": {"max_concurrency": 2},
        "command": [],
        "started_at_s": 8.0,
        "ready_at_s": 9.5,
        "load_started_at_s": 10.0,
        "load_ended_at_s": 14.0,
        "stopped_at_s": 15.0,
        "client_cpu_s": 0.4,
        "gpu": {"available": False, "reason": "no NVIDIA driver"},
        **changes,
    }


def records(
    requests: list[dict[str, Any]], samples: list[dict[str, Any]] | None = None, **changes: Any
) -> PointRecords:
    return PointRecords("p", point(**changes), requests, samples or [])


def engine(at_s: float, **fields: Any) -> dict[str, Any]:
    return {"source": "engine", "at_s": at_s, "took_s": 0.001, "error": None, **fields}


def latency(value: float | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {"mean": value, "p50": value, "p90": value, "p95": value, "p99": value, "n": 40}


def row(value: Any = 8, rate: float | None = 100.0, **changes: Any) -> dict[str, Any]:
    """A row of the summary as far as findings read it."""
    told = {
        "point_id": f"p{value}",
        "variable": "engine.max_num_seqs",
        "value": value,
        "repeat": 0,
        "validity": "VALID",
        "validity_reasons": [],
        "output_throughput_tokens_per_s": rate,
        "ttft_s": latency(1.0),
        "tpot_s": latency(0.02),
        "e2e_latency_s": latency(2.0),
        "num_requests_waiting": {"mean": 1.5, "max": 6.0, "n": 9},
        "kv_cache_usage": {"mean": 0.41, "max": 0.62, "n": 9},
        "num_preemptions": 0,
        "goodput_per_s": None,
        "slo_attainment": None,
        "slo": {},
        "null_reasons": {},
    }
    return {**told, **changes}
