"""When the requests of an open load are due: offsets drawn from a rate, a shape and a seed.

Pure. It must not know how a request is sent.
"""

import math
import random
from collections.abc import Sequence
from itertools import pairwise

from labkit.errors import ParamsError
from labkit.params import LoadParams
from labkit.workload import Request


def draw_offsets(load: LoadParams, tasks: Sequence[Sequence[Request]], seed: int) -> list[float]:
    """Return when each task is due, in seconds after the first one, rising.

    Mode open draws gaps with mean 1 / rate: all equal, or from a gamma distribution of shape
    `burstiness` (1 is a Poisson process, whose gaps have a coefficient of variation of 1; it is
    1 / sqrt(shape) in general). With `ramp_to_per_s` the rate goes linearly over the load. Mode
    trace takes the stamps of the workload, divided by `speed`. Raises ParamsError without stamps.
    """
    if load.mode == "trace":
        return _read_offsets(load, tasks)
    assert load.request_rate_per_s is not None
    rng = random.Random(f"arrivals {seed}")
    units = [0.0]
    for _ in range(1, len(tasks)):
        shape = load.burstiness
        gap = rng.gammavariate(shape, 1 / shape) if load.arrival == "gamma" else 1.0
        units.append(units[-1] + gap)
    start, end = load.request_rate_per_s, load.ramp_to_per_s or load.request_rate_per_s
    return [_unroll(unit, start, end, max(1, len(tasks) - 1)) for unit in units[: len(tasks)]]


def _unroll(unit: float, start_per_s: float, end_per_s: float, num_gaps: int) -> float:
    """Return when `unit` mean gaps have passed, under a rate that goes linearly from start to end.

    The ramp takes num_gaps arrivals: T = 2 n / (start + end). Arrivals until t are the integral
    start t + (end - start) t^2 / 2T, which is solved for t. After T the end rate holds.
    """
    if start_per_s == end_per_s:
        return unit / start_per_s
    ramp_s = 2 * num_gaps / (start_per_s + end_per_s)
    if unit >= num_gaps:
        return ramp_s + (unit - num_gaps) / end_per_s
    slope = (end_per_s - start_per_s) / ramp_s
    return 2 * unit / (start_per_s + math.sqrt(start_per_s**2 + 2 * slope * unit))


def _read_offsets(load: LoadParams, tasks: Sequence[Sequence[Request]]) -> list[float]:
    offsets = [task[0].offset_s for task in tasks]
    stamped = [offset / load.speed for offset in offsets if offset is not None]
    if len(stamped) < len(tasks):
        raise ParamsError(
            "expected time stamps in the workload for load.mode trace, found none; "
            "take workload.kind trace, or load.mode open with a rate"
        )
    if any(after < before for before, after in pairwise(stamped)):
        raise ParamsError("expected time stamps that rise, found one that falls; sort the trace")
    return stamped
