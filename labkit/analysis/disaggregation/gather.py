"""From the rows of a summary to the inputs of the planning model, or why they don't carry it.

Three arms are read by their series: `prefill` (prompts of several lengths, one token each, one at a
time), `decode` (short prompts, long answers, several at once) and `together` (the real mix at a
rate). It must not plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.analysis import words
from labkit.analysis.disaggregation.check import Measured
from labkit.analysis.disaggregation.inputs import Inputs
from labkit.analysis.disaggregation.line import Line, fit_line
from labkit.analysis.row import is_usable, read
from labkit.analysis.schedule import name_latency
from labkit.analysis.step_time import fit_bins

PREFILL, DECODE, TOGETHER = "prefill", "decode", "together"
MIN_LENGTHS = 3
"""Different lengths of prompt, and numbers of streams, that a line with an error needs."""
MAX_MISFIT = 0.15
"""A line further off than this does not describe what it was fitted to."""
MAX_REACH = 1.1
"""Prompts may be so many times as long as the longest whose prefill was measured."""
MAX_CACHED = 0.05
"""The share of prompt tokens that may come from a cache."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was measured; `inputs` is None where `reason` says why no plan can be made."""

    inputs: Inputs | None
    points: tuple[Measured, ...]
    """Of the engine doing both, by rate."""
    prefill: tuple[tuple[float, float, int], ...]
    """(prompt tokens, mean time to first token in s, n) of each point."""
    steps: tuple[tuple[float, float, int], ...]
    """(streams, step in s, gaps) of each bin."""
    rows: tuple[Row, ...]
    """All rows that were used."""
    reason: str


def gather(summary: Mapping[str, Any]) -> Gathered:
    """Return the inputs of the plan that a run of the notebook `disaggregation` asks for."""
    arms = {
        series: [row for row in summary["points"] if row.get("series") == series and is_usable(row)]
        for series in (PREFILL, DECODE, TOGETHER)
    }
    prefill = tuple(_read_prefill(arms[PREFILL]))
    steps = tuple(
        (float(one["num_running"]), float(one["step_s"]), int(one["n"]))
        for row in arms[DECODE]
        for one in (row.get("step_time") or {}).get("bins", ())
    )
    asked = summary["run"]["disaggregation"]
    points = tuple(_read_together(arms[TOGETHER], asked["percentile"]))
    rows = tuple(row for own in arms.values() for row in own)
    inputs, reason = _build(summary["run"], arms, prefill, steps)
    return Gathered(inputs, points, prefill, steps, rows, reason)


def keeps(inputs: Inputs, point: Measured) -> bool:
    """Tell whether both quantiles of a point were measured within their limits."""
    return point.ttft_s <= inputs.ttft_s and point.tpot_s <= inputs.tpot_s


