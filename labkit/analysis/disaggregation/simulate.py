"""One device that does prefill and decode both, simulated step by step for many draws at once.

No closed form holds for it: prompts that queue up behind each other begin to decode together. The
engine prefills before anything else, in order of arrival, while it has a free place; what runs goes
along in the same step and gets a token out of it, as vLLM and llama.cpp batch. A prompt above the
token budget is cut into steps. It must not know what an SLO is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.analysis.disaggregation.queues import Floats, Stream


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Requests of each lane: gaps between arrivals in units of the mean gap, and which prompt."""

    gaps: Floats
    prompt: NDArray[np.int64]


def draw_arrivals(lanes: int, requests: int, prompts: int, seed: int) -> Arrivals:
    """Return Poisson arrivals, and prompts each as likely as the others; (lanes, requests)."""
    rng = np.random.default_rng(seed)
    shape = (lanes, requests)
    return Arrivals(rng.exponential(size=shape), rng.integers(0, prompts, shape))


def simulate(
    rate: Floats,
    stream: Stream,
    service_s: Floats,
    chunks: NDArray[np.int64],
    arrivals: Arrivals,
) -> tuple[Floats, Floats]:
    """Return TTFT and TPOT in s of every request, (lanes, requests), from an empty engine on.

    `rate` is of requests/s (lanes,), `service_s` the prefill times (lanes, prompts), `chunks` the
    steps that each prompt is cut into (prompts,).
    """
    lanes, requests = arrivals.gaps.shape
    all_lanes = np.arange(lanes)
    arrive = np.cumsum(arrivals.gaps, axis=1) / rate[:, None]
    arrive = np.concatenate([arrive, np.full((lanes, 1), np.inf)], axis=1)
    cuts = np.concatenate([chunks[arrivals.prompt], np.ones((lanes, 1), dtype=np.int64)], axis=1)
    work = np.take_along_axis(service_s, arrivals.prompt, axis=1) / cuts[:, :-1]
    work = np.concatenate([work, np.zeros((lanes, 1))], axis=1)
    first, last = np.zeros((lanes, requests)), np.zeros((lanes, requests))
    left = np.zeros((lanes, stream.most_running))
    owner = np.zeros((lanes, stream.most_running), dtype=np.int64)
    now, head = np.zeros(lanes), np.zeros(lanes, dtype=np.int64)
    cut_left = cuts[:, 0].copy()
    gaps = max(1, round(stream.completion_tokens) - 1)
    while True:
        busy = left > 0
        running = busy.sum(axis=1)
        free = running < stream.most_running
        due = arrive[all_lanes, head]
        filling = free & (due <= now)
        step_s = stream.a_s + stream.b_s * running
        # steps until one ends, or until a prompt comes that finds a place
        shortest = np.where(busy, left, np.inf).min(axis=1)
        until = np.where(free, np.ceil((due - now) / step_s), np.inf)
        steps = np.maximum(1, np.minimum(shortest, until))
        decoding = ~filling & (running > 0)
        waiting = ~filling & ~decoding
        if np.all(waiting & (head == requests)):
            break
        spent = np.where(filling, work[all_lanes, head] + stream.b_s * running, 0.0)
        spent[decoding] = (steps * step_s)[decoding]
        now = np.where(waiting & (head < requests), due, now + spent)
        left -= busy * np.where(filling, 1.0, np.where(decoding, steps, 0.0))[:, None]
        lane, place = np.nonzero(busy & (left <= 0))
        last[lane, owner[lane, place]] = now[lane]
        cut_left -= filling
        begun = np.nonzero(filling & (cut_left == 0))[0]
        place = np.argmin(left[begun] > 0, axis=1)
        owner[begun, place] = head[begun]
        left[begun, place] = gaps
        first[begun, head[begun]] = now[begun]
        head[begun] += 1
        cut_left[begun] = cuts[begun, head[begun]]
    return first - arrive[:, :-1], (last - first) / gaps
