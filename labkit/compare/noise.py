"""Where the noise of this machine is kept: `noise/` beside the run folders, a file a key.

A file holds the noise of every run that measured it; a later run is added and replaces none. It
must not know how noise is computed.
"""

from pathlib import Path
from typing import Any

from labkit.analysis.comparison.lines import FindNoise
from labkit.analysis.comparison.noise import (
    add_entry,
    make_key,
    measure_noise,
    name_key,
    read_noise,
)
from labkit.analysis.comparison.places import Place
from labkit.analysis.comparison.scatter import Scatter
from labkit.analysis.comparison.told import Told
from labkit.analysis.row import Row, is_usable
from labkit.errors import RecordsError
from labkit.records import read_json, replace_json


def store_noise(run: Told, reports: Path) -> tuple[Path, dict[str, Any]]:
    """Add the noise that the repeats of a run's first value tell; return the file, what it holds.

    Raises RecordsError if fewer than two repeats can be used.
    """
    usable = [row for row in run.summary["points"] if is_usable(row)]
    rows = [row for row in usable if _is_equal(row, usable[0])]
    if len(rows) < 2:
        raise RecordsError(
            f"expected two or more usable repeats in {run.name} for its noise, "
            f"found {len(rows)}; see what its report says of the others"
        )
    key = make_key(run.manifest, rows[0])
    path = reports / "noise" / f"{name_key(key)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = read_json(path) if path.is_file() else None
    entry = {
        "run_id": run.name,
        "started_at": run.manifest.get("started_at"),
        "variable": rows[0].get("variable"),
        "value": rows[0].get("value"),
        "engine": rows[0].get("asked"),
        "metrics": measure_noise(rows),
    }
    document = add_entry(before, key, entry)
    replace_json(path, document)
    return path, document


def _is_equal(row: Row, other: Row) -> bool:
    return all(row.get(name) == other.get(name) for name in ("series", "variable", "value"))


def open_noise(run: Told, reports: Path) -> FindNoise:
    """Return a function that finds the stored noise of a field at a place of a run."""
    read: dict[str, dict[str, Any] | None] = {}

    def find(place: Place, field: str) -> Scatter | None:
        if not place.rows_a:
            return None
        name = name_key(make_key(run.manifest, place.rows_a[0]))
        path = reports / "noise" / f"{name}.json"
        if name not in read:
            read[name] = read_json(path) if path.is_file() else None
        document = read[name]
        return None if document is None else read_noise(document, field)

    return find
