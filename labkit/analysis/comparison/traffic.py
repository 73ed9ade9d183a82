"""Whether two runs sent the same requests, and whether as much came of them.

It must not know what was asked of the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from labkit.analysis import words
from labkit.analysis.comparison.difference import Difference
from labkit.analysis.comparison.places import Place
from labkit.analysis.comparison.told import Told
from labkit.analysis.row import Row, read

REALISED = (
    "num_requests",
    "num_error",
    "prompt_tokens.total",
    "completion_tokens.total",
    "offered_rate_per_s",
    "achieved_rate_per_s",
)
MAX_REALISED = 0.01
"""By how much of the larger one what was sent and answered may differ; drawn lengths stay equal."""
MAX_PLACES = 3


def compare_traffic(
    a: Told, b: Told, places: Sequence[Place], *, counted: bool
) -> list[Difference]:
    """Return where repeats of one seed got other requests; a thing of its own if counted."""
    found = []
    for place in places:
        seeds = {row.get("seed"): row for row in place.rows_b}
        for row in place.rows_a:
            if (other := seeds.get(row.get("seed"))) is None:
                continue
            one, two = a.point(row), b.point(other)
            if not is_same_traffic(one, two):
                marks = [str(point.get("workload_sha256"))[:12] for point in (one, two)]
                thing = "the traffic" if counted else None
                found.append(
                    (place.name, Difference("traffic", "traffic", marks[0], marks[1], thing))
                )
    return _gather(found)


def _gather(found: Sequence[tuple[str, Difference]]) -> list[Difference]:
    """Return one difference for each path, with the settings where it is."""
    gathered = []
    for path in dict.fromkeys(one.path for _, one in found):
        own = [(name, one) for name, one in found if one.path == path]
        names = list(dict.fromkeys(name for name, _ in own))
        more = [f"{len(names) - MAX_PLACES} more"] if len(names) > MAX_PLACES else []
        where = words.join([*names[:MAX_PLACES], *more])
        gathered.append(replace(own[0][1], path=f"{path} at {where}"))
    return gathered


def is_same_traffic(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two points got the same requests, but for the salt that keeps caches cold.

    The salt is the id of the point, so where ids differ the fingerprints of salted prompts do, too,
    and the params of the traffic, its seed and its source are compared.
    """
    if one.get("workload_sha256") == other.get("workload_sha256"):
        return True
    salted = bool((one.get("workload") or {}).get("salt"))
    if not salted or one.get("point_id") == other.get("point_id"):
        return False
    sources = [(point.get("traffic") or {}).get("source_sha256") for point in (one, other)]
    alike = [one.get(key) == other.get(key) for key in ("workload", "seed")]
    return all(alike) and sources[0] == sources[1]


def compare_realised(places: Sequence[Place], *, counted: bool) -> list[Difference]:
    """Return where what was sent and answered is unlike; a thing of its own if counted."""
    found = []
    for place in places:
        for field in REALISED:
            one, other = (_mean(rows, field) for rows in _share_seeds(place))
            if one is None or other is None:
                continue
            if abs(one - other) > MAX_REALISED * max(abs(one), abs(other)):
                thing = "the load that came about" if counted else None
                found.append((place.name, Difference("realised load", field, one, other, thing)))
    return _gather(found)


def _share_seeds(place: Place) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the repeats whose seeds both have, or all where they have none in common."""
    seeds = {row.get("seed") for row in place.rows_a} & {row.get("seed") for row in place.rows_b}
    if not seeds:
        return place.rows_a, place.rows_b
    one, other = (
        [row for row in rows if row.get("seed") in seeds] for rows in (place.rows_a, place.rows_b)
    )
    return one, other


def _mean(rows: Sequence[Row], field: str) -> float | None:
    told = [value for row in rows if (value := read(row, field)) is not None]
    return sum(told) / len(told) if told else None
