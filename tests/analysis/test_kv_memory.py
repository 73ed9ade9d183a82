"""The KV cache in bytes, worked out by hand; and its table."""

import pytest
from analysis.facts import engine, records, request

from labkit.analysis.metrics import summarize_point
from labkit.report.kv_memory import kv_memory_table

CONFIG = {
    "num_hidden_layers": 10, "num_key_value_heads": 2, "head_dim": 5, "dtype": "float16",
}  # fmt: skip
"""10 * 2 * 2 * 5 * 2 = 400 bytes a token."""


def measure(**changes: object) -> dict:
    """Two looks: 8 and 4 running, half and a quarter used of 2,000 tokens or 800,000 bytes."""
    told = {"kv_cache_capacity_tokens": 2000, "kv_cache_capacity_bytes": changes.pop("told", None)}
    samples = [
        engine(11.0, kv_cache_usage=0.5, num_requests_running=8, **told),
        engine(13.0, kv_cache_usage=0.25, num_requests_running=4, **told),
    ]
    settings = {"kind": "vllm", "max_num_seqs": 8, "max_model_len": 1000}
    point = {"model_config": CONFIG, "engine": settings, "effective": settings, **changes}
    return summarize_point(records([request()] * 20, samples, **point))


def test_capacity_use_and_what_reservation_would_have_taken() -> None:
    row = measure()
    assert row["kv_cache_bytes_per_token"] == 400
    told = row["kv_memory"]
    assert told["capacity_tokens"] == 2000
    assert told["capacity_bytes"] == 800_000
    assert told["used_bytes_max"] == 400_000
    assert told["used_bytes_mean"] == 300_000  # each look stands for half of the load
    assert told["reserved_bytes"] == 8 * 1000 * 400
    assert told["saved_share"] == pytest.approx(1 - 400_000 / 3_200_000)
    assert told["fitting_requests"] == pytest.approx(2000 / 19)  # 16 + 3 tokens a request
    assert told["limit"] == "max_num_seqs"
    assert told["disagrees"] is False


def test_a_pool_below_max_num_seqs_is_the_limit() -> None:
    settings = {"kind": "vllm", "max_num_seqs": 200, "max_model_len": 1000}
    assert measure(engine=settings, effective={})["kv_memory"]["limit"] == "kv_cache"


def test_the_engines_own_bytes_go_first_and_a_disagreement_is_told() -> None:
    row = measure(told=1_000_000)
    assert row["kv_memory"]["capacity_bytes"] == 1_000_000
    assert row["kv_memory"]["reckoned_bytes"] == 800_000
    assert row["kv_memory"]["disagrees"] is True
    assert "by the model" in kv_memory_table({"points": [row]})
    assert measure(told=810_000)["kv_memory"]["disagrees"] is False


def test_slots_that_are_reserved_save_nothing() -> None:
    settings = {"kind": "llamacpp", "max_num_seqs": 8, "max_model_len": 250}
    told = measure(engine=settings, effective=settings)["kv_memory"]
    assert told["saved_share"] is None
    assert "paging saves nothing" in told["reason"]
    assert told["capacity_bytes"] == 800_000


def test_one_pool_of_llamacpp_is_no_reservation() -> None:
    settings = {"kind": "llamacpp", "max_num_seqs": 8, "max_model_len": 2000}
    command = ["--set", "kv_unified=true"]
    told = measure(engine=settings, effective=settings, command=command)["kv_memory"]
    assert told["reserved_bytes"] == 8 * 2000 * 400
    assert told["saved_share"] == pytest.approx(1 - 400_000 / 6_400_000)
    assert told["reason"] is None


def test_tokens_make_no_bytes_where_layers_have_a_window() -> None:
    windowed = {**CONFIG, "sliding_window": 100}
    told = measure(model_config=windowed)["kv_memory"]
    assert told["capacity_bytes"] is None
    assert told["used_bytes_max"] is None
    assert "sliding window" in told["reason"]
    told = measure(model_config=windowed, told=300_000)["kv_memory"]
    assert told["capacity_bytes"] == 300_000
    assert told["disagrees"] is False


def test_without_a_configuration_tokens_stay_and_bytes_have_a_reason() -> None:
    row = measure(model_config=None, model_config_reason="the model of an endpoint is elsewhere")
    assert row["kv_cache_bytes_per_token"] is None
    assert row["null_reasons"]["kv_cache_bytes_per_token"] == (
        "the model of an endpoint is elsewhere"
    )
    assert row["kv_memory"]["capacity_bytes"] is None
    assert row["kv_memory"]["fitting_requests"] is not None
    table = kv_memory_table({"points": [row]})
    assert "the model of an endpoint is elsewhere" in table


def test_without_a_capacity_there_is_a_reason_and_no_table() -> None:
    row = summarize_point(records([request()], [engine(11.0)]))
    assert row["kv_memory"] is None
    assert row["null_reasons"]["kv_memory"]
    assert kv_memory_table({"points": [row]}) == ""


def test_the_table_is_in_bytes_and_names_the_limit() -> None:
    table = kv_memory_table({"points": [measure()]})
    for told in ("KV cache in bytes", "0.763 MiB", "2,000 tokens", "87.5 %", "105", "max_num_seqs"):
        assert told in table
