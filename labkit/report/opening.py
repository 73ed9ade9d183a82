"""The first screen of a report: the result in sentences, and what it was measured on.

It puts findings into HTML, escaped. It must not compute a number or judge one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from labkit.analysis import words
from labkit.analysis.finding import Finding
from labkit.report.prose import write_prose

MARKS = {"result": "✓", "cost": "⇄", "warning": "!", "unknown": "?", "fact": "•"}
NAMES = {
    "result": "Result",
    "cost": "Cost",
    "warning": "Warning",
    "unknown": "Can't tell",
    "fact": "Fact",
}
VERDICTS = {"held": ("✓", "result"), "not held": ("✗", "fact"), "can't tell": ("?", "unknown")}
"""The mark and the look of a claim that was tested."""
MAX_WARNING = 240
"""Characters of a warning that stand open; a longer one is a list of points with reasons."""


def make_opening(headline: str, findings: Sequence[Finding], summary: Mapping[str, Any]) -> str:
    """Return the title, one line on what was measured, and the findings as a list of cards."""
    told = list_facts(summary["run"], summary["points"], summary.get("ladder"))
    facts = " · ".join(write_prose(fact) for fact in told)
    groups: dict[tuple[str | None, str | None], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.variable, finding.series), []).append(finding)
    cards = "\n".join(make_group(*arm, group) for arm, group in groups.items())
    return (
        f'<header class="opening">{make_title(headline)}\n'
        f'<p class="facts">{facts}</p>\n{cards}</header>'
    )


def make_title(headline: str) -> str:
    """Return a headline as HTML: what the first sweep found, each other below it, doubts small."""
    first, *others = [
        re.sub(r" (\[[^\]]*\])", r" <small>\1</small>", write_prose(one))
        for one in headline.split("; ")
    ]
    return "\n".join([f"<h1>{first}</h1>", *(f'<p class="also">{one}</p>' for one in others)])


def make_group(variable: str | None, series: str | None, findings: Sequence[Finding]) -> str:
    """Return the findings of one variable and arm, or of the whole run, below a small heading."""
    cards = "\n".join(make_card(finding) for finding in findings)
    heading = f'<h2 class="group">{name_arm(variable, series)}</h2>'
    return f'{heading}\n<ul class="findings">\n{cards}\n</ul>'


def name_arm(variable: str | None, series: str | None) -> str:
    """Return a heading for one variable and arm, or for the whole run, as HTML."""
    name = f"<code>{escape(words.short(variable))}</code>" if variable else "The whole run"
    return f"{name}, {escape(series)}" if series else name


def make_card(finding: Finding) -> str:
    """Return one finding as a list item; a long warning, a list of points, is folded."""
    name, mark, kind = NAMES[finding.kind], MARKS[finding.kind], str(finding.kind)
    verdict = ""
    if finding.verdict:
        name, mark, kind = "Claim", *VERDICTS[finding.verdict]
        verdict = f'<span class="told {kind}">{escape(finding.verdict)}</span> '
    return (
        f'<li class="finding {kind}"><span class="mark" role="img" '
        f'aria-label="{escape(name)}">{mark}</span>'
        f"<div>{verdict}<strong>{write_prose(finding.title)}</strong>{_make_text(finding)}</div></li>"
    )


def _make_text(finding: Finding) -> str:
    text = f"<p>{write_prose(finding.text)}</p>"
    if finding.kind != "warning" or len(finding.text) <= MAX_WARNING:
        return text
    return f"<details><summary>Which, and why</summary>{text}</details>"


def list_facts(
    run: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]] | None = None,
) -> Iterable[str]:
    """Yield what a reader must know to place the numbers: engine, machine, traffic, date.

    Of a run that climbed a ladder, `steps`, the traffic is one request after the other.
    """
    engine = run["engine"]
    workload, load = (spread_sweep(run, section) for section in ("workload", "load"))
    model = str(engine.get("model") or "its own model").rpartition("/")[2]
    yield f"{engine['kind']} with {model}"
    yield describe_machine(run.get("environment") or {})
    if steps:
        counts = Counter(str(step["verdict"]) for step in steps)
        told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        yield f"{len(steps)} steps: {told.replace(' works', ' work').replace(' fails', ' failed')}"
    else:
        yield f"{describe_workload(workload)} a point"
        yield describe_load(load)
        done = sum(point["status"] == "ok" for point in points)
        if done < run["num_points_planned"]:
            yield f"{done} of {run['num_points_planned']} points measured"
        yield tell_verdicts(points)
    yield f"begun {run['started_at'][:16].replace('T', ' ')} UTC"


def tell_verdicts(points: Sequence[Mapping[str, Any]]) -> str:
    """Return how many points may be believed: "7 points, all VALID", "5 VALID, 2 INVALID"."""
    counts = Counter(str(point["validity"]) for point in points)
    if len(counts) == 1 and len(points) > 1:
        return f"{len(points)} points, all {next(iter(counts))}"
    return ", ".join(f"{counts[name]} {name}" for name in sorted(counts, reverse=True))


def spread_sweep(run: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Return a section of the params, each swept value replaced by all of them: "1, 2, 4"."""
    told = dict(run[section])
    for one in run.get("sweep") or []:
        head, _, name = str(one["variable"]).partition(".")
        search = one.get("search") or {}
        if section == "workload" and search.get("duration_s") and told.get("num_requests"):
            told["num_requests"] = f"{told['num_requests']} or more"
        if head == section and search:
            told[name] = f"{search['low']:g} to {search['high']:g}"
        elif head == section and name != "kind" and len(one["values"]) > 1:
            told[name] = ", ".join(words.setting(value) for value in one["values"])
    return told


