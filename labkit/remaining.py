"""How long a run still takes, estimated from the events of what has been measured; pure.

A point takes a launch, where it launches an engine, and then its work. What is expected of either
is the mean of what was measured: of the same value of the same arm where there is any, else of the
same arm, else of all. A point whose requests are coming in tells more and more of itself: its own
pace counts as much as its share of ended requests. It must not know how anything is shown or
measured, and reads no clock.
"""

from collections.abc import Iterable
from statistics import fmean
from typing import Any

MIN_DONE, MIN_SHARE = 2, 0.2
"""Requests that must have ended, and their share, before a point's own pace is ground."""

Key = tuple[Any, Any, Any]
"""Variable, series and value of a point."""


class Remaining:
    """What the events told of launches and work, and what is expected of the rest."""

    def __init__(self) -> None:
        self._waiting: list[dict[str, Any]] = []
        self._may_grow = False
        self._launches_s: list[float] = []
        self._work_s: list[tuple[Key, float]] = []
        self._key: Key | None = None
        self._launching = False
        self._since_s = 0.0
        """When the launch began or, once the engine is ready, the work."""
        self._share = 0.0
        self._pace_s: float | None = None
        """What the ended requests say the load still takes, at `_told_at_s`."""
        self._told_at_s = 0.0

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one event; those of another kind, or without a stamp, tell nothing."""
        kind, at_s = event["event"], event.get("at_s")
        if at_s is None:
            return
        if kind == "run":
            self._waiting = list(event.get("points", []))
            self._may_grow = event.get("may_grow", False)
        elif kind == "plan":
            self._waiting += event.get("points", [])
        elif kind == "point":
            told = self._waiting.pop(0) if self._waiting else {}
            self._key = _key(event)
            self._begin(at_s, launching=told.get("launches", True))
        elif kind == "step_down":
            self._begin(at_s, launching=True)
        elif kind == "ready":
            if self._launching:
                self._launches_s.append(at_s - self._since_s)
            self._begin(at_s, launching=False)
        elif kind == "requests":
            done, total = event["num_done"], max(1, event["num_total"])
            self._share, self._told_at_s = done / total, at_s
            if done >= MIN_DONE and self._share >= MIN_SHARE:
                self._pace_s = event["elapsed_s"] * (total - done) / done
        elif kind == "point_end" and self._key is not None:
            if event["status"] == "ok":
                self._work_s.append((self._key, at_s - self._since_s))
            self._key = None

    def point_s(self, at_s: float) -> float | None:
        """Return the seconds that the running point still takes, None without ground."""
        if self._key is None:
            return None
        expected = self._expect(self._key, self._work_s)
        elapsed_s = at_s - self._since_s
        if self._launching:
            launch_s = self._launch()
            if launch_s is None or expected is None:
                return None
            return max(0.0, launch_s - elapsed_s) + expected
        before = None if expected is None else max(0.0, expected - elapsed_s)
        if self._pace_s is None:
            return before
        own = max(0.0, self._pace_s - (at_s - self._told_at_s))
        return own if before is None else self._share * own + (1 - self._share) * before

    def total_s(self, at_s: float) -> float | None:
        """Return the seconds that the rest of the run takes, None without ground or known end."""
        if self._may_grow:
            return None
        running = self.point_s(at_s)
        if running is None and self._key is not None:
            return None
        known = list(self._work_s)
        if self._key is not None and running is not None and not self._launching:
            known.append((self._key, at_s - self._since_s + running))
        parts: list[float | None] = [running or 0.0]
        for point in self._waiting:
            parts.append(self._expect(_key(point), known))
            if point.get("launches", True):
                parts.append(self._launch())
        return None if None in parts else sum(part for part in parts if part is not None)

    def _begin(self, at_s: float, *, launching: bool) -> None:
        self._launching, self._since_s = launching, at_s
        self._share, self._pace_s = 0.0, None

    def _launch(self) -> float | None:
        return _mean(self._launches_s)

    def _expect(self, key: Key, known: list[tuple[Key, float]]) -> float | None:
        same = _mean(work_s for one, work_s in known if one == key)
        arm = _mean(work_s for one, work_s in known if one[:2] == key[:2])
        return next((s for s in (same, arm) if s is not None), _mean(work_s for _, work_s in known))


def _mean(numbers: Iterable[float]) -> float | None:
    found = list(numbers)
    return fmean(found) if found else None


def _key(place: dict[str, Any]) -> Key:
    return place.get("variable"), place.get("series"), place.get("value")
