"""A line of a comparison in words: how large the effect is, and what is known of it.

It formats and never computes.
"""

from labkit.analysis import words
from labkit.analysis.comparison.lines import Line

NO_NOISE = "`labkit run PARAMS --aa` measures the noise of this machine"


def tell_effect(line: Line) -> str:
    """Return the effect with its interval: "+5.2 % (+2.1 to +8.4)", or the difference itself."""
    found = line.found
    if found.measure == "ratio":
        told = f"{_signed((found.value - 1) * 100)} %"
        if found.low is None or found.high is None:
            return told
        return f"{told} ({_signed((found.low - 1) * 100)} to {_signed((found.high - 1) * 100)})"
    told = _shown(line, found.value)
    if found.low is None or found.high is None:
        return told
    return f"{told} ({_shown(line, found.low)} to {_shown(line, found.high)})"


def tell_repeats(line: Line) -> str:
    """Return how many repeats it rests on: "5 repeats each", "3 and 5 repeats"."""
    one, other = line.found.n_a, line.found.n_b
    if one == other:
        return f"{words.count(one, 'repeat')} each"
    return f"{one} and {other} repeats"


def tell_verdict(line: Line) -> str:
    """Return the verdict with what makes it worth something."""
    return f"{line.verdict}{tell_ground(line)}"


def tell_ground(line: Line) -> str:
    """Return what stands behind a verdict, to follow it: "; 3.1 % or more would have been"."""
    found = line.found
    if line.verdict in ("better", "worse", "differs"):
        return ""
    if line.verdict == "no difference seen":
        if not line.detectable:
            return ": the same in every repeat"
        return f"; {words.percent(line.detectable)} or more would have been"
    told = f" with {tell_repeats(line)}"
    if found.error is None:
        few = min(found.n_a, found.n_b) < 2
        return f"{told} and no noise stored" if few else f"{told} that do not scatter"
    if line.repeats_needed is None:
        return f"{told}: it scatters too much" if line.mean_a else f"{told}: it is 0 in A"
    return f"{told}; {line.repeats_needed} each would do"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{words.number(abs(value))}"


def _shown(line: Line, value: float) -> str:
    return f"{'-' if value < 0 else '+'}{line.metric.show(abs(value))}"
