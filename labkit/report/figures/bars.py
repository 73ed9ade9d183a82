"""The requests of one point as bars on its time axis: due, sent, first token, last token.

It reads raw stamps; it must not know about samples or verdicts.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.report.figures.panels import add_note
from labkit.report.theme import BLUE, GREY, SKY, VERMILLION

KINDS = (
    ("slot", "wait for a slot", GREY),
    ("wait", "queue and prefill", SKY),
    ("decode", "decode", BLUE),
    ("error", "error", VERMILLION),
)

Rows = Sequence[dict[str, Any]]
Bar = tuple[int, float, float, str]


def title_requests(shown: int, total: int) -> str:
    """Return the title of the panel of requests, which says when some are left out."""
    return "Requests" if shown == total else f"Requests ({shown} of {total} shown)"


def draw_requests(figure: go.Figure, requests: Rows, start: float, end: float) -> None:
    """Draw each request as a bar: until it is sent, to its first token, its last; errors whole."""
    bars: dict[str, list[Bar]] = {kind: [] for kind, _, _ in KINDS}
    for number, request in enumerate(sorted(requests, key=lambda r: float(r["sent_at_s"])), 1):
        add_bars(bars, number, request, start, end)
    for kind, name, colour in KINDS:
        if bars[kind]:
            figure.add_bar(
                orientation="h",
                y=[bar[0] for bar in bars[kind]],
                base=[round(bar[1], 4) for bar in bars[kind]],
                x=[round(bar[2], 4) for bar in bars[kind]],
                hovertext=[bar[3] for bar in bars[kind]],
                hoverinfo="text",
                textposition="none",
                name=name,
                marker={"color": colour, "line": {"width": 0}},
            )
    if not requests:
        add_note(figure, "No data: no request was sent")


def add_bars(
    bars: dict[str, list[Bar]], number: int, request: dict[str, Any], start: float, end: float
) -> None:
    """Add the bars of one request; in a closed loop none waits, for it is due when it is sent."""
    sent, first = request["sent_at_s"], request.get("first_token_at_s")
    last = next((request[k] for k in ("last_token_at_s", "finished_at_s") if request.get(k)), end)
    due, released = request.get("intended_at_s"), request.get("released_at_s")
    if due is not None and released is not None and released > due:
        text = f"request {number}: waited {words.seconds(released - due)} for a slot"
        bars["slot"].append((number, due - start, sent - due, text))
    if request.get("status") != "ok":
        text = f"request {number}: error {request.get('error_kind') or ''}"
        bars["error"].append((number, sent - start, last - sent, text))
        return
    text = f"request {number}: first token after {words.number((first or last) - sent)} s"
    bars["wait"].append((number, sent - start, (first or last) - sent, text))
    if first is not None:
        text = f"request {number}: {request.get('completion_tokens')} tokens decoded in "
        text += f"{words.number(last - first)} s"
        bars["decode"].append((number, first - start, last - first, text))
