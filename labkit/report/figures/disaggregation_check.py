"""What the planning model rests on and whether it holds: fits, and predicted beside measured.

It draws what was found; it must not fit or predict.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.disaggregation.check import MAX_DEVIATION, NAMES, Compared, check
from labkit.analysis.disaggregation.gather import Gathered, gather
from labkit.analysis.disaggregation.line import Line
from labkit.report.figures.captions import tell
from labkit.report.figures.disaggregation import draw_whiskers, shorten
from labkit.report.figures.panels import add_note, open_panels, suffix
from labkit.report.quantities import choose_time_unit
from labkit.report.theme import BLUE, VERMILLION


def plot_check(summary: dict[str, Any]) -> go.Figure:
    """Return TTFT and TPOT of the one engine doing both: predicted and measured, by rate."""
    found = gather(summary)
    compared = () if found.inputs is None else check(found.inputs, found.points)
    percentile = f"P{summary['run']['disaggregation']['percentile']}"
    scales = {
        name: choose_time_unit([one.measured for one in compared if one.name == name])
        for name in NAMES
    }
    figure = open_panels(
        [f"{percentile} {told}" for told in NAMES.values()],
        [f"{told} ({scales[name][1]})" for name, told in NAMES.items()],
        "load.request_rate_per_s",
    )
    for panel, name in enumerate(NAMES):
        axis = {"type": "linear", "title": {"text": "requests/s that came"}, "rangemode": "tozero"}
        figure.update_layout({f"xaxis{suffix(panel)}": axis})
        own = [one for one in compared if one.name == name]
        if own:
            _draw_check(figure, panel, own, *scales[name])
        else:
            add_note(
                figure,
                f"No data: {found.reason or 'no point of the series together'}",
                x=f"x{suffix(panel)}",
                y=f"y{suffix(panel)}",
            )
    off = [one for one in compared if not one.holds]
    title = "The model's prediction holds for the one engine"
    if off or not compared:
        title = "The model does not describe the one engine" if off else "The model is not checked"
    caption = (
        "The model is told the rate, and the lines fitted to prefill alone and decode alone. "
        "Whiskers: 95 % of simulations of as many requests, with the fits' errors. A prediction "
        f"holds within {words.percent(MAX_DEVIATION)} of what was measured, or where the "
        "whiskers hold it."
    )
    alt = "; ".join(
        f"{NAMES[one.name]} at {words.number(one.rate_per_s)}: predicted "
        f"{words.seconds(one.predicted.value)}, measured {words.seconds(one.measured)}"
        for one in compared
    )
    return tell(figure, 2, title, alt, caption)


def _draw_check(
    figure: go.Figure, panel: int, own: Sequence[Compared], factor: float, unit: str
) -> None:
    rates = [shorten(one.rate_per_s) for one in own]
    axes = {"xaxis": f"x{suffix(panel)}", "yaxis": f"y{suffix(panel)}", "showlegend": panel == 0}
    figure.add_scatter(
        x=rates,
        y=[shorten(one.predicted.value * factor) for one in own],
        error_y=draw_whiskers([one.predicted for one in own], factor),
        mode="markers",
        marker={"color": VERMILLION, "size": 14, "symbol": "square-open", "line": {"width": 2}},
        name="predicted",
        hovertemplate=f"predicted at %{{x}} requests/s: %{{y:.3~g}} {unit}<extra></extra>",
        **axes,
    )
    figure.add_scatter(
        x=rates,
        y=[shorten(one.measured * factor) for one in own],
        mode="markers",
        marker={"color": BLUE, "size": 10},
        name="measured",
        customdata=[one.num_requests for one in own],
        hovertemplate=f"measured at %{{x}} requests/s: %{{y:.3~g}} {unit}, n = %{{customdata}}"
        "<extra></extra>",
        **axes,
    )


def plot_inputs(summary: dict[str, Any]) -> go.Figure:
    """Return what the plan rests on: prefill by prompt tokens, a step by its streams, fitted."""
    found = gather(summary)
    scales = [choose_time_unit([y for _, y, _ in told]) for told in (found.prefill, found.steps)]
    figure = open_panels(
        ["A prompt alone", "A decode step"],
        [f"first token ({scales[0][1]})", f"step ({scales[1][1]})"],
        "",
    )
    lines = (None, None) if found.inputs is None else (found.inputs.prefill, found.inputs.step)
    for panel, (told, line, name, what) in enumerate(
        zip(
            (found.prefill, found.steps),
            lines,
            ("prompt tokens", "running streams"),
            ("requests", "gaps"),
            strict=True,
        )
    ):
        axis = {"type": "linear", "title": {"text": name}, "rangemode": "tozero"}
        figure.update_layout({f"xaxis{suffix(panel)}": axis})
        if told:
            _draw_input(figure, panel, told, line, *scales[panel], what)
        else:
            end = suffix(panel)
            add_note(figure, f"No data: {found.reason}", x=f"x{end}", y=f"y{end}")
    title, caption = _tell_inputs(found)
    alt = f"{len(found.prefill)} lengths of prompt, {len(found.steps)} bins of steps"
    return tell(figure, 2, title, alt, caption)


def _draw_input(
    figure: go.Figure,
    panel: int,
    told: Sequence[tuple[float, float, int]],
    line: Line | None,
    factor: float,
    unit: str,
    what: str,
) -> None:
    axes = {"xaxis": f"x{suffix(panel)}", "yaxis": f"y{suffix(panel)}", "showlegend": panel == 0}
    if line is not None:
        ends = [0.0, line.high_x * 1.1]
        figure.add_scatter(
            x=ends,
            y=[shorten(line.at(x) * factor) for x in ends],
            mode="lines",
            line={"color": VERMILLION, "width": 2},
            name="fitted",
            hoverinfo="skip",
            **axes,
        )
    figure.add_scatter(
        x=[x for x, _, _ in told],
        y=[shorten(y * factor) for _, y, _ in told],
        customdata=[n for _, _, n in told],
        mode="markers",
        marker={"color": BLUE, "size": 9},
        name="measured",
        hovertemplate=f"%{{x:.3~g}}: %{{y:.3~g}} {unit}, n = %{{customdata}} {what}<extra></extra>",
        **axes,
    )


def _tell_inputs(found: Gathered) -> tuple[str, str]:
    inputs = found.inputs
    if inputs is None:
        return "What the plan would rest on", f"No plan can be made: {found.reason}."
    return (
        f"A prompt takes {words.seconds(inputs.prefill.slope)} a token, a step "
        f"{words.seconds(inputs.step.slope)} more for each stream",
        "Measured apart, on one device. A dot on the left is the mean time to the first token at "
        "one length; on the right the median gap between tokens at one number of streams.",
    )
