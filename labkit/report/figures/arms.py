"""Arms of one variable over each other: a panel for each field asked for, a line for each arm.

It draws any field of the summary; which ones answer a question, the notebook says.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.report.figures.captions import caution, spell_out, tell, tell_clock
from labkit.report.figures.panels import (
    Series,
    add_hollow_key,
    add_note,
    average,
    draw_series,
    find_reason,
    open_panels,
    select_rows,
    set_categories,
    suffix,
)
from labkit.report.quantities import choose_time_unit, look_up
from labkit.report.theme import AMBER, BLUE, GREEN, PURPLE, SKY, VERMILLION

LOOKS = (
    (BLUE, "circle", "solid"),
    (VERMILLION, "diamond", "dash"),
    (GREEN, "square", "dot"),
    (PURPLE, "triangle-up", "dashdot"),
    (AMBER, "cross", "solid"),
    (SKY, "star", "dash"),
)
NAMES = {
    "output_throughput_tokens_per_s": "Output",
    "request_throughput_per_s": "Requests",
    "goodput_per_s": "Goodput",
    "ttft_s": "Time to first token",
    "tpot_s": "Time per output token",
    "itl_s": "Gaps between chunks",
    "e2e_latency_s": "End-to-end latency",
    "task_latency_s": "Task latency",
    "prefill_stall_s": "Stall by prefills",
    "kv_cache_usage": "KV cache usage",
    "prefix_cache_hit_rate": "Prompt tokens from the cache",
    "num_requests_waiting": "Waiting queue",
    "num_requests_running": "Running",
    "completion_tokens": "Tokens an answer",
    "slo_attainment": "Within the SLO",
    "json_share": "Answers that are JSON",
}
PARTS = {"p50": "median", "mean": "mean", "max": "worst"}
UNITS = {
    "output_throughput_tokens_per_s": "tokens/s",
    "request_throughput_per_s": "requests/s",
    "goodput_per_s": "requests/s",
    "num_requests_waiting": "requests",
    "num_requests_running": "requests",
    "completion_tokens": "tokens",
}
SHARES = ("kv_cache_usage", "prefix_cache_hit_rate", "slo_attainment", "json_share")


def plot_arms(summary: dict[str, Any], variable: str, fields: Sequence[str]) -> go.Figure:
    """Return a panel for each field, such as "ttft_s.p95", with a line for each arm of a variable.

    Fields are those of a row of summary.json; one that no arm measured says why.
    """
    rows = select_rows(summary, variable)
    names = list(dict.fromkeys(row.get("series") for row in rows))
    scales = [_scale(field, rows) for field in fields]
    figure = open_panels(
        [name_field(field) for field in fields],
        [f"{_name_part(field)} ({unit})" for field, (_, unit) in zip(fields, scales, strict=True)],
        variable,
    )
    drawn: set[str] = set()
    for panel, (field, (factor, unit)) in enumerate(zip(fields, scales, strict=True)):
        set_categories(figure, panel, rows)
        shown = False
        for number, name in enumerate(names):
            own = [row for row in rows if row.get("series") == name]
            if all(look_up(row, field) is None for row in own):
                continue
            colour, symbol, dash = LOOKS[number % len(LOOKS)]
            label = name or words.short(variable)
            line = Series(label, field, _find_count(field), colour, symbol, dash)
            legend = label not in drawn and len(names) > 1
            draw_series(figure, panel, own, line, factor=factor, unit=unit, legend=legend)
            drawn.add(label)
            shown = True
        if not shown:
            end = suffix(panel)
            add_note(figure, f"No data: {find_reason(rows, field)}", x=f"x{end}", y=f"y{end}")
    add_hollow_key(figure, rows)
    if len(names) < 2:
        figure.update_layout(showlegend=False)
    return tell(
        figure, len(fields), _title(rows, fields[0], names), _spell(rows, fields, names),
        f"Each line is an arm: {words.join([str(one) for one in names if one])}. "
        + tell_clock(rows) + caution(rows) if len(names) > 1 else tell_clock(rows) + caution(rows),
    )  # fmt: skip


def name_field(field: str) -> str:
    """Return a field as a title: "Time to first token, P95"."""
    head, _, part = field.partition(".")
    name = NAMES.get(head, head.replace("_", " "))
    return f"{name}, {PARTS.get(part, part.upper())}" if part else name


def _name_part(field: str) -> str:
    head, _, part = field.partition(".")
    return PARTS.get(part, part.upper()) or NAMES.get(head, head).lower()


def _scale(field: str, rows: Sequence[dict[str, Any]]) -> tuple[float, str]:
    """Return the factor from the stored unit to the shown one, and its name."""
    head = field.partition(".")[0]
    if head in SHARES:
        return 100.0, "%"
    if head in UNITS:
        return 1.0, UNITS[head]
    if head.endswith("_s"):
        return choose_time_unit(look_up(row, field) for row in rows)
    return 1.0, head.rpartition("_")[2]


def _find_count(field: str) -> str:
    head, _, part = field.partition(".")
    return f"{head}.n" if part and head not in SHARES and not head.startswith("num_") else "num_ok"


def _title(rows: Sequence[dict[str, Any]], field: str, names: Sequence[str | None]) -> str:
    """Return what the first panel shows at the last value that every arm measured."""
    form = _form(field)
    means = {
        str(name): average([row for row in rows if row.get("series") == name], field)
        for name in names
    }
    common = [
        words.setting(row["value"])
        for row in rows
        if all(words.setting(row["value"]) in own for own in means.values())
    ]
    if not common:
        return f"{name_field(field)}: no value that every arm measured"
    at = common[-1]
    told = [f"{form(own[at])} {name}" if len(means) > 1 else form(own[at])
            for name, own in means.items()]  # fmt: skip
    return f"{name_field(field)} at {words.short(rows[0]['variable'])} {at}: {'; '.join(told)}"


def _spell(
    rows: Sequence[dict[str, Any]], fields: Sequence[str], names: Sequence[str | None]
) -> str:
    parts = []
    for field in fields:
        for name in names:
            means = average([row for row in rows if row.get("series") == name], field)
            if means:
                arm = f", {name}" if name else ""
                parts.append(f"{name_field(field)}{arm}: {spell_out(means, _form(field))}")
    return "; ".join(parts)


def _form(field: str) -> Any:
    head = field.partition(".")[0]
    if head in SHARES:
        return words.percent
    if head in UNITS:
        return lambda value: f"{words.number(value)} {UNITS[head]}"
    return words.seconds if head.endswith("_s") else words.number
