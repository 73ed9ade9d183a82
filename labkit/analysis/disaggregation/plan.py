"""The plan: for every split of the devices the highest rate that keeps both SLOs, and the rate that
devices which do both would keep.

Each limit must be kept by a quantile of requests, so that the two pools part: the rate of a split
is that of the weaker pool. It must not know how a plan is told or drawn.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from labkit.analysis.disaggregation.inputs import NUM_DRAWS, SEED, Draws, Inputs, draw_fits
from labkit.analysis.disaggregation.queues import (
    Floats,
    attain_tpot,
    attain_ttft,
    find_places,
    find_rate,
    mean_wait,
)
from labkit.analysis.disaggregation.simulate import draw_arrivals, simulate

TTFT, TPOT, TRANSFER = "TTFT", "TPOT", "KV transfer"
FIT_LANES, NUM_REQUESTS, HALVINGS = 20, 300, 9
"""Simulations of the fit itself, requests of each simulation, halvings in search of a rate."""
MEASURED = "the streams measured"
FELT = 0.9
"""A link that leaves less than this share of the prefill pool's rate is told as the limit."""


@dataclass(frozen=True, slots=True)
class Range:
    """An estimate and the 95 % interval of its draws; no interval where the fits have no error."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Split:
    """So many prefill and decode devices; rates in requests/s for each device of all."""

    prefill_devices: int
    decode_devices: int
    rate: Range
    ttft_rate: float
    """What the prefill pool and its link would keep."""
    tpot_rate: float
    """What the decode pool would keep."""
    limit: str
    """TTFT, TPOT, or KV transfer where the link is what delays the first token."""
    prefill_busy: float
    """The share of the time that a prefill device works, at the rate."""
    link_busy: float
    """The same of the busiest device's link."""
    running: float
    """Sequences that run on a decode device, on average at the rate."""
    best_share: float
    """The share of draws in which no other split has a higher rate."""

    @property
    def name(self) -> str:
        """As "1:3", prefill first."""
        return f"{self.prefill_devices}:{self.decode_devices}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the model finds."""

    splits: tuple[Split, ...]
    best: Split | None
    """The split of the highest rate; None where none keeps both SLOs at any rate."""
    together: Range
    """Requests/s of a device that does both."""
    together_limit: str
    gain: Range | None
    """Best split / together; None where either is 0."""
    transfer_s: float
    """Mean time of a prompt's KV cache over a free link."""
    places: int
    """So many sequences may run on a device within the TPOT limit."""
    bound: str
    """What bounds them: the TPOT limit, MEASURED or a name of Inputs.bounds."""
    kept_draws: float
    """The share of draws that a machine could have."""


@lru_cache(maxsize=8)
def make_plan(inputs: Inputs) -> Plan:
    """Return the plan for all splits of inputs.num_devices with a device of each sort at least."""
    draws = draw_fits(inputs)
    sure = inputs.prefill.free > 0 and inputs.step.free > 0
    pairs = [(prefill, inputs.num_devices - prefill) for prefill in range(1, inputs.num_devices)]
    rates = [find_split_rates(inputs, draws, *pair) for pair in pairs]
    both = np.array([np.minimum(ttft, tpot) for ttft, tpot in rates]) / inputs.num_devices
    wins = both >= both.max(axis=0)
    together, together_limit = find_together(inputs, draws)
    splits = tuple(
        Split(
            *pair,
            rate=_range(own, sure),
            ttft_rate=float(ttft[0]) / inputs.num_devices,
            tpot_rate=float(tpot[0]) / inputs.num_devices,
            limit=_name_limit(inputs, draws, pair, ttft, tpot),
            prefill_busy=float(own[0] * inputs.num_devices / pair[0] * draws.service_s[0].mean()),
            link_busy=float(own[0] * inputs.num_devices / min(pair) * draws.transfer_s.mean()),
            running=float(draws.stream.mean_running(own * inputs.num_devices / pair[1])[0]),
            best_share=float(won.mean()),
        )
        for pair, (ttft, tpot), own, won in zip(pairs, rates, both, wins, strict=True)
    )
    place = int(np.argmax(both[:, 0]))
    found, apart = float(both[place, 0]), both[place]
    gain = None
    if found > 0 and together[0] > 0:
        ratios = np.full_like(apart, np.inf)
        gain = _range(np.divide(apart, together, out=ratios, where=together > 0), sure)
    places = int(find_places(draws.stream, inputs.tpot_s, inputs.most_planned)[0])
    bounds = {MEASURED: int(inputs.step.high_x), **inputs.bounds}
    return Plan(
        splits=splits,
        best=splits[place] if found > 0 else None,
        together=_range(together, sure),
        together_limit=together_limit,
        gain=gain,
        transfer_s=float(draws.transfer_s.mean()),
        places=places,
        bound=min(bounds, key=bounds.__getitem__)
        if places >= inputs.most_planned
        else "the TPOT limit",
        kept_draws=draws.num_draws / NUM_DRAWS,
    )


