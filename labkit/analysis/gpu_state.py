"""What held the GPUs back over the load, and who else was on them.

It must not know how a GPU is asked.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.gauges import Window, tell_missing
from labkit.analysis.series import increase, pairs

MAX_FOREIGN_BYTES = 2**30
"""A foreign process that holds more makes a point SUSPECT; less is shown only."""
CANT_TELL = (
    "it can't be told whose the processes on the GPU are: the engine is not ours, or their ids are "
    "the host's and not those of this container"
)

Row = dict[str, Any]


def gpu_state(point: Row, samples: Sequence[Row], window: Window | None, reasons: Row) -> Row:
    """Return {"gpu_state": ...} over the load; it, or a part of it, is None with a reason added.

    throttle_reasons: name -> share of samples; ecc_errors: uncorrected ones that came; of a foreign
    process the most memory that it held.
    """
    own = [one for one in samples if one.get("source") == "gpu"]
    inside = [one for one in own if window and window[0] <= one["at_s"] <= window[1]]
    if window is None or not any(one.get("gpu_index") is not None for one in inside):
        reasons["gpu_state"] = tell_missing(point, own, "gpu", "gpu_throttle_reasons", window)
        return {"gpu_state": None}
    state: Row = {"devices": list((point.get("gpu") or {}).get("devices") or [])}
    limits = [one["gpu_throttle_reasons"] for one in inside if one.get("gpu_throttle_reasons")
              is not None]  # fmt: skip
    seen = Counter(name for names in limits for name in names)
    state["throttle_reasons"] = {name: seen[name] / len(limits) for name in sorted(seen)}
    if not limits:
        state["throttle_reasons"] = None
        reasons["gpu_state.throttle_reasons"] = "the gpu does not tell gpu_throttle_reasons"
    grown = [
        increase(pairs([one for one in own if one.get("gpu_index") == index],
                       "gpu_ecc_errors_total"), *window)
        for index in {one.get("gpu_index") for one in inside}
    ]  # fmt: skip
    known = [one[0] for one in grown if one is not None]
    state["ecc_errors"] = int(sum(known)) if known else None
    if not known:
        reasons["gpu_state.ecc_errors"] = "the gpu does not tell gpu_ecc_errors_total"
    state["foreign_processes"], why = _list_foreign(inside)
    if why:
        reasons["gpu_state.foreign_processes"] = why
    return {"gpu_state": state}


def doubt_gpu(row: Row) -> list[str]:
    """Return why the GPU makes a point doubtful: a foreign process holds more than 1 GiB of it."""
    found = (row.get("gpu_state") or {}).get("foreign_processes") or []
    return [
        f"another process ({one['name'] or 'name not told'}, pid {one['pid']}) held "
        f"{words.gibibytes(one['gpu_memory_used_bytes'])} of GPU memory"
        for one in found
        if (one["gpu_memory_used_bytes"] or 0) > MAX_FOREIGN_BYTES
    ]


def _list_foreign(inside: Sequence[Row]) -> tuple[list[Row] | None, str]:
    told = [one["gpu_processes"] for one in inside if one.get("gpu_processes") is not None]
    if not told:
        return None, "the gpu does not tell gpu_processes"
    processes = [one for some in told for one in some]
    if any(one.get("foreign") is None for one in processes):
        return None, CANT_TELL
    found: dict[int, Row] = {}
    for one in processes:
        if one["foreign"]:
            before = found.get(one["pid"], {"gpu_memory_used_bytes": None})
            sizes = [before["gpu_memory_used_bytes"], one["gpu_memory_used_bytes"]]
            most = max((size for size in sizes if size is not None), default=None)
            found[one["pid"]] = {"pid": one["pid"], "name": one["name"],
                                 "gpu_memory_used_bytes": most}  # fmt: skip
    return list(found.values()), ""
