"""The step-time model over a sweep: what a decode step takes, and what batching can give at most.

It draws a fit and its bins; it must not make one.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.row import is_usable
from labkit.analysis.step_time import StepTime, fit_step_time, tell_step_time
from labkit.report.figures.captions import tell
from labkit.report.figures.panels import add_note, open_panels, select_rows, suffix
from labkit.report.theme import BLUE, GREY, VERMILLION

Rows = Sequence[dict[str, Any]]
POINTS = 60


def plot_step_time(summary: dict[str, Any], variable: str) -> go.Figure:
    """Return step time and tokens/s against running streams: measured, fitted, and the limit."""
    rows = [row for row in select_rows(summary, variable) if is_usable(row)]
    figure = open_panels(
        ["Time of a decode step", "What batching gives"],
        ["step (ms)", "output (tokens/s)"],
        variable,
    )
    for panel in (0, 1):
        axis = {"type": "linear", "title": {"text": "running streams"}, "rangemode": "tozero"}
        figure.update_layout({f"xaxis{suffix(panel)}": axis})
    fit, why = fit_step_time(rows)
    bins = [one for row in rows for one in (row.get("step_time") or {}).get("bins", ())]
    if fit is not None:
        _draw_fit(figure, fit)
    if bins:
        _draw_bins(figure, bins)
    else:
        for end in ("", "2"):
            add_note(figure, f"No data: {_find_reason(rows, why)}", x=f"x{end}", y=f"y{end}")
    title, text = (
        tell_step_time(fit)
        if fit is not None
        else ("What batching can gain can't be told from this run", f"{why}.")
    )
    caption = (
        f"{text} A dot is the median gap between the tokens of streams at one point, prefills left "
        "out; the line is fitted through all of them, weighted by steps."
    )
    alt = f"{len(bins)} measured bins" + ("" if fit is None else ", with the fitted line")
    return tell(figure, 2, title, alt, caption)


def _draw_bins(figure: go.Figure, bins: Sequence[dict[str, Any]]) -> None:
    numbers = [one["num_running"] for one in bins]
    steps = [one["step_s"] for one in bins]
    count = [one["n"] for one in bins]
    for panel, (heights, unit) in enumerate(
        (
            ([step * 1000 for step in steps], "ms"),
            ([n / step for n, step in zip(numbers, steps, strict=True)], "tokens/s"),
        )
    ):
        figure.add_scatter(
            x=numbers,
            y=[float(f"{height:.5g}") for height in heights],
            customdata=count,
            mode="markers",
            marker={"color": BLUE, "size": 9},
            name="measured",
            showlegend=panel == 0,
            xaxis=f"x{suffix(panel)}",
            yaxis=f"y{suffix(panel)}",
            hovertemplate=f"%{{x}} streams: %{{y:.3~g}} {unit}, n = %{{customdata}}<extra></extra>",
        )


def _draw_fit(figure: go.Figure, fit: StepTime) -> None:
    most = max(fit.most_running * 1.25, 2.0)
    numbers = [round(1 + (most - 1) * place / (POINTS - 1), 3) for place in range(POINTS)]
    lines = (
        [fit.step_s(number) * 1000 for number in numbers],
        [number / fit.step_s(number) for number in numbers],
    )
    for panel, heights in enumerate(lines):
        figure.add_scatter(
            x=numbers,
            y=[float(f"{height:.5g}") for height in heights],
            mode="lines",
            line={"color": VERMILLION, "width": 2},
            name="fitted: a + b·n",
            showlegend=panel == 0,
            hoverinfo="skip",
            xaxis=f"x{suffix(panel)}",
            yaxis=f"y{suffix(panel)}",
        )
    limit = 1 / fit.b_s
    if limit <= 3 * max(lines[1]):
        figure.add_scatter(
            x=[numbers[0], numbers[-1]],
            y=[float(f"{limit:.5g}")] * 2,
            mode="lines",
            line={"color": GREY, "width": 2, "dash": "dash"},
            name=f"limit: {words.per_second(limit, 'tokens')}",
            hoverinfo="skip",
            xaxis="x2",
            yaxis="y2",
        )


def _find_reason(rows: Rows, why: str) -> str:
    for row in rows:
        if reason := (row.get("null_reasons") or {}).get("step_time"):
            return str(reason)
    return why or "no point is valid"
