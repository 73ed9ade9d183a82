"""The settings of a point: what was asked beside what is in force, and what ran lowered.

It compares and never judges a point; it must not know what a setting does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from labkit.analysis import words

IDENTITY = ("kind", "model")
"""What `asked` holds beside settings."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a point; None stands for not asked, or not told by the engine."""

    name: str
    asked: Any
    effective: Any
    state: Literal["same", "differs", "unasked", "untold"]


@dataclass(frozen=True, slots=True)
class Step:
    """A setting that was lowered, from what was asked to what ran in the end."""

    name: str
    asked: Any
    ran: Any
    because: str

    @property
    def cause(self) -> str:
        """Why, in words, with the kind of the error behind them."""
        short = "the engine ran out of memory"
        return f"{short} ({self.because})" if self.because.startswith("oom") else self.because


def compare_settings(row: Row) -> list[Setting]:
    """Return every setting that was asked or is told, those that were asked first."""
    asked = {name: value for name, value in row["asked"].items() if name not in IDENTITY}
    effective, found = row["effective"], []
    for name in dict.fromkeys((*asked, *effective)):
        wanted, told = asked.get(name), effective.get(name)
        if wanted is None and told is None:
            continue
        state: Literal["same", "differs", "unasked", "untold"] = "differs"
        if wanted is None:
            state = "unasked"
        elif told is None:
            state = "untold"
        elif is_same(wanted, told):
            state = "same"
        found.append(Setting(name, wanted, told, state))
    return found


def is_same(asked: Any, effective: Any) -> bool:
    """Tell whether two values of a setting are the same; floats within a millionth."""
    if isinstance(asked, float) or isinstance(effective, float):
        try:
            return abs(float(asked) - float(effective)) <= 1e-6 * max(1.0, abs(float(asked)))
        except (TypeError, ValueError):
            return False
    return bool(asked == effective)


def list_steps(row: Row) -> list[Step]:
    """Return what was lowered so that the engine would run, each setting once."""
    steps: dict[str, Step] = {}
    for one in row.get("stepped_down") or []:
        name = str(one["knob"])
        asked = steps[name].asked if name in steps else one.get("from")
        steps[name] = Step(name, asked, one.get("to"), str(one.get("because") or "not told"))
    return [one for one in steps.values() if one.asked != one.ran]


def find_lost_value(row: Row) -> list[str]:
    """Return why a point does not hold its own swept value, nothing where it does."""
    return [
        f"{_tell_step(one)}, so the point does not hold its value"
        for one in list_steps(row)
        if row.get("variable") == f"engine.{one.name}"
    ]


def doubt_settings(row: Row) -> list[str]:
    """Return which other settings ran lowered than asked."""
    steps = [one for one in list_steps(row) if row.get("variable") != f"engine.{one.name}"]
    return [_tell_step(one) for one in steps]


def _tell_step(step: Step) -> str:
    ran, asked = words.setting(step.ran), words.setting(step.asked)
    return f"{step.name} ran as {ran}, not {'the ' * (step.asked is None)}{asked}: {step.cause}"
