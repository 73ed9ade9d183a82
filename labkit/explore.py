"""A run that is there, for a person in JupyterLab: its tables, its findings, its figures.

Everything is read from the records when it is first asked for, and kept. Nothing is measured and
nothing is written. It must not know how a run is measured.
"""

from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from labkit.analysis import words
from labkit.analysis.finding import dump
from labkit.analysis.findings import tell_run
from labkit.analysis.frames import frame_findings, frame_requests, frame_samples
from labkit.analysis.pool import take_arm
from labkit.analysis.summary import to_frame
from labkit.derive import derive_summary
from labkit.errors import RecordsError
from labkit.home import find_place, find_reports
from labkit.params import Params, load_params, name_nearest
from labkit.records import RunFolder, find_run, read_json
from labkit.report import figures
from labkit.report.opening import list_facts

TABLES = ("points", "requests", "samples", "findings")
PLOTS = ("tradeoff", "latency", "throughput", "pressure", "phases", "step_time", "arms", "timeline")
FIELDS = ("output_throughput_tokens_per_s", "ttft_s.p95")
"""What arms are compared by unless other fields are named."""


def load_run(run: str | Path = "latest", reports: str | Path | None = None) -> "RunView":
    """Return a run to explore; `labkit.load` is this function. Raises RecordsError."""
    place = find_reports() if reports is None else find_place(str(reports))
    return RunView(RunFolder.open(find_run(_settle(run), place)))


def _settle(run: str | Path) -> str | Path:
    """Return the path of a run from the present folder or the home folder, or what was asked."""
    try:
        path = find_place(str(run))
        return path if path.exists() else run
    except (OSError, ValueError):  # of a name that is too long, or that can't be
        return run


