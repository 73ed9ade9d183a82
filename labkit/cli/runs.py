"""`labkit report` and `labkit list`: what is made of runs that are there.

It must not measure.
"""

import argparse

from labkit.cli.say import show
from labkit.errors import RecordsError
from labkit.home import find_reports
from labkit.listing import describe_run
from labkit.records import RunFolder, list_runs


def report_run(chosen: argparse.Namespace) -> int:
    """Rebuild the report of a run from its records."""
    from labkit.publish import write_report

    run = RunFolder.open(chosen.run)
    run.settle()
    print(f"report: {show(write_report(run, fresh=chosen.fresh))}")
    return 0


def list_all(chosen: argparse.Namespace) -> int:
    """Print a line for each run, where `labkit run` puts them unless another place is named."""
    reports = chosen.reports or find_reports()
    if chosen.reports is not None and not reports.is_dir():
        raise RecordsError(f"expected a folder of runs at {reports}, found none; name another")
    runs = list_runs(reports)
    if not runs:
        print(f"no runs in {show(reports)}; `labkit run params/quickstart.yaml` makes one")
    for run in runs:
        print(f"{show(run.path)}  {describe_run(run)}")
    return 0
