"""Rows of a summary made for tests of comparisons: as little as a comparison reads."""

from typing import Any


def make_row(
    value: Any = 4,
    repeat: int = 0,
    *,
    series: str | None = None,
    validity: str = "VALID",
    tokens: float = 1000,
    requests: int = 400,
    **metrics: float,
) -> dict[str, Any]:
    """Return a row with these metrics; `ttft_s_p95` stands for the part p95 of ttft_s."""
    row: dict[str, Any] = {
        "point_id": f"{value}-r{repeat}",
        "series": series,
        "variable": "engine.max_num_seqs",
        "value": value,
        "repeat": repeat,
        "seed": repeat,
        "validity": validity,
        "load": {"mode": "closed"},
        "prompt_tokens": {"total": tokens},
        "completion_tokens": {"total": tokens},
        "null_reasons": {"energy_per_output_token_j": "no GPU was sampled"},
    }
    for name, number in metrics.items():
        field, _, part = name.rpartition("_")
        if part in ("p50", "p95", "p99", "mean"):
            row.setdefault(field, {"n": requests})[part] = number
        else:
            row[name] = number
    return row


def make_summary(*rows: dict[str, Any]) -> dict[str, Any]:
    """Return a summary that holds these rows."""
    return {"schema": 1, "run": {}, "points": list(rows)}
