"""A run worked out by hand: a sweep of four values, one point over time, a notebook of both."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit.records import PointRecords
from labkit.report.export import PLOTLY_MIMETYPE

VARIABLE = "engine.max_num_seqs"


def make_row(value: Any, repeat: int = 1, *, speed: float, ttft: float, **changes: Any) -> dict:
    """Return a row of summary.json whose latencies follow from one TTFT."""

    def spread(middle: float) -> dict[str, float]:
        return {"p50": middle, "p95": middle * 2, "p99": middle * 3, "mean": middle, "n": 32}

    row = {
        "point_id": f"{value}-{repeat}",
        "variable": VARIABLE,
        "value": value,
        "repeat": repeat,
        "status": "ok",
        "validity": "VALID",
        "num_requests": 32,
        "num_ok": 32,
        "num_error": 0,
        "ttft_s": spread(ttft),
        "tpot_s": spread(speed / 8000),
        "e2e_latency_s": spread(ttft + speed / 100),
        "request_throughput_per_s": speed / 20,
        "output_throughput_tokens_per_s": speed,
        "kv_cache_usage": {"mean": speed / 400, "max": speed / 200},
        "num_requests_waiting": {"mean": ttft * 5, "max": ttft * 8},
        "num_requests_running": {"mean": 2.0, "max": 4.0},
        "null_reasons": {},
    }
    return {**row, **changes}


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """Rows out of numeric order: 16, 1, 4 twice, 8 not valid."""
    return [
        make_row(16, speed=120.0, ttft=0.1),
        make_row(1, speed=60.0, ttft=2.0),
        make_row(4, 1, speed=140.0, ttft=0.5),
        make_row(4, 2, speed=150.0, ttft=0.7),
        make_row(8, speed=190.0, ttft=0.2, validity="INVALID", validity_reasons=["<b>busy</b>"]),
    ]


@pytest.fixture
def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A summary of the four values."""
    return {"schema": 1, "run": {"name": "hand-made"}, "points": rows}


@pytest.fixture
def records() -> PointRecords:
    """Three requests from second 100 on, the last an error; engine and host samples."""
    requests = [
        {
            "request_id": f"r{i}",
            "sent_at_s": 100.0 + i,
            "first_token_at_s": 100.5 + i if i < 2 else None,
            "last_token_at_s": 102.0 + i if i < 2 else None,
            "finished_at_s": 102.0 + i,
            "status": "ok" if i < 2 else "error",
            "error_kind": None if i < 2 else "timeout",
            "completion_tokens": 16,
        }
        for i in range(3)
    ]
    samples: list[dict[str, Any]] = []
    for second in range(5):
        known = second != 2
        samples.append(
            {
                "source": "engine",
                "at_s": 100.0 + second,
                "num_requests_running": second if known else None,
                "num_requests_waiting": 4 - second if known else None,
                "kv_cache_usage": second / 10 if known else None,
                "error": None if known else "refused",
            }
        )
        samples.append(
            {"source": "host", "at_s": 100.0 + second, "engine_memory_bytes": 2**30 * (1 + second)}
        )
    point = {
        "variable": VARIABLE,
        "value": 4,
        "load_started_at_s": 100.0,
        "load_ended_at_s": 104.0,
        "gpu": {"available": False, "reason": "no NVIDIA driver"},
    }
    return PointRecords("4-1", point, requests, samples)


@pytest.fixture
def write_notebook(tmp_path: Path) -> Callable[..., Path]:
    """Write a notebook with prose, figures, more outputs and a hidden cell, as if executed."""

    def write(figures: list[Any], outputs: list[Any] | None = None) -> Path:
        shown = [
            new_output(
                "display_data", {PLOTLY_MIMETYPE: f.to_plotly_json(), "text/plain": "Figure"}
            )
            for f in figures
        ]
        cells = [
            new_markdown_cell("# max_num_seqs\n\nWhat does it do?\n\n## Findings\n\nMuch."),
            *(new_code_cell("secret_code()", outputs=[output]) for output in shown),
            new_code_cell("tables()", outputs=outputs or []),
            new_code_cell(
                "hidden()",
                outputs=[new_output("stream", name="stdout", text="hidden words")],
                metadata={"tags": ["hide-cell"]},
            ),
            new_code_cell(
                "noise()", outputs=[new_output("stream", name="stderr", text="stderr words")]
            ),
        ]
        path = tmp_path / "sweep.ipynb"
        nbformat.write(new_notebook(cells=cells), path)
        return path

    return write
