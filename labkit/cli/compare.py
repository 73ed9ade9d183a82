"""`labkit compare` and `labkit diff`: two runs beside each other, nothing is measured.

It must not know how a verdict comes about.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.cli.say import complain, show
from labkit.errors import ParamsError
from labkit.home import find_reports

if TYPE_CHECKING:
    from labkit.records import RunFolder

CANNOT_TELL = 3
"""The exit code where no gate failed and some can't be told."""


def compare(chosen: argparse.Namespace) -> int:
    """Compare run B with run A and print the verdicts.

    Returns 0; with gates 0 if all held, 1 if one failed, 3 if none failed but some can't be told.
    """
    from labkit.analysis.comparison.gate import hold_against, judge_gate
    from labkit.analysis.comparison.whole import compare_runs, write_document
    from labkit.compare.noise import open_noise
    from labkit.compare.publish import write_comparison
    from labkit.compare.runs import read_run
    from labkit.compare.table import tell_comparison, tell_gate
    from labkit.compare.thresholds import read_gates, read_share
    from labkit.compare.warning import expect_one_thing

    reports = chosen.reports or find_reports()
    thresholds, effect = read_gates(chosen.gate), read_share(chosen.effect)
    runs = _find_both(chosen, reports)
    a, b = read_run(runs[0]), read_run(runs[1])
    found = compare_runs(a, b, open_noise(a, reports), effect=effect)
    if warning := expect_one_thing(found, anyway=chosen.anyway):
        complain(warning)
    gate = hold_against(thresholds, found.lines, found.omitted) if thresholds else None
    if chosen.json:
        print(json.dumps(write_document(found, gate), allow_nan=False, indent=1))
    else:
        print("\n".join(tell_comparison(found)))
        if gate is not None:
            print("\n".join(["", *tell_gate(gate)]))
    if chosen.report:
        path = write_comparison(
            found, runs, reports, gate=chosen.gate, effect=chosen.effect, anyway=chosen.anyway
        )
        print(f"report: {show(path)}", file=sys.stderr if chosen.json else sys.stdout)
    if gate is None:
        return 0
    return {"held": 0, "failed": 1}.get(judge_gate(gate), CANNOT_TELL)


def diff(chosen: argparse.Namespace) -> int:
    """Print what differs between two runs beside their numbers; returns 0."""
    from labkit.analysis.comparison.differences import find_differences
    from labkit.analysis.comparison.places import join
    from labkit.compare.runs import read_run
    from labkit.compare.table import tell_differences

    runs = _find_both(chosen, chosen.reports or find_reports())
    a, b = read_run(runs[0]), read_run(runs[1])
    found = find_differences(a, b, join(a.summary, b.summary))
    print("\n".join(tell_differences(found)))
    return 0


def _find_both(chosen: argparse.Namespace, reports: Path) -> "tuple[RunFolder, RunFolder]":
    from labkit.compare.runs import open_run

    one, other = open_run(chosen.a, reports), open_run(chosen.b, reports)
    if one.path.resolve() == other.path.resolve():
        raise ParamsError(f"expected two runs, found {show(one.path)} twice; name another")
    return one, other
