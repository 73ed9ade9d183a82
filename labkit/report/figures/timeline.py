"""One point over time: its requests, and what engine and machine did meanwhile.

It reads raw records: every stamp is put on one axis, seconds since the load began.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.analysis import words
from labkit.records import PointRecords
from labkit.report.figures.bars import draw_requests, title_requests
from labkit.report.figures.captions import tell
from labkit.report.figures.panels import add_note, add_panel_title, suffix
from labkit.report.quantities import look_up, thin, thin_peaks
from labkit.report.theme import AMBER, BLUE, GREEN, LIGHT, PURPLE, VERMILLION

MAX_BARS = 150
MAX_SAMPLES = 250
GIB = 2**30
READING = (
    "Read it from top to bottom at one moment: the paler part of a bar is queue and prefill, "
    "the stronger one decode. Paler parts that grow while requests wait mean a full queue; "
    "see whether the KV cache was full then. "
)
"""How to read a timeline, said below the first of a run only."""
DOMAINS = ((0.62, 1.0), (0.4, 0.55), (0.2, 0.33), (0.0, 0.13))
LINE_COLOURS = (PURPLE, AMBER, GREEN, BLUE)

Rows = Sequence[dict[str, Any]]


def plot_timeline(records: PointRecords, row: dict[str, Any]) -> go.Figure:
    """Return requests, running and waiting, KV cache usage and memory over seconds of load."""
    start = find_start(records)
    requests = thin([r for r in records.requests if r.get("sent_at_s") is not None], MAX_BARS)
    figure = open_stack(
        [
            title_requests(len(requests), len(records.requests)),
            "Running and waiting requests",
            "KV cache usage",
            title_memory(records),
        ],
        ["request", "requests", "used (%)", "GiB"],
    )
    draw_requests(figure, requests, start, find_end(records))
    seconds = max(1e-3, (find_end(records) - start) * 1.01)
    figure.update_xaxes(range=[0, seconds], showticklabels=True, showgrid=True)
    engine = select_samples(records, "engine")
    draw_samples(figure, 1, engine, start, "num_requests_running", "running", BLUE)
    draw_samples(figure, 1, engine, start, "num_requests_waiting", "waiting", VERMILLION, "dot")
    draw_samples(
        figure, 2, engine, start, "kv_cache_usage", "KV cache", GREEN, factor=100, unit="%"
    )
    draw_memory(figure, records, start)
    for panel, field in ((1, "num_requests_running"), (2, "kv_cache_usage")):
        if not any(trace.yaxis == f"y{panel + 1}" for trace in figure.data):
            reason = explain_absence(records, "engine", row, field)
            add_note(figure, f"No data: {reason}", y=f"y{panel + 1}")
    title, alt = word(records, row)
    caption = READING if not row.get("index") else ""
    if reasons := row.get("validity_reasons"):
        caption += f"{row['validity']}: {'; '.join(map(str, reasons))}."
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


def select_samples(records: PointRecords, source: str) -> Rows:
    """Return the samples of a source in order of time."""
    found = [sample for sample in records.samples if sample.get("source") == source]
    return sorted(found, key=lambda sample: float(sample["at_s"]))


def open_stack(titles: Sequence[str], units: Sequence[str]) -> go.Figure:
    """Return an empty figure of panels one above the other on one time axis."""
    figure = go.Figure(
        layout={
            "template": LIGHT,
            "height": 820,
            "barmode": "overlay",
            "bargap": 0.15,
            "xaxis": {
                "anchor": f"y{len(titles)}",
                "title": {"text": "time since the load began (s)"},
                "showgrid": True,
            },
        }
    )
    for panel, (title, unit) in enumerate(zip(titles, units, strict=True)):
        axis = {
            "domain": DOMAINS[panel],
            "anchor": "x",
            "rangemode": "tozero",
            "title": {"text": unit},
            "nticks": 5,
        }
        figure.update_layout({f"yaxis{suffix(panel)}": axis})
        add_panel_title(figure, panel, title)
        figure.layout.annotations[panel].update(xref="x domain")
    return figure.update_layout(yaxis={"autorange": "reversed", "rangemode": "normal"})


def draw_samples(
    figure: go.Figure,
    panel: int,
    samples: Rows,
    start: float,
    field: str,
    name: str,
    colour: str,
    dash: str = "solid",
    *,
    factor: float = 1,
    unit: str = "requests",
) -> None:
    """Draw a sampled field as steps; a sample that failed leaves a gap."""
    numbers = [look_up(sample, field) for sample in samples]
    if all(number is None for number in numbers):
        return
    seconds = [round(sample["at_s"] - start, 3) for sample in samples]
    kept = thin_peaks(list(zip(seconds, numbers, strict=True)), MAX_SAMPLES)
    figure.add_scatter(
        x=[second for second, _ in kept],
        y=[None if number is None else float(f"{number * factor:.5g}") for _, number in kept],
        name=name,
        mode="lines+markers" if len(kept) == 1 else "lines",
        line={"color": colour, "width": 2, "dash": dash, "shape": "linear" if panel == 3 else "hv"},
        connectgaps=False,
        yaxis=f"y{panel + 1}",
        hovertemplate=f"{name}: %{{y:.3~g}} {unit} at %{{x:.2f}} s<extra></extra>",
    )


def find_memory(records: PointRecords) -> tuple[str, str, str]:
    """Return (source, field, name) of the memory that was sampled; GPU memory goes first."""
    for source, field, name in (
        ("gpu", "gpu_memory_used_bytes", "GPU memory"),
        ("host", "engine_memory_bytes", "engine memory"),
        ("host", "host_memory_used_bytes", "host memory"),
    ):
        if any(look_up(s, field) is not None for s in records.samples if s["source"] == source):
            return source, field, name
    return "", "", ""


def title_memory(records: PointRecords) -> str:
    """Return the title of the panel of memory, which says whose it is and why not the GPU's."""
    source, _, name = find_memory(records)
    if source == "gpu":
        return "GPU memory"
    return f"{name[0].upper()}{name[1:]} (no GPU sampled)" if name else "Memory"


def draw_memory(figure: go.Figure, records: PointRecords, start: float) -> None:
    """Draw a line a GPU or, without one, the engine's or the host's memory, in GiB."""
    source, field, name = find_memory(records)
    if not source:
        add_note(figure, "No data: neither GPU nor host memory was sampled", y="y4")
        return
    samples = select_samples(records, source)
    indices = sorted({sample.get("gpu_index") or 0 for sample in samples})
    for place, index in enumerate(indices):
        own = [sample for sample in samples if (sample.get("gpu_index") or 0) == index]
        label = name if len(indices) == 1 else f"GPU {index} memory"
        colour = LINE_COLOURS[place % len(LINE_COLOURS)]
        draw_samples(figure, 3, own, start, field, label, colour, factor=1 / GIB, unit="GiB")


def explain_absence(records: PointRecords, source: str, row: dict[str, Any], field: str) -> str:
    """Return why a sampled field is missing: told by the summary, a failed sample, or unknown."""
    reason = (row.get("null_reasons") or {}).get(field)
    errors = [s["error"] for s in records.samples if s.get("source") == source and s.get("error")]
    return str(reason or (errors[0] if errors else "the engine does not tell"))


def word(records: PointRecords, row: dict[str, Any]) -> tuple[str, str]:
    """Return title and alternative text of a timeline."""
    name = words.short(str(row.get("variable") or records.point.get("variable") or "point"))
    value = words.setting(row.get("value", records.point.get("value")))
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
    return title, f"Four panels over time; {errors} requests ended in an error"
