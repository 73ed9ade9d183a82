"""Sampling beside a load: a thread a source, on a schedule that does not drift.

Samples are appended to one file as they are taken. A source that fails leaves rows that say so and
goes on. It must not know what its sources read.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from labkit.errors import LabkitError
from labkit.records import JsonlWriter
from labkit.telemetry.engine import read_engine
from labkit.telemetry.gpu import Gpus
from labkit.telemetry.host import Host, Pids

Source = Callable[[], Mapping[str, Any] | list[dict[str, Any]]]
"""Takes one sample: one row, or several that were taken together."""


class Sampler:
    """Samples while its block runs: at once, then each period, and once more at the end."""

    def __init__(
        self,
        out: Path,
        period_s: float,
        sources: Mapping[str, Source],
        *,
        stop_timeout_s: float = 5.0,
    ) -> None:
        self._out = out
        self._period_s = period_s
        self._sources = sources
        self._stop_timeout_s = stop_timeout_s
        self._running = threading.Lock()
        """Held while samples are taken. To wait for a lock costs half of what an Event does."""
        self._lock = threading.Lock()
        self._writer: JsonlWriter | None = None
        self._failure: OSError | None = None
        self._threads: dict[str, threading.Thread] = {}
        self._costs: dict[str, dict[str, float]] = {}

    def cost(self) -> dict[str, Any]:
        """Return {"period_s", "sources": {name: {"cpu_s", "time_s"}}}, as it stands.

        cpu_s is the CPU time of the source's thread, time_s how long it has been sampling; both
        up to its last sample.
        """
        return {"period_s": self._period_s, "sources": {**self._costs}}

    def __enter__(self) -> Self:
        self._writer = JsonlWriter(self._out)
        self._running.acquire()
        began_at_s = time.monotonic()
        for name, take in self._sources.items():
            thread = threading.Thread(
                target=self._work,
                args=(name, take, began_at_s),
                name=f"{name} samples",
                daemon=True,
            )
            self._threads[name] = thread
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the threads. Raises LabkitError if samples were not written and the block was well.

        A source that does not come back within the timeout is left behind and its row says so.
        """
        self._running.release()
        try:
            self._join()
        finally:
            with self._lock:
                if self._writer is not None:
                    self._writer.close()
                self._writer = None
        if self._failure is not None and error is None:
            raise LabkitError(
                f"expected to append samples to {self._out}, "
                f"found: {self._failure.strerror or self._failure}; make room and run again"
            )

    def _join(self) -> None:
        asked_at_s = time.monotonic()
        for name, thread in self._threads.items():
            thread.join(max(0.0, asked_at_s + self._stop_timeout_s - time.monotonic()))
            if thread.is_alive():
                waited_s = time.monotonic() - asked_at_s
                told = f"the {name} did not answer within {self._stop_timeout_s:g} s at the end"
                self._write(_stamp(name, asked_at_s, waited_s, {"error": told}))

    def _work(self, name: str, take: Source, began_at_s: float) -> None:
        tick, going, before_s = 0, True, time.thread_time()
        while going:
            due_at_s = began_at_s + tick * self._period_s
            going = not self._has_ended(max(0.0, due_at_s - time.monotonic()))
            for row in take_rows(name, take):
                if not self._write(row):
                    return
            spent_s = time.thread_time() - before_s
            self._costs[name] = {"cpu_s": spent_s, "time_s": time.monotonic() - began_at_s}
            tick = next_tick(tick, time.monotonic() - began_at_s, self._period_s)

    def _has_ended(self, timeout_s: float) -> bool:
        """Wait, and return whether the end came meanwhile."""
        ended = self._running.acquire(timeout=timeout_s)
        if ended:
            self._running.release()  # for the next thread
        return ended

    def _write(self, row: dict[str, Any]) -> bool:
        """Append one row and return whether to go on; nothing is written after the end."""
        with self._lock:
            if self._writer is None:
                return False
            try:
                try:
                    self._writer.write(row)
                except (TypeError, ValueError) as error:  # NaN, or not JSON at all
                    bad = {"error": describe_error(error)}
                    self._writer.write(_stamp(row["source"], row["at_s"], row["took_s"], bad))
            except OSError as error:
                self._failure = error
                return False
        return True


def next_tick(tick: int, elapsed_s: float, period_s: float) -> int:
    """Return the number of the next tick that is not past; ticks that were missed are skipped."""
    return max(tick + 1, math.ceil(elapsed_s / period_s))


def take_rows(name: str, take: Source) -> Iterable[dict[str, Any]]:
    """Return the rows of one sample, stamped with its start; one row with the error if it failed.

    at_s is in s of the monotonic clock, took_s the time that the sample needed.
    """
    at_s = time.monotonic()
    try:
        found = take()
    except Exception as error:
        found = {"error": describe_error(error)}
    took_s = time.monotonic() - at_s
    rows = found if isinstance(found, list) else [found]
    return [_stamp(name, at_s, took_s, row) for row in rows]


def describe_error(error: Exception) -> str:
    """Return an error in one line, with its type unless labkit worded it."""
    text = " ".join(str(error).split())
    return text if isinstance(error, LabkitError) else f"{type(error).__name__}: {text}"


def open_sources(
    scrape: Callable[[], Mapping[str, Any]],
    engine_pids: Pids,
    client_pids: Pids,
    gpus: Gpus | None,
) -> dict[str, Source]:
    """Return the sources by name; without GPUs there is none of that name."""
    sources: dict[str, Source] = {
        "engine": lambda: read_engine(scrape),
        "host": Host(engine_pids, client_pids).sample,
    }
    if gpus is not None:
        sources["gpu"] = gpus.sample
    return sources


def _stamp(name: str, at_s: float, took_s: float, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"source": name, "at_s": at_s, "took_s": took_s, **row, "error": row.get("error")}
