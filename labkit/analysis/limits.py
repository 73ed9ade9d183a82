"""Below which differences a sweep resolves nothing, in sentences with numbers.

It reads pooled rows and the twins of the run; it must not know what was found.
"""

from collections.abc import Sequence

from labkit.analysis import words
from labkit.analysis.doubts import name_rows
from labkit.analysis.effects import OUTPUT, choose_latencies
from labkit.analysis.finding import Finding
from labkit.analysis.interference import is_disturbed
from labkit.analysis.pool import Group
from labkit.analysis.row import Row, read
from labkit.analysis.statistics import SINGLE_RUN_RESOLUTION
from labkit.analysis.twins import Spread, find_spread


def resolution(pooled: Sequence[Group]) -> list[Finding]:
    """Say what is not resolved where a value ran once only; nothing where all were repeated."""
    if all(len(one.rows) > 1 for one in pooled):
        return []
    variable = pooled[0].variable
    floor = words.percent(SINGLE_RUN_RESOLUTION)
    text = f"Some values of {words.short(variable)} ran once only, so no interval between runs can "
    text += "be given: "
    spreads = _spreads(pooled)
    wide = {name: one for name, one in spreads.items() if one[1].share > SINGLE_RUN_RESOLUTION}
    twins = pooled[0].twins
    if wide:
        names = words.join([name_row(row) for row in twins[0]])
        told = [
            f"{words.percent(one.share)} in {name} ({show(one, field)})"
            for name, (field, one) in wide.items()
        ]
        text += f"differences under {floor} are not resolved, and where equal settings differ by "
        text += f"more ({names} are the same), not below that: {words.join(told)}."
    elif spreads:
        names = words.join([name_row(row) for row in twins[0]])
        most = words.percent(max(one.share for _, one in spreads.values()))
        text += f"differences under {floor} are not resolved. Equal settings ({names}) differ by "
        text += f"{most} at most."
    else:
        text += f"differences under {floor} are not resolved."
    text += _disturbed([row for own in twins for row in own] + [r for g in pooled for r in g.rows])
    text += " Set repeats to 3 or more to narrow them."
    title = "Small differences are not resolved"
    if wide:
        most = words.percent(max(one.share for _, one in wide.values()))
        title = f"Equal settings differ by up to {most}"
    return [Finding(title, text, "unknown", variable)]


def _spreads(pooled: Sequence[Group]) -> dict[str, tuple[str, Spread]]:
    fields = {OUTPUT: "output throughput", **choose_latencies(pooled)}
    return {
        name: (field, found)
        for field, name in fields.items()
        if (found := find_spread(pooled[0].twins, field)) is not None
    }


def _disturbed(rows: Sequence[Row]) -> str:
    disturbed = [row for row in rows if is_disturbed(row)]
    if not disturbed:
        return ""
    return f" Other processes used cores at {name_rows(disturbed)}, which adds to the noise."


def name_row(row: Row) -> str:
    """Return what a row stands for: "max_num_seqs 4"."""
    return f"{words.short(row.get('variable'))} {words.setting(row.get('value'))}"


def show(found: Spread, field: str) -> str:
    """Return the two numbers of a spread: "11.4 and 20.1 tokens/s"."""
    low, high = read(found.low, field) or 0.0, read(found.high, field) or 0.0
    if field == OUTPUT:
        return f"{words.number(low)} and {words.per_second(high, 'tokens')}"
    return f"{words.seconds(low)} and {words.seconds(high)}"
