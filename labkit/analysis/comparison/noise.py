"""The noise of a machine: how much each metric scatters when the same thing is measured again.

It makes and reads the document of one machine, engine, model and traffic; where documents lie is
not its concern.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis.comparison.differences import ENGINES, HARDWARE, flatten
from labkit.analysis.comparison.metric import METRICS, take
from labkit.analysis.comparison.scatter import Scatter, find_scatter, pool_scatter
from labkit.analysis.row import Row, is_usable

SCHEMA = 1
_UNKEYED = ("seed",)
"""What of the traffic differs from repeat to repeat."""


def make_key(manifest: Mapping[str, Any], row: Row) -> dict[str, Any]:
    """Return what the noise of a point belongs to: hardware, engine, model, traffic, load.

    The engine's settings are not in it, for they are what comparisons are about.
    """
    environment = manifest.get("environment") or {}
    told = flatten(environment)
    asked = row.get("asked") or {}
    package = ENGINES.get(str(asked.get("kind")))
    workload = {k: v for k, v in (row.get("workload") or {}).items() if k not in _UNKEYED}
    return {
        "hardware": {path: told.get(path) for path in HARDWARE},
        "engine": {
            "kind": asked.get("kind"),
            "version": (environment.get("packages") or {}).get(package),
        },
        "model": asked.get("model"),
        "workload": workload,
        "load": dict(row.get("load") or {}),
    }


def name_key(key: Mapping[str, Any]) -> str:
    """Return the first 16 hex digits of the sha256 of a key."""
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]


def measure_noise(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return {field: {"deviation", "variation", "mean", "n", "reason"}} of repeats of one point.

    `deviation` is the standard deviation of logarithms, `variation` the coefficient of variation
    that goes with it; both are None, with the reason, where a metric has no such thing.
    """
    usable = [row for row in rows if is_usable(row)]
    found: dict[str, dict[str, Any]] = {}
    for plain in METRICS:
        field = plain.among(usable).field
        values, reason = take(usable, field) if usable else ([], "no usable repeat")
        scatter = find_scatter(values)
        if reason is None and scatter is None:
            reason = "it is 0 in some repeat" if len(values) > 1 else "fewer than two repeats"
        found[field] = {
            "deviation": scatter.deviation if scatter else None,
            "variation": scatter.variation if scatter else None,
            "mean": sum(values) / len(values) if values else None,
            "n": len(values),
            "reason": reason,
        }
    return found


def add_entry(
    document: Mapping[str, Any] | None, key: Mapping[str, Any], entry: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the document with the noise of one more run; one that is in it stays as it is."""
    entries = list((document or {}).get("entries") or [])
    if all(one.get("run_id") != entry.get("run_id") for one in entries):
        entries.append(dict(entry))
    return {"schema": SCHEMA, "key": dict(key), "entries": entries}


def read_noise(document: Mapping[str, Any], field: str) -> Scatter | None:
    """Return the noise of a field over all runs of a document, None where none measured it."""
    found = []
    for entry in document.get("entries") or []:
        told = (entry.get("metrics") or {}).get(field) or {}
        if told.get("deviation") is not None and told.get("n", 0) > 1:
            found.append(Scatter(float(told["deviation"]), int(told["n"]) - 1))
    return pool_scatter(found)
