"""`labkit run`: plan, or measure and report.

It must not know how anything is measured.
"""

import argparse
import sys
from pathlib import Path

from labkit.cli.runs import refresh_index
from labkit.cli.say import complain, show
from labkit.errors import LabkitError, ParamsError
from labkit.home import find_place, find_reports
from labkit.params import Params, load_params, repeat_first
from labkit.records import RunFolder, read_json


def run_params(chosen: argparse.Namespace) -> int:
    """Measure every point of a params file and write the report; a dry run prints the plan."""
    from labkit.execute import find_notebook
    from labkit.request import (  # slow, unlike --help
        check_request,
        create_run,
        explain_launches,
        explain_searches,
        list_unchecked,
    )

    params = load_params(find_place(chosen.params), chosen.overrides)
    if chosen.repeats_of_one is not None:
        params = repeat_first(params, chosen.repeats_of_one)
    find_notebook(params.notebook)
    reports = chosen.reports or find_reports()
    if chosen.resume is not None:
        run = RunFolder.open(chosen.resume)
        if load_params(run.params_path).digest() != params.digest():
            raise ParamsError(
                f"expected the params that {run.path} was begun with, found others; "
                f"use {run.params_path}, or start a new run"
            )
        run.settle()
    plan = check_request(params, reports, dry_run=chosen.dry_run)
    if chosen.dry_run and params.climbs:
        _explain_ladder(params)
        return 0
    if chosen.dry_run:
        if chosen.resume is not None:
            plan = [point for point in plan if not run.is_measured(point.point_id)]
        for point in plan:
            arm = f", {point.series}" if point.series else ""
            place = f"{point.variable} = {point.value}{arm}, repeat {point.repeat}"
            print(f"{point.point_id}: {place}")
        for line in explain_searches(params):
            print(line)
        print("\nengines, each launched for the points from the one named on:")
        for line in explain_launches(plan):
            print(line)
        for line in list_unchecked(plan):
            print(line)
        return 0
    if chosen.resume is None:
        run = create_run(params, plan, reports)
    code = _measure_and_report(run)
    if chosen.repeats_of_one is not None and run.manifest()["status"] == "completed":
        _store_noise(run, reports)
    return code


def _store_noise(run: RunFolder, reports: Path) -> None:
    from labkit.compare.noise import store_noise
    from labkit.compare.runs import read_run
    from labkit.compare.table import tell_noise

    path, document = store_noise(read_run(run), reports)
    print("\n".join(tell_noise(document)))
    print(f"noise: {show(path)}")


def _explain_ladder(params: Params) -> None:
    from labkit.engines import explain_command
    from labkit.ladder.steps import list_steps

    for number, step in enumerate(list_steps(params), start=1):
        print(f"{number}. {step.title}: {step.asks}")
    if command := explain_command(params.engine):
        print(f"\nthe engine, launched once:\n{' '.join(command)}")


def _measure_and_report(run: RunFolder) -> int:
    print(f"run folder: {show(run.path)}", file=sys.stderr)
    try:
        return _measure(run)
    finally:
        refresh_index(run.path.parent)


def _measure(run: RunFolder) -> int:
    from labkit.progress import Follower
    from labkit.publish import make_notebook, write_report

    try:
        with Follower(run.progress_path):
            make_notebook(run, measuring=True)
    except (LabkitError, KeyboardInterrupt) as error:
        done, planned = run.count_measured(), len(run.manifest()["plan"])
        kept = f"{done} of {planned} points are measured" if planned else "its steps are recorded"
        complain(
            f"{run.manifest()['status']}: {kept} and kept; go on with: "
            f"labkit run {show(run.params_path)} --resume {show(run.path)}"
        )
        if isinstance(error, LabkitError):
            raise
        return 1
    print(f"report: {show(write_report(run))}")
    return _judge(run)


def _judge(run: RunFolder) -> int:
    summary = read_json(run.summary_path)
    planned = len(run.manifest()["plan"])
    bad = [row for row in summary["points"] if row["validity"] == "INVALID"]
    for row in bad:
        reasons = "; ".join(row.get("validity_reasons") or ["no reason recorded"])
        print(f"labkit: {row['point_id']} is INVALID: {reasons}", file=sys.stderr)
    failed = [row for row in summary.get("ladder") or [] if row["verdict"] == "fails"]
    for row in failed:
        print(f"labkit: {row['title']} fails: {row['found']}", file=sys.stderr)
    return 1 if bad or failed or len(summary["points"]) < planned else 0
