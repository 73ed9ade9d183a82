"""Where a run keeps what: its documents, and the records of its points.

It must not know how a fact is measured or what follows from it.
"""

import contextlib
import fcntl
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, overload

from labkit.errors import RecordsError
from labkit.records.check import check_manifest, check_point
from labkit.records.documents import read_json, replace_json
from labkit.records.lines import read_jsonl, read_requests

SCHEMA = 1
COMPARISON = "comparison.json"
"""What a folder holds that is not a run but tells how two of them differ."""
UNTOLD = "the process that measured it ended before it could say how"


@dataclass(frozen=True, slots=True)
class PointRecords:
    """What was recorded of one point, and what its run knows of the client's ceiling."""

    point_id: str
    point: dict[str, Any]
    requests: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    headroom: dict[str, Any] | None = None
    headroom_reason: str | None = None
    """Why `headroom` is None, where that is known."""


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.params_path = path / "params.yaml"
        self.manifest_path = path / "manifest.json"
        self.summary_path = path / "summary.json"
        self.findings_path = path / "findings.json"
        self.table_path = path / "summary.csv"
        self.progress_path = path / "progress.jsonl"
        self.ladder_path = path / "ladder.jsonl"
        self.report_path = path / "report.html"

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the run at this path. Raises RecordsError if no run is there."""
        run = cls(path)
        if not run.manifest_path.is_file():
            raise RecordsError(
                f"expected a run folder at {path}, found no manifest.json; `labkit list` names runs"
            )
        manifest = read_json(run.manifest_path)
        schema = manifest.get("schema")
        if schema != SCHEMA:
            raise RecordsError(f"expected schema {SCHEMA} in {run.manifest_path}, found {schema!r}")
        check_manifest(manifest, run.manifest_path, whole=True)
        return run

    def manifest(self) -> dict[str, Any]:
        """Return manifest.json as it stands. Raises RecordsError if it is damaged."""
        return check_manifest(read_json(self.manifest_path), self.manifest_path)

    def update_manifest(self, **changes: Any) -> None:
        """Replace the named keys of manifest.json."""
        replace_json(self.manifest_path, {**self.manifest(), **changes})

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the run for measuring; the system lets go of it when the process ends, however.

        Raises RecordsError if another process measures into this folder.
        """
        with self._lock(".lock", "measuring into it"):
            yield

    @contextlib.contextmanager
    def hold_notebook(self) -> Iterator[None]:
        """Hold the run's notebook for executing it; this does not keep others from measuring.

        Raises RecordsError if another process executes it.
        """
        with self._lock(".notebook.lock", "making its notebook"):
            yield

    @contextlib.contextmanager
    def _lock(self, name: str, doing: str) -> Iterator[None]:
        with (self.path / name).open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordsError(
                    f"expected {self.path} to be free, found another process {doing}; "
                    "wait for it or stop it"
                ) from None
            yield

    def settle(self) -> None:
        """Make the status true where the process that measured ended without a word.

        A run that says `running` while nobody holds it was interrupted, and so was its point. A
        notebook that says so failed, and a run that it was to measure never began.
        """
        with contextlib.suppress(RecordsError):
            if self.manifest()["status"] == "running":
                with self.hold():
                    self._settle_points()
                    self.update_manifest(status="interrupted", error=UNTOLD)
        with contextlib.suppress(RecordsError):
            manifest = self.manifest()
            notebook = manifest.get("notebook") or {}
            if manifest["status"] != "running" and notebook.get("status") == "running":
                with self.hold_notebook():
                    self.update_manifest(notebook={**notebook, "status": "failed"})
                    if manifest["status"] == "created":
                        self.update_manifest(status="interrupted", error=UNTOLD)

    def _settle_points(self) -> None:
        for entry in self.manifest()["plan"]:
            point = self._document(entry["point_id"])
            if point is not None and point["status"] == "running":
                path = self.point_folder(entry["point_id"]) / "point.json"
                replace_json(path, {**point, "status": "interrupted", "error": UNTOLD})

    def point_folder(self, point_id: str) -> Path:
        """Return the folder of a point, which need not exist."""
        return self.path / "points" / point_id

    def point(self, point_id: str) -> PointRecords | None:
        """Return what was recorded of a point, None if it was never begun."""
        folder, document = self.point_folder(point_id), self._document(point_id)
        if document is None:
            return None
        return PointRecords(
            point_id,
            document,
            read_requests(folder / "requests.jsonl"),
            read_jsonl(folder / "samples.jsonl"),
            **self._headroom(),
        )

    def is_measured(self, point_id: str) -> bool:
        """Return whether a point ended well; only its document is read, which is quick."""
        document = self._document(point_id)
        return document is not None and document["status"] == "ok"

    def count_measured(self) -> int:
        """Return how many points of the plan ended well."""
        return sum(self.is_measured(entry["point_id"]) for entry in self.manifest()["plan"])

    def headline(self) -> str | None:
        """Return the result in one line as findings.json tells it, None where it does not."""
        told = (
            read_json(self.findings_path).get("headline") if self.findings_path.is_file() else None
        )
        return str(told) if told else None

    def ladder(self) -> list[dict[str, Any]]:
        """Return the steps of a ladder in order, none for a run that climbed none."""
        return read_jsonl(self.ladder_path)

    def _document(self, point_id: str) -> dict[str, Any] | None:
        path = self.point_folder(point_id) / "point.json"
        return check_point(read_json(path), path) if path.is_file() else None

    def _headroom(self) -> dict[str, Any]:
        manifest = self.manifest() if self.manifest_path.is_file() else {}
        return {name: manifest.get(name) for name in ("headroom", "headroom_reason")}

    def points(self) -> "Points":
        """Return what was recorded, in the order of the plan; points never begun are left out."""
        planned = [entry["point_id"] for entry in self.manifest()["plan"]]
        begun = [one for one in planned if (self.point_folder(one) / "point.json").is_file()]
        return Points(self, begun)


