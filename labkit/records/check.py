"""Whether a document or a row is what a run writes: the types of what others compute with.

It must not know where a file lies, nor judge whether a value is plausible.
"""

import functools
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import RecordsError

Kinds = Mapping[str, tuple[type, ...]]

NOTHING = type(None)
NUMBERS = frozenset((int, float, NOTHING))
"""What JSON reads as a number or null; bool is another type than int."""
MANIFEST: Kinds = {"status": (str,), "plan": (list,)}
MANIFEST_WHOLE: Kinds = {
    **MANIFEST,
    "name": (str,),
    "error": (str, NOTHING),
    "started_at": (str,),
    "environment": (dict,),
    "notebook": (dict, NOTHING),
}
PLACE: Kinds = {"point_id": (str,)}
POINT: Kinds = {"status": (str,)}
PARTS = ("engine", "effective", "workload", "load", "traffic", "client", "gpu")
WORDS = {str: "text", list: "a list", dict: "an object", NOTHING: "null"}


def check_manifest(document: dict[str, Any], path: Path, *, whole: bool = False) -> dict[str, Any]:
    """Return a manifest.json as it is, or raise RecordsError that names the file.

    `whole` asks for all that a report needs, not only for what says how a run stands.
    """
    _check_fields(document, MANIFEST_WHOLE if whole else MANIFEST, path)
    for entry in document["plan"]:
        if not isinstance(entry, dict):
            raise RecordsError(f"expected objects in the plan of {path}, found {entry!r}")
        _check_fields(entry, {**PLACE, "variable": (str,)} if whole else PLACE, path)
    return document


def check_point(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return a point.json as it is, or raise RecordsError that names the file."""
    told = {name: (dict, NOTHING) for name in PARTS if name in document}
    _check_fields(document, {**POINT, **told}, path)
    return document


def check_row(row: dict[str, Any], path: Path, line: int) -> dict[str, Any]:
    """Return a row of a request or a sample as it is, or raise RecordsError naming file and line.

    A stamp, a length in seconds and a count of tokens is a number or null; a packed list of stamps
    is an array of them.
    """
    for name, value in row.items():
        expected = _name_expected(name)
        if expected is not None and not _TESTS[expected](value):
            raise RecordsError(
                f"expected {name} to be {expected} in {path} line {line}, found "
                f"{str(value)[:60]!r}; the line is damaged, take it out"
            )
    return row


@functools.lru_cache(maxsize=1024)
def _name_expected(name: str) -> str | None:
    """Return which of _TESTS a field must pass, None for a field that may be anything."""
    if name == "chunk_at_s":
        return "a list of numbers"
    if name == "chunk_tokens":
        return "a list"
    if name.endswith(("_s", "_tokens")):
        return "a number or null"
    return "text" if name in ("status", "source") else None


def _is_packable(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, list):
        return isinstance(value, array)
    try:
        array("d", value)
    except (TypeError, OverflowError):
        return False
    return True


def _is_number(value: Any) -> bool:
    return type(value) in NUMBERS


def _is_list(value: Any) -> bool:
    return value is None or isinstance(value, array | list)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_TESTS = {
    "a list of numbers": _is_packable,
    "a list": _is_list,
    "a number or null": _is_number,
    "text": _is_text,
}


def _check_fields(document: Mapping[str, Any], kinds: Kinds, path: Path) -> None:
    for name, allowed in kinds.items():
        if name not in document:
            raise RecordsError(f"expected {name} in {path}, found none; the file is damaged")
        if not isinstance(document[name], allowed):
            expected = " or ".join(WORDS[kind] for kind in allowed)
            raise RecordsError(
                f"expected {name} to be {expected} in {path}, found "
                f"{str(document[name])[:60]!r}; the file is damaged"
            )
