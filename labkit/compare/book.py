"""What notebooks/compare.ipynb calls: two runs compared, and views of the comparison.

It must not know how a verdict comes about.
"""

import inspect
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from IPython.display import HTML, display

from labkit.analysis.comparison.findings import conclude_comparison, tell_headline
from labkit.analysis.comparison.gate import Outcome, hold_against
from labkit.analysis.comparison.whole import Compared, compare_runs, write_document
from labkit.analysis.finding import dump
from labkit.compare.noise import open_noise
from labkit.compare.runs import open_run, read_run
from labkit.compare.table import tell_basis
from labkit.compare.thresholds import read_gates, read_share
from labkit.compare.warning import expect_one_thing
from labkit.errors import ParamsError
from labkit.home import find_place, find_reports
from labkit.params import load_params
from labkit.records import COMPARISON, RunFolder, create_folder, replace_json
from labkit.report import comparison, figures
from labkit.request import check_request, create_run
from labkit.workbook.measuring import measure_run
from labkit.workbook.parameters import refuse_unknown, split_overrides

CURVES = ("output_throughput_tokens_per_s", "ttft_s.p95", "tpot_s.p95")


def compare(
    run_a: str = "",
    run_b: str = "",
    params_file: str = "",
    overrides: Sequence[str] | str = (),
    run_dir: str = "",
    measuring: bool = True,
    gate: Sequence[str] = (),
    effect: str = "5%",
    anyway: bool = False,
) -> "ComparisonBook":
    """Compare run B with run A, keep what was found in `run_dir`, and return it to look at.

    Where `run_a` is empty, `params_file` is measured as it stands; where `run_b` is, with the
    overrides. Without `run_dir` a new folder is made under `reports`. Raises LabkitError.
    """
    refuse_unknown(list(inspect.signature(compare).parameters))
    reports = find_reports()
    folder = find_place(run_dir) if run_dir else None
    if folder is not None and (folder / "manifest.json").exists():
        raise ParamsError(
            f"expected a folder for a comparison, found the run {folder}; give two runs as run_a "
            "and run_b, or use `labkit compare A B`"
        )
    a = _find_or_measure(run_a, params_file, (), reports, measuring)
    b = _find_or_measure(run_b, params_file, split_overrides(overrides), reports, measuring)
    one, other = read_run(a), read_run(b)
    found = compare_runs(one, other, open_noise(one, reports), effect=read_share(effect))
    expect_one_thing(found, anyway=anyway)
    thresholds = read_gates(gate)
    outcomes = hold_against(thresholds, found.lines, found.omitted) if thresholds else None
    return ComparisonBook(found, outcomes, folder or create_comparison(found, outcomes, reports))


def create_comparison(found: Compared, gate: Sequence[Outcome] | None, reports: Path) -> Path:
    """Make a new folder for a comparison, named by time and both names, and return it."""
    names = [str(run.manifest["name"]) for run in (found.a, found.b)]
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    folder = create_folder(reports, "-".join([stamp, "compare", *names]))
    replace_json(folder / COMPARISON, write_document(found, gate))
    return folder


def _find_or_measure(
    name: str, params_file: str, overrides: Sequence[str], reports: Path, measuring: bool
) -> RunFolder:
    if name:
        return open_run(name, reports)
    if not measuring or not params_file:
        raise ParamsError("expected two runs as run_a and run_b, found one missing; name both")
    params = load_params(find_place(params_file), overrides)
    run = create_run(params, check_request(params, reports), reports)
    measure_run(run)
    return run


class ComparisonBook:
    """A comparison to look at; comparison.json and findings.json are in its folder."""

    def __init__(self, found: Compared, gate: Sequence[Outcome] | None, folder: Path) -> None:
        self.found = found
        self.gate = gate
        self.folder = folder
        self._headline, self._findings = tell_headline(found), conclude_comparison(found)
        replace_json(folder / COMPARISON, write_document(found, gate))
        replace_json(folder / "findings.json", dump(self._headline, self._findings, folder.name))

    def show_findings(self) -> None:
        """Show what is better, worse or unknown in B, then the gate if there was one."""
        opening = comparison.make_comparison_opening(
            self._headline, self._findings, self.found, tell_basis(self.found)
        )
        display(HTML(opening))
        if self.gate is not None:
            display(HTML(comparison.gate_table(self.gate)))

    def show_forest(self) -> None:
        """Show the ratio of each metric with its interval, a figure a setting."""
        for place in self.found.places:
            own = [line for line in self.found.lines if line.place is place]
            display(figures.plot_forest(own, place.name + place.mark))

    def show_curves(self, *fields: str) -> None:
        """Show both runs over each other, a panel a field, for each variable."""
        rows = _label_rows(self.found)
        for variable in dict.fromkeys(str(row["variable"]) for row in rows):
            display(figures.plot_arms({"points": rows}, variable, fields or CURVES))

    def show_differences(self) -> None:
        """Show what differs between the two beside the numbers."""
        display(HTML(comparison.differences_table(self.found.differences)))

    def show_tables(self) -> None:
        """Show every number compared with its test and verdict, and what could not be compared."""
        for place in self.found.places:
            own = [line for line in self.found.lines if line.place is place]
            display(HTML(comparison.lines_table(own, f"B against A at {place.name}{place.mark}")))
        display(HTML(comparison.omitted_table(self.found)))


def _label_rows(found: Compared) -> list[dict[str, Any]]:
    """Return the rows of both runs as arms named A and B, and by their own series."""
    rows = []
    for name, run in (("A", found.a), ("B", found.b)):
        for row in run.summary["points"]:
            series = f"{name}, {row['series']}" if row.get("series") else name
            rows.append({**row, "series": series})
    return rows
