"""Every rule of the diagnosis: rows that trigger it, and rows beside them that must not."""

from typing import Any

import pytest
from analysis.facts import latency, row

from labkit.analysis.diagnosis import RULES, diagnose


def gauge(mean: float, high: float | None = None) -> dict[str, float]:
    return {"mean": mean, "max": mean if high is None else high, "n": 40}


def healthy(**changes: Any) -> dict[str, Any]:
    """Eight places, seven in use, nobody waits, half of the pool is free, the client is idle."""
    told: dict[str, Any] = {
        "status": "ok",
        "num_requests": 40,
        "num_ok": 40,
        "num_error": 0,
        "error_kinds": {},
        "error_examples": {},
        "asked": {"max_num_seqs": 8},
        "effective": {"max_num_seqs": 8, "max_num_batched_tokens": 512},
        "workload": {"kind": "synthetic"},
        "load": {"mode": "closed", "max_concurrency": 8},
        "num_requests_running": gauge(7.0, 8.0),
        "num_requests_waiting": gauge(0.0),
        "kv_cache_usage": gauge(0.4, 0.5),
        "kv_cache_capacity_tokens": 4096,
        "prompt_tokens": gauge(200.0),
        "completion_tokens": gauge(50.0),
        "ttft_s": latency(0.2),
        "itl_s": latency(0.02),
        "queue_growth_per_s": None,
        "gpu_utilization": None,
        "engine_cpu_utilization": gauge(0.9),
        "prefix_cache_hit_rate": 0.0,
        "duration_s": 20.0,
        "client_busiest_cores": 0.1,
        "client_cpu_s": 2.0,
        "client_cpu_utilization": gauge(0.1),
        "client_load": {
            "requests_per_s": 2.0,
            "requests_share": 0.01,
            "chunks_per_s": 40.0,
            "chunks_share": 0.01,
        },
        "client_stall_s": {"max": 0.002, "p99": 0.001, "n": 900},
        "send_lag_s": latency(0.001),
        "offered_rate_per_s": None,
        "released_span_s": None,
        "sent_span_s": None,
    }
    return row(**{**told, **changes})


GROWS = {"slope": 1.5, "p_value": 1e-6, "span_s": 20.0, "n": 80}
OPEN = {"mode": "open", "request_rate_per_s": 2.0}
OFF = {"max_num_seqs": 8, "enable_chunked_prefill": False}
LONG = {
    "prompt_tokens": gauge(2000.0),
    "effective": {"max_num_seqs": 8, "max_num_batched_tokens": 64},
}
BESIDE = {"num_requests_running": gauge(4.0, 8.0), "num_requests_waiting": gauge(3.0, 9.0)}
STALLED = {"mean": 0.03, "p50": 0.02, "p90": 0.05, "p95": 0.1, "p99": 0.4, "n": 2000}
WAITS = {"num_requests_waiting": gauge(9.0, 12.0)}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # the first triggers the rule; the second lacks what it rests on
    "client_bound": (
        {"client_busiest_cores": 0.97},
        {"client_stall_s": {"max": 0.5, "p99": 0.2, "n": 900}},  # a neighbour's doing, perhaps
    ),
    "error_storm": (
        {"num_error": 8, "error_kinds": {"timeout": 8}, "validity": "INVALID"},
        {"num_error": 2, "error_kinds": {"timeout": 2}},
    ),
    "kv_pool_full": (
        {"num_preemptions": 3, "kv_cache_usage": gauge(0.9, 1.0)},
        {"num_preemptions": 0, "kv_cache_usage": gauge(0.9, 1.0)},  # full, and nobody waits
    ),
    "pool_bounds_concurrency": (
        {**WAITS, "kv_cache_usage": gauge(0.9, 0.93), "kv_cache_capacity_tokens": 1000},
        {**WAITS, "kv_cache_usage": gauge(0.9, 0.93), "kv_cache_capacity_tokens": 2001},
    ),
    "chunked_prefill_off": (
        {"effective": OFF, "itl_s": STALLED},
        {"effective": {**OFF, "enable_chunked_prefill": True}, "itl_s": STALLED},
    ),
    "budget_too_small": (
        {**LONG, **BESIDE, "ttft_s": latency(1.5)},
        {**LONG, **BESIDE, "ttft_s": latency(0.5)},  # many steps, yet a quarter of the time
    ),
    "max_num_seqs_too_small": (
        {**WAITS, "num_requests_running": gauge(7.9, 8.0)},
        {**WAITS, "num_requests_running": gauge(7.9, 8.0), "kv_cache_usage": gauge(0.8, 0.9)},
    ),
    "false_health": (
        {"load": OPEN, "queue_growth_per_s": GROWS},
        {"load": OPEN, "queue_growth_per_s": {**GROWS, "p_value": 0.2}},
    ),
    "prefix_reuse_missed": (
        {"workload": {"kind": "shared_prefix"}},
        {"workload": {"kind": "shared_prefix"}, "prefix_cache_hit_rate": 0.6},
    ),
    "under_filled_batch": (
        {"num_requests_running": gauge(1.8, 2.0)},
        {"num_requests_running": gauge(1.8, 2.0), "variable": "load.max_concurrency"},
    ),
}
"""max_num_seqs 8 and requests of 250 tokens: 1000 tokens fit 4 of them, 2001 fit 8."""


