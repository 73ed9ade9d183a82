"""An engine that is up, to be asked and loaded by hand.

It must not know how a sweep is planned.
"""

import inspect
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from labkit.address import read_key
from labkit.client.verify import verify_endpoint
from labkit.engines import open_engine
from labkit.errors import ParamsError
from labkit.held import Running
from labkit.home import find_place, find_reports
from labkit.params import Params, load_params
from labkit.plan import make_plan
from labkit.records import RunFolder
from labkit.request import check_request, create_run
from labkit.workbook.book import Workbook
from labkit.workbook.measuring import measure_run
from labkit.workbook.parameters import refuse_unknown, split_overrides


def launch(params_file: str, overrides: Sequence[str] | str = ()) -> "Bench":
    """Launch the engine of a params file for one point by hand; the sweep's values are not used."""
    refuse_unknown(list(inspect.signature(launch).parameters))
    return Bench(load_params(find_place(params_file), split_overrides(overrides)))


class Bench:
    """An engine that is up, to be asked and loaded by hand; stop it, or end the kernel."""

    def __init__(self, params: Params) -> None:
        if not params.sweep:
            raise ParamsError("expected a sweep in the params, found none; take another file")
        first = params.sweep[0]
        section, _, knob = first.variable.partition(".")
        base = getattr(getattr(params, section, None), knob, None)
        value = first.values[0] if base is None else base
        alone = first.model_copy(update={"values": [value], "search": None, "repeats": 1})
        self._params = params.model_copy(update={"sweep": [alone]})
        self._stack = ExitStack()
        run, self._running = self._begin()
        self._run: RunFolder | None = run

    def _begin(self) -> tuple[RunFolder, Running]:
        reports = find_reports()
        plan = check_request(self._params, reports)
        run = create_run(self._params, plan, reports)
        engine = self._stack.enter_context(open_engine(plan[0].engine, folder=run.path))
        return run, Running(plan[0].engine, engine, run.path / "engine.log")

    @property
    def effective(self) -> dict[str, Any]:
        """The settings as the engine itself tells them."""
        return self._running.engine.effective()

    def verify(self) -> dict[str, Any]:
        """Send one request and return its text, finish reason and usage."""
        engine = self._running.engine
        key = read_key(self._running.params.key_source)
        found = verify_endpoint(engine.base_url, model=engine.model, api_key=key)
        return {
            "text": found.text,
            "finish_reason": found.finish_reason,
            "prompt_tokens": found.prompt_tokens,
            "completion_tokens": found.completion_tokens,
            "latency_s": found.latency_s,
        }

    def fire(self) -> Workbook:
        """Send the load of the params into a run folder of its own and return it to look at."""
        run, self._run = self._run, None
        if run is None:
            reports = find_reports()
            run = create_run(self._params, make_plan(self._params), reports)
        measure_run(run, self._running, live=True)
        return Workbook(run)

    def stop(self) -> None:
        """End the engine; returns when its port is closed."""
        self._stack.close()
