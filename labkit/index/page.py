"""All runs of a folder as one HTML page that needs no network: to find a run, sort, open it.

Whatever a user or a model wrote is escaped, and a content security policy lets the browser run
only the page's own script. The same runs give the same bytes. It must not know what is in a run.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from urllib.parse import quote

from labkit.analysis import words
from labkit.errors import RecordsError
from labkit.index.sparkline import draw_curves
from labkit.listing import RunEntry, list_entries
from labkit.records import replace_text
from labkit.report import theme
from labkit.report.export import ICON, TEMPLATE, digest

INDEX = "index.html"
HERE = Path(__file__).parent
MADE = '<meta name="generator" content="labkit">'
"""Stands in the head of every index; another index.html is not labkit's to replace."""
COLUMNS = (
    "Run",
    "Started (UTC)",
    "Engine",
    "Model",
    "Notebook",
    "Moved",
    "Verdicts",
    "Output (tokens/s)",
    "What was found",
)
STARTED = COLUMNS.index("Started (UTC)")
HUES = (theme.BLUE, theme.VERMILLION, theme.GREEN, theme.PURPLE, theme.AMBER, theme.SKY)
DASHES = ("none", "5 2", "2 2", "7 2 2 2", "3 3", "1 2")
CLASSES = {
    "VALID": "valid",
    "SUSPECT": "suspect",
    "works": "valid",
    "not offered": "reason",
    "not tried": "reason",
}
"""How a verdict on a point, or on a step of a ladder, looks; any other one as INVALID does."""


def write_index(reports: Path) -> Path:
    """Write index.html of a folder of runs atomically and return its path.

    A damaged run stands there as such. Raises RecordsError where the folder, or an index.html in
    it, is not labkit's, and OSError where the disk refuses.
    """
    path = reports / INDEX
    if not reports.is_dir():
        raise RecordsError(f"expected a folder of runs at {reports}, found none; name another")
    if path.exists() and MADE not in path.read_text(encoding="utf-8", errors="replace")[:2000]:
        raise RecordsError(
            f"expected labkit's own page at {path}, found another; move it, then `labkit list "
            "--html` makes one"
        )
    replace_text(path, make_page(list_entries(reports)))
    return path


def make_page(entries: Sequence[RunEntry]) -> str:
    """Return the page, the youngest run first."""
    script = (HERE / "index.js").read_text(encoding="utf-8")
    sheets = (TEMPLATE / "report.css", HERE / "index.css")
    css = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets) + _colour_series()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    heads = "".join(_make_head(number, name) for number, name in enumerate(COLUMNS))
    rows = "\n".join(_make_row(entry) for entry in reversed(entries))
    counted = words.count(len(entries), "run")
    body = (
        f'<div class="tools" id="tools" hidden><label for="filter">Filter</label>'
        '<input type="search" id="filter" autocomplete="off" spellcheck="false" '
        'placeholder="a model, an engine, a setting, INVALID ...">'
        f'<label for="order" class="narrow">Sort by</label><select id="order" class="narrow">'
        f"{_list_orders()}</select>"
        f'<p id="count" role="status">{counted}</p></div>\n'
        f'<table class="runs" role="table"><caption>Every run of this folder</caption>\n'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n'
        f'<tbody role="rowgroup">\n{rows}\n</tbody></table>\n'
        '<p id="none" hidden>No run has all of these words.</p>'
    )
    if not entries:
        body = "<p>No runs yet. <code>labkit run params/quickstart.yaml</code> makes one.</p>"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{MADE}\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<title>labkit: {counted}</title>\n<link rel="icon" href="{ICON}">\n'
        f'<style>\n{css}</style>\n</head>\n<body>\n<main class="index">\n'
        f'<header><h1>Runs</h1>\n<p class="facts">{counted}. '
        "<code>labkit run</code> and <code>labkit report</code> rebuild this page; so does "
        "<code>labkit list --html</code>.</p></header>\n"
        f"{body}\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _colour_series() -> str:
    """Return the style of each series, light and dark, told apart by dashes as well."""
    light = "".join(
        f"\n.s{number} {{ color: {hue}; stroke-dasharray: {dash}; }}"
        for number, (hue, dash) in enumerate(zip(HUES, DASHES, strict=True))
    )
    dark = "".join(
        f"\n.s{number} {{ color: {theme.DARK_COLOURS[hue]}; }}" for number, hue in enumerate(HUES)
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{{dark}\n}}\n"


