"""Tables as HTML: every text in them is escaped, every number has its unit, in the
head or, as in the sentences, beside it.

It knows rows of summary.json and plain mappings; it must not know how they were measured.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from labkit.analysis import words
from labkit.analysis.errors import cut
from labkit.analysis.row import name_value
from labkit.analysis.schedule import is_scheduled, name_latency
from labkit.report.quantities import look_up

Column = tuple[str, str, Callable[[float], str]]
"""The head, the dotted path of the number, how it is shown: a time as in the sentences."""
COLUMNS: tuple[Column, ...] = (
    ("TTFT P50", "ttft_s.p50", words.seconds),
    ("TTFT P95", "ttft_s.p95", words.seconds),
    ("TPOT P50", "tpot_s.p50", words.seconds),
    ("TPOT P95", "tpot_s.p95", words.seconds),
    ("E2E P95", "e2e_latency_s.p95", words.seconds),
    ("Output (tokens/s)", "output_throughput_tokens_per_s", words.number),
    ("Steady output (tokens/s)", "steady_output_throughput_tokens_per_s", words.number),
    ("Requests (1/s)", "request_throughput_per_s", words.number),
    ("KV max (%)", "kv_cache_usage.max", lambda share: words.number(share * 100)),
    ("Waiting max", "num_requests_waiting.max", words.number),
)
SCHEDULED: tuple[Column, ...] = (
    ("Offered (1/s)", "offered_rate_per_s", words.number),
    ("Sent (1/s)", "achieved_rate_per_s", words.number),
    ("Slot wait P95", "slot_wait_s.p95", words.seconds),
)
"""What a load with a schedule has beside these."""
WHERE_ANY: tuple[Column, ...] = (
    ("Task P95", "task_latency_s.p95", words.seconds),
    ("Cache hits (%)", "prefix_cache_hit_rate", lambda share: words.number(share * 100)),
)
"""What stands there only where a point has it, and it is not 0."""
MISSING = '<td class="missing" title="{reason}">not measured</td>'
HEADS = {"Verdict": ' class="verdict"'}
"""The heads of columns that hold text among numbers: they stand on the left, as their cells do."""
MAX_ERROR = 120
"""Characters of an error beside a verdict; all of it has a table of its own."""
VERDICTS = {"VALID": ("valid", "✓"), "SUSPECT": ("suspect", "?")}


def make_table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = ""
) -> str:
    """Return a table in a box that scrolls sideways; cells are finished <td> or <th> elements."""
    columns = "".join(f'<th scope="col"{HEADS.get(name, "")}>{escape(name)}</th>' for name in head)
    body = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table class="{escape(kind)}"><caption>{escape(caption)}</caption>\n'
        + (f"<thead><tr>{columns}</tr></thead>\n" if head else "")
        + f"<tbody>\n{body}\n</tbody></table></div>"
    )


def summary_table(summary: dict[str, Any]) -> str:
    """Return a table a swept variable: one row a point, n and verdict beside its numbers."""
    rows = summary.get("points", [])
    variables = list(dict.fromkeys(row.get("variable") for row in rows))
    tables = []
    for variable in variables:
        name = words.short(str(variable or "point"))
        own = [row for row in rows if row.get("variable") == variable]
        columns = choose_columns(own)
        repeated = any(row.get("repeat") for row in own)
        repeat = ["Repeat"] if repeated else []
        head = [name, *repeat, "Verdict", "n", "Errors", *(column[0] for column in columns)]
        body = [list_cells(row, columns, repeated=repeated) for row in own]
        caption = f"Every point of {name}"
        if any("intended" in path for _, path, _ in columns):
            caption += "; TTFT and E2E count from the intended time of a request"
        tables.append(make_table(caption, head, body, kind="summary"))
    return "\n".join(tables) or '<p class="missing">No point was run.</p>'


def choose_columns(rows: Sequence[dict[str, Any]]) -> list[Column]:
    """Return the columns for these rows: with a schedule latencies count from intended times."""
    columns = []
    for head, path, form in COLUMNS:
        field, _, part = path.partition(".")
        columns.append((head, ".".join(filter(None, [name_latency(field, rows), part])), form))
    if any(is_scheduled(row) for row in rows):
        columns += SCHEDULED
    return columns + [one for one in WHERE_ANY if any(look_up(row, one[1]) for row in rows)]


def list_cells(row: dict[str, Any], columns: Sequence[Column], *, repeated: bool) -> list[str]:
    """Return the cells of one point; which repeat it is stands there if there are any."""
    cells = [
        f'<th scope="row">{escape(name_value(row))}</th>',
        *([f"<td>{escape(str(row.get('repeat')))}</td>"] if repeated else []),
        show_verdict(row),
        show_count(look_up(row, "num_ok")),
        show_count(look_up(row, "num_error")),
    ]
    for _, path, form in columns:
        number = look_up(row, path)
        reasons_by_field = row.get("null_reasons") or {}
        reason = reasons_by_field.get(path) or reasons_by_field.get(path.split(".")[0]) or ""
        cells.append(
            MISSING.format(reason=escape(str(reason)))
            if number is None
            else f"<td>{form(number)}</td>"
        )
    return cells


def show_verdict(row: Mapping[str, Any], *, reasons: bool = True) -> str:
    """Return a cell with the verdict on a point, its reasons below it."""
    verdict = str(row.get("validity") or "not judged")
    told = "; ".join(map(str, row.get("validity_reasons") or [])) if reasons else ""
    told = cut(told, MAX_ERROR) if row.get("error") else told
    kind, mark = VERDICTS.get(verdict, ("invalid", "✗"))
    below = f'<span class="reason">{escape(told)}</span>' if told else ""
    return f'<td class="verdict {kind}">{mark} {escape(verdict)}{below}</td>'


def show_count(count: float | None) -> str:
    """Return a cell with a whole number."""
    return MISSING.format(reason="") if count is None else f"<td>{count:,.0f}</td>"


def definitions_table(definitions: Mapping[str, str]) -> str:
    """Return what each word of the report means."""
    rows = [
        (f'<th scope="row">{escape(word)}</th>', f"<td>{mark_code(escape(meaning))}</td>")
        for word, meaning in definitions.items()
    ]
    return make_table("What the words mean", ["Word", "Meaning"], rows, kind="words")


def mark_code(text: str) -> str:
    """Return HTML in which what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def read_definitions(text: str) -> dict[str, str]:
    """Return {name: meaning} of lines "name_s  meaning" and what is indented below them.

    This is the form of the docstring of labkit.analysis.metrics, where each metric is defined once.
    """
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        match = re.match(r"((?:[a-z0-9]+_[a-z0-9_*]*(?:, )?)+)\s+(\S.*)$", line)
        if match:
            name, meaning = match.groups()
            found[name] = meaning
        elif name and line.startswith("    "):
            found[name] += f" {line.strip()}"
        else:
            name = ""
    return found


