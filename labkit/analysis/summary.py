"""All points of a run as one strict JSON document, and as one flat table.

It must not read or write files, nor know what the numbers mean.
"""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from labkit.analysis.diagnosis import diagnose
from labkit.analysis.gauges import GAUGES
from labkit.analysis.inside import TIMES
from labkit.analysis.interference import count_cores
from labkit.analysis.latencies import LATENCIES
from labkit.analysis.metrics import summarize_point
from labkit.analysis.misses import MISSES
from labkit.analysis.rates import LENGTHS
from labkit.analysis.schedule import WAITS
from labkit.analysis.statistics import QUANTILES
from labkit.records import PointRecords

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1
_PARTS = {
    **dict.fromkeys((*LATENCIES, *WAITS), ("mean", *QUANTILES, "n")),
    **dict.fromkeys(GAUGES, ("mean", "max", "n")),
    **dict.fromkeys(TIMES, ("mean", "n")),
    **dict.fromkeys(LENGTHS, ("mean", "min", "max", "total", "n")),
    "kv_memory": (
        "capacity_tokens",
        "capacity_bytes",
        "used_bytes_mean",
        "used_bytes_max",
        "reserved_bytes",
        "saved_share",
        "fitting_requests",
        "limit",
    ),
    "phases": (
        "queue_time_s",
        "prefill_time_s",
        "decode_time_s",
        "prompt_tokens_per_s",
        "decode_share",
        "source",
        "n",
    ),
    "prefill_stall_s": ("max", "p95", "n", "median_gap_s", "share", "prompt_tokens"),
    "step_time": ("a_s", "b_s", "max_gain", "half_gain_at", "n"),
    "slo_misses": MISSES,
    "latency_drift": ("first_s", "second_s", "p_value", "n"),
    "queue_growth_per_s": ("slope", "p_value", "span_s", "n"),
    "client_stall_s": ("max", "p99", "n"),
    "client_load": ("requests_per_s", "requests_share", "chunks_per_s", "chunks_share"),
}


def summarize(
    run: Mapping[str, Any],
    points: Iterable[PointRecords],
    slo: Mapping[str, float | None] | None = None,
) -> dict[str, Any]:
    """Return summary.json as a dict: `run` as given, one row a point in the order given, and what
    the rules of the diagnosis find in them, the likeliest cause first.
    """
    take = partial(summarize_point, slo=slo, cores=count_cores(run), cost=run.get("cost"))
    # map, unlike a loop, lets go of one point before it takes the next
    rows = list(map(take, points))
    return {"schema": SCHEMA, "run": dict(run), "points": rows, "diagnoses": diagnose(rows)}


def to_frame(summary: Mapping[str, Any]) -> "pd.DataFrame":
    """Return one line a point for summary.csv; ttft_s becomes ttft_s_p50 and so on, units kept.

    The columns do not depend on what was measured: where nothing was, the cell is empty. Lists and
    other nested parts are JSON text.
    """
    import pandas as pd  # slow: who only lists runs should not wait for it

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
