"""The end of a report: the headline, what held and what did not, and how sure that is.

It puts findings into HTML, escaped. It must not compute a number or judge one.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from labkit.analysis.finding import Finding
from labkit.report.opening import tell_verdicts
from labkit.report.prose import write_prose

MAX_OPEN = 2
"""Things left open that a sentence names; more of them are a folded list."""


def make_conclusion(headline: str, findings: Sequence[Finding], summary: Mapping[str, Any]) -> str:
    """Return the headline, what held and what did not, and how sure that is, as a few sentences."""
    tested = [one for one in findings if one.verdict]
    items = "\n".join(
        f"<li><strong>{escape(one.verdict or '')}</strong>: {write_prose(one.title)}</li>"
        for one in tested
    )
    listed = f"<ul>{items}</ul>" if tested else ""
    sure = list_grounds(summary)
    unknown = [one.title for one in findings if one.kind == "unknown" and not one.verdict]
    told = f"{'; '.join(sure)}."
    folded = ""
    if len(unknown) > MAX_OPEN:
        items = "".join(f"<li>{write_prose(one)}</li>" for one in unknown)
        folded = (
            f"<details><summary>{len(unknown)} things are left open</summary>"
            f"<ul>{items}</ul></details>"
        )
    elif unknown:
        told += f" Left open: {'; '.join(unknown)}."
    return (
        f'<div class="conclusion"><p><strong>{write_prose(headline)}</strong></p>{listed}'
        f"<p>{write_prose(told)}</p>{folded}</div>"
    )


def list_grounds(summary: Mapping[str, Any]) -> list[str]:
    """Return what a conclusion rests on, in half sentences."""
    if steps := summary.get("ladder"):
        once = "so it tells what a request does, not what a load would"
        return [f"It rests on {len(steps)} steps, each taken once", once]
    rows = summary["points"]
    repeats = {row.get("repeat") for row in rows}
    if len(repeats) > 1:
        sure = f"{len(repeats)} repeats of a point, from which the intervals come"
    else:
        sure = "one repeat of each point, so differences under 10 % are not resolved"
    return [f"It rests on {tell_verdicts(rows)}", sure]
