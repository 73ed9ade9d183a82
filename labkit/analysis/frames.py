"""The records of a run as tables to explore: one row a request, one row a sample.

Durations are in seconds. Stamps (`*_at_s`) stay on the monotonic clock of the machine that
measured; `since_load_s` counts from the moment the load of the point began. It must not know files.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from labkit.analysis.latencies import REQUEST_LATENCIES, measure
from labkit.analysis.schedule import is_scheduled
from labkit.records import PointRecords

PLACE = ("point_id", "variable", "value", "series", "repeat")
REQUEST = (
    *PLACE,
    "request_id",
    "status",
    "since_load_s",
    *REQUEST_LATENCIES,
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "num_chunks",
    "finish_reason",
    "error_kind",
    "error_message",
)
"""The first columns of a request, there also where no request was recorded."""
SAMPLE = (*PLACE, "source", "since_load_s")
CHUNKS = ("chunk_at_s", "chunk_tokens")

Row = dict[str, Any]


def frame_requests(points: Iterable[PointRecords]) -> pd.DataFrame:
    """Return one row a request, with its latencies in s; a failed request has NaN for them.

    `since_load_s` is when it was sent. Lists of chunks are left out, their number is there.
    """
    return _frame((row for one in points for row in _list_requests(one)), REQUEST)


def frame_samples(points: Iterable[PointRecords]) -> pd.DataFrame:
    """Return one row a sample; what its `source` (engine, gpu, host) does not tell is NaN."""
    return _frame((row for one in points for row in _list_samples(one)), SAMPLE)


def frame_findings(findings: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row a finding; its effect is spread over `effect_field`, `effect_value` and so on.

    An effect that is null, as of a warning, leaves these empty.
    """
    rows = []
    for finding in findings:
        row = {name: value for name, value in finding.items() if name != "effect"}
        effect = finding.get("effect") or {}
        rows.append(row | {f"effect_{name}": value for name, value in effect.items()})
    return _frame(iter(rows), ("title", "text", "kind", "variable"))


def _list_requests(records: PointRecords) -> Iterator[Row]:
    scheduled = is_scheduled(records.point)
    for request in records.requests:
        told = {name: value for name, value in request.items() if name not in CHUNKS}
        yield {
            **_place(records),
            **told,
            **measure(request, scheduled=scheduled),
            "since_load_s": _since_load(records, request.get("sent_at_s")),
            "num_chunks": len(request.get("chunk_at_s") or ()),
        }


def _list_samples(records: PointRecords) -> Iterator[Row]:
    for sample in records.samples:
        since = _since_load(records, sample.get("at_s"))
        yield {**_place(records), **sample, "since_load_s": since}


def _place(records: PointRecords) -> Row:
    return {name: records.point.get(name) for name in PLACE} | {"point_id": records.point_id}


def _since_load(records: PointRecords, at_s: float | None) -> float | None:
    start = records.point.get("load_started_at_s")
    return None if start is None or at_s is None else at_s - start


def _frame(rows: Iterator[Row], first: tuple[str, ...]) -> pd.DataFrame:
    """Return a table with these columns first, the others as they come; seconds are numbers."""
    frame = pd.DataFrame(list(rows))
    others = [name for name in frame.columns if name not in first]
    frame = frame.reindex(columns=[*first, *others])
    return frame.astype({name: float for name in frame.columns if name.endswith("_s")})
