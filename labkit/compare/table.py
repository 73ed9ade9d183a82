"""A comparison as lines of text for a terminal.

It formats and never computes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from labkit.analysis import words
from labkit.analysis.comparison.difference import Difference
from labkit.analysis.comparison.gate import Outcome
from labkit.analysis.comparison.lines import Line, count_verdicts
from labkit.analysis.comparison.metric import find_metric
from labkit.analysis.comparison.noise import read_noise
from labkit.analysis.comparison.telling import NO_NOISE, tell_effect, tell_repeats, tell_verdict
from labkit.analysis.comparison.whole import Compared

MAX_VALUE = 48
MOVED = ("better", "worse", "differs")


def tell_comparison(found: Compared) -> list[str]:
    """Return the table of a comparison, a block a place, and what it rests on."""
    lines = [f"A  {found.a.name}", f"B  {found.b.name}", tell_things(found)]
    for place in found.places:
        own = [line for line in found.lines if line.place is place]
        repeats = f" ({tell_repeats(own[0])})" if own else ""
        lines += ["", f"{place.name}{repeats}{place.mark}"]
        lines += [f"  {text}" for text in _align([_cells(line) for line in own])]
        lines += [f"  left out: {name}" for name in place.left_out]
    lines += ["", *_tell_rest(found)]
    return lines


def tell_things(found: Compared) -> str:
    """Return what differs between the two runs in a line."""
    if not found.things and any(line.verdict in MOVED for line in found.lines):
        return (
            "nothing that was asked differs, yet numbers moved: something else did, such as other "
            "load on the machine"
        )
    if not found.things:
        return "nothing that was asked differs: what the numbers show is noise or drift"
    told = []
    for thing in found.things:
        one = next(one for one in found.differences if one.thing == thing)
        told.append(thing if one.path != thing else f"{thing} {_value(one.a)} -> {_value(one.b)}")
    return f"differs: {words.join(told)}"


def tell_differences(found: Sequence[Difference]) -> list[str]:
    """Return a line for each difference, those that count first."""
    if not found:
        return ["nothing differs beside the numbers"]
    ordered = sorted(found, key=lambda one: one.thing is None)
    rows = [
        ("*" if one.thing else " ", one.kind, one.path, f"{_value(one.a)} -> {_value(one.b)}")
        for one in ordered
    ]
    lines = _align(rows)
    if any(one.thing for one in found):
        lines.append("* counts as a thing of its own; the others follow or are only noted")
    return lines


def tell_gate(found: Sequence[Outcome]) -> list[str]:
    """Return a line for each threshold at each place."""
    if not found:
        return ["gate can't tell: no point has the metrics asked"]
    rows = [
        (f"gate {one.state}", f"{one.threshold.field} {one.threshold.share * 100:+g}%", one.place,
         one.told)
        for one in found
    ]  # fmt: skip
    return _align(rows)


def tell_noise(document: Mapping[str, Any]) -> list[str]:
    """Return the noise of each metric: of the newest run, and of all that are stored together."""
    entries = document["entries"]
    newest = entries[-1]["metrics"]
    rows = [("noise (coefficient of variation)", "mean", "this run", "n", "all runs")]
    untold: dict[str, list[str]] = {}
    for field, told in newest.items():
        metric = find_metric(field)
        label = metric.label if metric else field
        if told["variation"] is None:
            untold.setdefault(told["reason"], []).append(label)
            continue
        pooled = read_noise(document, field)
        mean = metric.show(told["mean"]) if metric else words.number(told["mean"])
        everything = words.percent(pooled.variation) if pooled else ""
        own = words.percent(told["variation"])
        rows.append((label, mean, own, str(told["n"]), everything))
    lines = _align(rows)
    for reason, labels in untold.items():
        lines.append(f"no noise of {words.join(labels)}: {reason}")
    if len(entries) > 1:
        lines.append(f"added to the noise of {words.count(len(entries) - 1, 'earlier run')}")
    return lines


def tell_basis(found: Compared) -> str:
    """Return what intervals and verdicts rest on, in sentences."""
    methods = list(dict.fromkeys(line.found.method for line in found.lines if line.found.error))
    told = f"({'; '.join(methods)}) " if methods else ""
    return (
        f"B against A, with 95 % intervals from repeats {told}on logarithms. Verdicts hold "
        f"together at 5 % (Holm, {words.count(found.tested, 'comparison')}). The smallest effect "
        f"asked is {words.percent(found.effect)}, found 4 times in 5.{_tell_gap(found)}"
    )


def _tell_gap(found: Compared) -> str:
    """Return how far apart the two were measured, with a blank before it."""
    begun = [run.manifest.get("started_at") for run in (found.a, found.b)]
    if not all(begun):
        return ""
    one, other = (datetime.fromisoformat(str(at)) for at in begun)
    minutes = abs((other - one).total_seconds()) / 60
    apart = f"{words.number(minutes / 60)} hours"
    if minutes < 120:
        apart = words.count(max(1, math.ceil(minutes)), "minute")
    return f" They were begun {apart} apart: what the machine did meanwhile passes for an effect."


def _cells(line: Line) -> tuple[str, ...]:
    shown = [line.metric.show(mean) for mean in (line.mean_a, line.mean_b)]
    return (line.metric.label, *shown, tell_effect(line), tell_verdict(line))


def _tell_rest(found: Compared) -> Iterator[str]:
    counts = count_verdicts(found.lines)
    yield ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    yield tell_basis(found)
    if any(line.found.error is None and line.verdict == "can't tell" for line in found.lines):
        yield f"{NO_NOISE}, which comparisons use where repeats are few"
    reasons: dict[str, list[str]] = {}
    for one in found.omitted:
        reasons.setdefault(one.reason, []).append(one.metric.label)
    for reason, labels in reasons.items():
        yield f"not compared: {words.join(list(dict.fromkeys(labels)))}: {reason}"
    for told in found.alone:
        yield f"not compared: {told}"


def _value(value: Any) -> str:
    text = words.setting(value) if value is not None else "none"
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
