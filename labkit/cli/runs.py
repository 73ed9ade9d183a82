"""`labkit report` and `labkit list`: what is made of runs that are there.

It must not measure.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from labkit.cli.say import complain, show
from labkit.errors import LabkitError, RecordsError
from labkit.home import find_reports
from labkit.records import RunFolder, find_run

SCHEMA = 1


def report_run(chosen: argparse.Namespace) -> int:
    """Rebuild the report of a run from its records, and the index of the folder it is in."""
    from labkit.publish import write_report

    run = RunFolder.open(find_run(chosen.run, find_reports()))
    run.settle()
    try:
        print(f"report: {show(write_report(run, fresh=chosen.fresh))}")
    finally:
        refresh_index(run.path.parent)
    return 0


def list_all(chosen: argparse.Namespace) -> int:
    """Print a table of the runs, or JSON; or write index.html and tell where it is."""
    from labkit.cli.table import make_lines  # slow, as the next, unlike --help
    from labkit.index import INDEX, write_index
    from labkit.listing import list_entries

    reports = chosen.reports or find_reports()
    if chosen.reports is not None and not reports.is_dir():
        raise RecordsError(f"expected a folder of runs at {reports}, found none; name another")
    if chosen.html:
        reports.mkdir(parents=True, exist_ok=True)
        print(f"index: {show(write_index(reports))}")
        return 0
    wanted = " ".join(chosen.wanted)
    entries = list_entries(reports, wanted)
    index = reports / INDEX
    if chosen.json:
        told = {
            "schema": SCHEMA,
            "reports": str(reports.resolve()),
            "index": str(index.resolve()) if index.is_file() else None,
            "runs": [asdict(entry) for entry in entries],
        }
        print(json.dumps(told, indent=1, allow_nan=False))
        return 0
    if not entries and wanted:
        print(f"no run in {show(reports)} has all of these words: {wanted}")
    elif not entries:
        print(f"no runs in {show(reports)}; `labkit run params/quickstart.yaml` makes one")
    for line in make_lines(entries, is_terminal=sys.stdout.isatty()):
        print(line)
    if entries:
        way = show(index) if index.is_file() else "`labkit list --html` makes it"
        print(f"\nruns in {show(reports)}; all on one page: {way}")
    return 0


def refresh_index(reports: Path) -> None:
    """Rebuild index.html of a folder of runs; what keeps it from that is told, no more."""
    from labkit.index import write_index

    try:
        write_index(reports)
    except LabkitError as error:
        complain(str(error))
    except OSError as error:
        complain(f"expected to write the index of {show(reports)}, found: {error.strerror}")