def names(*rows: dict[str, Any]) -> list[str]:
    return [one["rule"] for one in diagnose(rows)]


def test_a_healthy_run_yields_none() -> None:
    assert names(healthy(), healthy(value=16)) == []


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_finds_its_fault_and_nothing_beside_it(rule: str) -> None:
    fault, sound = CASES[rule]
    assert names(healthy(**fault)) == [rule]
    assert rule not in names(healthy(**sound))


def test_every_rule_has_a_case() -> None:
    assert {rule.name for rule in RULES} == {*CASES, "saturation"}


def test_tasks_of_one_call_have_nothing_to_share() -> None:
    assert names(healthy(workload={"kind": "agent", "num_steps": 2})) == ["prefix_reuse_missed"]
    assert names(healthy(workload={"kind": "agent", "num_steps": 1})) == []


def test_a_prefix_of_no_tokens_is_nothing_to_share() -> None:
    assert names(healthy(workload={"kind": "shared_prefix", "prefix_tokens": 0})) == []


def arm(kind: str = "vllm", *, asked: bool = True, **settings: Any) -> dict[str, Any]:
    """A point with these settings in force, and asked for unless the engine chose them."""
    told = {"max_num_seqs": 8, "max_num_batched_tokens": 512, **settings}
    return {"asked": {"kind": kind, **(settings if asked else {})}, "effective": told}


SWITCHES: dict[str, tuple[dict[str, Any], str]] = {
    "prefix_reuse_missed": (
        {"workload": {"kind": "shared_prefix", "prefix_tokens": 192}},
        "enable_prefix_caching",
    ),
    "chunked_prefill_off": ({"itl_s": STALLED}, "enable_chunked_prefill"),
}
"""What shows the fault, and the switch that is to blame where it is off."""


def test_every_rule_that_blames_a_switch_has_a_case() -> None:
    assert {rule.name for rule in RULES if rule.blames} == {*SWITCHES}


@pytest.mark.parametrize("rule", SWITCHES)
def test_a_switch_that_is_off_as_the_control_is_not_blamed(rule: str) -> None:
    shown, switch = SWITCHES[rule]
    fault = healthy(**shown, **arm(**{switch: False}))
    assert names(fault) == [rule]
    assert names(fault, fault) == [rule], "no arm has it on"
    assert names(fault, healthy(value=9, **arm(**{switch: True}))) == []
    left = healthy(value=9, **arm(asked=False, **{switch: True}))
    assert names(fault, left) == [], "the other arm left it to the engine, which has it on"
    other = healthy(value=9, **arm("sglang", **{switch: True}))
    assert names(fault, other) == [rule], "another engine"
    chosen = healthy(**shown, **arm(asked=False, **{switch: False}))
    assert names(chosen, left) == [rule], "nobody asked for either"


def test_a_cache_that_is_on_and_reuses_nothing_is_told_beside_its_control() -> None:
    shown, switch = SWITCHES["prefix_reuse_missed"]
    off, on = (
        healthy(value=value, **shown, **arm(**{switch: is_on}))
        for value, is_on in ((0, False), (1, True))
    )
    (one,) = diagnose([off, on])
    assert one["points"] == ["p1"]
    assert one["cause"].endswith("next to nothing was reused.")


def test_a_busy_engine_in_a_closed_loop_is_no_false_health() -> None:
    assert names(healthy(queue_growth_per_s=GROWS)) == []
    idle = healthy(load=OPEN, queue_growth_per_s=GROWS, engine_cpu_utilization=gauge(0.3))
    assert names(idle) == []


