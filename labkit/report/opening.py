"""The first screen of a report: the result in sentences, and what it was measured on.

It puts findings into HTML, escaped. It must not compute a number or judge one.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from labkit.analysis import words
from labkit.analysis.findings import Finding

MARKS = {"result": "✓", "cost": "⇄", "warning": "!", "unknown": "?"}
NAMES = {"result": "Result", "cost": "Cost", "warning": "Warning", "unknown": "Can't tell"}


def make_opening(headline: str, findings: Sequence[Finding], summary: Mapping[str, Any]) -> str:
    """Return the title, one line on what was measured, and the findings as a list of cards."""
    facts = " · ".join(escape(fact) for fact in list_facts(summary["run"], summary["points"]))
    groups: dict[str | None, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.variable, []).append(finding)
    told = "\n".join(make_group(variable, group) for variable, group in groups.items())
    return (
        f'<header class="opening"><h1>{escape(headline)}</h1>\n'
        f'<p class="facts">{facts}</p>\n{told}</header>'
    )


def make_group(variable: str | None, findings: Sequence[Finding]) -> str:
    """Return the findings of one variable, or of the whole run, below a small heading."""
    name = f"<code>{escape(words.short(variable))}</code>" if variable else "The whole run"
    cards = "\n".join(make_card(finding) for finding in findings)
    return f'<h2 class="group">{name}</h2>\n<ul class="findings">\n{cards}\n</ul>'


def make_card(finding: Finding) -> str:
    """Return one finding as a list item."""
    name, mark = NAMES[finding.kind], MARKS[finding.kind]
    return (
        f'<li class="finding {finding.kind}"><span class="mark" role="img" '
        f'aria-label="{escape(name)}">{mark}</span>'
        f"<div><strong>{escape(finding.title)}</strong><p>{escape(finding.text)}</p></div></li>"
    )


def list_facts(run: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Yield what a reader must know to place the numbers: engine, machine, traffic, date."""
    engine, workload, load = run["engine"], run["workload"], run["load"]
    model = str(engine.get("model") or "its own model").rpartition("/")[2]
    yield f"{engine['kind']} with {model}"
    yield describe_machine(run.get("environment") or {})
    yield (
        f"{workload['num_requests']} requests a point, {load['max_concurrency']} at a time, "
        f"{describe_length(workload['prompt_tokens'])} prompt and "
        f"{describe_length(workload['completion_tokens'])} completion tokens"
    )
    done = sum(point["status"] == "ok" for point in points)
    if done < run["num_points_planned"]:
        yield f"{done} of {run['num_points_planned']} points measured"
    yield f"begun {run['started_at'][:16].replace('T', ' ')} UTC"


def describe_machine(environment: Mapping[str, Any]) -> str:
    """Return the GPUs, or the processor and the reason why no GPU was sampled."""
    gpus = environment.get("gpus") or {}
    if gpus.get("devices"):
        return "; ".join(gpus["devices"])
    cpu = environment.get("cpu")
    model = cpu.get("model") if isinstance(cpu, Mapping) else None
    return f"{model or 'processor not told'}, {gpus.get('reason') or 'GPU not looked for'}"


def describe_length(length: Any) -> str:
    """Return a token count, or the bounds of a distribution."""
    return f"{length['low']} to {length['high']}" if isinstance(length, Mapping) else str(length)


def list_commands(run: Mapping[str, Any], params: str) -> list[str]:
    """Return shell lines that write the params of this run to a file and measure them again."""
    packages = (run.get("environment") or {}).get("packages") or {}
    return [
        f"# measured with labkit {packages.get('labkit', 'of a version not told')}; "
        "run this in its folder after `make setup`",
        f"cat > params/{run['name']}-again.yaml <<'END'",
        *params.rstrip("\n").split("\n"),
        "END",
        f".venv/bin/labkit run params/{run['name']}-again.yaml",
    ]