def describe_machine(environment: Mapping[str, Any]) -> str:
    """Return the GPUs, or the processor where none was sampled; the environment tells why."""
    gpus = environment.get("gpus") or {}
    if gpus.get("devices"):
        return "; ".join(gpus["devices"])
    cpu = environment.get("cpu")
    model = cpu.get("model") if isinstance(cpu, Mapping) else None
    return f"{model or 'processor not told'}, {'no GPU sampled' if gpus else 'GPU not looked for'}"


def describe_workload(workload: Mapping[str, Any]) -> str:
    """Return what is asked at every point, in a few words, for any kind of workload."""
    kind, number = workload.get("kind", "synthetic"), workload.get("num_requests")
    told = {key: describe_length(length) for key, length in workload.items()}
    if kind in ("sharegpt", "jsonl", "trace"):
        name = str(workload["path"]).rpartition("/")[2]
        what = {"sharegpt": "conversations", "jsonl": "requests", "trace": "requests"}[kind]
        limit = (
            f" in its first {show_number(workload['duration_s'])} s"
            if workload.get("duration_s")
            else ""
        )
        answers = (
            f" with {told['completion_tokens']} completion tokens"
            if workload.get("completion_tokens") and kind == "sharegpt"
            else ""
        )
        return f"{number or 'all'} {what} of {name}{limit}{answers}"
    sizes = f"{told['prompt_tokens']} prompt and {told['completion_tokens']} completion tokens"
    if kind == "mixed":
        share = workload["long_share"]
        share = f"{share:.0%}" if isinstance(share, int | float) else f"a share of {share}"
        return (
            f"{number} requests of {sizes}, {share} of them with "
            f"{told['long_prompt_tokens']} prompt tokens"
        )
    if kind == "shared_prefix":
        groups = "1 prefix" if workload["num_groups"] == 1 else f"{told['num_groups']} prefixes"
        return f"{number} requests of {sizes} after {groups} of {told['prefix_tokens']} tokens"
    if kind == "multi_turn":
        return (
            f"{told['num_tasks']} conversations of {told['num_turns']} turns, {sizes}, "
            f"then {told['turn_tokens']} prompt tokens a turn"
        )
    if kind == "agent":
        return (
            f"{told['num_tasks']} agent tasks of {told['num_steps']} calls, {sizes}, "
            f"then {told['step_tokens']} tokens of a tool's result a call"
        )
    return f"{number} requests{' for JSON' if kind == 'structured' else ''} of {sizes}"


def describe_load(load: Mapping[str, Any]) -> str:
    """Return how the requests are sent, in a few words."""
    mode, limit = load.get("mode", "closed"), load.get("max_concurrency")
    if mode == "static_batch":
        return f"in batches of {limit}"
    if mode == "closed":
        return f"{limit} at a time"
    if mode == "trace":
        speed = load.get("speed") or 1
        speed = show_number(speed)
        when = "when the trace did" if speed == "1" else f"{speed} times as fast as the trace"
    elif mode != "open":
        return f"sent in turn as {mode}"
    else:
        rates = [load.get("request_rate_per_s"), load.get("ramp_to_per_s")]
        when = f"{' to '.join(show_number(rate) for rate in rates if rate is not None)} a second"
    return f"sent {when}, at most {limit} at a time" if limit else f"sent {when}"


def show_number(value: Any) -> str:
    """Return a number as text, or the text of all numbers of a sweep."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def describe_length(length: Any) -> str:
    """Return a token count, or the bounds of a distribution."""
    if isinstance(length, Mapping) and "low" in length:
        return f"{length['low']} to {length['high']}"
    return str(length)


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
