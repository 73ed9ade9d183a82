"""What a comparison of two runs shows, in sentences with numbers: better, worse, unknown, mixed up.

It reads a comparison and computes nothing of its own.
"""

from collections.abc import Iterable, Sequence

from labkit.analysis import words
from labkit.analysis.comparison.lines import Line, Verdict, count_verdicts
from labkit.analysis.comparison.telling import NO_NOISE, tell_effect, tell_repeats
from labkit.analysis.comparison.whole import Compared
from labkit.analysis.finding import Effect, Evidence, Finding, Kind

MAX_NAMED = 4
KINDS: dict[Verdict, Kind] = {"better": "result", "worse": "cost", "differs": "fact"}


def conclude_comparison(found: Compared) -> list[Finding]:
    """Return what is better, worse or other in B, then what is not known, then warnings."""
    findings = []
    for verdict in KINDS:
        own = [line for line in found.lines if line.verdict == verdict]
        labels = dict.fromkeys(line.metric.label for line in own)
        findings += [
            _tell(verdict, [line for line in own if line.metric.label == label]) for label in labels
        ]
    findings += _tell_unseen(found.lines)
    findings += _tell_unknown(found.lines, found.effect)
    return findings + _warn(found)


def tell_headline(found: Compared) -> str:
    """Return the comparison in one line: its largest effect, or what is known instead."""
    counts = count_verdicts(found.lines)
    seen = [line for line in found.lines if line.verdict in ("better", "worse")]
    if seen:
        first = _largest([line for line in seen if line.metric == seen[0].metric])
        share = _change(first)
        told = f"{_capital(first.metric.label)} is {first.verdict} in B by {share}"
        others = len(seen) - 1
        rest = f"; {words.count(others, 'other number')} moved as well" if others else ""
        return f"{told} at {first.place.name}{rest}{first.place.mark}"
    if counts["differs"]:
        return "Nothing is better or worse in B, though the engine's state differs"
    if counts["no difference seen"] and not counts["can't tell"]:
        return "No difference seen between the two runs"
    if counts["no difference seen"]:
        unknown = sum(line.verdict == "can't tell" for line in found.lines)
        return f"No difference seen; of {unknown} of {len(found.lines)} numbers nothing can be told"
    return "Can't tell the two runs apart with so few repeats"


def _tell(verdict: Verdict, lines: Sequence[Line]) -> Finding:
    best = _largest(lines)
    where = _tell_places(lines)
    title = (
        f"{_capital(best.metric.label)} {'is ' if verdict != 'differs' else ''}{verdict} at {where}"
    )
    told = [
        f"{line.place.name}: {line.metric.show(line.mean_a)} in A, {line.metric.show(line.mean_b)} "
        f"in B, {tell_effect(line)}, {tell_repeats(line)}{line.place.mark}"
        for line in lines
    ]
    return _finding(title, f"{'; '.join(told)}.", KINDS[verdict], lines, best)


def _tell_places(lines: Sequence[Line]) -> str:
    """Return where in a few words: "max_num_seqs 2, 4 and 8" where one variable and arm moves."""
    places = [line.place for line in lines]
    names = [one.name for one in places]
    if len({(one.variable, one.series) for one in places}) == 1:
        stem = names[0].removesuffix(words.setting(places[0].value_a))
        if all(name.startswith(stem) for name in names):
            names = [names[0], *(name.removeprefix(stem) for name in names[1:])]
    more = len(names) - MAX_NAMED
    return words.join([*names[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])])


def _finding(title: str, text: str, kind: Kind, lines: Sequence[Line], best: Line) -> Finding:
    field = best.metric.field
    evidence = [
        Evidence(field, f"{line.place.name}, {name}", value)
        for line in lines
        for name, value in (("A", line.mean_a), ("B", line.mean_b))
    ]
    arms = {(line.place.variable, line.place.series) for line in lines}
    variable, series = arms.pop() if len(arms) == 1 else (None, None)
    return Finding(
        title,
        text,
        kind,
        variable,
        series,
        effect=Effect(
            field,
            best.found.measure,
            best.found.value,
            best.found.low,
            best.found.high,
            min(best.found.n_a, best.found.n_b),
        ),
        evidence=tuple(evidence),
        points=_points(lines),
    )


