"""Live progress, told from the events of a run: one line of text, whoever shows it.

The measuring process appends its events to `progress.jsonl`; a notebook shows the line in one
display that is updated in place, a terminal shows it while it follows the file. This module must
not know how anything is measured.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from labkit.records import JsonlWriter

TOLD = ("point", "point_end", "step", "end")
"""Events that are told at once where lines can't be replaced."""


class Story:
    """What the events said so far, and the line that tells it."""

    def __init__(self) -> None:
        self.num_points = 0
        self._may_grow = False
        self._began_at_s: float | None = None
        self._number = 0
        self._place = ""
        self._doing = ""
        self._share = 0.0

    def hear(self, event: dict[str, Any]) -> str:
        """Take in one event and return the line that now tells the run."""
        kind = event["event"]
        if kind == "run":
            self.num_points, self._began_at_s = event["num_points"], event["at_s"]
            self._may_grow = event.get("may_grow", False)
            more = ", and more as a search finds them" if self._may_grow else ""
            return f"{self.num_points} points to measure{more}"
        elif kind == "plan":
            self.num_points = event["num_points"]
        elif kind == "point":
            self._number, self._share, self._doing = event["number"], 0.0, "starting the engine"
            self._place = f"{event['variable'].rpartition('.')[2]} = {event['value']}"
            if event["repeat"]:
                self._place += f", repeat {event['repeat']}"
        elif kind == "step":
            return f"step {event['number']} of {event['num_steps']}: {event['title']}"
        elif kind == "step_down":
            knob, smaller = event["knob"], event["to"]
            self._doing = f"out of memory, trying again with {knob} = {smaller}"
        elif kind == "warmup":
            self._doing = "warming up"
        elif kind == "requests":
            self._share = event["num_done"] / max(1, event["num_total"])
            rate = event["completion_tokens"] / max(1e-9, event["elapsed_s"])
            failed = f", {event['num_error']} failed" if event["num_error"] else ""
            self._doing = (
                f"{event['num_done']} of {event['num_total']} requests{failed}, {rate:.0f} tokens/s"
            )
        elif kind == "point_end":
            self._share = 1.0
            if event["status"] != "ok":
                self._doing = f"{event['status']}: {event['error']}"
        elif kind == "end":
            told = f"all {self.num_points} points measured"
            return told if self.num_points else "all steps taken"
        least = "at least " if self._may_grow else ""
        place = f"point {self._number} of {least}{self.num_points}: {self._place}"
        return f"{place}: {self._doing}{self._left()}"

    def _left(self) -> str:
        done = max(0, self._number - 1) + self._share
        if self._began_at_s is None or done < 0.2 or self._may_grow:
            return ""
        left_s = (time.monotonic() - self._began_at_s) / done * (self.num_points - done)
        return f", about {_round(left_s)} left"


class Teller:
    """Keeps a run's events in a file and shows them to whoever looks at the notebook."""

    def __init__(self, path: Path, show: Callable[[str], None]) -> None:
        self._writer = JsonlWriter(path)
        self._story = Story()
        self._show = show

    def __call__(self, event: dict[str, Any]) -> None:
        """Keep one event and show the line that it leads to."""
        self._writer.write(event)
        self._show(self._story.hear(event))

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

    On a terminal the line is replaced in place; elsewhere a line is printed when a point begins
    or ends, and every ten seconds.
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
            self._print(self._story.hear(event), event["event"])
            if event["event"] == "end":
                self._print("writing the report", "end")

    def _print(self, line: str, kind: str) -> None:
        if sys.stderr.isatty():
            ending = "\n" if kind in ("point_end", "end") else ""
            sys.stderr.write(f"\r\x1b[2K{line}{ending}")
            self._line = "" if ending else line
        elif kind in TOLD or time.monotonic() - self._printed_at_s > 10:
            sys.stderr.write(f"{line}\n")
            self._printed_at_s = time.monotonic()
        sys.stderr.flush()


def _round(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
