"""Latency against throughput: what a gain in one costs in the other."""

from collections.abc import Sequence
from html import escape
from math import hypot
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.pool import Group, groups, rank
from labkit.analysis.row import is_usable
from labkit.analysis.schedule import name_latency
from labkit.report.figures.captions import caution, tell, tell_clock
from labkit.report.figures.panels import (
    Series,
    add_hollow_key,
    add_note,
    average,
    count_verdicts,
    describe,
    find_reason,
    select_rows,
)
from labkit.report.figures.titles import add_ties, is_tied, label, name_beaten, span, tell_tie
from labkit.report.quantities import choose_time_unit, look_up
from labkit.report.theme import BLUE, LIGHT

X_PATH = "output_throughput_tokens_per_s"
NEAR = 0.15
SIDES = {
    "top center": (0, 1),
    "bottom center": (0, -1),
    "top right": (0.8, 0.6),
    "top left": (-0.8, 0.6),
    "bottom right": (0.8, -0.6),
    "bottom left": (-0.8, -0.6),
}


def choose_latency(rows: list[dict[str, Any]]) -> Series:
    """Return P95 end-to-end latency; where all rows have a schedule, from the intended time."""
    field = name_latency("e2e_latency_s", rows)
    return Series("P95 end-to-end latency", f"{field}.p95", f"{field}.n", BLUE)


def plot_tradeoff(summary: dict[str, Any], variable: str) -> go.Figure:
    """Return P95 end-to-end latency against output tokens/s, values labelled, joined in order."""
    rows, name = select_rows(summary, variable), words.short(variable)
    latency = choose_latency(rows)
    measured = [
        row
        for row in rows
        if look_up(row, X_PATH) is not None and look_up(row, latency.path) is not None
    ]
    valid = [row for row in measured if is_usable(row)]
    speed, delay = average(valid, X_PATH), average(valid, latency.path)
    factor, unit = choose_time_unit(look_up(row, latency.path) for row in measured)
    figure = go.Figure(layout={"template": LIGHT, "height": 440, "showlegend": False})
    figure.update_layout(
        xaxis={
            "title": {"text": "output throughput (tokens/s)"},
            "range": frame_range([look_up(row, X_PATH) or 0 for row in measured]),
        },
        yaxis={
            "title": {"text": f"P95 end-to-end latency ({unit})"},
            "range": frame_range([(look_up(row, latency.path) or 0) * factor for row in measured]),
        },
    )
    figure.update_xaxes(showgrid=True)
    values = list(speed)
    figure.add_scatter(
        x=[speed[value] for value in values],
        y=[delay[value] * factor for value in values],
        text=[f"<b>{escape(value)}</b>" for value in values],
        textposition=place_labels(list(speed.values()), list(delay.values())),
        mode="lines+markers+text",
        name="mean" if len(valid) > len(values) else "value",
        line={"color": BLUE, "width": 1.5, "dash": "dot"},
        marker={"color": BLUE, "size": 11},
        hovertext=[
            f"<b>{escape(name)} = {escape(value)}</b><br>{words.number(speed[value])} tokens/s<br>"
            f"{words.seconds(delay[value])} P95 latency<br>mean of "
            f"{count_verdicts(valid, value)}"
            for value in values
        ],
        hoverinfo="text",
        cliponaxis=False,
    )
    hollow = [row for row in measured if not is_usable(row)]
    repeats = valid if len(valid) > len(values) else []
    for kind, shown, symbol in (
        ("repeats", repeats, "circle"),
        ("not valid", hollow, "circle-open"),
    ):
        if shown:
            figure.add_scatter(
                x=[look_up(row, X_PATH) for row in shown],
                y=[(look_up(row, latency.path) or 0) * factor for row in shown],
                mode="markers+text" if kind == "not valid" else "markers",
                text=[escape(words.setting(row["value"])) for row in shown],
                textposition="top center",
                name=kind,
                marker={"color": BLUE, "size": 6 if shown is repeats else 10, "symbol": symbol},
                opacity=0.6 if shown is repeats else 1,
                hovertext=[describe_both(row, latency) for row in shown],
                hoverinfo="text",
                showlegend=False,
            )
    if not measured:
        missing = latency.path if average(rows, X_PATH) else X_PATH
        add_note(figure, f"No data: {find_reason(rows, missing)}")
    if hollow:
        figure.update_layout(showlegend=True)
        figure.update_traces(showlegend=False)
        add_hollow_key(figure, hollow)
    pooled = [one for one in groups(summary, variable) if one.numbers(X_PATH)]
    pooled = [one for one in pooled if one.numbers(latency.path)]
    title = f"Latency against throughput by {name}: no valid measurement"
    if values:
        title = word_title(pooled, latency.path)
    alt = "; ".join(
        f"{name} {value}: {words.number(speed[value])} tokens/s, {words.seconds(delay[value])}"
        for value in values
    )
    caption = (
        "Right and low is better; the axes need not begin at 0. "
        f"{name_beaten(pooled, X_PATH, latency.path)} {tell_clock(rows)} {caution(rows)}"
    )
    return tell(figure, 1, title, alt, caption)


def word_title(pooled: Sequence[Group], path: str) -> str:
    """Return which value gives the most output, at which latency; or that none can be told."""
    ranked = rank(pooled, X_PATH, highest=True)
    best = ranked[0]
    if is_tied(ranked, X_PATH):
        delays = [one.mean(path) or 0.0 for one in ranked]
        told = tell_tie(ranked, X_PATH, "Output throughput", words.tokens_per_second)
        return f"{told}, at {span(min(delays), max(delays), words.seconds)} P95 latency"
    most = "the most output" if len(ranked) > 1 else "an output"
    return (
        f"{words.short(best.variable)} {label(best)} gives {most}, "
        f"{words.tokens_per_second(best.mean(X_PATH) or 0.0)}{add_ties(ranked, X_PATH)}, at "
        f"{words.seconds(best.mean(path) or 0.0)} P95 latency"
    )


def frame_range(numbers: list[float]) -> list[float] | None:
    """Return an axis range that holds all numbers with room for labels, None for no numbers.

    It spans a third of the largest number at least, so that noise does not fill the figure.
    """
    if not numbers:
        return None
    low, high = min(numbers), max(numbers)
    span = max(high - low, high / 3) or 1.0
    middle = (low + high) / 2
    bottom = max(0.0, middle - 0.62 * span)
    return [bottom, max(middle + 0.62 * span, high + 0.12 * span)]


def describe_both(row: dict[str, Any], latency: Series) -> str:
    """Return the hover text of one repeat: both numbers."""
    seconds = words.seconds(look_up(row, latency.path) or 0)
    speed = words.number(look_up(row, X_PATH) or 0)
    return describe(row, latency, f"{seconds}, {speed} tokens/s")


def place_labels(across: list[float], up: list[float]) -> list[str]:
    """Return for each dot of a joined line the side of it that is clearest of line and dots."""
    width, height = max(across, default=1) or 1, max(up, default=1) or 1
    places = []
    for index, (x, y) in enumerate(zip(across, up, strict=True)):
        taken = []
        for other, (far, high) in enumerate(zip(across, up, strict=True)):
            # a dot is twice as wide as high in a figure of this shape
            step = (2 * (far - x) / width, (high - y) / height)
            distance = hypot(*step)
            if distance and (abs(other - index) == 1 or distance < NEAR):
                taken.append((step[0] / distance, step[1] / distance))
        places.append(
            min(
                SIDES,
                key=lambda side: max(
                    (SIDES[side][0] * dx + SIDES[side][1] * dy for dx, dy in taken), default=-1
                ),
            )
        )
    return places
