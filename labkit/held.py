"""The engine between points: kept while the next one asks for the same, else stopped and launched.

It must not know points, traffic or records.
"""

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from labkit.engines import Engine, open_engine
from labkit.errors import EngineError
from labkit.params import EngineParams
from labkit.telemetry.release import read_used, wait_released


@dataclass(frozen=True, slots=True)
class Running:
    """An engine that is up, what it was launched with, and where its log is."""

    params: EngineParams
    engine: Engine
    log: Path


class Held:
    """At most one running engine; the one that this block launched ends with it."""

    def __init__(self, running: Running | None = None) -> None:
        """Begin with an engine that somebody else launched and will stop, or with none."""
        self._running = running
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.drop()

    def open(self, params: EngineParams, folder: Path, facts: dict[str, Any]) -> Running:
        """Return an engine with these params and nothing in its prefix cache.

        One that is up is kept if it has the same params, and its cache is reset. `facts` get when
        it was started and ready, or whether the reset worked. Raises what `open_engine` raises,
        EngineError if the engine before did not give its GPU memory back.
        """
        if self._running is not None and self._running.params == params:
            facts["cache_reset"] = self._running.engine.reset_cache()
            return self._running
        self.drop()
        environment = {**os.environ, **params.env}
        before = None if params.kind == "endpoint" else read_used(environment=environment)
        facts["started_at_s"] = time.monotonic()
        self._stack.callback(lambda: _expect_released(before, environment))
        engine = self._stack.enter_context(open_engine(params, folder=folder))
        facts["ready_at_s"] = time.monotonic()
        self._running = Running(params, engine, folder / "engine.log")
        return self._running

    def drop(self) -> None:
        """Let go of the engine; one that was launched here is stopped and its memory is back."""
        self._running = None
        self._stack.close()


def _expect_released(before: dict[int, int] | None, environment: Mapping[str, str]) -> None:
    if held := wait_released(before, environment=environment):
        told = ", ".join(f"GPU {index}: {used / 2**20:.0f} MiB" for index, used in held.items())
        raise EngineError(
            f"expected the engine's GPU memory to be back after its stop, found still in use "
            f"{told}; look for what is left with nvidia-smi"
        )
