"""Tables of the engine itself: its own times beside the client's, its settings, its failures.

It knows rows of summary.json; it must not know how an engine is asked.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from labkit.analysis import words
from labkit.analysis.doubts import name_rows
from labkit.analysis.errors import KINDS
from labkit.analysis.row import name_value
from labkit.analysis.settings import Setting, Step, compare_settings, list_steps
from labkit.report.quantities import look_up
from labkit.report.tables import MISSING, make_table, show_verdict

Row = dict[str, Any]
Line = tuple[str, str, str]
"""Of a setting: asked, in force, and a remark on the two."""
COLUMNS = (
    ("TTFT, client", "ttft_s"),
    ("TTFT, engine", "engine_ttft_s"),
    ("Difference", "client_ttft_overhead_s"),
    ("Queue", "engine_queue_time_s"),
    ("Prefill", "engine_prefill_time_s"),
    ("Decode", "engine_decode_time_s"),
)
INSIDE = tuple(name for _, name in COLUMNS if name.startswith("engine_"))
READING = (
    "All are means from the send or, for the engine, from the arrival of a request. The difference "
    "is what a request spends outside the engine's own clock: the network, HTTP, what the server "
    "does before it counts a request as arrived and after its first token, and the client. Where "
    "it is small, the TTFT of this report is the engine's own; where it is large, look at the way "
    "to the engine before its settings. Queue and prefill make up the engine's TTFT, decode comes "
    "after it."
)
REMARKS = {
    "same": "as asked",
    "differs": "≠ not what was asked",
    "unasked": "",
    "untold": "the engine does not tell it",
}
LOWERED = "≠ lowered: "
UNTOLD = (
    "The engine tells none of its settings, so what was asked can't be compared with what is in "
    "force."
)


def engine_tables(summary: Mapping[str, Any]) -> str:
    """Return every table of this module that has something to tell."""
    rows = summary.get("points", [])
    parts = [failures_table(rows)]
    for variable in dict.fromkeys(row.get("variable") for row in rows):
        own = [row for row in rows if row.get("variable") == variable]
        parts += [sides_table(own, variable), settings_table(own, variable)]
    return "\n".join(filter(None, parts))


def sides_table(rows: Sequence[Row], variable: str | None) -> str:
    """Return the means of client and engine, one row a point; nothing where no engine told any."""
    rows = [row for row in rows if any(row.get(name) for name in INSIDE)]
    if not rows:
        return ""
    name = words.short(variable)
    repeated = any(row.get("repeat") for row in rows)
    head = [name, *(["Repeat"] if repeated else []), "Verdict", *(head for head, _ in COLUMNS)]
    body = [
        [
            f'<th scope="row">{escape(name_value(row))}</th>',
            *([f"<td>{escape(str(row.get('repeat')))}</td>"] if repeated else []),
            show_verdict(row, reasons=False),
            *(_show_mean(row, field) for _, field in COLUMNS),
        ]
        for row in rows
    ]
    table = make_table(f"Client side and engine side, over {name}", head, body, kind="sides")
    return f'{table}\n<p class="reading">{escape(READING)}</p>'


def _show_mean(row: Row, field: str) -> str:
    value = look_up(row, field if field == "client_ttft_overhead_s" else f"{field}.mean")
    reason = escape(str((row.get("null_reasons") or {}).get(field) or ""))
    if value is None and field == "client_ttft_overhead_s":
        return f'<td class="missing">not told<span class="reason">{reason}</span></td>'
    if value is None:
        return MISSING.format(reason=reason)
    count = look_up(row, f"{field}.n")
    counted = "" if count is None else f'<span class="reason">n {count:,.0f}</span>'
    return f"<td>{words.seconds(value)}{counted}</td>"


def settings_table(rows: Sequence[Row], variable: str | None) -> str:
    """Return what was asked beside what was in force, equal points together; or nothing."""
    lines: dict[str, dict[Line, list[Row]]] = {}
    ran = [row for row in rows if row.get("status", "ok") == "ok"]
    untold = f"<p>{UNTOLD}</p>" if ran and not any(row.get("effective") for row in ran) else ""
    for row in ran:
        for name, cells in _list_settings(row):
            lines.setdefault(name, {}).setdefault(cells, []).append(row)
    body = [
        _show_line(name, line, _name_points(own, ran))
        for name, found in lines.items()
        for line, own in _join_asked(found).items()
    ]
    if not body:
        return untold
    short = words.short(variable)
    head = ["Setting", "At", "Asked", "In force"]
    return make_table(f"Asked and in force, over {short}", head, body, kind="settings") + untold


def _show_line(name: str, line: Line, points: str) -> list[str]:
    asked, told, remark = line
    kind = ' class="differs"' if remark.startswith("≠") else ""
    below = f'<span class="reason">{escape(remark)}</span>' if remark else ""
    return [
        f'<th scope="row">{escape(name).replace("_", "_<wbr>")}</th>',
        f"<td>{escape(points)}</td>",
        f"<td>{escape(asked)}</td>",
        f"<td{kind}>{escape(told)}{below}</td>",
    ]


def _join_asked(found: Mapping[Line, list[Row]]) -> dict[Line, list[Row]]:
    """Return the lines of one setting, those that are as asked made into one."""
    same = {line: own for line, own in found.items() if line[2] == REMARKS["same"]}
    if len(same) < 2:
        return dict(found)
    asked, told = (words.join([line[part] for line in same]) for part in (0, 1))
    joined = {(asked, told, REMARKS["same"]): [row for own in same.values() for row in own]}
    return joined | {line: own for line, own in found.items() if line not in same}


def _list_settings(row: Row) -> list[tuple[str, Line]]:
    """Return every setting that was asked or is told, and the KV cache."""
    if row.get("effective"):
        steps = {one.name: one for one in list_steps(row)}
        asked = row.get("asked") or {}
        found = [
            (one.name, _tell_setting(one, steps.get(one.name)))
            for one in compare_settings({"asked": asked, "effective": row["effective"]})
        ]
    else:
        found = []
    capacity = tell_capacity(row)
    if capacity:
        found.append(("KV cache", ("—", capacity, "what it holds, as the engine tells")))
    return found


def _tell_setting(one: Setting, step: Step | None) -> Line:
    asked = words.setting(one.asked)
    told = "not told" if one.effective is None else words.setting(one.effective)
    if step is not None:
        return words.setting(step.asked), words.setting(step.ran), f"{LOWERED}{step.cause}"
    return asked if one.state != "unasked" else "not asked", told, REMARKS[one.state]


def tell_capacity(row: Row) -> str:
    """Return how much the KV cache holds: "2,720 tokens, 57.2 MiB"; nothing if not known."""
    tokens, size = row.get("kv_cache_capacity_tokens"), row.get("kv_cache_capacity_bytes")
    parts = [] if tokens is None else [words.count(tokens, "token")]
    return ", ".join([*parts, *([] if size is None else [words.gibibytes(size)])])


def _name_points(own: Sequence[Row], every: Sequence[Row]) -> str:
    """Return the values that a line is about; which repeats, where not all of a value's."""
    if len(own) == len(every):
        return "every value"
    values = list(dict.fromkeys(words.setting(row.get("value")) for row in own))
    told = []
    for value in values:
        here = [row for row in own if words.setting(row.get("value")) == value]
        there = [row for row in every if words.setting(row.get("value")) == value]
        repeats = words.join([str(row.get("repeat")) for row in here])
        told.append(value if len(here) == len(there) else f"{value} (repeat {repeats})")
    return words.join(told)


def failures_table(rows: Sequence[Row]) -> str:
    """Return the whole error of every point that failed, equal ones together; or nothing."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.get("error"):
            steps = [f"{one.name} {words.setting(one.ran)}" for one in list_steps(row)]
            key = (str(row.get("error_kind") or ""), words.join(steps), str(row["error"]))
            found.setdefault(key, []).append(row)
    body = [
        (f'<th scope="row">{escape(name_rows(own))}</th>', f"<td>{_tell_error(*key)}</td>")
        for key, own in found.items()
    ]
    return make_table("What went wrong", ["Point", "Error"], body, kind="words") if body else ""


def _tell_error(kind: str, steps: str, error: str) -> str:
    told = KINDS.get(kind, "")
    lead = f"<strong>{escape(told[0].upper() + told[1:])}</strong> ({escape(kind)})" if told else ""
    if steps:
        lead += f"{'. ' if lead else ''}Tried down to {escape(steps)}."
    lines = "\n".join(escape(line.strip()) for line in error.split(" | "))
    return f'{lead}<pre class="log">{lines}</pre>'
