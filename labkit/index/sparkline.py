"""A curve the size of a word: output tokens/s against the swept value, as inline SVG.

It must not know where its numbers come from. The y axis begins at 0, as in the report's figure.
"""

from collections.abc import Mapping, Sequence
from html import escape

from labkit.analysis import words
from labkit.listing import Curve
from labkit.report.quantities import order_values

WIDTH, HEIGHT, EDGE = 132, 34, 4
NUM_STYLES = 6
"""Colours and dashes that the style sheet has; a seventh series begins again."""


def draw_curves(curves: Sequence[Curve]) -> str:
    """Return a small figure for each variable, its series in one; "" where there is none."""
    by_variable: dict[str, list[Curve]] = {}
    for curve in curves:
        by_variable.setdefault(curve.variable, []).append(curve)
    return "".join(_draw(variable, own) for variable, own in by_variable.items())


def _draw(variable: str, curves: Sequence[Curve]) -> str:
    ordered = order_values(value for curve in curves for value, _ in curve.points)
    values = list(dict.fromkeys(map(words.setting, ordered)))
    rates = [rate for curve in curves for _, rate in curve.points]
    most = max(rates) or 1.0
    step = (WIDTH - 2 * EDGE) / max(1, len(values) - 1)
    places = {
        value: EDGE + step * number if len(values) > 1 else WIDTH / 2
        for number, value in enumerate(values)
    }
    lines = "".join(
        _draw_line(curve, places, most, number % NUM_STYLES) for number, curve in enumerate(curves)
    )
    name = words.short(variable)
    told = words.number(min(rates))
    told += f" to {words.number(max(rates))}" if len(rates) > 1 else ""
    moved = values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
    below = escape(f"{name} {moved}").replace("_", "_<wbr>")
    return (
        f'<div class="spark"><svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="{escape(_spell(name, curves))}">'
        f'<path class="floor" d="M0 {HEIGHT - 1}H{WIDTH}"/>{lines}</svg>'
        f"<p>{escape(told)}<span>{below}</span></p>{_name_series(curves)}</div>"
    )


def _draw_line(curve: Curve, places: Mapping[str, float], most: float, style: int) -> str:
    dots = [
        (places[words.setting(value)], HEIGHT - EDGE - rate / most * (HEIGHT - 2 * EDGE))
        for value, rate in curve.points
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4"/>' for x, y in dots)
    return f'<g class="s{style}"><polyline points="{path}"/>{circles}</g>'


def _spell(name: str, curves: Sequence[Curve]) -> str:
    """Return every number in words: "Output tokens/s over max_num_seqs: 1: 38.8, 2: 42"."""
    parts = [
        (f"{curve.series}: " if curve.series else "")
        + ", ".join(f"{words.setting(value)}: {words.number(rate)}" for value, rate in curve.points)
        for curve in curves
    ]
    return f"Output tokens/s over {name}: {'; '.join(parts)}"


def _name_series(curves: Sequence[Curve]) -> str:
    if len(curves) < 2:
        return ""
    items = "".join(
        f'<li><svg class="key" viewBox="0 0 22 8" width="22" height="8" aria-hidden="true">'
        f'<g class="s{number % NUM_STYLES}"><polyline points="0,4 22,4"/></g></svg>'
        f"{escape(curve.series or 'as given')}</li>"
        for number, curve in enumerate(curves)
    )
    return f'<ul class="keys">{items}</ul>'
