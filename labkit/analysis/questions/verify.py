"""Does one request work, and if not, why? Answered from the steps of a ladder.

The first step that fails is the answer: those after it that needed it were not tried, so what they
would have said does not matter yet. It must not know how a step was asked or judged.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.analysis import words
from labkit.analysis.finding import Finding

Row = Mapping[str, Any]
MAX_TITLE_CHARS = 110
NEEDS = "it needs the step "
"""How the reason begins of a step that builds on one which failed."""
NOTED = ("found", "meaning", "advice")
LATER = {"base_url", "long_prompt", "over_context", "over_prompt"}
"""Steps whose meaning is worth a card of its own although they work."""


def conclude(summary: Mapping[str, Any]) -> list[Finding]:
    """Return whether all steps work or where it breaks, then what is missing or to be known."""
    steps: Sequence[Row] = summary.get("ladder") or []
    if not steps:
        return []
    failed = [one for one in steps if one["verdict"] == "fails"]
    found = [_tell_step(one, "It also breaks at" if n else "It breaks at")
             for n, one in enumerate(failed)]  # fmt: skip
    found = found or [_tell_works(steps, summary)]
    found += _tell_missing(steps)
    found += [
        Finding(
            f"To know about “{one['title']}”",
            _join(one, NOTED if one["step"] == "base_url" else NOTED[1:]),
            "fact",
            points=(str(one["step"]),),
        )
        for one in steps
        if one["verdict"] == "works" and one["meaning"] and one["step"] in LATER
    ]
    return found + _tell_untried(steps)


def _tell_works(steps: Sequence[Row], summary: Mapping[str, Any]) -> Finding:
    tried = [one for one in steps if one["verdict"] == "works"]
    status = str(summary["run"].get("status"))
    ended = status == "completed"
    last = tried[-1] if tried else steps[-1]
    some = f"{len(tried)} of {len(steps)}"
    title = f"All {len(steps)} steps work" if len(tried) == len(steps) else f"{some} steps work"
    title += ", none fails" if len(tried) < len(steps) else ""
    title += "" if ended else f", and then it was {status}"
    took_s = sum(one["duration_s"] for one in steps)
    text = f"They took {words.seconds(took_s)}. {last['title']}, the last of them: {last['found']}."
    names = tuple(str(one["step"]) for one in tried)
    return Finding(title, text, "result" if ended else "unknown", points=names)


def _tell_step(one: Row, lead: str) -> Finding:
    title = f"{lead} “{one['title']}”: {one['meaning'] or one['found']}"
    if len(title) > MAX_TITLE_CHARS:
        title = f"{title[: MAX_TITLE_CHARS - 3]}..."
    return Finding(title, _join(one), "warning", points=(str(one["step"]),))


def _tell_missing(steps: Sequence[Row]) -> list[Finding]:
    missing = [one for one in steps if one["verdict"] == "not offered"]
    if not missing:
        return []
    told = " ".join(f"{one['title']}: {_join(one)}" for one in missing)
    return [
        Finding(
            f"Not offered: {words.join([str(one['title']) for one in missing])}",
            f"{told} The load of these params does not need it.",
            "fact",
            points=tuple(str(one["step"]) for one in missing),
        )
    ]


def _tell_untried(steps: Sequence[Row]) -> list[Finding]:
    untried = [one for one in steps if one["verdict"] == "not tried"]
    if not untried:
        return []
    waiting = [str(one["title"]) for one in untried if str(one["found"]).startswith(NEEDS)]
    told = [f"{one['title']}: {one['found']}." for one in untried
            if str(one["title"]) not in waiting]  # fmt: skip
    if waiting:
        told.append(f"Built on what failed: {words.join(waiting)}.")
    count = f"{len(untried)} step was" if len(untried) == 1 else f"{len(untried)} steps were"
    names = tuple(str(one["step"]) for one in untried)
    return [Finding(f"{count} not tried", " ".join(told), "unknown", points=names)]


def _join(one: Row, names: Sequence[str] = NOTED) -> str:
    """Return found, meaning and advice of a step, those that there are, as sentences."""
    parts = [str(one[name]).rstrip(".") for name in names if one[name]]
    return " ".join(
        f"{part if '://' in part[:8] else part[0].upper() + part[1:]}." for part in parts
    )
