"""A comparison of two runs in HTML: its first screen, its numbers, what else differs, its gate.

Everything is escaped. It formats and never computes.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from labkit.analysis import words
from labkit.analysis.comparison.difference import Difference
from labkit.analysis.comparison.gate import Outcome
from labkit.analysis.comparison.lines import Line
from labkit.analysis.comparison.telling import tell_effect, tell_ground
from labkit.analysis.comparison.told import Told
from labkit.analysis.comparison.whole import Compared
from labkit.analysis.finding import Finding
from labkit.report.opening import describe_load, describe_machine, describe_workload, make_group
from labkit.report.tables import make_table

MAX_VALUE = 60
MARKS = {"better": "✓", "worse": "✗", "differs": "•", "no difference seen": "=", "can't tell": "?"}


def make_comparison_opening(
    headline: str, findings: Sequence[Finding], found: Compared, basis: str
) -> str:
    """Return the title, the two runs in a line each, and the findings as cards."""
    groups: dict[tuple[str | None, str | None], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.variable, finding.series), []).append(finding)
    told = "\n".join(make_group(*arm, group) for arm, group in groups.items())
    runs = "".join(
        f'<p class="facts">{escape(_describe(name, run))}</p>\n'
        for name, run in (("A", found.a), ("B", found.b))
    )
    return (
        f'<header class="opening"><h1>{escape(headline)}</h1>\n{runs}'
        f'<p class="facts">{escape(basis)}</p>\n{told}</header>'
    )


def lines_table(lines: Sequence[Line], caption: str) -> str:
    """Return the numbers of one place: A, B, effect with interval, verdict."""
    head = ["Metric", "A", "B", "B against A (95 % interval)", "Verdict", "Repeats", "p (Holm)"]
    rows = []
    for line in lines:
        p_value = "" if line.p_adjusted is None else f"{line.p_adjusted:.2g}"
        rows.append(
            [
                f'<th scope="row">{escape(line.metric.label)}</th>',
                f"<td>{escape(line.metric.show(line.mean_a))}</td>",
                f"<td>{escape(line.metric.show(line.mean_b))}</td>",
                f"<td>{escape(tell_effect(line))}</td>",
                _verdict(line),
                f"<td>{line.found.n_a} and {line.found.n_b}</td>",
                f"<td>{p_value}</td>",
            ]
        )  # fmt: skip
    return make_table(caption, head, rows, kind="summary")


def omitted_table(found: Compared) -> str:
    """Return what could not be compared, and why; nothing where all could."""
    reasons: dict[str, list[str]] = {}
    for one in found.omitted:
        reasons.setdefault(one.reason, []).append(one.metric.label)
    rows = [
        (
            f'<th scope="row">{escape(words.join(list(dict.fromkeys(labels))))}</th>',
            f"<td>{escape(reason)}</td>",
        )
        for reason, labels in reasons.items()
    ]
    rows += [(f'<th scope="row">{escape(told)}</th>', "<td></td>") for told in found.alone]
    return make_table("Not compared", ["What", "Why"], rows, kind="words") if rows else ""


def differences_table(found: Sequence[Difference]) -> str:
    """Return what differs beside the numbers, that which counts as a thing of its own first."""
    if not found:
        return "<p>Nothing differs beside the numbers.</p>"
    ordered = sorted(found, key=lambda one: one.thing is None)
    rows = [
        (
            f'<th scope="row"><code>{escape(one.path)}</code></th>',
            f"<td>{escape(one.kind)}</td>",
            *(f"<td>{escape(_value(value))}</td>" for value in (one.a, one.b)),
            f"<td>{'counts' if one.thing else 'noted'}</td>",
        )
        for one in ordered
    ]
    return make_table(
        "What differs beside the numbers", ["What", "Kind", "A", "B", "For the verdict"], rows,
        kind="words",
    )  # fmt: skip


def gate_table(found: Sequence[Outcome]) -> str:
    """Return what became of each threshold at each place."""
    rows = [
        (
            f'<th scope="row"><code>{escape(one.threshold.field)}</code></th>',
            f"<td>{one.threshold.share * 100:+g} %</td>",
            f"<td>{escape(one.place)}</td>",
            f'<td class="verdict">{escape(one.state)}</td>',
            f"<td>{escape(one.told)}</td>",
        )
        for one in found
    ]
    head = ["Metric", "Worst allowed", "At", "State", "Found"]
    return make_table("The gate", head, rows, kind="words")


def _verdict(line: Line) -> str:
    ground = tell_ground(line).lstrip(";: ")
    below = f'<span class="reason">{escape(ground)}</span>' if ground else ""
    return f'<td class="verdict">{MARKS[line.verdict]} {escape(line.verdict)}{below}</td>'


def _describe(name: str, run: Told) -> str:
    told = run.summary["run"]
    parts = [
        f"{name}: {run.name}",
        f"{told['engine']['kind']} with {told['engine'].get('model') or 'its own model'}",
        describe_machine(told.get("environment") or {}),
        describe_workload(told["workload"]),
        describe_load(told["load"]),
        f"begun {str(told['started_at'])[:16].replace('T', ' ')} UTC",
    ]
    return " · ".join(parts)


def _value(value: Any) -> str:
    text = "none" if value is None else words.setting(value)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"
