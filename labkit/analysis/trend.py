"""Whether the waiting queue grows while requests still come; definitions.py defines the figure.

It knows samples of one gauge and the stamps of the requests; it must not judge a trend.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from labkit.analysis.gauges import Window, tell_missing
from labkit.analysis.series import finite, pairs
from labkit.analysis.statistics import trend_probability

MIN_SAMPLES = 8
MAX_SAMPLES = 1000
"""Pairs grow with the square; a longer series is thinned evenly."""

Row = dict[str, Any]


def queue_growth(
    point: Row,
    samples: Sequence[Row],
    requests: Sequence[Row],
    window: Window | None,
    reasons: Row,
) -> Row:
    """Return queue_growth_per_s as {"slope", "p_value", "span_s", "n"}, slope in requests a second.

    The slope is Theil and Sen's: the median of the slopes of all pairs of samples (Sen 1968). After
    the last send a queue can only drain, so that later samples are left out.
    """
    own = [sample for sample in samples if sample.get("source") == "engine"]
    sends = [at for one in requests if (at := finite(one.get("sent_at_s"))) is not None]
    series = pairs(own, "num_requests_waiting")
    if window is not None and sends:
        end = min(window[1], max(sends))
        series = [(at, value) for at, value in series if window[0] <= at <= end]
    else:
        series = []
    if len(series) < MIN_SAMPLES:
        missing = not pairs(own, "num_requests_waiting") or window is None
        reasons["queue_growth_per_s"] = (
            tell_missing(point, own, "engine", "num_requests_waiting", window)
            if missing
            else f"{len(series)} samples fell between the first and the last send, under "
            f"{MIN_SAMPLES}"
        )
        return {"queue_growth_per_s": None}
    array = np.asarray(series, dtype=float)
    stamps, values = array[:, 0], array[:, 1]
    return {
        "queue_growth_per_s": {
            "slope": theil_sen(stamps, values),
            "p_value": trend_probability(values.tolist()),
            "span_s": float(stamps[-1] - stamps[0]),
            "n": len(series),
        }
    }


def theil_sen(x: Any, y: Any) -> float:
    """Return the median slope of all pairs of points with different x; 0.0 where there is none."""
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    step = -(-across.size // MAX_SAMPLES) or 1
    across, up = across[::step], up[::step]
    first, second = np.triu_indices(across.size, k=1)
    run = across[second] - across[first]
    apart = run > 0
    if not apart.any():
        return 0.0
    return float(np.median((up[second] - up[first])[apart] / run[apart]))
