"""The first screen: grouped findings, escaped; any workload and load in few words."""

import pytest

from labkit.analysis.finding import Finding
from labkit.report.opening import (
    describe_load,
    describe_workload,
    list_commands,
    make_opening,
    make_title,
)

SUMMARY = {
    "run": {
        "engine": {"kind": "llamacpp", "model": "/models/small.gguf"},
        "workload": {
            "num_requests": 8,
            "prompt_tokens": {"low": 16, "high": 64},
            "completion_tokens": 32,
        },
        "load": {"max_concurrency": 4},
        "environment": {"cpu": {"model": "A processor"}, "gpus": {"reason": "no NVIDIA driver"}},
        "num_points_planned": 2,
        "started_at": "2026-01-02T03:04:05+00:00",
    },
    "points": [{"status": "ok", "validity": "VALID"}, {"status": "failed", "validity": "INVALID"}],
}


def test_it_tells_what_was_measured_where() -> None:
    page = make_opening("8 is best", [], SUMMARY)
    assert "<h1>8 is best</h1>" in page
    assert (
        "llamacpp with small.gguf \u00b7 A processor, no GPU sampled \u00b7 "
        "8 requests of 16 to 64 prompt and 32 completion tokens a point \u00b7 4 at a time \u00b7 "
        "1 of 2 points measured \u00b7 1 VALID, 1 INVALID \u00b7 begun 2026-01-02 03:04 UTC"
    ) in page


def test_findings_stand_below_their_variable_and_are_escaped() -> None:
    findings = [
        Finding("Fast", "<b>8</b>", "result", "engine.max_num_seqs"),
        Finding("Odd", "one failed", "warning"),
    ]
    page = make_opening("8 is best", findings, SUMMARY)
    assert (
        page.index("<code>max_num_seqs</code>") < page.index("Fast") < page.index("The whole run")
    )
    assert "&lt;b&gt;8&lt;/b&gt;" in page
    assert "<b>8</b>" not in page


def test_a_long_list_of_points_is_folded_and_a_short_one_is_not() -> None:
    short, long = (Finding("SUSPECT", "max_num_seqs 4: <slow>. " * n, "warning") for n in (1, 20))
    assert "<details>" not in make_opening("all", [short], SUMMARY)
    page = make_opening("all", [long], SUMMARY)
    assert "<details><summary>Which, and why</summary><p>max_num_seqs 4: &lt;slow&gt;." in page
    result = Finding("Fast", "it is fast. " * 40, "result")
    assert "<details>" not in make_opening("all", [result], SUMMARY)


def test_the_commands_hold_the_params_themselves() -> None:
    commands = list_commands({"name": "small"}, "name: small\n")
    assert commands[1:] == [
        "cat > params/small-again.yaml <<'END'",
        "name: small",
        "END",
        ".venv/bin/labkit run params/small-again.yaml",
    ]


def test_what_is_swept_is_told_with_all_its_values() -> None:
    sweep = [
        {"variable": "load.max_concurrency", "values": [1, 2, 4]},
        {"variable": "workload.prompt_tokens", "values": [64, 512]},
        {"variable": "engine.max_num_seqs", "values": [8, 16]},
    ]
    page = make_opening("all", [], {**SUMMARY, "run": {**SUMMARY["run"], "sweep": sweep}})
    assert "1, 2, 4 at a time" in page
    assert "8 requests of 64, 512 prompt and 32 completion tokens a point" in page


def test_a_fact_has_a_neutral_mark() -> None:
    page = make_opening("all", [Finding("Queue", "holds 3", "fact")], SUMMARY)
    assert 'aria-label="Fact">•<' in page


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        ({}, "8 requests of 64 prompt and 32 completion tokens"),
        ({"kind": "structured"}, "8 requests for JSON of 64 prompt and 32 completion tokens"),
        (
            {"kind": "mixed", "long_share": 0.1, "long_prompt_tokens": {"low": 900, "high": 999}},
            "8 requests of 64 prompt and 32 completion tokens, 10% of them with "
            "900 to 999 prompt tokens",
        ),
        (
            {"kind": "shared_prefix", "num_groups": 1, "prefix_tokens": 512},
            "8 requests of 64 prompt and 32 completion tokens after 1 prefix of 512 tokens",
        ),
        (
            {"kind": "shared_prefix", "num_groups": 4, "prefix_tokens": 512},
            "8 requests of 64 prompt and 32 completion tokens after 4 prefixes of 512 tokens",
        ),
        (
            {"kind": "multi_turn", "num_tasks": 5, "num_turns": 3, "turn_tokens": 20},
            "5 conversations of 3 turns, 64 prompt and 32 completion tokens, "
            "then 20 prompt tokens a turn",
        ),
        (
            {"kind": "agent", "num_tasks": 5, "num_steps": 3, "step_tokens": 20},
            "5 agent tasks of 3 calls, 64 prompt and 32 completion tokens, "
            "then 20 tokens of a tool's result a call",
        ),
    ],
)
def test_every_drawn_workload_in_few_words(workload: dict[str, object], told: str) -> None:
    lengths = {"num_requests": 8, "prompt_tokens": 64, "completion_tokens": 32}
    assert describe_workload(lengths | workload) == told


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        ({"kind": "sharegpt", "num_requests": 8}, "8 conversations of chats.json"),
        (
            {"kind": "sharegpt", "num_requests": 8, "completion_tokens": 32},
            "8 conversations of chats.json with 32 completion tokens",
        ),
        ({"kind": "jsonl", "num_requests": None}, "all requests of chats.json"),
        (
            {"kind": "trace", "num_requests": 8, "duration_s": 60.0},
            "8 requests of chats.json in its first 60 s",
        ),
    ],
)
def test_every_file_in_few_words(workload: dict[str, object], told: str) -> None:
    assert describe_workload({"path": "/home/me/chats.json"} | workload) == told


@pytest.mark.parametrize(
    ("load", "told"),
    [
        ({"max_concurrency": 4}, "4 at a time"),
        ({"mode": "static_batch", "max_concurrency": 4}, "in batches of 4"),
        ({"mode": "open", "request_rate_per_s": 2.5}, "sent 2.5 a second"),
        (
            {"mode": "open", "request_rate_per_s": 2.0, "ramp_to_per_s": 8, "max_concurrency": 4},
            "sent 2 to 8 a second, at most 4 at a time",
        ),
        ({"mode": "open", "request_rate_per_s": "1, 2"}, "sent 1, 2 a second"),
        ({"mode": "closed, open", "max_concurrency": 4}, "sent in turn as closed, open"),
        ({"mode": "trace", "speed": "1, 2"}, "sent 1, 2 times as fast as the trace"),
        ({"mode": "trace"}, "sent when the trace did"),
        ({"mode": "trace", "speed": 2.0}, "sent 2 times as fast as the trace"),
    ],
)
def test_every_load_in_few_words(load: dict[str, object], told: str) -> None:
    assert describe_load(load) == told


def test_a_second_sweep_stands_below_the_headline_and_doubts_are_small():
    told = "max_num_seqs 8 is best [SUSPECT at 1 and 8]; max_model_len <b> is best"
    assert make_title(told) == (
        "<h1>max_num_seqs 8 is best <small>[SUSPECT at 1 and 8]</small></h1>\n"
        '<p class="also">max_model_len &lt;b&gt; is best</p>'
    )
