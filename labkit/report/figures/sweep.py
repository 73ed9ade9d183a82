"""Latency, throughput and pressure against the swept variable.

Each title says what was found, with its number; each panel has one axis with one unit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.pool import groups, rank
from labkit.analysis.row import is_usable
from labkit.analysis.schedule import name_latency
from labkit.report.figures.captions import caution, spell_out, tell, tell_clock
from labkit.report.figures.panels import (
    Series,
    add_hollow_key,
    add_note,
    average,
    draw_series,
    find_reason,
    open_panels,
    select_rows,
    set_categories,
    suffix,
)
from labkit.report.figures.titles import add_ties, is_tied, label, tell_tie
from labkit.report.quantities import choose_time_unit, look_up
from labkit.report.theme import BLUE, GREEN, GREY, PURPLE, SKY, VERMILLION

Rows = Sequence[dict[str, Any]]
STYLES = (
    ("P50", "p50", BLUE, "circle", "solid"),
    ("P95", "p95", VERMILLION, "diamond", "solid"),
    ("P99", "p99", PURPLE, "square", "dot"),
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: its title, its y axis and what is drawn; a unit of "" means time, chosen."""

    title: str
    axis: str
    unit: str
    factor: float
    series: tuple[Series, ...]


def percentiles(field: str) -> tuple[Series, ...]:
    """Return P50, P95 and P99 of a latency."""
    return tuple(
        Series(name, f"{field}.{key}", f"{field}.n", colour, symbol, dash)
        for name, key, colour, symbol, dash in STYLES
    )


LATENCY = (
    ("Time to first token", "TTFT", "ttft_s"),
    ("Time per output token", "TPOT", "tpot_s"),
    ("End to end", "latency", "e2e_latency_s"),
)
OUTPUT = Series("output", "output_throughput_tokens_per_s", "num_ok", BLUE)
REQUESTS = Series("requests", "request_throughput_per_s", "num_ok", GREEN, "diamond")
STEADY = Series(
    "output, steady part",
    "steady_output_throughput_tokens_per_s",
    "num_ok",
    SKY,
    "square",
    "dash",
)
OFFERED = Series("offered", "offered_rate_per_s", "num_requests", GREY, "square", "dot")
THROUGHPUT = (
    Panel("Output tokens", "output throughput", "tokens/s", 1, (OUTPUT, STEADY)),
    Panel("Requests", "request throughput", "requests/s", 1, (REQUESTS, OFFERED)),
)
MEAN_KV = Series("mean", "kv_cache_usage.mean", "num_requests", BLUE)
MAX_KV = Series("max", "kv_cache_usage.max", "num_requests", VERMILLION, "diamond")
MEAN_WAITING = Series("mean", "num_requests_waiting.mean", "num_requests", BLUE)
MAX_WAITING = Series("max", "num_requests_waiting.max", "num_requests", VERMILLION, "diamond")
PRESSURE = (
    Panel("KV cache usage", "KV cache used", "%", 100, (MEAN_KV, MAX_KV)),
    Panel("Waiting queue", "waiting", "requests", 1, (MEAN_WAITING, MAX_WAITING)),
)


def choose_latency(rows: Rows) -> list[Panel]:
    """Return the panels of latency; where all rows have a schedule, from the intended time."""
    return [
        Panel(title, axis, "", 1, percentiles(name_latency(field, rows)))
        for title, axis, field in LATENCY
    ]


def draw_panels(panels: Sequence[Panel], rows: Rows, variable: str) -> go.Figure:
    """Return panels side by side with their series, or the reason where nothing was measured."""
    units = []
    for panel in panels:
        numbers = [look_up(row, series.path) for row in rows for series in panel.series]
        units.append((panel.factor, panel.unit) if panel.unit else choose_time_unit(numbers))
    figure = open_panels(
        [panel.title for panel in panels],
        [f"{panel.axis} ({unit})" for panel, (_, unit) in zip(panels, units, strict=True)],
        variable,
    )
    named: set[str] = set()
    for index, (panel, (factor, unit)) in enumerate(zip(panels, units, strict=True)):
        set_categories(figure, index, rows)
        drawn = [
            series
            for series in panel.series
            if any(look_up(row, series.path) is not None for row in rows)
        ]
        for series in drawn:
            legend = series.name not in named
            draw_series(figure, index, rows, series, factor=factor, unit=unit, legend=legend)
            named.add(series.name)
        if not drawn:
            end = suffix(index)
            note = f"No data: {find_reason(rows, panel.series[0].path)}"
            add_note(figure, note, x=f"x{end}", y=f"y{end}")
    paths = [series.path for panel in panels for series in panel.series]
    add_hollow_key(figure, [r for r in rows if any(look_up(r, p) is not None for p in paths)])
    return figure


