"""Run B against run A: the ratio of each metric at each place, with its interval, beside no effect.

It knows the lines of a comparison; it must not compute or judge one. A verdict has a colour and a
shape of its own, so that neither is needed alone.
"""

import math
from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.comparison.lines import Line, Verdict, count_verdicts
from labkit.analysis.comparison.telling import tell_effect, tell_verdict
from labkit.report.figures.captions import tell
from labkit.report.theme import BLUE, GREY, LIGHT, PURPLE, VERMILLION

LOOKS: dict[Verdict, tuple[str, str]] = {
    "better": (BLUE, "circle"),
    "worse": (VERMILLION, "diamond"),
    "differs": (PURPLE, "square"),
    "no difference seen": (GREY, "circle-open"),
    "can't tell": (GREY, "x"),
}
ROW_HEIGHT = 24
TICKS_ABOVE = (1.05, 1.1, 1.2, 1.5, 2.0, 3.0)
TICKS_BELOW = (0.95, 0.9, 0.8, 0.7, 0.5, 0.33)
MAX_CHANGE = 3.0
"""Ratios further from 1 than this factor are drawn at the edge; the table has their numbers."""


def plot_forest(lines: Sequence[Line], title: str) -> go.Figure:
    """Return a forest plot of the ratios B / A; where A may be 0, only the table tells.

    Its title counts the verdicts of all lines, as the text beside it does, drawn or not.
    """
    shown = [line for line in lines if line.found.measure == "ratio"]
    rows = [line.metric.label for line in shown]
    figure = go.Figure(layout={"template": LIGHT, "height": 200 + ROW_HEIGHT * len(shown)})
    widest = max((_reach(line) for line in shown), default=1.1)
    reach = min(MAX_CHANGE, widest) ** 1.08
    for verdict, (colour, symbol) in LOOKS.items():
        own = [line for line in shown if line.verdict == verdict]
        if not own:
            continue
        figure.add_scatter(
            x=[_keep(line.found.value, reach) for line in own],
            y=[line.metric.label for line in own],
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [_gap(line.found.high, line.found.value, reach) for line in own],
                "arrayminus": [_gap(line.found.value, line.found.low, reach) for line in own],
                "color": colour,
                "thickness": 2,
                "width": 4,
            },
            mode="markers",
            marker={
                "color": colour,
                "symbol": symbol,
                "size": 10,
                "line": {"color": colour, "width": 2 if symbol.endswith("-open") else 0},
            },
            name=verdict,
            hovertext=[
                f"{escape(line.metric.label)}: {escape(tell_effect(line))}<br>"
                f"{escape(line.metric.show(line.mean_a))} in A, "
                f"{escape(line.metric.show(line.mean_b))} in B<br>{escape(tell_verdict(line))}"
                for line in own
            ],
            hoverinfo="text",
        )
    figure.add_vline(x=1, line={"color": GREY, "width": 1.5, "dash": "dash"})
    figure.update_layout(
        showlegend=True,
        xaxis={
            "type": "log",
            "title": {"text": "B against A, logarithmic"},
            "tickvals": (ticks := _choose_ticks(reach)),
            "ticktext": [_name_tick(tick) for tick in ticks],
            "range": [-math.log10(reach), math.log10(reach)],
            "showgrid": True,
        },
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(reversed(dict.fromkeys(rows))),
            "range": [-0.6, max(0.6, len(rows) - 0.4)],
            "showgrid": True,
        },
    )
    return tell(figure, 1, _title(lines, title), _spell(shown), _caption(lines, shown))


def _title(lines: Sequence[Line], title: str) -> str:
    told = [f"{count} {name}" for name, count in count_verdicts(lines).items() if count]
    return f"{title}: {words.join(told) or 'nothing could be compared'}"


def _spell(shown: Sequence[Line]) -> str:
    return "; ".join(f"{line.metric.label}: {tell_effect(line)}, {line.verdict}" for line in shown)


def _caption(lines: Sequence[Line], shown: Sequence[Line]) -> str:
    told = "Bars are 95 % intervals over repeats, each on its own; verdicts hold together."
    if any(line.found.low is None for line in shown):
        told += " Where there is no bar, no interval can be had from so few repeats."
    if len(shown) < len(lines):
        missing = len(lines) - len(shown)
        told += (
            f" {missing} of {words.count(len(lines), 'number')} counted above "
            f"{'is' if missing == 1 else 'are'} not drawn, as 0 in some repeat has no ratio; the "
            "table tells."
        )
    if any(_reach(line) > MAX_CHANGE for line in shown):
        told += f" What is more than {MAX_CHANGE:g} times apart is cut at the edge."
    return told


def _reach(line: Line) -> float:
    """Return the largest factor away from 1 that the line has to show."""
    edges = [edge for edge in (line.found.value, line.found.low, line.found.high) if edge]
    return max([1.1, *(max(edge, 1 / edge) for edge in edges)])


def _keep(value: float, reach: float) -> float:
    return min(max(value, 1 / reach), reach)


def _gap(high: float | None, low: float | None, reach: float) -> float:
    if high is None or low is None:
        return 0.0
    return _keep(high, reach) - _keep(low, reach)


def _choose_ticks(reach: float) -> list[float]:
    """Return where to write a percentage: so many that they do not touch, round on both sides."""
    above = [step for step in TICKS_ABOVE if step <= reach]
    below = [step for step in TICKS_BELOW if step >= 1 / reach]
    return [*reversed(below[-2:]), 1.0, *above[-2:]]


def _name_tick(tick: float) -> str:
    if tick == 1:
        return "equal"
    return f"{'+' if tick > 1 else '-'}{words.number(abs(tick - 1) * 100)} %"
