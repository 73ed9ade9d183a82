"""One row of the summary: how a number in it is named, and whether it may be used.

It must not know about other rows.
"""

from collections.abc import Mapping
from typing import Any

from labkit.analysis import words

Row = Mapping[str, Any]


def read(row: Row, field: str) -> float | None:
    """Return a number of a row by name ("duration_s") or by name and part ("ttft_s.p95")."""
    name, _, part = field.partition(".")
    value = row.get(name)
    if part:
        value = value.get(part) if isinstance(value, Mapping) else None
    return None if value is None else float(value)


def name_value(row: Row) -> str:
    """Return the swept value with its arm: "64", "64 (static)"."""
    value, series = words.setting(row.get("value")), row.get("series")
    return f"{value} ({series})" if series else value


def is_usable(row: Row) -> bool:
    """Tell whether a row may enter a conclusion: VALID, or SUSPECT with its doubts told."""
    return row.get("validity") in ("VALID", "SUSPECT")
