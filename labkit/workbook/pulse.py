"""How a running point does, as plain HTML: requests ended, tokens/s, queue and KV cache so far.

Pure: events and samples in, text out. It must not know where they come from or who shows it.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from labkit.report.theme import BLUE, GREEN, VERMILLION

WIDTH, HEIGHT = 320, 48
MAX_POINTS = 400
"""Samples of a line that are kept; beyond them every other one is dropped."""

Line = list[tuple[float, float]]
"""Seconds of a monotonic clock and what was sampled then."""
FIELDS = ("num_requests_running", "num_requests_waiting", "kv_cache_usage")


class Pulse:
    """What was told of the running point so far."""

    def __init__(self) -> None:
        self.line = "getting ready"
        self._requests: dict[str, Any] | None = None
        self._lines: dict[str, Line] = {field: [] for field in FIELDS}

    def hear(self, event: dict[str, Any], line: str) -> None:
        """Take in one event and the line that tells it; a new point begins with nothing."""
        self.line = line
        if event["event"] == "point":
            self._requests, self._lines = None, {field: [] for field in FIELDS}
        elif event["event"] == "requests":
            self._requests = event

    def sample(self, sample: dict[str, Any]) -> None:
        """Take in one sample; those of other sources and fields that are None leave no trace."""
        if sample.get("source") != "engine":
            return
        for field, line in self._lines.items():
            value = sample.get(field)
            if value is not None:
                line.append((sample["at_s"], value))
                if len(line) > MAX_POINTS:
                    del line[1::2]

    def draw(self) -> str:
        """Return the state as HTML that needs no script, no widget and no network."""
        parts = [f"<div>{escape(self.line)}</div>"]
        if self._requests is not None:
            parts.append(_draw_bar(self._requests))
        running, waiting, usage = (self._lines[field] for field in FIELDS)
        most = max((value for _, value in running + waiting), default=0)
        told = [
            _name(name, line, colour)
            for name, line, colour in (
                ("running", running, BLUE),
                ("waiting", waiting, VERMILLION),
            )
            if line
        ]
        if told:
            lines = [(waiting, VERMILLION), (running, BLUE)]
            parts.append(_draw_lines(", ".join(told), lines, max(1.0, most)))
        if usage:
            name = _name("KV cache", usage, GREEN, percent=True)
            parts.append(_draw_lines(name, [(usage, GREEN)], 1.0))
        return f'<div class="pulse" style="max-width:40em">{"".join(parts)}</div>'


def _draw_bar(event: dict[str, Any]) -> str:
    done, total, failed = event["num_done"], max(1, event["num_total"]), event["num_error"]
    rate = event["completion_tokens"] / max(1e-9, event["elapsed_s"])
    words = f"{done} of {event['num_total']} requests{f', {failed} failed' if failed else ''}"
    return (
        f'<div role="img" aria-label="{words}" style="margin:6px 0;width:{WIDTH}px;height:8px;'
        f'border:1px solid {BLUE}"><div style="width:{100 * done / total:.1f}%;height:100%;'
        f'background:{BLUE}"></div></div><div>{words}; {rate:.0f} tokens/s so far</div>'
    )


def _name(name: str, line: Line, colour: str, *, percent: bool = False) -> str:
    last = line[-1][1]
    told = f"{100 * last:.0f} %" if percent else f"{last:g}"
    return f'<span style="color:{colour}">■</span> {name} {told}'


def _draw_lines(name: str, lines: Sequence[tuple[Line, str]], most: float) -> str:
    """Return lines on one pair of axes: time from the first sample to the last, 0 to `most`."""
    stamps = [at_s for line, _ in lines for at_s, _ in line]
    begin_s, span_s = min(stamps), max(1e-9, max(stamps) - min(stamps))
    drawn = "".join(
        f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
        + " ".join(
            f"{WIDTH * (at_s - begin_s) / span_s:.1f},{(HEIGHT - 2) * (1 - value / most) + 1:.1f}"
            for at_s, value in line
        )
        + '"/>'
        for line, colour in lines
        if line
    )
    return (
        f'<div style="margin-top:6px">{name}</div><svg width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true" style="display:block">{drawn}'
        f'<line x1="0" y1="{HEIGHT}" x2="{WIDTH}" y2="{HEIGHT}" stroke="#6B7280"/></svg>'
    )
