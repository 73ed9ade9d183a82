"""The load against the SLO: goodput and attainment, and the latencies, over an axis of numbers.

Two bands are drawn over all panels: between which loads the SLO is lost, and where the knee lies.
"""

import math
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.capacity import Capacity
from labkit.analysis.effects import LATENCIES
from labkit.report.figures.captions import caution, spell_out, tell, tell_clock
from labkit.report.figures.panels import Series, average, select_rows, suffix
from labkit.report.figures.sweep import OFFERED, Panel, choose_latency, draw_panels
from labkit.report.quantities import choose_time_unit, look_up
from labkit.report.theme import AMBER, BLUE, GREEN, GREY, PURPLE

GOODPUT = Series("good: within the SLO", "goodput_per_s", "num_requests", BLUE)
SERVED = Series("served", "request_throughput_per_s", "num_ok", GREEN, "diamond")
ATTAINED = Series("keep the SLO", "slo_attainment", "num_requests", BLUE)
PANELS = (
    Panel("Requests", "rate", "requests/s", 1, (GOODPUT, SERVED, OFFERED)),
    Panel("Share of the requests within the SLO", "share", "%", 100, (ATTAINED,)),
)


def plot_goodput(summary: dict[str, Any], capacity: Capacity) -> go.Figure:
    """Return goodput and offered rate, and the share that keeps the SLO, against the load."""
    rows = _select(summary, capacity)
    figure = draw_panels(PANELS, rows, capacity.variable)
    _use_numbers(figure, rows, len(PANELS), capacity.variable)
    _add_level(figure, rows, 1, capacity.share * 100, f"asked: {words.percent(capacity.share)}")
    figure.update_layout(yaxis2={"range": [0, 104]})
    told = _add_bands(figure, capacity, len(PANELS))
    title = "Goodput: no valid measurement"
    if capacity.best is not None and capacity.peak is not None:
        place = words.place(capacity.variable, capacity.best.group.value)
        here = capacity.best.group.mean(GOODPUT.path) or 0.0
        title = f"The SLO holds up to {place}: {words.per_second(here, 'requests')} are good"
        if capacity.first_miss is None:
            title += "; no higher load was measured"
    elif capacity.served:
        place = words.place(capacity.variable, capacity.served[0].group.value)
        title = f"The SLO is missed already at {place}"
    alt = f"Good requests/s: {spell_out(average(rows, GOODPUT.path), words.number) or 'none'}; "
    alt += f"share within the SLO: {spell_out(average(rows, ATTAINED.path), words.percent)}"
    caption = (
        f"{told} Where served falls short of offered, a queue grows; where good falls short of "
        "served, the queue is longer than the SLO allows. The load is on a logarithmic axis. "
    )
    return tell(figure, len(PANELS), title, alt, caption + caution(rows))


def plot_latency_by_load(summary: dict[str, Any], capacity: Capacity) -> go.Figure:
    """Return P50, P95 and P99 of TTFT, TPOT and end to end against the load, with their limits."""
    rows = _select(summary, capacity)
    panels = choose_latency(rows)
    figure = draw_panels(panels, rows, capacity.variable)
    _use_numbers(figure, rows, len(panels), capacity.variable)
    limits = (capacity.served[0].group.rows[0].get("slo") or {}) if capacity.served else {}
    for index, (panel, name) in enumerate(zip(panels, LATENCIES, strict=True)):
        numbers = [look_up(row, series.path) for row in rows for series in panel.series]
        if name in limits and any(number is not None for number in numbers):
            factor, _ = choose_time_unit(numbers)
            _add_level(figure, rows, index, limits[name] * factor, "limit of the SLO")
    told = _add_bands(figure, capacity, len(panels))
    knee, tail = capacity.knee, panels[-1].series[1].path
    means = average(rows, tail)
    title = "Latency against the load: no valid measurement"
    if knee.low is not None and knee.high is not None:
        title = "P95 latency doubles between "
        title += words.places(capacity.variable, knee.low, knee.high)
    elif means:
        (first, low_s), *_, (last, high_s) = [*means.items(), *means.items()]
        title = f"P95 latency: {words.seconds(low_s)} at {first}, {words.seconds(high_s)} at {last}"
        title += "; can't tell where the knee is"
    tails = {panel.title: average(rows, panel.series[1].path) for panel in panels}
    alt = "; ".join(
        f"P95 {name.lower()}: {spell_out(tail, words.seconds)}" for name, tail in tails.items()
    )
    caption = f"{told} {tell_clock(rows)}"
    if knee.low is None:
        caption += f"Can't tell where the knee is: {knee.reason}. "
    return tell(
        figure, len(panels), title, alt, caption + caution(rows, panels[0].series[0].count_path)
    )


def _select(summary: dict[str, Any], capacity: Capacity) -> list[dict[str, Any]]:
    rows = select_rows(summary, capacity.variable)
    return [row for row in rows if row.get("series") == capacity.series]


def _use_numbers(figure: go.Figure, rows: list[dict[str, Any]], panels: int, variable: str) -> None:
    """Put loads at their distance from each other: a logarithmic axis, ticks at powers of two."""
    values = [float(row["value"]) for row in rows]
    if not values:
        return
    low, high = min(values), max(values)
    powers = range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)
    unit = " (requests/s)" if variable.endswith("request_rate_per_s") else ""
    for panel in range(panels):
        axis = {
            "type": "log",
            "range": [math.log10(low / 1.12), math.log10(high * 1.12)],
            "tickvals": [2.0**power for power in powers],
            "ticktext": [words.number(2.0**power) for power in powers],
            "categoryarray": None,
            "categoryorder": None,
            "title": {"text": f"{words.short(variable).removesuffix('_per_s')}{unit}"},
        }
        figure.update_layout({f"xaxis{suffix(panel)}": axis})


def _add_level(
    figure: go.Figure, rows: list[dict[str, Any]], panel: int, level: float, name: str
) -> None:
    values = [float(row["value"]) for row in rows]
    if not values:
        return
    end = suffix(panel)
    shown = any(trace.name == name for trace in figure.data)
    figure.add_scatter(
        x=[min(values) / 1.12, max(values) * 1.12],
        y=[level, level],
        name=name,
        legendgroup=name,
        mode="lines",
        line={"color": GREY, "width": 2, "dash": "dash"},
        hoverinfo="name",
        showlegend=not shown,
        xaxis=f"x{end}",
        yaxis=f"y{end}",
    )


def _add_bands(figure: go.Figure, capacity: Capacity, panels: int) -> str:
    """Mark where the SLO is lost and where the knee lies; return what the marks mean."""
    told = []
    knee, step = capacity.knee, capacity.step
    for low, high, colour, name in (
        (knee.low, knee.high, AMBER, "The knee lies"),
        (step.low, step.high, PURPLE, "The SLO is lost"),
    ):
        if low is None or high is None:
            continue
        for panel in range(panels):
            end = suffix(panel)
            figure.add_shape(
                type="rect", x0=low, x1=high, y0=0, y1=1, xref=f"x{end}", yref=f"y{end} domain",
                fillcolor=colour, opacity=0.18, line={"width": 0}, layer="below",
            )  # fmt: skip
        figure.add_scatter(
            x=[None], y=[None], name=f"{name} here", mode="markers", hoverinfo="skip",
            marker={"color": colour, "symbol": "square", "size": 12, "opacity": 0.45},
        )  # fmt: skip
        told.append(f"{name} between {words.places(capacity.variable, low, high)}.")
    return " ".join(told)
