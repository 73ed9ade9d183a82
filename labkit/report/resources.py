"""A table of what a point took: energy, price, the state of the GPUs, and the sampling itself.

It knows rows of summary.json; it must not know how a GPU is asked.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from labkit.analysis import words
from labkit.analysis.row import name_value
from labkit.report.quantities import look_up
from labkit.report.tables import MISSING, make_table

Row = dict[str, Any]
IS_MISSING = 'class="missing"'
TITLE = re.compile(r'title="([^"]*)"')
NUMBERS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("Energy (J)", "gpu_energy_j", words.number),
    ("J per output token", "energy_per_output_token_j", words.number),
    ("J per good token", "energy_per_good_token_j", words.number),
    ("Price of 1M good tokens", "price_per_million_good_tokens", words.number),
)


def resources_table(summary: Mapping[str, Any]) -> str:
    """Return one row a point, a reason in place of what was not measured; "" without points.

    A column that no point has is left out, and said below with its reason.
    """
    rows = summary.get("points", [])
    if not rows:
        return ""
    head = ["Point", *(name for name, _, _ in NUMBERS), "GPU held back by", "Memory errors",
            "Other processes", "Sampling (cores)", "Gaps"]  # fmt: skip
    body = [_list_cells(row) for row in rows]
    every = range(len(head))
    empty = [place for place in every if all(IS_MISSING in cells[place] for cells in body)]
    kept = [place for place in every if place not in empty]
    table = make_table(
        "What each point took",
        [head[place] for place in kept],
        [[cells[place] for place in kept] for cells in body],
        kind="resources",
    )
    reasons: dict[str, list[str]] = {}
    for place in empty:
        reason = TITLE.search(body[0][place])
        reasons.setdefault(reason[1] if reason else "", []).append(escape(head[place]))
    told = "; ".join(
        f"{words.join(names)}{f' ({why})' if why else ''}" for why, names in reasons.items()
    )
    return table + (f'\n<p class="reading">Not measured at any point: {told}.</p>' if told else "")


def _list_cells(row: Row) -> list[str]:
    place = f"{words.short(row.get('variable'))} {name_value(row)}"
    if row.get("repeat"):
        place += f" (repeat {row['repeat']})"
    cells = [f'<th scope="row">{escape(place)}</th>']
    for _, field, form in NUMBERS:
        number = look_up(row, field)
        unit = f" {row['price_currency']}" if field.startswith("price") and number else ""
        cells.append(_show(row, field, None if number is None else form(number) + unit))
    return [*cells, *_list_state(row), *_list_sampling(row)]


def _list_state(row: Row) -> list[str]:
    state = row.get("gpu_state") or {}
    limits, errors = state.get("throttle_reasons"), state.get("ecc_errors")
    foreign = state.get("foreign_processes")
    held = None
    if limits is not None:
        parts = [f"{name} {words.percent(share)}" for name, share in limits.items()]
        held = words.join(parts) or "nothing"
    others = None
    if foreign is not None:
        others = words.join([_name(one) for one in foreign]) or "none"
    return [
        _show(row, "gpu_state.throttle_reasons", held),
        _show(row, "gpu_state.ecc_errors", None if errors is None else str(errors)),
        _show(row, "gpu_state.foreign_processes", others),
    ]


def _name(process: Mapping[str, Any]) -> str:
    size = process["gpu_memory_used_bytes"]
    memory = "memory not told" if size is None else words.gibibytes(size)
    return f"{process['name'] or 'name not told'} ({memory})"


def _list_sampling(row: Row) -> list[str]:
    told: Sequence[Row] = list((row.get("sampling") or {}).values())
    cores = [one["cores"] for one in told if one["cores"] is not None]
    gaps = str(sum(one["gaps"] for one in told)) if told else None
    return [
        _show(row, "sampling", words.number(sum(cores)) if cores else None),
        _show(row, "sampling", gaps),
    ]


def _show(row: Row, field: str, text: str | None) -> str:
    if text is not None:
        return f"<td>{escape(text)}</td>"
    reasons = row.get("null_reasons") or {}
    reason = reasons.get(field) or reasons.get(field.partition(".")[0]) or ""
    return MISSING.format(reason=escape(str(reason)))
