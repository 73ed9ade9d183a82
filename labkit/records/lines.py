"""JSON Lines: facts appended as they happen, read back whole, a torn line left out.

Stamps of chunks are by far the most of a request, so they are kept packed from the moment that
their line is read. This module must not know where a run keeps a file or what a field means.
"""

import contextlib
import functools
import gc
import json
import os
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from labkit.records.check import check_row

PACKED = ("chunk_at_s", "chunk_tokens")
ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class JsonlWriter:
    """Appends rows to a JSON Lines file, one complete line a write; safe to share by threads."""

    def __init__(self, path: Path) -> None:
        end_torn_line(path)
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one row. Raises ValueError for NaN, OSError where the disk refuses."""
        line = ENCODER.encode(row).encode() + b"\n"
        with self._lock:
            self._file.write(line)

    def close(self) -> None:
        """Close the file; rows written before stay."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()


def end_torn_line(path: Path) -> None:
    """End a last line that a killed writer left without its newline, so that it stays alone."""
    if path.exists() and path.stat().st_size:
        with path.open("rb+") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file, none if it is not there; a torn line is left out.

    Raises RecordsError, with file and line, for a stamp that is not a number and its like.
    """
    return [check_row(row, path, line) for line, row in _iterate(path)]


def read_requests(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a requests.jsonl, as read_jsonl does, with lists of numbers packed.

    A packed list is an array of doubles: a quarter of the memory of a list of floats.
    """
    rows = []
    with _pause_collector():
        for line, row in _iterate(path):
            for name in PACKED:
                if isinstance(row.get(name), list):
                    # a list that is not of numbers stays one
                    with contextlib.suppress(TypeError, OverflowError):
                        row[name] = array("d", row[name])
            rows.append(check_row(row, path, line))
    return rows


@contextlib.contextmanager
def _pause_collector() -> Iterator[None]:
    """Keep the collector of cycles from looking again and again through rows that hold none.

    It would take as long as the reading itself. It comes back as it was.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _iterate(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if not path.exists():
        return
    parse = _make_parser()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = parse(line)
            except ValueError:
                continue
            yield number, row


@functools.cache
def _make_parser() -> Callable[[bytes], dict[str, Any]]:
    from pydantic import TypeAdapter  # on demand: whoever only writes should not wait for it

    return TypeAdapter(dict[str, Any]).validate_json
