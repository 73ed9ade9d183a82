"""The forest plot: each metric once, its interval, its verdict by colour and by shape."""

import math
from typing import Any

import pytest
from comparison_rows import make_row, make_summary

from labkit.analysis.comparison.findings import conclude_comparison
from labkit.analysis.comparison.lines import Line, compare_places
from labkit.analysis.comparison.places import join
from labkit.analysis.comparison.told import Told
from labkit.analysis.comparison.whole import compare_runs
from labkit.report.figures.forest import LOOKS, plot_forest


def make_lines(**metrics: tuple[list[float], list[float]]) -> list[Line]:
    def rows(side: int) -> list[dict[str, Any]]:
        count = len(next(iter(metrics.values()))[side])
        return [
            make_row(repeat=i, **{name: both[side][i] for name, both in metrics.items()})
            for i in range(count)
        ]

    lines, _ = compare_places(join(make_summary(*rows(0)), make_summary(*rows(1))))
    return lines


NEAR = [100.0, 100.1, 99.9, 100.0]


def test_each_metric_stands_in_a_row_with_its_interval() -> None:
    lines = make_lines(
        output_throughput_tokens_per_s=(NEAR, [1.2 * one for one in NEAR]),
        ttft_s_p95=(NEAR, [1.5 * one for one in NEAR]),
        tpot_s_p95=(NEAR, list(reversed(NEAR))),
    )
    figure = plot_forest(lines, "max_num_seqs 4")
    drawn = {trace.name: trace for trace in figure.data}
    assert set(drawn) == {"better", "worse", "no difference seen"}
    (line,) = [one for one in lines if one.verdict == "better"]
    assert list(drawn["better"].y) == ["output throughput"]
    assert drawn["better"].x[0] == line.found.value
    assert line.found.low is not None
    assert drawn["better"].x[0] - drawn["better"].error_x.arrayminus[0] == line.found.low
    assert figure.layout.yaxis.categoryarray[-1] == "output throughput", "the first is on top"
    assert "1 better, 1 worse and 1 no difference seen" in figure.layout.title.text
    (no_effect,) = figure.layout.shapes
    assert no_effect.x0 == no_effect.x1 == 1


def test_verdicts_are_told_apart_without_colour() -> None:
    symbols = [symbol for _, symbol in LOOKS.values()]
    assert len(set(symbols)) == len(symbols)


def test_far_ratios_are_cut_and_zeros_left_to_the_table_and_it_says_so() -> None:
    lines = make_lines(
        ttft_s_p95=(NEAR, [50 * one for one in NEAR]),
        num_requests_waiting_mean=([0.0, 1.0, 0.0, 1.0], [1.0, 2.0, 1.0, 2.0]),
    )
    figure = plot_forest(lines, "x")
    (trace,) = figure.data
    assert trace.x[0] < 50
    assert math.log10(trace.x[0]) == pytest.approx(figure.layout.xaxis.range[1])
    assert "cut at the edge" in figure.layout.meta["caption"]
    assert "1 of 2 numbers counted above is not drawn" in figure.layout.meta["caption"]


def test_the_title_counts_what_the_text_counts_drawn_or_not() -> None:
    a, b = (
        [
            make_row(4, i, ttft_s_p95=wait, num_requests_waiting_mean=queue)
            for i, (wait, queue) in enumerate(told)
        ]
        for told in (((1.0, 0.0), (1.3, 1.0)), ((1.1, 1.0), (0.9, 2.0)))
    )
    found = compare_runs(*(Told("x", {}, {}, make_summary(*one), {}) for one in (a, b)))
    figure = plot_forest(found.lines, "x")
    assert [len(trace.x) for trace in figure.data] == [1]
    assert figure.layout.title.text.startswith("x: 2 can't tell")
    (told,) = [one.title for one in conclude_comparison(found) if one.kind == "unknown"]
    assert told == "Can't tell for 2 of 2 numbers"


def test_one_repeat_has_no_bar_and_it_says_so() -> None:
    figure = plot_forest(make_lines(ttft_s_p95=([1.0], [1.1])), "x")
    assert figure.data[0].error_x.array[0] == 0
    assert "no interval can be had" in figure.layout.meta["caption"]


def test_nothing_to_draw() -> None:
    assert "nothing could be compared" in plot_forest([], "x").layout.title.text