class RunView:
    """One run: tables `points`, `requests`, `samples`, `findings`, and figures `plot_...`."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run

    @property
    def run_id(self) -> str:
        """The name of its folder."""
        return self._run.path.name

    @property
    def run_dir(self) -> Path:
        """Where everything is kept."""
        return self._run.path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """manifest.json: status, plan, machine, versions."""
        return self._run.manifest()

    @cached_property
    def params(self) -> Params:
        """What was asked, resolved."""
        return load_params(self._run.params_path)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json as it is; of a run that has none yet, what it would hold."""
        if not self._run.summary_path.is_file():
            return derive_summary(self._run)
        found = read_json(self._run.summary_path)
        if isinstance(found.get("run"), dict) and isinstance(found.get("points"), list):
            return found
        raise RecordsError(
            f"expected run and points in {self._run.summary_path}, found other things; "
            f"`labkit report {self._run.path}` makes it again"
        )

    @property
    def headline(self) -> str:
        """The result in one line."""
        return str(self._document["headline"])

    @property
    def arms(self) -> list[tuple[str, str | None]]:
        """Each variable that moved, dotted, with each series of it, in the order of the plan."""
        planned = self.manifest["plan"]
        return list(dict.fromkeys((one["variable"], one.get("series")) for one in planned))

    @property
    def variables(self) -> list[str]:
        """The variables that moved, dotted, in the order of the plan."""
        return list(dict.fromkeys(variable for variable, _ in self.arms))

    @property
    def point_ids(self) -> list[str]:
        """The points that were begun, in the order of the plan."""
        return [row["point_id"] for row in self.summary["points"]]

    @cached_property
    def points(self) -> pd.DataFrame:
        """One row a point, as in summary.csv: `ttft_s_p95`, `output_throughput_tokens_per_s`..."""
        return to_frame(self.summary)

    @cached_property
    def requests(self) -> pd.DataFrame:
        """One row a request: point, value, ttft_s, tpot_s, e2e_latency_s (all in s), tokens."""
        return frame_requests(self._run.points())

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row a sample of engine, GPU or host, at `since_load_s` seconds of load."""
        return frame_samples(self._run.points())

    @cached_property
    def findings(self) -> pd.DataFrame:
        """One row a finding: title, text, kind, and where known verdict, effect and points."""
        return frame_findings(self._document["findings"])

    @cached_property
    def _document(self) -> dict[str, Any]:
        """findings.json; what it lacks, or all where there is none, is derived."""
        path = self._run.findings_path
        found = read_json(path) if path.is_file() else {}
        told = {name: found[name] for name in ("headline", "findings") if found.get(name)}
        return told if len(told) == 2 else dump(*tell_run(self.summary), self.run_id) | told

    def plot_tradeoff(self, variable: str | None = None, series: str | None = None) -> go.Figure:
        """Draw P95 end-to-end latency (ms, s) against output tokens/s, one dot a value."""
        return figures.plot_tradeoff(*self._choose(variable, series))

    def plot_latency(self, variable: str | None = None, series: str | None = None) -> go.Figure:
        """Draw P50, P95 and P99 of TTFT, TPOT and end-to-end latency (ms, s) against the value."""
        return figures.plot_latency(*self._choose(variable, series))

    def plot_throughput(self, variable: str | None = None, series: str | None = None) -> go.Figure:
        """Draw output tokens/s and requests/s against the value."""
        return figures.plot_throughput(*self._choose(variable, series))

    def plot_pressure(self, variable: str | None = None, series: str | None = None) -> go.Figure:
        """Draw KV cache usage (%) and waiting requests, mean and most, against the value."""
        return figures.plot_pressure(*self._choose(variable, series))

    def plot_phases(self, variable: str | None = None, series: str | None = None) -> go.Figure:
        """Draw where a request's time goes (ms, s): queue, prefill, decode, by value."""
        return figures.plot_phases(*self._choose(variable, series))

    def plot_step_time(self, variable: str | None = None, series: str | None = None) -> go.Figure:
        """Draw the time of a decode step (ms) against the streams in it."""
        return figures.plot_step_time(*self._choose(variable, series))

    def plot_arms(self, *fields: str, variable: str | None = None) -> go.Figure:
        """Draw the series of a variable over each other, a panel for each field of the summary.

        Fields are dotted, such as "ttft_s.p95"; without any it is output tokens/s and P95 TTFT.
        """
        moved = self._choose(variable, None)[1]
        return figures.plot_arms(self.summary, moved, fields or FIELDS)

    def plot_timeline(self, point_id: str | None = None) -> go.Figure:
        """Draw one point over seconds of load: requests, queue, KV cache, tokens/s, memory, load.

        Without `point_id` it is the first point; `point_ids` names all.
        """
        known = self.point_ids
        if not known:
            raise RecordsError(f"expected points in {self.run_dir}, found none; none was begun")
        asked = known[0] if point_id is None else point_id
        records = self._run.point(asked) if asked in known else None
        if records is None:
            raise RecordsError(
                f"expected a point, found {asked!r}{name_nearest(str(asked), known)}"
            )
        return figures.plot_timeline(records, self.summary["points"][known.index(asked)])

    def _choose(self, variable: str | None, series: str | None) -> tuple[dict[str, Any], str]:
        """Return the summary of one arm, and its variable, asked for by its dotted or last name.

        Without a name it is the first variable, without a series its first arm.
        """
        known = self.arms
        if not known:
            raise RecordsError(f"expected a variable that {self.run_id} moved, found it moved none")
        for moved, arm in known:
            if variable in (None, moved, words.short(moved)) and series in (None, arm):
                return take_arm(self.summary, (moved, arm)), moved
        asked = variable if series is None else f"{variable or 'any variable'} of series {series}"
        told = [moved if arm is None else f"{moved} of series {arm}" for moved, arm in known]
        raise RecordsError(
            f"expected a variable that {self.run_id} moved, found {asked}"
            f"{name_nearest(str(asked), told)}"
        )

    def _facts(self) -> list[str]:
        return [fact for fact in list_facts(self.summary["run"], self.summary["points"]) if fact]

    def _name_arms(self) -> list[str]:
        return [moved if arm is None else f"{moved} ({arm})" for moved, arm in self.arms]

    def __repr__(self) -> str:
        return (
            f"{self.run_id}: {self.headline}\n{' · '.join(self._facts())}\n"
            f"tables:  {', '.join(TABLES)}\n"
            f"figures: {', '.join(f'plot_{name}' for name in PLOTS)}\n"
            f"moved:   {', '.join(self._name_arms()) or 'nothing'}"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("tables", ", ".join(f"<code>.{name}</code>" for name in TABLES)),
            ("figures", ", ".join(f"<code>.plot_{name}()</code>" for name in PLOTS)),
            ("moved", ", ".join(f"<code>{escape(name)}</code>" for name in self._name_arms())),
            ("points", ", ".join(f"<code>{escape(one)}</code>" for one in self.point_ids)),
            ("folder", f"<code>{escape(str(self.run_dir))}</code>"),
        ]
        body = "".join(
            f'<tr><th style="text-align:left;vertical-align:top">{head}</th>'
            f'<td style="text-align:left">{cell}</td></tr>'
            for head, cell in rows
        )
        facts = " · ".join(map(escape, self._facts()))
        return (
            f"<div><p><strong>{escape(self.headline)}</strong><br>{escape(self.run_id)}<br>"
            f"{facts}</p><table><tbody>{body}</tbody></table></div>"
        )
