"""All points of a run as one strict JSON document, and as one flat table.

It must not read or write files, nor know what the numbers mean.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from labkit.analysis.gauges import GAUGES
from labkit.analysis.metrics import LATENCIES, summarize_point
from labkit.analysis.rates import LENGTHS
from labkit.analysis.statistics import QUANTILES
from labkit.records import PointRecords

SCHEMA = 1
_PARTS = {
    **dict.fromkeys(LATENCIES, ("mean", *QUANTILES, "n")),
    **dict.fromkeys(GAUGES, ("mean", "max", "n")),
    **dict.fromkeys(LENGTHS, ("mean", "min", "max", "total", "n")),
}


def summarize(
    run: Mapping[str, Any],
    points: Sequence[PointRecords],
    slo: Mapping[str, float | None] | None = None,
) -> dict[str, Any]:
    """Return summary.json as a dict: `run` as given and one row a point, in the order given."""
    return {
        "schema": SCHEMA,
        "run": dict(run),
        "points": [summarize_point(records, slo) for records in points],
    }


def to_frame(summary: Mapping[str, Any]) -> pd.DataFrame:
    """Return one line a point for summary.csv; ttft_s becomes ttft_s_p50 and so on, units kept.

    The columns do not depend on what was measured: where nothing was, the cell is empty. Lists and
    other nested parts are JSON text.
    """
    return pd.DataFrame([_flat(row) for row in summary["points"]])


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name in _PARTS:
            flat.update({f"{name}_{part}": (value or {}).get(part) for part in _PARTS[name]})
        elif isinstance(value, dict | list):
            flat[name] = json.dumps(value, sort_keys=True)
        else:
            flat[name] = value
    return flat
