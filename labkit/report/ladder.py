"""The steps of a ladder as a table, and each request that failed as a command to send again.

It knows records of ladder.jsonl; it must not judge a step.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from labkit.analysis import words
from labkit.report.curl import write_curl
from labkit.report.tables import make_table

Row = Mapping[str, Any]
VERDICTS = {
    "works": ("valid", "✓"),
    "fails": ("invalid", "✗"),
    "not offered": ("missing", "-"),
    "not tried": ("missing", "·"),
}
HEAD = ("Step", "Verdict", "What it asks", "What came", "HTTP", "Took")


def ladder_table(steps: Sequence[Row]) -> str:
    """Return one row a step: its verdict in words, what it asked, what came and what to do."""
    if not steps:
        return '<p class="missing">No step was taken.</p>'
    rows = [_list_cells(one) for one in steps]
    return make_table("Every step, the smallest request first", HEAD, rows, kind="ladder")


def failed_block(steps: Sequence[Row]) -> str:
    """Return for every step that failed the request as a command, and what came back."""
    failed = [one for one in steps if one["verdict"] == "fails"]
    return "\n".join(_show_failed(one) for one in failed)


def _list_cells(one: Row) -> list[str]:
    kind, mark = VERDICTS.get(str(one["verdict"]), ("missing", "?"))
    below = "".join(_below(one.get(name)) for name in ("meaning", "advice"))
    tried = one["verdict"] != "not tried"
    took = words.seconds(one["ended_at_s"] - one["sent_at_s"]) if tried else ""
    status = one.get("http_status")
    return [
        f'<th scope="row">{one["number"]}. {escape(str(one["title"]))}</th>',
        f'<td class="verdict {kind}">{mark} {escape(str(one["verdict"]))}</td>',
        f'<td class="asks">{escape(str(one["asked"]))}</td>',
        f'<td class="came">{escape(str(one["found"]))}{below}</td>',
        f'<td data-head="HTTP">{status}</td>' if status else "<td></td>",
        f'<td data-head="Took">{took}</td>' if took else "<td></td>",
    ]


def _below(text: Any) -> str:
    return f'<span class="reason">{escape(str(text))}</span>' if text else ""


def _show_failed(one: Row) -> str:
    parts = [f"<h3>{escape(str(one['title']))}: what failed</h3>"]
    sent = one.get("sent")
    if sent:
        lines = "\n".join(escape(line) for line in write_curl(sent, str(one["step"])))
        parts.append(f'<pre class="curl"><code>{lines}</code></pre>')
        if sent.get("num_requests"):
            parts.append(f"<p>{sent['num_requests']} such requests were sent at the same time.</p>")
    status = f"HTTP {one['http_status']}. " if one.get("http_status") else ""
    came = escape("\n".join(str(one[name]) for name in ("found", "answer") if one.get(name)))
    parts.append(f'<p>{status}What came:</p><pre class="log"><code>{came}</code></pre>')
    for lead, name in (("It means: ", "meaning"), ("What to do: ", "advice")):
        if one.get(name):
            parts.append(f"<p><strong>{lead}</strong>{escape(str(one[name]))}.</p>")
    return "\n".join(parts)
