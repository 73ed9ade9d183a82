"""How long a decode step takes by the streams in it, t = a + b * n, and what batching can gain.

`a` is what a step costs whatever is in it (weights read, kernels launched), `b` what each stream
adds. n streams yield n / t tokens/s, at most 1 / b, which is (a + b) / b times what one stream
yields alone. Where b outweighs a, as on a processor that computes at its limit, batching gains
little; where a outweighs b, as on a GPU that waits for its memory, it gains much. It must not know
engines, nor how a fit is drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.analysis import words
from labkit.analysis.gaps import Gaps
from labkit.analysis.row import is_usable
from labkit.analysis.statistics import t_quantile

MAX_TOKENS_A_CHUNK = 1.05
"""Above it a gap between chunks is no step: several tokens came together."""
MIN_GAPS = 20
"""Fewer gaps at a number of streams tell nothing about it."""
NO_RISE = 1e-6
"""A share of `a`: a slope below it is rounding."""
COMPUTE_BOUND, ROOM = 2.0, 8.0
"""Gains below the one and above the other are told as such."""

SAME_STEP = ("engine.max_num_seqs", "engine.max_num_batched_tokens", "load.")
"""Variables that decide how many streams a step holds and not what a stream costs in it."""

Row = dict[str, Any]
Bin = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepTime:
    """A fit of t = a + b * n, times in s; intervals of 95 % from the residuals of the bins."""

    a_s: float
    b_s: float
    a_low_s: float | None
    a_high_s: float | None
    b_low_s: float | None
    b_high_s: float | None
    n: int
    """Gaps that it rests on."""
    most_running: int

    @property
    def max_gain(self) -> float:
        """How many times the tokens/s of one stream any number of them can give: (a + b) / b."""
        return (self.a_s + self.b_s) / self.b_s

    @property
    def half_gain_at(self) -> float:
        """The number of streams at which half of 1 / b tokens/s is had: a / b."""
        return self.a_s / self.b_s

    def step_s(self, num_running: float) -> float:
        """Return the time of a step with so many streams, in s."""
        return self.a_s + self.b_s * num_running


def bin_gaps(gaps: Gaps) -> list[Row]:
    """Return {"num_running", "step_s", "n"} for each number of streams: the median clean gap."""
    clean = ~gaps.with_prefill & (gaps.num_running > 0)
    seconds, running = gaps.seconds[clean], gaps.num_running[clean]
    found = []
    for number in np.unique(running):
        own = seconds[running == number]
        if len(own) >= MIN_GAPS:
            step_s = float(np.median(own))
            found.append({"num_running": int(number), "step_s": step_s, "n": len(own)})
    return found


def fit_bins(bins: Sequence[Bin]) -> tuple[StepTime | None, str]:
    """Return the weighted least squares fit of the bins, or None and why there is none.

    A bin weighs as many steps as it saw: its gaps / its streams, since all streams of a step gap
    together. Bins of one number from several points are fitted as they are.
    """
    numbers = np.array([one["num_running"] for one in bins], dtype=float)
    if len(set(numbers.tolist())) < 2:
        return None, (
            f"steps of at least two numbers of running streams are needed, with {MIN_GAPS} gaps "
            "each and no prefill in them"
        )
    seconds = np.array([one["step_s"] for one in bins], dtype=float)
    weights = np.array([one["n"] for one in bins], dtype=float) / numbers
    middle = np.average(numbers, weights=weights)
    spread = float(np.sum(weights * (numbers - middle) ** 2))
    b = float(np.sum(weights * (numbers - middle) * seconds)) / spread
    a = float(np.average(seconds, weights=weights)) - b * float(middle)
    if b <= NO_RISE * abs(a):
        return None, "a step took no longer with more streams in it, so no limit can be told"
    if a <= 0:
        return None, "a step took more than proportionally longer with more streams in it"
    free = len(bins) - 2
    half_a = half_b = None
    if free > 0:
        residuals = seconds - a - b * numbers
        variance = float(np.sum(weights * residuals**2)) / free
        reach = t_quantile(free)
        half_b = reach * (variance / spread) ** 0.5
        total = float(np.sum(weights))
        half_a = reach * (variance * (1 / total + float(middle) ** 2 / spread)) ** 0.5
    return StepTime(
        a_s=a,
        b_s=b,
        a_low_s=None if half_a is None else a - half_a,
        a_high_s=None if half_a is None else a + half_a,
        b_low_s=None if half_b is None else b - half_b,
        b_high_s=None if half_b is None else b + half_b,
        n=int(sum(one["n"] for one in bins)),
        most_running=int(numbers.max()),
    ), ""


def find_doubt(ok: Sequence[Mapping[str, Any]]) -> str | None:
    """Return why gaps between chunks are not steps in the ok requests of a point, or None."""
    if any(one.get("tokens_source") == "chunks" for one in ok):
        return "tokens were counted as chunks, so a chunk may hold several"
    chunks = sum(len(one.get("chunk_at_s") or ()) for one in ok)
    tokens = sum(one.get("completion_tokens") or 0 for one in ok)
    if tokens > MAX_TOKENS_A_CHUNK * chunks:
        each = words.number(tokens / chunks) if chunks else "several"
        return f"a chunk holds {each} tokens on average, so a gap between chunks is no step"
    return None


def step_time(gaps: Gaps, ok: Sequence[Mapping[str, Any]], reasons: Row) -> Row:
    """Return {"step_time": bins and the fit of one point}; what is None has its reason added."""
    if (doubt := find_doubt(ok)) is not None:
        reasons["step_time"] = doubt
        return {"step_time": None}
    bins = bin_gaps(gaps)
    if not bins:
        reasons["step_time"] = f"no number of running streams has {MIN_GAPS} gaps without a prefill"
        return {"step_time": None}
    fit, why = fit_bins(bins)
    told: Row = {"bins": bins, "n": sum(one["n"] for one in bins), "reason": why or None}
    for name in ("a_s", "b_s", "a_low_s", "a_high_s", "b_low_s", "b_high_s", "max_gain"):
        told[name] = None if fit is None else getattr(fit, name)
    told["half_gain_at"] = None if fit is None else fit.half_gain_at
    return {"step_time": told}


def fit_step_time(rows: Sequence[Mapping[str, Any]]) -> tuple[StepTime | None, str]:
    """Return one fit over the bins of all usable points of a sweep, or None and why.

    A variable that may change the step itself, such as num_threads, allows none.
    """
    for row in rows:
        if not str(row.get("variable")).startswith(SAME_STEP):
            return (
                None,
                f"{words.short(row.get('variable'))} may change what a step costs by itself",
            )
    bins = [
        one
        for row in rows
        if is_usable(row)
        for one in (row.get("step_time") or {}).get("bins", ())
    ]
    return fit_bins(bins)


def tell_step_time(fit: StepTime) -> tuple[str, str]:
    """Return what a fit means in a title and a sentence: which sort of machine this is."""
    unsure = fit.b_low_s is None or fit.b_low_s <= 0 or (fit.a_low_s or 0) <= 0
    gain = words.number(fit.max_gain)
    costs = (
        f"A decode step takes {words.seconds(fit.a_s)} and {words.seconds(fit.b_s)} more for each "
        f"stream in it, so any number of streams gives at most {gain} times the tokens/s of one; "
    )
    costs += (
        f"half of that limit is had at {words.number(fit.half_gain_at)} streams."
        if fit.half_gain_at > 1
        else "one alone gives more than half of that limit."
    )
    if fit.most_running < fit.half_gain_at:
        costs += f" The limit is drawn on from at most {fit.most_running} streams that were seen."
    if unsure:
        return (
            f"Batching may gain up to {gain} times, which the steps do not settle",
            f"{costs} The interval of the fit holds no gain at all, too: can't tell.",
        )
    if fit.max_gain < COMPUTE_BOUND:
        return f"Compute-bound: batching gains at most {gain} times here", costs
    if fit.max_gain > ROOM:
        return f"Room to batch: up to {gain} times one stream", costs
    return f"Batching gains at most {gain} times here", costs
