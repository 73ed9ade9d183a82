"""Figures hold exactly the numbers of the summary, and leave gaps where there are none."""

import json

import pytest
from report.drawn import SWEEPS, VARIABLE, traces

from labkit.report.figures import plot_latency, plot_pressure, plot_throughput, plot_tradeoff
from labkit.report.figures.tradeoff import frame_range, place_labels
from labkit.report.quantities import thin_peaks


def test_throughput_line_goes_through_the_mean_of_valid_repeats(summary):
    figure = plot_throughput(summary, VARIABLE)
    (line,) = traces(figure, "output")
    assert list(line.x) == ["1", "4", "8", "16"]
    assert list(line.y) == [60.0, 145.0, None, 120.0]
    assert not line.connectgaps
    (dots,) = traces(figure, "output, repeats")
    assert list(zip(dots.x, dots.y, strict=True)) == [
        ("1", 60.0),
        ("4", 140.0),
        ("4", 150.0),
        ("16", 120.0),
    ]


def test_latency_has_nine_lines_in_the_unit_that_fits(summary):
    figure = plot_latency(summary, VARIABLE)
    p95 = traces(figure, "P95")
    assert [trace.yaxis for trace in p95] == ["y", "y2", "y3"]
    assert list(p95[0].y) == [4.0, 1.2, None, 0.2]
    assert list(p95[1].y) == pytest.approx([15.0, 36.25, None, 30.0])
    assert figure.layout.yaxis.title.text == "TTFT (s)"
    assert figure.layout.yaxis2.title.text == "TPOT (ms)"
    assert sum(bool(trace.showlegend) for trace in p95) == 1
    assert figure.layout.title.text == (
        "P95 time to first token is shortest at max_num_seqs 16: 200 ms, against 4 s at 1"
    )
    assert "n = 32 requests" in "".join(traces(figure, "P95, repeats")[0].hovertext)


def test_pressure_in_percent_and_requests(summary):
    figure = plot_pressure(summary, VARIABLE)
    usage, waiting = traces(figure, "max")
    assert list(usage.y) == pytest.approx([30.0, 72.5, None, 60.0])
    assert list(waiting.y) == pytest.approx([16.0, 4.8, None, 0.8])
    assert figure.layout.title.text == (
        "KV cache is fullest at max_num_seqs 4: 72.5 %; queue is longest at 1: 16 waiting"
    )


def test_tradeoff_joins_labelled_values_in_order(summary):
    figure = plot_tradeoff(summary, VARIABLE)
    line = figure.data[0]
    assert list(line.text) == ["<b>1</b>", "<b>4</b>", "<b>16</b>"]
    assert list(line.x) == [60.0, 145.0, 120.0]
    assert list(line.y) == pytest.approx([5.2, 4.1, 2.6])
    assert "Beaten in both by another value: max_num_seqs 1." in figure.layout.meta["caption"]
    assert figure.layout.title.text.startswith("max_num_seqs 4 gives the most output, 145 tokens/s")


@pytest.mark.parametrize("plot", SWEEPS)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_any_number_of_points_is_drawn_as_strict_json(plot, count, summary):
    summary = {**summary, "points": summary["points"][:count]}
    figure = plot(summary, VARIABLE)
    json.dumps(figure.to_plotly_json(), allow_nan=False)
    assert figure.layout.title.text
    assert figure.layout.meta["alt"]
    assert figure.layout.meta["caption"]
    assert figure.layout.width is None


def test_what_was_not_measured_is_a_reason_not_a_zero(summary):
    for row in summary["points"]:
        row["kv_cache_usage"] = None
        row["null_reasons"] = {"kv_cache_usage": "the engine has <no> such gauge"}
    figure = plot_pressure(summary, VARIABLE)
    assert {trace.yaxis for trace in figure.data if any(trace.y)} == {"y2"}
    notes = " ".join(a.text.replace("<br>", " ") for a in figure.layout.annotations)
    assert "No data: the engine has &lt;no&gt; such gauge" in notes
    assert figure.layout.title.text == "Queue is longest at max_num_seqs 1: 16 waiting"


