"""Arms over each other: one line an arm, the numbers of the summary in them."""

import pytest
from analysis.facts import latency, row
from report.drawn import traces

from labkit.report.figures import plot_arms
from labkit.report.figures.arms import name_field

VARIABLE = "load.max_concurrency"


def point(series, value, rate, ttft_s, **changes):
    return row(
        value, rate, variable=VARIABLE, series=series, num_ok=16, ttft_s=latency(ttft_s), **changes
    )


SUMMARY = {
    "points": [
        point("a", 1, 10.0, 0.1),
        point("a", 4, 20.0, 0.2),
        point("b", 1, 11.0, 0.1),
        point("b", 4, 40.0, 0.4),
    ]
}


def test_each_arm_is_a_line_in_each_panel():
    figure = plot_arms(
        SUMMARY, VARIABLE, ["output_throughput_tokens_per_s", "ttft_s.p95", "kv_cache_usage.mean"]
    )
    lines = traces(figure, "b")
    assert [list(line.y) for line in lines] == [
        [11.0, 40.0],
        pytest.approx([100.0, 400.0]),
        pytest.approx([41.0, 41.0]),
    ]
    assert [line.yaxis for line in lines] == ["y", "y2", "y3"]
    assert [bool(line.showlegend) for line in lines] == [True, False, False]
    titles = [figure.layout[name].title.text for name in ("yaxis", "yaxis2", "yaxis3")]
    assert titles == ["output (tokens/s)", "P95 (ms)", "mean (%)"]
    assert figure.layout.title.text == "Output at max_concurrency 4: 20 tokens/s a; 40 tokens/s b"
    assert "Time to first token, P95, b: 1: 100 ms, 4: 400 ms" in figure.layout.meta["alt"]
    assert len({line.line.dash for line in (*traces(figure, "a"), *lines)}) == 2


def test_a_field_that_nobody_measured_says_why():
    rows = [
        {**one, "json_share": None, "null_reasons": {"json_share": "no request asked for JSON"}}
        for one in SUMMARY["points"]
    ]
    figure = plot_arms({"points": rows}, VARIABLE, ["json_share"])
    notes = " ".join(str(one.text) for one in figure.layout.annotations)
    assert "No data: no request asked for JSON" in notes.replace("<br>", " ")
    assert figure.layout.title.text == "Answers that are JSON: no value that every arm measured"


def test_one_arm_needs_no_legend():
    rows = [{**one, "series": None} for one in SUMMARY["points"][:2]]
    figure = plot_arms({"points": rows}, VARIABLE, ["ttft_s.p50"])
    assert figure.layout.showlegend is False
    assert figure.layout.title.text == ("Time to first token, median at max_concurrency 4: 200 ms")


def test_an_invalid_point_is_hollow_and_in_no_line():
    rows = [*SUMMARY["points"], point("b", 8, 99.0, 0.1, validity="INVALID")]
    figure = plot_arms({"points": rows}, VARIABLE, ["output_throughput_tokens_per_s"])
    (line,) = traces(figure, "b")
    assert list(line.y) == [11.0, 40.0, None]
    (hollow,) = traces(figure, "b, not valid")
    assert list(hollow.y) == [99.0]


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("ttft_s.p95", "Time to first token, P95"),
        ("prefill_stall_s.max", "Stall by prefills, worst"),
        ("startup_s", "startup s"),
    ],
)
def test_a_field_has_a_name(field, name):
    assert name_field(field) == name
