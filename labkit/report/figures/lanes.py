"""The panels of a timeline below its requests: samples, tokens, memory and load over seconds.

A sample that failed leaves a gap. It reads raw records; it must not derive a metric from them.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import plotly.graph_objects as go

from labkit.analysis import words
from labkit.records import PointRecords
from labkit.report.figures.panels import add_note
from labkit.report.quantities import look_up, thin, thin_peaks
from labkit.report.theme import AMBER, BLUE, GREEN, PURPLE, SKY, VERMILLION

MAX_SAMPLES = 250
MAX_MARKS = 200
GAP = 3
"""A gap of more periods between samples is shown as one, as summary.json counts it."""
WINDOWS = 80
"""A load is cut into at most so many windows for tokens/s, each at least MIN_WINDOW_S long."""
MIN_WINDOW_S = 0.25
GIB = 2**30
LINE_COLOURS = (PURPLE, AMBER, GREEN, BLUE)

Rows = Sequence[dict[str, Any]]


def select_samples(records: PointRecords, source: str) -> Rows:
    """Return the samples of a source in order of time."""
    found = [sample for sample in records.samples if sample.get("source") == source]
    return sorted(found, key=lambda sample: float(sample["at_s"]))


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
    shape: str = "hv",
) -> None:
    """Draw a sampled field; nothing where no sample tells it."""
    numbers = [look_up(sample, field) for sample in samples]
    if all(number is None for number in numbers):
        return
    seconds = [round(sample["at_s"] - start, 3) for sample in samples]
    kept = thin_peaks(list(zip(seconds, numbers, strict=True)), MAX_SAMPLES)
    kept = sorted([*kept, *find_breaks(seconds)], key=lambda pair: pair[0])
    figure.add_scatter(
        x=[second for second, _ in kept],
        y=[None if number is None else float(f"{number * factor:.5g}") for _, number in kept],
        name=name,
        mode="lines+markers" if len(kept) == 1 else "lines",
        line={"color": colour, "width": 2, "dash": dash, "shape": shape},
        connectgaps=False,
        yaxis=f"y{panel + 1}",
        hovertemplate=f"{name}: %{{y:.3~g}} {unit} at %{{x:.2f}} s<extra></extra>",
    )


def find_breaks(seconds: Sequence[float]) -> list[tuple[float, None]]:
    """Return a moment without a number inside each gap of over GAP usual periods."""
    steps = [after - before for before, after in pairwise(seconds)]
    usual = median(steps) if steps else 0.0
    return [
        ((before + after) / 2, None)
        for before, after in pairwise(seconds)
        if usual > 0 and after - before > GAP * usual
    ]


def draw_marks(figure: go.Figure, panel: int, records: PointRecords, start: float) -> None:
    """Mark where requests ended in an error, and where the engine pushed running ones back."""
    ended = [
        (one["finished_at_s"] - start, str(one.get("error_kind") or "error"))
        for one in records.requests
        if one.get("status") != "ok" and one.get("finished_at_s") is not None
    ]
    pushed, before = [], None
    for sample in select_samples(records, "engine"):
        count = look_up(sample, "num_preemptions")
        if count is not None and before is not None and count > before:
            pushed.append((sample["at_s"] - start, f"{count - before:.0f} preempted"))
        before = before if count is None else count
    for name, marks, colour, symbol in (
        ("request failed", ended, VERMILLION, "x"),
        ("preempted", pushed, PURPLE, "triangle-down"),
    ):
        if marks:
            shown = thin(sorted(marks), MAX_MARKS)
            figure.add_scatter(
                x=[round(at, 3) for at, _ in shown],
                y=[0] * len(shown),
                text=[text for _, text in shown],
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 9},
                cliponaxis=False,
                name=f"{name} ({len(marks):,})",
                yaxis=f"y{panel + 1}",
                hovertemplate="%{text} at %{x:.2f} s<extra></extra>",
            )


def draw_rates(
    figure: go.Figure, panel: int, records: PointRecords, start: float, end: float
) -> float:
    """Draw tokens/s in and out by windows, and return the length of a window in s.

    An answer's tokens are spread evenly over its chunks; a prompt counts, without what a cache
    held, at its first token.
    """
    length_s = max(MIN_WINDOW_S, (end - start) / WINDOWS)
    edges = start + length_s * np.arange(max(1, round((end - start) / length_s)) + 1)
    streams = [one for one in records.requests if len(one.get("chunk_at_s") or ()) > 0]
    if not streams:
        add_note(figure, "No data: no request gave a token", y=f"y{panel + 1}")
        return length_s
    stamps = np.concatenate([np.asarray(one["chunk_at_s"], dtype=float) for one in streams])
    each = [(one.get("completion_tokens") or 0) / len(one["chunk_at_s"]) for one in streams]
    weights = np.repeat(each, [len(one["chunk_at_s"]) for one in streams])
    first = [float(one["chunk_at_s"][0]) for one in streams]
    computed = [
        (one.get("prompt_tokens") or 0) - (one.get("cached_tokens") or 0) for one in streams
    ]
    for name, at, counts, colour in (
        ("prompt tokens", first, computed, SKY),
        ("output tokens", stamps, weights, BLUE),
    ):
        totals, _ = np.histogram(at, bins=edges, weights=counts)
        figure.add_scatter(
            x=[round(float(edge - start), 3) for edge in edges],
            y=[float(f"{total / length_s:.5g}") for total in (*totals, totals[-1])],
            name=name,
            mode="lines",
            line={"color": colour, "width": 2, "shape": "hv"},
            yaxis=f"y{panel + 1}",
            hovertemplate=f"{name}: %{{y:.3~g}} tokens/s from %{{x:.2f}} s<extra></extra>",
        )
    return length_s


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


def draw_memory(figure: go.Figure, panel: int, records: PointRecords, start: float) -> None:
    """Draw a line a GPU or, without one, the engine's or the host's memory, in GiB."""
    source, field, name = find_memory(records)
    if not source:
        note = "No data: neither GPU nor host memory was sampled"
        add_note(figure, note, y=f"y{panel + 1}")
        return
    _draw_each(figure, panel, select_samples(records, source), start, field, name, 1 / GIB, "GiB")


def draw_gpu(
    figure: go.Figure, panel: int, records: PointRecords, start: float, field: str, unit: str
) -> None:
    """Draw a line a GPU of its utilisation (a share, shown in %) or power (W)."""
    factor = 100.0 if unit == "%" else 1.0
    name = "utilisation" if unit == "%" else "power"
    _draw_each(figure, panel, select_samples(records, "gpu"), start, field, name, factor, unit)


def draw_cores(figure: go.Figure, panel: int, records: PointRecords, start: float) -> None:
    """Draw the cores that engine and client used."""
    samples = select_samples(records, "host")
    for name, colour, dash in (("engine", GREEN, "solid"), ("client", AMBER, "dot")):
        field = f"{name}_cpu_utilization"
        draw_samples(
            figure, panel, samples, start, field, f"{name} CPU", colour, dash,
            unit="cores", shape="linear",
        )  # fmt: skip


def _draw_each(
    figure: go.Figure,
    panel: int,
    samples: Rows,
    start: float,
    field: str,
    name: str,
    factor: float,
    unit: str,
) -> None:
    indices = sorted({sample.get("gpu_index") or 0 for sample in samples})
    for place, index in enumerate(indices):
        own = [sample for sample in samples if (sample.get("gpu_index") or 0) == index]
        label = name if len(indices) == 1 else f"GPU {index} {name.removeprefix('GPU ')}"
        colour = LINE_COLOURS[place % len(LINE_COLOURS)]
        draw_samples(
            figure, panel, own, start, field, label, colour, factor=factor, unit=unit,
            shape="linear",
        )  # fmt: skip


def title_cache(row: dict[str, Any]) -> str:
    """Return the title of the panel of KV usage, with what 100 % is where that is known."""
    told = row.get("kv_memory") or {}
    parts = []
    if told.get("capacity_tokens"):
        parts.append(f"{told['capacity_tokens']:,} tokens")
    if told.get("capacity_bytes"):
        parts.append(words.gibibytes(told["capacity_bytes"]))
    return f"KV cache usage of {', '.join(parts)}" if parts else "KV cache usage"
