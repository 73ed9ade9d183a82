"""Whether batches were static, and who made them so: the engine itself, or the client's load.

The two are not the same: a client that waits for its whole batch leaves the engine free to admit
whoever comes. It must not know what that does to a latency.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis.doubts import name_rows
from labkit.analysis.finding import Finding

IN_ENGINE = (
    "the engine itself batched statically: it admitted nobody before a whole batch had ended"
)
BY_CLIENT = (
    "the client sent fixed batches of max_concurrency requests and waited for all of one before "
    "the next"
)
REFUSED = "static batching was asked for, and the engine says that it batched continuously"
UNTOLD = "static batching was asked of the engine, which does not tell whether it did"
TITLES = {
    IN_ENGINE: "Batching was static in the engine",
    BY_CLIENT: "Batches were fixed by the client, not by the engine",
    REFUSED: "Static batching was not in force",
    UNTOLD: "Static batching was asked for",
}

Row = Mapping[str, Any]


def tell_batching(row: Row) -> tuple[str, str] | None:
    """Return (title, sentence) on the batches of a point, None where they were continuous."""
    asked = (row.get("asked") or {}).get("static_batching")
    told = (row.get("effective") or {}).get("static_batching")
    fixed = (row.get("load") or {}).get("mode") == "static_batch"
    if told:
        also = f"; {BY_CLIENT}" if fixed else ""
        return TITLES[IN_ENGINE], IN_ENGINE + also
    if asked:
        found = UNTOLD if told is None else REFUSED
        also = f"; {BY_CLIENT}" if fixed else ""
        return TITLES[found], found + also
    if not fixed:
        return None
    free = "; the engine itself batched continuously" if told is False else ""
    return TITLES[BY_CLIENT], BY_CLIENT + free


def batching(points: Sequence[Row]) -> list[Finding]:
    """Say at which points batches were static and who made them so; nothing where none were."""
    found: dict[tuple[str, str], list[Row]] = {}
    ran = [row for row in points if row.get("status", "ok") == "ok"]
    for row in ran:
        if (told := tell_batching(row)) is not None:
            found.setdefault(told, []).append(row)
    findings = []
    for (title, text), own in found.items():
        where = "At every point" if len(own) == len(ran) else f"At {name_rows(own)}"
        refused = title == TITLES[REFUSED]
        findings.append(Finding(title, f"{where} {text}.", "warning" if refused else "fact"))
    return findings