def test_words_are_on_the_axis_as_given(summary, rows):
    words = [
        {**row, "value": word}
        for row, word in zip(rows[:2], ["<i>fcfs</i>", "priority"], strict=True)
    ]
    figure = plot_throughput({"points": words}, VARIABLE)
    assert list(figure.layout.xaxis.categoryarray) == ["<i>fcfs</i>", "priority"]
    assert "<i>" not in figure.layout.title.text


def test_an_empty_panel_still_has_its_axes(summary):
    for row in summary["points"]:
        row["num_requests_waiting"] = None
    figure = plot_pressure(summary, VARIABLE)
    assert "y2" in {trace.yaxis for trace in figure.data}
    assert figure.layout.yaxis2.showticklabels is False


def test_thinning_keeps_the_peak_and_the_gap():
    rows = [(float(i), None if i in (4, 5) else float(i == 7)) for i in range(8)]
    assert list(thin_peaks(rows, 4)) == [(0.0, 0.0), (2.0, 0.0), (4.0, None), (7.0, 1.0)]


def test_a_label_stands_clear_of_its_line_even_where_the_line_turns_back():
    assert place_labels([1.0], [1.0]) == ["top center"]
    places = place_labels([10.0, 20.0, 19.0], [5.0, 8.0, 7.0])
    assert places == ["bottom left", "top right", "bottom left"]


def test_a_frame_holds_its_numbers_and_keeps_noise_small():
    assert frame_range([]) is None
    low, high = frame_range([99.0, 101.0])
    assert low < 85
    assert high > 115
    assert frame_range([0.0, 10.0])[0] == 0


@pytest.fixture
def open_summary(rows):
    """The same rows under an open load, whose users wait 1 s longer than the engine sees."""
    points = []
    for rate, row in enumerate(rows[:3], 1):
        later = {
            name: {part: n if part == "n" else n + 1 for part, n in row[name].items()}
            for name in ("ttft_s", "e2e_latency_s")
        }
        points.append(
            {
                **row,
                "variable": "load.request_rate_per_s",
                "value": float(rate),
                "load": {"mode": "open"},
                "ttft_intended_s": later["ttft_s"],
                "e2e_latency_intended_s": later["e2e_latency_s"],
                "offered_rate_per_s": float(rate),
            }
        )
    return {"points": points}


def test_an_open_load_is_drawn_from_the_intended_time_and_says_so(open_summary):
    variable = "load.request_rate_per_s"
    figure = plot_latency(open_summary, variable)
    assert list(traces(figure, "P95")[0].y) == [1.2, 5.0, 2.0]
    assert list(traces(figure, "P95")[1].y) == pytest.approx([30.0, 15.0, 35.0])
    assert "the moment the schedule meant a request to be sent" in figure.layout.meta["caption"]
    assert figure.layout.title.text == (
        "P95 time to first token is shortest at request_rate_per_s 1: 1.2 s, against 5 s at 2"
    )
    tradeoff = plot_tradeoff(open_summary, variable)
    assert list(tradeoff.data[0].y) == pytest.approx([3.6, 6.2, 4.8])
    assert "the schedule meant" in tradeoff.layout.meta["caption"]


def test_an_open_load_shows_what_was_offered(open_summary, summary):
    figure = plot_throughput(open_summary, "load.request_rate_per_s")
    (offered,) = traces(figure, "offered")
    assert list(offered.y) == [1.0, 2.0, 3.0]
    assert "fall short of those offered" in figure.layout.meta["caption"]
    assert not traces(plot_throughput(summary, VARIABLE), "offered")


def test_the_steady_part_is_beside_the_whole(summary):
    summary["points"][1]["steady_output_throughput_tokens_per_s"] = 66.0
    figure = plot_throughput(summary, VARIABLE)
    (steady,) = traces(figure, "output, steady part")
    assert list(steady.y) == [66.0, None, None, None]
    assert figure.layout.showlegend


def test_no_room_is_kept_for_a_legend_that_is_not_there(summary):
    summary["points"].pop()  # the hollow one
    bare = plot_tradeoff(summary, VARIABLE)
    assert (bare.layout.margin.b, bare.layout.height) == (56, 400)