def plot_latency(summary: dict[str, Any], variable: str) -> go.Figure:
    """Return TTFT, TPOT and end-to-end latency, P50, P95 and P99, against a variable."""
    rows, name = select_rows(summary, variable), words.short(variable)
    panels = choose_latency(rows)
    figure = draw_panels(panels, rows, variable)
    path = panels[0].series[1].path
    ranked = rank(groups(summary, variable), path, highest=False)
    title = f"Latency against {name}: no valid measurement"
    if ranked:
        best, worst = ranked[0], ranked[-1]
        low, high = (words.seconds(one.mean(path) or 0.0) for one in (best, worst))
        title = f"P95 time to first token is {low} at {name} {label(best)}"
        if is_tied(ranked, path):
            title = tell_tie(ranked, path, "P95 time to first token", words.seconds)
        elif best is not worst:
            title = (
                f"P95 time to first token is shortest at {name} {label(best)}: {low}"
                f"{add_ties(ranked, path)}, against {high} at {label(worst)}"
            )
    alt = "; ".join(
        f"P95 {panel.title.lower()} by {name}: {spell_out(found, words.seconds)}"
        for panel in panels
        if (found := average(rows, panel.series[1].path))
    )
    caption = (
        "Look at how far P95 and P99 part from P50: a wide gap means that some requests wait. "
        "TTFT tells of the queue and prefill, TPOT of the decode batch. "
    )
    caption += tell_clock(rows) + caution(rows, panels[0].series[0].count_path)
    return tell(figure, len(panels), title, alt, caption)


def plot_throughput(summary: dict[str, Any], variable: str) -> go.Figure:
    """Return output tokens/s and requests/s against a variable."""
    rows, name = select_rows(summary, variable), words.short(variable)
    figure = draw_panels(THROUGHPUT, rows, variable)
    more = [look_up(row, series.path) for row in rows for series in (STEADY, OFFERED)]
    hollow = any(not is_usable(row) for row in rows)
    figure.update_layout(showlegend=hollow or any(number is not None for number in more))
    means = average(rows, OUTPUT.path)
    title = f"Throughput against {name}: no valid measurement"
    ranked = rank(groups(summary, variable), OUTPUT.path, highest=True)
    if is_tied(ranked, OUTPUT.path):
        title = tell_tie(ranked, OUTPUT.path, "Output throughput", words.tokens_per_second)
    elif ranked:
        verb = "peaks at" if len(ranked) > 1 else "at"
        rate = words.tokens_per_second(ranked[0].mean(OUTPUT.path) or 0.0)
        title = f"Output throughput {verb} {name} {label(ranked[0])}: {rate}"
        title += add_ties(ranked, OUTPUT.path)
    alt = f"Output tokens/s by {name}: {spell_out(means, words.number) or 'none'}"
    caption = (
        "Look for the value after which the curve is flat: beyond it a larger value buys no "
        "tokens, only waiting. The steady part leaves out ramp-up and tail. "
    )
    if name_latency("ttft_s", rows) != "ttft_s":
        caption += "Where requests served fall short of those offered, a queue grows. "
    return tell(figure, len(THROUGHPUT), title, alt, caption + caution(rows))


def plot_pressure(summary: dict[str, Any], variable: str) -> go.Figure:
    """Return KV cache usage (%) and waiting requests against a variable, a panel each."""
    rows, name = select_rows(summary, variable), words.short(variable)
    figure = draw_panels(PRESSURE, rows, variable)
    usage, waiting = average(rows, MAX_KV.path), average(rows, MAX_WAITING.path)
    pooled = groups(summary, variable)
    fullest = rank(pooled, MAX_KV.path, highest=True)
    longest = rank(pooled, MAX_WAITING.path, highest=True)
    parts = []
    if is_tied(fullest, MAX_KV.path):
        parts.append(tell_tie(fullest, MAX_KV.path, "KV cache usage", words.percent))
    elif fullest:
        share = words.percent(fullest[0].mean(MAX_KV.path) or 0.0)
        told = f"KV cache is fullest at {name} {label(fullest[0])}: {share}"
        parts.append(told + add_ties(fullest, MAX_KV.path))
    if is_tied(longest, MAX_WAITING.path):
        parts.append(tell_tie(longest, MAX_WAITING.path, "longest queue", _waiting))
    elif longest:
        place = label(longest[0]) if usage else f"{name} {label(longest[0])}"
        most = _waiting(longest[0].mean(MAX_WAITING.path) or 0.0)
        told = f"queue is longest at {place}: {most}"
        parts.append(told + add_ties(longest, MAX_WAITING.path))
    title = "; ".join(parts) or f"Pressure against {name}: no valid measurement"
    title = title[0].upper() + title[1:]
    alt = (
        f"Highest KV cache usage by {name}, %: "
        f"{spell_out({k: v * 100 for k, v in usage.items()}, words.number) or 'not measured'}; "
        f"longest waiting queue: {spell_out(waiting, words.number) or 'not measured'}"
    )
    limit = "the batch" if variable.startswith("load.") else "the variable"
    caption = (
        "A full cache makes the engine preempt or hold requests back; a queue beside a half "
        f"empty cache means that {limit}, not memory, is the limit. "
    )
    return tell(figure, len(PRESSURE), title, alt, caption + caution(rows))


def _waiting(number: float) -> str:
    return f"{words.number(number)} waiting"
