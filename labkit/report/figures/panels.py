"""The parts that sweep figures share: panels side by side, one series drawn into a panel.

It knows rows of summary.json, not what a row means. A dot is one repeat, the line goes through
the mean of the valid repeats, a hollow dot is not valid and no line touches it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.row import is_usable
from labkit.report.quantities import look_up, order_values
from labkit.report.theme import GREY, LIGHT

GAP = 0.09


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity of a row: where it stands (dotted path), where its n stands, how it looks."""

    name: str
    path: str
    count_path: str
    colour: str
    symbol: str = "circle"
    dash: str = "solid"


def suffix(panel: int) -> str:
    """Return plotly's axis suffix of a panel counted from 0: '', '2', '3'."""
    return "" if panel == 0 else str(panel + 1)


def select_rows(summary: dict[str, Any], variable: str) -> list[dict[str, Any]]:
    """Return the rows that sweep a variable, ordered by value, then repeat."""
    rows = [row for row in summary.get("points", []) if row.get("variable") == variable]
    order = [repr(value) for value in order_values(row["value"] for row in rows)]
    return sorted(rows, key=lambda row: (order.index(repr(row["value"])), row.get("repeat") or 0))


def average(rows: Sequence[dict[str, Any]], path: str) -> dict[str, float]:
    """Return the mean over valid repeats by value's name, in order; unmeasured ones are absent."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        number = look_up(row, path)
        if is_usable(row) and number is not None:
            groups.setdefault(words.setting(row["value"]), []).append(number)
    return {value: fmean(numbers) for value, numbers in groups.items()}


def find_reason(rows: Sequence[dict[str, Any]], path: str) -> str:
    """Return why a quantity is null in every row."""
    if not rows:
        return "no point was run"
    field = path.split(".")[0]
    for row in rows:
        reasons = row.get("null_reasons") or {}
        reason = reasons.get(path) or reasons.get(field)
        if reason:
            return str(reason)
    return "not measured"


def open_panels(titles: Sequence[str], units: Sequence[str], variable: str) -> go.Figure:
    """Return an empty figure of panels side by side, each with a category axis of values."""
    figure = go.Figure(layout={"template": LIGHT, "height": 400, "showlegend": True})
    count = len(titles)
    width = (1 - GAP * (count - 1)) / count
    for panel, (title, unit) in enumerate(zip(titles, units, strict=True)):
        end, left = suffix(panel), panel * (width + GAP)
        x_axis = {
            "type": "category",
            "domain": [round(left, 6), round(min(1, left + width), 6)],
            "anchor": f"y{end}",
            "title": {"text": escape(words.short(variable))},
        }
        y_axis = {
            "anchor": f"x{end}",
            "rangemode": "tozero",
            "title": {"text": unit},
        }
        figure.update_layout({f"xaxis{end}": x_axis, f"yaxis{end}": y_axis})
        add_panel_title(figure, panel, title)
    return figure


def add_panel_title(figure: go.Figure, panel: int, title: str) -> None:
    """Write a panel's title above its left edge."""
    end = suffix(panel)
    figure.add_annotation(
        text=f"<b>{title}</b>",
        xref=f"x{end} domain",
        yref=f"y{end} domain",
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        yshift=8,
        showarrow=False,
    )


def add_note(figure: go.Figure, text: str, *, x: str = "x", y: str = "y") -> None:
    """Write into an empty panel why nothing is drawn there."""
    figure.add_annotation(
        text="<br>".join(escape(line) for line in wrap(text, 34)),
        xref=f"{x} domain",
        yref=f"{y} domain",
        x=0.5,
        y=0.5,
        showarrow=False,
        font={"color": GREY},
    )
    bare = {"showticklabels": False, "showgrid": False}
    figure.update_layout({f"yaxis{y[1:]}": bare})
    if x[1:] == y[1:]:
        figure.update_layout({f"xaxis{x[1:]}": bare})
    # plotly draws no axes, and cannot place a note, where no trace stands
    figure.add_scatter(
        x=[None], y=[None], xaxis=x, yaxis=y, mode="markers", hoverinfo="skip", showlegend=False
    )


def set_categories(figure: go.Figure, panel: int, rows: Sequence[dict[str, Any]]) -> None:
    """Fix the order of a panel's values; plotly would take them as they come."""
    values = [words.setting(value) for value in order_values(row["value"] for row in rows)]
    figure.update_layout(
        {f"xaxis{suffix(panel)}": {"categoryorder": "array", "categoryarray": values}}
    )


