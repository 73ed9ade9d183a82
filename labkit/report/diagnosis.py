"""The diagnoses of a run as cards: what is wrong, the numbers that say so, what to do next.

It knows summary["diagnoses"]; it must not judge, nor know a rule by name.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from labkit.report.prose import write_prose

FIGURES = {
    "timeline": "the timeline of the point",
    "pressure": "running, waiting and KV usage in the timeline of the point",
    "phases": "queue, prefill and decode of a request",
    "step_time": "the time of a step",
}
MAX_POINTS = 4


def diagnosis_block(summary: Mapping[str, Any]) -> str:
    """Return a heading and one card a diagnosis, the likeliest first; nothing where there is none.

    A summary of a version without diagnoses gives nothing as well.
    """
    found = summary.get("diagnoses") or []
    if not found:
        return ""
    cards = "\n".join(_make_card(number, one) for number, one in enumerate(found, start=1))
    lead = "The likeliest cause comes first: cure it, measure again, then read the next."
    if len(found) == 1:
        lead = "Cure it, then measure again."
    return (
        f'<h2 class="group">Diagnosis</h2>\n<p>{lead}</p>\n'
        f'<ul class="findings diagnoses">\n{cards}\n</ul>'
    )


def _make_card(number: int, one: Mapping[str, Any]) -> str:
    items = "".join(f"<li>{write_prose(str(part['text']))}</li>" for part in one["evidence"])
    look = FIGURES.get(str(one.get("figure")), "")
    where = f" Look at {look}." if look else ""
    return (
        f'<li class="finding warning"><span class="mark" aria-hidden="true">{number}</span>'
        f"<div><strong>{write_prose(str(one['title']))}</strong>"
        f"<p>{write_prose(str(one['cause']))}</p>"
        f"<ul>{items}</ul>"
        f"<p><b>Next.</b> {write_prose(str(one['next_step']))}</p>"
        f'<p class="reason">Confidence: {escape(str(one["confidence"]))}. '
        f"{escape(_name_points(one['points']))}{where}</p></div></li>"
    )


def _name_points(points: Sequence[str]) -> str:
    if len(points) == 1:
        return f"At point {points[0]}."
    shown = ", ".join(points[:MAX_POINTS])
    more = len(points) - MAX_POINTS
    return f"At points {shown}{f' and {more} more' if more > 0 else ''}."
