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
from labkit.errors import ParamsError, RecordsError
from labkit.held import Running
from labkit.home import find_place, find_reports
from labkit.params import Params, load_params
from labkit.plan import make_plan
from labkit.records import RunFolder
from labkit.request import check_request, create_run
from labkit.workbook.book import Workbook
from labkit.workbook.measuring import measure_run
from labkit.workbook.parameters import refuse_unknown, split_overrides


def launch(
    params_file: str,
    overrides: Sequence[str] | str = (),
    run_dir: str = "",
    measuring: bool = True,
) -> "Bench":
    """Launch the engine of a params file for one point by hand; the sweep's values are not used.

    With `run_dir` its own params and its whole plan hold. With `measuring` false nothing is
    launched, and what the run recorded is shown.
    """
    refuse_unknown(list(inspect.signature(launch).parameters))
    if run_dir:
        return Bench(RunFolder.open(find_place(run_dir)), measuring=measuring)
    if not measuring:
        raise RecordsError("expected run_dir where nothing is to be measured, found none; name one")
    return Bench(_begin(_narrow(load_params(find_place(params_file), split_overrides(overrides)))))


def _narrow(params: Params) -> Params:
    """Return the params with the base value of what is swept, once."""
    if not params.sweep:
        raise ParamsError("expected a sweep in the params, found none; take another file")
    first = params.sweep[0]
    section, _, knob = first.variable.partition(".")
    base = getattr(getattr(params, section, None), knob, None)
    value = first.values[0] if base is None else base
    alone = first.model_copy(update={"values": [value], "search": None, "repeats": 1})
    return params.model_copy(update={"sweep": [alone]})


def _begin(params: Params) -> RunFolder:
    reports = find_reports()
    return create_run(params, check_request(params, reports), reports)


class Bench:
    """An engine that is up, to be asked and loaded by hand; stop it, or end the kernel."""

    def __init__(self, run: RunFolder, *, measuring: bool = True) -> None:
        self._params = load_params(run.params_path)
        self._first: RunFolder | None = run
        self._run = run
        self._stack = ExitStack()
        self._running: Running | None = None
        if measuring:
            engine = make_plan(self._params)[0].engine
            up = self._stack.enter_context(open_engine(engine, folder=run.path))
            self._running = Running(engine, up, run.path / "engine.log")

    @property
    def effective(self) -> dict[str, Any]:
        """The settings as the engine itself tells them."""
        if self._running is not None:
            return self._running.engine.effective()
        recorded = next(iter(self._run.points()), None)
        return dict(recorded.point.get("effective") or {}) if recorded else {}

    def verify(self) -> dict[str, Any]:
        """Send one request and return its text, finish reason and usage."""
        if self._running is None:
            return {"reason": "no engine is up: this run is only looked at"}
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
        run, self._first = self._first, None
        if run is None:
            run = self._run = create_run(self._params, make_plan(self._params), find_reports())
        if self._running is None:
            run.settle()
        else:
            measure_run(run, self._running, live=True)
        return Workbook(run)

    def stop(self) -> None:
        """End the engine; returns when its port is closed."""
        self._stack.close()
