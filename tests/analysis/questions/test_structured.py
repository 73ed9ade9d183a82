"""What a schema costs, from rows made by hand."""

import pytest
from analysis.facts import latency, row

from labkit.analysis.findings import conclude


def point(series, tpot_s, constrained, tokens, *, json_share=None, value=4):
    return row(
        value,
        variable="load.max_concurrency",
        series=series,
        point_id=f"{series}-{value}",
        asked={},
        workload={"kind": "structured", "constrained": constrained},
        seed=0,
        num_ok=16,
        tpot_s=latency(tpot_s),
        completion_tokens={"mean": tokens},
        json_share=json_share,
        null_reasons={} if json_share is not None else {"json_share": "no request asked for JSON"},
    )


def ask(*rows):
    return conclude({"run": {"notebook": "structured"}, "points": list(rows)})


FREE = point("free text", 0.02, False, 64.0)


@pytest.mark.parametrize(
    ("tpot_s", "title", "kind"),
    [
        (0.03, "JSON takes 50 % more time a token at max_concurrency 4", "cost"),
        (0.05, "JSON takes 2.5 times the time a token at max_concurrency 4", "cost"),
        (0.01, "JSON takes 50 % less time a token at max_concurrency 4", "result"),
        (0.0201, "JSON: no resolved effect on the time of a token", "unknown"),
    ],
)
def test_the_time_of_a_token(tpot_s, title, kind):
    first, *_ = ask(FREE, point("JSON", tpot_s, True, 40.0, json_share=1.0))
    assert (first.title, first.kind) == (title, kind)
    assert first.effect.value == pytest.approx(tpot_s / 0.02)


def test_when_an_answer_ends_and_whether_it_is_json():
    _, ends, valid = ask(FREE, point("JSON", 0.03, True, 40.0, json_share=0.75))
    assert ends.title == "JSON ends an answer after 40 tokens"
    assert valid.title == "75 % of the answers or more are JSON"
    assert "75 % at max_concurrency 4, JSON (16 answers in all)" in valid.text
    _, _, all_valid = ask(FREE, point("JSON", 0.03, True, 40.0, json_share=1.0))
    assert all_valid.title == "Every answer is JSON"
    _, _, none_valid = ask(FREE, point("JSON", 0.03, True, 40.0, json_share=0.0))
    assert none_valid.title == "No answer is JSON"


def test_without_free_text_there_is_nothing_to_compare():
    (only,) = ask(point("JSON", 0.03, True, 40.0, json_share=1.0))
    assert only.title == "Every answer is JSON"
