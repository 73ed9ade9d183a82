"""Tasks of k dependent calls: what they take, and how many keep the SLO in every call."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.tasks import STEPS, Tasks
from labkit.report.figures.captions import caution, tell
from labkit.report.figures.panels import Series, add_note, draw_series, open_panels, set_categories
from labkit.report.figures.sweep import percentiles
from labkit.report.quantities import choose_time_unit
from labkit.report.theme import BLUE, GREY

TITLES = ("Time of a task", "Tasks of which every call keeps the SLO")
CALLS = Series("calls that keep the SLO", "slo_attainment", "num_requests", GREY, "square", "dot")


def plot_tasks(tasks: Sequence[Tasks]) -> go.Figure:
    """Return task latency P50, P95 and P99, and the share within the SLO, against the calls."""
    rows = [dict(row) for one in tasks for row in one.group.rows]
    longest = [one.group.mean("task_latency_s.p99") for one in tasks]
    factor, unit = choose_time_unit(longest)
    figure = open_panels(TITLES, [f"task latency ({unit})", "share (%)"], STEPS)
    for panel in range(2):
        set_categories(figure, panel, rows)
        figure.update_layout({f"xaxis{'' if panel == 0 else 2}": {"title": {"text": "calls (k)"}}})
    values = [one.group.label for one in tasks]
    for series in percentiles("task_latency_s"):
        draw_series(figure, 0, rows, series, factor=factor, unit=unit, legend=True)
    expected = [None if one.expected_s is None else one.expected_s * factor for one in tasks]
    _draw_dashed(figure, "", values, expected, "k times the median call", unit)
    kept = [one.kept for one in tasks]
    if any(kept):
        draw_series(figure, 1, rows, CALLS, factor=100, unit="%", legend=True)
        chances = [None if one is None else one.chance * 100 for one in kept]
        _draw_dashed(figure, "2", values, chances, "p^k: misses by chance", "%")
        _draw_shares(figure, tasks, values)
        figure.update_layout(yaxis2={"range": [0, 104]})
    else:
        add_note(figure, "No data: no SLO was given", x="x2", y="y2")
    alt = "; ".join(_spell(one) for one in tasks) or "none"
    caption = (
        "Left: a task above the dashed line waits for the slowest of its calls, or for prompts "
        "that grow from call to call. Right: p^k is what is left if each of k calls keeps the SLO "
        "with the share p of all calls; bars are 95 % intervals of the tasks counted. "
    )
    return tell(figure, 2, _word_title(tasks), alt, caption + caution(rows, "task_latency_s.n"))


def _word_title(tasks: Sequence[Tasks]) -> str:
    if not tasks:
        return "Time of a task: no valid measurement"
    first, last = tasks[0], tasks[-1]
    tail = words.seconds(last.group.mean("task_latency_s.p95") or 0.0)
    title = f"A task of {words.count(last.num_steps, 'call')} takes {tail} at P95"
    if first is not last and first.kept and last.kept:
        shares = words.percent(first.kept.share), words.percent(last.kept.share)
        title += f"; {shares[1]} keep the SLO, {shares[0]} with {first.num_steps}"
    return title


def _spell(one: Tasks) -> str:
    tail = words.seconds(one.group.mean("task_latency_s.p95") or 0.0)
    told = f"{words.count(one.num_steps, 'call')}: P95 {tail}"
    if one.kept is None:
        return told
    return f"{told}, {words.percent(one.kept.share)} of tasks within the SLO"


def _draw_dashed(
    figure: go.Figure,
    end: str,
    values: Sequence[str],
    numbers: Sequence[float | None],
    name: str,
    unit: str,
) -> None:
    hover: list[Any] = [
        "" if number is None else f"<b>{name}: {words.number(number)} {unit}</b>"
        for number in numbers
    ]
    figure.add_scatter(
        x=list(values), y=list(numbers), name=name, mode="lines+markers",
        line={"color": GREY, "width": 2, "dash": "dash"}, marker={"color": GREY, "size": 6},
        hovertext=hover, hoverinfo="text", xaxis=f"x{end}", yaxis=f"y{end}",
    )  # fmt: skip


def _draw_shares(figure: go.Figure, tasks: Sequence[Tasks], values: Sequence[str]) -> None:
    known = [(value, one.kept) for value, one in zip(values, tasks, strict=True) if one.kept]
    figure.add_scatter(
        x=[value for value, _ in known],
        y=[kept.share * 100 for _, kept in known],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [(kept.interval.high - kept.share) * 100 for _, kept in known],
            "arrayminus": [(kept.share - kept.interval.low) * 100 for _, kept in known],
            "thickness": 1.5,
        },
        name="tasks that keep it in every call",
        mode="lines+markers",
        line={"color": BLUE, "width": 2},
        marker={"color": BLUE, "size": 8},
        hovertext=[
            f"<b>{kept.num_met} of {kept.num_tasks} tasks: {words.percent(kept.share)}</b><br>"
            f"95 % interval {words.percent(kept.interval.low)} to "
            f"{words.percent(kept.interval.high)}"
            for _, kept in known
        ],
        hoverinfo="text",
        xaxis="x2",
        yaxis="y2",
    )
