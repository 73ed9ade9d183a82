"""What there is to say of each run, from its documents alone: requests and samples are not read.

It must not know how a verdict comes about, nor how a list is shown.
"""

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from labkit.analysis.findings import headline
from labkit.analysis.row import is_usable
from labkit.errors import LabkitError, RecordsError
from labkit.params.document import read_yaml
from labkit.records import RunFolder, list_folders, read_json
from labkit.report.quantities import look_up, order_values

OUTPUT = "output_throughput_tokens_per_s"
VERDICTS = ("VALID", "SUSPECT", "INVALID")
WRONG = (AttributeError, KeyError, TypeError, ValueError, OSError)
"""What reading a document raises that is whole JSON and still not a run's, or can't be read."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Output tokens/s of one arm of a sweep: the mean of usable repeats, by value, in order."""

    variable: str
    series: str | None
    points: tuple[tuple[Any, float], ...]


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run in a list. Of a damaged one only `run_id` and `damage` need be known."""

    run_id: str
    damage: str | None = None
    """What is wrong with its files, in a line."""
    name: str | None = None
    status: str | None = None
    error: str | None = None
    started_at: str | None = None
    """ISO 8601, UTC."""
    engine: str | None = None
    model: str | None = None
    notebook: str | None = None
    """The question: which notebook it executed."""
    variables: tuple[str, ...] = ()
    num_points: int | None = None
    """None for a run of steps."""
    num_measured: int | None = None
    verdicts: dict[str, int] = field(default_factory=dict)
    """Of its points or, where it took steps, of these."""
    headline: str | None = None
    curves: tuple[Curve, ...] = ()
    files: tuple[str, ...] = ()
    """Of report.html and the notebook those that are there, by name."""

    @property
    def text(self) -> str:
        """Everything that is said of it, to be searched."""
        told = (self.run_id, self.name, self.status, self.engine, self.model, self.notebook)
        counts = (f"{number} {verdict}" for verdict, number in self.verdicts.items())
        found = (self.headline, self.damage and "damaged", self.damage, self.started_at, self.error)
        return " ".join(filter(None, (*told, *self.variables, *counts, *found)))


def list_entries(reports: Path, wanted: str = "") -> list[RunEntry]:
    """Return every run below `reports`, oldest first, of which each word of `wanted` is told."""
    entries = map(describe_run, list_folders(reports))
    asked = wanted.lower().split()
    return [one for one in entries if all(word in one.text.lower() for word in asked)]


def describe_run(run: RunFolder) -> RunEntry:
    """Return what the documents of a run say, or that it is damaged and where; raises nothing."""
    try:
        return _describe(run)
    except LabkitError as error:
        told = str(error).replace(f"{run.path}/", "")
        return RunEntry(run.path.name, " ".join(told.split()))
    except WRONG as error:
        kind = type(error).__name__
        return RunEntry(run.path.name, f"expected a whole run, found {kind}: {error}"[:200])


def _describe(run: RunFolder) -> RunEntry:
    with contextlib.suppress(OSError):  # of a folder that may only be read
        run.settle()
    manifest = run.manifest()
    summary = _read_summary(run)
    rows = summary.get("points", [])
    params = {} if rows else _read_params(run)  # the slowest part: a summary knows all of it
    engines = [row.get("asked") or {} for row in rows] or [params.get("engine") or {}]
    steps = summary.get("ladder") or []
    counts = Counter(str(row.get("validity")) for row in rows)
    counts += Counter(str(step.get("verdict")) for step in steps)
    made = manifest.get("notebook") or {}
    notebook = str(made.get("name") or params.get("notebook") or "")
    files = ["report.html", *([notebook] if notebook else [])]
    return RunEntry(
        run_id=run.path.name,
        name=str(manifest.get("name") or run.path.name),
        status=str(manifest["status"]),
        error=_text(manifest.get("error")),
        started_at=_text(manifest.get("started_at")),
        engine=_join(one.get("kind") for one in engines),
        model=_join(_shorten(one.get("model")) for one in engines),
        notebook=Path(notebook).name.removesuffix(".ipynb") or None,
        variables=tuple(dict.fromkeys(_list_variables(manifest))),
        num_points=None if steps else len(manifest["plan"]),
        num_measured=run.count_measured(),
        verdicts={name: counts[name] for name in (*VERDICTS, *sorted(counts)) if counts[name]},
        headline=_read_headline(run, summary),
        curves=tuple(find_curves(rows)),
        files=tuple(name for name in files if (run.path / name).is_file()),
    )


def _text(told: Any) -> str | None:
    return None if told is None else str(told)


def _list_variables(manifest: Mapping[str, Any]) -> list[str]:
    return [str(entry["variable"]) for entry in manifest["plan"] if entry.get("variable")]


def _read_summary(run: RunFolder) -> dict[str, Any]:
    """Return summary.json, an empty one where none was written yet."""
    if not run.summary_path.is_file():
        return {}
    summary = read_json(run.summary_path)
    rows = summary.get("points")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RecordsError(f"expected a list of points in {run.summary_path}, found another thing")
    return summary


def _read_params(run: RunFolder) -> dict[str, Any]:
    try:
        found = read_yaml(run.params_path.read_text(encoding="utf-8"), f"in {run.params_path}")
    except (OSError, UnicodeDecodeError):
        raise RecordsError(f"expected params in {run.params_path}, found none") from None
    return found if isinstance(found, dict) else {}


def _read_headline(run: RunFolder, summary: Mapping[str, Any]) -> str | None:
    return run.headline() or (headline(summary) if "points" in summary else None)


def _join(told: Iterable[Any]) -> str | None:
    """Return what all points have, or what each of them has; None for nothing."""
    return ", ".join(dict.fromkeys(str(one) for one in told if one)) or None


def _shorten(model: Any) -> str | None:
    """Return a model without its folders: of a path the file, of a hub name the last part."""
    return str(model).rstrip("/").rpartition("/")[2] if model else None


def find_curves(rows: list[dict[str, Any]]) -> list[Curve]:
    """Return a curve for each arm of each sweep; a value without a usable number is left out."""
    arms: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for row in rows:
        rate = look_up(row, OUTPUT)
        if row.get("variable") and is_usable(row) and rate is not None and math.isfinite(rate):
            arms.setdefault((str(row["variable"]), _text(row.get("series"))), []).append(row)
    curves = []
    for (variable, series), own in arms.items():
        points = []
        for value in order_values(row.get("value") for row in own):
            same = [row for row in own if repr(row.get("value")) == repr(value)]
            points.append((value, fmean(look_up(row, OUTPUT) or 0 for row in same)))
        curves.append(Curve(variable, series, tuple(points)))
    return curves
