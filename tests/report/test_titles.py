"""Figures say what they found: the winner if there is one, the doubt, the verdict of a point."""

import pytest
from report.drawn import SWEEPS, VARIABLE, traces

from labkit.report.figures import plot_latency, plot_throughput, plot_tradeoff


def test_a_point_that_is_not_valid_is_hollow_and_named(summary):
    figure = plot_throughput(summary, VARIABLE)
    (hollow,) = traces(figure, "output, not valid")
    assert (list(hollow.x), list(hollow.y)) == (["8"], [190.0])
    assert hollow.marker.symbol == "circle-open"
    assert traces(figure, "hollow: not valid")
    assert "1 of 5 points not valid" in figure.layout.meta["caption"]


def test_throughput_title_names_the_peak(summary):
    title = plot_throughput(summary, VARIABLE).layout.title.text
    assert title == "Output throughput peaks at max_num_seqs 4: 145 tokens/s"


def test_title_says_when_repeats_overlap(summary):
    points = summary["points"]
    points[0] = {**points[0], "output_throughput_tokens_per_s": 141.0}
    title = plot_throughput(summary, VARIABLE).layout.title.text
    assert title.endswith("145 tokens/s (16 can't be told apart)")


def test_no_title_names_a_winner_that_findings_do_not(summary):
    # 4 makes 140 and 150, 16 makes 141, 1 makes 135: under 10 % of 145 apart
    points = summary["points"]
    points[0] = {**points[0], "output_throughput_tokens_per_s": 141.0}
    points[1] = {**points[1], "output_throughput_tokens_per_s": 135.0}
    told = "Output throughput: no resolved difference between max_num_seqs 1, 4 and 16, "
    title = plot_throughput(summary, VARIABLE).layout.title.text
    assert title == f"{told}135 to 145 tokens/s"
    figure = plot_tradeoff(summary, VARIABLE)
    assert figure.layout.title.text == f"{told}135 to 145 tokens/s, at 2.6 to 5.2 s P95 latency"
    assert "No value is beaten by another in both" in figure.layout.meta["caption"]


def test_two_repeats_that_can_not_tell_say_so_in_the_title(summary):
    rows = [
        {**row, "value": value, "output_throughput_tokens_per_s": speed}
        for value, row, speed in zip(
            (1, 1, 4, 4), summary["points"], (40.0, 60.0, 400.0, 1100.0), strict=False
        )
    ]
    title = plot_throughput({"points": rows}, VARIABLE).layout.title.text
    assert title == "Output throughput: can't tell max_num_seqs 1 and 4 apart, 50 to 750 tokens/s"


@pytest.mark.parametrize("plot", SWEEPS)
def test_the_verdict_is_beside_every_number(plot, summary):
    for row in summary["points"][2:4]:
        row.update(validity="SUSPECT", validity_reasons=["<slow> client"])
    figure = plot(summary, VARIABLE)
    hovers = [text for t in figure.data for text in t.hovertext or () if text]
    assert hovers
    assert all("VALID" in text or "SUSPECT" in text for text in hovers)
    assert any("&lt;slow&gt; client" in text for text in hovers)
    assert any("mean of 2 repeats, 2 SUSPECT" in text for text in hovers)
    assert "SUSPECT at 4" in figure.layout.meta["caption"]


def test_a_title_names_the_doubt(summary):
    summary["points"][3]["validity"] = "SUSPECT"
    title = plot_throughput(summary, VARIABLE).layout.title.text
    assert title == "Output throughput peaks at max_num_seqs 4 (SUSPECT): 145 tokens/s"


def test_a_caption_says_that_all_is_valid(summary):
    summary["points"].pop()
    assert "4 points, all VALID." in plot_throughput(summary, VARIABLE).layout.meta["caption"]


def test_what_is_not_valid_counts_for_no_caution(summary):
    summary["points"][-1]["ttft_s"]["n"] = 2
    assert "as few as 32 requests" in plot_latency(summary, VARIABLE).layout.meta["caption"]
