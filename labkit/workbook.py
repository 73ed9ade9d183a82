"""What a notebook calls: one function that measures what is missing, and views of what is there.

Everything a notebook shows is made here from the records, so that a notebook stays prose, a call
and a figure. It must not know how a command line is parsed.
"""

import ast
import inspect
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import HTML, display

from labkit.address import read_key
from labkit.analysis import definitions
from labkit.analysis.findings import conclude, headline
from labkit.analysis.summary import summarize, to_frame
from labkit.client.verify import verify_endpoint
from labkit.engines import open_engine
from labkit.errors import ParamsError, RecordsError
from labkit.held import Running
from labkit.home import find_place, find_reports
from labkit.params import Params, load_params, name_nearest
from labkit.plan import make_plan
from labkit.progress import Teller, show_in_place
from labkit.records import RunFolder, replace_json, replace_text
from labkit.report import figures, inside, kv_memory, resources, tables
from labkit.report.diagnosis import diagnosis_block
from labkit.report.opening import list_commands, make_opening
from labkit.request import check_request, create_run
from labkit.run import measure

HIDDEN = {"api_key_env", "base_url", "providers_file"}
"""What of the engine's params no summary tells."""


def sweep(
    params_file: str,
    overrides: Sequence[str] | str = (),
    run_dir: str = "",
    measuring: bool = True,
) -> "Workbook":
    """Measure what a run folder lacks, summarise all of it, and return it to look at.

    With `run_dir` its own params hold and `params_file` is not read; without it a new folder is
    made under `reports`. With `measuring` false nothing is launched. `overrides` are texts such as
    `engine.max_num_seqs=8`, in a list or in one text with blanks between. Raises LabkitError, also
    for a parameter that papermill passed and this function does not have.
    """
    _refuse_unknown(list(inspect.signature(sweep).parameters))
    if run_dir:
        run = RunFolder.open(find_place(run_dir))
    elif measuring:
        params = load_params(find_place(params_file), _split(overrides))
        reports = find_reports()
        run = create_run(params, check_request(params, reports), reports)
    else:
        raise RecordsError("expected run_dir where nothing is to be measured, found none; name one")
    if measuring:
        _measure(run)
    else:
        run.settle()
    return Workbook(run)


def launch(params_file: str, overrides: Sequence[str] | str = ()) -> "Bench":
    """Launch the engine of a params file for one point by hand; the sweep's values are not used."""
    _refuse_unknown(list(inspect.signature(launch).parameters))
    return Bench(load_params(find_place(params_file), _split(overrides)))


class Bench:
    """An engine that is up, to be asked and loaded by hand; stop it, or end the kernel."""

    def __init__(self, params: Params) -> None:
        first = params.sweep[0]
        section, _, knob = first.variable.partition(".")
        base = getattr(getattr(params, section, None), knob, None)
        value = first.values[0] if base is None else base
        alone = first.model_copy(update={"values": [value], "repeats": 1})
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

    def fire(self) -> "Workbook":
        """Send the load of the params into a run folder of its own and return it to look at."""
        run, self._run = self._run, None
        if run is None:
            reports = find_reports()
            run = create_run(self._params, make_plan(self._params), reports)
        _measure(run, self._running)
        return Workbook(run)

    def stop(self) -> None:
        """End the engine; returns when its port is closed."""
        self._stack.close()


def _measure(run: RunFolder, running: Running | None = None) -> None:
    teller = Teller(run.progress_path, show_in_place())
    try:
        measure(run, teller, running)
    except BaseException:
        write_summary(run)
        raise
    finally:
        teller.close()


def _split(overrides: Sequence[str] | str) -> Sequence[str]:
    return overrides.split() if isinstance(overrides, str) else overrides


