"""Tables of the engine itself: its times, its settings, what went wrong with it."""

import re

from labkit.report.inside import engine_tables, failures_table, settings_table, sides_table

VARIABLE = "engine.max_num_seqs"
EVIL = "<script>alert(1)</script>"


def inside(seconds, n=32):
    return {"mean": seconds, "n": n}


TIMED = {
    "engine_ttft_s": inside(0.08),
    "engine_queue_time_s": inside(0.02),
    "engine_prefill_time_s": inside(0.06),
    "engine_decode_time_s": inside(1.25, n=30),
    "client_ttft_overhead_s": 0.02,
}


def cells(html):
    """The texts of each row, tags gone, "|" between what stands below each other in a cell."""
    lines = re.findall(r"<tr>(.*?)</tr>", html.replace("\n", ""))
    broken = [re.sub(r'<span class="reason">', "|", line) for line in lines]
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in broken]
    return [[re.sub(r"<[^>]*>", "", cell) for cell in line] for line in found]


def test_client_and_engine_stand_side_by_side_with_their_counts(rows):
    html = sides_table([{**rows[0], **TIMED}, rows[1]], VARIABLE)
    head, *body = cells(html)
    assert head[-6:] == ["TTFT, client", "TTFT, engine", "Difference", "Queue", "Prefill", "Decode"]
    assert body == [
        ["16", "1", "✓ VALID", "100 ms|n 32", "80 ms|n 32", "20 ms", "20 ms|n 32", "60 ms|n 32",
         "1.25 s|n 30"]
    ]  # fmt: skip
    assert "outside the engine's own clock: the network" in html.replace("&#x27;", "'")


def test_a_difference_that_is_not_told_says_why_for_all_to_see(rows):
    told = {**TIMED, "client_ttft_overhead_s": None, "engine_decode_time_s": None}
    why = {"client_ttft_overhead_s": "31 and 24 <apart>", "engine_decode_time_s": "not told"}
    html = sides_table([{**rows[0], **told, "null_reasons": why}], VARIABLE)
    assert 'not told<span class="reason">31 and 24 &lt;apart&gt;</span>' in html
    assert 'title="not told">not measured</td>' in html


def test_without_any_time_of_the_engine_there_is_no_table(rows):
    assert sides_table(rows, VARIABLE) == ""
    assert engine_tables({"points": rows[:1]}).count("<table") == 0
    assert engine_tables({"points": []}) == ""


def place(rows, asked, effective, **changes):
    values = zip(rows, asked, effective, strict=False)
    return [
        {**row, "asked": {"kind": "vllm", **want}, "effective": told, **changes}
        for row, want, told in values
    ]


def test_asked_beside_in_force_equal_points_together(rows):
    asked = [{"max_num_seqs": 16}, {"max_num_seqs": 1}, {"max_num_seqs": 4, "block_size": 16}]
    effective = [
        {"max_num_seqs": 16, "async_scheduling": True},
        {"max_num_seqs": 1, "async_scheduling": True},
        {"max_num_seqs": 2, "async_scheduling": True},
    ]
    html = settings_table(place(rows[:3], asked, effective), VARIABLE)
    assert cells(html) == [
        ["Setting", "At", "Asked", "In force"],
        ["max_num_seqs", "16 and 1", "16 and 1", "16 and 1|as asked"],
        ["max_num_seqs", "4", "4", "2|≠ not what was asked"],
        ["async_scheduling", "every value", "not asked", "on"],
        ["block_size", "4", "16", "not told|the engine does not tell it"],
    ]
    assert html.count('class="differs"') == 1


def test_what_ran_lowered_says_so(rows):
    step = {"knob": "max_num_seqs", "from": 64, "to": 16, "because": "oom_run"}
    lowered = place(rows[:1], [{"max_num_seqs": 64}], [{"max_num_seqs": 16}], stepped_down=[step])
    (line,) = cells(settings_table(lowered, VARIABLE))[1:]
    assert line[2:] == ["64", "16|≠ lowered: the engine ran out of memory (oom_run)"]


def test_repeats_are_named_where_they_part(rows):
    both = place(rows[2:4], [{}, {}], [{"block_size": 16}, {"block_size": 32}])
    told = [line[1] for line in cells(settings_table(both, VARIABLE))[1:]]
    assert told == ["4 (repeat 1)", "4 (repeat 2)"]


def test_the_cache_is_told_in_tokens_and_bytes(rows):
    size = {"kv_cache_capacity_tokens": 2720, "kv_cache_capacity_bytes": 3 * 2**29}
    html = settings_table(place(rows[:1], [{}], [{}], **size), VARIABLE)
    assert "2,720 tokens, 1.5 GiB" in html
    assert "tells none of its settings" in html
    del size["kv_cache_capacity_bytes"]
    assert "<td>2,720 tokens<" in settings_table(place(rows[:1], [{}], [{}], **size), VARIABLE)


def test_a_failed_point_has_no_settings_and_its_whole_error(rows):
    error = "expected it to run; its log ends with: one | two | " + "x" * 900
    failed = {"status": "failed", "error": error, "error_kind": "oom_profile"}
    step = {"knob": "max_num_seqs", "from": 64, "to": 16, "because": "oom_profile"}
    row = {**rows[0], **failed, "asked": {}, "effective": {}, "stepped_down": [step]}
    assert settings_table([row], VARIABLE) == ""
    html = failures_table([row, {**row, "value": 32}, rows[1]])
    assert "<strong>The engine ran out of memory while it tried how much it needs</strong>" in html
    assert "(oom_profile). Tried down to max_num_seqs 16." in html
    assert "its log ends with: one\ntwo\nxxx" in html
    assert "x" * 900 in html
    assert '<th scope="row">max_num_seqs 16 (repeat 1) and 32 (repeat 1)</th>' in html
    assert failures_table([{**rows[0], "error": "bare"}]).count("<strong>") == 0


def test_everything_is_escaped(rows):
    odd = {
        **rows[0], **TIMED, "value": EVIL, "variable": EVIL, "asked": {EVIL: EVIL},
        "effective": {EVIL: [EVIL], "b": EVIL}, "kv_cache_capacity_tokens": 1,
    }  # fmt: skip
    failed = {**odd, "status": "failed", "error": EVIL, "error_kind": EVIL}
    html = engine_tables({"points": [odd, failed]})
    assert html.count("<table") == 3
    assert "<script" not in html