def find_split_rates(
    inputs: Inputs, draws: Draws, prefill: int, decode: int
) -> tuple[Floats, Floats]:
    """Return the highest rates of all requests that the prefill and the decode pool would keep.

    Requests are spread over a pool at random, so each device has a queue of its own; the KV cache
    goes over the links of its two devices, of which the busier is waited for, before the first
    token is out. 0 where a pool has no device.
    """
    none = np.zeros(draws.num_draws)
    ttft = tpot = none
    if prefill > 0:
        high = prefill / draws.service_s.mean(axis=1)
        ttft = find_rate(
            lambda rate: attain_ttft(
                rate / prefill,
                draws.service_s,
                inputs.ttft_s,
                _delay(draws, rate, min(prefill, decode)),
            ),
            inputs.quantile,
            high,
        )
    if decode > 0:
        tpot = decode * find_rate(
            lambda rate: attain_tpot(rate, draws.stream, inputs.tpot_s, inputs.most_planned),
            inputs.quantile,
            _find_most(draws),
        )
    return ttft, tpot


def find_together(inputs: Inputs, draws: Draws) -> tuple[Floats, str]:
    """Return the highest rates at which a device that does both keeps both limits, and the limit.

    Simulated: the first rate is the median of FIT_LANES simulations of the fit itself, each other
    one that of a draw, so that the spread holds what a finite simulation adds.
    """
    lanes = [0] * FIT_LANES + list(range(1, draws.num_draws))
    part = draws.take(np.array(lanes))
    arrivals = draw_arrivals(len(lanes), NUM_REQUESTS, len(inputs.prompt_tokens), SEED)
    kept: list[Floats] = []

    def attain(rate: Floats) -> Floats:
        ttft_s, tpot_s = simulate(rate, part.stream, part.service_s, part.chunks, arrivals)
        kept[:] = [(ttft_s <= inputs.ttft_s).mean(axis=1), (tpot_s <= inputs.tpot_s).mean(axis=1)]
        return np.minimum(*kept)

    most = 1 / (1 / _find_most(part) + part.service_s.mean(axis=1))
    found = find_rate(attain, inputs.quantile, most, HALVINGS)
    # just above the rate, where the limit is that which is missed
    attain(np.maximum(found * 1.02, most / 2**HALVINGS))
    early, smooth = (float(one[:FIT_LANES].mean()) for one in kept)
    median = np.median(found[:FIT_LANES])
    return np.concatenate([[median], found[FIT_LANES:]]), TTFT if early <= smooth else TPOT


def _find_most(draws: Draws) -> Floats:
    """Return the rate at which b * g = 1, so that a decode device's queue has no end."""
    return 1 / (draws.stream.b_s * (draws.stream.completion_tokens - 1))


def _delay(draws: Draws, rate: Floats, links: int) -> Floats:
    """Return what the KV transfer adds to each prompt's TTFT: its own and the mean wait before."""
    if links == 0:
        return np.zeros((1, 1))
    wait = mean_wait(rate / links, np.broadcast_to(draws.transfer_s, draws.service_s.shape))
    return draws.transfer_s + wait[:, None]


def _name_limit(
    inputs: Inputs, draws: Draws, pair: tuple[int, int], ttft: Floats, tpot: Floats
) -> str:
    if tpot[0] < ttft[0]:
        return TPOT
    free = find_rate(
        lambda rate: attain_ttft(rate / pair[0], draws.service_s, inputs.ttft_s),
        inputs.quantile,
        pair[0] / draws.service_s.mean(axis=1),
    )
    return TRANSFER if ttft[0] < FELT * free[0] else TTFT


def _range(draws: Floats, sure: bool) -> Range:
    if not sure:
        return Range(float(draws[0]), None, None)
    low, high = np.quantile(draws, [0.025, 0.975], method="nearest")
    return Range(float(draws[0]), float(low), float(high))
