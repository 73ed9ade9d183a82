"""Live progress, told from the events of a run: one line of text, whoever shows it.

The measuring process appends its events to `progress.jsonl`; a notebook shows the line in one
display that is updated in place, a terminal shows it while it follows the file. This module must
not know how anything is measured.
"""

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from labkit.records import JsonlWriter
from labkit.remaining import Remaining

TICK_S, QUIET_S = 1.0, 5.0
"""How often a line is told anew on a terminal, and at most elsewhere, seconds."""

TOLD = ("failure", "step", "end")
"""Events that are told at once where lines can't be replaced."""


class Story:
    """What the events said so far, and the line that tells it."""

    def __init__(self) -> None:
        self.num_points = 0
        self._may_grow = False
        self._number = 0
        self._place = ""
        self._doing = ""
        self._step = ""
        self._ended = ""
        self._remaining = Remaining()

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one event."""
        self._remaining.hear(event)
        kind = event["event"]
        if kind == "run":
            self.num_points, self._number, self._ended = event["num_points"], 0, ""
            self._may_grow = event.get("may_grow", False)
        elif kind == "plan":
            self.num_points = event["num_points"]
        elif kind == "point":
            self._number, self._doing = event["number"], "starting the engine"
            parts = [f"{event['variable'].rpartition('.')[2]} = {event['value']}"]
            parts += [event["series"]] if event.get("series") else []
            parts += [f"repeat {event['repeat']}"] if event["repeat"] else []
            self._place = ", ".join(parts)
        elif kind == "step":
            self._step = f"step {event['number']} of {event['num_steps']}: {event['title']}"
        elif kind == "step_down":
            knob, smaller = event["knob"], event["to"]
            self._doing = f"out of memory, trying again with {knob} = {smaller}"
        elif kind == "ready":
            self._doing = "making the requests"
        elif kind == "warmup":
            self._doing = "warming up"
        elif kind == "requests":
            rate = event["completion_tokens"] / max(1e-9, event["elapsed_s"])
            failed = f", {event['num_error']} failed" if event["num_error"] else ""
            self._doing = (
                f"{event['num_done']} of {event['num_total']} requests{failed}, {rate:.0f} tokens/s"
            )
        elif kind == "point_end":
            if event["status"] != "ok":
                self._doing = f"{event['status']}: {event['error']}"
        elif kind == "end":
            told = f"all {self.num_points} points measured"
            self._ended = told if self.num_points else "all steps taken"

    def tell(self, at_s: float) -> str:
        """Return the line that tells the run at a second of the events' monotonic clock."""
        if self._ended or self._step:
            return self._ended or self._step
        if not self._number:
            more = ", and more as a search finds them" if self._may_grow else ""
            return f"{self.num_points} points to measure{more}"
        least = "at least " if self._may_grow else ""
        place = f"point {self._number} of {least}{self.num_points}: {self._place}"
        return f"{place}: {self._doing}{self._left(at_s)}"

    def _left(self, at_s: float) -> str:
        point_s, total_s = self._remaining.point_s(at_s), self._remaining.total_s(at_s)
        last = self._number >= self.num_points and not self._may_grow
        told = []
        if point_s is not None:
            told.append(f"about {show_duration(point_s)} left{'' if last else ' of this point'}")
        if total_s is not None and not last:
            told.append(f"about {show_duration(total_s)} {'in all' if told else 'left in all'}")
        return "".join(f", {one}" for one in told)


def show_duration(seconds: float) -> str:
    """Return a duration no finer than an estimate is: "7 s", "35 s", "4 min", "2.5 h"."""
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds < 90:
        return f"{5 * round(seconds / 5)} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


class Teller:
    """Keeps a run's events in a file and shows them to whoever looks at the notebook."""

    def __init__(self, path: Path, show: Callable[[str], None]) -> None:
        self._writer = JsonlWriter(path)
        self._story = Story()
        self._show = show

    def __call__(self, event: dict[str, Any]) -> None:
        """Keep one event and show the line that it leads to."""
        self._writer.write(event)
        self._story.hear(event)
        self._show(self._story.tell(time.monotonic()))

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def show_in_place() -> Callable[[str], None]:
    """Return a function that shows a line in one notebook output, replaced each time."""
    from IPython.display import display  # not needed by a terminal

    handle = display({"text/plain": "getting ready"}, raw=True, display_id=True)

    def show(line: str) -> None:
        handle.update({"text/plain": line}, raw=True)

    return show


class Follower:
    """Follows `progress.jsonl` from a thread and prints its story to stderr.

    On a terminal the line is replaced in place, and counts down each second; elsewhere a line is
    printed every five seconds at most, and for each failure.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0
        self._rest = b""
        self._story = Story()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="progress", daemon=True)
        self._printed_at_s = 0.0
        self._line = ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._done.set()
        self._thread.join()
        if sys.stderr.isatty() and self._line:
            sys.stderr.write("\n")

    def _follow(self) -> None:
        while not self._done.wait(0.2):
            self._read()
        self._read()

    def _read(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = json.loads(line)
            self._story.hear(event)
            failed = event["event"] == "point_end" and event["status"] != "ok"
            kind = "failure" if failed else event["event"]
            self._print(self._story.tell(event.get("at_s", time.monotonic())), kind)
            if event["event"] == "end":
                self._print("writing the report", "end")
        if self._line and sys.stderr.isatty() and time.monotonic() - self._printed_at_s > TICK_S:
            self._print(self._story.tell(time.monotonic()), "tick")

    def _print(self, line: str, kind: str) -> None:
        now_s = time.monotonic()
        if sys.stderr.isatty():
            ending = "\n" if kind in ("point_end", "failure", "end") else ""
            room = shutil.get_terminal_size().columns - 1
            shown = line if ending or len(line) <= room else f"{line[: room - 1]}…"
            sys.stderr.write(f"\r\x1b[2K{shown}{ending}")
            self._line = "" if ending else line
            self._printed_at_s = now_s
        elif kind in TOLD or now_s - self._printed_at_s > QUIET_S:
            sys.stderr.write(f"{line}\n")
            self._printed_at_s = now_s
        sys.stderr.flush()