class Points(Sequence[PointRecords]):
    """The points of a run, each read when it is asked for and not kept: one may fill a memory."""

    def __init__(self, run: RunFolder, point_ids: Sequence[str]) -> None:
        self._run = run
        self._point_ids = point_ids

    def __len__(self) -> int:
        return len(self._point_ids)

    def __iter__(self) -> Iterator[PointRecords]:
        for place in range(len(self)):
            yield self[place]

    @overload
    def __getitem__(self, place: int) -> PointRecords: ...
    @overload
    def __getitem__(self, place: slice) -> "Points": ...
    def __getitem__(self, place: int | slice) -> "PointRecords | Points":
        if isinstance(place, slice):
            return Points(self._run, self._point_ids[place])
        records = self._run.point(self._point_ids[place])
        assert records is not None, "a point that was begun has a record"
        return records


def create_folder(reports: Path, name: str) -> Path:
    """Make a folder under `reports` that was not there before, for its owner alone: what models
    were asked and what they wrote may stand in it. Return it.
    """
    reports.mkdir(parents=True, exist_ok=True)
    for count in range(1, 1000):
        path = reports / (name if count == 1 else f"{name}-{count}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return path
    raise RecordsError(f"expected a free name for {reports / name}, found 999 taken; clear reports")


def set_aside(path: Path) -> None:
    """Rename a file or folder that is there to the first free `.attemptN` above the highest.

    `sweep.ipynb` becomes `sweep.attempt1.ipynb`; of a folder's name nothing is a suffix.
    """
    if not path.exists():
        return
    suffix = "" if path.is_dir() else path.suffix
    stem = path.name.removesuffix(suffix)
    named = re.compile(rf"{re.escape(stem)}\.attempt(\d+){re.escape(suffix)}")
    taken = [int(found[1]) for one in path.parent.iterdir() if (found := named.fullmatch(one.name))]
    path.rename(path.with_name(f"{stem}.attempt{max(taken, default=0) + 1}{suffix}"))


def list_folders(reports: Path) -> list[RunFolder]:
    """Return what is named as a run below `reports`, oldest first, damaged ones as well.

    Comparisons of runs, which have folders of their own there, are left out.
    """
    named = re.compile(r"^\d{8}T\d{6}Z-")
    if not reports.is_dir():
        return []
    paths = sorted(path for path in reports.iterdir() if named.match(path.name) and path.is_dir())
    return [RunFolder(path) for path in paths if not (path / COMPARISON).is_file()]


def list_runs(reports: Path) -> list[RunFolder]:
    """Return the runs below `reports`, oldest first."""
    return [run for run in list_folders(reports) if run.manifest_path.is_file()]
