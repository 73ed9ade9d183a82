"""What a reader should bear in mind about a point: facts, not doubts.

It must not change a verdict.
"""

from collections.abc import Sequence
from typing import Any

from labkit.analysis.latencies import LATENCIES
from labkit.analysis.statistics import QUANTILES, percentile_supported
from labkit.analysis.validity import LIMIT_KINDS, MAX_LENGTH_DEVIATION

Row = dict[str, Any]


def take_notes(row: Row, point: Row, ok: Sequence[Row]) -> list[str]:
    """Return the notes of a point: percentiles that rest on little, lengths, sources, samples."""
    notes = [*_percentiles(row), *_lengths(row)]
    chunks = sum(len(request.get("chunk_at_s") or ()) for request in ok)
    tokens = sum(request.get("completion_tokens") or 0 for request in ok)
    if chunks and tokens > 1.05 * chunks:
        notes.append(f"a chunk holds {tokens / chunks:.2f} tokens on average; itl_s is by chunk")
    sources = {str(request.get("tokens_source") or "usage") for request in ok} - {"usage"}
    if sources:
        notes.append(f"token counts of some requests come from {', '.join(sorted(sources))}")
    skipped = {k: n for k, n in ((point.get("traffic") or {}).get("skipped") or {}).items() if n}
    if skipped:
        told = ", ".join(f"{reason}: {n}" for reason, n in sorted(skipped.items()))
        notes.append(f"{sum(skipped.values())} records of the source were left out ({told})")
    if row["engine_samples_failed"]:
        notes.append(f"{row['engine_samples_failed']} engine samples failed")
    return notes


def _percentiles(row: Row) -> list[str]:
    notes = []
    for name, quantile in QUANTILES.items():
        needed = round(1 / (1 - quantile))
        low = [
            field
            for field in LATENCIES
            if row[field] and not percentile_supported(row[field]["n"], quantile)
        ]
        if low:
            n = min(row[field]["n"] for field in low)
            notes.append(
                f"{name.upper()} of {', '.join(low)} rests on {n} values; below {needed} it is "
                "little more than the largest one"
            )
    return notes


def _lengths(row: Row) -> list[str]:
    kind, notes = row["workload"].get("kind"), []
    if (deviation := row["prompt_tokens_deviation"] or 0.0) > MAX_LENGTH_DEVIATION:
        notes.append(
            f"some prompts are {deviation:.0%} off the length that was asked: another tokenizer, "
            "or a chat template"
        )
    deviation = row["completion_tokens_deviation"] or 0.0
    if deviation > MAX_LENGTH_DEVIATION and kind in LIMIT_KINDS:
        notes.append(
            f"some completions are {deviation:.0%} off the length that was asked, which is a "
            f"limit only for {kind} requests"
        )
    return notes
