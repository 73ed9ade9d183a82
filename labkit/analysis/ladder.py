"""The steps of a ladder as rows of summary.json: what each found and how long it took.

It must not know how a step was asked, nor judge it again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

KEPT = ("step", "title", "asked", "optional", "verdict", "found", "meaning", "advice")


def list_steps(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each record of ladder.jsonl, without what was sent and answered."""
    return [
        {
            **{name: one[name] for name in KEPT},
            "http_status": one["http_status"],
            "duration_s": round(one["ended_at_s"] - one["sent_at_s"], 6),
        }
        for one in records
    ]
