"""What the planning model is told: two fitted lines, the requests' lengths, places, KV bytes, SLO.

It must not know rows of a summary.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.analysis.disaggregation.line import Line
from labkit.analysis.disaggregation.queues import Floats, Stream

NUM_DRAWS = 80
SEED = 1
MAX_PLACES = 1024
"""Sequences at once that are reckoned with where nothing bounds them sooner."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Measured on one device, which is whatever one engine ran on; the rest was asked for."""

    prefill: Line
    """Time to first token of a prompt alone, in s, by its tokens."""
    step: Line
    """Time of a decode step, in s, by the streams in it."""
    prompt_tokens: tuple[float, ...]
    """Lengths of prompts, each as likely as the others."""
    completion_tokens: float
    kv_bytes_per_token: float | None
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    """The token budget; None where prompts are not cut."""
    kv_capacity_tokens: float | None
    ttft_s: float
    tpot_s: float
    quantile: float
    """The share of requests that must keep each of the two limits."""
    num_devices: int
    transfer_bytes_per_s: float
    """Of the link of each device, in one direction."""

    @property
    def mean_prompt_tokens(self) -> float:
        """The mean length of a prompt."""
        return float(np.mean(self.prompt_tokens))

    @property
    def bounds(self) -> dict[str, int]:
        """What bounds the sequences that run at once on an engine, by its name."""
        each = self.mean_prompt_tokens + self.completion_tokens
        found = {}
        if self.max_num_seqs is not None:
            found["max_num_seqs"] = self.max_num_seqs
        if self.kv_capacity_tokens is not None:
            found["the KV cache"] = int(self.kv_capacity_tokens / each)
        return found

    @property
    def most_running(self) -> int:
        """Sequences that run at once on an engine at most."""
        return max(1, min([MAX_PLACES, *self.bounds.values()]))

    @property
    def most_planned(self) -> int:
        """Sequences that a plan lets run at once: none more than were measured."""
        return min(self.most_running, int(self.step.high_x))


@dataclass(frozen=True, slots=True)
class Draws:
    """The fits as arrays, an entry a draw; the first one is the fit itself."""

    service_s: Floats
    """Prefill times (draws, prompts)."""
    stream: Stream
    transfer_s: Floats
    """Of each prompt's KV cache over a free link, (1, prompts)."""
    chunks: NDArray[np.int64]
    """Steps that each prompt is cut into where decode goes along, (prompts,)."""

    @property
    def num_draws(self) -> int:
        """How many there are, the fit itself counted."""
        return len(self.service_s)

    def take(self, lanes: NDArray[np.int64]) -> "Draws":
        """Return these draws alone, in this order, one as often as it is named."""
        one = self.stream
        stream = Stream(one.a_s[lanes], one.b_s[lanes], one.completion_tokens, one.most_running)
        return Draws(self.service_s[lanes], stream, self.transfer_s, self.chunks)


def draw_fits(inputs: Inputs) -> Draws:
    """Return the fits and draws about them; one that no machine can have is left out.

    That is a prefill or a step that takes no time, or less with more in it.
    """
    fixed, slopes = inputs.prefill.draw(NUM_DRAWS, SEED)
    a_s, b_s = inputs.step.draw(NUM_DRAWS, SEED + 1)
    prompts = np.asarray(inputs.prompt_tokens, dtype=float)
    shortest = fixed + slopes * prompts.min()
    kept: NDArray[np.bool_] = (slopes > 0) & (shortest > 0) & (a_s > 0) & (b_s > 0)
    kept[0] = True
    service_s = fixed[kept, None] + slopes[kept, None] * prompts
    stream = Stream(a_s[kept], b_s[kept], inputs.completion_tokens, inputs.most_running)
    each = inputs.kv_bytes_per_token or 0.0
    budget = inputs.max_num_batched_tokens or np.inf
    chunks = np.maximum(1, np.ceil(prompts / budget)).astype(np.int64)
    transfer_s = prompts[None, :] * each / inputs.transfer_bytes_per_s
    return Draws(service_s, stream, transfer_s, chunks)
