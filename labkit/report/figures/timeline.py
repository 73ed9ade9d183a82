"""One point over time: its requests, and what engine and machine did meanwhile, on one axis.

It reads raw records: every stamp is put on seconds since the load began, so that a zoom in one
panel is a zoom in all.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.row import name_value
from labkit.records import PointRecords
from labkit.report.figures.bars import choose_shown, draw_requests, tell_phases, title_requests
from labkit.report.figures.captions import tell
from labkit.report.figures.lanes import (
    draw_cores,
    draw_gpu,
    draw_marks,
    draw_memory,
    draw_rates,
    draw_samples,
    select_samples,
    title_cache,
    title_memory,
)
from labkit.report.figures.panels import add_note, add_panel_title, suffix
from labkit.report.quantities import look_up
from labkit.report.theme import BLUE, GREEN, LIGHT, VERMILLION

READING = (
    "Read it from top to bottom at one moment. Queue or prefill that grows while requests wait "
    "means a full batch; see whether the KV cache was full then. "
)
"""How to read a timeline, said below the first of a run only."""
REQUESTS_PX, LANE_PX, GAP_PX = 260, 86, 54
QUEUE, CACHE, TOKENS, MEMORY, LOAD = 1, 2, 3, 4, 5
"""The panels below the requests, in order; a GPU has one more, its power."""

Rows = Sequence[dict[str, Any]]


def plot_timeline(records: PointRecords, row: dict[str, Any]) -> go.Figure:
    """Return requests, queue, KV cache, tokens/s, memory and load over seconds of load."""
    start, end = find_start(records), find_end(records)
    requests, rule = choose_shown(records.requests)
    has_gpu = bool(select_samples(records, "gpu"))
    prefill_s = look_up(row, "engine_prefill_time_s.mean")
    figure = open_stack(
        [
            title_requests(len(requests), len(records.requests)),
            "Running and waiting requests",
            title_cache(row),
            "Tokens in and out",
            title_memory(records),
            *(["GPU utilisation", "GPU power"] if has_gpu else ["Cores in use"]),
        ],
        [
            "request",
            "requests",
            "used (%)",
            "tokens/s",
            "GiB",
            *(["%", "W"] if has_gpu else ["cores"]),
        ],
    )
    draw_requests(figure, requests, start, end, prefill_s=prefill_s)
    seconds = max(1e-3, (end - start) * 1.01)
    figure.update_xaxes(range=[0, seconds], showticklabels=True, showgrid=True)
    engine = select_samples(records, "engine")
    draw_samples(figure, QUEUE, engine, start, "num_requests_running", "running", BLUE)
    draw_samples(figure, QUEUE, engine, start, "num_requests_waiting", "waiting", VERMILLION, "dot")
    draw_samples(
        figure, CACHE, engine, start, "kv_cache_usage", "KV cache", GREEN, factor=100, unit="%"
    )
    for panel, field in ((QUEUE, "num_requests_running"), (CACHE, "kv_cache_usage")):
        if not any(trace.yaxis == f"y{panel + 1}" for trace in figure.data):
            reason = explain_absence(records, "engine", row, field)
            add_note(figure, f"No data: {reason}", y=f"y{panel + 1}")
    draw_marks(figure, QUEUE, records, start)
    window_s = draw_rates(figure, TOKENS, records, start, end)
    draw_memory(figure, MEMORY, records, start)
    if has_gpu:
        draw_gpu(figure, LOAD, records, start, "gpu_utilization", "%")
        draw_gpu(figure, LOAD + 1, records, start, "gpu_power_w", "W")
    else:
        draw_cores(figure, LOAD, records, start)
    for panel in range(LOAD, LOAD + 1 + has_gpu):
        if not any(trace.yaxis == f"y{panel + 1}" for trace in figure.data):
            add_note(figure, "No data: it was not sampled", y=f"y{panel + 1}")
    title, alt = word(records, row)
    caption = READING if not row.get("index") else ""
    caption += f"{tell_phases(requests, prefill_s)} {rule} "
    caption += f"Tokens/s over {words.seconds(window_s)} each."
    if reasons := row.get("validity_reasons"):
        caption += f" {row['validity']}: {'; '.join(map(str, reasons))}."
    return tell(figure, 1, title, alt, caption)


def find_start(records: PointRecords) -> float:
    """Return the monotonic second at which the load began, from the first request if not told."""
    told = records.point.get("load_started_at_s")
    sent = [r["sent_at_s"] for r in records.requests if r.get("sent_at_s") is not None]
    return float(told if told is not None else min(sent, default=0.0))


def find_end(records: PointRecords) -> float:
    """Return the last known monotonic second of the load."""
    stamps = [records.point.get("load_ended_at_s")]
    stamps += [r.get("finished_at_s") for r in records.requests]
    return max((s for s in stamps if s is not None), default=find_start(records))


def open_stack(titles: Sequence[str], units: Sequence[str]) -> go.Figure:
    """Return an empty figure of panels one above the other on one time axis."""
    count = len(titles)
    drawn = REQUESTS_PX + (count - 1) * (LANE_PX + GAP_PX)
    figure = go.Figure(
        layout={
            "template": LIGHT,
            "height": drawn + 190,
            "barmode": "overlay",
            "bargap": 0.15,
            "xaxis": {
                "anchor": f"y{count}",
                "title": {"text": "time since the load began (s)"},
                "showgrid": True,
            },
        }
    )
    top = drawn
    for panel, (title, unit) in enumerate(zip(titles, units, strict=True)):
        bottom = top - (REQUESTS_PX if panel == 0 else LANE_PX)
        axis = {
            "domain": [max(0.0, round(bottom / drawn, 5)), round(top / drawn, 5)],
            "anchor": "x",
            "rangemode": "tozero",
            "title": {"text": unit},
            "nticks": 5,
        }
        top = bottom - GAP_PX
        figure.update_layout({f"yaxis{suffix(panel)}": axis})
        add_panel_title(figure, panel, title)
        figure.layout.annotations[panel].update(xref="x domain")
    return figure.update_layout(yaxis={"autorange": "reversed", "rangemode": "normal"})


def explain_absence(records: PointRecords, source: str, row: dict[str, Any], field: str) -> str:
    """Return why a sampled field is missing: told by the summary, a failed sample, or unknown."""
    reason = (row.get("null_reasons") or {}).get(field)
    errors = [s["error"] for s in records.samples if s.get("source") == source and s.get("error")]
    return str(reason or (errors[0] if errors else "the engine does not tell"))


def word(records: PointRecords, row: dict[str, Any]) -> tuple[str, str]:
    """Return title and alternative text of a timeline."""
    name = words.short(str(row.get("variable") or records.point.get("variable") or "point"))
    value = name_value(row if "value" in row else records.point)
    seconds = find_end(records) - find_start(records)
    parts = [f"{len(records.requests)} requests in {words.seconds(seconds)}"]
    peaks = [
        (look_up(row, "num_requests_running.max"), "running", 1.0, ""),
        (look_up(row, "num_requests_waiting.max"), "waiting", 1.0, ""),
        (look_up(row, "kv_cache_usage.max"), "of the KV cache used", 100.0, " %"),
    ]
    known = [f"{words.number(n * f)}{u} {what}" for n, what, f, u in peaks if n is not None]
    if known:
        parts.append("at most " + ", ".join(known))
    if not records.requests:
        parts = ["no request was sent"]
    verdict = f" ({row['validity']})" if row.get("validity") else ""
    title = f"{name} {value}{verdict}: {'; '.join(parts)}"
    errors = sum(request.get("status") != "ok" for request in records.requests)
    return title, f"Panels on one time axis; {errors} requests ended in an error"
