"""From a run folder to its executed notebook and its report.

The manifest says what became of the notebook, since papermill's own marks can't be trusted after a
kernel died. This module must not know how anything is measured or drawn.
"""

import os
from pathlib import Path
from typing import Any

from labkit.errors import RecordsError
from labkit.execute import execute_notebook, find_notebook
from labkit.params import load_params
from labkit.records import RunFolder, set_aside
from labkit.report.export import export_report


def make_notebook(run: RunFolder, *, measuring: bool) -> Path:
    """Execute the notebook of a run, which measures what is missing if told so, and return it.

    An earlier notebook is kept beside it. Whatever ends this, the manifest is true afterwards: also
    of a run whose notebook ended before it began to measure.
    """
    notebook = find_notebook(load_params(run.params_path).notebook)
    output = run.path / notebook.name
    with run.hold_notebook():
        set_aside(output)
        run.update_manifest(notebook={"name": output.name, "status": "running"})
        where = os.path.relpath(run.path)
        if where.startswith("~"):  # which would be taken for somebody's home
            where = f"./{where}"
        parameters = {"run_dir": where, "measuring": measuring}
        changes: dict[str, Any] = {}
        status = "failed"
        try:
            execute_notebook(notebook, output, parameters)
            status = "completed"
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt)
            told = "interrupted from the keyboard" if stopped else " ".join(str(error).split())
            changes = {
                "status": "interrupted" if stopped else "failed",
                "error": told or type(error).__name__,
            }
            raise
        finally:
            run.settle()
            if not measuring or run.manifest()["status"] != "created":
                changes = {}
            run.update_manifest(notebook={"name": output.name, "status": status}, **changes)
    return output


def write_report(run: RunFolder, *, fresh: bool = False) -> Path:
    """Write report.html from the executed notebook, which is made first where there is none
    that can be read.

    Nothing is measured. Raises RecordsError if nothing was recorded yet.
    """
    manifest = run.manifest()
    told = manifest["notebook"] or {}
    notebook = run.path / Path(str(told.get("name"))).name
    if manifest["status"] == "running":
        raise RecordsError(f"expected a run that has ended at {run.path}, found it still running")
    if fresh or told.get("status") != "completed" or not _is_notebook(notebook):
        notebook = make_notebook(run, measuring=False)
    export_report(notebook, run.report_path, title=f"labkit: {manifest['name']}")
    return run.report_path


def _is_notebook(path: Path) -> bool:
    import nbformat

    try:
        nbformat.read(path, as_version=4)
    except (OSError, ValueError, KeyError, AttributeError, TypeError, nbformat.ValidationError):
        return False
    return True
