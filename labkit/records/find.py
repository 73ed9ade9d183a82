"""Which run is meant: by its folder, a file in it, its id, or `latest`.

It must not know what stands in a run.
"""

import difflib
from pathlib import Path

from labkit.errors import RecordsError
from labkit.records.folder import RunFolder, list_runs

LATEST = "latest"


def find_run(asked: str | Path, reports: Path) -> Path:
    """Return the folder of a run: its path or a file's in it, its id below `reports`, or `latest`.

    Raises RecordsError, which names the nearest id, where there is none.
    """
    path = Path(asked)
    try:
        if path.is_file():
            path = path.parent
        for place in (path, reports / path):
            if RunFolder(place).manifest_path.is_file():
                return place
    except (OSError, ValueError):  # of a name that is too long, or that can't be
        raise RecordsError(f"expected a run folder, found no path: {str(asked)[:60]!r}") from None
    ids = [run.path.name for run in list_runs(reports)]
    if str(asked) == LATEST and ids:
        return reports / ids[-1]
    near = difflib.get_close_matches(path.name, ids, n=1)
    tail = f"; did you mean {near[0]}?" if near else "; `labkit list` names the runs"
    raise RecordsError(f"expected a run folder at {asked}, found none, nor in {reports}{tail}")
