"""The words around a figure: its title, its text for who cannot see it, what to bear in mind.

It knows rows of summary.json, not how they are drawn.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.row import is_usable
from labkit.analysis.schedule import name_latency
from labkit.report.quantities import look_up

Rows = Sequence[dict[str, Any]]


def tell(figure: go.Figure, panels: int, title: str, alt: str, caption: str) -> go.Figure:
    """Give a figure its title, its words for who cannot see it, and what to look at."""
    if figure.layout.showlegend is False:
        # the room that the template keeps for a legend
        figure.update_layout(margin={"b": 56}, height=figure.layout.height - 40)
    figure.update_layout(
        title={"text": escape(title, quote=False)},
        meta={"alt": f"{title}. {alt}", "caption": " ".join(caption.split()), "panels": panels},
    )
    return figure


def spell_out(means: dict[str, float], form: Callable[[float], str]) -> str:
    """Return every mean as words: '1: 84 ms, 2: 90 ms'."""
    return ", ".join(f"{value}: {form(mean)}" for value, mean in means.items())


def list_doubted(rows: Rows) -> list[str]:
    """Return the names of the values of which a repeat is SUSPECT, in order."""
    doubted = [row for row in rows if row.get("validity") == "SUSPECT"]
    return list(dict.fromkeys(words.setting(row["value"]) for row in doubted))


def tell_clock(rows: Rows) -> str:
    """Return where the latencies of a figure begin, nothing where it is the send."""
    if name_latency("ttft_s", rows) == "ttft_s":
        return ""
    return (
        "TTFT and end-to-end latency count from the moment the schedule meant a request to be "
        "sent, so the wait for a slot is in them. "
    )


def caution(rows: Rows, count_path: str = "num_ok") -> str:
    """Return what a reader must bear in mind: few requests, one repeat, the verdicts."""
    notes = []
    usable = [row for row in rows if is_usable(row)]
    counts = [count for row in usable if (count := look_up(row, count_path)) is not None]
    if counts and min(counts) < 100 and count_path != "num_ok":
        notes.append(f"P99 rests on as few as {min(counts):.0f} requests: read it as the slowest.")
    if len(usable) > 1 and len({repr(row["value"]) for row in usable}) == len(usable):
        notes.append("One repeat a value: small differences may be noise.")
    hollow = len(rows) - len(usable)
    if hollow:
        notes.append(f"{hollow} of {len(rows)} points not valid: hollow if measured, in no line.")
    if doubted := list_doubted(rows):
        notes.append(f"SUSPECT at {words.join(doubted)}: drawn, with the reasons in the table.")
    elif usable and not hollow:
        notes.append(words.count(len(rows), "point") + ", all VALID.")
    return " ".join(notes)
