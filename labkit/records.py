"""Facts on disk: appended as they happen, documents replaced atomically, nothing overwritten.

This module knows where a run keeps what. It must not know how a fact is measured or what follows
from it.
"""

import contextlib
import fcntl
import json
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from labkit.errors import RecordsError

SCHEMA = 1


class JsonlWriter:
    """Appends rows to a JSON Lines file, one complete line a write; safe to share by threads."""

    def __init__(self, path: Path) -> None:
        end_torn_line(path)
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one row. Raises ValueError for NaN, OSError where the disk refuses."""
        line = json.dumps(row, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self._file.write(line)

    def close(self) -> None:
        """Close the file; rows written before stay."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def end_torn_line(path: Path) -> None:
    """End a last line that a killed writer left without its newline, so that it stays alone."""
    if path.exists() and path.stat().st_size:
        with path.open("rb+") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file, none if it is not there; a torn line is left out."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def replace_text(path: Path, text: str) -> None:
    """Write a document so that a reader, or a crash, sees the old or the new one, never half."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def replace_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a strict JSON document atomically; NaN and infinity are refused."""
    replace_text(path, json.dumps(document, allow_nan=False, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON document. Raises RecordsError if it is missing or damaged."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordsError(f"expected {path}, found: {error.strerror}") from None
    except ValueError as error:
        raise RecordsError(f"expected JSON in {path}, found: {error}") from None
    if not isinstance(document, dict):
        raise RecordsError(f"expected a JSON object in {path}, found {type(document).__name__}")
    return document


@dataclass(frozen=True, slots=True)
class PointRecords:
    """What was recorded of one point."""

    point_id: str
    point: dict[str, Any]
    requests: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.params_path = path / "params.yaml"
        self.manifest_path = path / "manifest.json"
        self.summary_path = path / "summary.json"
        self.table_path = path / "summary.csv"
        self.progress_path = path / "progress.jsonl"
        self.report_path = path / "report.html"

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the run at this path. Raises RecordsError if no run is there."""
        run = cls(path)
        if not run.manifest_path.is_file():
            raise RecordsError(
                f"expected a run folder at {path}, found no manifest.json; `labkit list` names runs"
            )
        schema = run.manifest().get("schema")
        if schema != SCHEMA:
            raise RecordsError(f"expected schema {SCHEMA} in {run.manifest_path}, found {schema!r}")
        return run

    def manifest(self) -> dict[str, Any]:
        """Return manifest.json as it stands."""
        return read_json(self.manifest_path)

    def update_manifest(self, **changes: Any) -> None:
        """Replace the named keys of manifest.json."""
        replace_json(self.manifest_path, {**self.manifest(), **changes})

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the run for measuring; the system lets go of it when the process ends, however.

        Raises RecordsError if another process measures into this folder.
        """
        with (self.path / ".lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordsError(
                    f"expected {self.path} to be free, found another process measuring into it; "
                    "wait for it or stop it"
                ) from None
            yield

    def settle(self) -> None:
        """Make the status true where the process that measured ended without a word.

        A run that says `running` while nobody holds it was interrupted, and so was its point.
        """
        if self.manifest()["status"] != "running":
            return
        try:
            with self.hold():
                told = "the process that measured it ended before it could say how"
                for entry in self.manifest()["plan"]:
                    path = self.point_folder(entry["point_id"]) / "point.json"
                    if path.is_file() and (point := read_json(path))["status"] == "running":
                        replace_json(path, {**point, "status": "interrupted", "error": told})
                self.update_manifest(status="interrupted", error=told)
        except RecordsError:
            return

    def point_folder(self, point_id: str) -> Path:
        """Return the folder of a point, which need not exist."""
        return self.path / "points" / point_id

    def point(self, point_id: str) -> PointRecords | None:
        """Return what was recorded of a point, None if it was never begun."""
        folder = self.point_folder(point_id)
        if not (folder / "point.json").is_file():
            return None
        return PointRecords(
            point_id,
            read_json(folder / "point.json"),
            read_jsonl(folder / "requests.jsonl"),
            read_jsonl(folder / "samples.jsonl"),
        )

    def points(self) -> list[PointRecords]:
        """Return what was recorded, in the order of the plan; points never begun are left out."""
        found = (self.point(entry["point_id"]) for entry in self.manifest()["plan"])
        return [records for records in found if records is not None]


def create_folder(reports: Path, name: str) -> Path:
    """Make a folder under `reports` that was not there before, and return it."""
    reports.mkdir(parents=True, exist_ok=True)
    for count in range(1, 1000):
        path = reports / (name if count == 1 else f"{name}-{count}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise RecordsError(f"expected a free name for {reports / name}, found 999 taken; clear reports")


def list_runs(reports: Path) -> list[RunFolder]:
    """Return the runs below `reports`, oldest first."""
    named = re.compile(r"^\d{8}T\d{6}Z-")
    if not reports.is_dir():
        return []
    paths = sorted(path for path in reports.iterdir() if named.match(path.name))
    return [RunFolder(path) for path in paths if (path / "manifest.json").is_file()]
