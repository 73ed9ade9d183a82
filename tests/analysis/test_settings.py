"""Asked and in force, side by side; what ran lowered is doubted, or loses its value."""

import pytest
from analysis.facts import engine, records, request

from labkit.analysis.metrics import summarize_point
from labkit.analysis.settings import Setting, compare_settings, list_steps
from labkit.analysis.twins import find_twins

OOM = "the engine ran out of memory (oom_profile)"


def step(knob, before, after, because="oom_profile"):
    return {"knob": knob, "from": before, "to": after, "because": because}


def ask(**changes):
    return summarize_point(records([request()] * 30, **changes))


def test_every_setting_is_told_with_its_state():
    asked = {"kind": "vllm", "model": "m", "max_num_seqs": 8, "block_size": 16, "num_threads": 2}
    effective = {"max_num_seqs": 4, "block_size": 16, "async_scheduling": True, "policy": None}
    row = {"asked": asked, "effective": effective}
    assert compare_settings(row) == [
        Setting("max_num_seqs", 8, 4, "differs"),
        Setting("block_size", 16, 16, "same"),
        Setting("num_threads", 2, None, "untold"),
        Setting("async_scheduling", None, True, "unasked"),
    ]


@pytest.mark.parametrize(("told", "state"), [(0.9 + 1e-10, "same"), (0.8, "differs")])
def test_floats_are_compared_as_numbers(told, state):
    row = {"asked": {"share": 0.9}, "effective": {"share": told}}
    assert [one.state for one in compare_settings(row)] == [state]


def test_a_lowered_setting_is_a_doubt_and_told_once():
    row = ask(
        variable="engine.block_size",
        engine={"max_num_seqs": 64},
        effective={"max_num_seqs": 16},
        stepped_down=[step("max_num_seqs", 64, 16)],
    )
    assert row["validity"] == "SUSPECT"
    assert row["validity_reasons"] == [f"max_num_seqs ran as 16, not 64: {OOM}"]
    assert row["stepped_down"] == [step("max_num_seqs", 64, 16)]


def test_a_lowered_swept_value_makes_the_point_invalid():
    budget = step("max_num_batched_tokens", None, 4096, "oom_run")
    row = ask(
        value=64,
        engine={"max_num_seqs": 64},
        effective={"max_num_seqs": 16, "max_num_batched_tokens": 4096},
        stepped_down=[step("max_num_seqs", 64, 16), budget],
    )
    assert row["validity"] == "INVALID"
    assert row["validity_reasons"] == [
        f"max_num_seqs ran as 16, not 64: {OOM}, so the point does not hold its value",
        "max_num_batched_tokens ran as 4096, not the default: the engine ran out of memory "
        "(oom_run)",
    ]


def test_the_limit_is_the_one_that_ran():
    changes = {
        "variable": "engine.block_size",
        "engine": {"max_num_seqs": 64},
        "effective": {"max_num_seqs": 16},
        "stepped_down": [step("max_num_seqs", 64, 16)],
    }
    row = summarize_point(records([request()], [engine(11, num_requests_running=17)], **changes))
    assert "17 requests ran at once though max_num_seqs is 16" in row["validity_reasons"]


def test_two_steps_of_one_setting_are_one_from_first_to_last():
    row = {"stepped_down": [step("max_num_seqs", 64, 16), step("max_num_seqs", 16, 8)]}
    (one,) = list_steps(row)
    assert (one.asked, one.ran) == (64, 8)
    assert list_steps({"stepped_down": [step("max_num_seqs", 16, 16)]}) == []
    assert list_steps({}) == []


def test_a_point_that_ran_lowered_is_no_twin_of_one_that_did_not():
    rows = [
        {"variable": name, "value": 4, "validity": "SUSPECT", "asked": {"a": 1}, **more}
        for name, more in (("x", {}), ("y", {"stepped_down": [step("a", 1, 0)]}))
    ]
    assert find_twins(rows) == []
    assert len(find_twins([rows[0], {**rows[0], "variable": "y"}])) == 1


def test_a_failed_point_tells_its_kind_in_words_and_a_short_error():
    error = "expected vLLM to run, found oom_load: " + "word " * 200
    row = ask(status="failed", error=error, error_kind="oom_load")
    (told, *_) = row["validity_reasons"]
    assert told.startswith(
        "the point failed, the device had not the memory that the model needs (oom_load): "
        "expected vLLM to run, found oom_load: word"
    )
    assert told.endswith(" …")
    assert len(told) < 420
    assert (row["error"], row["error_kind"]) == (error, "oom_load")
    assert ask(status="failed", error="died.")["validity_reasons"][0] == "the point failed: died"
    odd = ask(status="failed", error=None, error_kind="what")
    assert odd["validity_reasons"][0] == "the point failed"
