"""What prefills do to streams that run: the gaps that another request's prefill fell into.

It must not know whether an engine cuts prompts into chunks; the gaps show it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labkit.analysis.gaps import Gaps

Row = dict[str, Any]
MIN_CLEAN = 20
"""Fewer gaps without a prefill give no measure of what is usual."""


def prefill_stalls(gaps: Gaps, requests: Sequence[Mapping[str, Any]], reasons: Row) -> Row:
    """Return {"prefill_stall_s": {"max", "p95", "n", "median_gap_s", "share", "prompt_tokens"}}.

    The distribution is of the gaps with a prefill in them; median_gap_s is that of those without,
    `share` the time over it that they lost / all time of running streams, and prompt_tokens those
    of the request whose first token came nearest to the end of the worst gap.
    """
    stalled = gaps.with_prefill
    if not stalled.any():
        reasons["prefill_stall_s"] = "no prefill fell into a gap of a running stream"
        return {"prefill_stall_s": None}
    if int((~stalled).sum()) < MIN_CLEAN:
        reasons["prefill_stall_s"] = (
            f"fewer than {MIN_CLEAN} gaps of running streams are without a prefill, so what is "
            "usual is not known"
        )
        return {"prefill_stall_s": None}
    usual_s = float(np.median(gaps.seconds[~stalled]))
    own = gaps.seconds[stalled]
    lost_s = float(np.sum(np.maximum(0.0, own - usual_s)))
    worst = int(np.argmax(np.where(stalled, gaps.seconds, -1.0)))
    return {
        "prefill_stall_s": {
            "max": float(own.max()),
            "p95": float(np.percentile(own, 95)),
            "n": len(own),
            "median_gap_s": usual_s,
            "share": lost_s / float(np.sum(gaps.seconds)),
            "prompt_tokens": _find_prompt(requests, float(gaps.end_at_s[worst])),
        }
    }


def _find_prompt(requests: Sequence[Mapping[str, Any]], at_s: float) -> int | None:
    begun = [one for one in requests if one.get("chunk_at_s")]
    nearest = min(begun, key=lambda one: abs(float(one["chunk_at_s"][0]) - at_s), default=None)
    return None if nearest is None else nearest.get("prompt_tokens")
