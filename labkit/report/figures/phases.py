"""Where the time of a request goes, against the swept variable; and what prefills do to streams.

It draws rows of summary.json; it must not derive anything from records.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.row import is_usable
from labkit.report.figures.captions import spell_out, tell
from labkit.report.figures.panels import (
    Series,
    add_note,
    average,
    draw_series,
    find_reason,
    open_panels,
    select_rows,
    set_categories,
)
from labkit.report.quantities import choose_time_unit, look_up
from labkit.report.theme import AMBER, BLUE, GREY, SKY, VERMILLION

Rows = Sequence[dict[str, Any]]
PHASES = (
    ("queue_time_s", "queue", AMBER),
    ("prefill_time_s", "prefill", SKY),
    ("decode_time_s", "decode", BLUE),
)
USUAL = Series("median gap", "prefill_stall_s.median_gap_s", "prefill_stall_s.n", GREY, "square")
STALL = Series("P95 with a prefill", "prefill_stall_s.p95", "prefill_stall_s.n", VERMILLION)
WORST = Series(
    "worst with a prefill", "prefill_stall_s.max", "prefill_stall_s.n", BLUE, "diamond", "dot"
)
STALLS = (WORST, STALL, USUAL)


def plot_phases(summary: dict[str, Any], variable: str) -> go.Figure:
    """Return mean queue, prefill and decode of a request, and stalls of running streams."""
    rows = select_rows(summary, variable)
    numbers = [look_up(row, f"phases.{field}") for row in rows for field, _, _ in PHASES]
    factor, unit = choose_time_unit(numbers)
    gap_factor, gap_unit = choose_time_unit(
        [look_up(row, one.path) for row in rows for one in STALLS]
    )
    figure = open_panels(
        ["A request, on average", "Gaps of running streams"],
        [f"time ({unit})", f"gap ({gap_unit})"],
        variable,
    )
    figure.update_layout(barmode="stack", bargap=0.35)
    for panel in (0, 1):
        set_categories(figure, panel, rows)
    usable = [row for row in rows if is_usable(row)]
    _draw_phases(figure, usable, factor, unit)
    drawn = [one for one in STALLS if any(look_up(row, one.path) is not None for row in rows)]
    for one in drawn:
        draw_series(figure, 1, rows, one, factor=gap_factor, unit=gap_unit, legend=True)
    if not drawn:
        add_note(figure, f"No data: {find_reason(rows, STALL.path)}", x="x2", y="y2")
    return tell(figure, 2, _title(rows, variable), "Stacked bars and lines", _caption(usable))


def _draw_phases(figure: go.Figure, rows: Rows, factor: float, unit: str) -> None:
    sources = {row["phases"]["source"] for row in rows if row.get("phases")}
    drawn = False
    for field, name, colour in PHASES:
        means = average(rows, f"phases.{field}")
        if not means:
            continue
        drawn = True
        label = "queue and prefill" if field == "prefill_time_s" and sources == {"client"} else name
        figure.add_bar(
            x=list(means),
            y=[float(f"{mean * factor:.5g}") for mean in means.values()],
            name=label,
            marker={"color": colour},
            xaxis="x",
            yaxis="y",
            hovertemplate=f"{label} at %{{x}}: %{{y:.3~g}} {unit}<extra></extra>",
        )
    if not drawn:
        add_note(figure, f"No data: {find_reason(rows, 'phases')}")


def _title(rows: Rows, variable: str) -> str:
    worst = average(rows, STALL.path)
    usual = average(rows, USUAL.path)
    name = words.short(variable)
    if not worst:
        return f"Where a request's time goes against {name}"
    value = max(worst, key=lambda one: worst[one])
    return (
        f"Prefills stretch the gap of running streams to {words.seconds(worst[value])} (P95) at "
        f"{name} {value}, usually {words.seconds(usual[value])}"
    )


def _caption(rows: Rows) -> str:
    sources = {row["phases"]["source"] for row in rows if row.get("phases")}
    told = {
        "engine requests": "The engine told each request's prefill; the rest of its TTFT is queue.",
        "engine histograms": "Queue and prefill are means of the engine's own histograms.",
        "client": "This engine tells neither queue nor prefill: both stand as one.",
    }
    shares = average(rows, "prefill_stall_s.share")
    lost = (
        f" Of the time of running streams prefills took {spell_out(shares, words.percent)}."
        if shares
        else ""
    )
    return " ".join(told[source] for source in sorted(sources)) + lost
