"""How well the samplers kept their schedule, and what they themselves took of the machine.

It reads stamps and the CPU time of the sampler's threads; it must not know what was sampled.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from labkit.analysis.gauges import Window
from labkit.analysis.series import finite

SOURCES = ("engine", "host", "gpu")
MAX_GAP_PERIODS = 3
MAX_GAP_SHARE = 0.1
MAX_CORES = 0.1
"""What all sampling threads together may take of a core; benchmarks/sampling.py saw under 0.01 at
10 Hz on two slow cores."""

Row = dict[str, Any]


def sampling(point: Row, samples: Sequence[Row], window: Window | None, reasons: Row) -> Row:
    """Return {"sampling": {source: its schedule and cost}}, None with its reason added."""
    cost = point.get("sampling") or {}
    period_s = finite(cost.get("period_s"))
    if window is None or period_s is None:
        why = "the load never started" if window is None else "its period was not recorded"
        reasons["sampling"] = why
        return {"sampling": None}
    result: Row = {}
    for name in SOURCES:
        own = [one for one in samples if one.get("source") == name]
        if own:
            spent = (cost.get("sources") or {}).get(name) or {}
            result[name] = _judge(own, period_s, window, spent)
    return {"sampling": result}


def doubt_sampling(row: Row) -> list[str]:
    """Return why the sampler makes a point doubtful: it took too much, or left too much out."""
    reasons, told = [], row.get("sampling") or {}
    cores = sum(one["cores"] or 0.0 for one in told.values())
    if cores > MAX_CORES:
        reasons.append(f"sampling itself took {cores:.2g} cores, more than {MAX_CORES:g}")
    reasons += [
        f"the {name} was not sampled for {one['gap_share']:.0%} of the load"
        for name, one in told.items()
        if one["gap_share"] > MAX_GAP_SHARE
    ]
    return reasons


def _judge(own: Sequence[Row], period_s: float, window: Window, spent: Row) -> Row:
    start_s, end_s = window
    inside = [one for one in own if start_s <= float(one["at_s"]) <= end_s]
    stamps = sorted({float(one["at_s"]) for one in inside})
    steps = [new - old for old, new in pairwise(stamps)]
    took = [took_s for one in inside if (took_s := finite(one.get("took_s"))) is not None]
    edges = [start_s, *stamps, end_s]
    gaps = [b - a for a, b in pairwise(edges) if b - a > MAX_GAP_PERIODS * period_s]
    cpu_s, time_s = finite(spent.get("cpu_s")), finite(spent.get("time_s"))
    return {
        "period_s": period_s,
        "n": len(stamps),
        "failed": len({one["at_s"] for one in inside if one.get("error")}),
        "jitter_p99_s": _p99([abs(step - period_s) for step in steps]),
        "took_p99_s": _p99(took),
        "cores": cpu_s / time_s if cpu_s is not None and time_s else None,
        "gaps": len(gaps),
        "gap_share": sum(gaps) / (end_s - start_s) if end_s > start_s else 0.0,
    }


def _p99(values: Sequence[float]) -> float | None:
    return float(np.percentile(values, 99)) if values else None