def _build(
    run: Mapping[str, Any],
    arms: Mapping[str, Sequence[Row]],
    prefill: Sequence[tuple[float, float, int]],
    steps: Sequence[tuple[float, float, int]],
) -> tuple[Inputs | None, str]:
    slo, asked = run["slo"], run["disaggregation"]
    if slo.get("ttft_s") is None or slo.get("tpot_s") is None:
        return None, "the plan needs both slo.ttft_s and slo.tpot_s"
    if missing := [series for series, own in arms.items() if not own]:
        return None, f"no valid point of the series {words.join(missing)}"
    mixed = arms[TOGETHER]
    for row in [*arms[PREFILL], *mixed]:
        if (read(row, "prefix_cache_hit_rate") or 0.0) > MAX_CACHED:
            return None, (
                "prompts came in part from the prefix cache, so a prefill is not told by its "
                "length; set engine.enable_prefix_caching to false"
            )
    line, reason = _fit(prefill, "lengths of prompt", "prefill by prompt tokens")
    if line is None:
        return None, reason
    if line.slope <= 0 or line.at(line.low_x) <= 0:
        return None, "a longer prompt took no longer, so prefill can't be told by its length"
    _, reason = fit_bins([{"num_running": n, "step_s": s, "n": count} for n, s, count in steps])
    if reason:
        return None, reason
    # all streams of a step gap together, so a bin saw its gaps / its streams
    seen = [(running, step_s, count / running) for running, step_s, count in steps]
    step, reason = _fit(seen, "numbers of running streams", "a step by its streams")
    if step is None:
        return None, reason
    prompts = _pool_prompts(mixed)
    answers = [read(row, "completion_tokens.mean") for row in mixed]
    tokens = [one for one in answers if one is not None]
    if not prompts or not tokens or min(tokens) < 2:
        return None, "the lengths of prompts and answers together were not told"
    if max(prompts) > MAX_REACH * line.high_x:
        return None, (
            f"prompts have up to {words.number(max(prompts))} tokens together, and prefill was "
            f"measured up to {words.number(line.high_x)}; measure longer ones"
        )
    return Inputs(
        prefill=line,
        step=step,
        prompt_tokens=tuple(prompts),
        completion_tokens=sum(tokens) / len(tokens),
        kv_bytes_per_token=_find(mixed, "kv_cache_bytes_per_token"),
        max_num_seqs=_find_setting(mixed, "max_num_seqs"),
        max_num_batched_tokens=_find_budget(mixed),
        kv_capacity_tokens=_find(mixed, "kv_cache_capacity_tokens"),
        ttft_s=slo["ttft_s"],
        tpot_s=slo["tpot_s"],
        quantile=asked["percentile"] / 100,
        num_devices=asked["num_devices"],
        transfer_bytes_per_s=asked["transfer_bytes_per_s"],
    ), ""


def _read_prefill(rows: Sequence[Row]) -> list[tuple[float, float, int]]:
    told = [
        (read(row, "prompt_tokens.mean"), read(row, "ttft_s.mean"), read(row, "ttft_s.n"))
        for row in rows
    ]
    return [(x, y, int(n)) for x, y, n in told if x is not None and y is not None and n]


def _read_together(rows: Sequence[Row], percentile: int) -> list[Measured]:
    part = f"p{percentile}"
    found = []
    for row in rows:
        ttft_s = read(row, f"{name_latency('ttft_s', [row])}.{part}")
        tpot_s, rate = read(row, f"tpot_s.{part}"), read(row, "offered_rate_per_s")
        if ttft_s is not None and tpot_s is not None and rate is not None:
            met, number = read(row, "slo_attainment"), int(row["num_requests"])
            found.append(Measured(str(row["point_id"]), rate, number, ttft_s, tpot_s, met))
    return sorted(found, key=lambda one: one.rate_per_s)


def _fit(
    told: Sequence[tuple[float, float, float]], what: str, name: str
) -> tuple[Line | None, str]:
    places = {x for x, _, _ in told}
    if len(places) < MIN_LENGTHS:
        return None, f"expected at least {MIN_LENGTHS} {what}, found {len(places)}; measure more"
    line = fit_line(*zip(*told, strict=True))
    if line.misfit > MAX_MISFIT:
        return None, (
            f"{name} is no straight line: points lie {words.percent(line.misfit)} off it, "
            f"{words.percent(MAX_MISFIT)} allowed"
        )
    return line, ""


def _pool_prompts(rows: Sequence[Row]) -> list[float]:
    found: list[float] = []
    for row in rows:
        found += (row.get("prompt_tokens") or {}).get("quantiles") or []
    return sorted(found)


def _find(rows: Sequence[Row], field: str) -> float | None:
    return next((value for row in rows if (value := read(row, field)) is not None), None)


def _find_setting(rows: Sequence[Row], name: str) -> Any:
    for row in rows:
        for told in (row.get("effective") or {}, row.get("asked") or {}):
            if told.get(name) is not None:
                return told[name]
    return None


def _find_budget(rows: Sequence[Row]) -> int | None:
    if _find_setting(rows, "enable_chunked_prefill") is False:
        return None
    budget = _find_setting(rows, "max_num_batched_tokens")
    return None if budget is None else int(budget)
