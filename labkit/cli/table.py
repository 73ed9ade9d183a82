"""Runs as lines of a terminal: columns that line up, and a result cut to what room there is.

It must not know how a run is read.
"""

import shutil
from collections.abc import Iterator, Sequence

from labkit.analysis import words
from labkit.listing import RunEntry

FOUND_PIPED = 80
"""Columns of a result where there is no terminal to fit."""
MIN_FOUND = 40
"""Columns that a result needs to say something; these make room for it, in this order."""
DROPPED = ("name", "started", "notebook", "engine", "model")
GAP = "  "


def make_lines(entries: Sequence[RunEntry], *, is_terminal: bool) -> Iterator[str]:
    """Yield a head and a line a run; nothing without runs.

    In a terminal too narrow for all, columns that the run's id or the page tells as well go first.
    """
    if not entries:
        return
    columns = _fill(entries)
    found, room = columns.pop("found"), FOUND_PIPED
    if is_terminal:
        width = shutil.get_terminal_size().columns
        for name in DROPPED:
            if _measure(columns) + MIN_FOUND > width:
                del columns[name]
        room = max(MIN_FOUND, width - _measure(columns))
    sizes = [max(map(len, column)) for column in columns.values()]
    for number, told in enumerate(found):
        cells = zip(columns.values(), sizes, strict=True)
        line = GAP.join(f"{column[number]:<{size}}" for column, size in cells)
        yield f"{line}{GAP}{_cut(told, room)}".rstrip()


def _fill(entries: Sequence[RunEntry]) -> dict[str, list[str]]:
    """Return the cells of every column, its head first."""
    columns = {
        "run": [entry.run_id for entry in entries],
        "started": [(entry.started_at or "")[:16].replace("T", " ") for entry in entries],
        "name": [entry.name or "" for entry in entries],
        "notebook": [entry.notebook or "" for entry in entries],
        "engine": [entry.engine or "" for entry in entries],
        "model": [entry.model or "" for entry in entries],
        "variable": [", ".join(map(words.short, entry.variables)) for entry in entries],
        "points": [_count_points(entry) for entry in entries],
        "verdict": [_tell_verdicts(entry) for entry in entries],
        "found": [_tell_result(entry) for entry in entries],
    }
    return {name: [name, *map(_clean, cells)] for name, cells in columns.items()}


def _clean(text: str) -> str:
    """Return a text in one line, without what would move a terminal's cursor or colour it."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _measure(columns: dict[str, list[str]]) -> int:
    return sum(max(map(len, column)) + len(GAP) for column in columns.values())


def _count_points(entry: RunEntry) -> str:
    return "" if entry.num_points is None else f"{entry.num_measured} of {entry.num_points}"


def _tell_verdicts(entry: RunEntry) -> str:
    return ", ".join(f"{number} {name}" for name, number in entry.verdicts.items())


def _tell_result(entry: RunEntry) -> str:
    """Return the headline; before it what became of a run that did not complete."""
    if entry.damage:
        return f"damaged: {entry.damage}"
    told = [] if entry.status == "completed" else [str(entry.status)]
    return ": ".join([*told, *([entry.headline] if entry.headline else [])])


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1].rstrip()}…"
