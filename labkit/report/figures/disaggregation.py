"""The planning model of separate prefill and decode pools: the rate of every split.

It draws what the model found; it must not plan.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.disaggregation.check import check
from labkit.analysis.disaggregation.doubt import doubt_model
from labkit.analysis.disaggregation.gather import gather, keeps
from labkit.analysis.disaggregation.plan import Plan, Range, make_plan
from labkit.report.figures.captions import tell
from labkit.report.figures.panels import add_note
from labkit.report.theme import BLUE, GREEN, GREY, LIGHT, PURPLE, VERMILLION

MODEL = "Planning model, not a measurement."


def plot_plan(summary: dict[str, Any]) -> go.Figure:
    """Return requests/s a device against the split of the devices, beside devices that do both."""
    found = gather(summary)
    figure = go.Figure(layout={"template": LIGHT, "height": 440, "showlegend": True})
    figure.update_layout(
        xaxis={"type": "category", "title": {"text": "prefill : decode devices"}},
        yaxis={"title": {"text": "requests/s a device"}, "rangemode": "tozero"},
    )
    if found.inputs is None:
        add_note(figure, f"No plan: {found.reason}")
        figure.update_layout(showlegend=False)
        return tell(figure, 1, "Planning model: no plan can be made", "Empty", MODEL)
    plan = make_plan(found.inputs)
    _draw_plan(figure, plan)
    if kept := [one.rate_per_s for one in found.points if keeps(found.inputs, one)]:
        _draw_measured(figure, plan, max(kept))
    doubt = doubt_model(plan, check(found.inputs, found.points))
    if doubt:
        title = "Planning model, not to be relied on: rate a device by split"
    elif plan.best is None:
        title = "Planning model: no split keeps both SLOs"
    else:
        title = (
            f"Planning model: {plan.best.name} is the best split, up to "
            f"{words.per_second(plan.best.rate.value, 'requests')} a device"
        )
    alt = "; ".join(f"{one.name}: {words.number(one.rate.value)}" for one in plan.splits)
    caption = (
        f"{MODEL} {f'It is not to be relied on: {doubt}. ' if doubt else ''}A split is as good as "
        "its weaker pool: the bar is the lower of the two lines. Whiskers and the grey band hold "
        "95 % of draws about the fits, the band also what a finite simulation adds."
    )
    return tell(figure, 1, title, f"requests/s a device; {alt}", caption)


def _draw_plan(figure: go.Figure, plan: Plan) -> None:
    names = [one.name for one in plan.splits]
    rates = [one.rate for one in plan.splits]
    figure.add_bar(
        x=names,
        y=[shorten(one.value) for one in rates],
        error_y=draw_whiskers(rates),
        marker={"color": BLUE},
        opacity=0.85,
        width=0.45,
        name="both SLOs kept",
        hovertext=[
            f"<b>{one.name}</b>: {words.number(one.rate.value)} requests/s a device<br>limited by "
            f"{one.limit}<br>prefill {words.percent(one.prefill_busy)} busy, "
            f"{words.number(one.running)} sequences decode a device"
            for one in plan.splits
        ],
        hoverinfo="text",
    )
    for name, heights, colour, symbol in (
        ("prefill pool (TTFT)", [one.ttft_rate for one in plan.splits], VERMILLION, "square"),
        ("decode pool (TPOT)", [one.tpot_rate for one in plan.splits], GREEN, "diamond"),
    ):
        figure.add_scatter(
            x=names,
            y=[shorten(height) for height in heights],
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"symbol": symbol, "size": 8},
            name=name,
            hovertemplate=f"{name} at %{{x}}: %{{y:.3~g}} requests/s<extra></extra>",
        )
    together = plan.together
    figure.add_scatter(
        x=names,
        y=[shorten(together.value)] * len(names),
        mode="lines",
        line={"color": PURPLE, "width": 2, "dash": "dash"},
        name="devices that do both",
        hovertemplate=f"both on one device: %{{y:.3~g}} requests/s, limited by "
        f"{plan.together_limit}<extra></extra>",
    )
    if together.low is not None and together.high is not None:
        figure.add_hrect(
            y0=shorten(together.low), y1=shorten(together.high),
            fillcolor=GREY, opacity=0.18, line_width=0, layer="below",
        )  # fmt: skip
    # the pool that is not the limit may be many times above: the bars are what is looked at
    top = max(
        [one.high or one.value for one in [*rates, together]], default=1.0
    ) or 1.0  # fmt: skip
    figure.update_layout(yaxis={"range": [0, 1.6 * top]})


def _draw_measured(figure: go.Figure, plan: Plan, rate: float) -> None:
    figure.add_scatter(
        x=[one.name for one in plan.splits],
        y=[shorten(rate)] * len(plan.splits),
        mode="lines",
        line={"color": GREY, "width": 2, "dash": "dot"},
        name="one that does both, measured",
        hovertemplate="the highest measured rate at which both limits were kept: %{y:.3~g} "
        "requests/s<extra></extra>",
    )


def draw_whiskers(told: Sequence[Range], factor: float = 1.0) -> dict[str, Any]:
    """Return plotly's error bars from each value to its bounds."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [shorten(max(0.0, (one.high or one.value) - one.value) * factor) for one in told],
        "arrayminus": [
            shorten(max(0.0, one.value - (one.value if one.low is None else one.low)) * factor)
            for one in told
        ],
        "color": GREY,
        "thickness": 1.5,
        "width": 5,
    }


def shorten(value: float) -> float:
    """Return a number with the five digits that a figure needs."""
    return float(f"{value:.5g}")