def _tell_unseen(lines: Sequence[Line]) -> list[Finding]:
    own = [line for line in lines if line.verdict == "no difference seen"]
    if not own:
        return []
    told = []
    for name in dict.fromkeys(line.place.name for line in own):
        here = [line for line in own if line.place.name == name]
        seen = [words.percent(one.detectable) if one.detectable else "equal" for one in here]
        parts = [f"{one.metric.label} ({size})" for one, size in zip(here, seen, strict=True)]
        told.append(f"{name}: {words.join(parts)}")
    text = (
        f"{'; '.join(told)}. In brackets the smallest effect that would have been found four times "
        "in five."
    )
    return [Finding("No difference seen", text, "fact", points=_points(own))]


def _tell_unknown(lines: Sequence[Line], effect: float) -> list[Finding]:
    own = [line for line in lines if line.verdict == "can't tell"]
    if not own:
        return []
    needed = [line.repeats_needed for line in own if line.repeats_needed is not None]
    labels = list(dict.fromkeys(line.metric.label for line in own))
    text = f"With {tell_repeats(own[0])} nothing can be told of {words.join(labels)}"
    text += " at some of the settings. " if len({line.place.name for line in own}) > 1 else ". "
    if needed:
        least, most = min(needed), max(needed)
        span = str(least) if least == most else f"{least} to {most}"
        text += f"To find {words.percent(effect)} it would take {span} repeats in each run"
        text += (
            "." if len(needed) == len(own) else f", and for {len(own) - len(needed)} of them more."
        )
    else:
        text += f"How many it would take is not known: {NO_NOISE}."
    title = f"Can't tell for {len(own)} of {words.count(len(lines), 'number')}"
    return [Finding(title, text, "unknown", points=_points(own))]


def _warn(found: Compared) -> list[Finding]:
    warnings = []
    moved = [line for line in found.lines if line.verdict in KINDS]
    if moved and not found.things:
        text = (
            "Nothing that was asked differs, yet numbers moved beyond chance: something else did, "
            "such as other load on the machine. Measure both again."
        )
        warnings.append(Finding("Equal runs that differ", text, "warning"))
    if len(found.things) > 1:
        text = f"{words.join(found.things)} differ between A and B, so no effect has one cause."
        warnings.append(Finding("More than one thing differs", text, "warning"))
    out = [name for place in found.places for name in place.left_out]
    if out:
        text = f"{words.join(out[:MAX_NAMED])}{' and others' if len(out) > MAX_NAMED else ''}."
        title = f"{words.count(len(out), 'repeat')} left out"
        warnings.append(Finding(title, text, "warning"))
    doubted = [place.name for place in found.places if place.doubted]
    if doubted:
        text = f"Repeats are SUSPECT at {words.join(doubted)}; the reports of the runs say why."
        warnings.append(Finding("Some repeats are in doubt", text, "warning"))
    if found.alone:
        text = f"Not compared: {words.join(found.alone)}."
        warnings.append(Finding("Settings that only one run has", text, "warning"))
    return warnings


def _largest(lines: Sequence[Line]) -> Line:
    return max(lines, key=lambda line: abs(line.found.estimate))


def _points(lines: Iterable[Line]) -> tuple[str, ...]:
    """Return the ids of the points of A and B that these lines rest on, marked A: and B:."""
    told = [
        f"{name}:{row.get('point_id')}"
        for line in lines
        for name, rows in (("A", line.place.rows_a), ("B", line.place.rows_b))
        for row in rows
    ]
    return tuple(dict.fromkeys(told))


def _change(line: Line) -> str:
    if line.found.measure == "ratio":
        return words.percent(abs(line.found.value - 1))
    return line.metric.show(abs(line.found.value))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
