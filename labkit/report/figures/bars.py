"""The requests of one point as bars on its time axis: due, sent, first token, last token.

It reads raw stamps; it must not know about samples or verdicts.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.report.figures.panels import add_note
from labkit.report.quantities import thin
from labkit.report.theme import AMBER, BLUE, GREY, SKY, VERMILLION

MAX_BARS, NUM_SLOWEST = 150, 40
"""Of more requests than the first, so many of the slowest are shown and others evenly spaced."""
KINDS = (
    ("slot", "wait for a slot", GREY),
    ("queue", "queue", AMBER),
    ("prefill", "prefill", SKY),
    ("wait", "queue and prefill", SKY),
    ("decode", "decode", BLUE),
    ("error", "error", VERMILLION),
)

Rows = Sequence[dict[str, Any]]
Bar = tuple[int, float, float, str]


def title_requests(shown: int, total: int) -> str:
    """Return the title of the panel of requests, which says when some are left out."""
    return "Requests" if shown == total else f"Requests ({shown} of {total} shown)"


def choose_shown(requests: Rows) -> tuple[Rows, str]:
    """Return the requests that get a bar, in the order sent, and the rule in words or nothing."""
    sent = [one for one in requests if one.get("sent_at_s") is not None]
    sent = sorted(sent, key=lambda one: float(one["sent_at_s"]))
    if len(sent) <= MAX_BARS:
        return sent, ""
    places = sorted(
        range(len(sent)), key=lambda place: _last(sent[place]) - sent[place]["sent_at_s"]
    )
    chosen = {*places[-NUM_SLOWEST:], *thin(range(len(sent)), MAX_BARS - NUM_SLOWEST)}
    rule = (
        f"Of {len(sent):,} requests the {NUM_SLOWEST} slowest have a bar, and others evenly "
        "spaced; the other panels hold all."
    )
    return [sent[place] for place in sorted(chosen)], rule


def tell_phases(requests: Rows, prefill_s: float | None) -> str:
    """Return how queue and prefill were told apart, in a sentence."""
    ok = [one for one in requests if one.get("status") == "ok"]
    if ok and all(one.get("prefill_s") is not None for one in ok):
        return "The engine told the time in prefill of each request."
    if prefill_s is not None:
        return f"Prefill is drawn as long as the engine's mean, {words.seconds(prefill_s)}."
    return "This engine does not tell queue from prefill."


def _last(request: dict[str, Any]) -> float:
    stamps = [request.get(name) for name in ("last_token_at_s", "finished_at_s", "sent_at_s")]
    return max(float(stamp) for stamp in stamps if stamp is not None)


def draw_requests(
    figure: go.Figure, requests: Rows, start: float, end: float, *, prefill_s: float | None = None
) -> None:
    """Draw each request as a bar: until it is sent, to its first token, its last; errors whole.

    `prefill_s` is the engine's mean, for requests that it does not tell apart.
    """
    bars: dict[str, list[Bar]] = {kind: [] for kind, _, _ in KINDS}
    for number, request in enumerate(sorted(requests, key=lambda r: float(r["sent_at_s"])), 1):
        add_bars(bars, number, request, start, end, prefill_s)
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
    bars: dict[str, list[Bar]],
    number: int,
    request: dict[str, Any],
    start: float,
    end: float,
    prefill_s: float | None = None,
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
    own = request.get("prefill_s")
    own = prefill_s if own is None else own
    if own is None or first is None:
        bars["wait"].append((number, sent - start, (first or last) - sent, text))
    else:
        own = min(own, first - sent)
        text += f", of it {words.seconds(own)} prefill"
        bars["queue"].append((number, sent - start, first - sent - own, text))
        bars["prefill"].append((number, first - own - start, own, text))
    if first is not None:
        text = f"request {number}: {request.get('completion_tokens')} tokens decoded in "
        text += f"{words.number(last - first)} s"
        bars["decode"].append((number, first - start, last - first, text))
