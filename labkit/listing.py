"""A run in one line, from its documents alone: requests and samples are not read.

It must not know how a verdict comes about.
"""

from labkit.errors import RecordsError
from labkit.records import RunFolder, read_json


def describe_run(run: RunFolder) -> str:
    """Return status, points and verdicts of a run, or that it is damaged and where."""
    try:
        run.settle()
        manifest = run.manifest()
        planned = len(manifest["plan"])
        told = f"{run.count_measured()} of {planned} points{_tell_verdicts(run)}"
    except RecordsError as error:
        return f"damaged: {error}"
    report = "report.html" if run.report_path.exists() else "no report"
    return f"{manifest['status']}  {told}  {report}"


def _tell_verdicts(run: RunFolder) -> str:
    """Return how many points of the summary can't be trusted, if one was written."""
    if not run.summary_path.is_file():
        return ""
    rows = read_json(run.summary_path).get("points")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RecordsError(f"expected a list of points in {run.summary_path}, found another thing")
    bad = sum(row.get("validity") == "INVALID" for row in rows)
    return f", {bad} INVALID" if bad else ""
