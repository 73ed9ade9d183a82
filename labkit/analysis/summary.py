"""All points of a run as one strict JSON document, and as one flat table.

It must not read or write files, nor know what the numbers mean.
"""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from labkit.analysis.gauges import GAUGES
from labkit.analysis.inside import TIMES
from labkit.analysis.interference import count_cores
from labkit.analysis.latencies import LATENCIES
from labkit.analysis.metrics import summarize_point
from labkit.analysis.rates import LENGTHS
from labkit.analysis.schedule import WAITS
from labkit.analysis.statistics import QUANTILES
from labkit.records import PointRecords

SCHEMA = 1
_PARTS = {
    **dict.fromkeys((*LATENCIES, *WAITS), ("mean", *QUANTILES, "n")),
    **dict.fromkeys(GAUGES, ("mean", "max", "n")),
    **dict.fromkeys(TIMES, ("mean", "n")),
    **dict.fromkeys(LENGTHS, ("mean", "min", "max", "total", "n")),
    "latency_drift": ("first_s", "second_s", "p_value", "n"),
    "client_stall_s": ("max", "p99", "n"),
    "client_load": ("requests_per_s", "requests_share", "chunks_per_s", "chunks_share"),
}


def summarize(
    run: Mapping[str, Any],
    points: Iterable[PointRecords],
    slo: Mapping[str, float | None] | None = None,
) -> dict[str, Any]:
    """Return summary.json as a dict: `run` as given and one row a point, in the order given."""
    take = partial(summarize_point, slo=slo, cores=count_cores(run), cost=run.get("cost"))
    return {
        "schema": SCHEMA,
        "run": dict(run),
        # map, unlike a loop, lets go of one point before it takes the next
        "points": list(map(take, points)),
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
