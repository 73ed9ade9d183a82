"""The two pools as queues: what share of requests keeps a limit at a rate of requests.

    prefill  M/G/1, one prompt after the other in the order they came. The mean wait is Pollaczek
             and Khinchine's, rate * E[S^2] / (2 * (1 - u)) with u = rate * E[S] (Kleinrock 1975);
             a share u waits at all, and their wait is taken as exponential. DistServe takes the
             mean of the same queue with one length of prompt, M/D/1.
    decode   all running sequences share each step of a + b * n s: a symmetric queue (Kelly 1979),
             so the number found by a request is distributed as
             p(n) ~ product over k <= n of g * (a + b * k) / k, g = rate * (tokens - 1),
             whatever the lengths of answers: a negative binomial, Poisson for b = 0. With Little's
             law the mean TPOT is (a + b) / (1 - b * g), the request itself counted.

Every array has one entry a draw of the fits along its first axis. It must not know where a number
was measured.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
HALVINGS = 50
"""Of an interval that a rate is looked for in."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What a pool decodes: step time a + b * n in s, tokens of an answer, places for sequences."""

    a_s: Floats
    b_s: Floats
    completion_tokens: float
    most_running: int
    """Sequences that run at once at most."""

    def load(self, rate: Floats) -> Floats:
        """Return b * g: the share of its limit, 1 / b tokens/s, that a rate asks of a device."""
        return self.b_s * rate * (self.completion_tokens - 1)

    def mean_tpot(self, rate: Floats) -> Floats:
        """Return the mean TPOT in s; inf above the limit."""
        left = 1 - self.load(rate)
        with np.errstate(divide="ignore"):
            return np.where(left > 0, (self.a_s + self.b_s) / np.maximum(left, 0), np.inf)

    def mean_running(self, rate: Floats) -> Floats:
        """Return the mean number of running sequences, by Little's law."""
        return rate * (self.completion_tokens - 1) * self.mean_tpot(rate)


def attain_ttft(
    rate: Floats, service_s: Floats, limit_s: float, more_s: Floats | float = 0.0
) -> Floats:
    """Return the share of prompts that have their first token within limit_s.

    `service_s` holds the prefill times of the prompts (draws, prompts), each as likely as the
    others; `more_s` is what is added to a TTFT, of one shape with it. 0 where the queue has no end.
    """
    mean, square = service_s.mean(axis=1), (service_s**2).mean(axis=1)
    busy = rate * mean
    left = np.maximum(1 - busy, 0)
    decay = 2 * mean * left / square  # of the wait: u / mean wait
    room = limit_s - service_s - more_s
    kept = 1 - busy[:, None] * np.exp(-decay[:, None] * np.maximum(room, 0))
    return np.where(busy < 1, np.where(room >= 0, kept, 0).mean(axis=1), 0)


def mean_wait(rate: Floats, service_s: Floats) -> Floats:
    """Return Pollaczek and Khinchine's mean wait in s; inf where the queue has no end."""
    busy = rate * service_s.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = rate * (service_s**2).mean(axis=1) / (2 * (1 - busy))
    return np.where(busy < 1, wait, np.inf)


def count_found(rate: Floats, stream: Stream) -> Floats:
    """Return P(a request finds at most n others running), n = 0 ... most_running - 1, in columns.

    All are 0 above the limit, 1 / b tokens/s.
    """
    a, b = stream.a_s, stream.b_s
    tokens = np.maximum(rate * (stream.completion_tokens - 1), 1e-300)
    theta = b * tokens
    fits = theta < 1
    others = np.arange(1, stream.most_running, dtype=float)
    terms = np.log(tokens)[:, None] + np.log(a[:, None] + b[:, None] * others) - np.log(others)
    none = (a / b + 1) * np.log1p(-np.where(fits, theta, 0.0))
    logs = np.concatenate([none[:, None], none[:, None] + np.cumsum(terms, axis=1)], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        shares = np.cumsum(np.exp(logs), axis=1)
    return np.where(fits[:, None], np.minimum(shares, 1.0), 0.0)


def find_places(stream: Stream, limit_s: float, most: int) -> Counts:
    """Return how many sequences may share a step within limit_s, at most `most`."""
    places = np.floor((limit_s - stream.a_s) / stream.b_s + 1e-9)
    return np.clip(places, 0, min(most, stream.most_running)).astype(np.int64)


def attain_tpot(rate: Floats, stream: Stream, limit_s: float, most: int) -> Floats:
    """Return the share of requests whose TPOT is within limit_s on a device that only decodes.

    One that finds `most` others running counts as late.

    A request keeps the company that it finds. In truth some leave and others come, which makes
    TPOTs differ less: this errs towards too few devices' worth of requests.
    """
    places = find_places(stream, limit_s, most)
    found = count_found(rate, stream)[np.arange(len(rate)), np.maximum(places - 1, 0)]
    return np.where(places > 0, found, 0.0)


def find_rate(
    attain: Callable[[Floats], Floats], quantile: float, high: Floats, halvings: int = HALVINGS
) -> Floats:
    """Return the highest rate below `high` at which attain(rate) >= quantile; 0 where none is.

    `attain` must not rise with the rate; a rate under high / 2 ** halvings counts as 0.
    """
    low, top = np.zeros_like(high), high.copy()
    for _ in range(halvings):
        middle = (low + top) / 2
        kept = attain(middle) >= quantile
        low, top = np.where(kept, middle, low), np.where(kept, top, middle)
    return low
