"""What to try when an engine ran out of memory, one change at a time.

Pure. The order is max_num_seqs 16, then a budget of 4096, then a smaller memory fraction. It must
not know processes or points.
"""

from collections.abc import Collection
from typing import Any

from labkit.params import EngineParams

KINDS = ("oom_load", "oom_profile", "oom_run", "kv_too_small")
LADDER = (("max_num_seqs", 16), ("max_num_batched_tokens", 4096))
MIN_FRACTION, FRACTION_STEP, DEFAULT_FRACTION = 0.7, 0.05, 0.9


def step_down(
    params: EngineParams, kind: str | None, absent: Collection[str] = ()
) -> tuple[EngineParams, dict[str, Any]] | None:
    """Return (smaller params, {"knob", "from", "to", "because"}), None if there is no step left.

    `absent` are knobs that the engine does not have. Too little memory for the KV cache is no
    reason to shrink the fraction. The budget is left alone where a whole prompt must fit into it.
    """
    if kind not in KINDS:
        return None
    for knob, smaller in LADDER:
        value = getattr(params, knob)
        if knob in absent or (value is not None and value <= smaller):
            continue
        if knob == "max_num_batched_tokens" and _needs_budget(params, smaller):
            continue
        return _move(params, knob, value, smaller, kind)
    fraction = params.gpu_memory_utilization or DEFAULT_FRACTION
    lower = round(fraction - FRACTION_STEP, 4)
    if kind == "kv_too_small" or "gpu_memory_utilization" in absent or lower < MIN_FRACTION:
        return None
    return _move(params, "gpu_memory_utilization", params.gpu_memory_utilization, lower, kind)


def _needs_budget(params: EngineParams, budget: int) -> bool:
    return params.enable_chunked_prefill is False and (
        params.max_model_len is None or params.max_model_len > budget
    )


def _move(
    params: EngineParams, knob: str, value: Any, smaller: Any, kind: str
) -> tuple[EngineParams, dict[str, Any]]:
    told = {"knob": knob, "from": value, "to": smaller, "because": kind}
    return params.model_copy(update={knob: smaller}), told