def test_a_full_pool_explains_a_queue_better_than_max_num_seqs() -> None:
    found = names(
        healthy(**WAITS, num_requests_running=gauge(4.0, 8.0), kv_cache_usage=gauge(0.97, 1.0))
    )
    assert found == ["kv_pool_full"]


def test_errors_that_name_the_pool_come_before_the_storm() -> None:
    told = {"stream_error": "Context size has been exceeded."}
    kinds = {"stream_error": 40}
    broken = healthy(num_ok=0, num_error=40, error_kinds=kinds, error_examples=told)
    assert names({**broken, "validity": "INVALID"}) == ["kv_pool_full", "error_storm"]


def test_an_invalid_point_feeds_only_what_explains_it() -> None:
    wrong = healthy(**WAITS, num_requests_running=gauge(7.9, 8.0), client_busiest_cores=0.99)
    assert names(wrong) == ["client_bound", "max_num_seqs_too_small"]
    assert names({**wrong, "validity": "INVALID"}) == ["client_bound"]


def test_what_was_not_measured_leads_to_no_diagnosis() -> None:
    blind = dict.fromkeys(("num_requests_running", "num_requests_waiting", "kv_cache_usage"))
    assert names(healthy(**blind, ttft_s=None, itl_s=None)) == []


def test_long_prompts_alone_do_not_tell_that_the_budget_is_small() -> None:
    assert names(healthy(**LONG, ttft_s=latency(1.5))) == []


def test_decodes_that_take_the_budget_starve_the_prompts() -> None:
    small = {"max_num_seqs": 8, "max_num_batched_tokens": 8}
    (one,) = diagnose([healthy(effective=small, ttft_s=latency(1.5))])
    # 7 run, one of them in prefill: 6 decodes leave 2 of 8 tokens, and 200 / 2 is 100
    assert one["rule"] == "budget_too_small"
    assert one["evidence"][0]["text"].startswith("a prompt of 200 tokens takes about 100 steps")


def test_evidence_names_its_field_and_value() -> None:
    (one,) = diagnose([healthy(num_preemptions=3, kv_cache_usage=gauge(0.9, 1.0))])
    assert (one["confidence"], one["points"], one["figure"]) == ("high", ["p8"], "pressure")
    assert one["evidence"] == [
        {"text": "3 preemptions over the load", "field": "num_preemptions", "value": 3.0},
        {
            "text": "KV usage reached 100 % of 4,096 tokens",
            "field": "kv_cache_usage.max",
            "value": 1.0,
        },
    ]
    assert one["by_point"] == {"p8": one["evidence"]}


def swept(variable: str, *told: tuple[int, float, float]) -> list[dict[str, Any]]:
    """Rows of (value, output, latency)."""
    return [
        healthy(
            value=value,
            variable=variable,
            rate=rate,
            ttft_s=latency(late),
            e2e_latency_s=latency(late * 4),
        )
        for value, rate, late in told
    ]


def test_the_knee_is_the_last_value_that_still_gains() -> None:
    rows = swept("load.max_concurrency", (1, 50, 0.1), (2, 95, 0.1), (4, 97, 0.3), (8, 96, 0.9))
    (one,) = diagnose(rows)
    assert (one["rule"], one["points"]) == ("saturation", ["p4", "p8"])
    assert one["cause"].startswith("The knee is at max_concurrency 2:")


def test_no_knee_where_throughput_still_rises_or_latency_does_not() -> None:
    rising = swept("load.max_concurrency", (1, 50, 0.1), (2, 95, 0.2), (4, 180, 0.4))
    assert names(*rising) == []
    flat = swept("load.max_concurrency", (1, 50, 0.1), (2, 95, 0.2), (4, 97, 0.2))
    assert names(*flat) == []


def test_a_swept_budget_shows_what_a_small_one_costs() -> None:
    knob = "engine.max_num_batched_tokens"
    assert names(*swept(knob, (64, 100, 0.9), (512, 104, 0.3))) == ["budget_too_small"]
    assert names(*swept(knob, (64, 100, 0.30), (512, 104, 0.29))) == []


def test_a_swept_budget_that_costs_tpot_is_a_trade_and_no_fault() -> None:
    low, high = swept("engine.max_num_batched_tokens", (64, 100, 0.9), (512, 104, 0.3))
    assert names(low, {**high, "tpot_s": latency(0.05)}) == []
