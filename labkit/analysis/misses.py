"""Which part of the SLO requests miss, and how many tasks keep it in every call.

definitions.py defines each figure. It must not know about rates, samples or engines.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis.schedule import FROM_INTENDED

LIMITS = ("ttft_s", "tpot_s", "e2e_latency_s")
MISSES = (*LIMITS, "error")

Row = dict[str, Any]


def list_missed(
    metrics: Mapping[str, Any], limits: Mapping[str, float], *, scheduled: bool = False
) -> list[str]:
    """Return the limits (s) that an ok request misses; without a gap its tpot limit is met.

    With a schedule TTFT and end-to-end latency count from the intended time.
    """
    missed = []
    for name, limit in limits.items():
        value = metrics[FROM_INTENDED.get(name, name) if scheduled else name]
        if value is None:
            if name != "tpot_s" or metrics["ttft_s"] is None:
                missed.append(name)
        elif value > limit:
            missed.append(name)
    return missed


def meets(
    metrics: Mapping[str, Any], limits: Mapping[str, float], *, scheduled: bool = False
) -> bool:
    """Tell whether an ok request meets every limit (s), as `list_missed` reads them."""
    return not list_missed(metrics, limits, scheduled=scheduled)


def misses(
    requests: Sequence[Row],
    ok: Sequence[Row],
    measured: Sequence[Row],
    limits: Mapping[str, float],
    reasons: Row,
    *,
    scheduled: bool,
) -> Row:
    """Return slo_misses, num_tasks, num_tasks_slo_met; `measured` is of `ok`, one for one."""
    result: Row = dict.fromkeys(("slo_misses", "num_tasks", "num_tasks_slo_met"))
    tasks: dict[str, list[Row]] = {}
    for request in requests:
        if request.get("task_id") is not None:
            tasks.setdefault(request["task_id"], []).append(request)
    if tasks:
        result["num_tasks"] = len(tasks)
    else:
        reasons["num_tasks"] = "the requests belong to no task"
    if not limits or not requests:
        why = "no request was recorded" if limits else "no SLO was given"
        reasons["slo_misses"] = reasons["num_tasks_slo_met"] = why
        return result
    missed = [list_missed(one, limits, scheduled=scheduled) for one in measured]
    counts = {name: sum(name in one for one in missed) for name in limits}
    result["slo_misses"] = {**counts, "error": len(requests) - len(ok)}
    if not tasks:
        reasons["num_tasks_slo_met"] = reasons["num_tasks"]
        return result
    good = {id(request) for request, one in zip(ok, missed, strict=True) if not one}
    kept = [all(id(request) in good for request in steps) for steps in tasks.values()]
    result["num_tasks_slo_met"] = sum(kept)
    return result
