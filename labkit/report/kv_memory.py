"""The KV cache as a table: its size, what was used, what paging saved, and what bounds the batch.

It knows rows of summary.json; it must not derive anything.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from labkit.analysis import words
from labkit.analysis.row import name_value
from labkit.report.tables import MISSING, make_table, show_verdict

Row = dict[str, Any]
HEADS = (
    "Bytes a token",
    "Capacity",
    "Used, mean",
    "Used, most",
    "Reserved without paging",
    "Saved by paging",
    "Requests that fit",
    "Limit",
)
READING = (
    "A token takes as many bytes as the model's own layers, KV heads and number type make it. "
    "Without paging an engine would reserve max_model_len for each of the requests that ran at "
    "once. Requests that fit: the capacity over the mean prompt and completion of this workload; "
    "where max_num_seqs is below it, max_num_seqs is the limit, else the cache is."
)
LIMITS = {"max_num_seqs": "max_num_seqs", "kv_cache": "the KV cache"}


def kv_memory_table(summary: Mapping[str, Any]) -> str:
    """Return a table for each variable with a line a point, or nothing where nothing is known."""
    rows = summary.get("points", [])
    parts = []
    for variable in dict.fromkeys(row.get("variable") for row in rows):
        own = [row for row in rows if row.get("variable") == variable]
        if any(row.get("kv_memory") for row in own):
            parts.append(_make(own, variable))
    if not parts:
        return ""
    why = [(row.get("kv_memory") or {}).get("reason") for row in rows]
    why += [(row.get("null_reasons") or {}).get("kv_cache_bytes_per_token") for row in rows]
    told = "".join(f" {one[0].upper()}{one[1:]}." for one in dict.fromkeys(filter(None, why)))
    return "\n".join([*parts, f'<p class="reading">{escape(READING + told)}</p>'])


def _make(rows: Sequence[Row], variable: str | None) -> str:
    name = words.short(variable)
    repeated = any(row.get("repeat") for row in rows)
    head = [name, *(["Repeat"] if repeated else []), "Verdict", *HEADS]
    body = [
        [
            f'<th scope="row">{escape(name_value(row))}</th>',
            *([f"<td>{escape(str(row.get('repeat')))}</td>"] if repeated else []),
            show_verdict(row, reasons=False),
            *_list_cells(row),
        ]
        for row in rows
    ]
    return make_table(f"KV cache in bytes, over {name}", head, body, kind="memory")


def _list_cells(row: Row) -> list[str]:
    told, reasons = row.get("kv_memory"), row.get("null_reasons") or {}
    each = row.get("kv_cache_bytes_per_token")
    first = _show(None if each is None else f"{each:,}", reasons.get("kv_cache_bytes_per_token"))
    if told is None:
        return [first, *[MISSING.format(reason=escape(str(reasons.get("kv_memory") or "")))] * 7]
    why = told.get("reason")
    tokens = f'<span class="reason">{told["capacity_tokens"]:,} tokens</span>'
    if told.get("disagrees"):
        reckoned = words.gibibytes(told["reckoned_bytes"])
        tokens += f'<span class="reason">≠ {reckoned} by the model</span>'
    capacity = told["capacity_bytes"]
    fitting, saved = told["fitting_requests"], told["saved_share"]
    return [
        first,
        MISSING.format(reason=escape(str(why or "")))
        if capacity is None
        else f"<td>{words.gibibytes(capacity)}{tokens}</td>",
        *(
            _show(None if told[field] is None else words.gibibytes(told[field]), why)
            for field in ("used_bytes_mean", "used_bytes_max", "reserved_bytes")
        ),
        _show(None if saved is None else words.percent(saved), why),
        _show(None if fitting is None else words.number(fitting), "lengths or capacity not known"),
        _show(LIMITS.get(told["limit"] or ""), "max_num_seqs or the capacity is not known"),
    ]


def _show(text: str | None, reason: object) -> str:
    if text is None:
        return f'<td class="missing" title="{escape(str(reason or ""))}">not told</td>'
    return f"<td>{escape(text)}</td>"
