"""Tables escape what they are given and put n and verdict beside the numbers."""

import re

from labkit.analysis import definitions
from labkit.report.tables import (
    definitions_table,
    environment_table,
    read_definitions,
    rerun_block,
    summary_table,
)

EVIL = "<script>alert(1)</script>"


def test_summary_shows_n_verdict_and_numbers(summary):
    html = summary_table(summary)
    assert html.count("<tr>") == 6
    assert "✓ VALID" in html
    assert "✗ INVALID" in html
    assert "&lt;b&gt;busy&lt;/b&gt;" in html
    assert "<td>32</td>" in html
    assert "<td>4 s</td>" in html  # TTFT P95 of value 1
    assert "<td>400 ms</td>" in html  # of value 8, as a sentence would tell it


def test_the_head_of_the_verdicts_is_marked_as_its_cells_are(summary):
    once = [{**row, "repeat": 0} for row in summary["points"]]
    twice = [{**row, "repeat": number} for number, row in enumerate(once)]
    for rows, place in ((once, 1), (twice, 2)):
        html = summary_table({"points": rows})
        heads = re.findall(r'<th scope="col"([^>]*)>([^<]*)</th>', html)
        assert heads[place] == (' class="verdict"', "Verdict")
        assert [mark for mark, _ in heads].count("") == len(heads) - 1
        assert len(re.findall(r'<td class="verdict ', html)) == len(rows)


def test_what_was_not_measured_is_said(summary):
    row = {**summary["points"][0], "kv_cache_usage": None}
    row["null_reasons"] = {"kv_cache_usage": 'no "gauge"'}
    html = summary_table({"points": [row]})
    assert '<td class="missing" title="no &quot;gauge&quot;">not measured</td>' in html


def test_a_run_without_points_has_words_for_it():
    assert "No point was run" in summary_table({"points": []})


def test_everything_is_escaped(summary, rows):
    html = "".join(
        [
            summary_table({"points": [{**rows[0], "value": EVIL, "variable": EVIL}]}),
            definitions_table({EVIL: EVIL}),
            environment_table({EVIL: {EVIL: [EVIL], "none": None}}),
            rerun_block([EVIL]),
        ]
    )
    assert "<script" not in html


def test_environment_is_flattened():
    html = environment_table({"machine": {"cores": 2, "gpu": None}})
    assert '<th scope="row">machine.cores</th><td>2</td>' in html
    assert '<th scope="row">machine.gpu</th><td>not known</td>' in html


def test_environment_is_told_in_words():
    html = environment_table({"memory": {"total_bytes": 3 * 2**30}, "git": {"dirty": False}})
    assert '<th scope="row">memory.total</th><td>3 GiB</td>' in html
    assert '<th scope="row">git</th><td>clean</td>' in html
    assert "not committed" in environment_table({"git": {"dirty": True}})


def test_definitions_come_from_the_metrics_module():
    words = read_definitions(definitions.__doc__ or "")
    assert {"ttft_s", "tpot_s", "itl_s", "e2e_latency_s", "goodput_per_s"} <= set(words)
    assert all(len(meaning) > 10 for meaning in words.values())


def test_definitions_are_read_with_what_is_indented_below():
    text = (
        "Words.\n\nttft_s   first token\n         minus send.\na_s, b_s  two\n\nThe end_s is near."
    )
    assert read_definitions(text) == {"ttft_s": "first token minus send.", "a_s, b_s": "two"}


def test_a_load_with_a_schedule_counts_from_the_intended_time(rows):
    told = {
        "load": {"mode": "open"},
        "ttft_intended_s": {"p50": 5.5, "p95": 6.5},
        "e2e_latency_intended_s": {"p95": 9.25},
        "offered_rate_per_s": 2.5,
        "achieved_rate_per_s": 2.49,
        "slot_wait_s": {"p95": 0.75},
        "task_latency_s": {"p95": 33.0},
    }
    html = summary_table({"points": [{**rows[0], **told}]})
    for cell in ("5.5 s", "6.5 s", "9.25 s", "2.5", "2.49", "750 ms", "33 s"):
        assert f"<td>{cell}</td>" in html
    assert "TTFT and E2E count from the intended time of a request" in html
    closed = summary_table({"points": [rows[0]]})
    for head in ("Offered", "Slot wait", "Task", "intended"):
        assert head not in closed


def test_repeats_are_counted_only_where_there_are_any(rows):
    first, again = ({**rows[0], "repeat": repeat} for repeat in (0, 1))
    assert "Repeat" not in summary_table({"points": [first]})
    html = summary_table({"points": [first, again]})
    assert ">Repeat</th>" in html
    assert "<td>1</td>" in html


def test_names_in_definitions_are_code():
    assert "unless <code>x</code> tells" in definitions_table({"a": "unless `x` tells"})


def test_cache_hits_have_a_column_where_there_are_any(rows):
    told = {"prefix_cache_hit_rate": 0.72}
    html = summary_table({"points": [{**rows[0], **told}, {**rows[0], "repeat": 1}]})
    assert "Cache hits (%)" in html
    assert "<td>72</td>" in html
    none = [{**row, "prefix_cache_hit_rate": 0.0} for row in rows]
    assert "Cache hits" not in summary_table({"points": none})
