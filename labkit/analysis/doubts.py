"""The points that are left out or doubted, and why, in one sentence a reason.

It reads rows as they are judged; it must not judge one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.finding import Finding
from labkit.analysis.interference import DOUBT, is_disturbed

Rows = Sequence[Mapping[str, Any]]


def warn(points: Rows) -> list[Finding]:
    """Name every INVALID and every SUSPECT point, those with the same reasons together."""
    found = []
    for validity, title, lead in (
        ("INVALID", "left out: INVALID", ""),
        ("SUSPECT", "SUSPECT", "Used, with doubts. "),
    ):
        rows = [row for row in points if row.get("validity") == validity]
        if not rows:
            continue
        named: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            reasons = [one for one in row.get("validity_reasons") or [] if not _is_foreign(one)]
            if reasons or not is_disturbed(row):
                named.setdefault("; ".join(reasons), []).append(row)
        told = [f"{name_rows(own)}: {reasons}." for reasons, own in named.items()]
        if disturbed := [row for row in rows if is_disturbed(row)]:
            told.append(f"{name_rows(disturbed)}: {tell_foreign(disturbed)}.")
        verb = "is" if len(rows) == 1 else "are"
        heading = f"{words.count(len(rows), 'point')} {verb} {title}"
        found.append(Finding(heading, lead + " ".join(told), "warning"))
    return found


def name_rows(rows: Rows) -> str:
    """Return "max_num_seqs 1, 2 (repeat 1) and 4, max_concurrency 4 and 8 of static"."""
    values: dict[tuple[str, Any], list[str]] = {}
    for row in rows:
        repeat = f" (repeat {row['repeat']})" if row.get("repeat") else ""
        told = f"{words.setting(row.get('value'))}{repeat}"
        own = values.setdefault((words.short(row.get("variable")), row.get("series")), [])
        if told not in own:
            own.append(told)
    return ", ".join(
        f"{name} {words.join(own)}" + (f" of {series}" if series else "")
        for (name, series), own in values.items()
    )


def tell_foreign(rows: Rows) -> str:
    """Return what other processes used at these points, as one range."""
    used = [row["foreign_cpu_cores"] for row in rows if row.get("foreign_cpu_cores") is not None]
    if len(rows) == 1 or not used:
        return next(str(one) for one in rows[0]["validity_reasons"] if _is_foreign(one))
    low, high = words.number(min(used)), words.number(max(used))
    span = low if low == high else f"{low} to {high}"
    return f"{DOUBT}{span} of {words.number(rows[0]['host_cores'])} cores"


def _is_foreign(reason: Any) -> bool:
    return str(reason).startswith(DOUBT)