def environment_table(environment: Mapping[str, Any]) -> str:
    """Return the machine and the software, nested mappings flattened to dotted names."""
    rows = [
        (f'<th scope="row">{escape(name)}</th>', f"<td>{escape(text)}</td>")
        for name, text in flatten(environment)
    ]
    return make_table("Where this was measured", ["Part", "Found"], rows, kind="words")


def flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Yield (dotted name, text) of every leaf of nested mappings; bytes are told in GiB."""
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{name}.")
        elif isinstance(value, list | tuple):
            yield name, ", ".join(map(str, value)) or "none"
        elif name == "git.dirty" and value is not None:
            yield "git", "with changes that are not committed" if value else "clean"
        elif name.endswith("_bytes") and isinstance(value, int):
            yield name.removesuffix("_bytes"), words.gibibytes(value)
        elif isinstance(value, bool):
            yield name, words.setting(value)
        else:
            yield name, "not known" if value in (None, {}) else str(value)


def rerun_block(commands: Sequence[str]) -> str:
    """Return the exact commands that repeat a run, to be copied."""
    lines = "\n".join(escape(command) for command in commands)
    return (
        '<pre class="rerun" tabindex="0" role="region" aria-label="How to measure this again">'
        f"<code>{lines}</code></pre>"
    )