def _make_head(number: int, name: str) -> str:
    order = ' aria-sort="descending"' if number == STARTED else ""
    return (
        f'<th scope="col" role="columnheader"{order}>'
        f'<button type="button" data-column="{number}">{escape(name)}</button></th>'
    )


def _list_orders() -> str:
    return "".join(
        f'<option value="{number}"{" selected" if number == STARTED else ""}>{escape(name)}'
        "</option>"
        for number, name in enumerate(COLUMNS)
    )


def _make_row(entry: RunEntry) -> str:
    cells = (
        (entry.name or entry.run_id, _name_run(entry)),
        (entry.started_at or entry.run_id, escape(_tell_time(entry))),
        (entry.engine, _show(entry.engine)),
        (entry.model, _show(entry.model)),
        (entry.notebook, _show(entry.notebook)),
        (" ".join(entry.variables), _list_moved(entry)),
        (str(_rank_verdicts(entry)), _tell_verdicts(entry)),
        (_find_most(entry), draw_curves(entry.curves)),
        (entry.headline, _tell_result(entry)),
    )
    parts = []
    for number, (name, (key, html)) in enumerate(zip(COLUMNS, cells, strict=True)):
        tag, role = ("td", "cell") if number else ("th", "rowheader")
        scope = "" if number else ' scope="row"'
        empty = "" if html else ' class="empty"'
        parts.append(
            f'<{tag}{scope} role="{role}"{empty} data-label="{escape(name)}" '
            f'data-key="{escape(str(key or ""))}">{html or "&ndash;"}</{tag}>'
        )
    kind = ' class="damaged"' if entry.damage else ""
    return f'<tr role="row"{kind} data-text="{escape(entry.text.lower())}">{"".join(parts)}</tr>'


def _name_run(entry: RunEntry) -> str:
    """Return its name, which leads to the report where there is one, and its other files."""
    name = _show(entry.name or entry.run_id)
    folder = quote(entry.run_id)
    links = [
        f'<a href="./{folder}/{quote(file)}">{escape(file)}</a>'
        for file in entry.files
        if file != "report.html"
    ]
    if "report.html" in entry.files:
        name = f'<a href="./{folder}/report.html">{name}</a>'
    links.append(f'<a href="./{folder}/">folder</a>')
    return f'<span class="name">{name}</span><span class="files">{" · ".join(links)}</span>'


def _tell_time(entry: RunEntry) -> str:
    """Return when it started, "2026-12-03 05:30"; of a damaged run by its folder's name."""
    try:
        if entry.started_at:
            started = datetime.fromisoformat(entry.started_at).astimezone(UTC)
        else:
            stamp = re.match(r"\d{8}T\d{6}Z", entry.run_id)
            started = datetime.strptime(stamp[0] if stamp else "", "%Y%m%dT%H%M%SZ")
    except ValueError:
        return ""
    return f"{started:%Y-%m-%d %H:%M}"


def _show(text: str | None) -> str:
    return escape(text).replace("_", "_<wbr>").replace("-", "-<wbr>") if text else ""


def _list_moved(entry: RunEntry) -> str:
    names = (_show(words.short(name)) for name in entry.variables)
    return "".join(f"<code>{name}</code>" for name in names)


def _tell_verdicts(entry: RunEntry) -> str:
    told = [
        f'<span class="{CLASSES.get(name, "invalid")}">{number} {escape(name)}</span>'
        for name, number in entry.verdicts.items()
    ]
    if entry.num_points is not None and (entry.num_measured or 0) < entry.num_points:
        told.append(
            f'<span class="open">{entry.num_measured} of {entry.num_points} measured</span>'
        )
    return "".join(told)


def _rank_verdicts(entry: RunEntry) -> int:
    """Return a number that grows with what is wrong, to sort by."""
    bad = sum(number for name, number in entry.verdicts.items() if name not in CLASSES)
    return 10**9 if entry.damage else bad * 1000 + entry.verdicts.get("SUSPECT", 0)


def _find_most(entry: RunEntry) -> str:
    """Return the most output tokens/s of any value, "" where none is known."""
    rates = [rate for curve in entry.curves for _, rate in curve.points]
    return str(max(rates)) if rates else ""


def _tell_result(entry: RunEntry) -> str:
    if entry.damage:
        return f'<span class="invalid">Damaged: {escape(entry.damage)}</span>'
    told = escape(entry.headline or "")
    if entry.status == "completed":
        return told
    why = f": {entry.error}" if entry.error else ""
    kind = "going" if entry.status in ("created", "running") else "open"
    return f'<span class="{kind}">{escape(f"{entry.status}{why}")}</span>{told}'
