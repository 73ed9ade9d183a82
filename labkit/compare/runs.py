"""Run folders as a comparison wants them: found by path or name, read with all they tell.

It writes no summary. It must not compare anything.
"""

from pathlib import Path

from labkit.analysis.comparison.told import Told
from labkit.derive import derive_summary
from labkit.errors import ParamsError, RecordsError
from labkit.params import load_params
from labkit.records import RunFolder, find_run, list_runs, read_json

MAX_NAMED = 3


def open_run(text: str, reports: Path) -> RunFolder:
    """Return the run that is meant: as `labkit report` takes it, or by a part of one id alone.

    Raises ParamsError where the part is in more than one id, RecordsError where there is no run.
    """
    try:
        return RunFolder.open(find_run(text, reports))
    except RecordsError:
        found = [run for run in list_runs(reports) if text in run.path.name]
        if not found:
            raise
    if len(found) > 1:
        newest = ", ".join(run.path.name for run in found[-MAX_NAMED:])
        raise ParamsError(
            f"expected one run named {text}, found {len(found)}, the newest {newest}; "
            "write more of the name"
        )
    return RunFolder.open(found[0].path)


def read_run(run: RunFolder) -> Told:
    """Return what a run tells of itself; its summary is derived anew, by the same rules for all.

    Raises RecordsError if it is damaged.
    """
    run.settle()
    summary = derive_summary(run)
    points = {}
    for row in summary["points"]:
        path = run.point_folder(row["point_id"]) / "point.json"
        points[row["point_id"]] = read_json(path)
    params = load_params(run.params_path).model_dump(mode="json")
    return Told(run.path.name, params, run.manifest(), summary, points)
