"""A running point shown in one notebook output that is replaced in place, without widgets.

A thread reads the samples as they come and draws twice a second what has changed. Whatever goes
wrong with a picture stops no measurement. It must not know how a point is measured.
"""

import contextlib
import json
import threading
import time
from pathlib import Path
from typing import Any, Self

from IPython.display import display

from labkit.progress import Story
from labkit.records import RunFolder
from labkit.workbook.pulse import Pulse

PERIOD_S = 0.5


class Live:
    """One output of a notebook for the events and samples of a run."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._story, self._pulse = Story(), Pulse()
        self._samples: Path | None = None
        self._position, self._rest = 0, b""
        self._shown = ""
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="live", daemon=True)
        self._handle = display(self._bundle(), raw=True, display_id=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._done.set()
        self._thread.join()
        self._show()

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one event; it is shown with the next picture."""
        with self._lock:
            self._story.hear(event)
            if event["event"] == "point":
                self._samples = self._run.point_folder(event["point_id"]) / "samples.jsonl"
                self._position, self._rest = 0, b""
            self._pulse.hear(event, self._story.tell(time.monotonic()))

    def _follow(self) -> None:
        while not self._done.wait(PERIOD_S):
            self._show()

    def _show(self) -> None:
        with contextlib.suppress(Exception), self._lock:
            self._read()
            bundle = self._bundle()
            if bundle["text/html"] != self._shown:
                self._shown = bundle["text/html"]
                self._handle.update(bundle, raw=True)

    def _bundle(self) -> dict[str, str]:
        return {"text/html": self._pulse.draw(), "text/plain": self._pulse.line}

    def _read(self) -> None:
        if self._samples is None or not self._samples.exists():
            return
        with self._samples.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._pulse.sample(json.loads(line))
