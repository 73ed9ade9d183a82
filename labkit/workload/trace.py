"""Recorded arrivals and lengths: Mooncake's JSONL and BurstGPT's CSV, told apart by their first
character. This module must not know what is written into the prompts.
"""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from labkit.errors import ParamsError
from labkit.params.length import MAX_TOKENS
from labkit.workload.source import Source, read_objects, refuse, shorten

COLUMNS = ("Timestamp", "Request tokens", "Response tokens")


@dataclass(frozen=True, slots=True)
class Record:
    """One request of a trace."""

    at_s: float
    prompt_tokens: int
    completion_tokens: int
    blocks: tuple[int, ...] | None
    """Names of the blocks that the prompt is made of; None where the trace doesn't tell."""


def read_trace(source: Source) -> list[Record]:
    """Return the records in the order of their time; raises ParamsError for a bad line."""
    is_json = source.text.lstrip().startswith("{")
    records = list(_read_mooncake(source) if is_json else _read_burstgpt(source))
    return sorted(records, key=lambda record: record.at_s)


def _read_mooncake(source: Source) -> Iterator[Record]:
    for number, line in read_objects(source):
        ids = line.get("hash_ids")
        if ids is not None and not (
            isinstance(ids, list) and all(isinstance(one, int) for one in ids)
        ):
            told = f"expected hash_ids to be whole numbers, found {shorten(ids)}"
            raise refuse(source, number, told)
        yield Record(
            at_s=_read_number(line, "timestamp", source, number) / 1000,
            prompt_tokens=_read_count(line, "input_length", source, number),
            completion_tokens=_read_count(line, "output_length", source, number),
            blocks=None if ids is None else tuple(ids),
        )


def _read_burstgpt(source: Source) -> Iterator[Record]:
    rows = csv.DictReader(io.StringIO(source.text, newline=""), skipinitialspace=True)
    missing = [name for name in COLUMNS if name not in _list_names(rows, source)]
    if missing:
        expected = "expected Mooncake's JSON or BurstGPT's columns"
        raise refuse(source, 1, f"{expected}, found no {', '.join(missing)}")
    for row in _iterate(rows, source):
        told = {str(name).strip(): text for name, text in row.items()}
        yield Record(
            at_s=_read_number(told, "Timestamp", source, rows.line_num),
            prompt_tokens=_read_count(told, "Request tokens", source, rows.line_num),
            completion_tokens=_read_count(told, "Response tokens", source, rows.line_num),
            blocks=None,
        )


def _iterate(rows: "csv.DictReader[str]", source: Source) -> Iterator[dict[str, Any]]:
    try:
        yield from rows
    except csv.Error as error:  # a quote that never ends, for one
        raise _refuse_row(rows, source, error) from None


def _list_names(rows: "csv.DictReader[str]", source: Source) -> list[str]:
    try:
        return [name.strip() for name in rows.fieldnames or ()]
    except csv.Error as error:
        raise _refuse_row(rows, source, error) from None


def _refuse_row(rows: "csv.DictReader[str]", source: Source, error: csv.Error) -> ParamsError:
    return refuse(source, rows.line_num + 1, f"expected a line of CSV, found: {error}")


def _read_number(line: dict[str, Any], name: str, source: Source, number: int) -> float:
    found = line.get(name)
    try:
        value = math.nan if found is None or isinstance(found, bool) else float(found)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        told = f"expected {name} to be a number from 0 up, found {shorten(found)}"
        raise refuse(source, number, told)
    return value


def _read_count(line: dict[str, Any], name: str, source: Source, number: int) -> int:
    value = _read_number(line, name, source, number)
    if value != int(value):
        raise refuse(source, number, f"expected {name} to be a whole number, found {value}")
    if value > MAX_TOKENS:
        raise refuse(source, number, f"expected {name} to be at most {MAX_TOKENS:,}, found {value}")
    return int(value)