def describe(row: dict[str, Any], series: Series, text: str) -> str:
    """Return the hover text of one repeat: what, where, n, verdict and why."""
    count = look_up(row, series.count_path)
    counted = "n not known" if count is None else f"n = {count:,.0f} requests"
    return (
        f"<b>{escape(series.name)}: {text}</b><br>"
        f"{escape(words.short(row['variable']))} = {escape(words.setting(row['value']))}, "
        f"repeat {row.get('repeat')}<br>{counted}, {tell_verdict(row)}"
    )


def tell_verdict(row: dict[str, Any]) -> str:
    """Return the verdict on a row with its reasons below, for a hover text."""
    reasons = "; ".join(map(str, row.get("validity_reasons") or []))
    lines = wrap(reasons, 60, max_lines=4, placeholder=" …")
    return "<br>".join(map(escape, [str(row.get("validity") or "not judged"), *lines]))


def count_verdicts(rows: Sequence[dict[str, Any]], value: str) -> str:
    """Return how the usable repeats of a value were judged: '3 repeats, 1 SUSPECT, 2 VALID'."""
    found = Counter(
        str(row["validity"])
        for row in rows
        if is_usable(row) and words.setting(row["value"]) == value
    )
    told = [f"{number} {verdict}" for verdict, number in sorted(found.items())]
    return ", ".join([words.count(found.total(), "repeat"), *told])


def draw_series(
    figure: go.Figure,
    panel: int,
    rows: Sequence[dict[str, Any]],
    series: Series,
    *,
    factor: float,
    unit: str,
    legend: bool,
) -> None:
    """Draw one series into a panel; `factor` turns the stored unit into the shown one."""
    end = suffix(panel)
    axes = {"xaxis": f"x{end}", "yaxis": f"y{end}", "legendgroup": series.name}
    values = [words.setting(value) for value in order_values(row["value"] for row in rows)]
    means = average(rows, series.path)
    measured = [row for row in rows if look_up(row, series.path) is not None]
    valid = [row for row in measured if is_usable(row)]
    repeated = len(valid) > len(means)
    hover = {words.setting(row["value"]): describe_row(row, series, factor, unit) for row in valid}
    if repeated:
        hover = {
            value: f"<b>{escape(series.name)}: {words.number(mean * factor)} {unit}</b><br>"
            f"mean of {count_verdicts(valid, value)}"
            for value, mean in means.items()
        }
    figure.add_scatter(
        x=values,
        y=[means[value] * factor if value in means else None for value in values],
        name=series.name,
        mode="lines" if repeated and len(means) > 1 else "lines+markers",
        line={"color": series.colour, "width": 2, "dash": series.dash},
        marker={"color": series.colour, "size": 8, "symbol": series.symbol},
        hovertext=[hover.get(value, "") for value in values],
        hoverinfo="text",
        connectgaps=False,
        showlegend=legend,
        **axes,
    )
    for name, shown, symbol in (
        ("repeats", valid if repeated else [], series.symbol),
        ("not valid", [row for row in measured if not is_usable(row)], f"{series.symbol}-open"),
    ):
        if shown:
            figure.add_scatter(
                x=[words.setting(row["value"]) for row in shown],
                y=[(look_up(row, series.path) or 0) * factor for row in shown],
                name=f"{series.name}, {name}",
                mode="markers",
                marker={
                    "color": series.colour,
                    "size": 7 if name == "repeats" else 9,
                    "symbol": symbol,
                    "line": {"width": 2 if name == "not valid" else 0},
                    "opacity": 0.75 if name == "repeats" else 1,
                },
                hovertext=[describe_row(row, series, factor, unit) for row in shown],
                hoverinfo="text",
                showlegend=False,
                **axes,
            )


def describe_row(row: dict[str, Any], series: Series, factor: float, unit: str) -> str:
    """Return the hover text of one repeat, its number in the shown unit."""
    number = (look_up(row, series.path) or 0) * factor
    return describe(row, series, f"{words.number(number)} {unit}".strip())


def add_hollow_key(figure: go.Figure, rows: Sequence[dict[str, Any]]) -> None:
    """Add to the legend what a hollow dot means, where one is drawn."""
    if any(not is_usable(row) for row in rows):
        figure.add_scatter(
            x=[None],
            y=[None],
            name="hollow: not valid",
            mode="markers",
            marker={"color": GREY, "symbol": "circle-open", "size": 9, "line": {"width": 2}},
            hoverinfo="skip",
        )
