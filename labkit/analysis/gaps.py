"""The gaps of running streams: how long each was, how many streams ran then, and whether a prefill
of another request fell into it.

From client stamps alone, so it holds for any engine. It must not know what follows from a gap.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_STREAMS = 2_000
"""Gaps are taken of at most so many streams, evenly spaced; all of them count as running."""
SAME_STEP = 0.1
"""First tokens that came within this share of a median gap of another's token share its step."""

Floats = NDArray[np.float64]
Requests = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps between chunks of running streams, an entry each; all arrays have the same length."""

    seconds: Floats
    end_at_s: Floats
    num_running: NDArray[np.int64]
    """Streams between their first and last token in the middle of the gap, its own included."""
    with_prefill: NDArray[np.bool_]
    """Whether another request was in prefill, as far as can be told, during a part of the gap."""


def find_gaps(
    requests: Requests, *, prefill_s: float | None = None, most_running: float | None = None
) -> Gaps:
    """Return the gaps of the streams among the requests that had several chunks.

    A request's prefill is the time before its first token: its own `prefill_s` where its engine
    told, else `prefill_s`, else the time since it can have had a place (`find_longest_prefills`).
    Queued time is no prefill.
    """
    streams = [one for one in requests if len(one.get("chunk_at_s") or ()) > 1]
    began = [float(one["chunk_at_s"][0]) for one in requests if one.get("chunk_at_s")]
    first = np.array([one["chunk_at_s"][0] for one in streams], dtype=float)
    last = np.array([one["chunk_at_s"][-1] for one in streams], dtype=float)
    chosen = _choose(streams)
    seconds = np.concatenate([np.diff(one) for one in chosen] or [np.empty(0)])
    start = np.concatenate([one[:-1] for one in chosen] or [np.empty(0)])
    middle = start + seconds / 2
    running = np.searchsorted(np.sort(first), middle, side="right")
    running -= np.searchsorted(np.sort(last), middle, side="right")
    longest = find_longest_prefills(requests, most_running)
    told = [
        float(one.get("prefill_s") or prefill_s or most)
        for one, most in zip(requests, longest, strict=True)
        if one.get("chunk_at_s")
    ]
    near_s = SAME_STEP * float(np.median(seconds)) if len(seconds) else 0.0
    ends = np.array(began, dtype=float) - near_s
    starts = np.minimum(ends, ends - np.array(told, dtype=float) + 2 * near_s)
    inside = np.searchsorted(np.sort(starts), start + seconds, side="left")
    inside -= np.searchsorted(np.sort(ends), start, side="right")
    return Gaps(seconds, start + seconds, running.astype(np.int64), inside > 0)


def find_longest_prefills(requests: Requests, most_running: float | None = None) -> list[float]:
    """Return for each request how long it can have been in prefill at most, in s.

    That is from its send to its first token or, with a queue, from when a place was free. The
    engine has `most_running` places, or as many as streams were seen decoding at once if these are
    more. One that finds a place at its send has it at once; the others have theirs in the order of
    their first tokens, since engines need not keep that of the sends. It is 0 without a first one.
    """
    spans = [
        (float(one["sent_at_s"]), float(chunks[0]), float(chunks[-1]), index)
        for index, one in enumerate(requests)
        if (chunks := one.get("chunk_at_s")) and one.get("sent_at_s") is not None
    ]
    places = max(1, int(most_running or 0), _count_at_once([(one[1], one[2]) for one in spans]))
    sends, lasts = (np.sort([one[index] for one in spans]) for index in (0, 2))
    longest = [0.0] * len(requests)
    held: list[float] = []
    spans.sort(key=lambda one: one[1])
    sent_at_s = np.array([one[0] for one in spans])
    ahead = np.searchsorted(sends, sent_at_s, "right") - np.searchsorted(lasts, sent_at_s, "right")
    for (sent, first, last, index), others in zip(spans, (ahead - 1).tolist(), strict=True):
        free = heapq.heappop(held) if len(held) >= places else sent
        heapq.heappush(held, last)
        longest[index] = max(0.0, first - (max(sent, free) if others >= places else sent))
    return longest


def _count_at_once(spans: Sequence[tuple[float, float]]) -> int:
    """Return how many streams decoded at once at most; one that ends makes room for the next."""
    times = np.array(spans, dtype=float).reshape(-1, 2).T.ravel()
    steps = np.repeat(np.array([1, -1]), len(spans))
    return int(np.cumsum(steps[np.lexsort((steps, times))]).max(initial=0))


def _choose(streams: Requests) -> list[Floats]:
    every = max(1, -(-len(streams) // MAX_STREAMS))
    return [np.asarray(one["chunk_at_s"], dtype=float) for one in streams[::every]]
