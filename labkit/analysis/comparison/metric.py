"""Which numbers of a point are compared between two runs, and which way is better.

It must not know how they are tested.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from labkit.analysis import words
from labkit.analysis.row import Row, read
from labkit.analysis.schedule import FROM_INTENDED, name_latency
from labkit.analysis.statistics import QUANTILES, percentile_supported

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a point: its field in a row, its name, which way is better, how it is shown."""

    field: str
    label: str
    better: Better
    show: Callable[[float], str]

    def among(self, rows: Sequence[Row]) -> "Metric":
        """Return the same metric, a latency from the intended time where all rows have one."""
        name, dot, part = self.field.partition(".")
        return Metric(name_latency(name, rows) + dot + part, self.label, self.better, self.show)


def _latencies() -> list[Metric]:
    named = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_latency_s": "end-to-end latency"}
    return [
        Metric(f"{name}.{part}", f"{part.upper()} {label}", "lower", words.seconds)
        for name, label in named.items()
        for part in ("p50", "p95", "p99")
    ]


def _tokens(value: float) -> str:
    return words.per_second(value, "tokens")


def _requests(value: float) -> str:
    return words.per_second(value, "requests")


def _joules(value: float) -> str:
    return f"{words.number(value)} J"


METRICS = (
    Metric("output_throughput_tokens_per_s", "output throughput", "higher", _tokens),
    Metric("request_throughput_per_s", "request throughput", "higher", _requests),
    Metric("goodput_per_s", "goodput", "higher", _requests),
    *_latencies(),
    Metric("kv_cache_usage.mean", "mean KV cache usage", "neither", words.percent),
    Metric("num_requests_waiting.mean", "mean waiting queue", "neither", words.number),
    Metric("num_preemptions", "preemptions", "lower", words.number),
    Metric("energy_per_output_token_j", "energy per output token", "lower", _joules),
)
"""In the order in which they are shown. Neither: a state of the engine and no goal of its own."""

FIELDS = tuple(metric.field for metric in METRICS)


def find_metric(field: str) -> Metric | None:
    """Return the metric of a field, also of a latency from the intended time; None if unknown."""
    name, dot, part = field.partition(".")
    plain = {intended: sent for sent, intended in FROM_INTENDED.items()}.get(name, name)
    return next((one for one in METRICS if one.field == plain + dot + part), None)


def take(rows: Sequence[Row], field: str) -> tuple[list[float], str | None]:
    """Return one number a repeat, or an empty list and why there are none that may be compared.

    A percentile that rests on too few requests to lie below the slowest one is not taken.
    """
    name, _, part = field.partition(".")
    found: list[float] = []
    for row in rows:
        value = read(row, field)
        if value is None:
            reasons: Mapping[str, Any] = row.get("null_reasons") or {}
            why = reasons.get(field) or reasons.get(name) or "no reason was recorded"
            return [], f"not measured: {why}"
        if part in QUANTILES:
            n = int(row[name]["n"])
            if not percentile_supported(n, QUANTILES[part]):
                return [], f"too few requests for {part.upper()}: {n}"
        found.append(value)
    return found, None