def _refuse_unknown(known: list[str]) -> None:
    """Refuse a name that papermill injected and the notebook does not have.

    papermill puts its parameters into a cell that begins with `# Parameters`, and only logs a
    name that is not in the notebook's own parameters cell.
    """
    shell = get_ipython()
    cells = shell.user_ns.get("In", []) if shell is not None else []
    for cell in cells:
        if not cell.startswith("# Parameters"):
            continue
        for statement in ast.parse(cell).body:
            for target in getattr(statement, "targets", []):
                if isinstance(target, ast.Name) and target.id not in known:
                    raise ParamsError(
                        f"{target.id} is not a parameter of this notebook"
                        f"{name_nearest(target.id, known)}"
                    )


def write_summary(run: RunFolder) -> dict[str, Any]:
    """Derive summary.json and summary.csv from the records of a run and return the former."""
    params = load_params(run.params_path)
    manifest = run.manifest()
    told = {
        "name": manifest["name"],
        "run_id": run.path.name,
        "status": manifest["status"],
        "error": manifest["error"],
        "started_at": manifest["started_at"],
        "num_points_planned": len(manifest["plan"]),
        "sweep": [
            {"variable": one.variable, "values": one.values, "repeats": one.repeats}
            for one in params.sweep
        ],
        "slo": params.slo.model_dump(mode="json"),
        "cost": params.cost.model_dump(mode="json"),
        "load": params.load.model_dump(mode="json"),
        "workload": params.workload.model_dump(mode="json"),
        "engine": params.engine.model_dump(mode="json", exclude=HIDDEN),
        "environment": manifest["environment"],
    }
    summary = summarize(told, run.points(), params.slo.model_dump(mode="json"))
    replace_json(run.summary_path, summary)
    replace_text(run.table_path, to_frame(summary).to_csv(index=False, lineterminator="\n"))
    return summary


class Workbook:
    """A run to look at: each method shows one thing, made from the records alone."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.summary = write_summary(run)

    @property
    def run_dir(self) -> Path:
        """Where everything is kept."""
        return self.run.path

    @property
    def variables(self) -> list[str]:
        """The variables that were moved, in the order of the plan."""
        return list(dict.fromkeys(entry["variable"] for entry in self.run.manifest()["plan"]))

    def show_findings(self) -> None:
        """Show the result in sentences with numbers, then what is wrong and what to do next."""
        findings = conclude(self.summary)
        display(HTML(make_opening(headline(self.summary), findings, self.summary)))
        display(HTML(diagnosis_block(self.summary)))

    def show_sweeps(self) -> None:
        """Show for every variable trade-off, latency, throughput, pressure, phases, step time."""
        for variable in self.variables:
            name = variable.rpartition(".")[2]
            display(HTML(f"<h3>One variable moves: <code>{name}</code></h3>"))
            for plot in (
                figures.plot_tradeoff,
                figures.plot_latency,
                figures.plot_throughput,
                figures.plot_pressure,
                figures.plot_phases,
                figures.plot_step_time,
            ):
                display(plot(self.summary, variable))

    def show_timelines(self) -> None:
        """Show what happened inside every point, on one time axis each."""
        rows = {row["point_id"]: row for row in self.summary["points"]}
        for records in self.run.points():
            display(figures.plot_timeline(records, rows[records.point_id]))

    def show_tables(self) -> None:
        """Show the numbers behind the figures, what they mean, and where they were measured."""
        display(HTML(tables.summary_table(self.summary) + inside.engine_tables(self.summary)))
        display(HTML(kv_memory.kv_memory_table(self.summary)))
        display(HTML(resources.resources_table(self.summary)))
        display(HTML(tables.definitions_table(tables.read_definitions(definitions.__doc__ or ""))))
        display(HTML(tables.environment_table(self.summary["run"]["environment"])))

    def show_rerun(self) -> None:
        """Show exactly how to measure this again."""
        text = self.run.params_path.read_text(encoding="utf-8")
        display(HTML(tables.rerun_block(list_commands(self.summary["run"], text))))
